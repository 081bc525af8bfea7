//! The order of keys.

use std::cmp::Ordering;

use super::Datum;
use crate::{
    error::{Error, ErrorKind, Result},
    types::DataType,
};

/// Key order of two values of one type: null first, strings and binaries as unsigned bytes, numbers by value,
/// floats as Java's `compare` (-0.0 before 0.0, NaN last).
pub fn compare_datums(_a: &Datum, _b: &Datum) -> Ordering {
    Ordering::Equal
}

/// Key order of two rows, column by column.
pub fn compare_rows(_a: &[Datum], _b: &[Datum]) -> Ordering {
    Ordering::Equal
}

/// Key order of two serialized rows.
pub fn compare_serialized(_a: &[u8], _b: &[u8], _types: &[DataType]) -> Result<Ordering> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}
