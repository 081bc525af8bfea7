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
    basic::{CompressionCodec, Type as Physical},
    column::writer::ColumnCloseResult,
    file::{
        metadata::{ColumnChunkMetaData, ColumnIndexBuilder, OffsetIndexBuilder, ParquetMetaData, RowGroupMetaData},
        page_index::{column_index::ColumnIndexMetaData, offset_index::PageLocation},
        statistics::Statistics,
    },
    schema::types::ColumnDescPtr,
};

use super::{
    bounds::from_statistics,
    chunks::Chunks,
    column_chunk::chunk_range,
    joined::joined,
    options::ParquetWriteOptions,
    page_head::{DATA, DATA_V2, DICTIONARY, Head},
    prune::{page_locations, page_rows, page_statistics},
    reader::ParquetFile,
    schema::{Int96As, schema_with},
};
use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
    format::EncodedRows,
    limits,
    types::{DataField, DataType},
};

/// Page indexes cut texts to 64 bytes, at the end of a character: a shorter one is whole.
const CUT: usize = 57;

/// The blocks of a file whose rows can be copied into files that are written so; `None`: its columns or pages are others.
///
/// `whole`: of which columns (by their place) the bounds may not be cut.
pub(super) fn blocks(
    options: &ParquetWriteOptions,
    file: &ParquetFile,
    fields: &[DataField],
    whole: &dyn Fn(usize) -> bool,
) -> Result<Option<Vec<EncodedRows>>> {
    let metadata = file.metadata();
    if options.bloom_filter || !is_known_writer(metadata) || !has_columns(metadata, fields)? {
        return Ok(None);
    }
    let mut found = Vec::new();
    let mut start = 0_i64;
    for (group, head) in metadata.row_groups().iter().enumerate() {
        cancel::check()?;
        let copyable = |leaf: usize| Column::of(metadata, group, leaf).filter(|c| c.fits(options, fields, whole));
        let columns: Option<Vec<Column<'_>>> = (0..head.num_columns()).map(copyable).collect();
        let Some(columns) = columns else { return Ok(None) };
        found.extend(blocks_of_group(&columns, group, start, head.num_rows()));
        start = start.saturating_add(head.num_rows());
    }
    Ok(Some(found))
}

/// Writers that leave bounds out where there is NaN.
fn is_known_writer(metadata: &ParquetMetaData) -> bool {
    let writer = metadata.file_metadata().created_by().unwrap_or_default();
    writer.starts_with("siltstone") || writer.starts_with("parquet-mr")
}

fn has_columns(metadata: &ParquetMetaData, fields: &[DataField]) -> Result<bool> {
    let (wanted, stored) = (schema_with(fields, Int96As::Int96)?, metadata.file_metadata().schema_descr());
    Ok(wanted.root_schema().get_fields() == stored.root_schema().get_fields())
}

fn blocks_of_group(columns: &[Column<'_>], group: usize, start: i64, rows: i64) -> Vec<EncodedRows> {
    let Some((first, others)) = columns.split_first() else { return Vec::new() };
    let begins = |column: &Column<'_>, row: i64| column.pages.binary_search_by_key(&row, |p| p.first_row_index).is_ok();
    let starts = first.pages.iter().map(|page| page.first_row_index);
    let mut starts: Vec<i64> = starts.filter(|row| others.iter().all(|column| begins(column, *row))).collect();
    starts.dedup();
    let ends = starts.iter().skip(1).copied().chain([rows]);
    let dictionaries = columns.iter().map(|c| c.dictionary.end - c.dictionary.start).fold(0, u64::saturating_add);
    let rows = |(from, to): (&i64, i64)| start.saturating_add(*from)..start.saturating_add(to);
    let mut blocks: Vec<EncodedRows> =
        starts.iter().zip(ends).map(|ends| EncodedRows { rows: rows(ends), group, bytes: 0, dictionaries }).collect();
    for page in columns.iter().flat_map(|column| column.pages) {
        let block = starts.partition_point(|row| *row <= page.first_row_index).saturating_sub(1);
        if let Some(block) = blocks.get_mut(block) {
            block.bytes = block.bytes.saturating_add(u64::try_from(page.compressed_page_size).unwrap_or(0));
        }
    }
    blocks
}

/// A column chunk whose pages are where the index says.
struct Column<'a> {
    chunk: &'a ColumnChunkMetaData,
    rows: usize,
    dictionary: Range<u64>,
    pages: &'a [PageLocation],
    index: &'a ColumnIndexMetaData,
    unencoded: Option<&'a Vec<i64>>,
    root: usize,
}

