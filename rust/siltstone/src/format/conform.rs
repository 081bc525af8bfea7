//! Decoded arrays, as a library types them, to the Arrow types of the columns' Paimon types.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, ListArray, MapArray, PrimitiveArray, StringArray, StructArray,
    cast::AsArray,
    types::{
        Decimal128Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
        TimestampSecondType,
    },
};
use arrow_buffer::NullBuffer;
use arrow_cast::CastOptions;
use arrow_schema::{DataType as Arrow, Field, Fields, TimeUnit};

use crate::format::int96;
use crate::{
    cast::{ask_for_nulls, check_not_null, hide, nulls, width},
    error::{Error, ErrorKind, Result},
    limits,
    types::{DataField, DataType, TypeKind, arrow_type},
    variant::stored_binaries,
};

/// The array with the type of `t`. What cannot be that type is a file that does not fit its schema.
pub(crate) fn conform(array: &ArrayRef, t: &DataType) -> Result<ArrayRef> {
    match &t.kind {
        TypeKind::Array(element) => list(array, t, element),
        TypeKind::Map(key, value) => map(array, t, key, value),
        TypeKind::Multiset(element) => map(array, t, element, &DataType::not_null(TypeKind::Int)),
        TypeKind::Row(fields) => row(array, t, fields),
        TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => timestamp(array, t),
        TypeKind::Decimal { .. } => decimal(array, t),
        TypeKind::Variant => stored_binaries(array),
        _ => plain(array, t),
    }
}

fn does_not_fit(array: &ArrayRef, t: &DataType) -> Error {
    Error::new(
        ErrorKind::CorruptFile,
        format!("the file stores {} where its schema says {:?}", array.data_type(), t.kind),
    )
}

fn plain(array: &ArrayRef, t: &DataType) -> Result<ArrayRef> {
    let wanted = arrow_type(t)?;
    match (array.data_type(), &wanted) {
        (a, b) if a == b => Ok(Arc::clone(array)),
        (Arrow::Binary, Arrow::Utf8) => {
            let text = StringArray::try_from_binary(array.as_binary::<i32>().clone())
                .map_err(|e| does_not_fit(array, t).caused_by(e))?;
            Ok(Arc::new(text))
        }
        (
            Arrow::Int8 | Arrow::Int16 | Arrow::Int32 | Arrow::Int64,
            Arrow::Int8 | Arrow::Int16 | Arrow::Int32 | Arrow::Int64,
        )
        | (Arrow::Int32, Arrow::Date32 | Arrow::Time32(_))
        | (Arrow::Utf8 | Arrow::FixedSizeBinary(_), Arrow::Binary)
        | (Arrow::Float32, Arrow::Float64) => {
            ask_for_form(array, &wanted)?;
            checked_cast(array, &wanted).map_err(|e| does_not_fit(array, t).caused_by(e))
        }
        (Arrow::Time64(_), Arrow::Time32(_)) => exact_cast(array, &wanted, t),
        _ => Err(does_not_fit(array, t)),
    }
}

/// Memory for values in another form, of which one more may be there on the way.
fn ask_for_form(array: &ArrayRef, to: &Arrow) -> Result<()> {
    let each = width(array.data_type()).saturating_add(width(to).saturating_mul(2));
    limits::ask_for_part(array.len().saturating_mul(each), "the values of a column in another form")
}

/// What the file has must be there again on the way back.
fn exact_cast(array: &ArrayRef, to: &Arrow, t: &DataType) -> Result<ArrayRef> {
    ask_for_form(array, to)?;
    let cast = checked_cast(array, to).map_err(|e| loses_digits(array, t).caused_by(e))?;
    let back = checked_cast(&cast, array.data_type()).map_err(|e| loses_digits(array, t).caused_by(e))?;
    if back.as_ref() == array.as_ref() { Ok(cast) } else { Err(loses_digits(array, t)) }
}

fn loses_digits(array: &ArrayRef, t: &DataType) -> Error {
    let stored = array.data_type();
    Error::new(ErrorKind::CorruptFile, format!("the file stores {stored} with digits that {} does not hold", t.kind))
}

