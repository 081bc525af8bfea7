//! Columns of large values are encoded in parts: between two of them whoever writes can be told to stop.

use arrow_array::ArrayRef;

/// Values of so many bytes are encoded at once: some 50 ms.
const PART_BYTES: usize = 16 * 1024 * 1024;

/// Rows of an array, in order, of about [`PART_BYTES`] each; at least one row.
pub(super) fn parts(array: &ArrayRef) -> impl Iterator<Item = ArrayRef> + '_ {
    let bytes = array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size());
    let rows = array.len();
    let step = rows.div_ceil((bytes / PART_BYTES).max(1)).max(1);
    (0..rows.max(1)).step_by(step).map(move |from| array.slice(from, step.min(rows - from)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BinaryArray, Int32Array};
    use arrow_select::concat::concat;

    use super::*;

    #[test]
    fn an_array_of_large_values_is_cut_and_a_small_one_is_not() {
        let large: ArrayRef = Arc::new(BinaryArray::from_iter_values((0..20_u8).map(|n| vec![n; PART_BYTES / 4])));
        let cut: Vec<ArrayRef> = parts(&large).collect();
        assert_eq!(cut.iter().map(arrow_array::Array::len).collect::<Vec<_>>(), [4, 4, 4, 4, 4]);
        assert_eq!(&concat(&cut.iter().map(AsRef::as_ref).collect::<Vec<_>>()).unwrap(), &large);
        // what counts is what a slice shows of its buffers
        assert_eq!(parts(&large.slice(3, 2)).count(), 1);
        let one: ArrayRef = Arc::new(BinaryArray::from_iter_values([vec![0; PART_BYTES * 3]]));
        assert_eq!(parts(&one).count(), 1);
        let small: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
        assert_eq!(parts(&small).count(), 1);
        assert_eq!(parts(&small.slice(0, 0)).map(|part| part.is_empty()).collect::<Vec<_>>(), [true]);
    }
}
