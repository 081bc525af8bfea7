//! The write buffer: rows in arrival order in, sorted and merged rows out, spilling to local disk in between.

use std::sync::Arc;

use arrow_array::RecordBatch;

use super::{merge::SpillOptions, merge_function::MergeFunction};
use crate::{
    Error, ErrorKind, Result,
    io::{BatchStream, KvLayout},
};

/// Limits of a write buffer.
#[derive(Clone, Debug)]
pub struct WriteBufferOptions {
    /// Bytes of buffered rows before the buffer spills or asks to be flushed.
    pub budget: usize,
    /// Where to spill; `None` never spills.
    pub spill: Option<SpillOptions>,
    /// Bytes on disk before the buffer asks to be flushed.
    pub max_disk_size: u64,
    /// Rows of a result batch.
    pub batch_rows: usize,
}

/// Collects key-value batches and gives them back sorted and merged.
pub struct WriteBuffer {}

impl WriteBuffer {
    /// An empty buffer.
    pub fn new(
        _layout: Arc<KvLayout>,
        _function: Arc<dyn MergeFunction>,
        _options: WriteBufferOptions,
    ) -> Result<Self> {
        Ok(Self {})
    }

    /// Adds rows. True when the buffer is full and must be drained before more is added.
    pub fn write(&mut self, _batch: RecordBatch) -> Result<bool> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// Bytes held in memory.
    pub fn memory_used(&self) -> usize {
        0
    }

    /// Rows added since the last drain.
    pub fn rows(&self) -> usize {
        0
    }

    /// Frees memory by spilling; false when this buffer cannot spill (any more).
    pub fn spill(&mut self) -> Result<bool> {
        Ok(false)
    }

    /// Empties the buffer: all rows since the last drain, sorted and merged.
    pub fn drain(&mut self) -> Result<BatchStream> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }
}
