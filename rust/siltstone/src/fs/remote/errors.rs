//! What a store refuses, in words that say what to check. No text of a request comes in, and no secret.

use super::{client::Store, kind::Kind, services::SECRET_VARIABLES};
use crate::{
    error::{Error, ErrorKind, Result, shorten},
    fs::local::not_found,
};

/// The error for a request that failed.
pub(super) fn failed(store: &Store, what: &str, path: &str, error: &opendal::Error) -> Error {
    let answer = Answer::of(error);
    if error.kind() == opendal::ErrorKind::NotFound
        && !matches!(answer.code.as_str(), "NoSuchBucket" | "ContainerNotFound")
    {
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
        || super::sends::was_not_sent(error)
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
        let message = field("message").unwrap_or_default();
        let lists = || error.to_string().contains("service_operation: List");
        let code = if is_missing(error) && (message.contains("bucket does not exist") || lists()) {
            // of a listing nothing but the bucket can be missing
            Some("NoSuchBucket".to_owned())
        } else if text.starts_with("GcsErrorResponse") {
            field("reason")
        } else {
            let is_answer =
                ["S3Error", "AzblobError", "OssError", "CosError"].iter().any(|name| text.starts_with(name));
            field("code").filter(|_| is_answer)
        };
        match code {
            Some(code) => Self { code, message },
            None => Self { code: String::new(), message: String::new() },
        }
    }
}

fn explanation(store: &Store, error: &opendal::Error, answer: &Answer) -> (String, String) {
    let kind = store.bucket.kind;
    let (keys, endpoint) = (kind.keys(), kind.endpoint());
    let whole = error.to_string();
    let (why, hint): (&str, String) = match answer.code.as_str() {
        "NoSuchBucket" | "ContainerNotFound" => (
            "there is no such bucket",
            format!("check the name of the bucket, {endpoint} and the account of the credentials"),
        ),
        "InvalidAccessKeyId"
        | "SignatureDoesNotMatch"
        | "InvalidSecurity"
        | "AuthFailure"
        | "AuthenticationFailed"
        | "authError" => ("the credentials are not valid", format!("check {keys}")),
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
        _ if is_unreachable(error) && !whole.contains("signing") => {
            ("the store cannot be reached", format!("check {endpoint}, the network and proxies"))
        }
        _ if whole.contains("credential") && store.settings.client.is_some() => (
            "there was no token for the program",
            "check fs.azure.account.oauth2.client.id, …client.secret and …client.endpoint, and whether the network lets them be asked"
                .to_owned(),
        ),
        _ if whole.contains("credential") || whole.contains("signing") => (
            "no credentials were found",
            format!("give {keys}, a profile or a role; a handle that came from another process brings none"),
        ),
        _ if whole.contains("status: 301") || whole.contains("status: 400") => {
            ("the store does not understand the request", region(kind))
        }
        "SlowDown" | "InternalError" | "ServiceUnavailable" | "RequestTimeout" | "ServerBusy" => {
            ("the store failed several times", "try again".to_owned())
        }
        _ if whole.contains("status: 5") || error.kind() == opendal::ErrorKind::RateLimited => {
            ("the store failed several times", "try again".to_owned())
        }
        _ if whole.contains("is no listing of objects") => (
            "the answer is no listing of objects",
            format!("check {endpoint}, and whether a proxy answers in the place of the store"),
        ),
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
        Kind::Azure => "fs.azure.sas.<container>.<account>.dfs.core.windows.net or AZURE_STORAGE_SAS_TOKEN",
        Kind::Google => "fs.gs.auth.service.account.json.keyfile or GOOGLE_APPLICATION_CREDENTIALS",
        Kind::Oss => "fs.oss.securityToken or ALIBABA_CLOUD_SECURITY_TOKEN",
        Kind::Cos => "fs.cosn.userinfo.sessionToken or TENCENTCLOUD_TOKEN",
    }
}

fn is_missing(error: &opendal::Error) -> bool {
    error.kind() == opendal::ErrorKind::NotFound
}

/// Whether the bytes that were asked for lie behind the end: of an empty object every one does.
pub(super) fn is_behind_the_end(error: &opendal::Error) -> bool {
    error.kind() == opendal::ErrorKind::RangeNotSatisfied || error.to_string().contains("status: 416")
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
