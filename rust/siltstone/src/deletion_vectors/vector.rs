//! A deletion vector that changes.

use std::collections::BTreeMap;

use arrow_buffer::BooleanBuffer;
use roaring::RoaringBitmap;

use super::{BitmapKind, DeletedRows, MAGIC_32, MAGIC_64, Position, bulk::collect};
use crate::error::{Error, ErrorKind, Result};

/// Bitmaps of 2^32 rows each that a written vector has at most. All of them are written, even empty ones, and a vector
/// that was read can name any row.
const MAX_KEYS: u64 = 1 << 16;

/// The deleted rows of one data file.
///
/// Source: requirement DV-17; `DeletionVector` and its two implementations.
#[derive(Clone, Debug)]
pub struct DeletionVector {
    kind: BitmapKind,
    /// Positions below 2^32.
    low: RoaringBitmap,
    /// The others, by their high 32 bits (only [`BitmapKind::Bits64`]).
    high: BTreeMap<u32, RoaringBitmap>,
}

impl DeletionVector {
    /// No row is deleted.
    pub fn new(kind: BitmapKind) -> Self {
        Self { kind, low: RoaringBitmap::new(), high: BTreeMap::new() }
    }

    /// The encoding it is serialized in.
    pub fn kind(&self) -> BitmapKind {
        self.kind
    }

    /// Marks the row at `position`. An error when the encoding cannot hold it.
    pub fn delete(&mut self, position: u64) -> Result<()> {
        self.checked_delete(position).map(|_| ())
    }

    /// Marks the row at `position` and says whether it was not marked before.
    pub fn checked_delete(&mut self, position: u64) -> Result<bool> {
        self.check(position)?;
        let (high, low) = split(position);
        Ok(match high {
            0 => self.low.insert(low),
            high => self.high.entry(high).or_default().insert(low),
        })
    }

    /// Marks many rows, in any order; ascending ones are fastest.
    pub fn delete_all<P: Position>(&mut self, positions: &[P]) -> Result<()> {
        for (high, added) in self.added(positions)? {
            self.unite(high, added);
        }
        Ok(())
    }

    /// Marks many rows and says which of them were not marked before; `None` when none was.
    pub fn checked_delete_all<P: Position>(&mut self, positions: &[P]) -> Result<Option<BooleanBuffer>> {
        let added = self.added(positions)?;
        let known = |(high, bitmap): &(u32, RoaringBitmap)| match high {
            0 => !self.low.is_disjoint(bitmap),
            high => self.high.get(high).is_some_and(|old| !old.is_disjoint(bitmap)),
        };
        let fresh = added.iter().any(known).then(|| positions.iter().map(|p| !self.is_deleted(p.row())).collect());
        for (high, added) in added {
            self.unite(high, added);
        }
        Ok(fresh)
    }

    /// These positions by their high 32 bits.
    fn added<P: Position>(&self, positions: &[P]) -> Result<Vec<(u32, RoaringBitmap)>> {
        let most = match collect(positions) {
            Ok(low) => {
                self.check(low.max().map_or(0, u64::from))?;
                return Ok(vec![(0, low)]);
            }
            Err(most) => most,
        };
        self.check(most)?;
        let mut parts: BTreeMap<u32, RoaringBitmap> = BTreeMap::new();
        for position in positions {
            let (high, low) = split(position.row());
            parts.entry(high).or_default().insert(low);
        }
        Ok(parts.into_iter().collect())
    }

    fn unite(&mut self, high: u32, added: RoaringBitmap) {
        let part = self.part(high);
        if part.is_empty() { *part = added } else { *part |= added }
    }

    /// Marks the rows `from..to`.
    pub fn delete_range(&mut self, from: u64, to: u64) -> Result<()> {
        let Some(last) = to.checked_sub(1).filter(|last| *last >= from) else {
            return Ok(());
        };
        self.check(last)?;
        for high in split(from).0..=split(last).0 {
            let least = if high == split(from).0 { split(from).1 } else { 0 };
            let most = if high == split(last).0 { split(last).1 } else { u32::MAX };
            self.part(high).insert_range(least..=most);
        }
        Ok(())
    }

