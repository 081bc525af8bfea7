//! Numbers, texts and names in the bytes of a VARIANT, each checked against the bytes that are there.

use crate::error::{Error, ErrorKind, Result};

pub(super) fn corrupt(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::CorruptFile, what)
}

/// `length` bytes from `at` on.
pub(super) fn bytes(of: &[u8], at: usize, length: usize) -> Result<&[u8]> {
    let end = at.checked_add(length);
    end.and_then(|end| of.get(at..end)).ok_or_else(|| {
        corrupt(format!("a VARIANT of {} bytes ends before the {length} bytes at offset {at}", of.len()))
    })
}

/// An unsigned number of 1 to 4 bytes.
pub(super) fn unsigned(of: &[u8], at: usize, length: usize) -> Result<usize> {
    let number = bytes(of, at, length)?.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    usize::try_from(number).map_err(|e| corrupt("a number in a VARIANT is too large").caused_by(e))
}

/// A signed number of up to 16 bytes.
pub(super) fn signed(of: &[u8], at: usize, length: usize) -> Result<i128> {
    let stored = bytes(of, at, length)?;
    let negative = stored.last().is_some_and(|last| *last > 0x7f);
    let start = if negative { -1_i128 } else { 0 };
    Ok(stored.iter().rev().fold(start, |number, byte| number << 8 | i128::from(*byte)))
}

pub(super) fn text(of: &[u8]) -> Result<&str> {
    std::str::from_utf8(of).map_err(|e| corrupt("a text in a VARIANT is not UTF-8").caused_by(e))
}

/// The dictionary of the names of fields.
pub(super) struct Names<'a> {
    metadata: &'a [u8],
    width: usize,
    count: usize,
}

impl<'a> Names<'a> {
    pub(super) fn of(metadata: &'a [u8]) -> Result<Self> {
        let head = unsigned(metadata, 0, 1)?;
        if head & 0x0f != 1 {
            return Err(Error::unsupported(format!("version {} of the VARIANT encoding", head & 0x0f)));
        }
        let width = (head >> 6) + 1;
        Ok(Self { metadata, width, count: unsigned(metadata, 1, width)? })
    }

    pub(super) fn get(&self, id: usize) -> Result<&'a str> {
        if id >= self.count {
            return Err(corrupt(format!("a VARIANT names its field by {id}, of {} names", self.count)));
        }
        let offset = |id: usize| unsigned(self.metadata, (2 + id) * self.width - self.width + 1, self.width);
        let (start, end) = (offset(id)?, offset(id + 1)?);
        let names = 1 + (self.count + 2) * self.width;
        let length = end.checked_sub(start).ok_or_else(|| corrupt("the names of a VARIANT are not in their order"))?;
        text(bytes(self.metadata, names + start, length)?)
    }
}

pub(super) fn fixed<const N: usize>(stored: &[u8]) -> Result<[u8; N]> {
    stored.try_into().map_err(|e| corrupt("a VARIANT is too short").caused_by(e))
}
