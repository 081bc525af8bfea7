//! Decoded rows before casts, deletions and filters: work that need not be done on the thread that decodes.

use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::{Result, format::Rows, row::array_bytes};

/// Rows of a data file as they were decoded, with the steps that make a batch of them.
pub struct Decoded {
    rows: Rows,
    steps: Steps,
}

/// From decoded rows to a batch.
pub(super) type Steps = Arc<dyn Fn(&Rows) -> Result<RecordBatch> + Send + Sync>;

/// Decoded rows, one group after another.
pub type DecodedStream = Box<dyn Iterator<Item = Result<Decoded>> + Send>;

impl Decoded {
    pub(super) fn new(rows: Rows, steps: Steps) -> Self {
        Self { rows, steps }
    }

    /// About the memory of the rows.
    pub fn bytes(&self) -> usize {
        self.rows.columns.iter().map(array_bytes).fold(0, usize::saturating_add)
    }

    /// The batch; it may be empty.
    pub fn finish(&self) -> Result<RecordBatch> {
        (self.steps)(&self.rows)
    }
}
