//! Rows of several arrays as one array.
//!
//! Values of a fixed width, texts, bytes and booleans are copied by loops of their own; whoever knows already which
//! results are null says so, and nulls are not looked up again. Other types go through `interleave`.
#![allow(clippy::indexing_slicing, reason = "places come from the merge and lie within the arrays")]

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, GenericByteArray,
    cast::AsArray,
    make_array, new_null_array,
    types::{BinaryType, ByteArrayType, Utf8Type},
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::DataType as Arrow;
use arrow_select::interleave::interleave;

use crate::{Error, ErrorKind, Result, limits, row::memory_of};

/// Bytes that a short value is copied with, its neighbours' and all.
const SHORT: usize = 32;

/// What needs memory, for messages.
const VALUES: &str = "a batch of merged rows";

/// The rows at these places of the arrays; a source number behind the last array is null.
pub(crate) fn gather(arrays: &[ArrayRef], places: &[(usize, usize)]) -> Result<ArrayRef> {
    if places.iter().any(|(source, _)| *source == arrays.len()) {
        return interleaved(arrays, places);
    }
    gather_rows(arrays, places.len(), |row| places[row])
}

/// `len` rows, row `i` being the one at `place(i)`.
pub(crate) fn gather_rows(
    arrays: &[ArrayRef],
    len: usize,
    place: impl Fn(usize) -> (usize, usize),
) -> Result<ArrayRef> {
    let nulls: Vec<Option<&NullBuffer>> = arrays.iter().map(|a| a.nulls().filter(|n| n.null_count() > 0)).collect();
    let valid = |row: usize| {
        let (source, at) = place(row);
        nulls[source].is_none_or(|nulls| nulls.is_valid(at))
    };
    let any = nulls.iter().any(Option::is_some);
    let nulls = any.then(|| NullBuffer::new(BooleanBuffer::collect_bool(len, valid)));
    gather_known(arrays, len, place, nulls)
}

/// As [`gather_rows`] when it is known which rows are null; `place` is asked for them too.
pub(crate) fn gather_known(
    arrays: &[ArrayRef],
    len: usize,
    place: impl Fn(usize) -> (usize, usize),
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let first = arrays.first().ok_or_else(|| Error::new(ErrorKind::Internal, "records of no batch"))?;
    let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
    let t = first.data_type();
    let same = arrays.iter().all(|array| array.data_type() == t);
    match (t, t.primitive_width()) {
        (Arrow::Boolean, _) if same => Ok(booleans(arrays, len, place, nulls)),
        (Arrow::Utf8, _) if same => bytes::<Utf8Type>(arrays, len, place, nulls),
        (Arrow::Binary, _) if same => bytes::<BinaryType>(arrays, len, place, nulls),
        (_, Some(1)) if same => fixed::<i8>(arrays, len, place, nulls),
        (_, Some(2)) if same => fixed::<i16>(arrays, len, place, nulls),
        (_, Some(4)) if same => fixed::<i32>(arrays, len, place, nulls),
        (_, Some(8)) if same => fixed::<i64>(arrays, len, place, nulls),
        (Arrow::Decimal128(..), _) if same => fixed::<i128>(arrays, len, place, nulls),
        _ => {
            let null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            let places: Vec<(usize, usize)> =
                (0..len).map(|row| if null(row) { (arrays.len(), 0) } else { place(row) }).collect();
            interleaved(arrays, &places)
        }
    }
}

fn interleaved(arrays: &[ArrayRef], places: &[(usize, usize)]) -> Result<ArrayRef> {
    let first = arrays.first().ok_or_else(|| Error::new(ErrorKind::Internal, "records of no batch"))?;
    limits::ask_for_part(memory_of(arrays, places.iter().copied()), VALUES)?;
    let mut sources: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
    let null = new_null_array(first.data_type(), 1);
    sources.push(null.as_ref());
    Ok(interleave(&sources, places)?)
}

/// All types of one width.
fn fixed<N: ArrowNativeType>(
    arrays: &[ArrayRef],
    len: usize,
    place: impl Fn(usize) -> (usize, usize),
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let data: Vec<ArrayData> = arrays.iter().map(Array::to_data).collect();
    let values: Vec<&[N]> = data.iter().map(|data| data.buffer::<N>(0)).collect();
    let result: Vec<N> = (0..len)
        .map(|row| {
            let (source, at) = place(row);
            values[source][at]
        })
        .collect();
    let t = data.first().map_or(Arrow::Null, |data| data.data_type().clone());
    let result = ArrayDataBuilder::new(t).len(len).nulls(nulls).add_buffer(Buffer::from_vec(result)).build()?;
    Ok(make_array(result))
}

fn booleans(
    arrays: &[ArrayRef],
    len: usize,
    place: impl Fn(usize) -> (usize, usize),
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let values: Vec<&BooleanBuffer> = arrays.iter().map(|array| array.as_boolean().values()).collect();
    let value = |row: usize| {
        let (source, at) = place(row);
        values[source].value(at)
    };
    Arc::new(BooleanArray::new(BooleanBuffer::collect_bool(len, value), nulls))
}

