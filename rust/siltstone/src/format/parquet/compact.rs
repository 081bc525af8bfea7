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
//!
//! Elements that are booleans have a byte each, and the crate passes those that it does not know without any: lists of them would
//! be counted without end, and what comes behind them is read from another place. Only known lists may have such elements.

use super::forms::{Fields, Form};
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
    /// The bytes have ended before the structure.
    ended: bool,
}

impl<'a> Compact<'a> {
    /// At the start of `bytes`, which are at `offset` of the file.
    pub(super) fn new(what: &'static str, file: &'a str, offset: u64, bytes: &'a [u8]) -> Self {
        Self { what, file, offset, bytes, at: 0, elements: 0, ended: false }
    }

    /// How many elements the lists have that were passed.
    pub(super) fn elements(&self) -> usize {
        self.elements
    }

    /// How many bytes were passed.
    pub(super) fn passed(&self) -> usize {
        self.at
    }

    /// Whether the structure would need more bytes than there are.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    pub(super) fn corrupt(&self, expected: impl std::fmt::Display, found: impl std::fmt::Display) -> Error {
        Error::corrupt(self.file, self.offset.saturating_add(self.at as u64), expected, found)
            .hint(format!("the {} of the Parquet file is damaged", self.what))
    }

    fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    fn byte(&mut self) -> Result<u8> {
        let Some(byte) = self.bytes.get(self.at).copied() else {
            self.ended = true;
            return Err(self.corrupt("a byte", format!("the end of the {}", self.what)));
        };
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

    fn fits(&mut self, count: u64) -> Result<usize> {
        let fits = usize::try_from(count).ok().filter(|n| *n <= self.left());
        self.ended |= fits.is_none();
        fits.ok_or_else(|| self.corrupt(format!("a length of at most {} bytes", self.left()), count))
    }

    fn skip(&mut self, length: u64) -> Result<()> {
        self.at += self.fits(length)?;
        Ok(())
    }

    /// A whole struct of these fields.
    pub(super) fn whole(&mut self, known: Fields) -> Result<()> {
        self.structure(known, MAX_DEPTH)
    }

    fn structure(&mut self, known: Fields, depth: usize) -> Result<()> {
        self.fields(&mut |at, field, kind| at.known(form_of(known, field), kind, depth))
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
            // the crate would take the last bits of a larger id
            if i16::try_from(field).is_err() {
                return Err(self.corrupt("a field id of 16 bits", field));
            }
            each(self, field, kind)?;
        }
    }

    /// Passes the value of a field of a struct of these fields.
    pub(super) fn field(&mut self, known: Fields, field: i64, kind: u8) -> Result<()> {
        self.known(form_of(known, field), kind, MAX_DEPTH)
    }

    /// Passes a value of this form, or says that its type is another one.
    pub(super) fn of_form(&mut self, form: &Form, kind: u8) -> Result<()> {
        self.known(form, kind, MAX_DEPTH)
    }

    fn known(&mut self, form: &Form, kind: u8, depth: usize) -> Result<()> {
        match (form, kind) {
            (Form::List(element), 9 | 10) => {
                let depth = self.deeper(depth)?;
                let (count, kind) = self.list_head()?;
                self.elements_of(count, |at| match (*element, kind) {
                    // which the value of a field has in its type
                    (Form::Boolean, 1 | 2) => at.skip(1),
                    (form, kind) => at.known(form, kind, depth),
                })
            }
            (Form::Struct(known), 12) => {
                let depth = self.deeper(depth)?;
                self.structure(known, depth)
            }
            (Form::Any, _)
            | (Form::Boolean, 1 | 2)
            | (Form::Byte, 3)
            | (Form::Integer, 4..=6)
            | (Form::Double, 7)
            | (Form::Binary, 8) => self.value(kind, depth),
            _ => Err(self.corrupt("a field of the type that it has in this format", format!("the type {kind}"))),
        }
    }

    fn deeper(&self, depth: usize) -> Result<usize> {
        depth.checked_sub(1).ok_or_else(|| self.corrupt("few nested structures", "too many"))
    }

    /// Passes a value of a type, which is no element that is a boolean.
    fn value(&mut self, kind: u8, depth: usize) -> Result<()> {
        let depth = self.deeper(depth)?;
        match kind {
            // the value of a boolean field is its type
            1 | 2 => Ok(()),
            3 => self.skip(1),
            4..=6 => self.varint().map(drop),
            7 => self.skip(8),
            8 => {
                let length = self.varint()?;
                self.skip(length)
            }
            9 | 10 => {
                let (count, kind) = self.list_head()?;
                self.elements_of(count, |at| at.element(kind, depth))
            }
            11 => self.map(depth),
            12 => self.structure(&[], depth),
            13 => self.skip(16),
            other => Err(self.corrupt("a type of the compact protocol", other)),
        }
    }

    fn element(&mut self, kind: u8, depth: usize) -> Result<()> {
        if matches!(kind, 1 | 2) {
            return Err(self.corrupt("elements of a known length", "booleans in an unknown field"));
        }
        self.value(kind, depth)
    }

    /// Passes so many elements; whoever waits may stop it.
    pub(super) fn elements_of(&mut self, count: usize, mut each: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        (0..count).try_for_each(|n| {
            if n % ASK_EVERY == ASK_EVERY - 1 {
                cancel::check()?;
            }
            each(self)
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
        self.elements_of(count, |at| {
            at.element(kinds >> 4, depth)?;
            at.element(kinds & 0x0f, depth)
        })
    }
}

fn form_of(known: Fields, field: i64) -> &'static Form {
    known.iter().find(|(id, _)| *id == field).map_or(&Form::Any, |(_, form)| form)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    const KNOWN: Fields =
        &[(1, Form::Integer), (2, Form::List(&Form::Boolean)), (3, Form::Struct(&[(1, Form::Binary)]))];

    fn walk(bytes: &[u8]) -> Result<usize> {
        let mut at = Compact::new("test", "f", 0, bytes);
        at.whole(KNOWN)?;
        Ok(at.passed())
    }

    fn assert_damaged(bytes: &[u8]) {
        assert_eq!(walk(bytes).unwrap_err().kind(), ErrorKind::CorruptFile, "{bytes:02x?}");
    }

    #[test]
    fn known_fields_have_their_types() {
        assert_eq!(walk(&[0x15, 2, 0x19, 0x21, 1, 2, 0x1c, 0x18, 1, b'x', 0, 0, 99]).unwrap(), 12);
        for kind in [1, 2, 3, 7, 8, 9, 11, 12, 13] {
            assert_damaged(&[0x10 | kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        }
        assert_damaged(&[0x29, 0x15, 2, 0]);
        assert_damaged(&[0x3c, 0x15, 2, 0, 0]);
    }

    /// The crate passes none of their bytes: it would count 2147483647 of them, and read what they hide.
    #[test]
    fn elements_that_nobody_knows_are_no_booleans() {
        assert_damaged(&[0x49, 0x22, 1, 1, 0]);
        assert_damaged(&[0x4b, 1, 0x25, 1, 2, 0]);
        assert_damaged(&[0x4b, 1, 0x51, 2, 1, 0]);
        assert_damaged(&[0x49, 0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x07, 0]);
        walk(&[0x49, 0x02, 0x41, 0x12, 0]).unwrap();
    }

    #[test]
    fn ids_of_fields_have_16_bits() {
        // 65537 is no 1
        assert_damaged(&[0x08, 0x82, 0x80, 0x08, 0, 0]);
        walk(&[0x08, 0xfe, 0xff, 0x03, 0, 0]).unwrap();
    }

    #[test]
    fn structures_that_need_more_bytes_say_so() {
        let ended = |bytes: &[u8]| {
            let mut at = Compact::new("test", "f", 0, bytes);
            (at.whole(KNOWN).is_err(), at.has_ended())
        };
        assert_eq!(ended(&[0x15, 2, 0]), (false, false));
        assert_eq!(ended(&[0x15, 2]), (true, true));
        assert_eq!(ended(&[0x48, 9, 1, 2]), (true, true));
        assert_eq!(ended(&[0x18, 1, 2, 0]), (true, false));
    }
}
