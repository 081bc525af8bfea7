//! Values of each type, as they are written.

use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray,
    cast::AsArray,
    types::{
        Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        Time32MillisecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampSecondType,
    },
};
use arrow_schema::{DataType as Arrow, TimeUnit};

use super::{
    columns_out::{Field, Items, RecordFields, Values, length_of_text, plain, put_bytes, put_text},
    data_schema::{count_type, is_text},
    value::{length_of_long, put_long},
};
use crate::{
    error::{Error, ErrorKind, Result},
    format::digits::{has_digits, too_many_digits},
    types::{DataType, TypeKind},
};

/// The values of a column of a type.
pub(super) fn values(kind: &TypeKind, array: &ArrayRef) -> Result<Box<dyn Values>> {
    let wrong = || Error::new(ErrorKind::Internal, format!("values of {} for a column of {kind}", array.data_type()));
    let found = match kind {
        TypeKind::Boolean => array.as_boolean_opt().cloned().map(|values| {
            plain(values, |_, _| Ok(1), |values, row, out| put_bytes(&[values.value(row).into()], Some(out)))
        }),
        TypeKind::TinyInt => integers::<Int8Type>(array.as_primitive_opt().cloned()),
        TypeKind::SmallInt => integers::<Int16Type>(array.as_primitive_opt().cloned()),
        TypeKind::Int | TypeKind::Date | TypeKind::Time(_) => integers::<Int32Type>(ints(array)),
        TypeKind::BigInt => integers::<Int64Type>(array.as_primitive_opt().cloned()),
        TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => times(array),
        TypeKind::Float => array.as_primitive_opt::<Float32Type>().cloned().map(|values| {
            plain(values, |_, _| Ok(4), |values, row, out| put_bytes(&values.value(row).to_le_bytes(), Some(out)))
        }),
        TypeKind::Double => array.as_primitive_opt::<Float64Type>().cloned().map(|values| {
            plain(values, |_, _| Ok(8), |values, row, out| put_bytes(&values.value(row).to_le_bytes(), Some(out)))
        }),
        TypeKind::Char(_) | TypeKind::VarChar(_) => texts(array),
        TypeKind::Binary(_) | TypeKind::VarBinary(_) => array.as_binary_opt::<i32>().cloned().map(|values| {
            plain(
                values,
                |values, row| Ok(length_of_text(values.value(row))),
                |values, row, out| put_text(values.value(row), out),
            )
        }),
        TypeKind::Decimal { precision, .. } => array.as_primitive_opt().map(|values| decimals(values, *precision)),
        TypeKind::Row(fields) => {
            let row = array.as_struct_opt().ok_or_else(wrong)?;
            Some(Box::new(RecordFields::new(fields, row.columns())?) as Box<dyn Values>)
        }
        TypeKind::Array(element) => {
            let list = array.as_list_opt::<i32>().ok_or_else(wrong)?;
            let item = Field::new(element, list.values())?;
            Some(Box::new(Items { offsets: list.offsets().clone(), key: None, item }) as Box<dyn Values>)
        }
        TypeKind::Map(key, value) => Some(map(array, key, value)?),
        TypeKind::Multiset(element) => Some(map(array, element, &count_type())?),
        TypeKind::Variant | TypeKind::Blob | TypeKind::Vector(..) => None,
    };
    found.ok_or_else(wrong)
}

fn map(array: &ArrayRef, key: &DataType, value: &DataType) -> Result<Box<dyn Values>> {
    let map = array.as_map_opt().ok_or_else(|| Error::new(ErrorKind::Internal, "a map that is none"))?;
    // keys of Avro's own maps are never null
    let keys = if is_text(key) { texts(map.keys()) } else { None };
    let key = match keys {
        Some(keys) => keys,
        None => Box::new(Field::new(key, map.keys())?) as Box<dyn Values>,
    };
    let item = Field::new(value, map.values())?;
    Ok(Box::new(Items { offsets: map.offsets().clone(), key: Some(key), item }))
}

