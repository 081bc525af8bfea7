//! One BinaryRow.

use super::Datum;
use crate::{
    error::{Error, ErrorKind, Result},
    types::DataType,
};

/// One row: the bytes of `BinaryRow` without the arity in front.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BinaryRow {
    arity: usize,
    bytes: Vec<u8>,
}

impl BinaryRow {
    /// The row of no columns (unpartitioned tables, append tables' keys).
    pub fn empty() -> Self {
        Self { arity: 0, bytes: vec![0; 8] }
    }

    /// From the form stored in metadata: big-endian arity, then the row.
    pub fn from_serialized(_serialized: &[u8]) -> Result<Self> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// From the row's bytes alone.
    pub fn from_bytes(_arity: usize, _bytes: Vec<u8>) -> Result<Self> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// From values; each must be null or belong to its type.
    pub fn from_datums(_types: &[DataType], _values: &[Datum]) -> Result<Self> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// The form stored in metadata.
    pub fn to_serialized(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Number of columns.
    pub fn arity(&self) -> usize {
        self.arity
    }

    /// The row's bytes, without the arity.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The value of column `i`.
    pub fn get(&self, _i: usize, _data_type: &DataType) -> Result<Datum> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// All values; `types` must have one type per column.
    pub fn datums(&self, _types: &[DataType]) -> Result<Vec<Datum>> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// The hash that buckets and hash indexes use.
    pub fn hash(&self) -> i32 {
        0
    }
}
