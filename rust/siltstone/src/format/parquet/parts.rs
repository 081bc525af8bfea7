//! Columns of large values are encoded in parts: between two of them whoever writes can be told to stop.

use arrow_array::ArrayRef;

use crate::row::array_bytes;

/// Values of so many bytes are encoded at once: some 50 ms.
const PART_BYTES: usize = 16 * 1024 * 1024;

/// Rows of an array, in order, of at most [`PART_BYTES`] each, or one row. Values differ in size: what is too much is halved.
pub(super) fn parts(array: &ArrayRef) -> Vec<ArrayRef> {
    let mut parts = Vec::new();
    let mut waiting = vec![ArrayRef::clone(array)];
    while let Some(part) = waiting.pop() {
        let rows = part.len();
        if rows < 2 || array_bytes(&part) <= PART_BYTES {
            parts.push(part);
        } else {
            let half = rows / 2;
            waiting.extend([part.slice(half, rows - half), part.slice(0, half)]);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        BinaryArray, Int32Array, StructArray,
        builder::{BinaryBuilder, ListBuilder},
    };
    use arrow_schema::{DataType, Field};
    use arrow_select::concat::concat;

    use super::*;

    fn lengths(array: &ArrayRef) -> Vec<usize> {
        let cut = parts(array);
        assert_eq!(&concat(&cut.iter().map(AsRef::as_ref).collect::<Vec<_>>()).unwrap(), array);
        cut.iter().map(arrow_array::Array::len).collect()
    }

    /// Small rows before large ones: parts of as many rows each had all large ones in the last.
    fn uneven() -> impl Iterator<Item = Vec<u8>> {
        let small = std::iter::repeat_n(vec![1], 1000);
        small.chain(std::iter::repeat_n(vec![2; PART_BYTES / 2], 5))
    }

    #[test]
    fn an_array_of_large_values_is_cut_where_they_are() {
        let large: ArrayRef = Arc::new(BinaryArray::from_iter_values(uneven()));
        let cut = lengths(&large);
        assert!(cut.len() >= 3 && cut[cut.len() - 4..].iter().all(|rows| *rows <= 2), "{cut:?}");
        let field = Arc::new(Field::new("f", DataType::Binary, true));
        let rows: ArrayRef = Arc::new(StructArray::from(vec![(field, large)]));
        assert_eq!(lengths(&rows), cut);
        let mut lists = ListBuilder::new(BinaryBuilder::new());
        uneven().for_each(|value| lists.append_value([Some(value)]));
        assert_eq!(lengths(&(Arc::new(lists.finish()) as ArrayRef)), cut);
    }

    #[test]
    fn what_is_small_or_one_row_is_one_part() {
        let one: ArrayRef = Arc::new(BinaryArray::from_iter_values([vec![0; PART_BYTES * 3]]));
        assert_eq!(lengths(&one), [1]);
        let small: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
        assert_eq!(lengths(&small), [3]);
        assert_eq!(lengths(&small.slice(0, 0)), [0]);
        // what counts is what a slice shows of its buffers
        let large: ArrayRef = Arc::new(BinaryArray::from_iter_values(uneven()));
        assert_eq!(parts(&large.slice(0, 1000)).len(), 1);
    }
}
