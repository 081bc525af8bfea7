//! Bitmaps of row numbers, in Roaring's portable format.

use roaring::RoaringBitmap;

use crate::{
    codec::ByteReader,
    error::{Error, ErrorKind, Result},
};

/// A bitmap that takes these bytes, of rows of a file that has so many.
pub(super) fn read(what: &str, bytes: &[u8], rows: u32) -> Result<RoaringBitmap> {
    let bitmap = RoaringBitmap::deserialize_from(bytes).map_err(|e| broken(what).caused_by(e))?;
    check_rows(what, bitmap, rows)
}

/// The next bitmap, which says itself how long it is.
pub(super) fn read_next(what: &str, from: &mut ByteReader<'_>, rows: u32) -> Result<RoaringBitmap> {
    let rest = from.clone().take(from.remaining())?;
    let mut left = rest;
    let bitmap = RoaringBitmap::deserialize_from(&mut left).map_err(|e| broken(what).caused_by(e))?;
    from.take(rest.len().saturating_sub(left.len()))?;
    check_rows(what, bitmap, rows)
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
