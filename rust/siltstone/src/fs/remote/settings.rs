//! Options of stores, under the names that Paimon and Hadoop have for them.
//!
//! What is not given here the SDKs' environment, profiles and roles say.

use std::{collections::BTreeMap, fmt, time::Duration};

use super::{address::Bucket, kind::Kind};
use crate::{
    error::{Error, ErrorKind, Result},
    options::{is_secret, parse_duration},
};

/// Options of storages that this version does not reach.
const OTHERS: [&str; 8] = ["oss.", "fs.gs.", "gs.", "fs.azure.", "fs.cosn.", "fs.obs.", "obs.", "fs.cos."];

/// What an option says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Means {
    AccessKey,
    SecretKey,
    SessionToken,
    Endpoint,
    Region,
    PathStyle,
    Tls,
    /// Tries of a request.
    Attempts,
    ConnectTime,
    AnswerTime,
    /// How keys are found, or that there are none.
    Provider,
    Encryption,
    EncryptionKey,
}

/// An option: its name behind the prefix, what it says, and other names for it.
type Known = (&'static str, Means, &'static [&'static str]);

const S3: &[Known] = &[
    ("access-key", Means::AccessKey, &["access.key"]),
    ("secret-key", Means::SecretKey, &["secret.key"]),
    ("session.token", Means::SessionToken, &["session-token"]),
    ("endpoint", Means::Endpoint, &[]),
    ("region", Means::Region, &["endpoint.region"]),
    ("path.style.access", Means::PathStyle, &["path-style-access"]),
    ("connection.ssl.enabled", Means::Tls, &[]),
    ("attempts.maximum", Means::Attempts, &[]),
    ("connection.establish.timeout", Means::ConnectTime, &[]),
    ("connection.timeout", Means::AnswerTime, &[]),
    ("aws.credentials.provider", Means::Provider, &[]),
];

const OSS: &[Known] = &[
    ("accessKeyId", Means::AccessKey, &[]),
    ("accessKeySecret", Means::SecretKey, &[]),
    ("securityToken", Means::SessionToken, &[]),
    ("endpoint", Means::Endpoint, &[]),
    ("connection.secure.enabled", Means::Tls, &[]),
    ("server-side-encryption", Means::Encryption, &[]),
    ("server-side-encryption-key-id", Means::EncryptionKey, &[]),
    ("attempts.maximum", Means::Attempts, &[]),
    ("connection.establish.timeout", Means::ConnectTime, &[]),
    ("connection.timeout", Means::AnswerTime, &[]),
];

fn known_of(kind: Kind) -> &'static [Known] {
    match kind {
        Kind::S3 => S3,
        Kind::Oss => OSS,
    }
}

/// Whether an option is one of a storage, not of a table or catalog.
pub fn is_storage_option(key: &str) -> bool {
    Kind::of_option(key).is_some() || OTHERS.iter().any(|prefix| key.starts_with(prefix))
}

/// What an option of a kind of store says, whatever its prefix.
fn meaning(kind: Kind, key: &str) -> Option<Means> {
    let rest = kind.prefixes().iter().find_map(|prefix| key.strip_prefix(prefix))?;
    // some programs make keys lower case
    let is = |name: &str| name.eq_ignore_ascii_case(rest);
    let known = known_of(kind).iter().find(|(name, _, others)| is(name) || others.iter().any(|other| is(other)));
    known.map(|(_, means, _)| *means)
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
    /// Method and key by which the store encrypts (OSS).
    pub(super) encryption: (Option<String>, Option<String>),
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
    /// From options of the storage that a bucket is in.
    ///
    /// # Errors
    /// `UnknownOption`: there is none of this name; `InvalidOption`: a value that cannot be; `UnsupportedFeature`: of another storage.
    pub(super) fn parse(bucket: &Bucket, options: &BTreeMap<String, String>) -> Result<Self> {
        let given = Given::of(bucket, options)?;
        let (access_key, secret_key) = (given.owned(Means::AccessKey), given.owned(Means::SecretKey));
        if access_key.is_some() != secret_key.is_some() {
            let names = [Means::AccessKey, Means::SecretKey].map(|means| name_of(bucket.kind, means));
            let [access, secret] = names;
            let (there, missing) = if access_key.is_some() { (access, secret) } else { (secret, access) };
            let message = format!("'{there}' is given without '{missing}'");
            return Err(Error::new(ErrorKind::InvalidOption, message).with("option", missing));
        }
        let tls = given.flag(Means::Tls)?.unwrap_or(true);
        Ok(Self {
            access_key,
            secret_key,
            session_token: given.owned(Means::SessionToken),
            endpoint: given.text(Means::Endpoint).map(|endpoint| with_scheme(endpoint, tls)),
            region: given.owned(Means::Region),
            path_style: given.flag(Means::PathStyle)?,
            anonymous: given.anonymous()?,
            encryption: given.encryption()?,
            retries: given.attempts()?.unwrap_or(4) - 1,
            connect_timeout: given.duration(Means::ConnectTime, 2_000)?,
            answer_timeout: given.duration(Means::AnswerTime, 30_000)?,
        })
    }

    /// What must not be shown.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        [&self.secret_key, &self.session_token, &self.access_key].into_iter().flatten().map(String::as_str)
    }
}

