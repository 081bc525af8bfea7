//! Values into slots: the check that a value belongs to its type.

use super::{
    Datum,
    layout::Slot,
    write::{Cell, Container, length},
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

/// The binary form of an ARRAY.
pub fn array_datum(element: &DataType, values: &[Datum]) -> Result<Datum> {
    Ok(Datum::Nested(array_bytes(element, values)?))
}

/// The binary form of a MAP; for a MULTISET the values are the counts.
pub fn map_datum(key: &DataType, keys: &[Datum], value: &DataType, values: &[Datum]) -> Result<Datum> {
    if keys.len() != values.len() {
        let message = format!("a map of {} keys and {} values", keys.len(), values.len());
        return Err(Error::new(ErrorKind::Internal, message));
    }
    let keys = array_bytes(key, keys)?;
    let mut bytes = length(keys.len())?.to_le_bytes().to_vec();
    bytes.extend_from_slice(&keys);
    bytes.extend_from_slice(&array_bytes(value, values)?);
    Ok(Datum::Nested(bytes))
}

/// The binary form of a nested ROW.
pub fn row_datum(types: &[DataType], values: &[Datum]) -> Result<Datum> {
    Ok(Datum::Nested(super::BinaryRow::from_datums(types, values)?.as_bytes().to_vec()))
}

fn array_bytes(element: &DataType, values: &[Datum]) -> Result<Vec<u8>> {
    let slot = Slot::of(element);
    let mut bytes = Vec::new();
    let array = Container::array(&mut bytes, values.len(), slot)?;
    for (i, value) in values.iter().enumerate() {
        put_datum(&array, &mut bytes, i, slot, element, value)?;
    }
    Ok(bytes)
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
