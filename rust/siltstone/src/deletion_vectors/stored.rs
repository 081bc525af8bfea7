//! A deletion vector in its serialized bytes: read without being rebuilt.
//!
//! ```text
//! RoaringBitmap, portable format (little-endian)
//! u32 12346, u32 containers      without runs     or u32 12347 | (containers - 1) << 16, one bit a container: is a run
//! containers times               u16 key, u16 cardinality - 1
//! containers times u32 offset    without runs, or from 4 containers on
//! containers                     up to 4096 values: u16 each, ascending; more: 8192 bytes, one bit a value;
//!                                run: u16 runs, each u16 start, u16 length - 1
//! ```
#![allow(
    clippy::indexing_slicing,
    reason = "`parse` checks every container against the bytes before anything reads one"
)]

use std::ops::Range;

use arrow_array::Int64Array;
use arrow_buffer::{BooleanBuffer, Buffer};
use bytes::Bytes;
use roaring::RoaringBitmap;

use super::{BitmapKind, DeletionVector, MAGIC_32, MAGIC_64, Position};
use crate::{
    error::{Error, ErrorKind, Result},
    limits,
};

const NO_RUNS: u32 = 12346;
const RUNS: u32 = 12347;
/// Containers of so many values or fewer are lists.
const LIST_LIMIT: u32 = 4096;
const WORD_BYTES: usize = 8192;
/// Bytes of the smallest bitmap with its key, and of the smallest container.
const LEAST_PART: usize = 22;
const LEAST_CONTAINER: usize = 6;
/// What a bitmap takes in a list that has grown, and around its containers.
const PART_MEMORY: usize = 2 * size_of::<Part>() + 32;
/// From so many containers on, bitmaps with runs have offsets.
const OFFSETS_FROM: usize = 4;

/// The deleted rows of one data file, as an index file has them.
#[derive(Clone, Debug)]
pub struct DeletedRows {
    kind: BitmapKind,
    /// From the size field to the CRC.
    bytes: Bytes,
    parts: Vec<Part>,
    cardinality: u64,
    file: String,
    offset: u64,
}

/// One 32-bit bitmap.
#[derive(Clone, Debug)]
struct Part {
    high: u32,
    range: Range<usize>,
    containers: Vec<Container>,
}

#[derive(Clone, Copy, Debug)]
struct Container {
    key: u16,
    form: Form,
    /// Values of a list, or runs.
    items: u32,
    /// Where they begin.
    at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    List,
    Words,
    Runs,
}

impl DeletedRows {
    /// Takes the bytes from the size field to the CRC, which may have more behind them. `file` and `offset` (of the size
    /// field) are for errors. Errors: wrong magic, size or structure is `CorruptFile`; a wrong CRC `ChecksumMismatch`.
    pub fn parse(file: &str, offset: u64, bytes: Bytes) -> Result<Self> {
        let wrong = |at: usize, expected: &str, found: String| {
            let at = offset.saturating_add(u64::try_from(at).unwrap_or(u64::MAX));
            Error::corrupt(file, at, expected, found)
        };
        let Some((size, magic)) = bytes.first_chunk::<8>().map(|head| head.split_at(4)) else {
            return Err(wrong(0, "a deletion vector", format!("{} bytes", bytes.len())));
        };
        let size = i64::from(i32::from_be_bytes([size[0], size[1], size[2], size[3]]));
        let end = usize::try_from(size).ok().filter(|size| *size >= 4).and_then(|size| size.checked_add(4));
        let Some(end) = end.filter(|end| end.checked_add(4).is_some_and(|all| all <= bytes.len())) else {
            return Err(wrong(0, "the size of a deletion vector within the file", format!("{size} bytes")));
        };
        let kind = match magic {
            m if m == MAGIC_32 => BitmapKind::Bits32,
            m if m == MAGIC_64 => BitmapKind::Bits64,
            other => {
                let found = crate::codec::to_hex(other);
                return Err(wrong(4, "the magic number of a deletion vector, 5e43f2d0 or d1d33964", found));
            }
        };
        let stored = u32::from_be_bytes([bytes[end], bytes[end + 1], bytes[end + 2], bytes[end + 3]]);
        let found = crc32fast::hash(&bytes[4..end]);
        if stored != found {
            let text = format!("a deletion vector has the checksum {found:08x}, but {stored:08x} is stored with it");
            return Err(Error::new(ErrorKind::ChecksumMismatch, text).with("file", file).with("offset", offset));
        }
        let bytes = bytes.slice(..end + 4);
        let mut rows = Self { kind, parts: Vec::new(), cardinality: 0, file: file.to_owned(), offset, bytes };
        rows.read_parts(end)?;
        Ok(rows)
    }

