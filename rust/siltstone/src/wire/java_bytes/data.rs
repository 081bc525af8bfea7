//! Java's `DataOutput` and `DataInput`: big-endian numbers, modified UTF-8.
//!
//! ```text
//! boolean, byte  1 byte
//! int            4 bytes, big-endian
//! long           8 bytes, big-endian
//! UTF            u16 length in bytes, then modified UTF-8 (U+0000 as C0 80, surrogates apart)
//! bytes          int length, then the bytes
//! ```

use crate::error::{Error, ErrorKind, Result};

/// Bytes as `DataOutputStream` writes them.
#[derive(Debug, Default)]
pub(super) struct DataOutput {
    bytes: Vec<u8>,
}

impl DataOutput {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(super) fn bool(&mut self, value: bool) {
        self.bytes.push(u8::from(value));
    }

    pub(super) fn int(&mut self, value: i32) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    pub(super) fn long(&mut self, value: i64) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    /// A count of things, as int.
    pub(super) fn len(&mut self, value: usize) -> Result<()> {
        self.int(i32::try_from(value).map_err(|_| too_long("a list", value))?);
        Ok(())
    }

    /// int length, then the bytes.
    pub(super) fn bytes(&mut self, value: &[u8]) -> Result<()> {
        self.len(value.len())?;
        self.bytes.extend_from_slice(value);
        Ok(())
    }

    /// `writeUTF`.
    pub(super) fn utf(&mut self, text: &str) -> Result<()> {
        let mut encoded = Vec::with_capacity(text.len());
        for unit in text.encode_utf16() {
            let low = |shift: u32| u8::try_from((unit >> shift) & 0x3F).unwrap_or(0) | 0x80;
            match unit {
                1..=0x7F => encoded.extend(u8::try_from(unit)),
                0 | 0x80..=0x7FF => encoded.extend([u8::try_from(unit >> 6).unwrap_or(0) | 0xC0, low(0)]),
                _ => encoded.extend([u8::try_from(unit >> 12).unwrap_or(0) | 0xE0, low(6), low(0)]),
            }
        }
        let length = u16::try_from(encoded.len()).map_err(|_| too_long("a text", encoded.len()))?;
        self.bytes.extend_from_slice(&length.to_be_bytes());
        self.bytes.extend_from_slice(&encoded);
        Ok(())
    }
}

fn too_long(what: &str, len: usize) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("{what} of length {len} does not fit Java's serialized form"))
}

/// A cursor over bytes that somebody else made.
#[derive(Debug)]
pub(super) struct DataInput<'a> {
    what: &'static str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> DataInput<'a> {
    /// `what` names the bytes in errors.
    pub(super) fn new(what: &'static str, bytes: &'a [u8]) -> Self {
        Self { what, bytes, at: 0 }
    }

    /// An error at the current position.
    pub(super) fn corrupt(&self, expected: &str, found: impl std::fmt::Display) -> Error {
        Error::corrupt(self.what, u64::try_from(self.at).unwrap_or(u64::MAX), expected, found)
    }

    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(len);
        let Some(taken) = end.and_then(|end| self.bytes.get(self.at..end)) else {
            let left = self.bytes.len().saturating_sub(self.at);
            return Err(self.corrupt(&format!("{len} bytes"), format!("only {left} bytes left")));
        };
        self.at += len;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| self.corrupt("a fixed number of bytes", taken.len()))
    }

    pub(super) fn bool(&mut self) -> Result<bool> {
        Ok(self.array::<1>()? != [0])
    }

    pub(super) fn int(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    pub(super) fn long(&mut self) -> Result<i64> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    /// A length or count: not negative, and not more than there are bytes left.
    pub(super) fn len(&mut self) -> Result<usize> {
        let value = self.int()?;
        let left = self.bytes.len().saturating_sub(self.at);
        match usize::try_from(value) {
            Ok(len) if len <= left => Ok(len),
            _ => Err(self.corrupt("a length within the bytes", value)),
        }
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8]> {
        let len = self.len()?;
        self.take(len)
    }

    /// `readUTF`.
    pub(super) fn utf(&mut self) -> Result<String> {
        let len = usize::from(u16::from_be_bytes(self.array()?));
        let encoded = self.take(len)?;
        let units = utf16_units(encoded).ok_or_else(|| self.corrupt("modified UTF-8", "other bytes"))?;
        String::from_utf16(&units).map_err(|_| self.corrupt("modified UTF-8", "an unpaired surrogate"))
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// All bytes must have been read.
    pub(super) fn finish(&self) -> Result<()> {
        if self.at == self.bytes.len() {
            return Ok(());
        }
        Err(self.corrupt("the end", format!("{} bytes more", self.bytes.len() - self.at)))
    }
}

fn utf16_units(encoded: &[u8]) -> Option<Vec<u16>> {
    let mut units = Vec::with_capacity(encoded.len());
    let mut rest = encoded.iter().copied();
    while let Some(first) = rest.next() {
        let mut tail = || rest.next().filter(|b| b & 0xC0 == 0x80).map(|b| u16::from(b & 0x3F));
        let unit = match first {
            0..=0x7F => u16::from(first),
            0xC0..=0xDF => u16::from(first & 0x1F) << 6 | tail()?,
            0xE0..=0xEF => u16::from(first & 0x0F) << 12 | tail()? << 6 | tail()?,
            _ => return None,
        };
        units.push(unit);
    }
    Some(units)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests may stop at the first surprise")]

    use super::*;

    #[test]
    fn text_is_written_as_java_writes_utf() {
        let mut out = DataOutput::default();
        out.utf("aé€\0😀").unwrap();
        let expected = [0, 14, b'a', 0xC3, 0xA9, 0xE2, 0x82, 0xAC, 0xC0, 0x80, 0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80];
        let bytes = out.into_bytes();
        assert_eq!(bytes, expected);
        assert_eq!(DataInput::new("text", &bytes).utf().unwrap(), "aé€\0😀");
    }

    #[test]
    fn a_length_beyond_the_end_is_an_error() {
        assert!(DataInput::new("bytes", &[0x7F, 0xFF, 0xFF, 0xFF]).bytes().is_err());
        assert!(DataInput::new("bytes", &[0xFF, 0xFF, 0xFF, 0xFF]).bytes().is_err());
        assert!(DataInput::new("bytes", &[0, 0]).int().is_err());
    }
}
