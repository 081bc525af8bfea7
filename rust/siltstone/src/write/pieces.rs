//! A batch in pieces whose texts are few bytes when each row has its own: rows of a dictionary and of runs share them, and large
//! texts and views may be more than a column of texts holds (2 GiB). pandas makes categories so, and polars chunks of any size.

use arrow_array::{
    Array, ArrayRef, GenericListViewArray, OffsetSizeTrait, RecordBatch, RunArray,
    cast::AsArray,
    types::{Int16Type, Int32Type, Int64Type, RunEndIndexType},
};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType as Arrow;

use crate::{
    error::{Error, ErrorKind, Result},
    limits,
};

/// Rows that are looked at together: far more than writers are given at once, but by columns that take no memory.
const MOST_ROWS: usize = 1 << 24;

/// Bytes that it takes to find where the texts of a dictionary's rows end: which value each has, and sums.
const ENDS_BYTES: usize = 24;

/// Bytes of the texts of a piece, but for one of one row.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// Where the bytes of each value end that it has by itself, from 0 on; a number more than values.
type Ends = Vec<u64>;

/// Parts of a batch that have few rows, in order: rows of nulls and of runs take no memory, so there may be any number of them.
pub(super) fn parts(batch: &RecordBatch) -> impl Iterator<Item = RecordBatch> {
    let rows = batch.num_rows();
    let starts =
        std::iter::successors(Some(0_usize), move |start| start.checked_add(MOST_ROWS).filter(|next| *next < rows));
    starts.map(move |start| batch.slice(start, MOST_ROWS.min(rows - start)))
}

/// The pieces of a part of a batch, in order; `before` rows of the same input are in front of it.
pub(super) fn pieces(batch: &RecordBatch, before: usize) -> Result<Vec<RecordBatch>> {
    let shared = batch.columns().iter().map(shared_values).fold(0, usize::saturating_add);
    limits::ask(shared.saturating_mul(ENDS_BYTES), format_args!("{shared} values of dictionaries and runs at once"))?;
    let of_columns = batch.columns().iter().map(|column| ends(column, false));
    let Some(ends) = sum(of_columns) else { return Ok(vec![batch.clone()]) };
    let (mut pieces, mut start) = (Vec::new(), 0);
    while start < batch.num_rows() {
        let base = ends.get(start).copied().unwrap_or(0);
        let most = base.saturating_add(MOST_BYTES);
        let end = ends.partition_point(|end| *end <= most).saturating_sub(1).clamp(start + 1, batch.num_rows());
        let bytes = ends.get(end).copied().unwrap_or(0).saturating_sub(base);
        if i32::try_from(bytes).is_err() {
            return Err(too_long(before.saturating_add(start), bytes));
        }
        pieces.push(batch.slice(start, end - start));
        start = end;
    }
    // a batch without rows has columns
    if pieces.is_empty() {
        pieces.push(batch.clone());
    }
    Ok(pieces)
}

fn too_long(row: usize, bytes: u64) -> Error {
    let text = format!("row {row} has {bytes} bytes of text, and a value has at most {}", i32::MAX);
    Error::new(ErrorKind::LengthExceeded, text)
}

/// Values in dictionaries and runs, which each row may share with others.
fn shared_values(array: &ArrayRef) -> usize {
    match array.data_type() {
        Arrow::Dictionary(..) | Arrow::RunEndEncoded(..) => array.len(),
        Arrow::List(_) => shared_values(array.as_list::<i32>().values()),
        Arrow::LargeList(_) => shared_values(array.as_list::<i64>().values()),
        Arrow::ListView(_) => shared_values(array.as_list_view::<i32>().values()),
        Arrow::LargeListView(_) => shared_values(array.as_list_view::<i64>().values()),
        Arrow::FixedSizeList(..) => shared_values(array.as_fixed_size_list().values()),
        Arrow::Map(..) => array.as_map().entries().columns().iter().map(shared_values).fold(0, usize::saturating_add),
        Arrow::Struct(_) => array.as_struct().columns().iter().map(shared_values).fold(0, usize::saturating_add),
        _ => 0,
    }
}

/// Of all parts that have such bytes together; `None`: no part has.
fn sum(parts: impl Iterator<Item = Option<Ends>>) -> Option<Ends> {
    parts.flatten().reduce(|all, part| all.iter().zip(&part).map(|(a, b)| a.saturating_add(*b)).collect())
}

