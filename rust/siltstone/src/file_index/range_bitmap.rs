//! `range-bitmap`: the sorted values, and a bitmap for each bit of their numbers (format chapter 9.6).
//!
//! ```text
//! i32 header length | u8 1 | i32 rows | i32 values | [min | max] | i32 dictionary length
//! dictionary:  i32 header length | u8 1 | i32 chunks | i32 offsets length | i32 chunks length
//!              i32 offset of each chunk | chunks | keys
//! chunk:       u8 1 | first key | i32 its number | i32 offset of its keys | i32 further keys
//!              fixed lengths: i32 keys length | i32 key length      texts: i32 offsets length | i32 keys length
//! numbers:     i32 header length | u8 1 | u8 slices | i32 existing length | i32 places length | (i32 offset | i32 length)*
//!              existing rows | slices
//! ```
//!
//! Source: `RangeBitmap`, `ChunkedDictionary`, `FixedLengthChunk`, `VariableLengthChunk`, `BitSliceIndexBitmap`.

use roaring::RoaringBitmap;

use super::{
    Candidates,
    bit_slices::BitSlices,
    bitmap::BitmapsToWrite,
    dictionary::{VERSION, header, read_dictionary},
    key::{Form, Key, put_length},
    listed::{Listed, ask_whether_to_stop},
    question::{Index, Question},
    roaring_bytes,
};
use crate::{codec::ByteReader, error::Result, limits::Taken, predicate::CompareOp};

/// An index that was read.
#[derive(Debug)]
pub(super) struct RangeBitmap {
    rows: u32,
    /// Ascending; their numbers are their places.
    values: Vec<Key>,
    numbers: BitSlices,
}

impl RangeBitmap {
    pub(super) fn read(what: &str, bytes: &[u8], form: Form, rows: u32) -> Result<Self> {
        let mut from = ByteReader::new(what, bytes);
        let mut header = header(what, &mut from)?;
        let (told, count) = (header.i32_be()?, header.i32_be()?);
        if u32::try_from(told) != Ok(rows) {
            return Err(from.error(format!("{rows} rows, as the data file has"), told));
        }
        let count = usize::try_from(count).unwrap_or(0);
        if count == 0 {
            return Ok(Self { rows, values: Vec::new(), numbers: BitSlices::default() });
        }
        let values = Listed::new(&header, count, rows)?;
        form.read(&mut header)?;
        form.read(&mut header)?;
        let length = header.count_be(0)?;
        let values = read_dictionary(what, from.take(length)?, form, values)?;
        let numbers = read_numbers(what, from.take(from.remaining())?, rows)?;
        Ok(Self { rows, values, numbers })
    }

    fn compare(&self, op: CompareOp, key: &Key) -> Result<RoaringBitmap> {
        let below = self.values.partition_point(|value| value < key);
        let is_there = self.values.get(below).is_some_and(|value| value == key);
        // the numbers from `below` on are those of larger values, where the value itself is not there
        match (op, is_there) {
            (CompareOp::Eq, false) => Ok(RoaringBitmap::new()),
            (CompareOp::NotEq, false) => Ok(self.numbers.existing.clone()),
            (CompareOp::Lt | CompareOp::LtEq, false) => self.numbers.compare(CompareOp::Lt, below as u64),
            (CompareOp::Gt | CompareOp::GtEq, false) => self.numbers.compare(CompareOp::GtEq, below as u64),
            (op, true) => self.numbers.compare(op, below as u64),
        }
    }
}

impl Index for RangeBitmap {
    fn answer(&self, question: &Question<'_>) -> Result<Candidates> {
        let any = |keys: &[Key]| {
            let mut keys = keys.iter();
            keys.try_fold(RoaringBitmap::new(), |all, key| self.compare(CompareOp::Eq, key).map(|one| all | one))
        };
        let existing = &self.numbers.existing;
        Ok(Candidates::Rows(match question {
            Question::IsNull => roaring_bytes::first(self.rows) - existing,
            Question::IsNotNull => existing.clone(),
            Question::In(keys) => any(keys)?,
            Question::NotIn(keys) => existing - any(keys)?,
            Question::Compare(op, key) => self.compare(*op, key)?,
            Question::Prefix(prefix) => {
                let from = self.compare(CompareOp::GtEq, prefix)?;
                match prefix.behind_prefix() {
                    Some(behind) => from & self.compare(CompareOp::Lt, &behind)?,
                    None => from,
                }
            }
        }))
    }
}