impl<'a> Column<'a> {
    /// `None` where pages do not follow one another, or the index does not say enough.
    fn of(metadata: &'a ParquetMetaData, group: usize, leaf: usize) -> Option<Self> {
        let head = metadata.row_groups().get(group)?;
        let chunk = head.columns().get(leaf)?;
        let pages = page_locations(metadata, group, leaf)?;
        let index = metadata.column_index()?.get(group)?.get(leaf)?;
        let range = chunk_range(chunk)?;
        let first = u64::try_from(pages.first()?.offset).ok()?;
        let mut end = first;
        for (at, page) in pages.iter().enumerate() {
            let follows = u64::try_from(page.offset).ok()? == end && page.compressed_page_size > 0;
            let rows = page_rows(pages, at, usize::try_from(head.num_rows()).ok()?)?;
            if !follows || rows.is_empty() {
                return None;
            }
            end = end.checked_add(u64::try_from(page.compressed_page_size).ok()?)?;
        }
        let (rows, root) = (usize::try_from(head.num_rows()).ok()?, root_of(metadata, leaf));
        let unencoded = metadata.offset_index()?.get(group)?.get(leaf)?.unencoded_byte_array_data_bytes();
        let unencoded = unencoded.filter(|bytes| bytes.len() == pages.len());
        let dictionary = range.start..first;
        (first >= range.start && end == range.end).then_some(Self {
            chunk,
            rows,
            dictionary,
            pages,
            index,
            unencoded,
            root,
        })
    }

    fn is_flat(&self) -> bool {
        self.chunk.column_descr().path().parts().len() == 1
    }

    /// The compression is the writer's, and the index says of each page of a flat column what the manifest asks for.
    fn fits(&self, options: &ParquetWriteOptions, fields: &[DataField], whole: &dyn Fn(usize) -> bool) -> bool {
        let same = self.chunk.compression_codec() == CompressionCodec::from(options.compression);
        if !same || self.chunk.column_type() == Physical::INT96 {
            return false;
        }
        if !self.is_flat() {
            return true;
        }
        let Some(field) = fields.get(self.root) else { return false };
        let whole = whole(self.root);
        let uncut = |bytes: Option<&[u8]>| !whole || bytes.is_none_or(|bytes| bytes.len() < CUT);
        (0..self.pages.len()).all(|page| {
            let Some(known) = page_statistics(self.index, page, self.pages.len()) else { return false };
            let bounds = || from_statistics(&known, &field.data_type);
            let bounded = self.index.is_null_page(page) || !bounds().min.is_null() && !bounds().max.is_null();
            known.null_count_opt().is_some() && bounded && uncut(known.min_bytes_opt()) && uncut(known.max_bytes_opt())
        })
    }
}

/// Which column of the file has a leaf.
fn root_of(metadata: &ParquetMetaData, leaf: usize) -> usize {
    metadata.file_metadata().schema_descr().get_column_root_idx(leaf)
}

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
        let mut copy = Copy::new(&column, self.chunks)?;
        for at in first..end {
            copy.add(at)?;
        }
        copy.close(described, column.is_flat().then_some(data_type), self.rows.end - self.rows.start)
    }
}

/// A column chunk that is being put together.
struct Copy<'a> {
    column: &'a Column<'a>,
    chunks: &'a Chunks,
    bytes: Vec<u8>,
    dictionary: usize,
    decompressed: u64,
    values: u64,
    pages: Vec<usize>,
}

impl<'a> Copy<'a> {
    fn new(column: &'a Column<'a>, chunks: &'a Chunks) -> Result<Self> {
        let mut copy =
            Self { column, chunks, bytes: Vec::new(), dictionary: 0, decompressed: 0, values: 0, pages: Vec::new() };
        if !column.dictionary.is_empty() {
            let head = copy.append(column.dictionary.clone())?;
            if head.kind != DICTIONARY {
                return Err(copy.broken(column.dictionary.start, "a dictionary before the first page", head.kind));
            }
            copy.dictionary = copy.bytes.len();
        }
        Ok(copy)
    }