/// Of texts that become others in memory: those of 32-bit offsets only where several rows have the `same`.
fn ends(array: &ArrayRef, same: bool) -> Option<Ends> {
    match array.data_type() {
        Arrow::Utf8 => same.then(|| by_offsets(array.as_string::<i32>().value_offsets())),
        Arrow::Binary => same.then(|| by_offsets(array.as_binary::<i32>().value_offsets())),
        Arrow::LargeUtf8 => Some(by_offsets(array.as_string::<i64>().value_offsets())),
        Arrow::LargeBinary => Some(by_offsets(array.as_binary::<i64>().value_offsets())),
        Arrow::Utf8View => Some(by_views(array.as_string_view().views())),
        Arrow::BinaryView => Some(by_views(array.as_binary_view().views())),
        Arrow::FixedSizeBinary(length) => {
            let length = u64::try_from(*length).unwrap_or(0);
            same.then(|| summed((0..array.len()).map(|_| length)))
        }
        Arrow::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let of = ends(dictionary.values(), true)?;
            let keys = if dictionary.values().is_empty() { Vec::new() } else { dictionary.normalized_keys() };
            Some(chosen(&of, array, keys))
        }
        Arrow::RunEndEncoded(run_ends, _) => match run_ends.data_type() {
            Arrow::Int16 => runs::<Int16Type>(array),
            Arrow::Int32 => runs::<Int32Type>(array),
            _ => runs::<Int64Type>(array),
        },
        Arrow::List(_) => {
            Some(at(&ends(array.as_list::<i32>().values(), same)?, array.as_list::<i32>().value_offsets()))
        }
        Arrow::LargeList(_) => {
            Some(at(&ends(array.as_list::<i64>().values(), same)?, array.as_list::<i64>().value_offsets()))
        }
        Arrow::ListView(_) => list_view::<i32>(array.as_list_view(), same),
        Arrow::LargeListView(_) => list_view::<i64>(array.as_list_view(), same),
        Arrow::FixedSizeList(..) => {
            let list = array.as_fixed_size_list();
            let offsets: Vec<i32> = (0..=list.len()).map(|row| list.value_offset(row)).collect();
            Some(at(&ends(list.values(), same)?, &offsets))
        }
        Arrow::Map(..) => {
            let map = array.as_map();
            let of = sum(map.entries().columns().iter().map(|column| ends(column, same)))?;
            Some(at(&of, map.value_offsets()))
        }
        Arrow::Struct(_) => sum(array.as_struct().columns().iter().map(|column| ends(column, same))),
        _ => None,
    }
}

fn summed(lengths: impl Iterator<Item = u64>) -> Ends {
    let sums = lengths.scan(0_u64, |end, length| {
        *end = end.saturating_add(length);
        Some(*end)
    });
    std::iter::once(0).chain(sums).collect()
}

fn by_offsets<O: OffsetSizeTrait>(offsets: &[O]) -> Ends {
    let first = offsets.first().map_or(0, |first| first.as_usize());
    let bytes = |offset: &O| u64::try_from(offset.as_usize().saturating_sub(first)).unwrap_or(u64::MAX);
    offsets.iter().map(bytes).collect()
}

fn by_views(views: &[u128]) -> Ends {
    // the low half of a view is its length
    summed(views.iter().map(|view| u64::try_from(*view & u128::from(u32::MAX)).unwrap_or(u64::MAX)))
}

/// Those of lists, by those of their elements.
fn at<O: ArrowNativeType>(of: &Ends, offsets: &[O]) -> Ends {
    let end = |offset: &O| of.get(offset.as_usize()).copied().unwrap_or(0);
    let first = offsets.first().map_or(0, end);
    offsets.iter().map(|offset| end(offset).saturating_sub(first)).collect()
}

/// Those of rows that have values of others: which one each has.
fn chosen(of: &Ends, array: &ArrayRef, values: Vec<usize>) -> Ends {
    let bytes = |value: usize| between(of, value, 1);
    let lengths = (0..array.len()).map(|row| values.get(row).filter(|_| array.is_valid(row)).copied().map_or(0, bytes));
    summed(lengths)
}

fn between(of: &Ends, first: usize, count: usize) -> u64 {
    let end = |value: usize| of.get(value).copied().unwrap_or(0);
    end(first.saturating_add(count)).saturating_sub(end(first))
}

fn runs<R: RunEndIndexType>(array: &ArrayRef) -> Option<Ends> {
    let run: &RunArray<R> = array.as_any().downcast_ref()?;
    let of = ends(run.values(), true)?;
    let rows: Vec<R::Native> = (0..array.len()).filter_map(R::Native::from_usize).collect();
    // what is no row of it was refused before
    let values = run.get_physical_indices(&rows).unwrap_or_default();
    Some(summed((0..array.len()).map(|row| values.get(row).map_or(0, |value| between(&of, *value, 1)))))
}

