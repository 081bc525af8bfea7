//! Which rows of a file can be copied as they are encoded: blocks begin with a page of every column.

use std::{cmp::Ordering, ops::Range};

use parquet::{
    basic::{CompressionCodec, Encoding, Type as Physical},
    file::{
        metadata::{ColumnChunkMetaData, ParquetMetaData},
        page_index::{column_index::ColumnIndexMetaData, offset_index::PageLocation},
        statistics::Statistics,
    },
};

use super::{
    bounds::from_statistics,
    column_chunk::chunk_range,
    joined::joined,
    options::ParquetWriteOptions,
    prune::{page_locations, page_rows, page_statistics},
    reader::ParquetFile,
    schema::{Int96As, schema_with},
};
use crate::{
    cancel,
    error::Result,
    format::EncodedRows,
    row::{Datum, compare_datums},
    types::{DataField, DataType, TypeKind},
};

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

/// What parquet-mr writes in its second version alone: Java 0.9 and 1.0 do not read them.
fn is_of_version_2(encoding: Encoding) -> bool {
    let lengths = matches!(encoding, Encoding::DELTA_BYTE_ARRAY | Encoding::DELTA_LENGTH_BYTE_ARRAY);
    lengths || encoding == Encoding::DELTA_BINARY_PACKED
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
    let Some(first) = columns.first() else { return Vec::new() };
    // nobody knows how many rows a page of lists has without decoding it: the index alone is not believed
    let begins = |column: &Column<'_>, row: i64| {
        let page = column.pages.binary_search_by_key(&row, |page| page.first_row_index);
        if column.is_repeated() { row == 0 } else { page.is_ok() }
    };
    let starts = first.pages.iter().map(|page| page.first_row_index);
    let mut starts: Vec<i64> = starts.filter(|row| columns.iter().all(|column| begins(column, *row))).collect();
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
pub(super) struct Column<'a> {
    pub(super) chunk: &'a ColumnChunkMetaData,
    /// Of the row group.
    pub(super) rows: usize,
    /// Where the dictionary lies, which may be of no bytes.
    pub(super) dictionary: Range<u64>,
    pub(super) pages: &'a [PageLocation],
    pub(super) index: &'a ColumnIndexMetaData,
    /// Bytes of the texts of each page, where the file says it.
    pub(super) unencoded: Option<&'a Vec<i64>>,
    /// Which column of the file has it.
    root: usize,
}

impl<'a> Column<'a> {
    /// `None` where pages do not follow one another, or the index does not say enough.
    pub(super) fn of(metadata: &'a ParquetMetaData, group: usize, leaf: usize) -> Option<Self> {
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

    pub(super) fn is_flat(&self) -> bool {
        self.chunk.column_descr().path().parts().len() == 1
    }

    /// Compression and encodings are the writer's, and the index says of each page of a flat column what the manifest asks for.
    fn fits(&self, options: &ParquetWriteOptions, fields: &[DataField], whole: &dyn Fn(usize) -> bool) -> bool {
        let same = self.chunk.compression_codec() == CompressionCodec::from(options.compression);
        let readable = options.differences() || !self.chunk.encodings().any(is_of_version_2);
        if !same || !readable || self.chunk.column_type() == Physical::INT96 {
            return false;
        }
        if !self.is_flat() {
            return true;
        }
        fields.get(self.root).is_some_and(|field| self.agrees(&field.data_type, whole(self.root)).unwrap_or(false))
    }

    /// Whether the bounds and nulls of all pages are known and, together, those of the footer; `None`: they are not known. The footer
    /// has texts as they are, the index may have cut them, which does not matter unless they are wanted `whole`.
    fn agrees(&self, t: &DataType, whole: bool) -> Option<bool> {
        let of_chunk = self.chunk.statistics()?;
        let of_pages: Option<Vec<Statistics>> =
            (0..self.pages.len()).map(|page| page_statistics(self.index, page, self.pages.len())).collect();
        let of_pages = of_pages?;
        let nulls = of_pages.iter().map(Statistics::null_count_opt).sum::<Option<u64>>()?;
        let with_values = of_pages.iter().enumerate().filter(|(page, _)| !self.index.is_null_page(*page));
        let with_values: Vec<&Statistics> = with_values.map(|(_, known)| known).collect();
        let rows = |page: usize| page_rows(self.pages, page, self.rows).map(|rows| u64::try_from(rows.len()).ok());
        let nothing_else = |(page, known): (usize, &Statistics)| rows(page).flatten() == known.null_count_opt();
        let mut of_nulls = of_pages.iter().enumerate().filter(|(page, _)| self.index.is_null_page(*page));
        if !of_nulls.all(nothing_else) {
            return Some(false);
        }
        let (all, known) =
            (from_statistics(&joined(of_chunk, &with_values, nulls, t)?, t), from_statistics(of_chunk, t));
        let least = compare(&all.min, &known.min)?;
        let greatest = compare(&all.max, &known.max)?;
        let cut = !whole && matches!(t.kind, TypeKind::Char(_) | TypeKind::VarChar(_));
        let (below, above) = (cut && least.is_lt(), cut && greatest.is_gt());
        Some(Some(nulls) == of_chunk.null_count_opt() && (least.is_eq() || below) && (greatest.is_eq() || above))
    }

    /// Whether a row may have several values in it, or none.
    pub(super) fn is_repeated(&self) -> bool {
        self.chunk.column_descr().max_rep_level() > 0
    }
}

/// Bounds of no values are equal; `None`: one of them is not known.
fn compare(a: &Datum, b: &Datum) -> Option<Ordering> {
    match (a.is_null(), b.is_null()) {
        (true, true) => Some(Ordering::Equal),
        (false, false) => Some(compare_datums(a, b)),
        _ => None,
    }
}

/// Which column of the file has a leaf.
fn root_of(metadata: &ParquetMetaData, leaf: usize) -> usize {
    metadata.file_metadata().schema_descr().get_column_root_idx(leaf)
}
