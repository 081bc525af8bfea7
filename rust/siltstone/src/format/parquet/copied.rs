//! Rows that are copied as they are encoded.
//!
//! ```text
//! a column       dictionary  page  page  page  page  page
//! another one    page     page     page  page   page
//!                ├─────────────────┤─────┤──────────────┤    blocks begin with a page of every column
//! copied                           ├─────┤
//!                dictionary  page                            a row group of the other file
//! ```
//!
//! What the page indexes say is compared with the heads of the pages: a row that is lost here would be lost for good.

use std::ops::Range;

use bytes::Bytes;
use parquet::{
    column::writer::ColumnCloseResult,
    file::{
        metadata::{ColumnChunkMetaData, ColumnIndexBuilder, OffsetIndexBuilder, ParquetMetaData, RowGroupMetaData},
        page_index::{column_index::ColumnIndexMetaData, offset_index::OffsetIndexMetaData},
        statistics::Statistics,
    },
    schema::types::ColumnDescPtr,
};

use super::{
    chunks::Chunks,
    copyable::Column,
    error::writing,
    joined::joined,
    page_head::{DATA, DATA_V2, DICTIONARY, Head},
    prune::{page_rows, page_statistics},
    reader::ParquetFile,
};
use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
    limits,
    types::DataType,
};

/// Some rows of a row group.
pub(super) struct Copied<'a> {
    chunks: &'a Chunks,
    metadata: &'a ParquetMetaData,
    group: usize,
    /// By their numbers in the row group.
    rows: Range<i64>,
}

impl<'a> Copied<'a> {
    /// Rows by their numbers in the file.
    ///
    /// # Errors
    /// `Internal` where they are of several row groups, or of none.
    pub(super) fn new(file: &'a ParquetFile, rows: &Range<i64>) -> Result<Self> {
        let metadata = file.metadata();
        let mut start = 0_i64;
        for (group, count) in metadata.row_groups().iter().map(RowGroupMetaData::num_rows).enumerate() {
            let end = start.saturating_add(count);
            if rows.start >= start && rows.end <= end && !rows.is_empty() {
                let rows = rows.start - start..rows.end - start;
                return Ok(Self { chunks: file.chunks(), metadata, group, rows });
            }
            start = end;
        }
        Err(no_block(file.chunks().path()))
    }

    /// A column chunk of these rows alone, and its bytes; `described`: what the other file calls it. `data_type`: of a flat column.
    pub(super) fn chunk(
        &self,
        leaf: usize,
        described: &ColumnDescPtr,
        data_type: &DataType,
    ) -> Result<(ColumnCloseResult, Bytes)> {
        cancel::check()?;
        let path = self.chunks.path();
        let column = Column::of(self.metadata, self.group, leaf).ok_or_else(|| no_block(path))?;
        let page = |row: i64| column.pages.binary_search_by_key(&row, |p| p.first_row_index).ok();
        let first = page(self.rows.start).ok_or_else(|| no_block(path))?;
        let end = match page(self.rows.end) {
            Some(end) => end,
            None if usize::try_from(self.rows.end).is_ok_and(|end| end == column.rows) => column.pages.len(),
            None => return Err(no_block(path)),
        };
        let mut copy = Copy { column: &column, path, dictionary: 0, decompressed: 0, values: 0, pages: first..end };
        let bytes = copy.bytes(self.chunks)?;
        copy.check(&bytes)?;
        let flat = column.is_flat().then_some(data_type);
        Ok((copy.close(described, flat, self.rows.end - self.rows.start, bytes.len())?, bytes))
    }
}

/// A column chunk that is being put together.
struct Copy<'a> {
    column: &'a Column<'a>,
    path: &'a str,
    /// Bytes of the dictionary, which comes first.
    dictionary: usize,
    decompressed: u64,
    values: u64,
    pages: Range<usize>,
}

