//! Options of stores, under the names that Paimon and Hadoop have for them.
//!
//! `s3.`, `s3a.` and `fs.s3a.` say the same. What is not given here the SDKs' environment, profiles and roles say.

use std::{collections::BTreeMap, fmt, time::Duration};

use crate::{
    error::{Error, ErrorKind, Result},
    options::{is_secret, parse_duration},
};

const PREFIXES: [&str; 3] = ["fs.s3a.", "s3a.", "s3."];
/// Options of storages that this version does not reach.
const OTHERS: [&str; 9] = ["oss.", "fs.oss.", "fs.gs.", "gs.", "fs.cosn.", "fs.obs.", "obs.", "fs.azure.", "fs.cos."];

/// The options by their names here: Paimon's, then those that mean the same.
const KNOWN: [(&str, &[&str]); 11] = [
    ("access-key", &["access.key"]),
    ("secret-key", &["secret.key"]),
    ("session.token", &["session-token"]),
    ("endpoint", &[]),
    ("region", &["endpoint.region"]),
    ("path.style.access", &["path-style-access"]),
    ("connection.ssl.enabled", &[]),
    ("attempts.maximum", &[]),
    ("connection.establish.timeout", &[]),
    ("connection.timeout", &[]),
    ("aws.credentials.provider", &[]),
];

/// Whether an option is one of a storage, not of a table or catalog.
pub fn is_storage_option(key: &str) -> bool {
    PREFIXES.iter().chain(&OTHERS).any(|prefix| key.starts_with(prefix))
}

/// What an option is called here, whatever its prefix.
fn name_of(key: &str) -> Option<&'static str> {
    let rest = PREFIXES.iter().find_map(|prefix| key.strip_prefix(prefix))?;
    KNOWN.iter().find(|(name, others)| *name == rest || others.contains(&rest)).map(|(name, _)| *name)
}

/// How a bucket is reached.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) access_key: Option<String>,
    pub(super) secret_key: Option<String>,
    pub(super) session_token: Option<String>,
    pub(super) endpoint: Option<String>,
    pub(super) region: Option<String>,
    pub(super) path_style: Option<bool>,
    pub(super) anonymous: bool,
    /// Tries of a request after the first.
    pub(super) retries: usize,
    pub(super) connect_timeout: Duration,
    pub(super) answer_timeout: Duration,
}

impl fmt::Debug for Settings {
    /// Without anything that is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .finish_non_exhaustive()
    }
}

impl Settings {
    /// From options of a storage.
    ///
    /// # Errors
    /// `UnknownOption`: there is none of this name; `InvalidOption`: a value that cannot be; `UnsupportedFeature`: of another storage.
    pub(super) fn parse(options: &BTreeMap<String, String>) -> Result<Self> {
        let given = by_name(options)?;
        let text = |name: &str| given.get(name).map(|(_, value)| value.trim()).filter(|value| !value.is_empty());
        let owned = |name: &str| text(name).map(str::to_owned);
        let flag = |name: &str| text(name).map(|value| parse_flag(key_as_given(&given, name), value)).transpose();
        let duration = |name: &str, millis| match text(name) {
            Some(value) => parse_time(key_as_given(&given, name), value),
            None => Ok(Duration::from_millis(millis)),
        };
        let attempts =
            match text("attempts.maximum") {
                Some(value) => value.parse().ok().filter(|n| (1..=100).contains(n)).ok_or_else(|| {
                    invalid(key_as_given(&given, "attempts.maximum"), value, "a number from 1 to 100")
                })?,
                None => 4,
            };
        let (access_key, secret_key) = (owned("access-key"), owned("secret-key"));
        if access_key.is_some() != secret_key.is_some() {
            let (there, missing) = if access_key.is_some() { ("access", "secret") } else { ("secret", "access") };
            let message = format!("'s3.{there}-key' is given without 's3.{missing}-key'");
            return Err(Error::new(ErrorKind::InvalidOption, message).with("option", format!("s3.{missing}-key")));
        }
        let ssl = flag("connection.ssl.enabled")?.unwrap_or(true);
        Ok(Self {
            access_key,
            secret_key,
            session_token: owned("session.token"),
            endpoint: text("endpoint").map(|endpoint| with_scheme(endpoint, ssl)),
            region: owned("region"),
            path_style: flag("path.style.access")?,
            anonymous: match text("aws.credentials.provider") {
                None => false,
                Some(class) if class.rsplit('.').next() == Some("AnonymousAWSCredentialsProvider") => true,
                Some(class) => {
                    return Err(Error::unsupported(format!("the credentials provider '{class}'"))
                        .with("option", key_as_given(&given, "aws.credentials.provider"))
                        .hint("leave it out: the environment, profiles, web identities and instance roles are asked by themselves"));
                }
            },
            retries: attempts - 1,
            connect_timeout: duration("connection.establish.timeout", 2_000)?,
            answer_timeout: duration("connection.timeout", 30_000)?,
        })
    }
}

/// Each option by its name here, with the key and value that were given.
fn by_name(options: &BTreeMap<String, String>) -> Result<BTreeMap<&'static str, (String, String)>> {
    let mut given: BTreeMap<&'static str, (String, String)> = BTreeMap::new();
    for (key, value) in options {
        let Some(name) = name_of(key) else { return Err(unknown(key)) };
        if let Some((other, before)) = given.get(name)
            && before != value
        {
            let message = format!("'{key}' and '{other}' mean the same and have different values");
            return Err(Error::new(ErrorKind::InvalidOption, message)
                .with("option", key)
                .hint("give only one of them"));
        }
        given.insert(name, (key.clone(), value.clone()));
    }
    Ok(given)
}

