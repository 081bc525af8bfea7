//! Values to and from Arrow arrays.

use arrow_array::{Array, ArrayRef};

use super::Datum;
use crate::{
    error::{Error, ErrorKind, Result},
    types::DataType,
};

/// The value at `row` of an array that has the Arrow type of `data_type`.
pub fn datum_from_array(_array: &dyn Array, _row: usize, _data_type: &DataType) -> Result<Datum> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}

/// An array of these values.
pub fn array_from_datums(_values: &[Datum], _data_type: &DataType) -> Result<ArrayRef> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}

/// `len` times the same value.
pub fn constant_array(_value: &Datum, _data_type: &DataType, _len: usize) -> Result<ArrayRef> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}
