//! A look at the head of a page before the parquet crate asks for the memory that it claims to need.
//!
//! The crate makes room for as many bytes as a page says it has when it is decompressed, and where there is no such room
//! the process ends. So the claim is compared with the column chunk's own size, with what the compressed bytes can become
//! at most; the values of a dictionary with its bytes; its rows with those that an index of the pages says. What is left is
//! what decoding it takes, for which memory is asked together with that of the other pages of a batch.
//!
//! How long the values of a dictionary and of pages with shared prefixes are was looked at before ([`super::measure`]), where
//! the footer says that there are some. So others are damage.

use std::ops::Range;

use parquet::{
    basic::{Compression, Type},
    file::{
        metadata::{ColumnChunkMetaData, ParquetMetaData},
        page_index::offset_index::PageLocation,
    },
};

use super::{
    column_chunk::{chunk_range, copied_bytes, has_dictionary, has_lengths},
    page_head::{DICTIONARY, Head},
    prune::page_rows,
};
use crate::error::{Error, Result};

/// What decoding a value takes at least, with its levels.
const VALUE_BYTES: u64 = 16;

/// `DELTA_LENGTH_BYTE_ARRAY` and `DELTA_BYTE_ARRAY`: the lengths of all values of a page come first.
const LENGTHS: [u64; 2] = [6, 7];

/// Bytes that the head of a page has at most: two values that are bounds may be in it.
pub(super) const MAX_HEAD: u64 = 16 << 20;

/// The column chunks of a read, in file order, and what their pages can be.
#[derive(Clone, Default)]
pub(super) struct PageLimits(Vec<ChunkLimit>);

#[derive(Clone)]
struct ChunkLimit {
    range: Range<u64>,
    compression: Compression,
    decompressed: u64,
    /// Without lists: a row is a value.
    flat: bool,
    /// Bytes of a decoded value and of what is made of it, at least.
    width: u64,
    /// It may begin with a dictionary.
    dictionary: bool,
    /// It may have pages that begin with the lengths of their values.
    lengths: bool,
    /// Its pages are asked for with their heads, because an index says where they are: the offset and the rows of each.
    pages: Option<Vec<(u64, u64)>>,
}

impl PageLimits {
    /// Of these leaves in these row groups.
    pub(super) fn new(metadata: &ParquetMetaData, row_groups: &[usize], leaf: &dyn Fn(usize) -> bool) -> Self {
        let mut chunks = Vec::new();
        for index in row_groups {
            let Some(group) = metadata.row_groups().get(*index) else { continue };
            let rows = usize::try_from(group.num_rows()).unwrap_or(0);
            let places = metadata.offset_index().and_then(|groups| groups.get(*index)).filter(|g| !g.is_empty());
            let columns = group.columns().iter().enumerate().filter(|(at, _)| leaf(*at));
            chunks.extend(columns.filter_map(|(at, column)| {
                let pages = places.map(|places| pages(places.get(at).map(|p| p.page_locations().as_slice()), rows));
                ChunkLimit::new(column, pages)
            }));
        }
        chunks.sort_by_key(|chunk| chunk.range.start);
        Self(chunks)
    }

    /// Of one column chunk of 1 MiB.
    #[cfg(test)]
    pub(super) fn for_tests(range: Range<u64>) -> Self {
        Self(vec![ChunkLimit {
            range,
            compression: Compression::UNCOMPRESSED,
            decompressed: 1 << 20,
            flat: true,
            width: 1,
            dictionary: true,
            lengths: false,
            pages: None,
        }])
    }

    /// Bytes that decoding takes the page whose head is at this offset of the file; an error unless it can be what it claims to
    /// be. `whole` when these are all of its bytes. `None`: its head goes on behind these bytes.
    pub(super) fn check(&self, file: &str, offset: u64, bytes: &[u8], whole: bool) -> Result<Option<u64>> {
        let before = self.0.partition_point(|chunk| chunk.range.start <= offset);
        let chunk = before.checked_sub(1).and_then(|at| self.0.get(at)).filter(|chunk| offset < chunk.range.end);
        let Some(chunk) = chunk else {
            // nothing is known of a footer or an index of pages
            return if self.0.is_empty() { Ok(Some(0)) } else { Err(no_page(file, offset)) };
        };
        if whole && chunk.pages.is_none() {
            // what comes behind a head
            return Ok(Some(0));
        }
        match Head::read(file, offset, bytes)? {
            Some(head) => chunk.check(file, offset, &head, whole.then_some(bytes.len())).map(Some),
            None if whole => Err(damaged(file, offset, "the head of a page", "more than the page has")),
            None => Ok(None),
        }
    }
}