fn list_view<O: OffsetSizeTrait>(list: &GenericListViewArray<O>, same: bool) -> Option<Ends> {
    let of = ends(list.values(), same)?;
    let rows = list.value_offsets().iter().zip(list.value_sizes());
    Some(summed(rows.map(|(offset, size)| between(&of, offset.as_usize(), size.as_usize()))))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        DictionaryArray, Int32Array, LargeStringArray, ListArray, StringArray, StringViewArray, StructArray,
    };
    use arrow_cast::cast;
    use arrow_schema::Field;

    use super::*;

    const LONG: usize = 1 << 20;

    fn rows_of(column: ArrayRef) -> Vec<usize> {
        let batch = RecordBatch::try_from_iter_with_nullable([("c", column, true)]).unwrap();
        let pieces = pieces(&batch, 0).unwrap();
        assert_eq!(arrow_select::concat::concat_batches(batch.schema_ref(), &pieces).unwrap(), batch);
        pieces.iter().map(RecordBatch::num_rows).collect()
    }

    fn dictionary(rows: i32) -> ArrayRef {
        let keys = (0..rows).map(|row| (row % 10 != 0).then_some(row % 2)).collect::<Int32Array>();
        let values = StringArray::from(vec!["x".repeat(LONG), "y".repeat(LONG)]);
        Arc::new(DictionaryArray::new(keys, Arc::new(values)))
    }

    /// 3000 rows with one text of a megabyte, a category, were an internal error: 2 GiB are the most that texts have.
    #[test]
    fn rows_that_share_a_long_text_come_in_pieces() {
        assert_eq!(rows_of(dictionary(200)), [72, 71, 57]);
        assert_eq!(rows_of(dictionary(60)), [60]);
        assert_eq!(rows_of(dictionary(0)), [0]);
        let none: ArrayRef =
            Arc::new(DictionaryArray::new(Int32Array::from(vec![None; 3]), Arc::new(StringArray::new_null(0))));
        assert_eq!(rows_of(none), [3]);
        let runs = RunArray::<Int32Type>::try_new(
            &vec![1, 99, 100].into(),
            &StringArray::from(vec![Some("a".repeat(LONG)), Some("b".repeat(LONG)), None]),
        );
        let runs: ArrayRef = Arc::new(runs.unwrap());
        assert_eq!(rows_of(Arc::clone(&runs)), [64, 36]);
        assert_eq!(rows_of(runs.slice(40, 50)), [50]);
    }

    #[test]
    fn texts_that_become_others_in_memory_count_wherever_they_are() {
        let long = "x".repeat(LONG);
        let large: ArrayRef = Arc::new(LargeStringArray::from_iter_values((0..70).map(|_| long.as_str())));
        let views: ArrayRef = Arc::new(StringViewArray::from_iter_values((0..70).map(|_| long.as_str())));
        for column in [Arc::clone(&large), large.slice(3, 67), views, cast(&large, &Arrow::LargeBinary).unwrap()] {
            assert_eq!(rows_of(Arc::clone(&column)), [64, column.len() - 64]);
        }
        let plain = cast(&large, &Arrow::Utf8).unwrap();
        assert_eq!(rows_of(plain), [70], "as it is written");
        // lists of 10
        let item = |column: &ArrayRef| Arc::new(Field::new("item", column.data_type().clone(), true));
        let offsets = arrow_buffer::OffsetBuffer::from_lengths(vec![10; 20]);
        let values = dictionary(200);
        let lists: ArrayRef = Arc::new(ListArray::new(item(&values), offsets, values, None));
        for to in ["LargeList", "ListView", "FixedSizeList"] {
            let to = match to {
                "LargeList" => Arrow::LargeList(item(lists.as_list::<i32>().values())),
                "ListView" => Arrow::ListView(item(lists.as_list::<i32>().values())),
                _ => Arrow::FixedSizeList(item(lists.as_list::<i32>().values()), 10),
            };
            assert_eq!(rows_of(cast(&lists, &to).unwrap()), [7, 7, 6], "{to}");
        }
        assert_eq!(rows_of(lists.slice(1, 19)), [7, 7, 5]);
        let inside: ArrayRef = Arc::new(StructArray::from(vec![(item(&lists), Arc::clone(&lists))]));
        assert_eq!(rows_of(inside), [7, 7, 6]);
    }

    #[test]
    fn a_row_that_no_column_of_texts_holds_is_named() {
        let values = dictionary(3000);
        let item = Arc::new(Field::new("item", values.data_type().clone(), true));
        let offsets = arrow_buffer::OffsetBuffer::from_lengths([1, 2999]);
        let lists: ArrayRef = Arc::new(ListArray::new(item, offsets, values, None));
        let batch = RecordBatch::try_from_iter([("c", lists)]).unwrap();
        let error = pieces(&batch, 40).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LengthExceeded);
        assert!(error.message().starts_with("row 41 has"), "{error}");
    }
}
