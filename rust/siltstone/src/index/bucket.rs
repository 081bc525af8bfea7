//! The bucket functions of fixed-bucket tables.
//!
//! ```text
//! default   abs(murmur(BinaryRow of the key) % n)     % truncates, as in Java
//! mod       floorMod(value, n) of one INT or BIGINT column; null counts as 0
//! hive      (h & 0x7fffffff) % n, h = 31 * h + hash of the field
//! ```

use arrow_array::ArrayRef;

use super::hive::hive_hash;
use crate::{
    error::{Error, ErrorKind, Result},
    options::BucketFunctionType,
    row::{BinaryRow, Datum, datums_from_array, hash_rows},
    types::{DataType, TypeKind},
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

impl From<BucketFunctionType> for BucketFunction {
    fn from(option: BucketFunctionType) -> Self {
        match option {
            BucketFunctionType::Default => Self::Default,
            BucketFunctionType::Mod => Self::Mod,
            BucketFunctionType::Hive => Self::Hive,
        }
    }
}

impl BucketFunction {
    /// From the option's value.
    pub fn parse(text: &str) -> Result<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "default" => Ok(Self::Default),
            "mod" => Ok(Self::Mod),
            "hive" => Ok(Self::Hive),
            _ => Err(Error::new(
                ErrorKind::InvalidOption,
                format!("the bucket function '{text}' is not one of default, mod, hive"),
            )
            .with("option", "bucket-function.type")),
        }
    }
}

/// The bucket (of `n`) of each row of the bucket-key columns.
pub fn assign_buckets(function: BucketFunction, types: &[DataType], columns: &[ArrayRef], n: i32) -> Result<Vec<i32>> {
    check(function, types, n)?;
    match function {
        BucketFunction::Default => {
            let mut hashes = hash_rows(types, columns)?;
            for hash in &mut hashes {
                *hash = default_bucket(*hash, n);
            }
            Ok(hashes)
        }
        BucketFunction::Mod => match (types, columns) {
            ([t], [column]) => datums_from_array(column.as_ref(), t)?.iter().map(|v| mod_bucket(v, n)).collect(),
            _ => Err(columns_missing()),
        },
        BucketFunction::Hive => {
            let rows = columns.first().map_or(0, |c| c.len());
            let mut hashes = vec![0i32; rows];
            for (t, column) in types.iter().zip(columns) {
                let values = datums_from_array(column.as_ref(), t)?;
                for (hash, value) in hashes.iter_mut().zip(&values) {
                    *hash = hash.wrapping_mul(31).wrapping_add(hive_hash(value, t)?);
                }
            }
            Ok(hashes.into_iter().map(|hash| hive_bucket(hash, n)).collect())
        }
    }
}

/// The bucket (of `n`) of one bucket key.
pub fn bucket_of(function: BucketFunction, types: &[DataType], key: &[Datum], n: i32) -> Result<i32> {
    check(function, types, n)?;
    match function {
        BucketFunction::Default => Ok(default_bucket(BinaryRow::from_datums(types, key)?.hash(), n)),
        BucketFunction::Mod => mod_bucket(key.first().ok_or_else(columns_missing)?, n),
        BucketFunction::Hive => {
            let mut hash = 0i32;
            for (value, t) in key.iter().zip(types) {
                hash = hash.wrapping_mul(31).wrapping_add(hive_hash(value, t)?);
            }
            Ok(hive_bucket(hash, n))
        }
    }
}

fn check(function: BucketFunction, types: &[DataType], n: i32) -> Result<()> {
    if n <= 0 {
        return Err(
            Error::new(ErrorKind::InvalidOption, format!("{n} is not a number of buckets")).with("option", "bucket")
        );
    }
    let one_integer = matches!(types, [t] if matches!(t.kind, TypeKind::Int | TypeKind::BigInt));
    if function == BucketFunction::Mod && !one_integer {
        let message = "the bucket function mod needs exactly one bucket key of type INT or BIGINT";
        return Err(Error::new(ErrorKind::InvalidOption, message).with("option", "bucket-function.type"));
    }
    Ok(())
}

fn default_bucket(hash: i32, n: i32) -> i32 {
    // n > 0, so the remainder is not i32::MIN
    (hash % n).abs()
}

fn mod_bucket(value: &Datum, n: i32) -> Result<i32> {
    let value = match value {
        Datum::Null => 0,
        Datum::Int(v) => i64::from(*v),
        Datum::BigInt(v) => *v,
        other => return Err(Error::new(ErrorKind::Internal, format!("{other:?} is not a value of INT or BIGINT"))),
    };
    Ok(i32::try_from(value.rem_euclid(i64::from(n))).unwrap_or(0))
}

fn hive_bucket(hash: i32, n: i32) -> i32 {
    (hash & i32::MAX) % n
}

fn columns_missing() -> Error {
    Error::new(ErrorKind::Internal, "a bucket key without columns")
}