impl ChunkLimit {
    fn new(column: &ColumnChunkMetaData, pages: Option<Vec<(u64, u64)>>) -> Option<Self> {
        let fixed = column.column_type() == Type::FIXED_LEN_BYTE_ARRAY;
        let width = if fixed { u64::try_from(column.column_descr().type_length()).unwrap_or(0) } else { 0 };
        Some(Self {
            range: chunk_range(column)?,
            compression: column.compression(),
            decompressed: u64::try_from(column.uncompressed_size()).unwrap_or(0),
            flat: column.column_descr().max_rep_level() == 0,
            width: width.max(VALUE_BYTES).saturating_add(copied_bytes(column)),
            dictionary: has_dictionary(column),
            lengths: has_lengths(column),
            pages,
        })
    }

    /// `length` is that of the page with its head, where an index says it.
    fn check(&self, file: &str, offset: u64, head: &Head, length: Option<usize>) -> Result<u64> {
        let indexed = length.is_some();
        let in_chunk = self.range.end.saturating_sub(offset);
        let length = length.and_then(|length| u64::try_from(length).ok()).unwrap_or(in_chunk).min(in_chunk);
        let compressed = head.compressed.min(length.saturating_sub(head.length));
        let most = self.decompressed.min(grown(self.compression, compressed));
        let (decompressed, values) = (head.decompressed, head.values);
        if decompressed > most {
            let expected = format!("a page of at most {most} bytes");
            return Err(damaged(file, offset, expected, format_args!("{decompressed} bytes")));
        }
        if head.kind == DICTIONARY {
            if offset != self.range.start || !self.dictionary {
                return Err(damaged(file, offset, "a page of data", "a dictionary where the footer has none"));
            }
            if values > decompressed {
                let expected = format!("a dictionary of at most {decompressed} values");
                return Err(damaged(file, offset, expected, format_args!("{values} values")));
            }
            return Ok(compressed.saturating_add(decompressed).saturating_add(values.saturating_mul(VALUE_BYTES)));
        }
        if indexed {
            self.check_rows(file, offset, head)?;
        }
        if head.encoding.is_some_and(|encoding| LENGTHS.contains(&encoding)) && !self.lengths {
            return Err(damaged(file, offset, "an encoding that the footer has", "values behind their lengths"));
        }
        // runs of nulls take next to nothing in a file; texts are there as they are stored, and as they are decoded
        Ok(compressed.saturating_add(decompressed.saturating_mul(2)).saturating_add(values.saturating_mul(self.width)))
    }

    /// The page has as many rows as the index of the pages says: rows are left out by it.
    fn check_rows(&self, file: &str, offset: u64, head: &Head) -> Result<()> {
        let pages = self.pages.as_deref().unwrap_or_default();
        let place = pages.binary_search_by_key(&offset, |page| page.0).ok().and_then(|at| pages.get(at));
        let Some((_, says)) = place else {
            return Err(damaged(file, offset, "a page that its index has", "another one"));
        };
        // in lists of the first version nobody knows the rows without decoding them
        match self.flat.then_some(head.values).or(head.rows) {
            Some(rows) if rows != *says => {
                let expected = format!("a page of {says} rows, as its index says");
                Err(damaged(file, offset, expected, format_args!("{rows} rows")))
            }
            _ => Ok(()),
        }
    }
}

/// The offset and the rows of each page; none where they do not begin with the first row, or do not follow one another.
fn pages(locations: Option<&[PageLocation]>, rows: usize) -> Vec<(u64, u64)> {
    let locations = locations.unwrap_or_default();
    let page = |page: usize| {
        let rows = page_rows(locations, page, rows)?.len();
        Some((u64::try_from(locations.get(page)?.offset).ok()?, u64::try_from(rows).ok()?))
    };
    let from_the_first = locations.first().is_some_and(|page| page.first_row_index == 0);
    let pages: Option<Vec<(u64, u64)>> = (0..locations.len()).map(page).collect();
    pages.filter(|pages| from_the_first && pages.is_sorted_by(|a, b| a.0 < b.0)).unwrap_or_default()
}

