//! The values of a column, some rows at a time.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, Float32Array, Float64Array, ListArray, MapArray, PrimitiveArray,
    StructArray, UInt32Array, new_null_array,
    types::{
        Date32Type, Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType,
        TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    },
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType as Arrow, TimeUnit};
use arrow_select::take::take;

use super::{
    bits::{Bits, ByteRuns},
    integers::Integers,
    stream::{MOST_AT_ONCE, Stream},
    texts::{Dictionary, looked_up, read_texts, texts, trimmed},
    timestamp::Clock,
};
use crate::{
    cancel,
    cast::check_not_null,
    error::{Error, ErrorKind, Result},
    limits,
};

/// What the values of a batch may take; it becomes smaller where they take more.
pub(super) struct Budget {
    /// `None`: a single row, which takes what it takes.
    left: Option<usize>,
    /// There was not enough.
    pub(super) exceeded: bool,
}

impl Budget {
    pub(super) fn new(bytes: usize) -> Self {
        Self { left: Some(bytes), exceeded: false }
    }

    pub(super) fn of_one_row() -> Self {
        Self { left: None, exceeded: false }
    }

    /// Values that have to be found in the file first, which is what limits them in a row of its own.
    pub(super) fn take(&mut self, bytes: usize) -> Result<()> {
        let Some(left) = &mut self.left else { return Ok(()) };
        *left = left.checked_sub(bytes).ok_or_else(|| {
            self.exceeded = true;
            Error::new(ErrorKind::MemoryLimitExceeded, "a batch of an ORC file is too large")
        })?;
        Ok(())
    }

    /// Values that are made of less: for a row of its own the memory is asked for.
    pub(super) fn take_now(&mut self, bytes: usize, stream: &Stream) -> Result<()> {
        if self.left.is_none() {
            limits::ask(bytes, "a row of an ORC file").map_err(|e| e.with("file", stream.path()))?;
        }
        self.take(bytes)
    }
}

/// A column that is being decoded. A clone goes on from the same row.
#[derive(Clone)]
pub(super) struct Column {
    /// Which values are there; `None`: all.
    pub(super) present: Option<Bits>,
    pub(super) values: Values,
    /// The array's type.
    pub(super) to: Arrow,
}

/// Where the values that are there come from.
#[derive(Clone)]
pub(super) enum Values {
    /// The file does not have the column. Of its parent.
    Missing(Stream),
    Boolean(Bits),
    Bytes(ByteRuns),
    Integers(Integers),
    Floats(Stream),
    Texts {
        lengths: Integers,
        bytes: Stream,
        trim: bool,
    },
    Dictionary {
        keys: Integers,
        entries: Arc<Dictionary>,
    },
    Decimals {
        unscaled: Stream,
        scales: Integers,
        precision: u8,
        scale: u8,
    },
    Times {
        seconds: Integers,
        nanos: Integers,
        clock: Clock,
    },
    Row(Vec<Column>),
    List {
        lengths: Integers,
        element: Box<Column>,
    },
    Map {
        lengths: Integers,
        key: Box<Column>,
        value: Box<Column>,
    },
}

