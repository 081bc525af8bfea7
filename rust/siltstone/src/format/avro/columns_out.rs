//! Columns as the fields of records that are written.

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, StringArray,
    cast::AsArray,
    types::{Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type},
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType as Arrow, TimeUnit};

use super::{
    Encoder,
    data_schema::{count_type, is_text},
};
use crate::{
    error::{Error, ErrorKind, Result},
    format::digits::{has_digits, too_many_digits},
    types::{DataField, DataType, TypeKind},
};

/// A column whose values are written one by one.
pub(super) struct Field {
    nullable: bool,
    nulls: Option<NullBuffer>,
    values: Values,
}

enum Values {
    Boolean(BooleanArray),
    Ints8(arrow_array::Int8Array),
    Ints16(arrow_array::Int16Array),
    Ints32(arrow_array::Int32Array),
    /// Each is written as so many.
    Longs(arrow_array::Int64Array, i64),
    Floats(arrow_array::Float32Array),
    Doubles(arrow_array::Float64Array),
    Texts(StringArray),
    Bytes(BinaryArray),
    /// With the digits of their column.
    Decimals(arrow_array::Decimal128Array, u8),
    Row(Vec<Field>),
    List(OffsetBuffer<i32>, Box<Field>),
    /// With text keys.
    TextMap(OffsetBuffer<i32>, StringArray, Box<Field>),
    Map(OffsetBuffer<i32>, Box<Field>, Box<Field>),
}

/// Columns as records.
pub(in crate::format) struct RecordFields(Vec<Field>);

impl RecordFields {
    pub(in crate::format) fn new(fields: &[DataField], columns: &[ArrayRef]) -> Result<Self> {
        fields_of(fields, columns).map(Self)
    }

    /// Writes the record of a row.
    pub(in crate::format) fn write(&self, row: usize, out: &mut Encoder) -> Result<()> {
        self.0.iter().try_for_each(|field| field.write(row, out))
    }
}

/// The fields of records that these columns are.
pub(super) fn fields_of(fields: &[DataField], columns: &[ArrayRef]) -> Result<Vec<Field>> {
    if fields.len() != columns.len() {
        let message = format!("a batch of {} columns for a file of {}", columns.len(), fields.len());
        return Err(Error::new(ErrorKind::Internal, message));
    }
    let field = |(field, column): (&DataField, &ArrayRef)| {
        Field::new(&field.data_type, column).map_err(|e| e.with("column", &field.name))
    };
    fields.iter().zip(columns).map(field).collect()
}

impl Field {
    fn new(data_type: &DataType, array: &ArrayRef) -> Result<Self> {
        let nulls = array.nulls().cloned();
        Ok(Self { nullable: data_type.nullable, nulls, values: values(&data_type.kind, array)? })
    }

    /// Writes the value of a row.
    pub(super) fn write(&self, row: usize, out: &mut Encoder) -> Result<()> {
        let null = self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        match (self.nullable, null) {
            (false, true) => return Err(Error::new(ErrorKind::NullInKey, "a NOT NULL column has a null value")),
            (true, true) => {
                out.long(0);
                return Ok(());
            }
            (true, false) => out.long(1),
            (false, false) => {}
        }
        self.write_value(row, out)
    }

    fn write_value(&self, row: usize, out: &mut Encoder) -> Result<()> {
        match &self.values {
            Values::Boolean(values) => out.out.push(u8::from(values.value(row))),
            Values::Ints8(values) => out.int(i32::from(values.value(row))),
            Values::Ints16(values) => out.int(i32::from(values.value(row))),
            Values::Ints32(values) => out.int(values.value(row)),
            Values::Longs(values, 1) => out.long(values.value(row)),
            Values::Longs(values, each) => out.long(values.value(row).checked_mul(*each).ok_or_else(too_far)?),
            Values::Floats(values) => out.out.extend_from_slice(&values.value(row).to_le_bytes()),
            Values::Doubles(values) => out.out.extend_from_slice(&values.value(row).to_le_bytes()),
            Values::Texts(values) => out.string(values.value(row)),
            Values::Bytes(values) => out.bytes(values.value(row)),
            Values::Decimals(values, precision) => {
                let value = values.value(row);
                if !has_digits(value, *precision) {
                    return Err(too_many_digits(
                        value,
                        format_args!("DECIMAL({precision}, {})", values.scale()),
                        "Avro",
                    ));
                }
                out.bytes(shortest(&value.to_be_bytes()));
            }
            Values::Row(fields) => return fields.iter().try_for_each(|field| field.write(row, out)),
            Values::List(offsets, element) => {
                return items(offsets, row, out, |item, out| element.write(item, out));
            }
            Values::TextMap(offsets, keys, values) => {
                return items(offsets, row, out, |item, out| {
                    out.string(keys.value(item));
                    values.write(item, out)
                });
            }
            Values::Map(offsets, keys, values) => {
                return items(offsets, row, out, |item, out| {
                    keys.write(item, out)?;
                    values.write(item, out)
                });
            }
        }
        Ok(())
    }
}

