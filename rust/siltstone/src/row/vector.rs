//! Rows of Arrow columns, a batch at a time.

use arrow_array::ArrayRef;

use crate::{
    error::{Error, ErrorKind, Result},
    types::DataType,
};

/// The binary rows of a batch, one behind the other.
#[derive(Clone, Debug, Default)]
pub struct BinaryRows {
    arity: usize,
    bytes: Vec<u8>,
    offsets: Vec<usize>,
}

impl BinaryRows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of row `i`, without the arity; empty beyond the last row.
    pub fn row(&self, i: usize) -> &[u8] {
        match (self.offsets.get(i), self.offsets.get(i + 1)) {
            (Some(&from), Some(&to)) => self.bytes.get(from..to).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Row `i` as metadata has it: arity, then the row.
    pub fn serialized(&self, i: usize) -> Vec<u8> {
        let _ = (i, self.arity);
        Vec::new()
    }
}

/// The binary rows of these columns, which have the Arrow types of `types`.
pub fn binary_rows(_types: &[DataType], _columns: &[ArrayRef]) -> Result<BinaryRows> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}

/// The hash of each row of these columns.
pub fn hash_rows(_types: &[DataType], _columns: &[ArrayRef]) -> Result<Vec<i32>> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}
