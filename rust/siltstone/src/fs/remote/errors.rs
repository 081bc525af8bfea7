//! What a store refuses, in words that say what to check. No text of a request comes in, and no secret.

use super::{client::Store, kind::Kind, services::SECRET_VARIABLES};
use crate::{
    error::{Error, ErrorKind, Result, shorten},
    fs::local::not_found,
};

/// The error for a request that failed.
pub(super) fn failed(store: &Store, what: &str, path: &str, error: &opendal::Error) -> Error {
    let answer = Answer::of(error);
    if error.kind() == opendal::ErrorKind::NotFound && answer.code != "NoSuchBucket" {
        return not_found(path);
    }
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
    let made = made.with("bucket", &store.bucket.name).with("endpoint", store.place());
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
        let is_answer = ["S3Error", "OssError"].iter().any(|name| text.starts_with(name));
        match (is_answer, field("code")) {
            (true, Some(code)) => Self { code, message: field("message").unwrap_or_default() },
            _ => Self { code: String::new(), message: String::new() },
        }
    }
}

fn explanation(store: &Store, error: &opendal::Error, answer: &Answer) -> (String, String) {
    let kind = store.bucket.kind;
    let (keys, endpoint) = (kind.keys(), kind.endpoint());
    let whole = error.to_string();
    let (why, hint): (&str, String) = match answer.code.as_str() {
        "NoSuchBucket" => (
            "there is no such bucket",
            format!("check the name of the bucket, {endpoint} and the account of the credentials"),
        ),
        "InvalidAccessKeyId" | "SignatureDoesNotMatch" | "InvalidSecurity" | "AuthFailure" => {
            ("the credentials are not valid", format!("check {keys}"))
        }
        "ExpiredToken" | "TokenRefreshRequired" | "InvalidToken" | "SecurityTokenExpired" | "InvalidSecurityToken" => {
            ("the session token has expired or is not valid", format!("get new credentials: {}", session_token(kind)))
        }
        "RequestTimeTooSkewed" => ("the clock of this machine is wrong", "set the clock".to_owned()),
        "PermanentRedirect" | "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException" => {
            ("the bucket is in another region", region(kind))
        }
        _ if error.kind() == opendal::ErrorKind::PermissionDenied => (
            "the store refuses",
            format!(
                "the credentials must be valid and allowed to list the bucket and to get, put and delete its objects; check {keys}, \
                 and {endpoint}{}",
                if kind == Kind::S3 { " and s3.region" } else { "" }
            ),
        ),
        _ if is_unreachable(error) => {
            ("the store cannot be reached", format!("check {endpoint}, the network and proxies"))
        }
        _ if whole.contains("credential") => (
            "no credentials were found",
            format!("give {keys}, a profile or a role; a handle that came from another process brings none"),
        ),
        _ if whole.contains("status: 301") || whole.contains("status: 400") => {
            ("the store does not understand the request", region(kind))
        }
        "SlowDown" | "InternalError" | "ServiceUnavailable" | "RequestTimeout" => {
            ("the store failed several times", "try again".to_owned())
        }
        _ if whole.contains("status: 5") || error.kind() == opendal::ErrorKind::RateLimited => {
            ("the store failed several times", "try again".to_owned())
        }
        _ => ("", String::new()),
    };
    let mut why = why.to_owned();
    if why.is_empty() && answer.code.is_empty() {
        why = shorten(&scrubbed(store, &whole));
    }
    (why, hint)
}

fn region(kind: Kind) -> String {
    let more = if kind == Kind::S3 { "s3.region (or AWS_REGION) and " } else { "" };
    format!("check {more}{}", kind.endpoint())
}

fn session_token(kind: Kind) -> &'static str {
    match kind {
        Kind::S3 => "s3.session.token or AWS_SESSION_TOKEN",
        Kind::Oss => "fs.oss.securityToken or ALIBABA_CLOUD_SECURITY_TOKEN",
    }
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
    let mut text = text.to_owned();
    for secret in store.settings.secrets() {
        text = text.replace(secret, "***");
    }
    for name in SECRET_VARIABLES {
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
