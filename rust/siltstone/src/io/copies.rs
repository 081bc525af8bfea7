//! Copies of rows, for which memory is asked first: rows of users may be of any size.

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::{concat::concat_batches, filter::filter_record_batch, interleave::interleave, take::take};

use crate::{
    error::Result,
    limits,
    row::{RowBytes, batch_bytes, memory_of},
};

/// What needs memory, for messages.
const COPIES: &str = "copying rows";

/// The rows of some batches as one.
pub(crate) fn joined_rows<'a, B>(schema: &SchemaRef, batches: B) -> Result<RecordBatch>
where
    B: IntoIterator<Item = &'a RecordBatch> + Clone,
{
    let bytes = batches.clone().into_iter().map(batch_bytes).fold(0, usize::saturating_add);
    limits::ask_for_part(bytes, COPIES)?;
    Ok(concat_batches(schema, batches)?)
}

/// Rows of a batch by their numbers, also of one without columns.
pub(crate) fn taken_rows(batch: &RecordBatch, rows: &UInt32Array) -> Result<RecordBatch> {
    ask_for(batch.columns(), rows)?;
    let taken = |column: &ArrayRef| take(column, rows, None);
    let columns = batch.columns().iter().map(taken).collect::<std::result::Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    Ok(RecordBatch::try_new_with_options(batch.schema(), columns, &options)?)
}

/// The rows of a batch that are kept.
pub(crate) fn filtered_rows(batch: &RecordBatch, kept: &BooleanArray) -> Result<RecordBatch> {
    let all = batch.columns().iter().map(Array::get_array_memory_size).fold(0, usize::saturating_add);
    if all >= limits::SMALL_PART {
        limits::ask_for_part(batch_bytes(batch), COPIES)?;
    }
    Ok(filter_record_batch(batch, kept)?)
}

/// Values of a column by their numbers.
pub(crate) fn taken_column(column: &ArrayRef, rows: &UInt32Array) -> Result<ArrayRef> {
    ask_for(std::slice::from_ref(column), rows)?;
    Ok(take(column, rows, None)?)
}

/// Values of several arrays by (array, number).
pub(crate) fn interleaved(arrays: &[ArrayRef], places: &[(usize, usize)]) -> Result<ArrayRef> {
    limits::ask_for_part(memory_of(arrays, places.iter().copied()), COPIES)?;
    let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
    Ok(interleave(&arrays, places)?)
}

fn ask_for(columns: &[ArrayRef], rows: &UInt32Array) -> Result<()> {
    let places = || rows.iter().flatten().filter_map(|row| usize::try_from(row).ok()).map(|row| (0, row));
    let bytes = |column: &ArrayRef| {
        // each row as large as all of them is often little enough: one may be taken many times
        let most = column.get_array_memory_size().saturating_mul(rows.len());
        match RowBytes::of(column) {
            _ if most < limits::SMALL_PART => 0,
            RowBytes::Each(bytes) => bytes.saturating_mul(rows.len()),
            _ => memory_of(std::slice::from_ref(column), places()),
        }
    };
    limits::ask_for_part(columns.iter().map(bytes).fold(0, usize::saturating_add), COPIES)
}