/// Options by what they say, with key and value as they were given.
struct Given {
    kind: Kind,
    options: BTreeMap<Means, (String, String)>,
}

impl Given {
    fn of(bucket: &Bucket, options: &BTreeMap<String, String>) -> Result<Self> {
        let mut given: BTreeMap<Means, (String, String)> = BTreeMap::new();
        for (key, value) in options {
            let Some(means) = meaning(bucket.kind, key) else { return Err(unknown(bucket.kind, key)) };
            if let Some((other, before)) = given.get(&means)
                && before != value
            {
                let message = format!("'{key}' and '{other}' mean the same and have different values");
                return Err(Error::new(ErrorKind::InvalidOption, message)
                    .with("option", key)
                    .hint("give only one of them"));
            }
            given.insert(means, (key.clone(), value.clone()));
        }
        Ok(Self { kind: bucket.kind, options: given })
    }

    fn key(&self, means: Means) -> String {
        self.options.get(&means).map_or_else(|| name_of(self.kind, means), |(key, _)| key.clone())
    }

    fn text(&self, means: Means) -> Option<&str> {
        self.options.get(&means).map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    fn owned(&self, means: Means) -> Option<String> {
        self.text(means).map(str::to_owned)
    }

    fn flag(&self, means: Means) -> Result<Option<bool>> {
        self.text(means).map(|value| parse_flag(&self.key(means), value)).transpose()
    }

    /// Tries of a request: 1 or more.
    fn attempts(&self) -> Result<Option<usize>> {
        let Some(value) = self.text(Means::Attempts) else { return Ok(None) };
        let parsed = value.parse().ok().filter(|n| (1..=100).contains(n));
        parsed.map(Some).ok_or_else(|| invalid(&self.key(Means::Attempts), value, "a number from 1 to 100"))
    }

    fn duration(&self, means: Means, millis: u64) -> Result<Duration> {
        match self.text(means) {
            Some(value) => parse_time(&self.key(means), value),
            None => Ok(Duration::from_millis(millis)),
        }
    }

    /// Whether requests are not signed.
    fn anonymous(&self) -> Result<bool> {
        let Some(class) = self.text(Means::Provider) else { return Ok(false) };
        if class.rsplit('.').next() == Some("AnonymousAWSCredentialsProvider") {
            return Ok(true);
        }
        Err(Error::unsupported(format!("the credentials provider '{class}'"))
            .with("option", self.key(Means::Provider))
            .hint("leave it out: the environment, profiles, web identities and instance roles are asked by themselves"))
    }

    fn encryption(&self) -> Result<(Option<String>, Option<String>)> {
        let (method, key) = (self.owned(Means::Encryption), self.owned(Means::EncryptionKey));
        match method.as_deref() {
            Some("AES256" | "KMS") | None => {}
            Some(other) => return Err(invalid(&self.key(Means::Encryption), other, "AES256 or KMS")),
        }
        if key.is_some() && method.as_deref() != Some("KMS") {
            let message = format!("'{}' needs '{}' = KMS", self.key(Means::EncryptionKey), self.key(Means::Encryption));
            return Err(Error::new(ErrorKind::InvalidOption, message).with("option", self.key(Means::EncryptionKey)));
        }
        Ok((method, key))
    }
}

/// The option that says something.
fn name_of(kind: Kind, means: Means) -> String {
    let known = known_of(kind).iter().find(|(_, says, _)| *says == means);
    format!("{}{}", kind.prefix(), known.map_or("", |(name, _, _)| name))
}

fn unknown(kind: Kind, key: &str) -> Error {
    let Some(rest) = kind.prefixes().iter().find_map(|prefix| key.strip_prefix(prefix)) else {
        if let Some(other) = Kind::of_option(key) {
            let message =
                format!("'{key}' is an option of the storage {}, and the location is in {}", other.name(), kind.name());
            let error = Error::new(ErrorKind::InvalidOption, message).with("option", key);
            return error.hint(format!("leave it out, or give a location such as {}", other.example()));
        }
        let scheme = key.trim_start_matches("fs.").split('.').next().unwrap_or(key);
        return Error::unsupported(format!("the option '{key}' of the storage '{scheme}'")).with("option", key);
    };
    let (prefix, known) = (kind.prefix(), known_of(kind));
    let names = known.iter().flat_map(|(name, _, others)| std::iter::once(name).chain(others.iter()));
    let near = names.min_by_key(|name| strsim::damerau_levenshtein(name, rest));
    let near = near.filter(|name| strsim::damerau_levenshtein(name, rest) <= 3);
    let error = Error::new(ErrorKind::UnknownOption, format!("'{key}' is no option of the storage {}", kind.name()))
        .with("option", key);
    if let Some(near) = near {
        return error.hint(format!("did you mean '{prefix}{near}'?"));
    }
    let names: Vec<String> = known.iter().map(|(name, _, _)| format!("{prefix}{name}")).collect();
    error.hint(format!("options: {}", names.join(", ")))
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

    fn bucket(location: &str) -> Bucket {
        super::super::address::parse(location).unwrap().bucket
    }

    fn parsed(location: &str, pairs: &[(&str, &str)]) -> Result<Settings> {
        Settings::parse(&bucket(location), &options(pairs))
    }

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
            let parsed = parsed("s3://b", &[(access, "a"), (secret, "b"), (style, "TRUE")]).unwrap();
            assert_eq!(
                (parsed.access_key.as_deref(), parsed.secret_key.as_deref(), parsed.path_style),
                (Some("a"), Some("b"), Some(true))
            );
            assert!(is_secret(access) && is_secret(secret) && !is_secret(style));
        }
    }

    #[test]
    fn an_unknown_option_is_refused_with_the_nearest() {
        let error = parsed("s3://b", &[("s3.end-point", "x")]).unwrap_err();
        assert_eq!((error.kind(), error.hint_text()), (ErrorKind::UnknownOption, Some("did you mean 's3.endpoint'?")));
        let error = parsed("s3://b", &[("fs.oss.endpoint", "x")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidOption);
        let error = parsed("s3://b", &[("fs.cosn.bucket.region", "x")]).unwrap_err();
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
            assert_eq!(parsed("s3://b", pairs).unwrap_err().kind(), ErrorKind::InvalidOption, "{pairs:?}");
        }
    }

    #[test]
    fn an_endpoint_without_a_scheme_gets_one() {
        let endpoint = |pairs: &[(&str, &str)]| parsed("s3://b", pairs).unwrap().endpoint.unwrap();
        assert_eq!(endpoint(&[("s3.endpoint", "minio:9000/")]), "https://minio:9000");
        assert_eq!(endpoint(&[("s3.endpoint", "m:9"), ("s3.connection.ssl.enabled", "false")]), "http://m:9");
        assert_eq!(endpoint(&[("s3.endpoint", "http://m:9")]), "http://m:9");
    }

    #[test]
    fn nothing_secret_is_printed() {
        let given = [("s3.access-key", "AKIAX"), ("s3.secret-key", "sEcReT"), ("s3.session.token", "tOkEn")];
        let text = format!("{:?}", parsed("s3://b", &given).unwrap());
        assert!(!text.contains("AKIAX") && !text.contains("sEcReT") && !text.contains("tOkEn"), "{text}");
        let given = options(&[("s3.secret-key", "x"), ("s3.endpoint", "y"), ("merge-engine", "deduplicate")]);
        assert_eq!(
            crate::options::without_secrets(&given).into_keys().collect::<Vec<_>>(),
            ["merge-engine", "s3.endpoint"]
        );
    }

    #[test]
    fn names_of_hadoop_for_other_stores_are_understood() {
        let oss = [
            ("fs.oss.accesskeyid", "a"),
            ("fs.oss.accessKeySecret", "b"),
            ("fs.oss.endpoint", "oss-cn-x.aliyuncs.com"),
            ("fs.oss.server-side-encryption", "KMS"),
            ("fs.oss.server-side-encryption-key-id", "k"),
        ];
        let oss = parsed("oss://b", &oss).unwrap();
        assert_eq!(oss.access_key.as_deref(), Some("a"));
        assert_eq!(oss.endpoint.as_deref(), Some("https://oss-cn-x.aliyuncs.com"));
        assert_eq!(oss.encryption, (Some("KMS".to_owned()), Some("k".to_owned())));
    }
}