fn checked_cast(array: &ArrayRef, to: &Arrow) -> Result<ArrayRef> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    Ok(arrow_cast::cast_with_options(array, to, &options)?)
}

/// Decimals of so many digits or fewer are stored as numbers of 64 bits.
const LONG_DIGITS: u8 = 18;

/// A file that says what the column says may hold a digit more: sums of up to 18 digits keep it, as Java's do.
fn decimal(array: &ArrayRef, t: &DataType) -> Result<ArrayRef> {
    let wanted = arrow_type(t)?;
    let Arrow::Decimal128(precision, scale) = wanted else {
        return Err(does_not_fit(array, t));
    };
    let values = match array.data_type() {
        Arrow::Decimal128(stored, of) if (*stored, *of) == (precision, scale) => {
            let values = array.as_primitive::<Decimal128Type>();
            let fits = precision <= LONG_DIGITS || have_digits(values, precision);
            return if fits { Ok(Arc::clone(array)) } else { Err(loses_digits(array, t)) };
        }
        Arrow::Decimal128(_, stored) if *stored == scale => array.as_primitive::<Decimal128Type>().clone(),
        Arrow::Decimal128(..) | Arrow::Decimal256(..) => return exact_cast(array, &wanted, t),
        // an unscaled number without annotation
        Arrow::Int32 | Arrow::Int64 => {
            ask_for_form(array, &wanted)?;
            let numbers = checked_cast(array, &Arrow::Int64)?;
            numbers.as_primitive::<Int64Type>().unary::<_, Decimal128Type>(i128::from)
        }
        _ => return Err(does_not_fit(array, t)),
    };
    if !have_digits(&values, precision) {
        return Err(loses_digits(array, t));
    }
    Ok(Arc::new(values.with_precision_and_scale(precision, scale)?))
}

/// Whether no value has more digits; what lies below nulls is no value.
fn have_digits(values: &PrimitiveArray<Decimal128Type>, precision: u8) -> bool {
    let limit = 10_u128.checked_pow(u32::from(precision)).unwrap_or(u128::MAX);
    let fits = |v: i128| v.unsigned_abs() < limit;
    values.values().iter().all(|v| fits(*v)) || values.iter().flatten().all(fits)
}

