//! Bitmaps of row numbers, in Roaring's portable format.

use roaring::RoaringBitmap;

use crate::{
    codec::ByteReader,
    error::{Error, ErrorKind, Result},
    limits::{Held, Taken},
};

/// Of the head of a bitmap that has runs; the number of its containers but one stands behind it.
const RUNS: u16 = 12347;
/// The most containers of a bitmap.
const MOST_CONTAINERS: usize = 1 << 16;
/// The most bytes of a container, which has every second row in a run of its own.
const CONTAINER_BYTES: usize = 128 << 10;
/// What a container takes in memory beside its own bytes.
const BESIDE: usize = 96;
/// Bitmaps of all rows that an answer takes at once.
const OF_AN_ANSWER: usize = 5;

/// A bitmap that takes these bytes, of rows of a file that has so many.
pub(super) fn read(what: &str, bytes: &[u8], rows: u32, taken: &Taken) -> Result<RoaringBitmap> {
    ask(what, bytes, taken)?;
    let bitmap = RoaringBitmap::deserialize_from(bytes).map_err(|e| broken(what).caused_by(e))?;
    check_rows(what, bitmap, rows)
}

/// The next bitmap, which says itself how long it is.
pub(super) fn read_next(what: &str, from: &mut ByteReader<'_>, rows: u32, taken: &Taken) -> Result<RoaringBitmap> {
    let rest = from.clone().take(from.remaining())?;
    ask(what, rest, taken)?;
    let mut left = rest;
    let bitmap = RoaringBitmap::deserialize_from(&mut left).map_err(|e| broken(what).caused_by(e))?;
    from.take(rest.len().saturating_sub(left.len()))?;
    check_rows(what, bitmap, rows)
}

/// Asks for what a bitmap takes that begins with these bytes.
fn ask(what: &str, bytes: &[u8], taken: &Taken) -> Result<()> {
    let containers = containers(bytes);
    let own = containers.saturating_mul(CONTAINER_BYTES).min(bytes.len());
    let bytes = own.saturating_add(containers.saturating_mul(BESIDE));
    taken.more(bytes, "a bitmap of a file index").map_err(|e| e.with("file", what))
}

/// How many containers a bitmap says that it has.
fn containers(bytes: &[u8]) -> usize {
    let Some(([low, high], rest)) = bytes.split_first_chunk::<4>().map(|(head, rest)| {
        let [a, b, c, d] = *head;
        ([u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d])], rest)
    }) else {
        return 0;
    };
    if low == RUNS {
        return usize::from(high).saturating_add(1);
    }
    let count = rest.first_chunk::<4>().map_or(0, |count| u32::from_le_bytes(*count));
    usize::try_from(count).unwrap_or(usize::MAX).min(MOST_CONTAINERS)
}

/// The bitmaps that an answer about a file of so many rows takes, until this is dropped.
pub(super) fn hold_answer(rows: u32) -> Result<Held> {
    let mut held = Held::default();
    let bytes = usize::try_from(rows / 8).unwrap_or(usize::MAX).saturating_mul(OF_AN_ANSWER);
    held.more(bytes, "the answer of a file index")?;
    Ok(held)
}

/// A few bytes can name four billion rows: what goes through them would not end.
fn check_rows(what: &str, bitmap: RoaringBitmap, rows: u32) -> Result<RoaringBitmap> {
    match bitmap.max() {
        Some(last) if last >= rows => Err(beyond(what, last, rows)),
        _ => Ok(bitmap),
    }
}

/// An index names a row that its file does not have.
pub(super) fn beyond(what: &str, row: u32, rows: u32) -> Error {
    let text = format!("expected numbers of the {rows} rows of the file, found row {row}");
    Error::new(ErrorKind::CorruptFile, text).with("file", what)
}

/// In the form that Java gives it.
pub(super) fn bytes(bitmap: &RoaringBitmap) -> Result<Vec<u8>> {
    let mut bitmap = bitmap.clone();
    bitmap.optimize();
    let mut out = Vec::with_capacity(bitmap.serialized_size());
    bitmap
        .serialize_into(&mut out)
        .map_err(|e| Error::new(ErrorKind::Internal, "a bitmap cannot be written").caused_by(e))?;
    Ok(out)
}

/// The rows from 0 on.
pub(super) fn first(rows: u32) -> RoaringBitmap {
    let mut all = RoaringBitmap::new();
    all.insert_range(0..rows);
    all
}

fn broken(what: &str) -> Error {
    Error::new(ErrorKind::CorruptFile, "expected a bitmap of rows, found another structure").with("file", what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_bitmap_says_how_many_containers_there_are() {
        let mut bitmap: RoaringBitmap = [1, 70_000, 1 << 20].into_iter().collect();
        assert_eq!(containers(&bytes(&bitmap).unwrap()), 3);
        bitmap.insert_range(1 << 24..1 << 25);
        bitmap.optimize();
        assert_eq!(containers(&bytes(&bitmap).unwrap()), 3 + 256);
        assert_eq!((containers(&[]), containers(&[58, 48, 0, 0, 255, 255, 255, 255])), (0, MOST_CONTAINERS));
    }

    /// The bitmaps of an index were made one after another without asking.
    #[test]
    fn what_bitmaps_take_is_counted_before_they_are_read() {
        let bitmap: RoaringBitmap = (0..100).map(|n| n << 16).collect();
        let (taken, bytes) = (Taken::default(), bytes(&bitmap).unwrap());
        read("x", &bytes, u32::MAX, &taken).unwrap();
        assert!(taken.bytes() >= 100 * BESIDE + bytes.len(), "{}", taken.bytes());
        let one = taken.bytes();
        read_next("x", &mut ByteReader::new("x", &bytes), u32::MAX, &taken).unwrap();
        assert_eq!(taken.bytes(), 2 * one);
    }
}