    fn read_parts(&mut self, end: usize) -> Result<()> {
        let data = self.bytes.clone();
        if let (BitmapKind::Bits64, Some(count)) = (self.kind, data.get(8..).and_then(|rest| rest.first_chunk::<8>())) {
            let bytes = memory_of_parts(u64::from_le_bytes(*count), end);
            limits::ask(bytes, "a deletion vector").map_err(|e| e.with("file", &self.file))?;
        }
        let mut cursor = Cursor { data: &data[..end], at: 8 };
        let result = match self.kind {
            BitmapKind::Bits32 => self.read_part(&mut cursor, 0),
            BitmapKind::Bits64 => self.read_64(&mut cursor),
        };
        let end_reached = result.and_then(|()| {
            let left = cursor.data.len() - cursor.at;
            if left == 0 { Ok(()) } else { Err(("the end of the bitmap", format!("{left} bytes more"))) }
        });
        end_reached.map_err(|(expected, found)| {
            let at = self.offset.saturating_add(u64::try_from(cursor.at).unwrap_or(u64::MAX));
            Error::corrupt(&self.file, at, expected, found)
        })
    }

    fn read_64(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        let count = u64::from(cursor.u32()?) | u64::from(cursor.u32()?) << 32;
        let mut last = None;
        for _ in 0..count {
            let high = cursor.u32()?;
            if last.is_some_and(|last| last >= high) || high > 0x7FFF_FFFE {
                return Err(("ascending keys of bitmaps", high.to_string()));
            }
            last = Some(high);
            self.read_part(cursor, high)?;
        }
        Ok(())
    }

    fn read_part(&mut self, cursor: &mut Cursor<'_>, high: u32) -> Parsed<()> {
        let start = cursor.at;
        let (containers, cardinality) = containers(cursor)?;
        self.cardinality += cardinality;
        if !containers.is_empty() {
            self.parts.push(Part { high, range: start..cursor.at, containers });
        }
        Ok(())
    }

    /// The encoding.
    pub fn kind(&self) -> BitmapKind {
        self.kind
    }

    /// From the size field to the CRC.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The length of these bytes as the range map has it.
    pub fn range_length(&self) -> i64 {
        self.kind.length(i64::try_from(self.bytes.len()).unwrap_or(i64::MAX) - 8)
    }

    /// Where the vector was read, for errors.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// How many rows are deleted.
    pub fn cardinality(&self) -> u64 {
        self.cardinality
    }

    /// Whether no row is deleted.
    pub fn is_empty(&self) -> bool {
        self.cardinality == 0
    }

    /// The largest deleted position.
    pub fn max(&self) -> Option<u64> {
        let part = self.parts.last()?;
        let container = part.containers.last()?;
        Some(u64::from(part.high) << 32 | u64::from(container.key) << 16 | u64::from(self.last_of(container)))
    }

    /// An error when a position is not one of a file of `rows` rows.
    pub fn check_rows(&self, data_file: &str, rows: i64) -> Result<()> {
        match self.max() {
            Some(max) if i64::try_from(max).map_or(true, |max| max >= rows) => {
                let text = format!("a deletion vector deletes row {max} of a data file of {rows} rows");
                Err(Error::new(ErrorKind::CorruptFile, text)
                    .with("file", &self.file)
                    .with("offset", self.offset)
                    .with("data_file", data_file))
            }
            _ => Ok(()),
        }
    }

