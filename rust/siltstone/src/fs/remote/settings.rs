//! Options of stores, under the names that Paimon and Hadoop have for them.
//!
//! What is not given here the SDKs' environment, profiles and roles say.

use std::{collections::BTreeMap, fmt, time::Duration};

use super::{
    address::Bucket,
    azure::{self, Client},
    kind::Kind,
    known::{Meaning, Means, known_of, meaning, name_of},
};
use crate::{
    error::{Error, ErrorKind, Result},
    options::{is_secret, parse_duration},
};

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
    /// A signature that stands for keys (Azure).
    pub(super) sas: Option<String>,
    /// Who the program is (Azure).
    pub(super) client: Option<Client>,
    /// A file with keys (Google).
    pub(super) key_file: Option<String>,
    /// Whether only the machine is asked for keys (Google).
    pub(super) of_instance: bool,
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
        if bucket.kind != Kind::Azure && access_key.is_some() != secret_key.is_some() {
            let names = [Means::AccessKey, Means::SecretKey].map(|means| name_of(bucket.kind, means));
            let [access, secret] = names;
            let (there, missing) = if access_key.is_some() { (access, secret) } else { (secret, access) };
            let message = format!("'{there}' is given without '{missing}'");
            return Err(Error::new(ErrorKind::InvalidOption, message).with("option", missing));
        }
        let tls = given.flag(Means::Tls)?.unwrap_or(true);
        let attempts = given.number(Means::Attempts, 1)?.map(|attempts| attempts - 1);
        let (anonymous, of_instance) = given.provider()?;
        let parsed = Self {
            access_key,
            secret_key,
            session_token: given.owned(Means::SessionToken),
            endpoint: given.text(Means::Endpoint).map(|endpoint| with_scheme(endpoint, tls)),
            region: given.owned(Means::Region),
            path_style: given.flag(Means::PathStyle)?,
            anonymous,
            sas: given.text(Means::Signature).map(|sas| sas.trim_start_matches('?').to_owned()),
            client: None,
            key_file: given.owned(Means::KeyFile),
            of_instance,
            encryption: given.encryption()?,
            retries: attempts.or(given.number(Means::Retries, 0)?).unwrap_or(3),
            connect_timeout: given.duration(Means::ConnectTime, 2_000)?,
            answer_timeout: given.duration(Means::AnswerTime, 30_000)?,
        };
        if bucket.kind == Kind::Azure { azure::chosen(parsed, &given) } else { Ok(parsed) }
    }

    /// What must not be shown.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        let secret = self.client.as_ref().map(|client| &client.secret);
        let own = [&self.secret_key, &self.session_token, &self.access_key, &self.sas].into_iter().flatten();
        own.chain(secret).map(String::as_str)
    }
}

/// Options by what they say, with key and value as they were given.
pub(super) struct Given {
    kind: Kind,
    options: BTreeMap<Means, (String, String)>,
}

impl Given {
    fn of(bucket: &Bucket, options: &BTreeMap<String, String>) -> Result<Self> {
        let mut given: BTreeMap<Means, (String, String, bool)> = BTreeMap::new();
        for (key, value) in options {
            let (means, of_account) = match meaning(bucket, key) {
                Meaning::Says { means, of_account } => (means, of_account),
                Meaning::OfAnother => continue,
                Meaning::Unknown => return Err(unknown(bucket.kind, key)),
            };
            if let Some((other, before, was_of_account)) = given.get(&means) {
                if *was_of_account && !of_account {
                    continue;
                }
                if *was_of_account == of_account && before != value {
                    let message = format!("'{key}' and '{other}' mean the same and have different values");
                    return Err(Error::new(ErrorKind::InvalidOption, message)
                        .with("option", key)
                        .hint("give only one of them"));
                }
            }
            given.insert(means, (key.clone(), value.clone(), of_account));
        }
        let options = given.into_iter().map(|(means, (key, value, _))| (means, (key, value))).collect();
        Ok(Self { kind: bucket.kind, options })
    }

    /// The option, as it was given where it was.
    pub(super) fn key(&self, means: Means) -> String {
        self.options.get(&means).map_or_else(|| name_of(self.kind, means), |(key, _)| key.clone())
    }

