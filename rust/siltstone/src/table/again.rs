//! The rows of a writer's next commit, kept for the case that they have to be written again.
//!
//! On tables with dynamic buckets another commit may put a key of theirs into another bucket first. The rows then go through a
//! new writer, which finds the key where it is. Kept are copies of the batches, because whoever gave them may fill their memory
//! again, and only as long as they come to no more than the write buffer.

use arrow_array::RecordBatch;

use crate::{
    Result,
    io::{TableContext, batch_bytes},
    write::{RowKinds, TableWrite, WriteOptions, copied},
};

/// How often the same rows are written for one commit.
pub(super) const TRIES: u32 = 10;

/// Batches, with the kinds of their rows.
#[derive(Debug, Default)]
pub(super) struct KeptRows {
    batches: Vec<(RecordBatch, Option<RowKinds>)>,
    bytes: usize,
    /// Most bytes; `None`: nothing is kept.
    limit: Option<usize>,
    /// Some rows are not there, because all would be too many.
    lost: bool,
}

impl KeptRows {
    /// For a writer of a table: where buckets are dynamic and the rows that are there stay.
    pub(super) fn of(ctx: &TableContext, options: &WriteOptions) -> Self {
        let needed = ctx.options.bucket == -1 && ctx.schema.has_primary_key() && !options.ignore_previous_files;
        let needed = needed && options.shared.is_none();
        let bytes = options.memory_limit.unwrap_or(ctx.options.write_buffer_size);
        let limit = needed.then(|| usize::try_from(bytes).unwrap_or(usize::MAX));
        Self { limit, ..Self::default() }
    }

    /// Rows that were taken.
    pub(super) fn add(&mut self, batch: &RecordBatch, kinds: Option<&RowKinds>) -> Result<()> {
        let Some(limit) = self.limit.filter(|_| !self.lost) else { return Ok(()) };
        self.bytes = self.bytes.saturating_add(batch_bytes(batch));
        if self.bytes > limit {
            (self.batches, self.lost) = (Vec::new(), true);
        } else {
            self.batches.push((copied(batch)?, kinds.cloned()));
        }
        Ok(())
    }

    /// Whether all rows since the last commit are there.
    pub(super) fn can_be_written(&self) -> bool {
        self.limit.is_some() && !self.lost && !self.batches.is_empty()
    }

    /// Writes them once more.
    pub(super) fn write(&self, write: &mut TableWrite) -> Result<()> {
        let mut before = 0_usize;
        for (batch, kinds) in &self.batches {
            write.write_from(batch, kinds.as_ref(), before)?;
            before = before.saturating_add(batch.num_rows());
        }
        Ok(())
    }

    /// They are committed, or given up.
    pub(super) fn clear(&mut self) {
        (self.batches, self.bytes, self.lost) = (Vec::new(), 0, false);
    }
}