    /// Whether the row at `position` is deleted.
    #[inline]
    pub fn is_deleted(&self, position: u64) -> bool {
        #[allow(clippy::cast_possible_truncation, reason = "parts of a number")]
        let (high, key, low) = ((position >> 32) as u32, (position >> 16) as u16, position as u16);
        let containers = match self.parts.first() {
            // nearly always the only one
            Some(part) if part.high == high => &part.containers,
            _ => match self.parts.binary_search_by_key(&high, |part| part.high) {
                Ok(part) => &self.parts[part].containers,
                Err(_) => return false,
            },
        };
        // most vectors have a container for every key from 0 on
        let at = match containers.get(usize::from(key)) {
            Some(container) if container.key == key => usize::from(key),
            _ => match containers.binary_search_by_key(&key, |container| container.key) {
                Ok(at) => at,
                Err(_) => return false,
            },
        };
        self.holds(&containers[at], low)
    }

    #[inline]
    fn holds(&self, container: &Container, low: u16) -> bool {
        let at = container.at;
        match container.form {
            Form::Words => self.bytes[at + usize::from(low >> 3)] >> (low & 7) & 1 == 1,
            Form::List => search(container.items, |i| self.u16(at + 2 * i), low).is_ok(),
            Form::Runs => match search(container.items, |i| self.u16(at + 4 * i), low) {
                Ok(_) => true,
                Err(0) => false,
                Err(after) => {
                    let (start, more) = self.run(at, after - 1);
                    low - start <= more
                }
            },
        }
    }

    /// Which of these rows are deleted, in any order.
    pub fn deleted_at<P: Position>(&self, positions: &[P]) -> BooleanBuffer {
        BooleanBuffer::collect_bool(positions.len(), |i| self.is_deleted(positions[i].row()))
    }

    /// Which of the rows `start..start + rows` stay; `None` when all do.
    pub fn keep(&self, start: u64, rows: usize) -> Option<BooleanBuffer> {
        let end = start.saturating_add(u64::try_from(rows).unwrap_or(u64::MAX));
        // begin at a whole word, so that words are copied as they are
        let aligned = start - start % 64;
        let skipped = usize::try_from(start - aligned).unwrap_or(0);
        let mut mask: Option<Vec<u64>> = None;
        for part in &self.parts {
            let base = u64::from(part.high) << 32;
            if base >= end {
                break;
            }
            let first_key = start.saturating_sub(base) >> 16;
            let from = part.containers.partition_point(|c| u64::from(c.key) < first_key);
            for container in &part.containers[from..] {
                let least = base + (u64::from(container.key) << 16);
                if least >= end {
                    break;
                }
                let mask = mask.get_or_insert_with(|| vec![u64::MAX; (skipped + rows).div_ceil(64)]);
                self.clear(container, least, aligned, mask);
            }
        }
        let mask = mask?;
        let kept = BooleanBuffer::new(Buffer::from_vec(mask), skipped, rows);
        Some(kept)
    }

    /// Clears the bits of a container's rows in a mask that begins at `aligned`.
    fn clear(&self, container: &Container, least: u64, aligned: u64, mask: &mut [u64]) {
        // the container's position relative to the mask, which may begin inside of it
        let (ahead, behind) = (least.saturating_sub(aligned), aligned.saturating_sub(least));
        let (ahead, behind) = (to_usize(ahead), to_usize(behind));
        let limit = mask.len() * 64;
        match container.form {
            Form::Words => {
                let words = &self.bytes[container.at + behind / 8..container.at + WORD_BYTES];
                let (words, _) = words.as_chunks::<8>();
                for (word, deleted) in mask[ahead / 64..].iter_mut().zip(words) {
                    *word &= !u64::from_le_bytes(*deleted);
                }
            }
            Form::List => {
                let values = &self.bytes[container.at..container.at + 2 * container.items as usize];
                let (values, _) = values.as_chunks::<2>();
                let first = values.partition_point(|v| usize::from(u16::from_le_bytes(*v)) < behind);
                for value in &values[first..] {
                    let bit = usize::from(u16::from_le_bytes(*value)) + ahead - behind;
                    if bit >= limit {
                        break;
                    }
                    mask[bit / 64] &= !(1 << (bit % 64));
                }
            }
            Form::Runs => {
                for i in 0..container.items as usize {
                    let (start, more) = self.run(container.at, i);
                    let (from, to) = (usize::from(start), usize::from(start) + usize::from(more) + 1);
                    let (from, to) = (from.max(behind) + ahead - behind, to.max(behind) + ahead - behind);
                    clear_range(mask, from.min(limit)..to.min(limit));
                }
            }
        }
    }

