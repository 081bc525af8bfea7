//! Any Arrow encoding of a column to the one that the table's type has, without losing anything.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, PrimitiveArray, StringArray,
    cast::AsArray,
    new_null_array,
    types::{ArrowPrimitiveType, Float64Type, Int32Type, Int64Type},
};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_cast::{CastOptions, cast, cast_with_options, display::array_value_to_string};
use arrow_schema::{DataType as Arrow, TimeUnit};

use super::{
    decimal::{convert_decimal, whole_decimals},
    nested,
    place::ColumnPath,
};
use crate::{
    error::{Error, ErrorKind, Result},
    limits,
    types::{DataType, MAX_LENGTH, TypeKind, arrow_type, is_variant},
    variant::{checked_binaries, from_json_texts},
};

const MILLIS_PER_DAY: i64 = 86_400_000;
/// Hint for a value with a fraction in a column of integers.
pub(super) const WHOLE: &str = "the column holds whole numbers";

/// The values of `array` in the Arrow type of `target`; `place` is the column in errors.
pub(super) fn convert(array: &ArrayRef, target: &DataType, place: &ColumnPath<'_>) -> Result<ArrayRef> {
    let array = &decoded(array)?;
    if array.data_type() == &Arrow::Null {
        let made = arrow_type(target)?;
        ask_for(array.len(), &made)?;
        return Ok(new_null_array(&made, array.len()));
    }
    match &target.kind {
        TypeKind::Char(n) | TypeKind::VarChar(n) => text(array, *n, target, place),
        TypeKind::Binary(n) | TypeKind::VarBinary(n) => bytes(array, *n, target, place),
        TypeKind::Boolean => same(array, &Arrow::Boolean, target, place),
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::Int | TypeKind::BigInt => integer(array, target, place),
        TypeKind::Float | TypeKind::Double => float(array, target, place),
        TypeKind::Decimal { precision, scale } => convert_decimal(array, *precision, *scale, target, place),
        TypeKind::Date => date(array, target, place),
        TypeKind::Time(_) => time(array, target, place),
        TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => timestamp(array, target, place),
        TypeKind::Array(element) => nested::list(array, element, target, place),
        TypeKind::Map(key, value) => nested::map(array, key, value, target, place),
        TypeKind::Multiset(element) => nested::map(array, element, &DataType::not_null(TypeKind::Int), target, place),
        TypeKind::Row(fields) => nested::row(array, fields, target, place),
        TypeKind::Variant => variant(array, target, place),
        TypeKind::Blob => bytes(array, MAX_LENGTH, target, place),
        TypeKind::Vector(..) => {
            Err(Error::unsupported(format!("writing the type {target}")).with("column", place.name()))
        }
    }
}

/// Values that come as a dictionary or as runs, one by one.
pub(super) fn decoded(array: &ArrayRef) -> Result<ArrayRef> {
    let value = match array.data_type() {
        Arrow::Dictionary(_, value) => value.as_ref(),
        Arrow::RunEndEncoded(_, value) => value.data_type(),
        _ => return Ok(Arc::clone(array)),
    };
    ask_for(array.len(), value)?;
    decoded(&cast(array, value)?)
}

/// An error when there is no memory for so many values of a type, without the bytes of their texts. The input has not needed as
/// much: nulls have no buffers there, runs one value, and views of lists share elements.
pub(super) fn ask_for(values: usize, t: &Arrow) -> Result<()> {
    limits::ask(values.saturating_mul(width(t)), format_args!("the input, which becomes {values} values of a column,"))
}

/// Bytes of a value in memory without its text or elements, with what says whether it is null.
fn width(t: &Arrow) -> usize {
    1 + match t {
        Arrow::Struct(fields) => fields.iter().map(|field| width(field.data_type())).sum(),
        // one of each value is not there before it is counted where the elements are
        Arrow::FixedSizeList(element, size) => {
            width(element.data_type()).saturating_mul(usize::try_from(*size).unwrap_or(0))
        }
        Arrow::FixedSizeBinary(size) => usize::try_from(*size).unwrap_or(0),
        other => other.primitive_width().unwrap_or(8),
    }
}

/// The input's type cannot become the column's.
pub(super) fn mismatch(place: &ColumnPath<'_>, target: &DataType, got: &Arrow) -> Error {
    Error::new(
        ErrorKind::SchemaMismatch,
        format!("column '{}' is {target} in the table and {got} in the input", place.name()),
    )
    .with("column", place.name())
    .with("expected", target)
    .with("got", got)
}

