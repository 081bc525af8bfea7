//! What the merge and its engines ask of records: their row kinds, and values that order as in Java.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Float32Array, Float64Array, Int8Array, RecordBatch,
    cast::AsArray,
    types::{Float32Type, Float64Type, Int8Type},
};
use arrow_schema::DataType as Arrow;

use crate::{Error, ErrorKind, Result};

/// The row kinds of a key-value batch.
pub(crate) fn row_kinds(batch: &RecordBatch, column: usize) -> Result<&Int8Array> {
    let array = self::column(batch, column)?;
    array.as_primitive_opt::<Int8Type>().filter(|kinds| kinds.null_count() == 0).ok_or_else(|| {
        Error::new(ErrorKind::Internal, "the column _VALUE_KIND of a key-value batch is not a TINYINT NOT NULL")
    })
}

/// Row kinds 1 (-U) and 3 (-D).
#[inline]
pub(crate) fn is_retract(kind: i8) -> bool {
    kind & 1 == 1
}

/// The column of a batch; an error when the batch has fewer.
pub(crate) fn column(batch: &RecordBatch, at: usize) -> Result<&ArrayRef> {
    batch.columns().get(at).ok_or_else(|| {
        Error::new(ErrorKind::Internal, format!("a batch of {} columns has no column {at}", batch.num_columns()))
    })
}

/// Java knows one NaN, above everything; Arrow orders NaNs by their bits.
pub(crate) fn one_nan(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        Arrow::Float32 => {
            let floats: Float32Array =
                array.as_primitive::<Float32Type>().unary(|v| if v.is_nan() { f32::NAN } else { v });
            Arc::new(floats)
        }
        Arrow::Float64 => {
            let floats: Float64Array =
                array.as_primitive::<Float64Type>().unary(|v| if v.is_nan() { f64::NAN } else { v });
            Arc::new(floats)
        }
        _ => Arc::clone(array),
    }
}