    /// Which of some rows stay, by their positions; `None` when all do.
    pub fn keep_at(&self, positions: &Int64Array) -> Option<BooleanBuffer> {
        let values = positions.values();
        let (Some(first), Some(last)) = (values.first(), values.last()) else {
            return None;
        };
        let ascending_by_one = usize::try_from(last.saturating_sub(*first)).is_ok_and(|d| d + 1 == values.len());
        match u64::try_from(*first) {
            Ok(first) if ascending_by_one => self.keep(first, values.len()),
            _ => {
                let deleted = self.deleted_at(values);
                (deleted.count_set_bits() > 0).then(|| !&deleted)
            }
        }
    }

    /// The form that changes.
    pub fn to_vector(&self) -> Result<DeletionVector> {
        let mut parts = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let bitmap = RoaringBitmap::deserialize_from(&self.bytes[part.range.clone()]).map_err(|e| {
                let at = self.offset.saturating_add(u64::try_from(part.range.start).unwrap_or(u64::MAX));
                Error::corrupt(&self.file, at, "a bitmap of a deletion vector", "another structure").caused_by(e)
            })?;
            parts.push((part.high, bitmap));
        }
        let vector = DeletionVector::from_parts(self.kind, parts);
        if vector.cardinality() != self.cardinality {
            let found = vector.cardinality();
            return Err(Error::corrupt(&self.file, self.offset, format!("{} deleted rows", self.cardinality), found));
        }
        Ok(vector)
    }

    fn last_of(&self, container: &Container) -> u16 {
        let at = container.at;
        match container.form {
            Form::List => self.u16(at + 2 * (container.items as usize - 1)),
            Form::Runs => {
                let (start, more) = self.run(at, container.items as usize - 1);
                start.saturating_add(more)
            }
            Form::Words => {
                let words = &self.bytes[at..at + WORD_BYTES];
                let byte = words.iter().rposition(|byte| *byte != 0).unwrap_or(0);
                let bit = 7_u32.saturating_sub(words[byte].leading_zeros());
                u16::try_from(byte * 8 + bit as usize).unwrap_or(u16::MAX)
            }
        }
    }

    fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    fn run(&self, at: usize, i: usize) -> (u16, u16) {
        (self.u16(at + 4 * i), self.u16(at + 4 * i + 2))
    }
}

impl TryFrom<&mut DeletionVector> for DeletedRows {
    type Error = Error;

    fn try_from(vector: &mut DeletionVector) -> Result<Self> {
        Self::parse("a deletion vector in memory", 0, vector.serialize()?.into())
    }
}

/// What so many bitmaps in so many bytes take at most: those of few rows take more memory than bytes.
fn memory_of_parts(count: u64, bytes: usize) -> usize {
    let parts = to_usize(count).min(bytes / LEAST_PART);
    let containers = parts.saturating_mul(1 << 16).min(bytes / LEAST_CONTAINER);
    parts.saturating_mul(PART_MEMORY).saturating_add(containers.saturating_mul(size_of::<Container>()))
}

