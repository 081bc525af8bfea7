//! Rows as Paimon stores them in metadata (BinaryRow), single values, row kinds, key order and hash.

mod datum;
mod row_kind;

pub use datum::Datum;
pub use row_kind::RowKind;
