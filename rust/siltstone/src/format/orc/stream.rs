//! The plain bytes of a stretch of a file, read and decompressed a chunk at a time.

use std::sync::Arc;

use bytes::Bytes;

use super::compression::Codec;
use crate::{
    cancel,
    error::{Error, Result},
    fs::InputFile,
    limits,
};

/// Bytes of a stream that are read at once.
const WINDOW: u64 = 256 * 1024;

/// Values that are asked for before they are found; a file may have fewer than it claims.
pub(super) const MOST_AT_ONCE: usize = 1 << 16;

/// A file and how it is compressed.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) input: Arc<dyn InputFile>,
    pub(super) codec: Codec,
    /// Plain bytes of a chunk at most.
    pub(super) chunk_bytes: usize,
}

impl Source {
    pub(super) fn corrupt(&self, at: u64, expected: impl std::fmt::Display, found: impl std::fmt::Display) -> Error {
        Error::corrupt(self.input.path(), at, expected, found)
    }

    /// All plain bytes of a stretch, for metadata: a footer, the footer of a stripe, statistics.
    pub(super) fn plain(&self, start: u64, length: u64) -> Result<Vec<u8>> {
        let mut stream = Stream::new(self.clone(), start, length);
        let most = limits::most_metadata(usize::try_from(length).unwrap_or(usize::MAX));
        let mut plain = Vec::new();
        while stream.refill()? {
            let more = stream.chunk.len();
            if plain.len().saturating_add(more) > most {
                let expected = format!("metadata that becomes at most {most} bytes");
                return Err(self.corrupt(start, expected, "some that becomes more"));
            }
            limits::grow(&mut plain, more, "the metadata of an ORC file")
                .map_err(|e| e.with("file", self.input.path()))?;
            plain.extend_from_slice(&stream.chunk);
        }
        Ok(plain)
    }
}

/// The plain bytes of a stretch. A clone goes on from the same place.
#[derive(Clone)]
pub(super) struct Stream {
    source: Source,
    /// Where in the file what follows the window starts, and the stretch ends.
    next: u64,
    end: u64,
    window: Bytes,
    chunk: Bytes,
    at: usize,
}

impl Stream {
    pub(super) fn new(source: Source, start: u64, length: u64) -> Self {
        let end = start.saturating_add(length);
        Self { source, next: start, end, window: Bytes::new(), chunk: Bytes::new(), at: 0 }
    }

    /// Of no bytes.
    pub(super) fn empty(source: Source) -> Self {
        Self::new(source, 0, 0)
    }

    /// The file's.
    pub(super) fn path(&self) -> &str {
        self.source.input.path()
    }

    /// Where in the file it is, about.
    fn position(&self) -> u64 {
        self.next.saturating_sub(self.window.len() as u64)
    }

    #[cold]
    pub(super) fn corrupt(&self, expected: impl std::fmt::Display, found: impl std::fmt::Display) -> Error {
        self.source.corrupt(self.position(), expected, found)
    }

    /// At least so many bytes in the window.
    fn need(&mut self, bytes: usize) -> Result<()> {
        if self.window.len() >= bytes {
            return Ok(());
        }
        let missing = (bytes - self.window.len()) as u64;
        let left = self.end.saturating_sub(self.next);
        if missing > left {
            return Err(self.corrupt(format!("a chunk of {bytes} bytes"), format!("{left} bytes of a stream")));
        }
        let length = missing.max(WINDOW.min(left));
        let more = self.source.input.read_range(self.next, length)?;
        self.next = self.next.saturating_add(length);
        self.window = if self.window.is_empty() { more } else { [&*self.window, &*more].concat().into() };
        Ok(())
    }