/// Expected, found.
type Parsed<T> = std::result::Result<T, (&'static str, String)>;

struct Cursor<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, len: usize) -> Parsed<&'a [u8]> {
        let end = self.at.checked_add(len).filter(|end| *end <= self.data.len());
        let end = end.ok_or_else(|| ("a bitmap within the deletion vector", "its end".to_owned()))?;
        let taken = &self.data[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn u32(&mut self) -> Parsed<u32> {
        self.take(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    fn u16(&mut self) -> Parsed<u16> {
        self.take(2).map(|b| u16::from_le_bytes([b[0], b[1]]))
    }
}

/// The containers of the bitmap at the cursor, and how many values they hold.
fn containers(cursor: &mut Cursor<'_>) -> Parsed<(Vec<Container>, u64)> {
    let cookie = cursor.u32()?;
    let (count, runs): (usize, &[u8]) = match cookie {
        NO_RUNS => (cursor.u32()? as usize, &[]),
        _ if cookie & 0xFFFF == RUNS => {
            let count = (cookie >> 16) as usize + 1;
            (count, cursor.take(count.div_ceil(8))?)
        }
        other => return Err(("the cookie of a RoaringBitmap", other.to_string())),
    };
    if count > 1 << 16 {
        return Err(("at most 65536 containers", count.to_string()));
    }
    let heads = cursor.take(4 * count)?;
    if runs.is_empty() || count >= OFFSETS_FROM {
        cursor.take(4 * count)?;
    }
    let mut containers: Vec<Container> = Vec::with_capacity(count);
    let mut total = 0;
    for (i, head) in heads.as_chunks::<4>().0.iter().enumerate() {
        let key = u16::from_le_bytes([head[0], head[1]]);
        let cardinality = u32::from(u16::from_le_bytes([head[2], head[3]])) + 1;
        if containers.last().is_some_and(|last| last.key >= key) {
            return Err(("ascending keys of containers", key.to_string()));
        }
        let is_run = runs.get(i / 8).is_some_and(|bits| bits >> (i % 8) & 1 == 1);
        containers.push(container(cursor, key, cardinality, is_run)?);
        total += u64::from(cardinality);
    }
    Ok((containers, total))
}

fn container(cursor: &mut Cursor<'_>, key: u16, cardinality: u32, is_run: bool) -> Parsed<Container> {
    if is_run {
        let items = u32::from(cursor.u16()?);
        let at = cursor.at;
        let runs = cursor.take(4 * items as usize)?;
        let (mut next, mut rows) = (0_u32, 0_u32);
        for run in runs.as_chunks::<4>().0 {
            let start = u32::from(u16::from_le_bytes([run[0], run[1]]));
            let end = start + u32::from(u16::from_le_bytes([run[2], run[3]]));
            if start < next || end > 0xFFFF {
                return Err(("ascending runs within a container", format!("{start} to {end}")));
            }
            rows += end - start + 1;
            next = end + 1;
        }
        if rows != cardinality {
            return Err(("runs of as many rows as the container says", rows.to_string()));
        }
        return Ok(Container { key, form: Form::Runs, items, at });
    }
    let at = cursor.at;
    if cardinality > LIST_LIMIT {
        let words = cursor.take(WORD_BYTES)?.as_chunks::<8>().0;
        let rows: u32 = words.iter().map(|word| u64::from_le_bytes(*word).count_ones()).sum();
        if rows != cardinality {
            return Err(("words of as many rows as the container says", rows.to_string()));
        }
        return Ok(Container { key, form: Form::Words, items: cardinality, at });
    }
    let values = cursor.take(2 * cardinality as usize)?;
    if !values.as_chunks::<2>().0.is_sorted_by(|a, b| u16::from_le_bytes(*a) < u16::from_le_bytes(*b)) {
        return Err(("ascending values in a container", "others".to_owned()));
    }
    Ok(Container { key, form: Form::List, items: cardinality, at })
}

/// Binary search among `items` values.
fn search(items: u32, value: impl Fn(usize) -> u16, wanted: u16) -> std::result::Result<usize, usize> {
    let (mut from, mut to) = (0, items as usize);
    while from < to {
        let middle = from.midpoint(to);
        match value(middle).cmp(&wanted) {
            std::cmp::Ordering::Equal => return Ok(middle),
            std::cmp::Ordering::Less => from = middle + 1,
            std::cmp::Ordering::Greater => to = middle,
        }
    }
    Err(from)
}

fn clear_range(mask: &mut [u64], range: Range<usize>) {
    if range.is_empty() {
        return;
    }
    let (first, last) = (range.start / 64, (range.end - 1) / 64);
    let low = u64::MAX << (range.start % 64);
    let high = u64::MAX >> (63 - (range.end - 1) % 64);
    if first == last {
        mask[first] &= !(low & high);
        return;
    }
    mask[first] &= !low;
    mask[first + 1..last].fill(0);
    mask[last] &= !high;
}

fn to_usize(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Millions of bitmaps with a row each were several times as much as their bytes, and nobody asked for it.
    #[test]
    fn bitmaps_of_few_rows_count_with_what_they_take() {
        assert!(memory_of_parts(100_000, 22 * 100_000) >= 100_000 * (size_of::<Part>() + size_of::<Container>()));
        // no more than there can be
        assert!(memory_of_parts(u64::MAX, 2200) < 100 * 300);
        // one dense bitmap
        assert!(memory_of_parts(1, 100 << 20) < 2 << 20);
    }
}