/// One value that the column's type cannot hold exactly.
pub(super) fn misfit(
    kind: ErrorKind,
    array: &dyn Array,
    row: usize,
    place: &ColumnPath<'_>,
    target: &DataType,
) -> Error {
    let value = array_value_to_string(array, row).unwrap_or_default();
    let value: String =
        if value.chars().count() > 60 { value.chars().take(57).chain("...".chars()).collect() } else { value };
    let (row, column) = (place.row(row), place.name());
    Error::new(kind, format!("the value {value} of row {row} does not fit column '{column}' of type {target}"))
        .with("column", column)
        .with("expected", target)
        .with("got", array.data_type())
}

fn same(array: &ArrayRef, wanted: &Arrow, target: &DataType, place: &ColumnPath<'_>) -> Result<ArrayRef> {
    if array.data_type() == wanted { Ok(Arc::clone(array)) } else { Err(mismatch(place, target, array.data_type())) }
}

fn text(array: &ArrayRef, limit: u32, target: &DataType, place: &ColumnPath<'_>) -> Result<ArrayRef> {
    let array = match array.data_type() {
        Arrow::Utf8 => Arc::clone(array),
        Arrow::LargeUtf8 => {
            let large = array.as_string::<i64>();
            let (offsets, bytes) = in_32_bits(large.offsets(), large.values(), place)?;
            Arc::new(StringArray::try_new(offsets, bytes, large.nulls().cloned())?)
        }
        Arrow::Utf8View => cast(array, &Arrow::Utf8)?,
        other => return Err(mismatch(place, target, other)),
    };
    if limit < MAX_LENGTH {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let too_long = |text: Option<&str>| text.is_some_and(|t| t.len() > limit && t.chars().count() > limit);
        if let Some(row) = array.as_string::<i32>().iter().position(too_long) {
            return Err(misfit(ErrorKind::LengthExceeded, &array, row, place, target)
                .hint(format!("the column holds at most {limit} characters")));
        }
    }
    Ok(array)
}

/// JSON texts, or the two binaries.
fn variant(array: &ArrayRef, target: &DataType, place: &ColumnPath<'_>) -> Result<ArrayRef> {
    let made = match array.data_type() {
        stored if is_variant(stored) => return Ok(Arc::clone(array)),
        Arrow::Struct(_) => checked_binaries(array.as_struct()),
        _ => from_json_texts(text(array, MAX_LENGTH, target, place)?.as_string()),
    };
    made.map_err(|(row, cause)| match cause.kind() {
        ErrorKind::InvalidArgument | ErrorKind::CorruptFile | ErrorKind::UnsupportedFeature => {
            misfit(ErrorKind::SchemaMismatch, array, row, place, target)
                .caused_by(cause)
                .hint("the column takes JSON texts, or the binaries 'value' and 'metadata' of the Variant encoding")
        }
        _ => cause,
    })
}

fn bytes(array: &ArrayRef, limit: u32, target: &DataType, place: &ColumnPath<'_>) -> Result<ArrayRef> {
    let array = match array.data_type() {
        Arrow::Binary => Arc::clone(array),
        Arrow::LargeBinary => {
            let large = array.as_binary::<i64>();
            let (offsets, bytes) = in_32_bits(large.offsets(), large.values(), place)?;
            Arc::new(BinaryArray::try_new(offsets, bytes, large.nulls().cloned())?)
        }
        Arrow::BinaryView | Arrow::FixedSizeBinary(_) => cast(array, &Arrow::Binary)?,
        other => return Err(mismatch(place, target, other)),
    };
    if limit < MAX_LENGTH {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let too_long = |value: Option<&[u8]>| value.is_some_and(|v| v.len() > limit);
        if let Some(row) = array.as_binary::<i32>().iter().position(too_long) {
            return Err(misfit(ErrorKind::LengthExceeded, &array, row, place, target)
                .hint(format!("the column holds at most {limit} bytes")));
        }
    }
    Ok(array)
}

