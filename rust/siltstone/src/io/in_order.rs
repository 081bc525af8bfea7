//! Rows of one bucket on their way into files, in the order in which they come.

use arrow_array::RecordBatch;

use super::{FileWriteSpec, RollingWriter, TableContext, batch_bytes, delete_unused};
use crate::{
    error::Result,
    manifest::{BucketId, DataFileMeta},
};

/// Rows wait in memory up to this many bytes before a file is opened: a writer of many partitions keeps few files open.
const PENDING_BYTES: usize = 4 << 20;

/// Takes rows in, and gives the files that they came into.
#[derive(Debug)]
pub struct InOrder {
    ctx: TableContext,
    bucket: BucketId,
    pending: Vec<RecordBatch>,
    pending_bytes: usize,
    /// What the files hold; `None`: no row has come since the last [`InOrder::finish`].
    spec: Option<FileWriteSpec>,
    open: Option<RollingWriter>,
}

impl InOrder {
    /// No rows yet.
    pub fn new(ctx: &TableContext, bucket: BucketId) -> Self {
        Self { ctx: ctx.clone(), bucket, pending: Vec::new(), pending_bytes: 0, spec: None, open: None }
    }

    /// Adds rows. `spec`: of the files, when these are the first ones.
    pub fn write(&mut self, rows: &RecordBatch, spec: impl FnOnce() -> FileWriteSpec) -> Result<()> {
        self.spec.get_or_insert_with(spec);
        if self.open.is_some() {
            return self.write_to_file(rows);
        }
        self.pending_bytes += batch_bytes(rows);
        self.pending.push(rows.clone());
        if self.pending_bytes < PENDING_BYTES { Ok(()) } else { self.write_pending() }
    }

    /// Opens a file for the rows that waited.
    fn write_pending(&mut self) -> Result<()> {
        self.pending_bytes = 0;
        std::mem::take(&mut self.pending).iter().try_for_each(|rows| self.write_to_file(rows))
    }

    fn write_to_file(&mut self, rows: &RecordBatch) -> Result<()> {
        let writer = match (&mut self.open, &self.spec) {
            (Some(writer), _) => writer,
            (closed, Some(spec)) => {
                let (partition, bucket) = (&self.bucket.partition, self.bucket.bucket);
                closed.insert(RollingWriter::new(&self.ctx, partition, bucket, spec.clone())?)
            }
            (None, None) => return Ok(()),
        };
        writer.write(rows)
    }

    /// No row has come since the last [`InOrder::finish`].
    pub fn is_empty(&self) -> bool {
        self.spec.is_none()
    }

    /// Bytes of waiting rows, and what the encoder holds.
    pub fn memory_used(&self) -> usize {
        self.pending_bytes + self.open.as_ref().map_or(0, RollingWriter::memory_used)
    }

    /// Writes the waiting rows, closes the open file, and gives the files since the last call.
    pub fn finish(&mut self) -> Result<Vec<DataFileMeta>> {
        self.write_pending()?;
        self.spec = None;
        self.open.take().map_or_else(|| Ok(Vec::new()), RollingWriter::finish)
    }

    /// Deletes the open files, and those of the bucket that are given; errors are logged, not returned.
    pub fn abort(&mut self, files: &[DataFileMeta]) {
        if let Some(writer) = self.open.take() {
            writer.abort();
        }
        self.delete(files);
    }

    /// Deletes files of the bucket; errors are logged, not returned.
    pub fn delete(&self, files: &[DataFileMeta]) {
        for file in files {
            delete_unused(&self.ctx, &self.bucket.partition, self.bucket.bucket, file);
        }
    }
}
