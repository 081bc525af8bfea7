//! What a scan is asked and what it answers.

use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    operation::{Split, read::ReadRequest},
    predicate::Predicate,
    snapshot::Snapshot,
};

/// Which version of the table is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum VersionSelector {
    /// The latest snapshot, under the table's current schema.
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

/// What to read. The filter's columns are those of the version's schema (see [`travel`]).
#[derive(Clone, Debug, Default)]
pub struct ScanRequest {
    /// Column names in the order of the result; `None` = all.
    pub columns: Option<Vec<String>>,
    /// Condition that rows must satisfy.
    pub filter: Option<Predicate>,
    /// At most this many rows.
    pub limit: Option<usize>,
    /// Version.
    pub version: VersionSelector,
    /// First result column `rowkind` with `+I` and so on.
    pub row_kind: bool,
    /// Rows of a batch; `None` = the default.
    pub batch_rows: Option<usize>,
}

/// The splits of one query at one snapshot, and how to read each of them.
#[derive(Clone, Debug)]
pub struct ScanPlan {
    /// The table under the schema that the result has.
    pub ctx: TableContext,
    /// `None`: the table has no snapshot yet.
    pub snapshot: Option<Snapshot>,
    /// Splits in partition, bucket and key order.
    pub splits: Vec<Split>,
    /// How each split is read.
    pub read: ReadRequest,
    /// Files that the snapshot has in the wanted partitions and buckets.
    pub files_considered: usize,
}

/// The snapshot that the selector names (`None`: the table is empty and `Latest` was asked), and the table under the
/// schema that rows of that version have: the snapshot's own for every selector but `Latest`.
pub fn travel(_ctx: &TableContext, _version: &VersionSelector) -> Result<(TableContext, Option<Snapshot>)> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}

/// Chooses snapshot, files and splits.
pub fn plan(_ctx: &TableContext, _request: &ScanRequest) -> Result<ScanPlan> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}
