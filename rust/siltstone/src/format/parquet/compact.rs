//! Thrift's compact protocol, as far as it takes to know that the lengths in a structure can be true.
//!
//! The parquet crate asks for memory for all elements that a list claims to have. So every length is compared with the
//! bytes that are left, before the crate decodes them:
//!
//! ```text
//! struct: fields until 00; a field: [id step << 4 | type] (step 0: the id follows as a varint), value
//! list:   [size << 4 | type] (size 15: it follows as a varint), elements
//! map:    size, [key type << 4 | value type] unless it is empty, keys and values
//! binary: size, bytes
//! ```

use crate::{
    cancel,
    error::{Error, Result},
};

/// Structs, lists and maps in one another; `FileMetaData` has about six.
const MAX_DEPTH: usize = 32;

/// How many elements are passed between two looks at whether to stop.
const ASK_EVERY: usize = 4096;

/// A position in a structure of a file.
pub(super) struct Compact<'a> {
    /// What it is, for messages.
    what: &'static str,
    file: &'a str,
    offset: u64,
    bytes: &'a [u8],
    at: usize,
    /// Elements of lists so far.
    elements: usize,
}

impl<'a> Compact<'a> {
    /// At the start of `bytes`, which are at `offset` of the file.
    pub(super) fn new(what: &'static str, file: &'a str, offset: u64, bytes: &'a [u8]) -> Self {
        Self { what, file, offset, bytes, at: 0, elements: 0 }
    }

    /// How many elements the lists have that were passed.
    pub(super) fn elements(&self) -> usize {
        self.elements
    }

    pub(super) fn corrupt(&self, expected: impl std::fmt::Display, found: impl std::fmt::Display) -> Error {
        Error::corrupt(self.file, self.offset.saturating_add(self.at as u64), expected, found)
            .hint(format!("the {} of the Parquet file is damaged", self.what))
    }

    fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    fn byte(&mut self) -> Result<u8> {
        let byte = self
            .bytes
            .get(self.at)
            .copied()
            .ok_or_else(|| self.corrupt("a byte", format!("the end of the {}", self.what)))?;
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

    /// A number that may be negative.
    pub(super) fn signed(&mut self) -> Result<i64> {
        let zigzag = self.varint()?;
        Ok((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
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
        self.fields(&mut |at, _, kind| at.nested(kind, depth))
    }

    /// A whole struct.
    pub(super) fn whole(&mut self) -> Result<()> {
        self.structure(MAX_DEPTH)
    }

    /// A struct: `each` gets the id and the type of each field, and passes its value.
    pub(super) fn fields(&mut self, each: &mut dyn FnMut(&mut Self, i64, u8) -> Result<()>) -> Result<()> {
        let mut field = 0_i64;
        loop {
            let head = self.byte()?;
            let kind = head & 0x0f;
            if kind == 0 {
                return Ok(());
            }
            field = match head >> 4 {
                0 => self.signed()?,
                step => field.saturating_add(step.into()),
            };
            // the value of a boolean field is its type
            if !matches!(kind, 1 | 2) {
                each(self, field, kind)?;
            }
        }
    }

    /// Passes a value of a type.
    pub(super) fn value(&mut self, kind: u8) -> Result<()> {
        self.nested(kind, MAX_DEPTH)
    }

    fn nested(&mut self, kind: u8, depth: usize) -> Result<()> {
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
        let (count, kind) = self.list_head()?;
        (0..count).try_for_each(|n| {
            if n % ASK_EVERY == ASK_EVERY - 1 {
                cancel::check()?;
            }
            self.nested(kind, depth)
        })
    }

    /// How many elements a list has, and of which type.
    pub(super) fn list_head(&mut self) -> Result<(usize, u8)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.count()?,
            few => self.fits(few.into())?,
        };
        self.elements = self.elements.saturating_add(count);
        Ok((count, head & 0x0f))
    }

    fn map(&mut self, depth: usize) -> Result<()> {
        let count = self.count()?;
        if count == 0 {
            return Ok(());
        }
        let kinds = self.byte()?;
        (0..count).try_for_each(|_| {
            self.nested(kinds >> 4, depth)?;
            self.nested(kinds & 0x0f, depth)
        })
    }
}