/// Texts and bytes. Nulls become empty.
fn bytes<T: ByteArrayType<Offset = i32>>(
    arrays: &[ArrayRef],
    len: usize,
    place: impl Fn(usize) -> (usize, usize),
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let arrays: Vec<&GenericByteArray<T>> = arrays.iter().map(AsArray::as_bytes::<T>).collect();
    let sources: Vec<(&[i32], &[u8])> = arrays.iter().map(|a| (a.value_offsets(), a.value_data())).collect();
    let mut offsets = Vec::with_capacity(len + 1);
    offsets.push(0_i32);
    let mut total = 0_i32;
    for row in 0..len {
        let (source, at) = place(row);
        let of = sources[source].0;
        let size = if nulls.as_ref().is_none_or(|n| n.is_valid(row)) { of[at + 1] - of[at] } else { 0 };
        total = total.checked_add(size).ok_or_else(|| {
            Error::new(ErrorKind::LengthExceeded, "the texts of one batch have more than 2 GiB together")
        })?;
        offsets.push(total);
    }
    let total = total.as_usize();
    limits::ask_for_part(total + SHORT, VALUES)?;
    let mut data = vec![0_u8; total + SHORT];
    for (row, bounds) in offsets.windows(2).enumerate() {
        let (source, at) = place(row);
        let (of, from) = sources[source];
        let (start, to) = (of[at].as_usize(), bounds[0].as_usize());
        let size = bounds[1].as_usize() - to;
        match from.get(start..start + SHORT) {
            // what is too much is overwritten by the next value
            Some(short) if size <= SHORT => data[to..to + SHORT].copy_from_slice(short),
            _ => data[to..to + size].copy_from_slice(&from[start..start + size]),
        }
    }
    data.truncate(total);
    let offsets = OffsetBuffer::new(offsets.into());
    Ok(Arc::new(GenericByteArray::<T>::try_new(offsets, Buffer::from_vec(data), nulls)?))
}

#[cfg(test)]
mod tests {
    use arrow_array::{
        BinaryArray, Decimal128Array, Int8Array, Int16Array, Int32Array, StringArray, TimestampMicrosecondArray,
    };
    use proptest::prelude::*;

    use super::*;

    /// Two sliced arrays of each type, some of their values null.
    fn columns(values: &[Option<u8>]) -> Vec<Vec<ArrayRef>> {
        let text = |v: &Option<u8>| v.map(|v| "äbc".repeat(usize::from(v % 9)));
        let all: Vec<ArrayRef> = vec![
            Arc::new(values.iter().map(|v| v.map(|v| v > 100)).collect::<BooleanArray>()),
            Arc::new(values.iter().map(|v| v.map(|v| i8::try_from(v / 2).unwrap())).collect::<Int8Array>()),
            Arc::new(values.iter().map(|v| v.map(i16::from)).collect::<Int16Array>()),
            Arc::new(values.iter().map(|v| v.map(i32::from)).collect::<Int32Array>()),
            Arc::new(values.iter().map(|v| v.map(i64::from)).collect::<TimestampMicrosecondArray>()),
            Arc::new(values.iter().map(|v| v.map(i128::from)).collect::<Decimal128Array>()),
            Arc::new(values.iter().map(text).collect::<StringArray>()),
            Arc::new(values.iter().map(|v| text(v).map(String::into_bytes)).collect::<BinaryArray>()),
            Arc::new(arrow_array::ListArray::from_iter_primitive::<arrow_array::types::Int32Type, _, _>(
                values.iter().map(|v| v.map(|v| vec![Some(i32::from(v)); usize::from(v % 3)])),
            )),
        ];
        let half = values.len() / 2;
        all.iter().map(|array| vec![array.slice(1, half), array.slice(half, values.len() - half)]).collect()
    }

    proptest! {
        #[test]
        fn every_type_is_copied_as_interleave_copies_it(
            values in prop::collection::vec(prop::option::of(any::<u8>()), 4..40),
            picks in prop::collection::vec((0..2_usize, any::<prop::sample::Index>(), any::<bool>()), 0..60),
        ) {
            for arrays in columns(&values) {
                let places: Vec<(usize, usize)> =
                    picks.iter().map(|(source, at, _)| (*source, at.index(arrays[*source].len()))).collect();
                let expected = interleaved(&arrays, &places).unwrap();
                prop_assert_eq!(&gather(&arrays, &places).unwrap().to_data(), &expected.to_data());
                // a null behind the last array, or said to be one
                let nulled: Vec<(usize, usize)> = places
                    .iter()
                    .zip(&picks)
                    .map(|(place, (_, _, null))| if *null { (arrays.len(), 0) } else { *place })
                    .collect();
                let expected = gather(&arrays, &nulled).unwrap();
                let nulls: NullBuffer = (0..expected.len()).map(|row| expected.is_valid(row)).collect();
                let known = gather_known(&arrays, places.len(), |row| places[row], Some(nulls)).unwrap();
                prop_assert_eq!(&known.to_data(), &expected.to_data());
            }
        }
    }

    #[test]
    fn records_of_no_batch_are_an_error() {
        assert!(gather(&[], &[]).is_err());
    }
}
