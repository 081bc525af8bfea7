//! Rows as Paimon stores them in metadata (BinaryRow), single values, row kinds, key order and hash.
//!
//! ```text
//! Arrow columns ── binary_rows / hash_rows ──> bytes of many rows, hashes
//! Arrow value   <── array_from_datums ── Datum ── BinaryRow ──> bytes of one row
//! text          <── datum_to_text     ── Datum <── datum_from_text ── text
//! ```
//! Layout of the bytes: `layout.rs`. Source: format chapters 1.3, 5, 6.2.

mod binary;
mod calendar;
mod column;
mod compare;
mod convert;
mod datum;
mod encode;
mod exact;
mod java_float;
mod layout;
mod memory;
mod parse;
mod read;
mod row_kind;
mod text;
mod vector;
mod write;

#[cfg(test)]
mod tests;

pub use binary::BinaryRow;
pub use calendar::{civil_from_days, days_from_civil};
pub use compare::{compare_datums, compare_rows, compare_serialized};
pub use convert::{array_from_datums, constant_array, datum_from_array, datums_from_array, ticks, timestamp_ticks};
pub use datum::Datum;
pub use encode::{array_datum, map_datum, row_datum};
pub use exact::exact_datum_from_text;
pub use java_float::{double_text, float_text};
pub(crate) use memory::{RowBytes, array_bytes, batch_bytes, memory_of};
pub use parse::{
    as_read, bounds_as_read, datum_from_text, parse_decimal, rescale_half_up, rounded_decimal, truncate_timestamp,
};
pub(crate) use read::Room;
pub use row_kind::RowKind;
pub use text::{
    date_text, datum_to_full_text, datum_to_legacy_text, datum_to_text, decimal_text, time_text, timestamp_text,
};
pub use vector::{BinaryRows, binary_rows, hash_rows};
