//! The writer of one bucket: buffer, flush, compaction beside the writing, and what goes to the commit.

use std::path::PathBuf;

use arrow_array::{Int8Array, RecordBatch};

use crate::{
    Error, ErrorKind, Result,
    io::TableContext,
    manifest::{CompactIncrement, DataFileMeta, DataIncrement},
};

/// Resources and mode of a bucket writer.
#[derive(Clone, Debug)]
pub struct WriterSettings {
    /// Bytes of buffered rows before this writer spills or flushes by itself.
    pub budget: usize,
    /// Local folder for spilling; `None` never spills.
    pub spill_dir: Option<PathBuf>,
    /// No compaction at all (option `write-only`).
    pub write_only: bool,
    /// A writer of many commits: `full-compaction.delta-commits=n` compacts at every n-th commit. Otherwise at every one.
    pub streaming: bool,
    /// Threads that work beside the caller's, for sorting, decoding and compaction.
    pub threads: usize,
}

/// Writes one bucket of a primary-key table.
pub struct MergeTreeWriter {}

impl MergeTreeWriter {
    /// A writer on top of the live files of the bucket.
    pub fn new(
        _ctx: &TableContext,
        _partition: &[u8],
        _bucket: i32,
        _restored: Vec<DataFileMeta>,
        _settings: WriterSettings,
    ) -> Result<Self> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// Adds rows: all table fields in schema order, and one row kind for each.
    pub fn write(&mut self, _rows: &RecordBatch, _kinds: &Int8Array) -> Result<()> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// Bytes of buffered rows.
    pub fn memory_used(&self) -> usize {
        0
    }

    /// Frees the buffer's memory: spills when possible, else flushes to level 0.
    pub fn release_memory(&mut self) -> Result<()> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// Writes the buffered rows to level 0, and starts a compaction when one is due.
    pub fn flush(&mut self) -> Result<()> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// Flushes, waits for a running compaction and starts a new one: of everything when `full`.
    pub fn compact(&mut self, _full: bool) -> Result<()> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// Flushes and hands over what changed since the last call; waits for the compaction when `wait`, when there are too
    /// many runs, or when `commit.force-compact` asks for it.
    pub fn prepare_commit(&mut self, _wait: bool) -> Result<(DataIncrement, CompactIncrement)> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// A compaction is running or finished but not yet handed over.
    pub fn is_compacting(&self) -> bool {
        false
    }

    /// Deletes every file written since the last [`MergeTreeWriter::prepare_commit`].
    pub fn abort(self) {}
}
