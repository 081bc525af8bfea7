//! Dedicated compaction: a plan of independent tasks, which may run anywhere, and whose messages are
//! committed once.
//!
//! Source: semantics a.7 to a.10; `CompactProcedure`, `AppendCompactCoordinator`.

use std::collections::BTreeMap;

use super::CommitMessage;
use crate::{
    Error, ErrorKind, Result,
    io::TableContext,
    manifest::{BucketId, DataFileMeta},
    predicate::Predicate,
};

/// What to compact.
#[derive(Clone, Debug, Default)]
pub struct CompactRequest {
    /// Everything into the highest level (append tables: every group of two small files or more);
    /// otherwise only what the triggers of the table ask for.
    pub full: bool,
    /// Only partitions (serialized `BinaryRow`) of this list.
    pub partitions: Option<Vec<Vec<u8>>>,
    /// Only partitions for which this condition over partition columns holds.
    pub filter: Option<Predicate>,
    /// Only partitions whose newest file is at least this old.
    pub idle_millis: Option<i64>,
    /// Dynamic options of the operation, to travel with the tasks. Keys that carry secrets are left out.
    pub dynamic_options: BTreeMap<String, String>,
}

/// Independent tasks over one snapshot.
#[derive(Clone, Debug, Default)]
pub struct CompactionPlan {
    /// The snapshot that was looked at; `None` = the table is empty.
    pub snapshot_id: Option<i64>,
    /// What to do; empty when nothing needs it.
    pub tasks: Vec<CompactionTask>,
}

/// One bucket's compaction, complete enough to run in another process.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactionTask {
    /// Root of the table.
    pub location: String,
    /// Branch.
    pub branch: String,
    /// Schema to write with.
    pub schema_id: i64,
    /// Dynamic options; never secrets.
    pub options: BTreeMap<String, String>,
    /// Snapshot of the plan.
    pub snapshot_id: i64,
    /// Bucket.
    pub bucket: BucketId,
    /// `_TOTAL_BUCKETS` of its files.
    pub total_buckets: i32,
    /// Files to compact.
    pub files: Vec<DataFileMeta>,
}

impl CompactionTask {
    /// Versioned bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// From [`CompactionTask::to_bytes`].
    pub fn from_bytes(_bytes: &[u8]) -> Result<Self> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }
}

/// Looks at the latest snapshot and decides what to compact. Works on write-only tables.
pub fn plan_compaction(_ctx: &TableContext, _request: &CompactRequest) -> Result<CompactionPlan> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}

/// Runs one task: reads and writes files, commits nothing. `ctx` must be of the task's location, branch and schema.
pub fn run_task(_ctx: &TableContext, _task: &CompactionTask) -> Result<CommitMessage> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}