    /// Marks the rows that another vector marks, whatever its encoding (Java refuses to merge two encodings).
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if let Some(most) = other.max() {
            self.check(most)?;
        }
        self.low |= &other.low;
        for (high, bitmap) in &other.high {
            *self.high.entry(*high).or_default() |= bitmap;
        }
        Ok(())
    }

    /// Whether the row at `position` is deleted.
    pub fn is_deleted(&self, position: u64) -> bool {
        let (high, low) = split(position);
        match high {
            0 => self.low.contains(low),
            high => self.high.get(&high).is_some_and(|bitmap| bitmap.contains(low)),
        }
    }

    /// Whether no row is deleted.
    pub fn is_empty(&self) -> bool {
        self.low.is_empty() && self.high.values().all(RoaringBitmap::is_empty)
    }

    /// How many rows are deleted.
    pub fn cardinality(&self) -> u64 {
        self.low.len() + self.high.values().map(RoaringBitmap::len).sum::<u64>()
    }

    /// The largest position.
    pub fn max(&self) -> Option<u64> {
        let high = self.high.iter().rev().find_map(|(high, bitmap)| Some(join(*high, bitmap.max()?)));
        high.or_else(|| self.low.max().map(u64::from))
    }

    /// All positions, ascending.
    pub fn positions(&self) -> impl Iterator<Item = u64> {
        let high = self.high.iter().flat_map(|(high, bitmap)| bitmap.iter().map(|low| join(*high, low)));
        self.low.iter().map(u64::from).chain(high)
    }

    /// The bytes from the size field to the CRC, behind what `out` holds already. Returns the length as the range map
    /// has it.
    pub fn serialize_into(&mut self, out: &mut Vec<u8>) -> Result<i32> {
        let start = out.len();
        out.extend([0; 4]);
        match self.kind {
            BitmapKind::Bits32 => {
                out.extend(MAGIC_32);
                write_bitmap(&mut self.low, out)?;
            }
            BitmapKind::Bits64 => self.write_64(out)?,
        }
        let size = out.len() - start - 4;
        let data = out.get(start + 4..).unwrap_or_default();
        let crc = crc32fast::hash(data);
        let too_large = |_| Error::new(ErrorKind::LengthExceeded, "a deletion vector takes more than 2 GiB");
        let size = i32::try_from(size).map_err(too_large)?;
        if let Some(field) = out.get_mut(start..start + 4) {
            field.copy_from_slice(&size.to_be_bytes());
        }
        out.extend(crc.to_be_bytes());
        i32::try_from(self.kind.length(i64::from(size))).map_err(too_large)
    }

    fn write_64(&mut self, out: &mut Vec<u8>) -> Result<()> {
        out.extend(MAGIC_64);
        self.high.retain(|_, bitmap| !bitmap.is_empty());
        // as Java: every key from 0 to the largest, empty ones too; no vector without rows has a key
        let keys = match self.high.last_key_value() {
            Some((last, _)) => u64::from(*last) + 1,
            None => u64::from(!self.low.is_empty()),
        };
        if keys > MAX_KEYS {
            return Err(Error::new(
                ErrorKind::CorruptFile,
                format!("a deletion vector deletes row {}, which no data file has", self.max().unwrap_or(0)),
            ));
        }
        out.extend(keys.to_le_bytes());
        let mut empty = RoaringBitmap::new();
        for key in 0..u32::try_from(keys).unwrap_or(u32::MAX) {
            out.extend(key.to_le_bytes());
            let bitmap = if key == 0 { &mut self.low } else { self.high.get_mut(&key).unwrap_or(&mut empty) };
            write_bitmap(bitmap, out)?;
        }
        Ok(())
    }

    /// [`DeletionVector::serialize_into`] into a buffer of its own.
    pub fn serialize(&mut self) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(self.low.serialized_size().saturating_add(32));
        self.serialize_into(&mut out)?;
        Ok(out)
    }

    /// From the bytes that [`DeletionVector::serialize`] gives; `file` and `offset` are for errors: wrong magic, size or
    /// bitmap is `CorruptFile`, a wrong CRC `ChecksumMismatch`.
    pub fn deserialize(file: &str, offset: u64, bytes: &[u8]) -> Result<Self> {
        DeletedRows::parse(file, offset, bytes::Bytes::copy_from_slice(bytes))?.to_vector()
    }

    pub(super) fn from_parts(kind: BitmapKind, parts: impl IntoIterator<Item = (u32, RoaringBitmap)>) -> Self {
        let mut vector = Self::new(kind);
        for (high, bitmap) in parts {
            *vector.part(high) = bitmap;
        }
        vector.high.retain(|_, bitmap| !bitmap.is_empty());
        vector
    }

    fn part(&mut self, high: u32) -> &mut RoaringBitmap {
        if high == 0 { &mut self.low } else { self.high.entry(high).or_default() }
    }

    fn check(&self, position: u64) -> Result<()> {
        if position <= self.kind.max_position() {
            return Ok(());
        }
        let text = format!("a deletion vector of this kind cannot hold position {position}");
        Err(Error::new(ErrorKind::LengthExceeded, text)
            .with("option", "deletion-vectors.bitmap64")
            .hint("set 'deletion-vectors.bitmap64' = 'true' for data files of more than 2^31 rows"))
    }
}

/// The same rows, whatever the encoding.
impl PartialEq for DeletionVector {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.positions().eq(other.positions())
    }
}

/// Run-optimised as Java does before writing, then the portable format.
fn write_bitmap(bitmap: &mut RoaringBitmap, out: &mut Vec<u8>) -> Result<()> {
    bitmap.optimize();
    out.reserve(bitmap.serialized_size());
    bitmap
        .serialize_into(out)
        .map_err(|e| Error::new(ErrorKind::Internal, "a bitmap could not be serialized").caused_by(e))
}

#[allow(clippy::cast_possible_truncation, reason = "the two halves of a number")]
fn split(position: u64) -> (u32, u32) {
    ((position >> 32) as u32, position as u32)
}

fn join(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}
