//! Reading the files of a bucket merged: sections one after another.

use std::path::PathBuf;

use crate::{
    Error, ErrorKind, Result,
    io::{BatchStream, KvLayout, TableContext},
    manifest::DataFileMeta,
    predicate::Predicate,
};

/// How to read merged rows.
#[derive(Clone, Debug)]
pub struct MergeReadOptions {
    /// Condition over key columns; rows that do not satisfy it may still come.
    pub key_filter: Option<Predicate>,
    /// Condition over any columns of the layout; used only where nothing is merged. Rows that do not satisfy it may
    /// still come.
    pub value_filter: Option<Predicate>,
    /// Leave out retracts.
    pub drop_deletes: bool,
    /// Rows of a batch.
    pub batch_rows: usize,
    /// Threads that decode ahead; 0 does everything on the reader's thread.
    pub threads: usize,
    /// Local folder for spilling when a section has more runs than `sort-spill-threshold`; `None` opens all at once.
    pub spill_dir: Option<PathBuf>,
}

impl Default for MergeReadOptions {
    fn default() -> Self {
        Self { key_filter: None, value_filter: None, drop_deletes: true, batch_rows: 8192, threads: 1, spill_dir: None }
    }
}

/// Reads files of one bucket as merged key-value batches of the layout, in key order. Sections are opened one
/// after another; a section with one run is read without merging.
pub fn read_merged(
    ctx: &TableContext,
    partition: &[u8],
    bucket: i32,
    files: &[DataFileMeta],
    layout: &KvLayout,
    options: MergeReadOptions,
) -> Result<BatchStream> {
    let _ = (ctx, partition, bucket, files, layout, options);
    Err(Error::new(ErrorKind::Internal, "not yet"))
}