/// Slices have bytes of their own, as keys have.
fn read_numbers(what: &str, bytes: &[u8], rows: u32) -> Result<BitSlices> {
    let mut from = ByteReader::new(what, bytes);
    let mut header = header(what, &mut from)?;
    let (count, existing, _) = (header.u8()?, header.i32_be()?, header.i32_be()?);
    if count > 64 {
        return Err(header.error("at most 64 slices", count));
    }
    let taken = Taken::default();
    let length = usize::try_from(existing).unwrap_or(usize::MAX);
    let existing = roaring_bytes::read(what, from.take(length)?, rows, &taken)?;
    let body = from.take(from.remaining())?;
    let (mut slices, mut read) = (Vec::with_capacity(count.into()), 0);
    for _ in 0..count {
        let (offset, length) = (header.i32_be()?, header.i32_be()?);
        let range = usize::try_from(offset).ok().zip(usize::try_from(length).ok());
        let range = range.and_then(|(offset, length)| Some(offset..offset.checked_add(length)?));
        let slice = range.filter(|range| range.start >= read).and_then(|range| Some((range.end, body.get(range)?)));
        let (end, slice) = slice.ok_or_else(|| {
            let expected = format!("a slice between {read} and {}", body.len());
            header.error(expected, format!("{length} bytes from {offset} on"))
        })?;
        slices.push(roaring_bytes::read(what, slice, rows, &taken)?);
        read = end;
    }
    Ok(BitSlices { existing, slices })
}

/// The bytes of an index of these values; a chunk has at most so many bytes of keys beside the first one.
pub(super) fn bytes(values: &BitmapsToWrite, form: Form, chunk_size: u64) -> Result<Vec<u8>> {
    let count = values.values.len();
    let mut numbers = BitSlices::new((count as u64).saturating_sub(1), 1);
    for (number, (_, rows)) in (0..).zip(&values.values) {
        ask_whether_to_stop(usize::try_from(number).unwrap_or(0))?;
        rows.iter().for_each(|row| numbers.add(row, number));
    }
    let mut head = vec![VERSION];
    head.extend_from_slice(&values.rows.to_be_bytes());
    put_length(&mut head, count);
    for bound in [values.values.first(), values.values.last()].into_iter().flatten() {
        form.write(&bound.0, &mut head);
    }
    let dictionary = dictionary(values, form, chunk_size)?;
    put_length(&mut head, dictionary.len());
    let mut out = Vec::new();
    put_length(&mut out, head.len());
    out.extend(head);
    out.extend(dictionary);
    // without values Java has a slice for each bit of -1
    if count == 0 {
        numbers.slices.resize(64, RoaringBitmap::new());
    }
    write_numbers(&mut out, &numbers)?;
    Ok(out)
}

/// A chunk that is being filled.
struct Chunk<'a> {
    first: &'a Key,
    number: usize,
    further: usize,
    offsets: Vec<u8>,
    keys: Vec<u8>,
}

impl Chunk<'_> {
    fn has_room(&self, form: Form, key: &Key, size: u64) -> bool {
        let fits = |bytes: &Vec<u8>, more: usize| (bytes.len() + more) as u64 <= size;
        fits(&self.keys, form.size(key)) && (form.is_fixed() || fits(&self.offsets, 4))
    }

    fn add(&mut self, form: Form, key: &Key) {
        if !form.is_fixed() {
            put_length(&mut self.offsets, self.keys.len());
        }
        form.write(key, &mut self.keys);
        self.further += 1;
    }
}

fn dictionary(values: &BitmapsToWrite, form: Form, chunk_size: u64) -> Result<Vec<u8>> {
    let mut chunks: Vec<Chunk<'_>> = Vec::new();
    for (number, (key, _)) in values.values.iter().enumerate() {
        ask_whether_to_stop(number)?;
        match chunks.last_mut().filter(|chunk| chunk.has_room(form, key, chunk_size)) {
            Some(chunk) => chunk.add(form, key),
            None => chunks.push(Chunk { first: key, number, further: 0, offsets: Vec::new(), keys: Vec::new() }),
        }
    }
    let (mut offsets, mut heads, mut keys) = (Vec::new(), Vec::new(), Vec::new());
    for chunk in &chunks {
        put_length(&mut offsets, heads.len());
        heads.push(VERSION);
        form.write(chunk.first, &mut heads);
        for number in [chunk.number, keys.len(), chunk.further] {
            put_length(&mut heads, number);
        }
        let lengths =
            if form.is_fixed() { [chunk.keys.len(), form.least()] } else { [chunk.offsets.len(), chunk.keys.len()] };
        for length in lengths {
            put_length(&mut heads, length);
        }
        keys.extend_from_slice(&chunk.offsets);
        keys.extend_from_slice(&chunk.keys);
    }
    let mut out = Vec::new();
    put_length(&mut out, 13);
    out.push(VERSION);
    for length in [chunks.len(), offsets.len(), heads.len()] {
        put_length(&mut out, length);
    }
    out.extend(offsets);
    out.extend(heads);
    out.extend(keys);
    Ok(out)
}

fn write_numbers(out: &mut Vec<u8>, numbers: &BitSlices) -> Result<()> {
    let existing = roaring_bytes::bytes(&numbers.existing)?;
    let (mut places, mut body) = (Vec::new(), Vec::new());
    for slice in &numbers.slices {
        let bytes = roaring_bytes::bytes(slice)?;
        put_length(&mut places, body.len());
        put_length(&mut places, bytes.len());
        body.extend(bytes);
    }
    put_length(out, 10 + places.len());
    out.push(VERSION);
    // at most 64
    out.push(u8::try_from(numbers.slices.len()).unwrap_or(64));
    put_length(out, existing.len());
    put_length(out, places.len());
    out.extend(places);
    out.extend(existing);
    out.extend(body);
    Ok(())
}
