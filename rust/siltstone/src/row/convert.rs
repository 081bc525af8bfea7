//! Values to and from Arrow arrays.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, ListArray, MapArray, StringArray, StructArray, Time32MillisecondArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType as Arrow, Fields, TimeUnit};

use super::{Datum, calendar::civil_from_days, column::Column, encode::mismatch, layout::Slot, read::View};
use crate::{
    error::{Error, ErrorKind, Result},
    types::{DataType, TypeKind, arrow_type},
};

/// The value at `row` of an array that has the Arrow type of `data_type`.
pub fn datum_from_array(array: &dyn Array, row: usize, data_type: &DataType) -> Result<Datum> {
    Column::new(data_type, array)?.datum(row)
}

/// All values of an array that has the Arrow type of `data_type`.
pub fn datums_from_array(array: &dyn Array, data_type: &DataType) -> Result<Vec<Datum>> {
    let column = Column::new(data_type, array)?;
    (0..array.len()).map(|i| column.datum(i)).collect()
}

/// `len` times the same value.
pub fn constant_array(value: &Datum, data_type: &DataType, len: usize) -> Result<ArrayRef> {
    if value.is_null() {
        return Ok(arrow_array::new_null_array(&arrow_type(data_type)?, len));
    }
    let one = array_from_datums(std::slice::from_ref(value), data_type)?;
    let indices = arrow_array::UInt32Array::from_value(0, len);
    Ok(arrow_select::take::take(one.as_ref(), &indices, None)?)
}

/// An array of these values, of the Arrow type of `data_type`.
pub fn array_from_datums(values: &[Datum], data_type: &DataType) -> Result<ArrayRef> {
    let t = &data_type.kind;
    macro_rules! collect {
        ($array:ty, $variant:ident) => {
            Arc::new(
                values
                    .iter()
                    .map(|v| match v {
                        Datum::Null => Ok(None),
                        Datum::$variant(v) => Ok(Some(v.clone())),
                        other => Err(mismatch(t, other)),
                    })
                    .collect::<Result<$array>>()?,
            )
        };
    }
    Ok(match t {
        TypeKind::Boolean => collect!(BooleanArray, Boolean),
        TypeKind::TinyInt => collect!(Int8Array, TinyInt),
        TypeKind::SmallInt => collect!(Int16Array, SmallInt),
        TypeKind::Int => collect!(Int32Array, Int),
        TypeKind::BigInt => collect!(Int64Array, BigInt),
        TypeKind::Float => collect!(Float32Array, Float),
        TypeKind::Double => collect!(Float64Array, Double),
        TypeKind::Date => collect!(Date32Array, Date),
        TypeKind::Time(_) => collect!(Time32MillisecondArray, Time),
        TypeKind::Char(_) | TypeKind::VarChar(_) => collect!(StringArray, String),
        TypeKind::Binary(_) | TypeKind::VarBinary(_) => collect!(BinaryArray, Bytes),
        TypeKind::Decimal { .. } => {
            let decimals: Arc<Decimal128Array> = collect!(Decimal128Array, Decimal);
            Arc::new(Decimal128Array::clone(&decimals).with_data_type(arrow_type(data_type)?))
        }
        TypeKind::Timestamp(p) => timestamps(values, t, *p, None)?,
        TypeKind::LocalZonedTimestamp(p) => timestamps(values, t, *p, Some("UTC"))?,
        TypeKind::Array(element) => lists(values, data_type, element)?,
        TypeKind::Map(key, value) => maps(values, data_type, key, value)?,
        TypeKind::Multiset(element) => maps(values, data_type, element, &DataType::not_null(TypeKind::Int))?,
        TypeKind::Row(fields) => {
            let types: Vec<&DataType> = fields.iter().map(|f| &f.data_type).collect();
            rows(values, data_type, &types)?
        }
        TypeKind::Variant => return Err(Error::unsupported("the type VARIANT")),
        TypeKind::Blob => return Err(Error::unsupported("a BLOB as a single value")),
        TypeKind::Vector(..) => return Err(Error::unsupported("the type VECTOR")),
    })
}

fn timestamps(values: &[Datum], t: &TypeKind, precision: u8, zone: Option<&str>) -> Result<ArrayRef> {
    let ticks = values.iter().map(|v| match v {
        Datum::Null => Ok(None),
        Datum::Timestamp { millis, nanos_of_milli } => timestamp_ticks(*millis, *nanos_of_milli, precision).map(Some),
        other => Err(mismatch(t, other)),
    });
    Ok(match precision {
        0 => Arc::new(ticks.collect::<Result<TimestampSecondArray>>()?.with_timezone_opt(zone)),
        1..=3 => Arc::new(ticks.collect::<Result<TimestampMillisecondArray>>()?.with_timezone_opt(zone)),
        4..=6 => Arc::new(ticks.collect::<Result<TimestampMicrosecondArray>>()?.with_timezone_opt(zone)),
        _ => Arc::new(ticks.collect::<Result<TimestampNanosecondArray>>()?.with_timezone_opt(zone)),
    })
}

/// A moment as a number of units; digits beyond are cut. `None`: 64 bits do not hold it.
pub fn ticks(millis: i64, nanos_of_milli: i32, unit: TimeUnit) -> Option<i64> {
    // at the lower end only the sum fits
    let sum = |per_milli: i64| {
        let rest = i64::from(nanos_of_milli) / (1_000_000 / per_milli);
        i64::try_from(i128::from(millis) * i128::from(per_milli) + i128::from(rest)).ok()
    };
    match unit {
        TimeUnit::Second => Some(millis.div_euclid(1_000)),
        TimeUnit::Millisecond => Some(millis),
        TimeUnit::Microsecond => sum(1_000),
        TimeUnit::Nanosecond => sum(1_000_000),
    }
}