fn damaged(file: &str, offset: u64, expected: impl std::fmt::Display, found: impl std::fmt::Display) -> Error {
    Error::corrupt(file, offset, expected, found).hint("a page of the Parquet file is damaged")
}

fn no_page(file: &str, offset: u64) -> Error {
    damaged(file, offset, "a page in one of the column chunks", "a place outside of them")
}

/// A page whose head has no end.
pub(super) fn endless_head(file: &str, offset: u64) -> Error {
    damaged(file, offset, format_args!("a head of a page of at most {MAX_HEAD} bytes"), "more")
}

/// Bytes that so many compressed bytes are at most when they are decompressed.
fn grown(compression: Compression, compressed: u64) -> u64 {
    let (factor, least) = match compression {
        Compression::UNCOMPRESSED => (1, 0),
        // a copy of 64 bytes takes 2
        Compression::SNAPPY => (32, 64),
        // a byte more lengthens a copy by 255 bytes
        Compression::LZ4 | Compression::LZ4_RAW => (256, 1 << 10),
        // 258 bytes take two bits
        Compression::GZIP(_) => (1040, 1 << 16),
        // a block of 128 KiB takes 4 bytes
        Compression::ZSTD(_) => (1 << 16, 1 << 18),
        // a block of 16 MiB takes 8 bytes
        Compression::BROTLI(_) => (1 << 21, 1 << 24),
        // which the crate does not read
        Compression::LZO => (0, 0),
    };
    compressed.saturating_mul(factor).saturating_add(least)
}

#[cfg(test)]
mod tests {
    use parquet::basic::ZstdLevel;

    use super::*;
    use crate::ErrorKind;

    const NEXT_I32: u8 = 0x15;

    fn varint(bytes: &mut Vec<u8>, number: u64) {
        bytes.push(NEXT_I32);
        let mut rest = number << 1;
        while rest >= 0x80 {
            bytes.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
            rest >>= 7;
        }
        bytes.push(u8::try_from(rest).unwrap());
    }

    /// A head of a data page or, kind 2, of a dictionary.
    fn head(kind: u64, decompressed: u64, compressed: u64, values: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [kind, decompressed, compressed] {
            varint(&mut bytes, number);
        }
        bytes.push(if kind == 2 { 0x4c } else { 0x2c });
        varint(&mut bytes, values);
        bytes.extend([0, 0]);
        bytes
    }

    fn chunk(compression: Compression, decompressed: u64) -> ChunkLimit {
        ChunkLimit { compression, decompressed, ..PageLimits::for_tests(4..1000).0.remove(0) }
    }

    fn limits(compression: Compression, decompressed: u64) -> PageLimits {
        PageLimits(vec![chunk(compression, decompressed)])
    }

    #[test]
    fn a_dictionary_has_no_more_values_than_bytes() {
        let zstd = Compression::ZSTD(ZstdLevel::try_new(1).unwrap());
        assert_eq!(
            limits(zstd, 5000).check("f", 4, &head(2, 500, 300, 500), false).unwrap(),
            Some(300 + 500 + 500 * VALUE_BYTES)
        );
        let error = limits(zstd, 5000).check("f", 4, &head(2, 500, 300, 0x7fff_ffff), false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptFile);
    }

