//! Memory of rows that stays their caller's until they are committed: waiting rows that lie in it take none of their own.

use std::ops::Range;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_data::ArrayData;

use crate::row::array_bytes;

/// Where the rows of a caller lie.
#[derive(Default)]
pub(super) struct HeldMemory {
    /// in order
    buffers: Vec<Range<usize>>,
}

impl HeldMemory {
    pub(super) fn of(batch: &RecordBatch) -> Self {
        let mut buffers = Vec::new();
        for column in batch.columns() {
            collect(&column.to_data(), &mut buffers);
        }
        buffers.sort_unstable_by_key(|buffer| buffer.start);
        Self { buffers }
    }

    /// Bytes of those columns of some rows that lie there: slices do, copies do not.
    pub(super) fn bytes_of(&self, rows: &RecordBatch) -> usize {
        if self.buffers.is_empty() {
            return 0;
        }
        rows.columns().iter().filter(|column| self.has(column)).map(array_bytes).fold(0, usize::saturating_add)
    }

    fn has(&self, column: &ArrayRef) -> bool {
        let mut found = Vec::new();
        collect(&column.to_data(), &mut found);
        !found.is_empty() && found.iter().all(|buffer| self.has_buffer(buffer))
    }

    fn has_buffer(&self, buffer: &Range<usize>) -> bool {
        let behind = self.buffers.partition_point(|held| held.start <= buffer.start);
        behind.checked_sub(1).and_then(|at| self.buffers.get(at)).is_some_and(|held| buffer.end <= held.end)
    }
}

/// The memory of all values of an array; that of its nulls is little.
fn collect(data: &ArrayData, buffers: &mut Vec<Range<usize>>) {
    for buffer in data.buffers().iter().filter(|buffer| !buffer.is_empty()) {
        let start = buffer.as_ptr().addr();
        buffers.push(start..start.saturating_add(buffer.len()));
    }
    for child in data.child_data() {
        collect(child, buffers);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int64Array, ListArray, StringArray, types::Int64Type};
    use arrow_select::take::take_record_batch;

    use super::*;
    use crate::row::batch_bytes;

    fn rows() -> RecordBatch {
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>((0..100).map(|i| Some(vec![Some(i); 3])));
        let columns: [(&str, ArrayRef); 3] = [
            ("id", Arc::new(Int64Array::from_iter_values(0..100))),
            ("text", Arc::new(StringArray::from_iter_values((0..100).map(|i| format!("text {i}"))))),
            ("lists", Arc::new(lists)),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    #[test]
    fn slices_lie_in_the_memory_of_their_batch_and_copies_do_not() {
        let batch = rows();
        let held = HeldMemory::of(&batch);
        for slice in [batch.clone(), batch.slice(10, 50), batch.project(&[2, 0]).unwrap()] {
            assert_eq!(held.bytes_of(&slice), batch_bytes(&slice));
        }
        let places: Int64Array = (0..100).collect();
        assert_eq!(held.bytes_of(&take_record_batch(&batch, &places).unwrap()), 0);
        assert_eq!(held.bytes_of(&rows()), 0);
        assert_eq!(HeldMemory::default().bytes_of(&batch), 0);
    }

    #[test]
    fn columns_that_were_converted_count_and_others_do_not() {
        let batch = rows();
        let held = HeldMemory::of(&batch);
        let mut columns = batch.columns().to_vec();
        *columns.get_mut(1).unwrap() = Arc::clone(rows().column(1));
        let mixed = RecordBatch::try_new(batch.schema(), columns).unwrap();
        assert_eq!(held.bytes_of(&mixed), batch_bytes(&batch.project(&[0, 2]).unwrap()));
    }
}
