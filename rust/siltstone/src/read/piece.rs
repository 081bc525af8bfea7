//! Parts of a result that one thread decodes and another may finish.

use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::{
    error::Result,
    io::{BatchStream, Decoded, batch_bytes},
};

/// A batch of the result, or what becomes one where [`Piece::finish`] is called.
pub(super) enum Piece {
    Complete(RecordBatch),
    Decoded(Decoded, Last),
}

/// The last step, from a file's batch to the result's.
pub(super) type Last = Arc<dyn Fn(&RecordBatch) -> Result<RecordBatch> + Send + Sync>;

/// Pieces, one after another.
pub(super) type PieceStream = Box<dyn Iterator<Item = Result<Piece>> + Send>;

impl Piece {
    /// About the memory of its rows.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Complete(batch) => batch_bytes(batch),
            Self::Decoded(rows, _) => rows.bytes(),
        }
    }

    /// The batch; it may be empty.
    pub(super) fn finish(self) -> Result<RecordBatch> {
        match self {
            Self::Complete(batch) => Ok(batch),
            Self::Decoded(rows, last) => last(&rows.finish()?),
        }
    }
}

/// Batches that nothing is left to do for.
pub(super) fn complete(batches: BatchStream) -> PieceStream {
    Box::new(batches.map(|batch| batch.map(Piece::Complete)))
}
