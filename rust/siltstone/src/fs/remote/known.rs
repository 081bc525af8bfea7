//! The options of stores, by what they say.
//!
//! Hadoop has options of Azure for each account: `fs.azure.account.key.<account>.dfs.core.windows.net`. Those of the location's account
//! go before those that name none, and those of other accounts say nothing.

use super::{
    address::{Bucket, blob_host},
    kind::Kind,
};

/// Options of storages that this version does not reach.
const OTHERS: [&str; 4] = ["oss.", "fs.obs.", "obs.", "fs.cos."];

/// What an option says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Means {
    AccessKey,
    SecretKey,
    SessionToken,
    Endpoint,
    Region,
    PathStyle,
    Tls,
    /// Tries of a request.
    Attempts,
    /// Tries after the first.
    Retries,
    ConnectTime,
    AnswerTime,
    /// How keys are found, or that there are none.
    Provider,
    /// A file with keys.
    KeyFile,
    /// A signature that stands for keys.
    Signature,
    /// How a program shows who it is.
    OAuth,
    ClientId,
    ClientSecret,
    ClientEndpoint,
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

const AZURE: &[Known] = &[
    ("account.key", Means::SecretKey, &[]),
    ("sas.fixed.token", Means::Signature, &["sas"]),
    ("account.auth.type", Means::Provider, &[]),
    ("account.oauth.provider.type", Means::OAuth, &[]),
    ("account.oauth2.client.id", Means::ClientId, &[]),
    ("account.oauth2.client.secret", Means::ClientSecret, &[]),
    ("account.oauth2.client.endpoint", Means::ClientEndpoint, &[]),
    ("endpoint", Means::Endpoint, &[]),
    ("io.retry.max.retries", Means::Retries, &[]),
    ("http.connection.timeout", Means::ConnectTime, &[]),
    ("http.read.timeout", Means::AnswerTime, &[]),
];

const GOOGLE: &[Known] = &[
    ("auth.service.account.json.keyfile", Means::KeyFile, &[]),
    ("auth.type", Means::Provider, &[]),
    ("storage.root.url", Means::Endpoint, &[]),
    ("http.max.retry", Means::Retries, &[]),
    ("http.connect-timeout", Means::ConnectTime, &[]),
    ("http.read-timeout", Means::AnswerTime, &[]),
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

const COS: &[Known] = &[
    ("userinfo.secretId", Means::AccessKey, &[]),
    ("userinfo.secretKey", Means::SecretKey, &[]),
    ("userinfo.sessionToken", Means::SessionToken, &[]),
    ("bucket.endpoint_suffix", Means::Endpoint, &["userinfo.endpoint_suffix"]),
    ("bucket.region", Means::Region, &["userinfo.region"]),
    ("useHttps", Means::Tls, &[]),
    ("maxRetries", Means::Retries, &[]),
    ("connection.establish.timeout", Means::ConnectTime, &[]),
    ("connection.timeout", Means::AnswerTime, &[]),
];

/// The options of a kind of store.
pub(super) fn known_of(kind: Kind) -> &'static [Known] {
    match kind {
        Kind::S3 => S3,
        Kind::Azure => AZURE,
        Kind::Google => GOOGLE,
        Kind::Oss => OSS,
        Kind::Cos => COS,
    }
}

/// Whether an option is one of a storage, not of a table or catalog.
pub fn is_storage_option(key: &str) -> bool {
    Kind::of_option(key).is_some() || OTHERS.iter().any(|prefix| key.starts_with(prefix))
}

/// The option that says something.
pub(super) fn name_of(kind: Kind, means: Means) -> String {
    let known = known_of(kind).iter().find(|(_, says, _)| *says == means);
    format!("{}{}", kind.prefix(), known.map_or("", |(name, _, _)| name))
}

/// What an option has to do with a bucket.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It says something, of its account alone or of all.
    Says { means: Means, of_account: bool },
    /// It is of another account.
    OfAnother,
    /// There is none of this name.
    Unknown,
}

/// What an option says, whatever its prefix.
pub(super) fn meaning(bucket: &Bucket, key: &str) -> Meaning {
    let Some(rest) = bucket.kind.prefixes().iter().find_map(|prefix| key.strip_prefix(prefix)) else {
        return Meaning::Unknown;
    };
    // some programs make keys lower case
    let is = |name: &str| name.eq_ignore_ascii_case(rest);
    let known = known_of(bucket.kind).iter().find(|(name, _, others)| is(name) || others.iter().any(|other| is(other)));
    match known {
        Some((_, means, _)) => Meaning::Says { means: *means, of_account: false },
        None if bucket.kind == Kind::Azure => of_account(bucket, rest),
        None => Meaning::Unknown,
    }
}

/// What an option of Azure says behind whose name an account stands, and of signatures the container before it.
fn of_account(bucket: &Bucket, rest: &str) -> Meaning {
    let named = AZURE.iter().filter(|(name, _, _)| name.starts_with("account.") || name.starts_with("sas."));
    let found = named.into_iter().find_map(|(name, means, _)| {
        let host = rest.strip_prefix(name)?.strip_prefix('.')?;
        Some((host, *means, true))
    });
    let of_container = || {
        let (container, host) = rest.strip_prefix("sas.")?.split_once('.')?;
        Some((host, Means::Signature, container == bucket.name))
    };
    match found.or_else(of_container) {
        Some((host, means, true)) if blob_host(host) == bucket.host => Meaning::Says { means, of_account: true },
        Some(_) => Meaning::OfAnother,
        None => Meaning::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_an_account_count_for_it_alone() {
        let bucket = super::super::address::parse("abfs://c@a.dfs.core.windows.net/w").unwrap().bucket;
        let says = |means, of_account| Meaning::Says { means, of_account };
        for (key, expected) in [
            ("fs.azure.account.key", says(Means::SecretKey, false)),
            ("azure.account.key.a.blob.core.windows.net", says(Means::SecretKey, true)),
            ("fs.azure.account.key.a.dfs.core.windows.net", says(Means::SecretKey, true)),
            ("fs.azure.account.key.b.dfs.core.windows.net", Meaning::OfAnother),
            ("fs.azure.sas", says(Means::Signature, false)),
            ("fs.azure.sas.fixed.token.a.dfs.core.windows.net", says(Means::Signature, true)),
            ("fs.azure.sas.c.a.blob.core.windows.net", says(Means::Signature, true)),
            ("fs.azure.sas.d.a.blob.core.windows.net", Meaning::OfAnother),
            ("fs.azure.account.oauth2.client.id.a.dfs.core.windows.net", says(Means::ClientId, true)),
            ("fs.azure.account.hns.enabled", Meaning::Unknown),
            ("fs.azure.endpoint", says(Means::Endpoint, false)),
            ("fs.azure.endpoint.a.dfs.core.windows.net", Meaning::Unknown),
            ("s3.endpoint", Meaning::Unknown),
        ] {
            assert_eq!(meaning(&bucket, key), expected, "{key}");
        }
    }
}