    fn add(&mut self, page: usize) -> Result<()> {
        let location = self.column.pages.get(page).ok_or_else(|| no_block(self.chunks.path()))?;
        let start = u64::try_from(location.offset).unwrap_or(u64::MAX);
        let range = start..start.saturating_add(u64::try_from(location.compressed_page_size).unwrap_or(0));
        let head = self.append(range)?;
        if head.kind != DATA && head.kind != DATA_V2 {
            return Err(self.broken(start, "a data page where the page index says", head.kind));
        }
        let rows = page_rows(self.column.pages, page, self.column.rows).map_or(0, |rows| rows.len());
        let says = if self.column.chunk.column_descr().max_rep_level() == 0 { Some(head.values) } else { head.rows };
        if says.is_some_and(|says| usize::try_from(says) != Ok(rows)) {
            return Err(self.broken(start, &format!("{rows} rows in a page as its index says"), head.values));
        }
        self.values = self.values.saturating_add(head.values);
        self.pages.push(page);
        Ok(())
    }

    /// Takes over a page: its head is read.
    fn append(&mut self, range: Range<u64>) -> Result<Head> {
        let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        limits::ask_for_part(length, "a page that is copied").map_err(|e| e.with("file", self.chunks.path()))?;
        let page = self.chunks.range(range.clone())?;
        let head = Head::read(self.chunks.path(), range.start, &page)?;
        let Some(head) = head.filter(|head| head.length.saturating_add(head.compressed) == range.end - range.start)
        else {
            return Err(self.broken(
                range.start,
                &format!("a page of {length} bytes as its index says"),
                "another one",
            ));
        };
        self.decompressed = self.decompressed.saturating_add(head.length).saturating_add(head.decompressed);
        self.bytes.extend_from_slice(&page);
        Ok(head)
    }

    fn broken(&self, offset: u64, expected: &str, found: impl std::fmt::Display) -> Error {
        let column = self.column.chunk.column_path().string();
        Error::corrupt(self.chunks.path(), offset, expected, found).with("column", column)
    }

    fn close(
        self,
        described: &ColumnDescPtr,
        flat: Option<&DataType>,
        rows: i64,
    ) -> Result<(ColumnCloseResult, Bytes)> {
        let of_pages: Vec<Statistics> = self
            .pages
            .iter()
            .filter_map(|page| page_statistics(self.column.index, *page, self.column.pages.len()))
            .collect();
        let with_values = of_pages.iter().zip(&self.pages).filter(|(_, page)| !self.column.index.is_null_page(**page));
        let with_values: Vec<&Statistics> = with_values.map(|(page, _)| page).collect();
        let nulls = of_pages.iter().map(Statistics::null_count_opt).sum::<Option<u64>>();
        let form = of_pages.first();
        let statistics = flat.and_then(|data_type| joined(form?, &with_values, nulls?, data_type));
        let unencoded = self.column.unencoded.map(|bytes| self.pages.iter().filter_map(|p| bytes.get(*p)).sum::<i64>());
        let size = signed(self.bytes.len());
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
        let close = built().map_err(|e| super::error::writing(self.chunks.path(), e))?;
        Ok((close, Bytes::from(self.bytes)))
    }

    /// The entries of the pages in the column's index.
    fn column_index(&self, of_pages: &[Statistics]) -> parquet::errors::Result<Option<ColumnIndexMetaData>> {
        if of_pages.len() != self.pages.len() || of_pages.iter().any(|page| page.null_count_opt().is_none()) {
            return Ok(None);
        }
        let mut builder = ColumnIndexBuilder::new(self.column.chunk.column_type());
        for (page, known) in self.pages.iter().zip(of_pages) {
            let nulls = known.null_count_opt().and_then(|nulls| i64::try_from(nulls).ok()).unwrap_or(0);
            let bytes = |bytes: Option<&[u8]>| bytes.unwrap_or_default().to_vec();
            let (least, greatest) = (bytes(known.min_bytes_opt()), bytes(known.max_bytes_opt()));
            builder.append(self.column.index.is_null_page(*page), least, greatest, nulls);
        }
        if let Some(order) = self.column.index.get_boundary_order() {
            builder.set_boundary_order(order);
        }
        builder.build().map(Some)
    }

    fn offset_index(&self) -> parquet::file::page_index::offset_index::OffsetIndexMetaData {
        let mut builder = OffsetIndexBuilder::new();
        let mut offset = signed(self.dictionary);
        for page in &self.pages {
            let rows = page_rows(self.column.pages, *page, self.column.rows).map_or(0, |rows| rows.len());
            let size = self.column.pages.get(*page).map_or(0, |page| page.compressed_page_size);
            builder.append_row_count(signed(rows));
            builder.append_offset_and_size(offset, size);
            let unencoded = self.column.unencoded.and_then(|bytes| bytes.get(*page).copied());
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
