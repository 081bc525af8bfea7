//! What a caller says to a [`super::TableWrite`].

use std::path::PathBuf;

use arrow_array::Int8Array;

use super::shared::SharedWrite;
use crate::row::RowKind;

/// How a [`super::TableWrite`] works.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "five independent wishes")]
pub struct WriteOptions {
    /// Who commits; only for messages here.
    pub commit_user: String,
    /// Bytes that all bucket writers may hold together; `None` = option `write-buffer-size`.
    pub memory_limit: Option<u64>,
    /// Where sorted runs are spilled; `None` = the system's temporary directory.
    pub spill_dir: Option<PathBuf>,
    /// Threads for sorting, encoding and compaction; `None` = all cores.
    pub threads: Option<usize>,
    /// The write replaces the content (overwrite): live files are not looked at, and bucket counts may change.
    pub ignore_previous_files: bool,
    /// A writer of many commits: `full-compaction.delta-commits=n` compacts at every n-th commit. Otherwise at every one.
    pub streaming: bool,
    /// The rows are the table's own, in the types that it reads: a null is a null, and no default takes its place; lengths and
    /// digits are not looked at again. Who gives columns new values checks these.
    pub stored: bool,
    /// One of several writers of a job, to which rows come with their buckets.
    pub shared: Option<SharedWrite>,
    /// The rows have gone through a writer of the table before and come with the kinds that it gave them: neither is changed
    /// again. Only together with `stored`.
    pub moved: bool,
    /// Whoever gives the rows holds their memory, and leaves it as it is, until they are committed: they are not copied, and not
    /// counted as memory of the rows that wait.
    pub held: bool,
}

impl WriteOptions {
    /// The folder for spilled runs.
    pub(super) fn spill_dir(&self) -> PathBuf {
        self.spill_dir.clone().unwrap_or_else(std::env::temp_dir)
    }
}

/// The row kinds of one batch.
#[derive(Clone, Debug)]
pub enum RowKinds {
    /// One for every row.
    All(RowKind),
    /// One byte (`RowKind::to_byte`) for each row.
    PerRow(Int8Array),
}

impl RowKinds {
    /// Those of some of `rows` rows; all of them when they are not as many, which is told where they are used.
    pub(super) fn slice(&self, start: usize, length: usize, rows: usize) -> Self {
        match self {
            Self::PerRow(kinds) if kinds.len() == rows => Self::PerRow(kinds.slice(start, length)),
            other => other.clone(),
        }
    }
}
