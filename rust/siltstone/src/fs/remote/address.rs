//! `s3://bucket/lake/shop.db/orders`, taken apart.

use super::kind::Kind;
use crate::error::{Error, ErrorKind, Result};

/// Storages of Paimon that this version does not reach.
const OTHERS: [&str; 6] = ["obs", "hdfs", "viewfs", "tos", "dfs", "http"];

/// A bucket of a store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bucket {
    pub(super) kind: Kind,
    /// Of Azure the container.
    pub(super) name: String,
    /// Of Azure the host of the account, as its Blob service has it; otherwise empty.
    pub(super) host: String,
}

impl Bucket {
    /// The bucket of `container@account.dfs.core.windows.net`, or of a plain name.
    fn of(kind: Kind, authority: &str) -> Self {
        match authority.split_once('@') {
            Some((container, host)) if kind == Kind::Azure => {
                Self { kind, name: container.to_owned(), host: blob_host(host) }
            }
            _ => Self { kind, name: authority.to_owned(), host: String::new() },
        }
    }

    /// One text for it, however it was written.
    pub(super) fn place(&self) -> String {
        let Self { kind, name, host } = self;
        if host.is_empty() { format!("{}://{name}", kind.name()) } else { format!("{}://{name}@{host}", kind.name()) }
    }

    /// The name of the account.
    pub(super) fn account(&self) -> &str {
        self.host.split(['.', ':']).next().unwrap_or_default()
    }
}

/// An account has one host for its files and one for its blobs.
pub(super) fn blob_host(host: &str) -> String {
    host.to_ascii_lowercase().replacen(".dfs.", ".blob.", 1)
}

/// Where a table or a warehouse is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) bucket: Bucket,
    /// Without slashes at its ends; empty for the whole bucket.
    pub(super) key: String,
    /// As it was given, without slashes at its end.
    pub(super) path: String,
}

/// The scheme of a URI that is no path of this machine.
pub(super) fn scheme_of(location: &str) -> Option<&str> {
    let (scheme, _) = location.split_once("://")?;
    let mut letters = scheme.chars();
    let is_scheme = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    (is_scheme && !scheme.eq_ignore_ascii_case("file")).then_some(scheme)
}

/// Takes a location apart.
///
/// # Errors
/// `UnsupportedFeature` for other storages, by name; `InvalidArgument` for what names no place in a bucket.
pub(super) fn parse(location: &str) -> Result<Address> {
    let scheme = scheme_of(location).unwrap_or_default();
    let Some(kind) = Kind::of_scheme(scheme) else { return Err(unsupported(scheme)) };
    let rest = location.get(scheme.len() + "://".len()..).unwrap_or_default();
    let (authority, key) = rest.split_once('/').unwrap_or((rest, ""));
    // before the last @ stands a container of Azure, everywhere else what nobody should write there
    let before = authority.rsplit_once('@').map(|(before, _)| before);
    let holds_secret = |before: &str| kind != Kind::Azure || before.contains([':', '@']);
    if before.is_some_and(holds_secret) || authority.contains('?') {
        // not quoted: it may hold a secret
        return Err(Error::new(ErrorKind::InvalidArgument, "the URI of a store holds credentials").hint(format!(
            "give them as options or by the environment ({}): URIs are written into logs",
            kind.keys()
        )));
    }
    let bucket = Bucket::of(kind, authority);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let is_host =
        bucket.host.chars().all(|c| plain(c) || c == ':') && (kind == Kind::Azure) != bucket.account().is_empty();
    if bucket.name.is_empty() || !bucket.name.chars().all(plain) || !is_host {
        return Err(Error::new(ErrorKind::InvalidArgument, format!("{authority:?} is not the name of a bucket"))
            .with("path", location.escape_debug())
            .hint(format!("give {}", kind.example())));
    }
    let key = key.trim_end_matches('/');
    check_key(location, key)?;
    let path = location.trim_end_matches('/').to_owned();
    Ok(Address { bucket, key: key.to_owned(), path })
}

