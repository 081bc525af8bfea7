//! A look at a footer before the parquet crate decodes it.
//!
//! The crate asks for memory for all elements that a list claims to have; asking for too much ends the process. So every
//! length in the footer is checked against the bytes that are left (Thrift's compact protocol):
//!
//! ```text
//! struct: fields until 00; a field: [id step << 4 | type] (step 0: the id follows as a varint), value
//! list:   [size << 4 | type] (size 15: it follows as a varint), elements
//! map:    size, [key type << 4 | value type] unless it is empty, keys and values
//! binary: size, bytes
//! ```

use crate::error::{Error, Result};

/// Structs, lists and maps in one another; `FileMetaData` has about six.
const MAX_DEPTH: usize = 32;

/// An error unless every length in a footer can be true; `offset` is where it starts in the file.
pub(super) fn check(file: &str, offset: u64, bytes: &[u8]) -> Result<()> {
    let mut at = Compact { file, offset, bytes, at: 0 };
    at.structure(MAX_DEPTH)
}

struct Compact<'a> {
    file: &'a str,
    offset: u64,
    bytes: &'a [u8],
    at: usize,
}

impl Compact<'_> {
    fn corrupt(&self, expected: impl std::fmt::Display, found: impl std::fmt::Display) -> Error {
        Error::corrupt(self.file, self.offset.saturating_add(self.at as u64), expected, found)
            .hint("the footer of the Parquet file is damaged")
    }

    fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    fn byte(&mut self) -> Result<u8> {
        let byte = self.bytes.get(self.at).copied().ok_or_else(|| self.corrupt("a byte", "the end of the footer"))?;
        self.at += 1;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0_u64;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.corrupt("a variable-length number", "too many bytes"))
    }

    /// A number of things of at least a byte each, which are still to come.
    fn count(&mut self) -> Result<usize> {
        let count = self.varint()?;
        self.fits(count)
    }

    fn fits(&self, count: u64) -> Result<usize> {
        let fits = usize::try_from(count).ok().filter(|n| *n <= self.left());
        fits.ok_or_else(|| self.corrupt(format!("a length of at most {} bytes", self.left()), count))
    }

    fn skip(&mut self, length: u64) -> Result<()> {
        self.at += self.fits(length)?;
        Ok(())
    }

    fn structure(&mut self, depth: usize) -> Result<()> {
        loop {
            let head = self.byte()?;
            let kind = head & 0x0f;
            if kind == 0 {
                return Ok(());
            }
            if head >> 4 == 0 {
                self.varint()?;
            }
            // the value of a boolean field is its type
            if !matches!(kind, 1 | 2) {
                self.value(kind, depth)?;
            }
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Result<()> {
        let depth = depth.checked_sub(1).ok_or_else(|| self.corrupt("few nested structures", "too many"))?;
        match kind {
            1..=3 => self.skip(1),
            4..=6 => self.varint().map(drop),
            7 => self.skip(8),
            8 => {
                let length = self.varint()?;
                self.skip(length)
            }
            9 | 10 => self.list(depth),
            11 => self.map(depth),
            12 => self.structure(depth),
            13 => self.skip(16),
            other => Err(self.corrupt("a type of the compact protocol", other)),
        }
    }

    fn list(&mut self, depth: usize) -> Result<()> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.count()?,
            few => self.fits(few.into())?,
        };
        (0..count).try_for_each(|_| self.value(head & 0x0f, depth))
    }

    fn map(&mut self, depth: usize) -> Result<()> {
        let count = self.count()?;
        if count == 0 {
            return Ok(());
        }
        let kinds = self.byte()?;
        (0..count).try_for_each(|_| {
            self.value(kinds >> 4, depth)?;
            self.value(kinds & 0x0f, depth)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    /// A struct with one field, a list of structs of `count` elements and no bytes for them.
    fn listing(count: u32) -> Vec<u8> {
        let mut bytes = vec![0x19, 0xfc];
        let mut rest = count;
        while rest >= 0x80 {
            bytes.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
            rest >>= 7;
        }
        bytes.push(u8::try_from(rest).unwrap());
        bytes
    }

    #[test]
    fn a_list_longer_than_the_footer_is_refused_before_anyone_asks_for_memory() {
        for count in [100, 1 << 20, i32::MAX.unsigned_abs(), u32::MAX] {
            let error = check("f", 7, &listing(count)).unwrap_err();
            assert_eq!((error.kind(), error.context_value("file")), (ErrorKind::CorruptFile, Some("f")));
        }
    }

    #[test]
    fn a_footer_of_every_kind_of_value_is_fine() {
        // bool, i32, double, binary, list of two bools, empty map, map of one, struct, end
        let bytes = [
            0x11, 0x15, 0x80, 0x01, 0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0x18, 2, b'h', b'i', 0x19, 0x21, 1, 2, 0x1b, 0, 0x1b,
            1, 0x58, 9, 1, b'x', 0x1c, 0x15, 2, 0, 0,
        ];
        check("f", 0, &bytes).unwrap();
        assert!(check("f", 0, &bytes[..bytes.len() - 1]).is_err());
    }

    #[test]
    fn deep_structures_do_not_use_up_the_stack() {
        assert!(check("f", 0, &vec![0x1c; 100_000]).is_err());
    }
}
