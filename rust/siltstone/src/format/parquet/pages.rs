//! A look at the head of a page before the parquet crate asks for the memory that it claims to need.
//!
//! The crate makes room for as many bytes as a page says it has when it is decompressed, and where there is no such room
//! the process ends. So the claim is compared with the column chunk's own size, with what the compressed bytes can become
//! at most, and then with the memory there is; the values of a dictionary with its bytes, those of data with memory. A page begins
//! with three numbers, behind which each kind has its own (Thrift's compact protocol):
//!
//! ```text
//! 15 kind   15 bytes decompressed   15 bytes compressed   (each a zigzag varint)
//! [15 checksum]  a struct: 15 values
//! ```

use std::ops::Range;

use parquet::{basic::Compression, file::metadata::ParquetMetaData};

use super::chunks::chunk_range;
use crate::{
    error::{Error, Result},
    limits,
};

/// A field of type i32 whose id is one above that of the field before.
const NEXT_I32: u8 = 0x15;

/// A data page, a dictionary, a data page of the second version.
const DATA: i64 = 0;
const DICTIONARY: i64 = 2;
const DATA_V2: i64 = 3;

/// What decoding a value takes, whatever it is.
const VALUE_BYTES: u64 = 12;

/// Bytes that hold the numbers, whatever they are.
pub(super) const HEAD: usize = 5 * 6 + 1;

/// The column chunks of a read, in file order, and what their pages can be.
#[derive(Clone, Default)]
pub(super) struct PageLimits(Vec<ChunkLimit>);

#[derive(Clone)]
struct ChunkLimit {
    range: Range<u64>,
    compression: Compression,
    decompressed: u64,
    /// Its pages are asked for with their heads, because an index says where they are.
    indexed: bool,
}

impl PageLimits {
    /// Of these leaves in these row groups.
    pub(super) fn new(metadata: &ParquetMetaData, row_groups: &[usize], leaf: &dyn Fn(usize) -> bool) -> Self {
        let mut chunks = Vec::new();
        for index in row_groups {
            let Some(group) = metadata.row_groups().get(*index) else { continue };
            let indexed = metadata.offset_index().and_then(|groups| groups.get(*index)).is_some_and(|g| !g.is_empty());
            let columns = group.columns().iter().enumerate().filter(|(at, _)| leaf(*at));
            chunks.extend(columns.filter_map(|(_, column)| {
                Some(ChunkLimit {
                    range: chunk_range(column)?,
                    compression: column.compression(),
                    decompressed: u64::try_from(column.uncompressed_size()).unwrap_or(0),
                    indexed,
                })
            }));
        }
        chunks.sort_by_key(|chunk| chunk.range.start);
        Self(chunks)
    }

    /// An error unless the page whose head is at this offset of the file can be what it claims to be; `whole` when the
    /// page was asked for with its head.
    pub(super) fn check(&self, file: &str, offset: u64, head: &[u8], whole: bool) -> Result<()> {
        let before = self.0.partition_point(|chunk| chunk.range.start <= offset);
        let chunk = before.checked_sub(1).and_then(|at| self.0.get(at)).filter(|chunk| offset < chunk.range.end);
        let Some(chunk) = chunk.filter(|chunk| chunk.indexed == whole) else { return Ok(()) };
        let damaged = |expected: String, found: String| {
            Error::corrupt(file, offset, expected, found).hint("a page of the Parquet file is damaged")
        };
        let Some(Head { kind, decompressed, compressed, values }) = Head::read(head) else {
            return Err(damaged("the head of a page".to_owned(), "something else".to_owned()));
        };
        let most = chunk.decompressed.min(grown(chunk.compression, compressed));
        if decompressed > most {
            return Err(damaged(format!("a page of at most {most} bytes"), format!("{decompressed} bytes")));
        }
        if kind == DICTIONARY && values > decompressed {
            return Err(damaged(format!("a dictionary of at most {decompressed} values"), format!("{values} values")));
        }
        if kind != DICTIONARY {
            // runs of nulls take next to nothing in a file
            let bytes = usize::try_from(values.saturating_mul(VALUE_BYTES)).unwrap_or(usize::MAX);
            limits::ask(bytes, format_args!("a page of {values} values")).map_err(|e| e.with("file", file))?;
        }
        let bytes = usize::try_from(decompressed).unwrap_or(usize::MAX);
        limits::ask(bytes, format_args!("a page of {decompressed} bytes")).map_err(|e| e.with("file", file))
    }
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

/// What a page says of itself.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    kind: i64,
    decompressed: u64,
    compressed: u64,
    /// of a dictionary, of a byte at least each; of a data page, nulls included
    values: u64,
}