/// The items of a list as one block.
fn items(
    offsets: &OffsetBuffer<i32>,
    row: usize,
    out: &mut Encoder,
    mut write: impl FnMut(usize, &mut Encoder) -> Result<()>,
) -> Result<()> {
    let at = |row: usize| offsets.get(row).and_then(|offset| usize::try_from(*offset).ok()).unwrap_or_default();
    let (start, end) = (at(row), at(row + 1));
    if end > start {
        out.length(end - start);
        (start..end).try_for_each(|item| write(item, out))?;
    }
    out.long(0);
    Ok(())
}

fn values(kind: &TypeKind, array: &ArrayRef) -> Result<Values> {
    let wrong = || Error::new(ErrorKind::Internal, format!("values of {} for a column of {kind}", array.data_type()));
    let found = match kind {
        TypeKind::Boolean => array.as_boolean_opt().cloned().map(Values::Boolean),
        TypeKind::TinyInt => array.as_primitive_opt::<Int8Type>().cloned().map(Values::Ints8),
        TypeKind::SmallInt => array.as_primitive_opt::<Int16Type>().cloned().map(Values::Ints16),
        TypeKind::Int | TypeKind::Date | TypeKind::Time(_) => ints(array).map(Values::Ints32),
        TypeKind::BigInt => array.as_primitive_opt::<Int64Type>().cloned().map(|values| Values::Longs(values, 1)),
        TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => times(array),
        TypeKind::Float => array.as_primitive_opt::<Float32Type>().cloned().map(Values::Floats),
        TypeKind::Double => array.as_primitive_opt::<Float64Type>().cloned().map(Values::Doubles),
        TypeKind::Char(_) | TypeKind::VarChar(_) => array.as_string_opt::<i32>().cloned().map(Values::Texts),
        TypeKind::Binary(_) | TypeKind::VarBinary(_) => array.as_binary_opt::<i32>().cloned().map(Values::Bytes),
        TypeKind::Decimal { precision, .. } => {
            let decimals = array.as_primitive_opt::<Decimal128Type>().cloned();
            decimals.map(|values| Values::Decimals(values, *precision))
        }
        TypeKind::Row(fields) => {
            let row = array.as_struct_opt().ok_or_else(wrong)?;
            Some(Values::Row(fields_of(fields, row.columns())?))
        }
        TypeKind::Array(element) => {
            let list = array.as_list_opt::<i32>().ok_or_else(wrong)?;
            Some(Values::List(list.offsets().clone(), Box::new(Field::new(element, list.values())?)))
        }
        TypeKind::Map(key, value) => Some(map(array, key, value)?),
        TypeKind::Multiset(element) => Some(map(array, element, &count_type())?),
        TypeKind::Variant | TypeKind::Blob | TypeKind::Vector(..) => None,
    };
    found.ok_or_else(wrong)
}

fn map(array: &ArrayRef, key: &DataType, value: &DataType) -> Result<Values> {
    let map = array.as_map_opt().ok_or_else(|| Error::new(ErrorKind::Internal, "a map that is none"))?;
    let value = Box::new(Field::new(value, map.values())?);
    Ok(match map.keys().as_string_opt::<i32>().filter(|_| is_text(key)) {
        Some(keys) => Values::TextMap(map.offsets().clone(), keys.clone(), value),
        None => Values::Map(map.offsets().clone(), Box::new(Field::new(key, map.keys())?), value),
    })
}

/// Numbers of 32 bits, days, and milliseconds of a day.
fn ints(array: &ArrayRef) -> Option<arrow_array::Int32Array> {
    match array.data_type() {
        Arrow::Int32 => array.as_primitive_opt::<Int32Type>().cloned(),
        Arrow::Date32 => Some(array.as_primitive_opt::<arrow_array::types::Date32Type>()?.reinterpret_cast()),
        Arrow::Time32(TimeUnit::Millisecond) => {
            Some(array.as_primitive_opt::<arrow_array::types::Time32MillisecondType>()?.reinterpret_cast())
        }
        _ => None,
    }
}

/// Whole seconds are written as milliseconds.
fn times(array: &ArrayRef) -> Option<Values> {
    use arrow_array::types::{TimestampMicrosecondType, TimestampMillisecondType, TimestampSecondType};
    let (values, each) = match array.data_type() {
        Arrow::Timestamp(TimeUnit::Second, _) => {
            (array.as_primitive_opt::<TimestampSecondType>()?.reinterpret_cast(), 1000)
        }
        Arrow::Timestamp(TimeUnit::Millisecond, _) => {
            (array.as_primitive_opt::<TimestampMillisecondType>()?.reinterpret_cast(), 1)
        }
        Arrow::Timestamp(TimeUnit::Microsecond, _) => {
            (array.as_primitive_opt::<TimestampMicrosecondType>()?.reinterpret_cast(), 1)
        }
        _ => return None,
    };
    Some(Values::Longs(values, each))
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