    /// The next chunk; whether there is one.
    fn refill(&mut self) -> Result<bool> {
        (self.chunk, self.at) = (Bytes::new(), 0);
        while self.chunk.is_empty() {
            if self.window.is_empty() && self.next >= self.end {
                return Ok(false);
            }
            cancel::check()?;
            if self.source.codec == Codec::None {
                self.need(1)?;
                self.chunk = std::mem::take(&mut self.window);
                break;
            }
            self.need(3)?;
            let header = self.window.split_to(3);
            let header = header.iter().rev().fold(0_usize, |all, byte| all << 8 | usize::from(*byte));
            let length = header >> 1;
            self.need(length)?;
            let packed = self.window.split_to(length);
            if header & 1 == 1 {
                self.chunk = packed;
                break;
            }
            let plain = self.source.codec.decompress(&packed, self.source.chunk_bytes);
            self.chunk = plain.map_err(|e| self.corrupt(format!("a chunk of {:?}", self.source.codec), e))?.into();
        }
        Ok(true)
    }

    /// What is there of the chunk, which is something.
    pub(super) fn available(&mut self) -> Result<&[u8]> {
        if self.at >= self.chunk.len() && !self.refill()? {
            return Err(self.corrupt("more values", "the end of a stream"));
        }
        Ok(self.chunk.get(self.at..).unwrap_or_default())
    }

    /// Passes over bytes of what is there.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8> {
        if let Some(byte) = self.chunk.get(self.at) {
            self.at += 1;
            return Ok(*byte);
        }
        let byte = self.available()?.first().copied().unwrap_or_default();
        self.at += 1;
        Ok(byte)
    }

    /// Room for values that are there: what a file claims to have is no reason to ask for memory.
    pub(super) fn room<T>(&self, values: &mut Vec<T>, more: usize) -> Result<()> {
        limits::grow(values, more, "values of an ORC file").map_err(|e| e.with("file", self.path()))
    }

    /// Appends so many bytes.
    pub(super) fn read(&mut self, to: &mut Vec<u8>, mut bytes: usize) -> Result<()> {
        while bytes > 0 {
            let taken = self.available()?.len().min(bytes);
            self.room(to, taken)?;
            to.extend_from_slice(self.chunk.get(self.at..self.at + taken).unwrap_or_default());
            self.consume(taken);
            bytes -= taken;
        }
        Ok(())
    }

    /// A number of any size, least significant bits first, as it stands.
    pub(super) fn unsigned(&mut self) -> Result<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.corrupt("a variable-length number", "too many bytes"))
    }

    /// One with a sign.
    pub(super) fn signed(&mut self) -> Result<i64> {
        self.unsigned().map(unzigzag)
    }

    /// One of up to 128 bits, with a sign.
    pub(super) fn wide(&mut self) -> Result<i128> {
        let mut value = 0_u128;
        for shift in (0..128).step_by(7) {
            let byte = self.byte()?;
            let bits = u128::from(byte & 0x7f);
            if shift > 121 && bits >> (128 - shift) != 0 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
            }
        }
        Err(self.corrupt("an unscaled number of 128 bits", "a larger one"))
    }
}

/// 0, -1, 1, -2, ...
#[inline]
pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{error::ErrorKind, format::records::InMemory};

    /// A footer of so many chunks of zeros, 8 MiB each.
    fn zeros(chunks: usize) -> (Source, u64) {
        let packed = Codec::Zstd.compress(&vec![0; 8 << 20], 1).unwrap();
        let header = (packed.len() << 1).to_le_bytes();
        let bytes = Bytes::from([&header[..3], &packed].concat().repeat(chunks));
        let length = bytes.len() as u64;
        let input = Arc::new(InMemory { path: "bomb.orc".to_owned(), bytes });
        (Source { input, codec: Codec::Zstd, chunk_bytes: 8 << 20 }, length)
    }

    /// A footer of 58 KB became 512 MB, and any number of them where there was memory.
    #[test]
    fn metadata_becomes_no_more_than_its_length_allows() {
        let (source, length) = zeros(1);
        assert_eq!(source.plain(0, length).unwrap().len(), 8 << 20);
        let (source, length) = zeros(30);
        assert!(limits::most_metadata(usize::try_from(length).unwrap()) < 30 * (8 << 20), "{length}");
        let error = source.plain(0, length).unwrap_err();
        assert_eq!((error.kind(), error.context_value("file")), (ErrorKind::CorruptFile, Some("bomb.orc")));
    }
}
