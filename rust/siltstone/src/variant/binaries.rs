//! The two binaries of values in memory.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, StructArray, cast::AsArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType as Arrow, Fields};

use super::{collected::Collected, decode::corrupt};
use crate::{
    error::{Error, ErrorKind, Result},
    types::variant_type,
};

/// What their memory is asked for, in words.
pub(super) const BINARIES: &str = "the binaries of a VARIANT column";

/// The columns of stored values.
pub(super) struct Binaries<'a> {
    row: &'a StructArray,
    pub(super) values: &'a BinaryArray,
    pub(super) metadata: &'a BinaryArray,
}

impl<'a> Binaries<'a> {
    pub(super) fn of(row: &'a StructArray) -> Result<Self> {
        let column = |name| row.column_by_name(name).and_then(|c| c.as_binary_opt::<i32>()).ok_or_else(misshapen);
        Ok(Self { row, values: column("value")?, metadata: column("metadata")? })
    }

    /// Value and metadata; `None` for a null.
    pub(super) fn get(&self, at: usize) -> Result<Option<(&'a [u8], &'a [u8])>> {
        if self.row.is_null(at) {
            return Ok(None);
        }
        if self.values.is_null(at) || self.metadata.is_null(at) {
            return Err(corrupt("a VARIANT lacks its value or its metadata"));
        }
        Ok(Some((self.values.value(at), self.metadata.value(at))))
    }
}

pub(super) fn misshapen() -> Error {
    corrupt("a VARIANT is not stored as the binaries 'value' and 'metadata'")
}

/// The fields of a value in memory.
pub(super) fn fields() -> Result<Fields> {
    match variant_type() {
        Arrow::Struct(fields) => Ok(fields),
        _ => Err(Error::new(ErrorKind::Internal, "a VARIANT has two fields")),
    }
}

/// The column of two binaries.
pub(super) fn made(values: Collected, metadata: Collected, nulls: Option<&NullBuffer>) -> Result<ArrayRef> {
    let columns: Vec<ArrayRef> = vec![Arc::new(values.binaries()?), Arc::new(metadata.binaries()?)];
    Ok(Arc::new(StructArray::try_new(fields()?, columns, nulls.cloned())?))
}