impl Column {
    /// The next so many values.
    pub(super) fn read(&mut self, count: usize, budget: &mut Budget) -> Result<ArrayRef> {
        cancel::check()?;
        let mask = match &mut self.present {
            Some(present) => Some(present.read(count)?),
            None => None,
        };
        // none of them null: NOT NULL columns and keys of maps have no mask
        let mask = mask.filter(|mask| mask.count_set_bits() < count);
        let there = mask.as_ref().map_or(count, BooleanBuffer::count_set_bits);
        let bytes = count.saturating_mul(width(&self.to));
        match &self.values {
            Values::Missing(of) => budget.take_now(bytes, of)?,
            // its fields
            Values::Row(_) => {}
            _ => budget.take(bytes)?,
        }
        match &mut self.values {
            Values::Missing(_) => Ok(new_null_array(&self.to, count)),
            Values::Boolean(bits) => booleans(bits, there, mask),
            Values::Bytes(runs) => {
                let mut bytes = Vec::with_capacity(there.min(MOST_AT_ONCE));
                runs.read(&mut bytes, there)?;
                let values = bytes.into_iter().map(u8::cast_signed).collect();
                Ok(primitive::<Int8Type>(values, mask))
            }
            Values::Integers(integers) => integers_to(&self.to, integers, there, mask),
            Values::Floats(stream) => floats(&self.to, stream, there, mask),
            Values::Texts { lengths, bytes, trim } => {
                let lengths = lengths.read(there)?;
                let (mut offsets, mut data) = read_texts(&lengths, bytes, budget)?;
                if *trim {
                    (offsets, data) = trimmed(&offsets, &data);
                }
                texts(&self.to, &offsets, data, mask, bytes)
            }
            Values::Dictionary { keys, entries } => {
                let (offsets, data) = looked_up(keys, entries, there, budget)?;
                texts(&self.to, &offsets, data, mask, keys.stream())
            }
            Values::Decimals { unscaled, scales, precision, scale } => {
                decimals((*precision, *scale), unscaled, scales, there, mask)
            }
            Values::Times { seconds, nanos, clock } => times(&self.to, seconds, nanos, clock, there, mask),
            Values::Row(children) => row(&self.to, children, there, mask, budget),
            Values::List { lengths, element } => {
                let offsets = offsets_of(lengths, there, mask.as_ref(), budget)?;
                let Arrow::List(field) = &self.to else { return Err(wrong_type(&self.to)) };
                let values = element.read(last(&offsets), budget)?;
                check_not_null(&values, field.is_nullable(), None).map_err(|e| e.with("field", "element"))?;
                Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, values, nulls(mask))?))
            }
            Values::Map { lengths, key, value } => {
                let offsets = offsets_of(lengths, there, mask.as_ref(), budget)?;
                map(&self.to, offsets, [key, value], mask, budget)
            }
        }
    }
}

/// Bytes that a value takes, at least.
fn width(to: &Arrow) -> usize {
    match to {
        Arrow::Struct(fields) => fields.iter().map(|field| width(field.data_type())).fold(0, usize::saturating_add),
        to => to.primitive_width().unwrap_or(4),
    }
}

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

fn spread_some<T: Copy + Default>(values: Vec<T>, mask: Option<&BooleanBuffer>) -> Vec<T> {
    match mask {
        Some(mask) => spread(values, mask),
        None => values,
    }
}

fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>, mask: Option<BooleanBuffer>) -> ArrayRef
where
    T::Native: ArrowNativeType + Default,
{
    let values = spread_some(values, mask.as_ref());
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), nulls(mask)))
}

#[cold]
fn wrong_type(to: &Arrow) -> Error {
    Error::new(ErrorKind::Internal, format!("a column of ORC as {to}"))
}

