//! Values from text.

use super::Datum;
use crate::{
    error::{Error, ErrorKind, Result},
    types::DataType,
};

/// The value that a text means in a predicate, a partition specification or a default value.
pub fn datum_from_text(_text: &str, _data_type: &DataType) -> Result<Datum> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}
