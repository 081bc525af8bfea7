//! Memory that rows take, before they are copied.
#![allow(clippy::indexing_slicing, reason = "places lie within the arrays")]

use arrow_array::{Array, ArrayRef, GenericListArray, OffsetSizeTrait, RecordBatch, cast::AsArray};
use arrow_buffer::ArrowNativeType;
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

/// About how many bytes a copy of the rows at these places takes; rows of a source behind the last array take none.
pub(crate) fn memory_of(arrays: &[ArrayRef], places: impl Iterator<Item = (usize, usize)>) -> usize {
    let rows: Vec<RowBytes<'_>> = arrays.iter().map(RowBytes::of).collect();
    let bytes = places.filter_map(|(source, at)| rows.get(source).map(|rows| rows.of_row(at)));
    bytes.fold(0, usize::saturating_add)
}

/// Bytes of each row of an array, without a look at others: by offsets, at every depth.
pub(crate) enum RowBytes<'a> {
    /// All rows have as many.
    Each(usize),
    /// Texts, and where they begin.
    Texts(&'a [i32]),
    LongTexts(&'a [i64]),
    /// Lists and maps: where their elements begin, and these.
    Lists(&'a [i32], Box<RowBytes<'a>>),
    LongLists(&'a [i64], Box<RowBytes<'a>>),
    /// Lists of so many elements each.
    Fixed(usize, Box<RowBytes<'a>>),
    /// Columns side by side, and what all of those of one size take together.
    Columns(usize, Vec<RowBytes<'a>>),
}

impl<'a> RowBytes<'a> {
    pub(crate) fn of(array: &'a ArrayRef) -> Self {
        match array.data_type() {
            Arrow::Utf8 => Self::Texts(array.as_string::<i32>().value_offsets()),
            Arrow::Binary => Self::Texts(array.as_binary::<i32>().value_offsets()),
            Arrow::LargeUtf8 => Self::LongTexts(array.as_string::<i64>().value_offsets()),
            Arrow::LargeBinary => Self::LongTexts(array.as_binary::<i64>().value_offsets()),
            Arrow::List(_) => {
                let lists = array.as_list::<i32>();
                Self::Lists(lists.value_offsets(), Box::new(Self::of(lists.values())))
            }
            Arrow::LargeList(_) => {
                let lists = array.as_list::<i64>();
                Self::LongLists(lists.value_offsets(), Box::new(Self::of(lists.values())))
            }
            Arrow::Map(..) => {
                let map = array.as_map();
                Self::Lists(map.value_offsets(), Box::new(Self::of_columns(map.entries().columns())))
            }
            Arrow::FixedSizeList(_, length) => {
                let lists = array.as_fixed_size_list();
                Self::Fixed(usize::try_from(*length).unwrap_or(0), Box::new(Self::of(lists.values())))
            }
            Arrow::Struct(_) => Self::of_columns(array.as_struct().columns()),
            Arrow::FixedSizeBinary(width) => Self::Each(usize::try_from(*width).unwrap_or(0)),
            t => Self::Each(t.primitive_width().unwrap_or_else(|| array_bytes(array).div_ceil(array.len().max(1)))),
        }
    }

    /// Of columns side by side.
    pub(crate) fn of_columns(columns: impl IntoIterator<Item = &'a ArrayRef>) -> Self {
        let (mut each, mut others) = (0_usize, Vec::new());
        for column in columns {
            match Self::of(column) {
                Self::Each(bytes) => each = each.saturating_add(bytes),
                column => others.push(column),
            }
        }
        if others.is_empty() { Self::Each(each) } else { Self::Columns(each, others) }
    }

    pub(crate) fn of_row(&self, row: usize) -> usize {
        self.of_rows(row, row + 1)
    }

    /// Of the rows from `first` to before `end`.
    fn of_rows(&self, first: usize, end: usize) -> usize {
        let count = end.saturating_sub(first);
        match self {
            Self::Each(bytes) => bytes.saturating_mul(count),
            Self::Texts(offsets) => {
                let length = offsets[end].as_usize() - offsets[first].as_usize();
                length.saturating_add(count.saturating_mul(size_of::<i32>()))
            }
            Self::LongTexts(offsets) => {
                let length = offsets[end].as_usize() - offsets[first].as_usize();
                length.saturating_add(count.saturating_mul(size_of::<i64>()))
            }
            Self::Lists(offsets, elements) => {
                let elements = elements.of_rows(offsets[first].as_usize(), offsets[end].as_usize());
                elements.saturating_add(count.saturating_mul(size_of::<i32>()))
            }
            Self::LongLists(offsets, elements) => {
                let elements = elements.of_rows(offsets[first].as_usize(), offsets[end].as_usize());
                elements.saturating_add(count.saturating_mul(size_of::<i64>()))
            }
            Self::Fixed(length, elements) => elements.of_rows(first * length, end * length),
            Self::Columns(each, columns) => {
                let columns = columns.iter().map(|column| column.of_rows(first, end));
                columns.fold(each.saturating_mul(count), usize::saturating_add)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        Int32Array, ListArray, StringArray, StructArray,
        builder::{MapBuilder, StringBuilder},
    };
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::Field;

    use super::*;

    /// Rows whose one text has these bytes, in forms of any depth.
    fn forms(lengths: &[usize]) -> Vec<ArrayRef> {
        let texts = StringArray::from_iter_values(lengths.iter().map(|length| "x".repeat(*length)));
        let text: ArrayRef = Arc::new(texts.clone());
        let one_each = || OffsetBuffer::from_lengths(lengths.iter().map(|_| 1));
        let list = |values: ArrayRef| -> ArrayRef {
            let field = Field::new("element", values.data_type().clone(), true);
            Arc::new(ListArray::new(Arc::new(field), one_each(), values, None))
        };
        let row = |values: ArrayRef| -> ArrayRef {
            let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1; values.len()]));
            Arc::new(StructArray::try_from(vec![("n", numbers), ("values", values)]).unwrap())
        };
        let mut map = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
        for value in &texts {
            map.keys().append_value("k");
            map.values().append_option(value);
            map.append(true).unwrap();
        }
        let bytes = arrow_cast::cast(&text, &Arrow::LargeBinary).unwrap();
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1; lengths.iter().map(|length| length / 4).sum()]));
        let of_numbers = OffsetBuffer::from_lengths(lengths.iter().map(|length| length / 4));
        let of_numbers = ListArray::new(Arc::new(Field::new("element", Arrow::Int32, true)), of_numbers, numbers, None);
        let nested = list(row(list(Arc::clone(&text))));
        vec![
            list(Arc::clone(&text)),
            row(Arc::clone(&text)),
            nested,
            text,
            bytes,
            Arc::new(map.finish()),
            Arc::new(of_numbers),
        ]
    }

    /// A row has its own bytes, and not those that its neighbours have on the average.
    #[test]
    fn a_long_value_counts_for_the_rows_that_have_it_alone() {
        for array in forms(&[0, 40_000, 4, 0, 80_000, 4]) {
            let counted = |array: &ArrayRef, rows: &[usize]| {
                memory_of(std::slice::from_ref(array), rows.iter().map(|row| (0, *row)))
            };
            assert!(counted(&array, &[0, 2, 3, 5]) < 200, "{}", array.data_type());
            let once = counted(&array, &[1]);
            assert!((40_000..40_100).contains(&once), "{once} bytes of {}", array.data_type());
            assert_eq!(counted(&array, &[1; 1000]), 1000 * once, "as often as it is copied");
            let slice = array.slice(3, 3);
            let sliced = counted(&slice, &[1]);
            assert!((80_000..80_100).contains(&sliced), "{sliced} bytes of a slice of {}", array.data_type());
            assert_eq!(memory_of(&[array], [(1, 0)].into_iter()), 0, "behind the last array");
        }
    }
}
