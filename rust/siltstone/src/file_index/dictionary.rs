//! The dictionary of a range bitmap, as it is read. Its chunks have keys of their own: keys that several shared would be many more
//! in memory than bytes in the file.

use super::{
    key::{Form, Key},
    listed::Listed,
};
use crate::{codec::ByteReader, error::Result};

pub(super) const VERSION: u8 = 1;

/// The header behind its length, after its version.
pub(super) fn header<'a>(what: &'a str, from: &mut ByteReader<'a>) -> Result<ByteReader<'a>> {
    let length = from.count_be(1)?;
    let mut header = ByteReader::new(what, from.take(length)?);
    match header.u8()? {
        VERSION => Ok(header),
        other => Err(header.error(format!("version {VERSION} of a range bitmap"), other)),
    }
}

/// The values, of which the index tells so many.
pub(super) fn read_dictionary(what: &str, bytes: &[u8], form: Form, mut values: Listed<Key>) -> Result<Vec<Key>> {
    let mut from = ByteReader::new(what, bytes);
    let mut header = header(what, &mut from)?;
    let (count, offsets, chunks) = (header.i32_be()?, header.i32_be()?, header.i32_be()?);
    let part = |from: &mut ByteReader<'_>, length: i32| match usize::try_from(length) {
        Ok(length) => Ok(length),
        Err(_) => Err(from.error("a length", length)),
    };
    let (offsets, chunks) = (part(&mut from, offsets)?, part(&mut from, chunks)?);
    from.take(offsets)?;
    let mut chunks = ByteReader::new(what, from.take(chunks)?);
    let mut keys = Keys { bytes: from.take(from.remaining())?, read: 0 };
    for _ in 0..count {
        read_chunk(what, &mut chunks, &mut keys, form, &mut values)?;
    }
    chunks.finish()?;
    values.finish(&chunks)
}

/// The keys of all chunks.
struct Keys<'a> {
    bytes: &'a [u8],
    /// Where those end that were read.
    read: usize,
}

impl<'a> Keys<'a> {
    /// Those from an offset on, behind so many bytes.
    fn of_chunk(&self, chunk: &ByteReader<'_>, offset: i32, skipped: i32) -> Result<(usize, &'a [u8])> {
        let place = usize::try_from(offset).ok().zip(usize::try_from(skipped).ok());
        let start = place.filter(|(offset, _)| *offset >= self.read);
        let start = start.and_then(|(offset, skipped)| offset.checked_add(skipped));
        let own = start.and_then(|start| Some((start, self.bytes.get(start..)?)));
        own.ok_or_else(|| {
            let expected = format!("keys of a chunk between {} and {}", self.read, self.bytes.len());
            chunk.error(expected, format!("{offset} and {skipped} bytes more"))
        })
    }
}

fn read_chunk(
    what: &str,
    chunk: &mut ByteReader<'_>,
    keys: &mut Keys<'_>,
    form: Form,
    values: &mut Listed<Key>,
) -> Result<()> {
    let version = chunk.u8()?;
    if version != VERSION {
        return Err(chunk.error(format!("version {VERSION} of a chunk"), version));
    }
    let first = form.read(chunk)?;
    let (number, offset, further) = (chunk.i32_be()?, chunk.i32_be()?, chunk.i32_be()?);
    let lengths = (chunk.i32_be()?, chunk.i32_be()?);
    if usize::try_from(number) != Ok(values.len()) {
        return Err(chunk.error(format!("a chunk from value {} on", values.len()), number));
    }
    values.push_ascending(chunk, first)?;
    // of texts the offsets come first, and every key says itself how long it is
    let skipped = if form.is_fixed() { 0 } else { lengths.0 };
    let (start, own) = keys.of_chunk(chunk, offset, skipped)?;
    let mut own = ByteReader::new(what, own);
    for _ in 0..further {
        let key = form.read(&mut own)?;
        values.push_ascending(&own, key)?;
    }
    keys.read = start.saturating_add(own.position());
    Ok(())
}
