//! `bitmap`: a bitmap for each value (format chapter 9.4).
//!
//! ```text
//! version 1:  u8 1 | i32 rows | i32 distinct | u8 has null | [i32 null offset] | (value | i32 offset)* | bitmaps
//! version 2:  u8 2 | i32 rows | i32 distinct | u8 has null | [i32 null offset | i32 null length]
//!             i32 blocks | (first value | i32 offset of the block)* | i32 offset of the bitmaps
//!             blocks: i32 entries | (value | i32 offset | i32 length)*
//!             bitmaps
//! ```
//!
//! An offset below 0 stands for one row, `-1 - offset`, without a bitmap.
//!
//! Source: `BitmapFileIndex`, `BitmapFileIndexMeta`, `BitmapFileIndexMetaV2`.

use roaring::RoaringBitmap;

use super::{
    Candidates,
    key::{Form, Key, put_length},
    listed::{Listed, ask_whether_to_stop},
    question::{Index, Question},
    roaring_bytes,
};
use crate::{
    cancel,
    codec::ByteReader,
    error::{Error, Result},
    limits::{self, Taken},
};

/// An index that was read: where the bitmap of each value is.
#[derive(Debug)]
pub(super) struct Bitmaps<'a> {
    what: &'a str,
    rows: u32,
    nulls: Option<i32>,
    /// Ascending.
    values: Vec<(Key, i32)>,
    body: &'a [u8],
}

impl<'a> Bitmaps<'a> {
    pub(super) fn read(what: &'a str, bytes: &'a [u8], form: Form, rows: u32) -> Result<Self> {
        let mut from = ByteReader::new(what, bytes);
        let version = from.u8()?;
        if !(1..=2).contains(&version) {
            return Err(from.error("version 1 or 2 of a bitmap index", version));
        }
        let told = from.i32_be()?;
        if u32::try_from(told) != Ok(rows) {
            return Err(from.error(format!("{rows} rows, as the data file has"), told));
        }
        let distinct = from.count_be(form.least().saturating_add(4))?;
        let nulls = if from.u8()? == 0 { None } else { Some(from.i32_be()?) };
        let mut values = Listed::new(&from, distinct, rows)?;
        if version == 1 {
            for _ in 0..distinct {
                let value = (form.read(&mut from)?, from.i32_be()?);
                values.push(&from, value)?;
            }
            let mut values = values.finish(&from)?;
            // takes no memory beside the list
            values.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            let body = from.take(from.remaining())?;
            return Ok(Self { what, rows, nulls, values, body });
        }
        if nulls.is_some() {
            from.i32_be()?;
        }
        let blocks = from.count_be(form.least().saturating_add(4))?;
        for number in 0..blocks {
            ask_whether_to_stop(number)?;
            form.read(&mut from)?;
            from.i32_be()?;
        }
        let size = from.count_be(1)?;
        let values = read_blocks(what, from.take(size)?, blocks, form, values)?;
        let body = from.take(from.remaining())?;
        Ok(Self { what, rows, nulls, values, body })
    }

    fn nulls(&self) -> Result<RoaringBitmap> {
        self.nulls.map_or(Ok(RoaringBitmap::new()), |offset| self.bitmap(offset))
    }

    fn of(&self, key: &Key) -> Result<RoaringBitmap> {
        match self.values.binary_search_by(|(value, _)| value.cmp(key)) {
            Ok(at) => self.values.get(at).map_or(Ok(RoaringBitmap::new()), |(_, offset)| self.bitmap(*offset)),
            Err(_) => Ok(RoaringBitmap::new()),
        }
    }

    fn bitmap(&self, offset: i32) -> Result<RoaringBitmap> {
        cancel::check()?;
        let Ok(start) = usize::try_from(offset) else {
            let row = (-1 - offset).cast_unsigned();
            if row >= self.rows {
                return Err(roaring_bytes::beyond(self.what, row, self.rows));
            }
            return Ok(RoaringBitmap::from_iter([row]));
        };
        let bytes = self.body.get(start..);
        let bytes =
            bytes.ok_or_else(|| Error::corrupt(self.what, start as u64, "a bitmap of rows", "the end of the index"))?;
        roaring_bytes::read_next(self.what, &mut ByteReader::new(self.what, bytes), self.rows, &Taken::default())
    }

    fn any(&self, keys: &[Key]) -> Result<RoaringBitmap> {
        keys.iter().try_fold(RoaringBitmap::new(), |all, key| Ok(all | self.of(key)?))
    }

    /// Rows of the values between these places.
    fn between(&self, from: usize, to: usize) -> Result<RoaringBitmap> {
        let values = self.values.get(from..to.max(from)).unwrap_or_default();
        let mut offsets = Vec::new();
        limits::reserve(&mut offsets, values.len(), "the places of bitmaps")?;
        offsets.extend(values.iter().map(|(_, offset)| *offset));
        // values that share a bitmap do not have it decoded again
        offsets.sort_unstable();
        offsets.dedup();
        offsets.into_iter().try_fold(RoaringBitmap::new(), |all, offset| Ok(all | self.bitmap(offset)?))
    }
}

