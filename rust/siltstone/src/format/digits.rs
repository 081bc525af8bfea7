//! Decimals that have more digits than their column: sums of up to 18 digits keep them in memory, as in Java (`aggregate::sum`),
//! and not every file can hold them.
//!
//! Java writes what is left of them: ORC and Avro files show null, Parquet files what remains of 32 bits. Here they are refused:
//! the rows that the sum is made of stay, and a column of a wider type shows it.

use crate::error::{Error, ErrorKind};

/// Whether an unscaled value has no more digits than this.
pub(super) fn has_digits(unscaled: i128, precision: u8) -> bool {
    unscaled.unsigned_abs() < 10_u128.checked_pow(u32::from(precision)).unwrap_or(u128::MAX)
}

/// The error for a value that files of a format cannot hold; `kind` is the column's type.
#[cold]
pub(super) fn too_many_digits(unscaled: i128, kind: impl std::fmt::Display, format: &str) -> Error {
    let message = format!("the unscaled number {unscaled} has more digits than {format} files can hold for {kind}");
    Error::new(ErrorKind::LengthExceeded, message)
        .hint("a sum has grown beyond its column: give the column more digits (alter().set_type)")
}