impl Head {
    fn read(head: &[u8]) -> Option<Self> {
        let mut bytes = head.iter().copied().peekable();
        let length = |number: i64| u64::try_from(number).ok();
        let kind = number(&mut bytes)?;
        let (decompressed, compressed) = (length(number(&mut bytes)?)?, length(number(&mut bytes)?)?);
        if bytes.peek() == Some(&NEXT_I32) {
            number(&mut bytes)?;
        }
        // a struct that is field 5, 7 or 8, behind field 3 or 4
        let of_kind = match kind {
            DATA => [0x2c, 0x1c],
            DICTIONARY => [0x4c, 0x3c],
            DATA_V2 => [0x5c, 0x4c],
            _ => return Some(Self { kind, decompressed, compressed, values: 0 }),
        };
        bytes.next().filter(|field| of_kind.contains(field))?;
        let values = length(number(&mut bytes)?)?;
        Some(Self { kind, decompressed, compressed, values })
    }
}

fn number(bytes: &mut impl Iterator<Item = u8>) -> Option<i64> {
    if bytes.next()? != NEXT_I32 {
        return None;
    }
    let mut zigzag = 0_u64;
    for shift in (0..35).step_by(7) {
        let byte = bytes.next()?;
        zigzag |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            let half = i64::try_from(zigzag >> 1).ok()?;
            return Some(if zigzag & 1 == 0 { half } else { -half - 1 });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use parquet::basic::ZstdLevel;

    use super::*;
    use crate::ErrorKind;

    fn head(kind: u64, decompressed: u64, compressed: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [kind, decompressed, compressed] {
            bytes.push(NEXT_I32);
            let mut rest = number << 1;
            while rest >= 0x80 {
                bytes.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
                rest >>= 7;
            }
            bytes.push(u8::try_from(rest).unwrap());
        }
        bytes
    }

    fn limits(compression: Compression, decompressed: u64) -> PageLimits {
        PageLimits(vec![ChunkLimit { range: 4..1000, compression, decompressed, indexed: false }])
    }

    #[test]
    fn the_numbers_of_a_head_are_read() {
        let of = |kind, decompressed, compressed, values| Some(Head { kind, decompressed, compressed, values });
        let data = |kind, more: &[u8]| [head(kind, 2_147_483_647, 300), more.to_vec()].concat();
        assert_eq!(Head::read(&data(0, &[0x2c, NEXT_I32, 18])), of(0, 2_147_483_647, 300, 9));
        assert_eq!(Head::read(&data(0, &[NEXT_I32, 0x81, 1, 0x1c, NEXT_I32, 18])), of(0, 2_147_483_647, 300, 9));
        assert_eq!(Head::read(&data(3, &[0x5c, NEXT_I32, 18])), of(3, 2_147_483_647, 300, 9));
        assert_eq!(Head::read(&data(1, &[])), of(1, 2_147_483_647, 300, 0));
        assert_eq!(Head::read(&data(0, &[])), None);
        assert_eq!(Head::read(&[NEXT_I32, 0, NEXT_I32, 1, NEXT_I32, 2]), None, "less than nothing");
        assert_eq!(Head::read(&[NEXT_I32, 0, NEXT_I32]), None);
        let dictionary = |more: &[u8]| [head(2, 500, 300), more.to_vec()].concat();
        assert_eq!(Head::read(&dictionary(&[0x4c, NEXT_I32, 18])), of(2, 500, 300, 9));
        assert_eq!(Head::read(&dictionary(&[NEXT_I32, 0x81, 1, 0x3c, NEXT_I32, 18])), of(2, 500, 300, 9));
        assert_eq!(Head::read(&dictionary(&[])), None);
    }

    #[test]
    fn a_dictionary_has_no_more_values_than_bytes() {
        let zstd = Compression::ZSTD(ZstdLevel::try_new(1).unwrap());
        let page = |values: &[u8]| [&head(2, 500, 300)[..], &[0x4c, NEXT_I32], values].concat();
        limits(zstd, 5000).check("f", 4, &page(&[0xe8, 0x07]), false).unwrap();
        let error = limits(zstd, 5000).check("f", 4, &page(&[0xfe, 0xff, 0xff, 0xff, 0x0f]), false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptFile);
    }

    #[test]
    fn a_page_is_no_larger_than_its_chunk_or_than_its_bytes_can_become() {
        let zstd = Compression::ZSTD(ZstdLevel::try_new(1).unwrap());
        let data = |page, compressed| [head(0, page, compressed), vec![0x2c, NEXT_I32, 2]].concat();
        let huge = u64::from(i32::MAX.unsigned_abs());
        for (compression, chunk, page, compressed, fine) in [
            (zstd, 5000, 5000, 20, true),
            (zstd, 5000, 5001, 20, false),
            (Compression::SNAPPY, huge, huge, 100, false),
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
        limits(zstd, 1).check("f", 1000, &data(huge, 1), false).unwrap();
        limits(zstd, 1).check("f", 4, &data(huge, 1), true).unwrap();
    }
}
