//! The bucket functions of fixed-bucket tables.

use arrow_array::ArrayRef;

use crate::{
    error::{Error, ErrorKind, Result},
    row::Datum,
    types::DataType,
};

/// Option `bucket-function.type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BucketFunction {
    /// `abs(murmur(row) % n)`
    #[default]
    Default,
    /// `floorMod(value, n)` of one INT or BIGINT column
    Mod,
    /// Hive's hash
    Hive,
}

impl BucketFunction {
    /// From the option's value.
    pub fn parse(_text: &str) -> Result<Self> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }
}

/// The bucket (of `n`) of each row of the bucket-key columns.
pub fn assign_buckets(
    _function: BucketFunction,
    _types: &[DataType],
    _columns: &[ArrayRef],
    _n: i32,
) -> Result<Vec<i32>> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}

/// The bucket (of `n`) of one bucket key.
pub fn bucket_of(_function: BucketFunction, _types: &[DataType], _key: &[Datum], _n: i32) -> Result<i32> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}
