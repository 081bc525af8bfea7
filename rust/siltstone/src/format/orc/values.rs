//! Values that are there, decoded and put at their places among the nulls.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, Float32Array, Float64Array, PrimitiveArray,
    types::{
        Date32Type, Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType,
        TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    },
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType as Arrow, TimeUnit};

use super::{
    bits::Bits,
    budget::Budget,
    column::wrong_type,
    integers::Integers,
    stream::{MOST_AT_ONCE, Stream},
    timestamp::Clock,
};
use crate::error::{Error, ErrorKind, Result};

pub(super) fn nulls(mask: Option<BooleanBuffer>) -> Option<NullBuffer> {
    mask.map(NullBuffer::new)
}

/// Values at the places of a mask: what its `true`s stand for, defaults elsewhere.
fn spread<T: Copy + Default>(dense: Vec<T>, mask: &BooleanBuffer) -> Vec<T> {
    if dense.len() == mask.len() {
        return dense;
    }
    let mut all = vec![T::default(); mask.len()];
    for (place, value) in mask.set_indices().zip(dense) {
        if let Some(slot) = all.get_mut(place) {
            *slot = value;
        }
    }
    all
}

pub(super) fn spread_some<T: Copy + Default>(values: Vec<T>, mask: Option<&BooleanBuffer>) -> Vec<T> {
    match mask {
        Some(mask) => spread(values, mask),
        None => values,
    }
}

pub(super) fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>, mask: Option<BooleanBuffer>) -> ArrayRef
where
    T::Native: ArrowNativeType + Default,
{
    let values = spread_some(values, mask.as_ref());
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), nulls(mask)))
}

pub(super) fn integers_to(
    to: &Arrow,
    from: &mut Integers,
    count: usize,
    mask: Option<BooleanBuffer>,
) -> Result<ArrayRef> {
    let values = from.read(count)?;
    macro_rules! narrow {
        ($t:ty) => {{
            let mut narrow = Vec::new();
            from.stream().room(&mut narrow, values.len())?;
            for value in values {
                let value = <$t as ArrowPrimitiveType>::Native::try_from(value);
                let value = value.map_err(|_| from.stream().corrupt(format!("numbers of {to}"), "a larger one"));
                narrow.push(value?);
            }
            Ok(primitive::<$t>(narrow, mask))
        }};
    }
    match to {
        Arrow::Int8 => narrow!(Int8Type),
        Arrow::Int16 => narrow!(Int16Type),
        Arrow::Int32 => narrow!(Int32Type),
        Arrow::Date32 => narrow!(Date32Type),
        Arrow::Time32(_) => narrow!(Time32MillisecondType),
        Arrow::Int64 => Ok(primitive::<Int64Type>(values, mask)),
        _ => Err(wrong_type(to)),
    }
}

pub(super) fn floats(to: &Arrow, from: &mut Stream, count: usize, mask: Option<BooleanBuffer>) -> Result<ArrayRef> {
    let mut bytes = Vec::new();
    let width = to.primitive_width().unwrap_or(8);
    from.read(&mut bytes, count.saturating_mul(width))?;
    if matches!(to, Arrow::Float32) {
        let mut values = Vec::new();
        from.room(&mut values, count)?;
        values.extend(bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)));
        let values = spread_some(values, mask.as_ref());
        return Ok(Arc::new(Float32Array::new(ScalarBuffer::from(values), nulls(mask))));
    }
    let mut values = Vec::new();
    from.room(&mut values, count)?;
    values.extend(bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)));
    let values = spread_some(values, mask.as_ref());
    Ok(Arc::new(Float64Array::new(ScalarBuffer::from(values), nulls(mask))))
}

pub(super) fn booleans(
    from: &mut Bits,
    count: usize,
    mask: Option<BooleanBuffer>,
    budget: &mut Budget,
) -> Result<ArrayRef> {
    let values = from.read(count)?;
    // a byte of each that is there
    budget.make(mask.as_ref().map_or(0, |_| count))?;
    let values = match &mask {
        None => values,
        Some(mask) => spread(values.iter().collect(), mask).into_iter().collect(),
    };
    Ok(Arc::new(BooleanArray::new(values, nulls(mask))))
}