/// Digits that the type does not hold are an error, but for two kinds of files that Java reads: a TIMESTAMP(0) is stored
/// in milliseconds, and INT96 always in nanoseconds, whatever the precision (as in tables that were migrated from Hive).
fn timestamp(array: &ArrayRef, t: &DataType) -> Result<ArrayRef> {
    let wanted = arrow_type(t)?;
    let Arrow::Timestamp(unit, zone) = &wanted else {
        return Err(does_not_fit(array, t));
    };
    if *array.data_type() == wanted {
        return Ok(Arc::clone(array));
    }
    ask_for_form(array, &wanted)?;
    let stored = match array.data_type() {
        Arrow::FixedSizeBinary(int96::WIDTH) => int96::decode(array.as_fixed_size_binary(), zone.clone())?,
        // no annotation: the unit that the precision calls for
        Arrow::Int64 => {
            let unit = if matches!(unit, TimeUnit::Second) { TimeUnit::Millisecond } else { *unit };
            arrow_cast::cast(array, &Arrow::Timestamp(unit, zone.clone()))?
        }
        Arrow::Timestamp(..) => Arc::clone(array),
        _ => return Err(does_not_fit(array, t)),
    };
    let Arrow::Timestamp(from, _) = stored.data_type() else {
        return Err(does_not_fit(array, t));
    };
    let scale = |u: &TimeUnit| match u {
        TimeUnit::Second => 1_i64,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    let (from, to) = (scale(from), scale(unit));
    let is_int96 = matches!(array.data_type(), Arrow::FixedSizeBinary(_));
    let cut = if is_int96 { 1 } else { (from / to.max(scale(&TimeUnit::Millisecond))).max(1) };
    let numbers = arrow_cast::cast(&stored, &Arrow::Int64)?;
    let numbers = numbers.as_primitive::<Int64Type>();
    let numbers: PrimitiveArray<Int64Type> = if from >= to {
        let rounded_down =
            |v: i64| if v % cut == 0 { Ok(v.div_euclid(from / to)) } else { Err(loses_digits(array, t)) };
        numbers.try_unary(rounded_down)?
    } else {
        numbers.try_unary(|v| v.checked_mul(to / from).ok_or_else(|| out_of_range(t)))?
    };
    let zone = zone.clone();
    Ok(match unit {
        TimeUnit::Second => Arc::new(numbers.reinterpret_cast::<TimestampSecondType>().with_timezone_opt(zone)),
        TimeUnit::Millisecond => {
            Arc::new(numbers.reinterpret_cast::<TimestampMillisecondType>().with_timezone_opt(zone))
        }
        TimeUnit::Microsecond => {
            Arc::new(numbers.reinterpret_cast::<TimestampMicrosecondType>().with_timezone_opt(zone))
        }
        TimeUnit::Nanosecond => Arc::new(numbers.reinterpret_cast::<TimestampNanosecondType>().with_timezone_opt(zone)),
    })
}

fn out_of_range(t: &DataType) -> Error {
    Error::new(ErrorKind::UnsupportedType, format!("a timestamp is out of the range of {:?}", t.kind))
}

/// What lies in a nested column; `rows`: which of the values around it are there.
fn child(array: &ArrayRef, t: &DataType, rows: Option<&NullBuffer>, name: &str) -> Result<ArrayRef> {
    let values = hide(array, rows).and_then(|there| conform(&there, t)).and_then(|values| {
        check_not_null(&values, t.nullable, rows)?;
        Ok(values)
    });
    values.map_err(|e| e.with("field", name))
}

fn list(array: &ArrayRef, t: &DataType, element: &DataType) -> Result<ArrayRef> {
    let Some(list) = array.as_list_opt::<i32>() else {
        return Err(does_not_fit(array, t));
    };
    let values = child(list.values(), element, None, "element")?;
    let field = Arc::new(Field::new("element", arrow_type(element)?, element.nullable));
    Ok(Arc::new(ListArray::try_new(field, list.offsets().clone(), values, list.nulls().cloned())?))
}

fn map(array: &ArrayRef, t: &DataType, key: &DataType, value: &DataType) -> Result<ArrayRef> {
    let Some(map) = array.as_map_opt() else {
        return Err(does_not_fit(array, t));
    };
    let columns = vec![
        child(map.keys(), &key.clone().with_nullable(false), None, "key")?,
        child(map.values(), value, None, "value")?,
    ];
    let fields = Fields::from(vec![
        Field::new("key", arrow_type(key)?, false),
        Field::new("value", arrow_type(value)?, value.nullable),
    ]);
    let entries = StructArray::try_new_with_length(fields.clone(), columns, None, map.entries().len())?;
    let field = Arc::new(Field::new("entries", Arrow::Struct(fields), false));
    Ok(Arc::new(MapArray::try_new(field, map.offsets().clone(), entries, map.nulls().cloned(), false)?))
}

fn row(array: &ArrayRef, t: &DataType, fields: &[DataField]) -> Result<ArrayRef> {
    let Some(row) = array.as_struct_opt() else {
        return Err(does_not_fit(array, t));
    };
    let stored: Vec<_> = fields.iter().map(|f| (f, row.column_by_name(&f.name))).collect();
    let missing = stored.iter().filter(|(_, column)| column.is_none());
    ask_for_nulls(missing.map(|(f, _)| &f.data_type), row.len())?;
    let columns = stored.into_iter().map(|(f, column)| match column {
        Some(column) => child(column, &f.data_type, row.nulls(), &f.name),
        None => nulls(&f.data_type, row.len()).map_err(|e| e.with("field", &f.name)),
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let Arrow::Struct(wanted) = arrow_type(t)? else {
        return Err(does_not_fit(array, t));
    };
    Ok(Arc::new(StructArray::try_new_with_length(wanted, columns, row.nulls().cloned(), row.len())?))
}

#[cfg(test)]
mod tests {
    use arrow_array::{
        BinaryArray, FixedSizeBinaryArray, Int32Array, Int64Array, Time64MicrosecondArray, TimestampMicrosecondArray,
        TimestampMillisecondArray, TimestampNanosecondArray, types::Time32MillisecondType,
    };

    use super::*;
    use crate::types::parse_type;

    #[test]
    fn whole_seconds_are_rounded_down() {
        let stored: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![-1, 1999, 0]));
        let seconds = conform(&stored, &DataType::new(TypeKind::Timestamp(0))).unwrap();
        assert_eq!(seconds.as_primitive::<TimestampSecondType>().values()[..], [-1, 1, 0]);
    }

    #[test]
    fn numbers_without_annotation_take_the_type_of_the_schema() {
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1, -1]));
        let tiny = conform(&numbers, &DataType::new(TypeKind::TinyInt)).unwrap();
        assert_eq!(tiny.data_type(), &Arrow::Int8);
        let decimal = conform(&numbers, &DataType::new(TypeKind::Decimal { precision: 5, scale: 2 })).unwrap();
        assert_eq!(decimal.as_primitive::<Decimal128Type>().values()[..], [1, -1]);
        let stamps: ArrayRef = Arc::new(Int64Array::from(vec![1_000]));
        let micros = conform(&stamps, &DataType::new(TypeKind::LocalZonedTimestamp(6))).unwrap();
        assert_eq!(micros.as_primitive::<TimestampMicrosecondType>().value(0), 1_000);
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        let bytes: ArrayRef = Arc::new(BinaryArray::from_vec(vec![&[0xFF]]));
        let e = conform(&bytes, &DataType::new(TypeKind::VarChar(9))).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::CorruptFile);
    }

    /// A column of a file that is NOT NULL has zeros and empty texts below null rows, and no nulls.
    #[test]
    fn values_below_a_null_row_are_no_values() {
        let zeros: ArrayRef =
            Arc::new(FixedSizeBinaryArray::try_new(int96::WIDTH, vec![0_u8; 12].into(), None).unwrap());
        let fields = Fields::from(vec![Field::new("t", zeros.data_type().clone(), false)]);
        let stored: ArrayRef = Arc::new(StructArray::new(fields, vec![zeros], Some(NullBuffer::new_null(1))));
        let row = conform(&stored, &parse_type("ROW<t TIMESTAMP(9) NOT NULL>").unwrap()).unwrap();
        assert!(row.is_null(0) && row.as_struct().column(0).is_null(0));
    }

    #[test]
    fn a_value_that_the_type_cannot_hold_is_refused() {
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![300]));
        assert!(conform(&numbers, &DataType::new(TypeKind::TinyInt)).is_err());
    }

    fn decimals(values: Vec<Option<i128>>, precision: u8, scale: i8) -> ArrayRef {
        Arc::new(PrimitiveArray::<Decimal128Type>::from(values).with_precision_and_scale(precision, scale).unwrap())
    }

    /// As for integers: digits are neither cut nor handed out beyond the precision.
    #[test]
    fn a_decimal_keeps_its_digits_or_is_refused() {
        let t = parse_type("DECIMAL(7, 2)").unwrap();
        for (stored, read) in [
            (decimals(vec![Some(12_300), None], 12, 4), Some(123)),
            (decimals(vec![Some(-15)], 3, 1), Some(-150)),
            (decimals(vec![Some(9_999_999)], 12, 2), Some(9_999_999)),
            (decimals(vec![Some(12_345)], 12, 4), None),
            (decimals(vec![Some(12_345_678_912)], 12, 2), None),
            (decimals(vec![Some(10_000_000)], 7, 2), Some(10_000_000)),
            (decimals(vec![Some(10_000_000)], 8, 2), None),
            (decimals(vec![Some(100_000)], 7, 0), None),
            (Arc::new(Int32Array::from(vec![-10_000_000])), None),
        ] {
            let found = conform(&stored, &t).map(|array| array.as_primitive::<Decimal128Type>().value(0));
            assert_eq!(found.map_err(|e| e.kind()), read.ok_or(ErrorKind::CorruptFile), "{stored:?}");
        }
        let values = vec![1, 10_000_000].into();
        let below = PrimitiveArray::<Decimal128Type>::new(values, Some(NullBuffer::from(vec![true, false])));
        let below: ArrayRef = Arc::new(below.with_precision_and_scale(8, 2).unwrap());
        assert!(conform(&below, &t).unwrap().is_null(1), "no value lies below a null");
    }

    #[test]
    fn a_time_of_a_finer_unit_keeps_its_digits_or_is_refused() {
        let time = |micros| -> ArrayRef { Arc::new(Time64MicrosecondArray::from(vec![Some(micros), None])) };
        let t = parse_type("TIME(3)").unwrap();
        assert_eq!(conform(&time(3_000), &t).unwrap().as_primitive::<Time32MillisecondType>().value(0), 3);
        assert_eq!(conform(&time(3_001), &t).unwrap_err().kind(), ErrorKind::CorruptFile);
    }

    #[test]
    fn a_timestamp_of_a_finer_unit_keeps_its_digits_or_is_refused() {
        let nanos = |v| -> ArrayRef { Arc::new(TimestampNanosecondArray::from(vec![Some(v), None])) };
        let micros = |v| -> ArrayRef { Arc::new(TimestampMicrosecondArray::from(vec![Some(v), None])) };
        for (stored, precision, read) in [
            (nanos(-1_000_000), 3, Some(-1)),
            (nanos(1_000), 6, Some(1)),
            (nanos(1_001), 6, None),
            (nanos(-1_000), 3, None),
            (micros(1_001), 3, None),
            (micros(-523_456), 0, None),
            (micros(-523_000), 0, Some(-1)),
        ] {
            let read_as_number =
                |array: ArrayRef| arrow_cast::cast(&array, &Arrow::Int64).unwrap().as_primitive::<Int64Type>().value(0);
            let found = conform(&stored, &DataType::new(TypeKind::Timestamp(precision))).map(read_as_number);
            assert_eq!(found.map_err(|e| e.kind()), read.ok_or(ErrorKind::CorruptFile), "{stored:?} {precision}");
        }
    }

    /// Hive has no other form, and a table migrated from it has TIMESTAMP(3).
    #[test]
    fn int96_is_cut_to_the_precision_of_the_column() {
        let mut bytes = 1_999_999_i64.to_le_bytes().to_vec();
        bytes.extend_from_slice(&2_440_588_i32.to_le_bytes());
        let stored: ArrayRef = Arc::new(FixedSizeBinaryArray::try_new(int96::WIDTH, bytes.into(), None).unwrap());
        let millis = conform(&stored, &DataType::new(TypeKind::Timestamp(3))).unwrap();
        assert_eq!(millis.as_primitive::<TimestampMillisecondType>().value(0), 1);
    }

    /// A list of ten million rows of a file of 677 bytes, which has one of their hundred fields.
    #[test]
    fn fields_that_a_file_does_not_have_are_asked_for() {
        let t = parse_type("ROW<a TINYINT, b BIGINT>").unwrap();
        let rows = |len| -> ArrayRef { Arc::new(StructArray::new_empty_fields(len, None)) };
        assert_eq!(conform(&rows(2), &t).unwrap().as_struct().column(1).null_count(), 2);
        let error = conform(&rows(usize::MAX / 256), &t).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MemoryLimitExceeded);
    }

    #[test]
    fn another_form_of_values_is_asked_for() {
        let few: ArrayRef = Arc::new(Int32Array::from(vec![1]));
        ask_for_form(&few, &Arrow::Int64).unwrap();
        let many: ArrayRef = Arc::new(StructArray::new_empty_fields(usize::MAX / 64, None));
        let error = ask_for_form(&many, &Arrow::Decimal128(38, 0)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MemoryLimitExceeded);
    }
}