fn integers<T>(array: Option<PrimitiveArray<T>>) -> Option<Box<dyn Values>>
where
    T: ArrowPrimitiveType<Native: Into<i64>>,
{
    array.map(|values| {
        plain(
            values,
            |values, row| Ok(length_of_long(values.value(row).into())),
            |values, row, out| put_long(values.value(row).into(), out),
        )
    })
}

fn texts(array: &ArrayRef) -> Option<Box<dyn Values>> {
    array.as_string_opt::<i32>().cloned().map(|values| {
        plain(
            values,
            |values, row| Ok(length_of_text(values.value(row).as_bytes())),
            |values, row, out| put_text(values.value(row).as_bytes(), out),
        )
    })
}

/// With the digits of their column.
fn decimals(values: &PrimitiveArray<Decimal128Type>, precision: u8) -> Box<dyn Values> {
    let length = move |values: &PrimitiveArray<Decimal128Type>, row: usize| {
        let value = values.value(row);
        if has_digits(value, precision) {
            return Ok(length_of_text(shortest(&value.to_be_bytes())));
        }
        Err(too_many_digits(value, format_args!("DECIMAL({precision}, {})", values.scale()), "Avro"))
    };
    plain(values.clone(), length, |values, row, out| put_text(shortest(&values.value(row).to_be_bytes()), out))
}

/// Numbers of 32 bits, days, and milliseconds of a day.
fn ints(array: &ArrayRef) -> Option<arrow_array::Int32Array> {
    match array.data_type() {
        Arrow::Int32 => array.as_primitive_opt::<Int32Type>().cloned(),
        Arrow::Date32 => Some(array.as_primitive_opt::<Date32Type>()?.reinterpret_cast()),
        Arrow::Time32(TimeUnit::Millisecond) => {
            Some(array.as_primitive_opt::<Time32MillisecondType>()?.reinterpret_cast())
        }
        _ => None,
    }
}

/// Whole seconds are written as milliseconds.
fn times(array: &ArrayRef) -> Option<Box<dyn Values>> {
    let whole = match array.data_type() {
        Arrow::Timestamp(TimeUnit::Second, _) => {
            let seconds: arrow_array::Int64Array = array.as_primitive_opt::<TimestampSecondType>()?.reinterpret_cast();
            return Some(plain(
                seconds,
                |values, row| Ok(length_of_long(values.value(row).checked_mul(1000).ok_or_else(too_far)?)),
                |values, row, out| put_long(values.value(row).saturating_mul(1000), out),
            ));
        }
        Arrow::Timestamp(TimeUnit::Millisecond, _) => {
            array.as_primitive_opt::<TimestampMillisecondType>()?.reinterpret_cast()
        }
        Arrow::Timestamp(TimeUnit::Microsecond, _) => {
            array.as_primitive_opt::<TimestampMicrosecondType>()?.reinterpret_cast()
        }
        _ => return None,
    };
    integers::<Int64Type>(Some(whole))
}

/// Two's complement in as few bytes as hold the sign.
fn shortest(wide: &[u8; 16]) -> &[u8] {
    let fill = if wide.first().is_some_and(|first| first & 0x80 != 0) { 0xFF } else { 0 };
    let needed = |at: usize| {
        let sign = |byte: &u8| (byte & 0x80 != 0) == (fill == 0xFF);
        wide.get(at) != Some(&fill) || !wide.get(at + 1).is_some_and(sign)
    };
    let start = (0..15).find(|at| needed(*at)).unwrap_or(15);
    wide.get(start..).unwrap_or(wide)
}

#[cold]
fn too_far() -> Error {
    Error::new(ErrorKind::UnsupportedType, "a time is out of the range that Avro files can have")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unscaled_numbers_have_java_s_bytes() {
        for (value, bytes) in [
            (0_i128, &[0][..]),
            (127, &[127]),
            (128, &[0, 128]),
            (-1, &[255]),
            (-128, &[128]),
            (-129, &[255, 127]),
            (i128::MIN, &[0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ] {
            assert_eq!(shortest(&value.to_be_bytes()), bytes, "{value}");
        }
    }
}
