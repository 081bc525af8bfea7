//! What a store refuses, in words that say what to check. No text of a request comes in, and no secret.

use super::client::Store;
use crate::{
    error::{Error, ErrorKind, Result, shorten},
    fs::local::not_found,
};

/// The error for a request that failed.
pub(super) fn failed(store: &Store, what: &str, path: &str, error: &opendal::Error) -> Error {
    if error.kind() == opendal::ErrorKind::NotFound {
        return not_found(path);
    }
    let answer = Answer::of(error);
    let (why, hint) = explanation(store, error, &answer);
    let mut message = format!("cannot {what}");
    for part in [&why, &answer.code, &answer.message] {
        if !part.is_empty() {
            message.push_str(": ");
            message.push_str(part);
        }
    }
    let made = Error::new(ErrorKind::Storage, scrubbed(store, &message));
    let made = if path.is_empty() { made } else { made.with("file", path) };
    let made = made.with("bucket", &store.bucket).with("endpoint", store.place());
    if hint.is_empty() { made } else { made.hint(hint) }
}

/// Whether the request is certain to have had no effect.
pub(super) fn is_refused(error: &opendal::Error) -> bool {
    use opendal::ErrorKind::{
        ConditionNotMatch, ConfigInvalid, Conflict, NotFound, PermissionDenied, RangeNotSatisfied, RateLimited,
        Unsupported,
    };
    matches!(
        error.kind(),
        ConditionNotMatch
            | ConfigInvalid
            | Conflict
            | NotFound
            | PermissionDenied
            | RangeNotSatisfied
            | RateLimited
            | Unsupported
    ) || is_unreachable(error)
        || (!error.is_temporary() && !Answer::of(error).code.is_empty())
}

/// What the store has answered.
struct Answer {
    code: String,
    message: String,
}

impl Answer {
    fn of(error: &opendal::Error) -> Self {
        let text = error.message();
        let field = |name: &str| {
            let rest = text.split_once(&format!("{name}: \""))?.1;
            Some(shorten(rest.split_once('"')?.0))
        };
        match (text.starts_with("S3Error"), field("code")) {
            (true, Some(code)) => Self { code, message: field("message").unwrap_or_default() },
            _ => Self { code: String::new(), message: String::new() },
        }
    }
}

fn explanation(store: &Store, error: &opendal::Error, answer: &Answer) -> (String, String) {
    let keys = "check s3.access-key and s3.secret-key, or AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_PROFILE";
    let region = "check s3.region (or AWS_REGION) and s3.endpoint";
    let whole = error.to_string();
    let (why, hint) = match answer.code.as_str() {
        "NoSuchBucket" => {
            ("there is no such bucket", "check the name of the bucket, s3.endpoint and the account of the credentials")
        }
        "InvalidAccessKeyId" | "SignatureDoesNotMatch" | "InvalidSecurity" | "AuthFailure" => {
            ("the credentials are not valid", keys)
        }
        "ExpiredToken" | "TokenRefreshRequired" | "InvalidToken" => (
            "the session token has expired or is not valid",
            "get new credentials: s3.session.token or AWS_SESSION_TOKEN",
        ),
        "RequestTimeTooSkewed" => ("the clock of this machine is wrong", "set the clock"),
        "PermanentRedirect" | "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException" => {
            ("the bucket is in another region", region)
        }
        _ if error.kind() == opendal::ErrorKind::PermissionDenied => (
            "the store refuses",
            "the credentials must be valid and allowed to list the bucket and to get, put and delete its objects; \
             check s3.access-key and s3.secret-key (or AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_PROFILE) and s3.region",
        ),
        _ if is_unreachable(error) => {
            ("the store cannot be reached", "check s3.endpoint (or AWS_ENDPOINT_URL), the network and proxies")
        }
        _ if whole.contains("credential") => (
            "no credentials were found",
            "give s3.access-key and s3.secret-key as options, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile or a role; \
             a handle that came from another process brings none",
        ),
        _ if whole.contains("status: 301") || whole.contains("status: 400") => {
            ("the store does not understand the request", region)
        }
        "SlowDown" | "InternalError" | "ServiceUnavailable" | "RequestTimeout" => {
            ("the store failed several times", "try again")
        }
        _ if whole.contains("status: 5") || error.kind() == opendal::ErrorKind::RateLimited => {
            ("the store failed several times", "try again")
        }
        _ => ("", ""),
    };
    let mut why = why.to_owned();
    if why.is_empty() && answer.code.is_empty() {
        why = shorten(&scrubbed(store, &whole));
    }
    (why, hint.to_owned())
}

/// Whether no connection came about.
pub(super) fn is_unreachable(error: &opendal::Error) -> bool {
    let mut at = std::error::Error::source(error);
    while let Some(cause) = at {
        if cause.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_connect) {
            return true;
        }
        at = cause.source();
    }
    false
}

/// Whatever a store puts into its answers, secrets of ours do not come out.
fn scrubbed(store: &Store, text: &str) -> String {
    let settings = &store.settings;
    let mut text = text.to_owned();
    for secret in [&settings.secret_key, &settings.session_token, &settings.access_key].into_iter().flatten() {
        text = text.replace(secret.as_str(), "***");
    }
    for name in ["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID"] {
        if let Ok(secret) = std::env::var(name)
            && secret.len() > 3
        {
            text = text.replace(&secret, "***");
        }
    }
    text
}

/// An error of the standard library for one of ours, and back.
pub(super) fn io(error: Error) -> std::io::Error {
    std::io::Error::other(error)
}

/// What a task came to: its own error first.
pub(super) fn flat<T>(answer: Result<Result<T>>) -> Result<T> {
    answer.and_then(|answer| answer)
}