/// The error for a storage that this version does not reach.
#[cold]
pub(super) fn unsupported(scheme: &str) -> Error {
    let hint = if OTHERS.contains(&scheme.to_ascii_lowercase().as_str()) {
        "this version of siltstone works on local file systems, S3 (s3://, s3a://, s3n://), Azure Blob Storage (abfs://, abfss://, \
         wasb://, wasbs://), Google Cloud Storage (gs://), OSS (oss://) and COS (cosn://, cos://)"
    } else {
        "siltstone knows local paths, file://, s3://, abfs://, wasb://, gs://, oss:// and cosn://"
    };
    Error::unsupported(format!("the storage '{scheme}'")).hint(hint)
}

/// The key of a file of this bucket.
///
/// # Errors
/// `UnsupportedFeature`: it lies in another storage or bucket; `InvalidArgument`: no key can be like this.
pub(super) fn key_of(bucket: &Bucket, path: &str) -> Result<String> {
    let inside = scheme_of(path).filter(|scheme| Kind::of_scheme(scheme) == Some(bucket.kind)).and_then(|scheme| {
        let rest = path.get(scheme.len() + "://".len()..)?;
        let (authority, key) = rest.split_once('/').unwrap_or((rest, ""));
        (Bucket::of(bucket.kind, authority) == *bucket).then_some(key)
    });
    let Some(key) = inside else {
        return Err(Error::unsupported("a file in another storage or bucket than its table's")
            .with("file", path.escape_debug())
            .with("bucket", &bucket.name));
    };
    let key = key.trim_end_matches('/');
    check_key(path, key)?;
    Ok(key.to_owned())
}

/// A key that a listing has: others may have chosen it. A request for one that is no path would be for another object.
///
/// # Errors
/// `Storage`: no request can name it.
pub(super) fn check_listed(directory: &str, prefix: &str, key: &str) -> Result<()> {
    let name = key.strip_suffix('/').unwrap_or(key);
    let why = match key.strip_prefix(prefix) {
        None => Some("it does not lie there"),
        // a space before the slash of a directory is part of its name
        Some(_) => fault_of(name).filter(|fault| *fault != SPACE || name == key),
    };
    let Some(why) = why else { return Ok(()) };
    Err(Error::new(
        ErrorKind::Storage,
        format!("the store lists an object below a directory that no request can name: {why}"),
    )
    .with("path", directory)
    .with("key", key.escape_debug())
    .hint("delete that object with the tools of the store, then try again"))
}

const SPACE: &str = "it begins or ends with a space";

/// Keys mean what paths mean: nothing is left out, nothing leads elsewhere.
fn check_key(path: &str, key: &str) -> Result<()> {
    let Some(why) = fault_of(key) else { return Ok(()) };
    Err(Error::new(ErrorKind::InvalidArgument, format!("this cannot be a key of an object store: {why}"))
        .with("path", path.escape_debug()))
}