    pub(super) fn text(&self, means: Means) -> Option<&str> {
        self.options.get(&means).map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    fn owned(&self, means: Means) -> Option<String> {
        self.text(means).map(str::to_owned)
    }

    fn flag(&self, means: Means) -> Result<Option<bool>> {
        self.text(means).map(|value| parse_flag(&self.key(means), value)).transpose()
    }

    fn number(&self, means: Means, least: usize) -> Result<Option<usize>> {
        let Some(value) = self.text(means) else { return Ok(None) };
        let parsed = value.parse().ok().filter(|n| (least..=100).contains(n));
        parsed.map(Some).ok_or_else(|| invalid(&self.key(means), value, &format!("a number from {least} to 100")))
    }

    fn duration(&self, means: Means, millis: u64) -> Result<Duration> {
        match self.text(means) {
            Some(value) => parse_time(&self.key(means), value),
            None => Ok(Duration::from_millis(millis)),
        }
    }

    /// Whether requests are not signed, and whether the machine alone is asked for keys. Of other ways to find keys those that are
    /// looked for without being named may be named.
    fn provider(&self) -> Result<(bool, bool)> {
        // Azure's is chosen among what is given (`azure`)
        let Some(value) = self.text(Means::Provider).filter(|_| self.kind != Kind::Azure) else {
            return Ok((false, false));
        };
        let with_file = self.text(Means::KeyFile).is_some();
        match (self.kind, value.rsplit('.').next().unwrap_or(value).to_ascii_uppercase().as_str(), with_file) {
            (Kind::S3, "ANONYMOUSAWSCREDENTIALSPROVIDER", _) | (Kind::Google, "UNAUTHENTICATED", false) => Ok((true, false)),
            (Kind::Google, "SERVICE_ACCOUNT_JSON_KEYFILE", true) | (Kind::Google, "APPLICATION_DEFAULT", false) => {
                Ok((false, false))
            }
            (Kind::Google, "COMPUTE_ENGINE", false) => Ok((false, true)),
            (Kind::Google, "UNAUTHENTICATED" | "SERVICE_ACCOUNT_JSON_KEYFILE" | "APPLICATION_DEFAULT" | "COMPUTE_ENGINE", _) => {
                let (key, file) = (self.key(Means::Provider), name_of(self.kind, Means::KeyFile));
                let message = format!("'{key}' = {value} does not go {} '{file}'", if with_file { "with" } else { "without" });
                Err(Error::new(ErrorKind::InvalidOption, message).with("option", key))
            }
            _ => Err(Error::unsupported(format!("the credentials provider '{value}'"))
                .with("option", self.key(Means::Provider))
                .hint("leave it out: the environment, profiles, web identities and instance roles are asked by themselves")),
        }
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
        let error = parsed("s3://b", &[("fs.obs.endpoint", "x")]).unwrap_err();
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
        let cos = [
            ("fs.cosn.userinfo.secretId", "a"),
            ("fs.cosn.userinfo.secretKey", "b"),
            ("fs.cosn.bucket.endpoint_suffix", "cos.ap-x.myqcloud.com"),
            ("fs.cosn.useHttps", "false"),
            ("fs.cosn.maxRetries", "7"),
        ];
        let cos = parsed("cosn://b-1", &cos).unwrap();
        assert_eq!((cos.access_key.as_deref(), cos.retries), (Some("a"), 7));
        assert_eq!(cos.endpoint.as_deref(), Some("http://cos.ap-x.myqcloud.com"));
        let google =
            [("fs.gs.auth.type", "SERVICE_ACCOUNT_JSON_KEYFILE"), ("gs.auth.service.account.json.keyfile", "/k")];
        let google = parsed("gs://b", &google).unwrap();
        assert_eq!((google.key_file.as_deref(), google.anonymous, google.retries), (Some("/k"), false, 3));
        let google = parsed("gs://b", &[("gs.auth.type", "UNAUTHENTICATED"), ("fs.gs.http.max.retry", "0")]).unwrap();
        assert_eq!((google.anonymous, google.retries), (true, 0));
        assert!(parsed("gs://b", &[("fs.gs.auth.type", "COMPUTE_ENGINE")]).unwrap().of_instance);
        let error = parsed("gs://b", &[("fs.gs.auth.type", "SERVICE_ACCOUNT_JSON_KEYFILE")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidOption);
        let error = parsed("gs://b", &[("fs.gs.auth.type", "USER_CREDENTIALS")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedFeature);
    }

    #[test]
    fn of_two_options_the_one_of_the_account_counts() {
        let given = [
            ("fs.azure.account.key", "YWxs"),
            ("fs.azure.account.key.a.blob.core.windows.net", "bWluZQ=="),
            ("fs.azure.account.key.b.dfs.core.windows.net", "b3RoZXI="),
        ];
        assert!(given.iter().all(|(key, _)| is_secret(key)));
        let account = "abfs://c@a.dfs.core.windows.net/w";
        assert_eq!(parsed(account, &given).unwrap().secret_key.as_deref(), Some("bWluZQ=="));
        assert_eq!(parsed("abfs://c@z.dfs.core.windows.net", &given).unwrap().secret_key.as_deref(), Some("YWxs"));
        let twice = [given[1], ("fs.azure.account.key.a.dfs.core.windows.net", "another")];
        assert_eq!(parsed(account, &twice).unwrap_err().kind(), ErrorKind::InvalidOption);
    }
}