impl Index for Bitmaps<'_> {
    fn answer(&self, question: &Question<'_>) -> Result<Candidates> {
        let not_null = || Ok::<_, Error>(roaring_bytes::first(self.rows) - self.nulls()?);
        Ok(Candidates::Rows(match question {
            Question::IsNull => self.nulls()?,
            Question::IsNotNull => not_null()?,
            Question::In(keys) => self.any(keys)?,
            Question::NotIn(keys) => not_null()? - self.any(keys)?,
            Question::Compare(op, key) => {
                use crate::predicate::CompareOp::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
                let below = self.values.partition_point(|(value, _)| value < key);
                let up_to = self.values.partition_point(|(value, _)| value <= key);
                let all = self.values.len();
                match op {
                    Eq => self.of(key)?,
                    NotEq => not_null()? - self.of(key)?,
                    Lt => self.between(0, below)?,
                    LtEq => self.between(0, up_to)?,
                    Gt => self.between(up_to, all)?,
                    GtEq => self.between(below, all)?,
                }
            }
            Question::Prefix(prefix) => {
                let from = self.values.partition_point(|(value, _)| value < prefix);
                let to = match prefix.behind_prefix() {
                    Some(behind) => self.values.partition_point(|(value, _)| *value < behind),
                    None => self.values.len(),
                };
                self.between(from, to)?
            }
        }))
    }
}

fn read_blocks(
    what: &str,
    bytes: &[u8],
    blocks: usize,
    form: Form,
    mut values: Listed<(Key, i32)>,
) -> Result<Vec<(Key, i32)>> {
    let mut from = ByteReader::new(what, bytes);
    for number in 0..blocks {
        ask_whether_to_stop(number)?;
        let count = from.count_be(form.least().saturating_add(8))?;
        for _ in 0..count {
            let (key, offset, _) = (form.read(&mut from)?, from.i32_be()?, from.i32_be()?);
            values.push_ascending(&from, (key, offset))?;
        }
    }
    from.finish()?;
    values.finish(&from)
}

/// The bitmaps of a column that is written.
#[derive(Debug, Default)]
pub(super) struct BitmapsToWrite {
    pub(super) rows: u32,
    pub(super) nulls: RoaringBitmap,
    /// Ascending.
    pub(super) values: Vec<(Key, RoaringBitmap)>,
}

/// What stands for a bitmap.
struct Place {
    offset: i32,
    /// -1 where there is no bitmap.
    length: i32,
}

impl BitmapsToWrite {
    /// In this version; a block of version 2 has at most so many bytes.
    pub(super) fn bytes(&self, form: Form, version: u8, block_size: u64) -> Result<Vec<u8>> {
        let nulls = roaring_bytes::bytes(&self.nulls)?;
        let mut body = if self.nulls.len() > 1 { nulls.clone() } else { Vec::new() };
        let mut places = Vec::with_capacity(self.values.len());
        for (number, (_, rows)) in self.values.iter().enumerate() {
            ask_whether_to_stop(number)?;
            places.push(if let (1, Some(row)) = (rows.len(), rows.min()) {
                Place { offset: -1 - row.cast_signed(), length: -1 }
            } else {
                let offset = length(body.len());
                body.extend(roaring_bytes::bytes(rows)?);
                Place { offset, length: length(body.len()) - offset }
            });
        }
        let mut out = vec![version];
        out.extend_from_slice(&self.rows.to_be_bytes());
        put_length(&mut out, self.values.len());
        out.push(u8::from(!self.nulls.is_empty()));
        if let Some(first) = self.nulls.min() {
            let offset = if self.nulls.len() == 1 { -1 - first.cast_signed() } else { 0 };
            out.extend_from_slice(&offset.to_be_bytes());
            if version > 1 {
                put_length(&mut out, nulls.len());
            }
        }
        let entries = self.values.iter().map(|(key, _)| key).zip(&places);
        if version > 1 {
            write_blocks(&mut out, form, block_size, entries);
        } else {
            for (key, place) in entries {
                form.write(key, &mut out);
                out.extend_from_slice(&place.offset.to_be_bytes());
            }
        }
        out.extend(body);
        Ok(out)
    }
}

fn write_blocks<'a>(
    out: &mut Vec<u8>,
    form: Form,
    block_size: u64,
    entries: impl Iterator<Item = (&'a Key, &'a Place)>,
) {
    let mut blocks: Vec<(&Key, i32, Vec<u8>)> = Vec::new();
    for (key, place) in entries {
        let full = |block: &Vec<u8>| (4 + block.len() + 8 + form.size(key)) as u64 > block_size;
        if blocks.last().is_none_or(|(_, _, block)| full(block)) {
            blocks.push((key, 0, Vec::new()));
        }
        if let Some((_, count, block)) = blocks.last_mut() {
            *count += 1;
            form.write(key, block);
            block.extend_from_slice(&place.offset.to_be_bytes());
            block.extend_from_slice(&place.length.to_be_bytes());
        }
    }
    put_length(out, blocks.len());
    let mut offset = 0;
    for (key, _, block) in &blocks {
        form.write(key, out);
        put_length(out, offset);
        offset += 4 + block.len();
    }
    put_length(out, offset);
    for (_, count, block) in &blocks {
        out.extend_from_slice(&count.to_be_bytes());
        out.extend_from_slice(block);
    }
}

/// No index is as long as `i32::MAX`.
fn length(bytes: usize) -> i32 {
    i32::try_from(bytes).unwrap_or(i32::MAX)
}