fn fault_of(key: &str) -> Option<&'static str> {
    if key.split('/').any(str::is_empty) && !key.is_empty() {
        Some("it has two slashes in a row")
    } else if key.split('/').any(|part| part == "." || part == "..") {
        Some("it contains '.' or '..'")
    } else if key.chars().any(char::is_control) {
        Some("it contains a control character")
    } else {
        (key.trim() != key).then_some(SPACE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_a_bucket_and_a_key() {
        for (location, bucket, key) in [
            ("s3://b", "s3://b", ""),
            ("s3a://b/", "s3://b", ""),
            ("S3N://b.c-1/lake/", "s3://b.c-1", "lake"),
            ("s3://b/w/db.db/t", "s3://b", "w/db.db/t"),
            ("s3://b/dt=2026-11-20/é f", "s3://b", "dt=2026-11-20/é f"),
            ("oss://b/w", "oss://b", "w"),
            ("gs://b/w", "gs://b", "w"),
            ("cosn://b-1/w", "cos://b-1", "w"),
            ("cos://b-1/w", "cos://b-1", "w"),
            ("abfss://c@Acc.dfs.core.windows.net/w", "azure://c@acc.blob.core.windows.net", "w"),
            ("wasb://c@acc.blob.core.windows.net", "azure://c@acc.blob.core.windows.net", ""),
        ] {
            let found = parse(location).unwrap();
            assert_eq!((found.bucket.place().as_str(), found.key.as_str()), (bucket, key), "{location}");
        }
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        for location in [
            "s3://",
            "s3:///a",
            "s3://b/a//b",
            "s3://b/../a",
            "s3://b/a/.",
            "s3://b/a\n",
            "s3://b/a ",
            "s3://b c/a",
            "abfs://container/a",
            "abfs://c@/a",
            "abfs://@a.dfs.core.windows.net/a",
            "abfs://c@h!x/a",
        ] {
            assert_eq!(parse(location).unwrap_err().kind(), ErrorKind::InvalidArgument, "{location:?}");
        }
        for location in ["hdfs://n:8020/a", "obs://b/x", "x://b"] {
            let error = parse(location).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnsupportedFeature, "{location}");
            assert!(error.message().contains(location.split(':').next().unwrap()), "{error}");
        }
    }

    /// Old Hadoop took `s3n://key:secret@bucket`.
    #[test]
    fn credentials_in_a_uri_are_refused_and_not_repeated() {
        for location in [
            "s3://AKIA:sEcReT@b/a",
            "oss://k:sEcReT@b/a",
            "gs://k:sEcReT@b/a",
            "abfs://c:sEcReT@a.dfs.core.windows.net/w",
            "abfs://sEcReT@c@a.dfs.core.windows.net/w",
            "abfs://c@a.dfs.core.windows.net?sig=sEcReT",
        ] {
            let error = parse(location).unwrap_err();
            assert!(!format!("{error} {:?}", error.hint_text()).contains("sEcReT"));
        }
    }

    #[test]
    fn files_of_another_bucket_are_not_read_from_this_one() {
        let bucket = parse("s3://b/w").unwrap().bucket;
        assert_eq!(key_of(&bucket, "s3a://b/w/t").unwrap(), "w/t");
        assert_eq!(key_of(&bucket, "s3://b").unwrap(), "");
        for path in ["s3://bb/w", "s3://a/w", "/w", "oss://b/w", "gs://b/w", "w"] {
            assert_eq!(key_of(&bucket, path).unwrap_err().kind(), ErrorKind::UnsupportedFeature, "{path}");
        }
        assert_eq!(key_of(&bucket, "s3://b/w/../x").unwrap_err().kind(), ErrorKind::InvalidArgument);
        let container = parse("abfs://c@a.dfs.core.windows.net/w").unwrap().bucket;
        assert_eq!(key_of(&container, "wasbs://c@a.blob.core.windows.net/w/t").unwrap(), "w/t");
        for path in ["abfs://c@b.dfs.core.windows.net/w", "abfs://d@a.dfs.core.windows.net/w"] {
            assert_eq!(key_of(&container, path).unwrap_err().kind(), ErrorKind::UnsupportedFeature, "{path}");
        }
    }

    /// `t//../o/file` below `t` became a request to delete `o/file`.
    #[test]
    fn listed_keys_lie_where_they_say() {
        for key in ["w/t/a", "w/t/p=a b/c", "w/t/p=a /", "w/t/a/"] {
            check_listed("s3://b/w/t", "w/t/", key).unwrap();
        }
        for key in ["w/t//../o/a", "w/t/../o/a", "w/t//a", "w/t/a//", "w/t/a ", "w/t/./a", "w/t/a\nb", "w/o/a", "w/t"] {
            let error = check_listed("s3://b/w/t", "w/t/", key).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Storage, "{key:?}");
        }
    }
}
