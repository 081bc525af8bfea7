//! Which version of a table a scan is asked for.

/// Which version of the table is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum VersionSelector {
    /// The latest snapshot, under the table's current schema; the table's `scan.*` options may say otherwise.
    #[default]
    Latest,
    /// A snapshot id.
    Snapshot(i64),
    /// A tag name.
    Tag(String),
    /// The newest snapshot committed at or before these epoch milliseconds.
    Timestamp(i64),
    /// A tag of this name, else `watermark-N`, else a snapshot id (`scan.version`).
    Version(String),
}
