//! A look at the indexes of pages before the parquet crate decodes them.
//!
//! ```text
//! column index, offset index   of each column chunk, where the footer says; they share no bytes
//! ```
//!
//! The crate makes room for as many pages as an index claims, so its lists are checked first, as those of the footer are, and
//! the memory for all of them is asked for.

use std::ops::Range;

use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};

use super::{
    chunks::Chunks,
    compact::Compact,
    forms::{COLUMN_INDEX, Fields, OFFSET_INDEX},
};
use crate::{
    cancel,
    error::{Error, Result},
    limits,
};

/// What an element of a list becomes: the place of a page has three numbers.
const ELEMENT_BYTES: usize = 24;

/// The file with the bytes of its page indexes at hand, which can be decoded, and where they begin.
pub(super) fn checked(chunks: &Chunks, metadata: &ParquetMetaData) -> Result<(Chunks, u64)> {
    let columns = || metadata.row_groups().iter().flat_map(RowGroupMetaData::columns);
    let (mut start, mut end, mut length) = (u64::MAX, 0, 0_u64);
    for (_, range) in columns().flat_map(indexes) {
        (start, end) = (start.min(range.start), end.max(range.end));
        length = length.saturating_add(range.end - range.start);
    }
    if length == 0 {
        return Ok((chunks.clone(), 0));
    }
    if end > chunks.size() || length > end - start {
        let expected = format!("page indexes beside one another in {} bytes", chunks.size());
        let found = format!("{length} bytes of them between {start} and {end}");
        return Err(Error::corrupt(chunks.path(), start, expected, found));
    }
    let ask = |bytes| limits::ask(bytes, "the page indexes of a file").map_err(|e| e.with("file", chunks.path()));
    ask(usize::try_from(end - start).unwrap_or(usize::MAX))?;
    let kept = chunks.keeping(start..end)?;
    let mut elements = 0_usize;
    for (known, range) in columns().flat_map(indexes).filter(|(_, range)| !range.is_empty()) {
        cancel::check()?;
        let offset = range.start;
        let bytes = kept.range(range)?;
        let mut index = Compact::new("page index", chunks.path(), offset, &bytes);
        index.whole(known)?;
        elements = elements.saturating_add(index.elements());
    }
    ask(elements.saturating_mul(ELEMENT_BYTES))?;
    Ok((kept, start))
}

/// The indexes of a column chunk: what they are made of, and where they are.
fn indexes(column: &ColumnChunkMetaData) -> impl Iterator<Item = (Fields, Range<u64>)> {
    let range = |offset: Option<i64>, length: Option<i32>| {
        let (start, length) = (u64::try_from(offset?).ok()?, u64::try_from(length?).ok()?);
        Some(start..start.saturating_add(length))
    };
    let column_index = range(column.column_index_offset(), column.column_index_length());
    let offset_index = range(column.offset_index_offset(), column.offset_index_length());
    let column_index = column_index.map(|range| (COLUMN_INDEX, range));
    column_index.into_iter().chain(offset_index.map(|range| (OFFSET_INDEX, range)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use parquet::file::metadata::ParquetMetaDataReader;

    use super::*;
    use crate::{ErrorKind, fs::InputFile};

    struct Stored(Bytes);

    impl InputFile for Stored {
        fn path(&self) -> &'static str {
            "stored.parquet"
        }
        fn size(&self) -> Result<u64> {
            Ok(self.0.len() as u64)
        }
        fn read_range(&self, start: u64, length: u64) -> Result<Bytes> {
            let start = usize::try_from(start).unwrap();
            Ok(self.0.slice(start..start + usize::try_from(length).unwrap()))
        }
    }

    /// A file of two columns, which the crate itself writes, with its footer.
    fn file() -> (Vec<u8>, ParquetMetaData) {
        use arrow_array::{ArrayRef, Int64Array, RecordBatch};
        let column = || Arc::new(Int64Array::from_iter_values(0..1000)) as ArrayRef;
        let batch = RecordBatch::try_from_iter([("a", column()), ("b", column())]).unwrap();
        let mut bytes = Vec::new();
        let mut writer = parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&Bytes::from(bytes.clone())).unwrap();
        (bytes, metadata)
    }

    fn look(bytes: &[u8], metadata: &ParquetMetaData) -> Result<Chunks> {
        Ok(checked(&Chunks::open(Arc::new(Stored(Bytes::copy_from_slice(bytes))), None)?, metadata)?.0)
    }

    fn places(metadata: &ParquetMetaData) -> Vec<Range<u64>> {
        metadata.row_group(0).columns().iter().flat_map(indexes).map(|(_, range)| range).collect()
    }

    #[test]
    fn the_indexes_of_a_whole_file_can_be_decoded() {
        let (bytes, metadata) = file();
        let kept = look(&bytes, &metadata).unwrap();
        let places = places(&metadata);
        assert_eq!(places.len(), 4);
        for range in places {
            let inside = usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap();
            assert_eq!(kept.range(range).unwrap()[..], bytes[inside]);
        }
    }

    /// The crate made room for 2147483647 places of pages, and the process ended.
    #[test]
    fn an_index_of_more_pages_than_it_has_bytes_is_damage() {
        let (bytes, metadata) = file();
        for range in places(&metadata) {
            let at = usize::try_from(range.start).unwrap();
            assert_eq!(bytes[at], 0x19, "its first field is a list");
            let kind = bytes[at + 1] & 0x0f;
            let mut lying = bytes.clone();
            lying[at + 1..at + 7].copy_from_slice(&[0xf0 | kind, 0xff, 0xff, 0xff, 0xff, 0x07]);
            let error = look(&lying, &metadata).err().unwrap();
            assert_eq!((error.kind(), error.context_value("file")), (ErrorKind::CorruptFile, Some("stored.parquet")));
        }
    }

    /// The crate counts 2147483647 of them for every six bytes, and asks nobody whether to stop.
    #[test]
    fn an_index_with_lists_of_booleans_that_nobody_knows_is_damage() {
        let (bytes, metadata) = file();
        for range in places(&metadata) {
            let at = usize::try_from(range.start).unwrap();
            let mut lying = bytes.clone();
            // field 14, a list of a list of booleans
            lying[at..at + 8].copy_from_slice(&[0xe9, 0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x07]);
            assert_eq!(look(&lying, &metadata).err().unwrap().kind(), ErrorKind::CorruptFile);
        }
    }

    /// Otherwise a footer could have one index decoded for each of thousands of columns.
    #[test]
    fn indexes_that_share_bytes_or_end_behind_the_file_are_damage() {
        let (bytes, metadata) = file();
        let offset = metadata.row_group(0).column(0).offset_index_offset();
        for (offset, length) in [(offset, i32::from(u8::MAX)), (Some(i64::MAX), 1), (Some(0), i32::MAX)] {
            let group = metadata.row_group(0).clone();
            let mut columns = group.columns().to_vec();
            let changed = columns.remove(1).into_builder();
            let changed = changed.set_offset_index_offset(offset).set_offset_index_length(Some(length));
            columns.push(changed.build().unwrap());
            let group = group.into_builder().set_column_metadata(columns).build().unwrap();
            let lying = metadata.clone().into_builder().set_row_groups(vec![group]).build();
            assert_eq!(look(&bytes, &lying).err().unwrap().kind(), ErrorKind::CorruptFile, "{offset:?} {length}");
        }
    }
}
