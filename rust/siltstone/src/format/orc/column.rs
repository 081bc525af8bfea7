//! The values of a column, some rows at a time.
//!
//! What they take is their number and the width of their type, whether they are there or null: nulls take next to nothing in a
//! file. So memory is asked for where there are nulls, and else as values are found.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray, UInt32Array, new_null_array, types::Int8Type};
use arrow_buffer::{BooleanBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType as Arrow;
use arrow_select::take::take;

use super::{
    bits::{Bits, ByteRuns},
    budget::Budget,
    integers::Integers,
    stream::{MOST_AT_ONCE, Stream},
    texts::{Dictionary, looked_up, read_texts, texts, trimmed},
    timestamp::Clock,
    values::{booleans, decimals, floats, integers_to, nulls, primitive, spread_some, times},
};
use crate::{
    cancel,
    cast::{check_not_null, width},
    error::{Error, ErrorKind, Result},
};

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
    /// The file does not have the column.
    Missing,
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
        match (&self.values, &mask) {
            // its fields take it
            (Values::Row(_), None) => {}
            (Values::Missing, _) | (_, Some(_)) => budget.take(bytes)?,
            (_, None) => budget.find(bytes)?,
        }
        match &mut self.values {
            Values::Missing => Ok(new_null_array(&self.to, count)),
            Values::Boolean(bits) => booleans(bits, there, mask, budget),
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
                    (offsets, data) = trimmed(&offsets, &data, bytes)?;
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

#[cold]
pub(super) fn wrong_type(to: &Arrow) -> Error {
    Error::new(ErrorKind::Internal, format!("a column of ORC as {to}"))
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
    budget.make(mask.as_ref().map_or(0, BooleanBuffer::len).saturating_mul(size_of::<u32>()))?;
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
            Some(places) => {
                // with the places of elements of lists
                budget.make(values.get_array_memory_size().saturating_mul(2))?;
                take(&values, places, None)?
            }
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
    let numbers = lengths.read(there)?;
    budget.make(mask.map_or(0, BooleanBuffer::len).saturating_mul(size_of::<i64>()))?;
    let numbers = spread_some(numbers, mask);
    let mut ends = Vec::new();
    lengths.stream().room(&mut ends, numbers.len() + 1)?;
    let mut end = 0_i32;
    ends.push(end);
    for length in numbers {
        if length < 0 {
            return Err(lengths.stream().corrupt("a number of elements", length));
        }
        let Some(next) = i32::try_from(length).ok().and_then(|length| end.checked_add(length)) else {
            budget.find(usize::MAX)?;
            return Err(lengths.stream().corrupt("fewer elements", length));
        };
        end = next;
        ends.push(end);
    }
    // of whatever type
    budget.find(usize::try_from(end).unwrap_or(0).saturating_mul(4))?;
    Ok(OffsetBuffer::new(ScalarBuffer::from(ends)))
}

fn last(offsets: &OffsetBuffer<i32>) -> usize {
    usize::try_from(offsets.last().copied().unwrap_or_default()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use arrow_schema::{Field, Fields};
    use bytes::Bytes;

    use super::{
        super::{compression::Codec, stream::Source},
        *,
    };
    use crate::format::records::InMemory;

    /// 1000 nulls of a type; the file has a bit of each.
    fn nulls_of(to: Arrow, values: impl Fn(&Stream) -> Values) -> Column {
        let bytes = Bytes::from_static(&[122, 0]);
        let input = Arc::new(InMemory { path: "m.orc".to_owned(), bytes });
        let stream = Stream::new(Source { input, codec: Codec::None, chunk_bytes: 0 }, 0, 2);
        Column { values: values(&stream), present: Some(Bits::new(stream)), to }
    }

    /// A file of 4.5 KB ended the process: nothing was asked for nulls, and rows had none of their fields counted.
    #[test]
    fn nulls_count_as_values_do_with_all_of_their_fields() {
        let numbers = || nulls_of(Arrow::Int64, |stream| Values::Integers(Integers::new(stream.clone(), true, true)));
        let fields: Fields = (0..200).map(|i| Field::new(format!("f{i}"), Arrow::Int64, true)).collect();
        let missing = || Column { present: None, values: Values::Missing, to: Arrow::Int64 };
        let rows = || {
            let children = (0..200).map(|_| missing()).collect::<Vec<_>>();
            nulls_of(Arrow::Struct(fields.clone()), move |_| Values::Row(children.clone()))
        };
        for (mut column, bytes) in [(numbers(), 1000 * 9), (rows(), 1000 * (1 + 200 * 9))] {
            let mut again = column.clone();
            let mut budget = Budget::new(bytes - 1);
            assert_eq!(column.read(1000, &mut budget).unwrap_err().kind(), ErrorKind::MemoryLimitExceeded);
            assert!(budget.exceeded);
            assert_eq!(again.read(1000, &mut Budget::new(bytes)).unwrap().null_count(), 1000);
        }
    }
}