/// The Arrow value of a timestamp of this precision: seconds, milli-, micro- or nanoseconds. Digits beyond are cut.
pub fn timestamp_ticks(millis: i64, nanos_of_milli: i32, precision: u8) -> Result<i64> {
    let unit = match precision {
        0 => TimeUnit::Second,
        1..=3 => TimeUnit::Millisecond,
        4..=6 => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    };
    ticks(millis, nanos_of_milli, unit).ok_or_else(|| {
        let (year, month, day) = civil_from_days(millis.div_euclid(86_400_000));
        let unit = if precision <= 6 { "microseconds" } else { "nanoseconds (years 1677 to 2262)" };
        let message = format!("the timestamp {year:04}-{month:02}-{day:02} is outside of the range of {unit}");
        Error::new(ErrorKind::UnsupportedType, message).hint("read the column with a lower precision")
    })
}

/// Bytes of the nested values, `None` for null.
fn nested<'a>(values: &'a [Datum], t: &'a TypeKind) -> impl Iterator<Item = Result<Option<&'a [u8]>>> {
    values.iter().map(move |v| match v {
        Datum::Null => Ok(None),
        Datum::Nested(bytes) => Ok(Some(bytes.as_slice())),
        other => Err(mismatch(t, other)),
    })
}

fn nulls(values: &[Datum]) -> NullBuffer {
    values.iter().map(|v| !v.is_null()).collect()
}

fn elements(view: &View<'_>, t: &DataType, into: &mut Vec<Datum>) -> Result<()> {
    for value in view.values(std::iter::repeat(t)) {
        into.push(value?);
    }
    Ok(())
}

fn lists(values: &[Datum], data_type: &DataType, element: &DataType) -> Result<ArrayRef> {
    let (mut items, mut lengths) = (Vec::new(), Vec::with_capacity(values.len()));
    for bytes in nested(values, &data_type.kind) {
        let before = items.len();
        if let Some(bytes) = bytes? {
            elements(&View::array(bytes, Slot::of(element))?, element, &mut items)?;
        }
        lengths.push(items.len() - before);
    }
    let Arrow::List(field) = arrow_type(data_type)? else {
        return Err(Error::new(ErrorKind::Internal, "an ARRAY is a list in Arrow"));
    };
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::try_new(field, offsets, array_from_datums(&items, element)?, Some(nulls(values)))?))
}

fn maps(values: &[Datum], data_type: &DataType, key: &DataType, value: &DataType) -> Result<ArrayRef> {
    let (mut keys, mut items, mut lengths) = (Vec::new(), Vec::new(), Vec::with_capacity(values.len()));
    for bytes in nested(values, &data_type.kind) {
        let before = keys.len();
        if let Some(bytes) = bytes? {
            let (key_view, value_view) = View::map(bytes, Slot::of(key), Slot::of(value))?;
            elements(&key_view, key, &mut keys)?;
            elements(&value_view, value, &mut items)?;
        }
        lengths.push(keys.len() - before);
    }
    let Arrow::Map(field, sorted) = arrow_type(data_type)? else {
        return Err(Error::new(ErrorKind::Internal, "a MAP is a map in Arrow"));
    };
    let Arrow::Struct(fields) = field.data_type() else {
        return Err(Error::new(ErrorKind::Internal, "the entries of a map are structs in Arrow"));
    };
    let columns = vec![array_from_datums(&keys, key)?, array_from_datums(&items, value)?];
    let entries = StructArray::try_new(fields.clone(), columns, None).map_err(null_inside)?;
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(MapArray::try_new(Arc::clone(&field), offsets, entries, Some(nulls(values)), sorted)?))
}

fn rows(values: &[Datum], data_type: &DataType, types: &[&DataType]) -> Result<ArrayRef> {
    let mut columns: Vec<Vec<Datum>> = types.iter().map(|_| Vec::with_capacity(values.len())).collect();
    for bytes in nested(values, &data_type.kind) {
        let row = bytes?.map(|bytes| View::row(types.len(), bytes)).transpose()?;
        let mut values = row.iter().flat_map(|row| row.values(types.iter().copied()));
        for column in &mut columns {
            column.push(values.next().unwrap_or(Ok(Datum::Null))?);
        }
    }
    let columns = columns.iter().zip(types).map(|(c, t)| array_from_datums(c, t)).collect::<Result<Vec<_>>>()?;
    let Arrow::Struct(fields) = arrow_type(data_type)? else {
        return Err(Error::new(ErrorKind::Internal, "a ROW is a struct in Arrow"));
    };
    Ok(Arc::new(struct_array(fields, columns, nulls(values))?))
}

fn struct_array(fields: Fields, columns: Vec<ArrayRef>, nulls: NullBuffer) -> Result<StructArray> {
    if fields.is_empty() {
        return Ok(StructArray::new_empty_fields(nulls.len(), Some(nulls)));
    }
    StructArray::try_new(fields, columns, Some(nulls)).map_err(null_inside)
}

fn null_inside(e: arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::CorruptFile, "a nested value holds a null that its type forbids").caused_by(e)
}