pub(super) fn decimals(
    (precision, scale): (u8, u8),
    unscaled: &mut Stream,
    scales: &mut Integers,
    count: usize,
    mask: Option<BooleanBuffer>,
) -> Result<ArrayRef> {
    let scales = scales.read(count)?;
    let mut values = Vec::with_capacity(count.min(MOST_AT_ONCE));
    for stored in scales {
        unscaled.room(&mut values, 1)?;
        let value = rescaled(unscaled.wide()?, stored, scale).filter(|v| v.unsigned_abs() < limit(precision));
        values.push(value.ok_or_else(|| {
            unscaled.corrupt(format!("a number of DECIMAL({precision}, {scale})"), "one with more digits")
        })?);
    }
    let values = spread_some(values, mask.as_ref());
    let array = PrimitiveArray::<Decimal128Type>::new(ScalarBuffer::from(values), nulls(mask));
    Ok(Arc::new(array.with_precision_and_scale(precision, i8::try_from(scale).unwrap_or_default())?))
}

/// 10 to the power of a number of digits.
fn limit(digits: u8) -> u128 {
    10_u128.checked_pow(u32::from(digits)).unwrap_or(u128::MAX)
}

/// A number at its own scale at another one, if it has no digit more.
fn rescaled(value: i128, stored: i64, wanted: u8) -> Option<i128> {
    let more = i64::from(wanted).checked_sub(stored)?;
    let factor = 10_i128.checked_pow(u32::try_from(more.unsigned_abs()).ok()?);
    match (more >= 0, factor) {
        (true, Some(factor)) => value.checked_mul(factor),
        (false, Some(factor)) => (value % factor == 0).then_some(value / factor),
        (_, None) => (value == 0).then_some(0),
    }
}

pub(super) fn times(
    to: &Arrow,
    seconds: &mut Integers,
    nanos: &mut Integers,
    clock: &Clock,
    count: usize,
    mask: Option<BooleanBuffer>,
) -> Result<ArrayRef> {
    let Arrow::Timestamp(unit, zone) = to else { return Err(wrong_type(to)) };
    let (per_second, nanos_each) = match unit {
        TimeUnit::Second => (1, 1_000_000_000),
        TimeUnit::Millisecond => (1_000, 1_000_000),
        TimeUnit::Microsecond => (1_000_000, 1_000),
        TimeUnit::Nanosecond => (1_000_000_000, 1),
    };
    let (whole, parts) = (seconds.read(count)?, nanos.read(count)?);
    let mut values = Vec::new();
    seconds.stream().room(&mut values, count)?;
    for (whole, part) in whole.iter().zip(&parts) {
        let (whole, part) = clock
            .time(*whole, *part)
            .ok_or_else(|| seconds.stream().corrupt("a time", format!("{whole} seconds and {part}")))?;
        // the second alone may lie before the first time of the type
        let value = i128::from(whole) * per_second + i128::from(part / nanos_each);
        values.push(i64::try_from(value).map_err(|_| {
            Error::new(ErrorKind::UnsupportedType, format!("a timestamp is out of the range of {to}"))
                .with("file", seconds.stream().path())
        })?);
    }
    let values = ScalarBuffer::from(spread_some(values, mask.as_ref()));
    let (nulls, zone) = (nulls(mask), zone.clone());
    Ok(match unit {
        TimeUnit::Second => Arc::new(PrimitiveArray::<TimestampSecondType>::new(values, nulls).with_timezone_opt(zone)),
        TimeUnit::Millisecond => {
            Arc::new(PrimitiveArray::<TimestampMillisecondType>::new(values, nulls).with_timezone_opt(zone))
        }
        TimeUnit::Microsecond => {
            Arc::new(PrimitiveArray::<TimestampMicrosecondType>::new(values, nulls).with_timezone_opt(zone))
        }
        TimeUnit::Nanosecond => {
            Arc::new(PrimitiveArray::<TimestampNanosecondType>::new(values, nulls).with_timezone_opt(zone))
        }
    })
}
