//! Memory that rows take, before they are copied.
#![allow(clippy::indexing_slicing, reason = "places lie within the arrays")]

use arrow_array::{Array, ArrayRef, GenericListArray, OffsetSizeTrait, RecordBatch, cast::AsArray};
use arrow_schema::DataType as Arrow;

/// Bytes of a batch's rows, without what else lies in the buffers they are a slice of.
pub(crate) fn batch_bytes(rows: &RecordBatch) -> usize {
    rows.columns().iter().map(array_bytes).fold(0, usize::saturating_add)
}

/// Bytes of the rows of an array, without what else lies in its buffers.
pub(crate) fn array_bytes(array: &ArrayRef) -> usize {
    let all = |arrays: &[ArrayRef]| arrays.iter().map(array_bytes).fold(0, usize::saturating_add);
    match array.data_type() {
        Arrow::Struct(_) => all(array.as_struct().columns()),
        Arrow::List(_) => bytes_of_lists::<i32>(array.as_list()),
        Arrow::LargeList(_) => bytes_of_lists::<i64>(array.as_list()),
        Arrow::FixedSizeList(..) => array_bytes(array.as_fixed_size_list().values()),
        Arrow::Map(..) => {
            let map = array.as_map();
            let (first, last) = ends(map.value_offsets());
            all(map.entries().slice(first, last.saturating_sub(first)).columns())
        }
        _ => array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size()),
    }
}

fn bytes_of_lists<O: OffsetSizeTrait>(lists: &GenericListArray<O>) -> usize {
    let (first, last) = ends(lists.value_offsets());
    array_bytes(&lists.values().slice(first, last.saturating_sub(first)))
}

/// Where the elements of all rows begin and end.
fn ends<O: OffsetSizeTrait>(offsets: &[O]) -> (usize, usize) {
    let place = |offset: Option<&O>| offset.map_or(0, |offset| offset.as_usize());
    (place(offsets.first()), place(offsets.last()))
}

/// About how many bytes the rows at these places take; rows of a source behind the last array take none.
pub(crate) fn memory_of(arrays: &[ArrayRef], places: impl Iterator<Item = (usize, usize)>) -> usize {
    let mut lengths = vec![0_usize; arrays.len()];
    let offsets: Vec<Option<&[i32]>> = arrays.iter().map(|array| offsets_of(array)).collect();
    for (source, at) in places.filter(|(source, _)| *source < arrays.len()) {
        let length = match offsets[source] {
            Some(offsets) => usize::try_from(offsets[at + 1] - offsets[at]).unwrap_or_default(),
            None => 1,
        };
        lengths[source] = lengths[source].saturating_add(length);
    }
    let bytes = |(array, length): (&ArrayRef, usize)| {
        let all = match offsets_of(array) {
            Some(offsets) => offsets.last().zip(offsets.first()).map_or(0, |(to, from)| to - from),
            None => i32::try_from(array.len()).unwrap_or(i32::MAX),
        };
        let bytes = array.get_array_memory_size();
        let each = bytes.div_ceil(usize::try_from(all).unwrap_or_default().max(1));
        length.saturating_mul(each).min(bytes)
    };
    arrays.iter().zip(lengths).map(bytes).fold(0, usize::saturating_add)
}

fn offsets_of(array: &ArrayRef) -> Option<&[i32]> {
    match array.data_type() {
        Arrow::Utf8 => Some(array.as_string::<i32>().value_offsets()),
        Arrow::Binary => Some(array.as_binary::<i32>().value_offsets()),
        Arrow::List(_) => Some(array.as_list::<i32>().value_offsets()),
        Arrow::Map(..) => Some(array.as_map().value_offsets()),
        _ => None,
    }
}
