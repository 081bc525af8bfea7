//! The stores that are reached, by the schemes of their URIs.

use std::{borrow::Cow, time::Duration};

use opendal::Metadata;

/// A kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Amazon S3, and what speaks its protocol.
    S3,
    /// Azure Blob Storage.
    Azure,
    /// Google Cloud Storage.
    Google,
    /// Alibaba Cloud OSS.
    Oss,
    /// Tencent Cloud COS.
    Cos,
}

/// What a kind is called, and how messages name what to check.
struct About {
    kind: Kind,
    name: &'static str,
    schemes: &'static [&'static str],
    /// Of its options; the last one is for messages.
    prefixes: &'static [&'static str],
    example: &'static str,
    keys: &'static str,
    endpoint: &'static str,
    condition: &'static str,
}

const KINDS: [About; 5] = [
    About {
        kind: Kind::S3,
        name: "s3",
        schemes: &["s3", "s3a", "s3n"],
        prefixes: &["fs.s3a.", "s3a.", "s3."],
        example: "s3://bucket/path",
        keys: "s3.access-key and s3.secret-key, or AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_PROFILE",
        endpoint: "s3.endpoint (or AWS_ENDPOINT_URL)",
        condition: "If-None-Match: *",
    },
    About {
        kind: Kind::Azure,
        name: "azure",
        schemes: &["abfs", "abfss", "wasb", "wasbs"],
        prefixes: &["azure.", "fs.wasb.", "fs.azure."],
        example: "abfs://container@account.dfs.core.windows.net/path",
        keys: "fs.azure.account.key.<account>.dfs.core.windows.net or fs.azure.sas.<container>.<account>.dfs.core.windows.net, or \
               AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_TOKEN, or AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET",
        endpoint: "the account in the URI, or fs.azure.endpoint",
        condition: "If-None-Match: *",
    },
    About {
        kind: Kind::Google,
        name: "gs",
        schemes: &["gs"],
        prefixes: &["gs.", "fs.gs."],
        example: "gs://bucket/path",
        keys: "fs.gs.auth.service.account.json.keyfile, or GOOGLE_APPLICATION_CREDENTIALS",
        endpoint: "fs.gs.storage.root.url",
        condition: "ifGenerationMatch=0",
    },
    About {
        kind: Kind::Oss,
        name: "oss",
        schemes: &["oss"],
        prefixes: &["fs.oss."],
        example: "oss://bucket/path",
        keys: "fs.oss.accessKeyId and fs.oss.accessKeySecret, or ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET",
        endpoint: "fs.oss.endpoint",
        condition: "x-oss-forbid-overwrite: true; it has no effect in buckets with versions",
    },
    About {
        kind: Kind::Cos,
        name: "cos",
        schemes: &["cosn", "cos"],
        prefixes: &["fs.cosn."],
        example: "cosn://bucket-1250000000/path",
        keys: "fs.cosn.userinfo.secretId and fs.cosn.userinfo.secretKey, or TENCENTCLOUD_SECRET_ID and TENCENTCLOUD_SECRET_KEY",
        endpoint: "fs.cosn.bucket.region (or fs.cosn.bucket.endpoint_suffix)",
        condition: "x-cos-forbid-overwrite: true; it has no effect in buckets with versions",
    },
];

impl Kind {
    /// The kind that a scheme names, in any case.
    pub(super) fn of_scheme(scheme: &str) -> Option<Self> {
        let names = |about: &&About| about.schemes.iter().any(|known| known.eq_ignore_ascii_case(scheme));
        KINDS.iter().find(names).map(|about| about.kind)
    }

    /// The kind that an option is of.
    pub(super) fn of_option(key: &str) -> Option<Self> {
        KINDS.iter().find(|about| about.prefixes.iter().any(|prefix| key.starts_with(prefix))).map(|about| about.kind)
    }

    fn about(self) -> &'static About {
        let [s3, azure, google, oss, cos] = &KINDS;
        match self {
            Self::S3 => s3,
            Self::Azure => azure,
            Self::Google => google,
            Self::Oss => oss,
            Self::Cos => cos,
        }
    }

    pub(super) fn name(self) -> &'static str {
        self.about().name
    }

    /// What options begin with.
    pub(super) fn prefixes(self) -> &'static [&'static str] {
        self.about().prefixes
    }

    /// What options begin with in messages.
    pub(super) fn prefix(self) -> &'static str {
        self.prefixes().last().copied().unwrap_or_default()
    }

    /// A location.
    pub(super) fn example(self) -> &'static str {
        self.about().example
    }

    /// Where credentials come from.
    pub(super) fn keys(self) -> &'static str {
        self.about().keys
    }

    /// What says where requests go.
    pub(super) fn endpoint(self) -> &'static str {
        self.about().endpoint
    }

    /// How a put says that its key must be free.
    pub(super) fn condition(self) -> &'static str {
        self.about().condition
    }

    /// A name for what is kept with an object: Azure takes identifiers.
    pub(super) fn metadata(self, name: &str) -> Cow<'_, str> {
        if self == Self::Azure { Cow::Owned(name.replace('-', "_")) } else { Cow::Borrowed(name) }
    }

    /// What is kept with an object under a name.
    pub(super) fn metadata_of<'a>(self, found: &'a Metadata, name: &str) -> Option<&'a str> {
        found.user_metadata()?.get(self.metadata(name).as_ref())
    }

    /// Before the second try of a request; doubled from try to try. Google takes one write of an object a second.
    pub(super) fn first_pause(self) -> Duration {
        Duration::from_millis(if self == Self::Google { 400 } else { 100 })
    }

    /// Whether the end of an object can be asked for before its size is known.
    pub(super) fn reads_ends(self) -> bool {
        self != Self::Azure
    }

    /// Whether the store copies an object. COS wants the host of the bucket in the request, where OpenDAL puts its name.
    pub(super) fn copies(self) -> bool {
        self != Self::Cos
    }

    /// Whether directories may be objects: empty ones that say so, as Hadoop makes them and as accounts with a hierarchical namespace
    /// show them.
    pub(super) fn has_folders(self) -> bool {
        self == Self::Azure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_schemes_and_options() {
        for about in &KINDS {
            assert_eq!(about.kind.name(), about.name);
            for scheme in about.schemes {
                assert_eq!(Kind::of_scheme(&scheme.to_uppercase()), Some(about.kind), "{scheme}");
            }
            for prefix in about.prefixes {
                assert_eq!(Kind::of_option(&format!("{prefix}x")), Some(about.kind), "{prefix}");
            }
        }
        assert_eq!(Kind::of_scheme("hdfs"), None);
        assert_eq!(Kind::of_option("scan.mode"), None);
    }
}
