//! How long the values of a batch can be where a page does not have each of them: many rows have the same value of a
//! dictionary, and values share the beginning of the one before. A small file may say little and mean much.
//!
//! So dictionaries that could matter, and all lengths that come before their texts, are looked at before the first row
//! of a row group is decoded; and a batch gets as few rows as their values allow.

use std::sync::Arc;

use parquet::{
    basic::{ConvertedType, Encoding, Type},
    column::page::{Page, PageReader as _},
    file::{
        metadata::{ColumnChunkMetaData, ParquetMetaData},
        page_index::offset_index::{OffsetIndexMetaData, PageLocation},
        serialized_reader::SerializedPageReader,
    },
};

use super::{
    chunks::Chunks,
    column_chunk::{has_dictionary, has_lengths},
    error::broken,
    guard::guarded,
    lengths::Lengths,
};
use crate::{
    cancel,
    error::{Error, Result},
};

/// Bytes that such values of a batch have at most, but for a batch of one row.
const MOST_BYTES: u64 = 128 * 1024 * 1024;

/// How many lengths are passed between two looks at whether to stop.
const ASK_EVERY: usize = 1 << 16;

/// How many rows a batch may have, and the bytes that it may then need for these values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Measured {
    pub(super) rows: usize,
    pub(super) bytes: u64,
}

/// What values need: each row, and all of them together.
#[derive(Default)]
struct Needs {
    row: u64,
    once: u64,
}

/// A column of a row group.
struct Chunk<'a> {
    column: &'a ColumnChunkMetaData,
    rows: usize,
    /// Where its pages are, where an index says it.
    pages: Option<&'a Vec<PageLocation>>,
}

/// Looks at these columns (leaves) of a row group; at most `wanted` rows are to come at once.
pub(super) fn measure(
    chunks: &Chunks,
    metadata: &ParquetMetaData,
    group: usize,
    leaves: &[usize],
    wanted: usize,
) -> Result<Measured> {
    let columns = columns(metadata, group, leaves).ok_or_else(|| broken(chunks.path()))?;
    let mut needs = Needs::default();
    for chunk in columns.iter().filter(|chunk| has_lengths(chunk.column)) {
        let (longest, all) = chunk.behind_lengths(chunks)?;
        // nobody knows how many of a list a row has
        if chunk.is_flat() { needs.add_row(longest) } else { needs.once = needs.once.saturating_add(all) }
    }
    for chunk in columns.iter().filter(|c| c.is_flat() && c.column.column_type() == Type::FIXED_LEN_BYTE_ARRAY) {
        needs.add_row(u64::try_from(chunk.column.column_descr().type_length()).unwrap_or(0));
    }
    let texts = || columns.iter().filter(|c| c.column.column_type() == Type::BYTE_ARRAY && has_dictionary(c.column));
    // numbers as bytes; texts in lists are views
    let numbers = |chunk: &&Chunk<'_>| chunk.column.column_descr().converted_type() == ConvertedType::DECIMAL;
    for chunk in texts().filter(|chunk| !chunk.is_flat()).filter(numbers) {
        let values = u64::try_from(chunk.column.num_values()).unwrap_or(0);
        needs.once = needs.once.saturating_add(chunk.longest_of_dictionary(chunks)?.saturating_mul(values));
    }
    let flat = || texts().filter(|chunk| chunk.is_flat());
    // a value is not longer than its chunk
    let bytes = flat().map(|chunk| u64::try_from(chunk.column.uncompressed_size()).unwrap_or(0));
    let together = bytes.fold(0, u64::saturating_add);
    if together.saturating_mul(u64::try_from(wanted).unwrap_or(u64::MAX)) > MOST_BYTES {
        for chunk in flat() {
            needs.add_row(chunk.longest_of_dictionary(chunks)?);
        }
    } else {
        needs.add_row(together);
    }
    Ok(needs.fitting(wanted))
}

fn columns<'a>(metadata: &'a ParquetMetaData, group: usize, leaves: &[usize]) -> Option<Vec<Chunk<'a>>> {
    let of_group = metadata.row_groups().get(group)?;
    let rows = usize::try_from(of_group.num_rows()).ok()?;
    let places = metadata.offset_index().and_then(|groups| groups.get(group));
    let chunk = |leaf: &usize| {
        let pages = places.and_then(|places| places.get(*leaf)).map(OffsetIndexMetaData::page_locations);
        Some(Chunk { column: of_group.columns().get(*leaf)?, rows, pages })
    };
    leaves.iter().map(chunk).collect()
}

impl Needs {
    fn add_row(&mut self, bytes: u64) {
        self.row = self.row.saturating_add(bytes);
    }

    fn fitting(&self, wanted: usize) -> Measured {
        let fitting = usize::try_from(MOST_BYTES / self.row.max(1)).unwrap_or(usize::MAX);
        let rows = wanted.min(fitting).max(1);
        let bytes = self.row.saturating_mul(u64::try_from(rows).unwrap_or(u64::MAX));
        Measured { rows, bytes: bytes.saturating_add(self.once) }
    }
}

