//! Compaction: picking a unit (pure), executing it, and doing so beside a writer.

use std::path::PathBuf;

use crate::{
    Error, ErrorKind, Result,
    io::TableContext,
    manifest::{CompactIncrement, DataFileMeta},
};

/// What one compaction takes, and to which level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactUnit {
    /// level of the outputs
    pub output_level: i32,
    /// files to compact
    pub files: Vec<DataFileMeta>,
    /// rewrite every file by itself, even one that is already at its level
    pub file_rewrite: bool,
}

/// Resources of a compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactResources {
    /// Threads that decode ahead of the encoder; 0 does everything on one thread.
    pub threads: usize,
    /// Local folder for spilling.
    pub spill_dir: Option<PathBuf>,
}

/// Picks what to compact in a bucket with these live files: everything worth it when `full`, else what the
/// universal rules say. `None`: nothing to do.
pub fn pick(ctx: &TableContext, files: &[DataFileMeta], full: bool) -> Result<Option<CompactUnit>> {
    let _ = (ctx, files, full);
    Err(Error::new(ErrorKind::Internal, "not yet"))
}

/// Executes a unit picked from `files` (all live files of the bucket). An error leaves no new file behind.
pub fn run_compaction(
    ctx: &TableContext,
    partition: &[u8],
    bucket: i32,
    files: &[DataFileMeta],
    unit: &CompactUnit,
    resources: &CompactResources,
) -> Result<CompactIncrement> {
    let _ = (ctx, partition, bucket, files, unit, resources);
    Err(Error::new(ErrorKind::Internal, "not yet"))
}
