//! An Arrow array seen through its Paimon type: typed slices, resolved once per batch.

use arrow_array::{
    Array, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array, Int16Array,
    Int32Array, Int64Array, ListArray, MapArray, StringArray, StructArray, Time32MillisecondArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer};

use super::{
    Datum,
    encode::compact_decimal,
    layout::Slot,
    write::{Cell, Container, length},
};
use crate::{
    error::{Error, ErrorKind, Result},
    types::{DataType, TypeKind},
};

/// One form of NaN, which is Java's: a key has one hash.
pub(super) fn float_bytes(value: f32) -> [u8; 4] {
    if value.is_nan() { f32::NAN.to_le_bytes() } else { value.to_le_bytes() }
}

/// As [`float_bytes`].
pub(super) fn double_bytes(value: f64) -> [u8; 8] {
    if value.is_nan() { f64::NAN.to_le_bytes() } else { value.to_le_bytes() }
}

/// An array with its type.
pub(super) struct Column<'a> {
    pub(super) nulls: Option<&'a NullBuffer>,
    pub(super) slot: Slot,
    pub(super) values: Values<'a>,
}

/// The values of an array.
pub(super) enum Values<'a> {
    Boolean(&'a BooleanBuffer),
    TinyInt(&'a [i8]),
    SmallInt(&'a [i16]),
    Int(&'a [i32]),
    Date(&'a [i32]),
    Time(&'a [i32]),
    BigInt(&'a [i64]),
    Float(&'a [f32]),
    Double(&'a [f64]),
    Decimal(&'a [i128]),
    Seconds(&'a [i64]),
    Millis(&'a [i64]),
    Micros(&'a [i64]),
    Nanos(&'a [i64]),
    Text(&'a [i32], &'a [u8]),
    Bytes(&'a [i32], &'a [u8]),
    List { offsets: &'a [i32], element: Box<Column<'a>> },
    Map { offsets: &'a [i32], key: Box<Column<'a>>, value: Box<Column<'a>> },
    Row(Vec<Column<'a>>),
}

impl<'a> Column<'a> {
    /// Fails when the array does not have the Arrow type of `data_type`.
    pub(super) fn new(data_type: &DataType, array: &'a dyn Array) -> Result<Self> {
        let values = values(data_type, array)?;
        Ok(Self { nulls: array.nulls(), slot: Slot::of(data_type), values })
    }

    pub(super) fn is_null(&self, i: usize) -> bool {
        self.nulls.is_some_and(|nulls| nulls.is_null(i))
    }

    /// Value `i`; nested ones become their binary form.
    pub(super) fn datum(&self, i: usize) -> Result<Datum> {
        if self.is_null(i) {
            return Ok(Datum::Null);
        }
        let datum = match &self.values {
            Values::Boolean(v) => (i < v.len()).then(|| Datum::Boolean(v.value(i))),
            Values::TinyInt(v) => v.get(i).map(|v| Datum::TinyInt(*v)),
            Values::SmallInt(v) => v.get(i).map(|v| Datum::SmallInt(*v)),
            Values::Int(v) => v.get(i).map(|v| Datum::Int(*v)),
            Values::Date(v) => v.get(i).map(|v| Datum::Date(*v)),
            Values::Time(v) => v.get(i).map(|v| Datum::Time(*v)),
            Values::BigInt(v) => v.get(i).map(|v| Datum::BigInt(*v)),
            Values::Float(v) => v.get(i).map(|v| Datum::Float(*v)),
            Values::Double(v) => v.get(i).map(|v| Datum::Double(*v)),
            Values::Decimal(v) => v.get(i).map(|v| Datum::Decimal(*v)),
            Values::Seconds(_) | Values::Millis(_) | Values::Micros(_) | Values::Nanos(_) => {
                let (millis, nanos_of_milli) = self.timestamp(i)?;
                Some(Datum::Timestamp { millis, nanos_of_milli })
            }
            Values::Text(offsets, data) => {
                slice(offsets, data, i).map(|bytes| Datum::String(String::from_utf8_lossy(bytes).into_owned()))
            }
            Values::Bytes(offsets, data) => slice(offsets, data, i).map(|bytes| Datum::Bytes(bytes.to_vec())),
            Values::List { .. } | Values::Map { .. } | Values::Row(_) => {
                let mut out = Vec::new();
                self.nested(i, &mut out)?;
                Some(Datum::Nested(out))
            }
        };
        datum.ok_or_else(|| outside(i))
    }

    /// Milliseconds and nanoseconds of timestamp `i`.
    pub(super) fn timestamp(&self, i: usize) -> Result<(i64, i32)> {
        let parts = match &self.values {
            Values::Seconds(v) => v.get(i).map(|v| seconds_to_millis(*v).map(|millis| (millis, 0))),
            Values::Millis(v) => v.get(i).map(|v| Ok((*v, 0))),
            Values::Micros(v) => v.get(i).map(|v| Ok(split_micros(*v))),
            Values::Nanos(v) => v.get(i).map(|v| Ok(split_nanos(*v))),
            _ => None,
        };
        parts.ok_or_else(|| outside(i))?
    }

    /// Appends the binary form of the nested value `i` (array, map, row).
    pub(super) fn nested(&self, i: usize, out: &mut Vec<u8>) -> Result<()> {
        match &self.values {
            Values::List { offsets, element } => array(element, range(offsets, i)?, out),
            Values::Map { offsets, key, value } => {
                let range = range(offsets, i)?;
                let start = out.len();
                out.extend_from_slice(&[0; 4]);
                array(key, range.clone(), out)?;
                let key_bytes = length(out.len() - start - 4)?.to_le_bytes();
                if let Some(prefix) = out.get_mut(start..start + 4) {
                    prefix.copy_from_slice(&key_bytes);
                }
                array(value, range, out)
            }
            Values::Row(fields) => {
                // offsets count from the row's first byte, so it is built on its own
                let mut row = Vec::new();
                let container = Container::row(&mut row, fields.len());
                for (at, field) in fields.iter().enumerate() {
                    field.put(i, &container, at, &mut row)?;
                }
                out.extend_from_slice(&row);
                Ok(())
            }
            _ => Err(Error::new(ErrorKind::Internal, "a flat column has no nested values")),
        }
    }

    /// Puts value `i` into field `at` of a row or array.
    fn put(&self, i: usize, to: &Container, at: usize, out: &mut Vec<u8>) -> Result<()> {
        if self.is_null(i) {
            return to.put(out, at, self.slot, Cell::Null);
        }
        let missing = || outside(i);
        let cell = match &self.values {
            Values::Boolean(v) => Cell::fixed([u8::from(i < v.len() && v.value(i))]),
            Values::TinyInt(v) => Cell::fixed(v.get(i).ok_or_else(missing)?.to_le_bytes()),
            Values::SmallInt(v) => Cell::fixed(v.get(i).ok_or_else(missing)?.to_le_bytes()),
            Values::Int(v) | Values::Date(v) | Values::Time(v) => {
                Cell::fixed(v.get(i).ok_or_else(missing)?.to_le_bytes())
            }
            Values::BigInt(v) => Cell::fixed(v.get(i).ok_or_else(missing)?.to_le_bytes()),
            Values::Float(v) => Cell::fixed(float_bytes(*v.get(i).ok_or_else(missing)?)),
            Values::Double(v) => Cell::fixed(double_bytes(*v.get(i).ok_or_else(missing)?)),
            Values::Decimal(v) => {
                let value = *v.get(i).ok_or_else(missing)?;
                match self.slot {
                    Slot::WideDecimal => Cell::WideDecimal(value),
                    _ => Cell::fixed(compact_decimal(value)?.to_le_bytes()),
                }
            }
            Values::Seconds(_) | Values::Millis(_) | Values::Micros(_) | Values::Nanos(_) => {
                let (millis, nanos) = self.timestamp(i)?;
                match self.slot {
                    Slot::WideTimestamp => Cell::WideTimestamp(millis, nanos),
                    _ => Cell::fixed(millis.to_le_bytes()),
                }
            }
            Values::Text(offsets, data) | Values::Bytes(offsets, data) => {
                Cell::Bytes(slice(offsets, data, i).ok_or_else(missing)?)
            }
            Values::List { .. } | Values::Map { .. } | Values::Row(_) => {
                let mut nested = Vec::new();
                self.nested(i, &mut nested)?;
                return to.put(out, at, self.slot, Cell::Nested(&nested));
            }
        };
        to.put(out, at, self.slot, cell)
    }
}

fn array(element: &Column<'_>, range: std::ops::Range<usize>, out: &mut Vec<u8>) -> Result<()> {
    let mut array = Vec::new();
    let container = Container::array(&mut array, range.len(), element.slot)?;
    for (at, i) in range.enumerate() {
        element.put(i, &container, at, &mut array)?;
    }
    out.extend_from_slice(&array);
    Ok(())
}

fn values<'a>(t: &DataType, array: &'a dyn Array) -> Result<Values<'a>> {
    Ok(match &t.kind {
        TypeKind::Boolean => Values::Boolean(of::<BooleanArray>(t, array)?.values()),
        TypeKind::TinyInt => Values::TinyInt(of::<Int8Array>(t, array)?.values()),
        TypeKind::SmallInt => Values::SmallInt(of::<Int16Array>(t, array)?.values()),
        TypeKind::Int => Values::Int(of::<Int32Array>(t, array)?.values()),
        TypeKind::Date => Values::Date(of::<Date32Array>(t, array)?.values()),
        TypeKind::Time(_) => Values::Time(of::<Time32MillisecondArray>(t, array)?.values()),
        TypeKind::BigInt => Values::BigInt(of::<Int64Array>(t, array)?.values()),
        TypeKind::Float => Values::Float(of::<Float32Array>(t, array)?.values()),
        TypeKind::Double => Values::Double(of::<Float64Array>(t, array)?.values()),
        TypeKind::Decimal { scale, .. } => {
            let decimals = of::<Decimal128Array>(t, array)?;
            if i16::from(decimals.scale()) != i16::from(*scale) {
                return Err(wrong_array(t, array));
            }
            Values::Decimal(decimals.values())
        }
        TypeKind::Timestamp(p) | TypeKind::LocalZonedTimestamp(p) => match p {
            0 => Values::Seconds(of::<TimestampSecondArray>(t, array)?.values()),
            1..=3 => Values::Millis(of::<TimestampMillisecondArray>(t, array)?.values()),
            4..=6 => Values::Micros(of::<TimestampMicrosecondArray>(t, array)?.values()),
            _ => Values::Nanos(of::<TimestampNanosecondArray>(t, array)?.values()),
        },
        TypeKind::Char(_) | TypeKind::VarChar(_) => {
            let texts = of::<StringArray>(t, array)?;
            Values::Text(texts.value_offsets(), texts.value_data())
        }
        TypeKind::Binary(_) | TypeKind::VarBinary(_) => {
            let bytes = of::<BinaryArray>(t, array)?;
            Values::Bytes(bytes.value_offsets(), bytes.value_data())
        }
        TypeKind::Array(element) => {
            let list = of::<ListArray>(t, array)?;
            let element = Box::new(Column::new(element, list.values().as_ref())?);
            Values::List { offsets: list.value_offsets(), element }
        }
        TypeKind::Map(key, value) => map_values(t, key, value, array)?,
        TypeKind::Multiset(element) => map_values(t, element, &DataType::not_null(TypeKind::Int), array)?,
        TypeKind::Row(fields) => {
            let row = of::<StructArray>(t, array)?;
            if row.num_columns() != fields.len() {
                return Err(wrong_array(t, array));
            }
            let columns = fields.iter().zip(row.columns());
            Values::Row(columns.map(|(f, c)| Column::new(&f.data_type, c.as_ref())).collect::<Result<_>>()?)
        }
        TypeKind::Variant => return Err(Error::unsupported("the type VARIANT")),
        TypeKind::Blob => return Err(Error::unsupported("the type BLOB")),
        TypeKind::Vector(..) => return Err(Error::unsupported("the type VECTOR")),
    })
}

fn map_values<'a>(t: &DataType, key: &DataType, value: &DataType, array: &'a dyn Array) -> Result<Values<'a>> {
    let map = of::<MapArray>(t, array)?;
    Ok(Values::Map {
        offsets: map.value_offsets(),
        key: Box::new(Column::new(key, map.keys().as_ref())?),
        value: Box::new(Column::new(value, map.values().as_ref())?),
    })
}

fn of<'a, T: 'static>(t: &DataType, array: &'a dyn Array) -> Result<&'a T> {
    array.as_any().downcast_ref::<T>().ok_or_else(|| wrong_array(t, array))
}

fn wrong_array(t: &DataType, array: &dyn Array) -> Error {
    let message = format!("an Arrow column of type {} cannot hold {:?}", array.data_type(), t.kind);
    Error::new(ErrorKind::SchemaMismatch, message)
}

fn outside(i: usize) -> Error {
    Error::new(ErrorKind::Internal, format!("row {i} is beyond the end of its column"))
}

/// The bytes of value `i` of a text or binary array.
fn slice<'a>(offsets: &[i32], data: &'a [u8], i: usize) -> Option<&'a [u8]> {
    data.get(range(offsets, i).ok()?)
}

fn range(offsets: &[i32], i: usize) -> Result<std::ops::Range<usize>> {
    let bounds = offsets.get(i).zip(offsets.get(i + 1));
    let bounds = bounds.and_then(|(from, to)| Some(usize::try_from(*from).ok()?..usize::try_from(*to).ok()?));
    bounds.ok_or_else(|| outside(i))
}

/// Milliseconds of a second count.
pub(super) fn seconds_to_millis(seconds: i64) -> Result<i64> {
    seconds.checked_mul(1_000).ok_or_else(|| {
        let message = format!("the timestamp of {seconds} seconds since 1970 is outside of the range of milliseconds");
        Error::new(ErrorKind::LengthExceeded, message)
    })
}

/// Milliseconds (rounded down) and the nanoseconds on top.
pub(super) fn split_micros(micros: i64) -> (i64, i32) {
    let rest = i32::try_from(micros.rem_euclid(1_000)).unwrap_or(0);
    (micros.div_euclid(1_000), rest * 1_000)
}

/// Milliseconds (rounded down) and the nanoseconds on top.
pub(super) fn split_nanos(nanos: i64) -> (i64, i32) {
    (nanos.div_euclid(1_000_000), i32::try_from(nanos.rem_euclid(1_000_000)).unwrap_or(0))
}