/// Offsets and bytes of these values alone: of a slice the offsets may be those of a larger array.
fn in_32_bits(
    offsets: &OffsetBuffer<i64>,
    bytes: &Buffer,
    place: &ColumnPath<'_>,
) -> Result<(OffsetBuffer<i32>, Buffer)> {
    let (first, last) = (offsets.first().copied().unwrap_or(0), offsets.last().copied().unwrap_or(0));
    let small: Option<Vec<i32>> = offsets.iter().map(|offset| i32::try_from(offset - first).ok()).collect();
    let (Some(small), Ok(start), Ok(length)) = (small, usize::try_from(first), usize::try_from(last - first)) else {
        let text = format!("column '{}' has more bytes in one batch than {}", place.name(), i32::MAX);
        return Err(Error::new(ErrorKind::LengthExceeded, text).with("column", place.name()));
    };
    Ok((OffsetBuffer::new(small.into()), bytes.slice_with_length(start, length)))
}

/// Integers that fit, and decimals and floating-point numbers that are integers (pandas has no others beside missing ones).
fn integer(array: &ArrayRef, target: &DataType, place: &ColumnPath<'_>) -> Result<ArrayRef> {
    if array.data_type().is_floating() {
        return lossless_cast(&whole_numbers(array, target, place)?, target, place);
    }
    if array.data_type().is_decimal() {
        return lossless_cast(&whole_decimals(array, target, place)?, target, place);
    }
    if !array.data_type().is_integer() {
        return Err(mismatch(place, target, array.data_type()));
    }
    lossless_cast(array, target, place)
}

fn whole_numbers(array: &ArrayRef, target: &DataType, place: &ColumnPath<'_>) -> Result<ArrayRef> {
    let wide = cast(array, &Arrow::Float64)?;
    let wide = wide.as_primitive::<Float64Type>();
    let strange = |v: f64| v.fract() != 0.0 || !v.is_finite();
    if let Some(row) = wide.iter().position(|v| v.is_some_and(strange)) {
        return Err(misfit(ErrorKind::SchemaMismatch, array, row, place, target).hint(WHOLE));
    }
    let whole = cast_with_options(wide, &Arrow::Int64, &CastOptions::default())?;
    match first_lost(array, &whole) {
        Some(row) => Err(misfit(ErrorKind::SchemaMismatch, array, row, place, target)),
        None => Ok(whole),
    }
}

fn float(array: &ArrayRef, target: &DataType, place: &ColumnPath<'_>) -> Result<ArrayRef> {
    let wanted = arrow_type(target)?;
    let source = array.data_type();
    if source == &wanted {
        return Ok(Arc::clone(array));
    }
    if source.is_floating() {
        let converted = cast(array, &wanted)?;
        return match lost_in_rounding(array, &converted)? {
            Some(row) => Err(misfit(ErrorKind::SchemaMismatch, array, row, place, target)),
            None => Ok(converted),
        };
    }
    if !source.is_integer() {
        return Err(mismatch(place, target, source));
    }
    let converted = cast(array, &wanted)?;
    let back = cast_with_options(&converted, source, &CastOptions::default())?;
    match first_difference(array, &back)? {
        Some(row) => Err(misfit(ErrorKind::SchemaMismatch, array, row, place, target)),
        None => Ok(converted),
    }
}

/// The first row that rounding made infinite or zero; to the nearest number of the type it may go.
fn lost_in_rounding(before: &ArrayRef, after: &ArrayRef) -> Result<Option<usize>> {
    let (before, after) = (cast(before, &Arrow::Float64)?, cast(after, &Arrow::Float64)?);
    let (before, after) = (before.as_primitive::<Float64Type>(), after.as_primitive::<Float64Type>());
    let lost = |b: f64, a: f64| b.is_finite() && (a.is_infinite() || (a == 0.0 && b != 0.0));
    Ok(before.iter().zip(after).position(|pair| matches!(pair, (Some(b), Some(a)) if lost(b, a))))
}

/// Integers of any width whose every value fits.
fn lossless_cast(array: &ArrayRef, target: &DataType, place: &ColumnPath<'_>) -> Result<ArrayRef> {
    let wanted = arrow_type(target)?;
    if array.data_type() == &wanted {
        return Ok(Arc::clone(array));
    }
    let converted = cast_with_options(array, &wanted, &CastOptions::default())?;
    match first_lost(array, &converted) {
        Some(row) => Err(misfit(ErrorKind::SchemaMismatch, array, row, place, target)),
        None => Ok(converted),
    }
}

/// The first row that became null.
fn first_lost(before: &ArrayRef, after: &ArrayRef) -> Option<usize> {
    if before.null_count() == after.null_count() {
        return None;
    }
    (0..before.len()).find(|&row| before.is_valid(row) && after.is_null(row))
}

