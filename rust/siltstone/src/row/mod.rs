//! Rows as Paimon stores them in metadata (BinaryRow), single values, row kinds, key order and hash.

mod binary;
mod compare;
mod convert;
mod datum;
mod parse;
mod row_kind;
mod text;
mod vector;

pub use binary::BinaryRow;
pub use compare::{compare_datums, compare_rows, compare_serialized};
pub use convert::{array_from_datums, constant_array, datum_from_array};
pub use datum::Datum;
pub use parse::datum_from_text;
pub use row_kind::RowKind;
pub use text::{datum_to_legacy_text, datum_to_text};
pub use vector::{BinaryRows, binary_rows, hash_rows};
