//! The k-way merge: sorted batch streams in, one sorted and merged batch stream out.

use std::{path::PathBuf, sync::Arc};

use super::merge_function::MergeFunction;
use crate::{
    Error, ErrorKind, Result,
    io::{BatchStream, KvLayout},
};

/// Where sorted runs go when they do not fit in memory or are too many to be open at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpillOptions {
    /// A local folder; it is created when needed, and files in it are deleted after use.
    pub dir: PathBuf,
    /// Compress spilled batches with zstd.
    pub compress: bool,
    /// Runs that one merge reads at once.
    pub max_fan_in: usize,
}

/// How to merge.
#[derive(Clone, Debug)]
pub struct MergeOptions {
    /// Rows of a result batch.
    pub batch_rows: usize,
    /// Leave out results that are retracts.
    pub drop_deletes: bool,
    /// No input has two rows of one key; true for data files.
    pub unique_inputs: bool,
    /// Threads that decode inputs ahead; 0 decodes inside the merge.
    pub threads: usize,
    /// When there are more than `max_fan_in` inputs, the last ones are first merged into spill files.
    pub spill: Option<SpillOptions>,
}

impl Default for MergeOptions {
    fn default() -> Self {
        Self { batch_rows: 8192, drop_deletes: false, unique_inputs: true, threads: 0, spill: None }
    }
}

/// Merges streams of key-value batches, each sorted by key, into one; runs on the thread that pulls.
pub fn merge(
    inputs: Vec<BatchStream>,
    layout: &KvLayout,
    function: Arc<dyn MergeFunction>,
    options: MergeOptions,
) -> Result<BatchStream> {
    let _ = (inputs, layout, function, options);
    Err(Error::new(ErrorKind::Internal, "not yet"))
}

/// Runs a stream on a thread of its own, at most `depth` batches ahead of the reader.
pub fn read_ahead(stream: BatchStream, depth: usize) -> BatchStream {
    let _ = depth;
    stream
}
