//! A predicate over a batch.

use arrow_array::{BooleanArray, RecordBatch};

use super::Predicate;
use crate::error::{Error, ErrorKind, Result};

/// One value per row: true, false, or null for unknown. Every column of the predicate must be in the batch.
pub fn evaluate(_predicate: &Predicate, _batch: &RecordBatch) -> Result<BooleanArray> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}