fn integers_to(to: &Arrow, from: &mut Integers, count: usize, mask: Option<BooleanBuffer>) -> Result<ArrayRef> {
    let values = from.read(count)?;
    macro_rules! narrow {
        ($t:ty) => {{
            let narrow = values.iter().map(|v| <$t as ArrowPrimitiveType>::Native::try_from(*v));
            let narrow: std::result::Result<Vec<_>, _> = narrow.collect();
            let narrow = narrow.map_err(|_| from.stream().corrupt(format!("numbers of {to}"), "a larger one"))?;
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

fn floats(to: &Arrow, from: &mut Stream, count: usize, mask: Option<BooleanBuffer>) -> Result<ArrayRef> {
    let mut bytes = Vec::new();
    let width = to.primitive_width().unwrap_or(8);
    from.read(&mut bytes, count.saturating_mul(width))?;
    if matches!(to, Arrow::Float32) {
        let values = bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        let values = spread_some(values, mask.as_ref());
        return Ok(Arc::new(Float32Array::new(ScalarBuffer::from(values), nulls(mask))));
    }
    let values = bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
    let values = spread_some(values, mask.as_ref());
    Ok(Arc::new(Float64Array::new(ScalarBuffer::from(values), nulls(mask))))
}

fn booleans(from: &mut Bits, count: usize, mask: Option<BooleanBuffer>) -> Result<ArrayRef> {
    let values = from.read(count)?;
    let values = match &mask {
        None => values,
        Some(mask) => spread(values.iter().collect(), mask).into_iter().collect(),
    };
    Ok(Arc::new(BooleanArray::new(values, nulls(mask))))
}

fn map(
    to: &Arrow,
    offsets: OffsetBuffer<i32>,
    sides: [&mut Column; 2],
    mask: Option<BooleanBuffer>,
    budget: &mut Budget,
) -> Result<ArrayRef> {
    let Arrow::Map(field, _) = to else { return Err(wrong_type(to)) };
    let Arrow::Struct(fields) = field.data_type() else { return Err(wrong_type(to)) };
    let count = last(&offsets);
    let mut columns = Vec::with_capacity(2);
    for (field, side) in fields.iter().zip(sides) {
        let column = side.read(count, budget)?;
        check_not_null(&column, field.is_nullable(), None).map_err(|e| e.with("field", field.name()))?;
        columns.push(column);
    }
    let entries = StructArray::try_new_with_length(fields.clone(), columns, None, count)?;
    Ok(Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, nulls(mask), false)?))
}

fn decimals(
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

fn times(
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
    let mut values = Vec::with_capacity(count);
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

/// Fields have values for rows that are there.
fn row(
    to: &Arrow,
    children: &mut [Column],
    there: usize,
    mask: Option<BooleanBuffer>,
    budget: &mut Budget,
) -> Result<ArrayRef> {
    let Arrow::Struct(fields) = to else { return Err(wrong_type(to)) };
    let mut columns = Vec::with_capacity(children.len());
    let places = mask.as_ref().map(|mask| {
        let mut next = 0_u32;
        let place = |is_there: bool| {
            is_there.then(|| {
                next = next.saturating_add(1);
                next - 1
            })
        };
        mask.iter().map(place).collect::<UInt32Array>()
    });
    for (child, field) in children.iter_mut().zip(fields) {
        let values = child.read(there, budget)?;
        check_not_null(&values, field.is_nullable(), None).map_err(|e| e.with("field", field.name()))?;
        columns.push(match &places {
            None => values,
            Some(places) => take(&values, places, None)?,
        });
    }
    let count = mask.as_ref().map_or(there, BooleanBuffer::len);
    Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, nulls(mask), count)?))
}

fn offsets_of(
    lengths: &mut Integers,
    there: usize,
    mask: Option<&BooleanBuffer>,
    budget: &mut Budget,
) -> Result<OffsetBuffer<i32>> {
    let numbers = spread_some(lengths.read(there)?, mask);
    let mut ends = Vec::with_capacity(numbers.len() + 1);
    let mut end = 0_i32;
    ends.push(end);
    for length in numbers {
        if length < 0 {
            return Err(lengths.stream().corrupt("a number of elements", length));
        }
        let Some(next) = i32::try_from(length).ok().and_then(|length| end.checked_add(length)) else {
            budget.take(usize::MAX)?;
            return Err(lengths.stream().corrupt("fewer elements", length));
        };
        end = next;
        ends.push(end);
    }
    // of whatever type
    budget.take(usize::try_from(end).unwrap_or(0).saturating_mul(4))?;
    Ok(OffsetBuffer::new(ScalarBuffer::from(ends)))
}

fn last(offsets: &OffsetBuffer<i32>) -> usize {
    usize::try_from(offsets.last().copied().unwrap_or_default()).unwrap_or(0)
}