impl Chunk<'_> {
    fn is_flat(&self) -> bool {
        self.column.column_descr().max_rep_level() == 0
    }

    fn pages(&self, chunks: &Chunks) -> Result<SerializedPageReader<Chunks>> {
        let pages = self.pages.cloned();
        guarded(chunks, || SerializedPageReader::new(Arc::new(chunks.clone()), self.column, self.rows, pages))
    }

    /// Bytes of the longest value of its dictionary; 0 without one.
    fn longest_of_dictionary(&self, chunks: &Chunks) -> Result<u64> {
        let mut pages = self.pages(chunks)?;
        let first = guarded(chunks, || pages.get_next_page())?;
        let Some(Page::DictionaryPage { buf, .. }) = first else { return Ok(0) };
        let (mut rest, mut longest) = (&buf[..], 0);
        let mut passed = 0_usize;
        // what is no length is for the decoder to tell
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let length = u32::from_le_bytes(*length);
            longest = longest.max(u64::from(length));
            rest = after.get(usize::try_from(length).unwrap_or(usize::MAX)..).unwrap_or_default();
            passed += 1;
            if passed.is_multiple_of(ASK_EVERY) {
                cancel::check()?;
            }
        }
        Ok(longest.min(u64::try_from(buf.len()).unwrap_or(u64::MAX)))
    }

    /// Bytes of the longest value, and of all of them, in its pages that have lengths before their texts.
    fn behind_lengths(&self, chunks: &Chunks) -> Result<(u64, u64)> {
        let column = self.column;
        let mut pages = self.pages(chunks)?;
        let (mut longest, mut all) = (0_u64, 0_u64);
        while let Some(page) = guarded(chunks, || pages.get_next_page())? {
            let damaged = || broken(chunks.path()).with("column", column.column_path().string());
            let of_page = match page.encoding() {
                Encoding::DELTA_LENGTH_BYTE_ARRAY => sum_lengths(&page, column, false),
                Encoding::DELTA_BYTE_ARRAY => sum_lengths(&page, column, true),
                _ => continue,
            };
            let (longest_of_page, of_page) = of_page.map_err(|e| e.unwrap_or_else(damaged))?;
            longest = longest.max(longest_of_page);
            all = all.saturating_add(of_page);
        }
        Ok((longest, all))
    }
}

/// The same of one page; with `prefixes` each value begins as the one before, so far as a first list of lengths says. `None`
/// for an error means damage.
fn sum_lengths(
    page: &Page,
    column: &ColumnChunkMetaData,
    prefixes: bool,
) -> std::result::Result<(u64, u64), Option<Error>> {
    let most = usize::try_from(page.num_values()).unwrap_or(0);
    let bytes = values(page, column).ok_or(None)?;
    if bytes.is_empty() {
        return Ok((0, 0));
    }
    let mut prefix = if prefixes { Some(Lengths::new(bytes, most).ok_or(None)?) } else { None };
    let bytes = match &mut prefix {
        Some(first) => pass(Lengths::new(bytes, most).ok_or(None)?, first.left())?,
        None => bytes,
    };
    let mut suffix = Lengths::new(bytes, most).ok_or(None)?;
    if prefix.as_ref().is_some_and(|prefix| prefix.left() != suffix.left()) {
        return Err(None);
    }
    let (mut last, mut longest, mut all) = (0_u64, 0_u64, 0_u64);
    for value in 0..suffix.left() {
        ask_at(value)?;
        let own = u64::try_from(suffix.take_length().ok_or(None)?).map_err(|_| None)?;
        let shared = match &mut prefix {
            // the value before has as many bytes: the decoder takes any number
            Some(prefix) => {
                let length = u64::try_from(prefix.take_length().ok_or(None)?).ok();
                length.filter(|length| *length <= last).ok_or(None)?
            }
            None => 0,
        };
        last = own.saturating_add(shared);
        longest = longest.max(last);
        all = all.saturating_add(last);
    }
    Ok((longest, all))
}

/// What comes behind so many lengths.
fn pass(mut lengths: Lengths<'_>, count: usize) -> std::result::Result<&[u8], Option<Error>> {
    for value in 0..count {
        ask_at(value)?;
        lengths.take_length().ok_or(None)?;
    }
    lengths.rest().ok_or(None)
}

fn ask_at(value: usize) -> std::result::Result<(), Option<Error>> {
    if value.is_multiple_of(ASK_EVERY) { cancel::check().map_err(Some) } else { Ok(()) }
}

/// What a data page has behind the levels of its values.
fn values<'a>(page: &'a Page, column: &ColumnChunkMetaData) -> Option<&'a [u8]> {
    match page {
        Page::DataPage { buf, num_values, def_level_encoding, rep_level_encoding, .. } => {
            let of = column.column_descr();
            let mut rest = &buf[..];
            for (most, encoding) in
                [(of.max_rep_level(), *rep_level_encoding), (of.max_def_level(), *def_level_encoding)]
            {
                if most > 0 {
                    rest = behind_levels(rest, most, encoding, *num_values)?;
                }
            }
            Some(rest)
        }
        Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
            let levels = def_levels_byte_len.checked_add(*rep_levels_byte_len)?;
            buf.get(usize::try_from(levels).ok()?..)
        }
        Page::DictionaryPage { .. } => None,
    }
}

fn behind_levels(bytes: &[u8], most: i16, encoding: Encoding, values: u32) -> Option<&[u8]> {
    if encoding == Encoding::RLE {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        return rest.get(usize::try_from(u32::from_le_bytes(*length)).ok()?..);
    }
    // without runs, each in as many bits as the largest
    let bits = u64::from(values).saturating_mul(u64::from(i16::BITS - most.leading_zeros()));
    bytes.get(usize::try_from(bits.div_ceil(8)).ok()?..)
}
