//! Reading bytes that somebody else wrote: every step checks that they are there.

use crate::error::{Error, Result};

/// A position in some bytes. `what` names the bytes in errors (a file, or `partition of entry 3`).
#[derive(Clone, Debug)]
pub struct ByteReader<'a> {
    what: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ByteReader<'a> {
    /// At the first byte.
    pub fn new(what: &'a str, bytes: &'a [u8]) -> Self {
        Self { what, bytes, at: 0 }
    }

    /// Bytes read so far.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Bytes not read yet.
    pub fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// The next `n` bytes.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let taken = self.at.checked_add(n).and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or_else(|| self.error(format!("{n} bytes"), format!("{}", self.remaining())))?;
        self.at += n;
        Ok(taken)
    }

    /// The next `N` bytes as an array.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.take(N)?;
        bytes.try_into().map_err(|_| self.error(format!("{N} bytes"), bytes.len()))
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Big-endian i16.
    pub fn i16_be(&mut self) -> Result<i16> {
        self.array().map(i16::from_be_bytes)
    }

    /// Big-endian u16.
    pub fn u16_be(&mut self) -> Result<u16> {
        self.array().map(u16::from_be_bytes)
    }

    /// Big-endian i32.
    pub fn i32_be(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    /// Big-endian i64.
    pub fn i64_be(&mut self) -> Result<i64> {
        self.array().map(i64::from_be_bytes)
    }

    /// Little-endian i32.
    pub fn i32_le(&mut self) -> Result<i32> {
        self.array().map(i32::from_le_bytes)
    }

    /// Little-endian i64.
    pub fn i64_le(&mut self) -> Result<i64> {
        self.array().map(i64::from_le_bytes)
    }

    /// A big-endian i32 that counts something of at least `unit` bytes each, all of them still to come.
    pub fn count_be(&mut self, unit: usize) -> Result<usize> {
        let at = self.at;
        let count = self.i32_be()?;
        let fits = usize::try_from(count).ok().filter(|n| n.saturating_mul(unit) <= self.remaining());
        fits.ok_or_else(|| {
            let expected = format!("a count of at most {} bytes", self.remaining());
            Error::corrupt(self.what, at as u64, expected, count)
        })
    }

    /// An error at the current position.
    pub fn error(&self, expected: impl std::fmt::Display, found: impl std::fmt::Display) -> Error {
        Error::corrupt(self.what, self.at as u64, expected, found)
    }

    /// An error unless everything was read.
    pub fn finish(&self) -> Result<()> {
        if self.remaining() == 0 {
            return Ok(());
        }
        Err(self.error("the end", format!("{} more bytes", self.remaining())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_past_the_end_names_the_place() {
        let mut reader = ByteReader::new("here", &[0, 0, 0, 7, 1]);
        assert_eq!(reader.i32_be().unwrap(), 7);
        let error = reader.i32_be().unwrap_err();
        assert_eq!(error.to_string(), "expected 4 bytes, found 1 (file: here, offset: 4)");
    }

    #[test]
    fn a_count_larger_than_the_bytes_behind_it_is_refused() {
        let bytes = [0x7f, 0xff, 0xff, 0xff, 1, 2];
        assert!(ByteReader::new("x", &bytes).count_be(1).is_err());
        assert!(ByteReader::new("x", &[0xff; 8]).count_be(0).is_err());
        assert_eq!(ByteReader::new("x", &[0, 0, 0, 2, 1, 2]).count_be(1).unwrap(), 2);
    }
}
