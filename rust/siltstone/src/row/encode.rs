//! Values into slots: the check that a value belongs to its type.

use super::{
    Datum,
    layout::Slot,
    write::{Cell, Container},
};
use crate::{
    error::{Error, ErrorKind, Result},
    types::{DataType, TypeKind},
};

/// Puts a value into field `i` of a row or array.
pub(super) fn put_datum(
    to: &Container,
    out: &mut Vec<u8>,
    i: usize,
    slot: Slot,
    data_type: &DataType,
    value: &Datum,
) -> Result<()> {
    to.put(out, i, slot, cell(data_type, value)?)
}

fn cell<'a>(t: &DataType, value: &'a Datum) -> Result<Cell<'a>> {
    Ok(match (&t.kind, value) {
        (_, Datum::Null) => Cell::Null,
        (TypeKind::Boolean, Datum::Boolean(v)) => Cell::fixed([u8::from(*v)]),
        (TypeKind::TinyInt, Datum::TinyInt(v)) => Cell::fixed(v.to_le_bytes()),
        (TypeKind::SmallInt, Datum::SmallInt(v)) => Cell::fixed(v.to_le_bytes()),
        (TypeKind::Int, Datum::Int(v)) | (TypeKind::Date, Datum::Date(v)) | (TypeKind::Time(_), Datum::Time(v)) => {
            Cell::fixed(v.to_le_bytes())
        }
        (TypeKind::BigInt, Datum::BigInt(v)) => Cell::fixed(v.to_le_bytes()),
        (TypeKind::Float, Datum::Float(v)) => Cell::fixed(v.to_le_bytes()),
        (TypeKind::Double, Datum::Double(v)) => Cell::fixed(v.to_le_bytes()),
        (TypeKind::Decimal { .. }, Datum::Decimal(v)) => match Slot::of(t) {
            Slot::WideDecimal => Cell::WideDecimal(*v),
            _ => Cell::fixed(compact_decimal(*v)?.to_le_bytes()),
        },
        (TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_), Datum::Timestamp { millis, nanos_of_milli }) => {
            match Slot::of(t) {
                Slot::WideTimestamp => Cell::WideTimestamp(*millis, *nanos_of_milli),
                _ => Cell::fixed(millis.to_le_bytes()),
            }
        }
        (TypeKind::Char(_) | TypeKind::VarChar(_), Datum::String(v)) => Cell::Bytes(v.as_bytes()),
        (TypeKind::Binary(_) | TypeKind::VarBinary(_) | TypeKind::Blob, Datum::Bytes(v)) => Cell::Bytes(v),
        (_, Datum::Nested(v)) if t.is_nested() => Cell::Nested(v),
        (kind, value) => return Err(mismatch(kind, value)),
    })
}

/// The i64 of a DECIMAL(p <= 18).
pub(super) fn compact_decimal(unscaled: i128) -> Result<i64> {
    i64::try_from(unscaled).map_err(|_| {
        Error::new(ErrorKind::LengthExceeded, format!("the unscaled decimal {unscaled} has more than 18 digits"))
    })
}

/// A value that does not belong to its type.
pub(super) fn mismatch(kind: &TypeKind, value: &Datum) -> Error {
    Error::new(ErrorKind::Internal, format!("the value {value:?} is not of the type {kind:?}"))
}