impl Copy<'_> {
    /// The dictionary and the pages.
    fn bytes(&mut self, chunks: &Chunks) -> Result<Bytes> {
        let place = |page: usize| self.column.pages.get(page).and_then(|page| u64::try_from(page.offset).ok());
        let size =
            |page: usize| self.column.pages.get(page).and_then(|page| u64::try_from(page.compressed_page_size).ok());
        let last = self.pages.end.saturating_sub(1);
        let (Some(start), Some(end)) =
            (place(self.pages.start), place(last).zip(size(last)).map(|(at, size)| at + size))
        else {
            return Err(no_block(self.path));
        };
        let dictionary = self.column.dictionary.clone();
        let length = |range: &Range<u64>| usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        self.dictionary = length(&dictionary);
        let all = self.dictionary.saturating_add(length(&(start..end)));
        limits::ask(all, "a column of rows that are copied").map_err(|e| e.with("file", self.path))?;
        if dictionary.end == start || dictionary.is_empty() {
            return chunks.range(if dictionary.is_empty() { start } else { dictionary.start }..end);
        }
        let mut bytes = Vec::with_capacity(all);
        bytes.extend_from_slice(&chunks.range(dictionary)?);
        bytes.extend_from_slice(&chunks.range(start..end)?);
        Ok(Bytes::from(bytes))
    }

    /// Reads the heads of all pages.
    fn check(&mut self, bytes: &Bytes) -> Result<()> {
        if self.dictionary > 0 {
            let (offset, length) = (self.column.dictionary.start, self.dictionary);
            let head = self.head(bytes, 0, length, offset)?;
            if head.kind != DICTIONARY {
                return Err(self.broken(offset, "a dictionary before the first page", head.kind));
            }
        }
        let mut at = self.dictionary;
        for page in self.pages.clone() {
            let location = self.column.pages.get(page).ok_or_else(|| no_block(self.path))?;
            let offset = u64::try_from(location.offset).unwrap_or(u64::MAX);
            let length = usize::try_from(location.compressed_page_size).unwrap_or(0);
            let head = self.head(bytes, at, length, offset)?;
            if head.kind != DATA && head.kind != DATA_V2 {
                return Err(self.broken(offset, "a data page where the page index says", head.kind));
            }
            let rows = page_rows(self.column.pages, page, self.column.rows).map_or(0, |rows| rows.len());
            let flat = self.column.chunk.column_descr().max_rep_level() == 0;
            let says = if flat { Some(head.values) } else { head.rows };
            if says.is_some_and(|says| usize::try_from(says) != Ok(rows)) {
                return Err(self.broken(offset, &format!("{rows} rows in a page as its index says"), head.values));
            }
            self.values = self.values.saturating_add(head.values);
            at = at.saturating_add(length);
        }
        Ok(())
    }

    /// The head of a page of so many bytes, which is at `offset` of the file.
    fn head(&mut self, bytes: &Bytes, at: usize, length: usize, offset: u64) -> Result<Head> {
        let page = bytes.get(at..at.saturating_add(length)).unwrap_or_default();
        let head = Head::read(self.path, offset, page)?;
        let whole = |head: &Head| usize::try_from(head.length.saturating_add(head.compressed)) == Ok(length);
        let Some(head) = head.filter(whole) else {
            return Err(self.broken(offset, &format!("a page of {length} bytes as its index says"), "another one"));
        };
        self.decompressed = self.decompressed.saturating_add(head.length).saturating_add(head.decompressed);
        Ok(head)
    }

    fn broken(&self, offset: u64, expected: &str, found: impl std::fmt::Display) -> Error {
        let column = self.column.chunk.column_path().string();
        Error::corrupt(self.path, offset, expected, found).with("column", column)
    }

    fn close(
        &self,
        described: &ColumnDescPtr,
        flat: Option<&DataType>,
        rows: i64,
        bytes: usize,
    ) -> Result<ColumnCloseResult> {
        let known = |page: usize| page_statistics(self.column.index, page, self.column.pages.len());
        let of_pages: Vec<Statistics> = self.pages.clone().filter_map(known).collect();
        let with_values =
            of_pages.iter().zip(self.pages.clone()).filter(|(_, page)| !self.column.index.is_null_page(*page));
        let with_values: Vec<&Statistics> = with_values.map(|(page, _)| page).collect();
        let nulls = of_pages.iter().map(Statistics::null_count_opt).sum::<Option<u64>>();
        let form = of_pages.first();
        let statistics = flat.and_then(|data_type| joined(form?, &with_values, nulls?, data_type));
        let unencoded = self.column.unencoded.map(|bytes| self.pages.clone().filter_map(|p| bytes.get(p)).sum::<i64>());
        let size = signed(bytes);
        let mut metadata = ColumnChunkMetaData::builder(described.clone())
            .set_compression_codec(self.column.chunk.compression_codec())
            .set_encodings_mask(*self.column.chunk.encodings_mask())
            .set_total_compressed_size(size)
            .set_total_uncompressed_size(i64::try_from(self.decompressed).unwrap_or(i64::MAX))
            .set_num_values(i64::try_from(self.values).unwrap_or(i64::MAX))
            .set_data_page_offset(signed(self.dictionary))
            .set_dictionary_page_offset((self.dictionary > 0).then_some(0))
            .set_unencoded_byte_array_data_bytes(unencoded);
        if let Some(statistics) = statistics {
            metadata = metadata.set_statistics(statistics);
        }
        let built = || {
            Ok(ColumnCloseResult {
                bytes_written: u64::try_from(size).unwrap_or(0),
                rows_written: u64::try_from(rows).unwrap_or(0),
                metadata: metadata.build()?,
                bloom_filter: None,
                column_index: self.column_index(&of_pages)?,
                offset_index: Some(self.offset_index()),
            })
        };
        built().map_err(|e| writing(self.path, e))
    }

    /// The entries of the pages in the column's index.
    fn column_index(&self, of_pages: &[Statistics]) -> parquet::errors::Result<Option<ColumnIndexMetaData>> {
        if of_pages.len() != self.pages.len() || of_pages.iter().any(|page| page.null_count_opt().is_none()) {
            return Ok(None);
        }
        let mut builder = ColumnIndexBuilder::new(self.column.chunk.column_type());
        for (page, known) in self.pages.clone().zip(of_pages) {
            let nulls = known.null_count_opt().and_then(|nulls| i64::try_from(nulls).ok()).unwrap_or(0);
            let bytes = |bytes: Option<&[u8]>| bytes.unwrap_or_default().to_vec();
            let (least, greatest) = (bytes(known.min_bytes_opt()), bytes(known.max_bytes_opt()));
            builder.append(self.column.index.is_null_page(page), least, greatest, nulls);
        }
        if let Some(order) = self.column.index.get_boundary_order() {
            builder.set_boundary_order(order);
        }
        builder.build().map(Some)
    }

    fn offset_index(&self) -> OffsetIndexMetaData {
        let mut builder = OffsetIndexBuilder::new();
        let mut offset = signed(self.dictionary);
        for page in self.pages.clone() {
            let rows = page_rows(self.column.pages, page, self.column.rows).map_or(0, |rows| rows.len());
            let size = self.column.pages.get(page).map_or(0, |page| page.compressed_page_size);
            builder.append_row_count(signed(rows));
            builder.append_offset_and_size(offset, size);
            let unencoded = self.column.unencoded.and_then(|bytes| bytes.get(page).copied());
            builder.append_unencoded_byte_array_data_bytes(unencoded);
            offset = offset.saturating_add(i64::from(size));
        }
        builder.build()
    }
}

fn signed(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

fn no_block(path: &str) -> Error {
    Error::new(ErrorKind::Internal, "rows are to be copied that do not begin or end with a page of every column")
        .with("file", path)
}
