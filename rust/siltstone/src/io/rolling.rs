//! Writing rows of one bucket into files of the target size.

use arrow_array::RecordBatch;

use super::{FileWriteSpec, TableContext};
use crate::{Error, ErrorKind, Result, manifest::DataFileMeta};

/// Writes rows of one bucket, in their order, into as many data files as the target size asks for.
pub struct RollingWriter {}

impl RollingWriter {
    /// A writer that creates its first file with its first row.
    pub fn new(_ctx: &TableContext, _partition: &[u8], _bucket: i32, _spec: FileWriteSpec) -> Result<Self> {
        Ok(Self {})
    }

    /// Appends rows; key-value rows must come in key order.
    pub fn write(&mut self, _batch: &RecordBatch) -> Result<()> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// Rows written so far, over all files.
    pub fn rows(&self) -> i64 {
        0
    }

    /// Memory that the encoders hold.
    pub fn memory_used(&self) -> usize {
        0
    }

    /// Closes the last file; the metas in the order of writing. No rows, no file.
    pub fn finish(self) -> Result<Vec<DataFileMeta>> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// Deletes every file written so far; errors are logged, not returned.
    pub fn abort(self) {}
}