fn first_difference(a: &ArrayRef, b: &ArrayRef) -> Result<Option<usize>> {
    let differs = arrow_ord::cmp::distinct(a, b)?;
    Ok((differs.true_count() > 0).then(|| differs.iter().position(|d| d == Some(true))).flatten())
}

fn date(array: &ArrayRef, target: &DataType, place: &ColumnPath<'_>) -> Result<ArrayRef> {
    match array.data_type() {
        Arrow::Date32 => Ok(Arc::clone(array)),
        Arrow::Date64 => {
            let millis = cast(array, &Arrow::Int64)?;
            let days = map_values::<Int64Type, _>(&millis, |v| {
                (v % MILLIS_PER_DAY == 0).then_some(v / MILLIS_PER_DAY).filter(|d| i32::try_from(*d).is_ok())
            })
            .map_err(|row| misfit(ErrorKind::SchemaMismatch, array, row, place, target))?;
            Ok(cast(&cast(&days, &Arrow::Int32)?, &Arrow::Date32)?)
        }
        other => Err(mismatch(place, target, other)),
    }
}

fn time(array: &ArrayRef, target: &DataType, place: &ColumnPath<'_>) -> Result<ArrayRef> {
    let (unit, wide) = match array.data_type() {
        Arrow::Time32(unit) => (*unit, cast(&cast(array, &Arrow::Int32)?, &Arrow::Int64)?),
        Arrow::Time64(unit) => (*unit, cast(array, &Arrow::Int64)?),
        other => return Err(mismatch(place, target, other)),
    };
    let scale = Rescale::between(unit, TimeUnit::Millisecond);
    let millis =
        map_values::<Int64Type, _>(&wide, |v| scale.apply(v).filter(|millis| (0..MILLIS_PER_DAY).contains(millis)))
            .map_err(|row| misfit(ErrorKind::SchemaMismatch, array, row, place, target))?;
    let millis = cast(&millis, &Arrow::Int32)?;
    let millis: &PrimitiveArray<Int32Type> = millis.as_primitive();
    Ok(Arc::new(millis.reinterpret_cast::<arrow_array::types::Time32MillisecondType>()))
}

fn timestamp(array: &ArrayRef, target: &DataType, place: &ColumnPath<'_>) -> Result<ArrayRef> {
    let wanted = arrow_type(target)?;
    let source = array.data_type();
    if source == &wanted {
        return Ok(Arc::clone(array));
    }
    let (Arrow::Timestamp(from, from_zone), Arrow::Timestamp(to, to_zone)) = (source, &wanted) else {
        return Err(mismatch(place, target, source));
    };
    if from_zone.is_some() && to_zone.is_none() {
        return Err(mismatch(place, target, source)
            .hint("an instant has no wall clock without a zone: convert it to a timestamp without zone first"));
    }
    let scale = Rescale::between(*from, *to);
    let values = cast(array, &Arrow::Int64)?;
    let values = map_values::<Int64Type, _>(&values, |v| scale.apply(v))
        .map_err(|row| misfit(ErrorKind::SchemaMismatch, array, row, place, target))?;
    Ok(cast(&values, &wanted)?)
}

/// Exact change of a time unit.
#[derive(Clone, Copy)]
enum Rescale {
    Same,
    Times(i64),
    Divided(i64),
}

impl Rescale {
    fn between(from: TimeUnit, to: TimeUnit) -> Self {
        let (from, to) = (per_second(from), per_second(to));
        match from.cmp(&to) {
            std::cmp::Ordering::Equal => Self::Same,
            std::cmp::Ordering::Less => Self::Times(to / from),
            std::cmp::Ordering::Greater => Self::Divided(from / to),
        }
    }

    fn apply(self, value: i64) -> Option<i64> {
        match self {
            Self::Same => Some(value),
            Self::Times(n) => value.checked_mul(n),
            Self::Divided(n) => (value % n == 0).then_some(value / n),
        }
    }
}

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// `f` of every value that is not null; the row of the first `None`.
fn map_values<T, F>(array: &ArrayRef, f: F) -> std::result::Result<ArrayRef, usize>
where
    T: ArrowPrimitiveType,
    F: Fn(T::Native) -> Option<T::Native>,
{
    let array = array.as_primitive::<T>();
    let mapped = array.try_unary::<_, T, ()>(|v| f(v).ok_or(()));
    match mapped {
        Ok(mapped) => Ok(Arc::new(mapped)),
        Err(()) => Err(array.iter().position(|v| v.is_some_and(|v| f(v).is_none())).unwrap_or_default()),
    }
}
