//! How many rows are decoded at once: as many as were asked for, and fewer where rows are large.
//!
//! Who reads holds one batch of each file, and a merge one of each sorted run; what bounds memory is their bytes. The footer says
//! how long values are. It is believed only in so far as a batch gets smaller: see [`super::measure`] for what makes it larger.

use parquet::{
    basic::Type,
    file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData},
};

use super::column_chunk::copied_bytes;

/// Bytes of values that a batch is to have at most. Rows up to a kilobyte are not affected by it.
const BATCH_BYTES: u64 = 8 * 1024 * 1024;

/// The rows of a batch of these columns (leaves), at most `wanted`; columns that the file does not have take `missing` bytes a row.
pub(super) fn batch_rows(
    metadata: &ParquetMetaData,
    row_groups: &[usize],
    leaves: &[usize],
    missing: u64,
    wanted: usize,
) -> usize {
    let groups = row_groups.iter().filter_map(|at| metadata.row_groups().get(*at));
    let largest = groups.map(|group| row_bytes(group, leaves)).max().unwrap_or(0).saturating_add(missing);
    wanted.min(usize::try_from(BATCH_BYTES / largest.max(1)).unwrap_or(usize::MAX)).max(1)
}

/// What decoding the elements of the lists in one batch of these columns takes: they may be nulls, which take next to nothing in
/// the file.
pub(super) fn element_bytes(metadata: &ParquetMetaData, row_groups: &[usize], leaves: &[usize], rows: usize) -> u64 {
    let rows = u64::try_from(rows).unwrap_or(u64::MAX);
    let of_group = |group: &RowGroupMetaData| {
        let in_group = u64::try_from(group.num_rows()).unwrap_or(0).max(1);
        let chunks = leaves.iter().filter_map(|leaf| group.columns().get(*leaf));
        let of_chunk = |chunk: &ColumnChunkMetaData| {
            let values = u64::try_from(chunk.num_values()).unwrap_or(0) / in_group;
            values.saturating_mul(rows.min(in_group)).saturating_mul(element_width(chunk))
        };
        chunks.filter(|chunk| chunk.column_descr().max_rep_level() > 0).map(of_chunk).fold(0, u64::saturating_add)
    };
    row_groups.iter().filter_map(|at| metadata.row_groups().get(*at)).map(of_group).max().unwrap_or(0)
}

/// What decoding an element takes: two levels of two bytes, and its value; texts a view of 16 bytes and an offset of four. Buffers
/// have room for twice as much while they grow, or what is made of it is there beside it; decimals and values of fixed length are
/// copied once more.
fn element_width(chunk: &ColumnChunkMetaData) -> u64 {
    let value = match chunk.column_type() {
        Type::BOOLEAN => 1,
        Type::INT32 | Type::FLOAT => 4,
        Type::INT64 | Type::DOUBLE | Type::INT96 => 8,
        Type::BYTE_ARRAY => 20,
        Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(chunk.column_descr().type_length()).unwrap_or(0).max(16),
    };
    2 * (4 + value) + copied_bytes(chunk)
}

/// Mean bytes of a row.
fn row_bytes(group: &RowGroupMetaData, leaves: &[usize]) -> u64 {
    let chunks = leaves.iter().filter_map(|leaf| group.columns().get(*leaf));
    let bytes = chunks.map(value_bytes).fold(0, u64::saturating_add);
    bytes / u64::try_from(group.num_rows()).unwrap_or(0).max(1)
}

/// Bytes of a column's values in memory: a dictionary has each of them once, and runs of equal values take next to nothing in the
/// file. How long texts are together is known where the writer has said so.
fn value_bytes(chunk: &ColumnChunkMetaData) -> u64 {
    let values = u64::try_from(chunk.num_values()).unwrap_or(0);
    match chunk.column_type() {
        Type::BOOLEAN => values / 8,
        Type::INT32 | Type::FLOAT => values.saturating_mul(4),
        Type::INT64 | Type::DOUBLE | Type::INT96 => values.saturating_mul(8),
        Type::BYTE_ARRAY => {
            let texts = chunk.unencoded_byte_array_data_bytes().and_then(|bytes| u64::try_from(bytes).ok());
            let encoded = u64::try_from(chunk.uncompressed_size()).unwrap_or(0);
            texts.unwrap_or(encoded).saturating_add(values.saturating_mul(4))
        }
        Type::FIXED_LEN_BYTE_ARRAY => {
            values.saturating_mul(u64::try_from(chunk.column_descr().type_length()).unwrap_or(0))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests may stop at the first surprise")]

    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
    use parquet::{arrow::ArrowWriter, file::metadata::ParquetMetaDataReader};

    use super::*;

    /// A file of 1000 rows with a number and a text.
    fn file(text: &dyn Fn(usize) -> String) -> ParquetMetaData {
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..1000));
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..1000).map(text)));
        let batch = RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).unwrap();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        ParquetMetaDataReader::new().parse_and_finish(&bytes::Bytes::from(bytes)).unwrap()
    }

    #[test]
    fn small_rows_come_in_as_many_as_were_asked_for() {
        let metadata = file(&|i| format!("text {i}"));
        assert_eq!(batch_rows(&metadata, &[0], &[0, 1], 0, 8192), 8192);
        assert_eq!(batch_rows(&metadata, &[0], &[0, 1], 0, 0), 1);
        assert_eq!(batch_rows(&metadata, &[], &[], 0, 100), 100);
    }

    #[test]
    fn columns_that_the_file_does_not_have_count_as_well() {
        let metadata = file(&|i| format!("text {i}"));
        assert_eq!(batch_rows(&metadata, &[0], &[0], 80_000 - 4, 8192), 104);
        assert_eq!(batch_rows(&metadata, &[], &[], u64::MAX, 8192), 1);
    }

    #[test]
    fn large_rows_come_in_few_and_columns_that_are_not_read_do_not_count() {
        let metadata = file(&|i| format!("{i}").repeat(20_000));
        let rows = batch_rows(&metadata, &[0], &[0, 1], 0, 8192);
        assert!((100..=160).contains(&rows), "{rows}");
        assert_eq!(batch_rows(&metadata, &[0], &[0], 0, 8192), 8192);
    }

    #[test]
    fn values_that_a_dictionary_has_once_count_as_often_as_they_occur() {
        let metadata = file(&|i| ["a", "b"][i % 2].repeat(50_000));
        assert!(metadata.row_group(0).column(1).uncompressed_size() < 1_000_000);
        let rows = batch_rows(&metadata, &[0], &[1], 0, 8192);
        assert!((150..=170).contains(&rows), "{rows}");
    }
}
