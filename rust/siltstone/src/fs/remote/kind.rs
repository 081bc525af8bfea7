//! The stores that are reached, by the schemes of their URIs.

/// A kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Amazon S3, and what speaks its protocol.
    S3,
    /// Alibaba Cloud OSS.
    Oss,
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

const KINDS: [About; 2] = [
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
        kind: Kind::Oss,
        name: "oss",
        schemes: &["oss"],
        prefixes: &["fs.oss."],
        example: "oss://bucket/path",
        keys: "fs.oss.accessKeyId and fs.oss.accessKeySecret, or ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET",
        endpoint: "fs.oss.endpoint",
        condition: "x-oss-forbid-overwrite: true; it has no effect in buckets with versions",
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
        let [s3, oss] = &KINDS;
        match self {
            Self::S3 => s3,
            Self::Oss => oss,
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
