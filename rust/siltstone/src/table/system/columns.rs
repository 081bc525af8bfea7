//! Short words for columns and values of system tables.

use crate::{
    env,
    row::Datum,
    types::{DataField, DataType, MAX_LENGTH, TypeKind},
};

/// Columns with ids from 0: `(name, type)`.
pub(super) fn fields(columns: &[(&str, DataType)]) -> Vec<DataField> {
    columns.iter().zip(0..).map(|((name, data_type), id)| DataField::new(id, *name, data_type.clone())).collect()
}

/// STRING NOT NULL
pub(super) fn text() -> DataType {
    DataType::not_null(TypeKind::VarChar(MAX_LENGTH))
}

/// BIGINT NOT NULL
pub(super) fn long() -> DataType {
    DataType::not_null(TypeKind::BigInt)
}

/// INT NOT NULL
pub(super) fn int() -> DataType {
    DataType::not_null(TypeKind::Int)
}

/// BOOLEAN NOT NULL
pub(super) fn flag() -> DataType {
    DataType::not_null(TypeKind::Boolean)
}

/// TIMESTAMP(3) NOT NULL
pub(super) fn time() -> DataType {
    DataType::not_null(TypeKind::Timestamp(3))
}

/// The type with null allowed.
pub(super) fn maybe(data_type: DataType) -> DataType {
    data_type.with_nullable(true)
}

/// A text.
pub(super) fn string(value: impl Into<String>) -> Datum {
    Datum::String(value.into())
}

/// A value or null.
pub(super) fn or_null<T>(value: Option<T>, datum: impl FnOnce(T) -> Datum) -> Datum {
    value.map_or(Datum::Null, datum)
}

/// An instant (epoch milliseconds) as local time.
pub(super) fn local(epoch_millis: i64) -> Datum {
    wall(env::local_wall_clock(epoch_millis))
}

/// A local time that is given as if it were UTC.
pub(super) fn wall(millis: i64) -> Datum {
    Datum::Timestamp { millis, nanos_of_milli: 0 }
}