fn key_as_given<'a>(given: &'a BTreeMap<&'static str, (String, String)>, name: &'a str) -> &'a str {
    given.get(name).map_or(name, |(key, _)| key.as_str())
}

fn unknown(key: &str) -> Error {
    if !PREFIXES.iter().any(|prefix| key.starts_with(prefix)) {
        let scheme = key.trim_start_matches("fs.").split('.').next().unwrap_or(key);
        return Error::unsupported(format!("the option '{key}' of the storage '{scheme}'")).with("option", key);
    }
    let rest = PREFIXES.iter().find_map(|prefix| key.strip_prefix(prefix)).unwrap_or(key);
    let names = KNOWN.iter().flat_map(|(name, others)| std::iter::once(name).chain(others.iter()));
    let near = names.min_by_key(|name| strsim::damerau_levenshtein(name, rest));
    let near = near.filter(|name| strsim::damerau_levenshtein(name, rest) <= 3);
    let error =
        Error::new(ErrorKind::UnknownOption, format!("'{key}' is no option of the storage s3")).with("option", key);
    match near {
        Some(near) => error.hint(format!("did you mean 's3.{near}'?")),
        None => error.hint(format!(
            "options: {}",
            KNOWN.iter().map(|(name, _)| format!("s3.{name}")).collect::<Vec<_>>().join(", ")
        )),
    }
}

/// The value is not quoted: where it stands in the wrong place it may be a secret.
fn invalid(key: &str, value: &str, expected: &str) -> Error {
    let shown = if is_secret(key) { "" } else { value };
    Error::new(ErrorKind::InvalidOption, format!("'{key}' = {shown:?} is not {expected}")).with("option", key)
}

fn parse_flag(key: &str, value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(invalid(key, value, "true or false")),
    }
}

/// Plain numbers are milliseconds, as Hadoop's.
fn parse_time(key: &str, value: &str) -> Result<Duration> {
    let parsed = parse_duration(value).ok().filter(|time| !time.is_zero());
    parsed.ok_or_else(|| invalid(key, value, "a time such as 5 s"))
}

fn with_scheme(endpoint: &str, ssl: bool) -> String {
    let endpoint = endpoint.trim_end_matches('/');
    if endpoint.contains("://") {
        return endpoint.to_owned();
    }
    format!("{}://{endpoint}", if ssl { "https" } else { "http" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_three_prefixes_and_both_spellings_say_the_same() {
        for [access, secret, style] in [
            ["s3.access-key", "s3.secret-key", "s3.path.style.access"],
            ["fs.s3a.access.key", "fs.s3a.secret.key", "fs.s3a.path.style.access"],
            ["s3a.access-key", "s3a.secret.key", "s3a.path-style-access"],
        ] {
            let parsed = Settings::parse(&options(&[(access, "a"), (secret, "b"), (style, "TRUE")])).unwrap();
            assert_eq!(
                (parsed.access_key.as_deref(), parsed.secret_key.as_deref(), parsed.path_style),
                (Some("a"), Some("b"), Some(true))
            );
            assert!(is_secret(access) && is_secret(secret) && !is_secret(style));
        }
    }

    #[test]
    fn an_unknown_option_is_refused_with_the_nearest() {
        let error = Settings::parse(&options(&[("s3.end-point", "x")])).unwrap_err();
        assert_eq!((error.kind(), error.hint_text()), (ErrorKind::UnknownOption, Some("did you mean 's3.endpoint'?")));
        let error = Settings::parse(&options(&[("fs.oss.endpoint", "x")])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedFeature);
    }

    #[test]
    fn values_that_cannot_be_are_refused() {
        for pairs in [
            &[("s3.access-key", "a")][..],
            &[("s3.path.style.access", "yes")],
            &[("s3.attempts.maximum", "0")],
            &[("s3.connection.timeout", "soon")],
            &[("s3.endpoint", "a"), ("fs.s3a.endpoint", "b")],
        ] {
            assert_eq!(Settings::parse(&options(pairs)).unwrap_err().kind(), ErrorKind::InvalidOption, "{pairs:?}");
        }
    }

    #[test]
    fn an_endpoint_without_a_scheme_gets_one() {
        let endpoint = |pairs: &[(&str, &str)]| Settings::parse(&options(pairs)).unwrap().endpoint.unwrap();
        assert_eq!(endpoint(&[("s3.endpoint", "minio:9000/")]), "https://minio:9000");
        assert_eq!(endpoint(&[("s3.endpoint", "m:9"), ("s3.connection.ssl.enabled", "false")]), "http://m:9");
        assert_eq!(endpoint(&[("s3.endpoint", "http://m:9")]), "http://m:9");
    }

    #[test]
    fn nothing_secret_is_printed() {
        let parsed = Settings::parse(&options(&[
            ("s3.access-key", "AKIAX"),
            ("s3.secret-key", "sEcReT"),
            ("s3.session.token", "tOkEn"),
        ]));
        let text = format!("{:?}", parsed.unwrap());
        assert!(!text.contains("AKIAX") && !text.contains("sEcReT") && !text.contains("tOkEn"), "{text}");
        let given = options(&[("s3.secret-key", "x"), ("s3.endpoint", "y"), ("merge-engine", "deduplicate")]);
        assert_eq!(
            crate::options::without_secrets(&given).into_keys().collect::<Vec<_>>(),
            ["merge-engine", "s3.endpoint"]
        );
    }
}
