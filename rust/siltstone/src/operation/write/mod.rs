//! Rows in, commit messages out: checks and converts input, routes it to one writer per bucket, and
//! hands over what the commit needs.
//!
//! Source: semantics a.2 to a.4, a.10, a.11, b.1; `TableWriteImpl`, `AbstractFileStoreWrite`.

use std::path::PathBuf;

use arrow_array::{Int8Array, RecordBatch};

use super::CommitMessage;
use crate::{Error, ErrorKind, Result, io::TableContext, row::RowKind};

/// How a [`TableWrite`] works.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// Who commits; only for messages here.
    pub commit_user: String,
    /// Bytes that all bucket writers may hold together; `None` = option `write-buffer-size`.
    pub memory_limit: Option<u64>,
    /// Where sorted runs are spilled; `None` = the system's temporary directory.
    pub spill_dir: Option<PathBuf>,
    /// Threads for sorting and encoding; `None` = all cores.
    pub threads: Option<usize>,
    /// The write replaces the content (overwrite): live files are not looked at, and bucket counts may change.
    pub ignore_previous_files: bool,
}

/// The row kinds of one batch.
#[derive(Clone, Debug)]
pub enum RowKinds {
    /// One for every row.
    All(RowKind),
    /// One byte (`RowKind::to_byte`) for each row.
    PerRow(Int8Array),
}

/// Writes rows of one table. A batch is checked completely before any of it is written, so after an
/// error about the input the writer goes on and the table is unchanged.
pub struct TableWrite {}

impl TableWrite {
    /// A writer with no bucket open yet.
    pub fn new(_ctx: &TableContext, _options: WriteOptions) -> Result<Self> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// Writes a batch. Columns come in any order and any encoding that fits without loss; missing
    /// nullable columns become null or their default. `kinds` of `None` is `+I`; the table's
    /// `rowkind.field` wins over it. Returns how many rows were taken (filtered rows left out).
    pub fn write(&mut self, _batch: &RecordBatch, _kinds: Option<&RowKinds>) -> Result<usize> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// Compacts the buckets that this writer has touched; the result comes with the next `prepare_commit`.
    pub fn compact(&mut self, _full: bool) -> Result<()> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// Flushes everything, waits for compactions, and returns one message for each changed bucket, in
    /// (partition, bucket) order. The writer can go on after it.
    pub fn prepare_commit(&mut self) -> Result<Vec<CommitMessage>> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// Closes the bucket writers: the next write looks at the live files of the then latest snapshot.
    /// Call it after a commit (never between `prepare_commit` and its commit).
    pub fn reset(&mut self) -> Result<()> {
        Ok(())
    }

    /// Deletes the files of everything not handed out by `prepare_commit`.
    pub fn abort(self) {}
}
