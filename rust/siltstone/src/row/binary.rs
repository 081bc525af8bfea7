//! One row of metadata: a partition, a key, the minima of some columns.
//!
//! ```text
//! serialized   [ i32 big-endian arity ][ row ]      row: see layout.rs
//! ```

use super::{
    Datum,
    encode::put_datum,
    layout::{Slot, row_fixed_bytes},
    read::View,
    write::Container,
};
use crate::{
    codec::{ByteReader, hash_words},
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
        Self { arity: 0, bytes: vec![0; row_fixed_bytes(0)] }
    }

    /// From the form stored in metadata: big-endian arity, then the row.
    pub fn from_serialized(serialized: &[u8]) -> Result<Self> {
        let (arity, bytes) = split_arity(serialized)?;
        Self::from_bytes(arity, bytes.to_vec())
    }

    /// From the row's bytes alone.
    pub fn from_bytes(arity: usize, bytes: Vec<u8>) -> Result<Self> {
        View::row(arity, &bytes)?;
        Ok(Self { arity, bytes })
    }

    /// From values; each must be null or belong to its type.
    pub fn from_datums(types: &[DataType], values: &[Datum]) -> Result<Self> {
        if types.len() != values.len() {
            let message = format!("{} values for {} columns", values.len(), types.len());
            return Err(Error::new(ErrorKind::Internal, message));
        }
        let mut bytes = Vec::with_capacity(row_fixed_bytes(types.len()));
        let row = Container::row(&mut bytes, types.len());
        for (i, (t, value)) in types.iter().zip(values).enumerate() {
            put_datum(&row, &mut bytes, i, Slot::of(t), t, value)?;
        }
        Ok(Self { arity: types.len(), bytes })
    }

    /// The form stored in metadata.
    pub fn to_serialized(&self) -> Vec<u8> {
        serialize(self.arity, &self.bytes)
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
    pub fn get(&self, i: usize, data_type: &DataType) -> Result<Datum> {
        View::row(self.arity, &self.bytes)?.get(i, data_type)
    }

    /// All values; `types` must have one type per column.
    pub fn datums(&self, types: &[DataType]) -> Result<Vec<Datum>> {
        if types.len() != self.arity {
            let expected = format!("a row of {} columns", types.len());
            return Err(Error::corrupt("binary row", 0, expected, format!("{} columns", self.arity)));
        }
        View::row(self.arity, &self.bytes)?.values(types.iter()).collect()
    }

    /// The hash that buckets and hash indexes use.
    pub fn hash(&self) -> i32 {
        hash_words(&self.bytes)
    }
}

/// Arity and row of a serialized row.
pub(super) fn split_arity(serialized: &[u8]) -> Result<(usize, &[u8])> {
    let mut reader = ByteReader::new("binary row", serialized);
    let arity = reader.i32_be()?;
    let arity = usize::try_from(arity).map_err(|_| Error::corrupt("binary row", 0, "a number of columns", arity))?;
    let row = reader.take(reader.remaining())?;
    Ok((arity, row))
}

/// The arity in front of a row.
pub(super) fn serialize(arity: usize, row: &[u8]) -> Vec<u8> {
    // Paimon's arity is an i32, and a row with 2^31 columns does not exist
    let arity = i32::try_from(arity).unwrap_or(i32::MAX);
    let mut bytes = Vec::with_capacity(4 + row.len());
    bytes.extend_from_slice(&arity.to_be_bytes());
    bytes.extend_from_slice(row);
    bytes
}