    /// How long its values are was looked at only where the footer has one: a second one was believed.
    #[test]
    fn dictionaries_and_lengths_are_where_the_footer_has_them() {
        let zstd = Compression::ZSTD(ZstdLevel::try_new(1).unwrap());
        let with = |dictionary, lengths| PageLimits(vec![ChunkLimit { dictionary, lengths, ..chunk(zstd, 5000) }]);
        let lengths = |encoding: u64| {
            let mut page = head(0, 100, 100, 10);
            page.truncate(page.len() - 2);
            varint(&mut page, encoding);
            [page, vec![0, 0]].concat()
        };
        let dictionary = head(2, 500, 300, 500);
        assert!(with(true, false).check("f", 4, &dictionary, false).is_ok());
        for (limits, offset, page) in [
            (with(true, false), 5, &dictionary),
            (with(false, false), 4, &dictionary),
            (with(true, false), 4, &lengths(6)),
            (with(true, false), 4, &lengths(7)),
        ] {
            let error = limits.check("f", offset, page, false).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CorruptFile);
        }
        assert_eq!(with(true, true).check("f", 4, &lengths(7), false).unwrap(), Some(100 + 200 + 10));
        assert_eq!(with(false, false).check("f", 4, &lengths(0), false).unwrap(), Some(100 + 200 + 10));
    }

    #[test]
    fn a_page_is_no_larger_than_its_chunk_or_than_its_bytes_can_become() {
        let zstd = Compression::ZSTD(ZstdLevel::try_new(1).unwrap());
        let data = |page, compressed| head(0, page, compressed, 1);
        let huge = u64::from(i32::MAX.unsigned_abs());
        for (compression, chunk, page, compressed, fine) in [
            (zstd, 5000, 5000, 20, true),
            (zstd, 5000, 5001, 20, false),
            (Compression::SNAPPY, huge, huge, 100, false),
            // a chunk has no more bytes than it has
            (Compression::SNAPPY, huge, 1 << 20, huge, false),
            (Compression::SNAPPY, huge, 3000, 100, true),
            (Compression::LZ4_RAW, huge, huge, 100, false),
            (Compression::UNCOMPRESSED, huge, 100, 100, true),
            (Compression::UNCOMPRESSED, huge, 101, 100, false),
        ] {
            let checked = limits(compression, chunk).check("f", 4, &data(page, compressed), false);
            assert_eq!(checked.is_ok(), fine, "{compression:?} {page} {compressed}");
            if let Err(error) = checked {
                assert_eq!((error.kind(), error.context_value("file")), (ErrorKind::CorruptFile, Some("f")));
            }
        }
        // bytes behind a head
        assert_eq!(limits(zstd, 1).check("f", 4, &data(huge, 1), true).unwrap(), Some(0));
    }

    #[test]
    fn a_head_that_goes_on_is_asked_for_again() {
        let whole = head(0, 100, 100, 1);
        for length in 0..whole.len() {
            assert_eq!(limits(Compression::UNCOMPRESSED, 100).check("f", 4, &whole[..length], false).unwrap(), None);
        }
        assert_eq!(limits(Compression::UNCOMPRESSED, 100).check("f", 4, &whole, false).unwrap(), Some(301));
    }

    #[test]
    fn a_page_lies_in_a_chunk() {
        let page = head(0, 100, 100, 1);
        for (offset, whole) in [(0, true), (1000, true), (1000, false)] {
            let error = limits(Compression::UNCOMPRESSED, 100).check("f", offset, &page, whole).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CorruptFile);
        }
        assert_eq!(PageLimits::default().check("f", 1000, &page, false).unwrap(), Some(0));
    }

    /// An index that lies about rows would leave rows out, or give those of other rows.
    #[test]
    fn a_page_has_as_many_rows_as_its_index_says() {
        let page = [head(0, 100, 100, 10), vec![0; 100]].concat();
        let indexed = |flat, rows| {
            let chunk = chunk(Compression::UNCOMPRESSED, 200);
            PageLimits(vec![ChunkLimit { flat, pages: Some(vec![(4, rows), (300, 7)]), ..chunk }])
        };
        assert!(indexed(true, 10).check("f", 4, &page, true).unwrap().is_some());
        assert!(indexed(false, 9).check("f", 4, &page, true).unwrap().is_some(), "values are no rows");
        for rows in [0, 9, 11] {
            let error = indexed(true, rows).check("f", 4, &page, true).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CorruptFile);
        }
        for (offset, bytes) in [(4, &page[..5]), (5, &page[..])] {
            let error = indexed(true, 10).check("f", offset, bytes, true).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CorruptFile);
        }
    }

    #[test]
    fn pages_of_an_index_follow_one_another() {
        let of = |places: &[(i64, i64)]| {
            let location = |(offset, first): &(i64, i64)| PageLocation {
                offset: *offset,
                compressed_page_size: 9,
                first_row_index: *first,
            };
            pages(Some(&places.iter().map(location).collect::<Vec<_>>()), 100)
        };
        assert_eq!(of(&[(4, 0), (50, 30), (90, 70)]), [(4, 30), (50, 40), (90, 30)]);
        for wrong in [
            &[(4, 1), (50, 30)][..],
            &[(4, 0), (4, 30)],
            &[(50, 0), (4, 30)],
            &[(4, 0), (50, 101)],
            &[(4, 0), (50, 30), (90, 29)],
            &[(4, 0), (50, -1)],
            &[(-4, 0)],
            &[],
        ] {
            assert!(of(wrong).is_empty(), "{wrong:?}");
        }
    }
}
