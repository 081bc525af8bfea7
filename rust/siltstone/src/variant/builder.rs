//! Values in the bytes that Java makes of them.
//!
//! ```text
//! object   kind and widths, count, ids of names in the order of the names, count + 1 offsets, values as they were added
//! array    kind and widths, count, count + 1 offsets, values
//! ```
//!
//! Source: `GenericVariantBuilder`.

use std::collections::HashMap;

use super::{
    DEEPEST, LONGEST,
    binaries::BINARIES,
    decode::{Names, bytes, corrupt, text, unsigned},
};
use crate::{
    cancel::Work,
    codec::compare_utf16,
    error::{Error, ErrorKind, Result},
    limits::{self, Taken},
};

/// Texts of so many bytes or fewer have their length in their first byte.
const SHORT_TEXT: usize = 63;

/// A value on its way, and the names that its objects have.
#[derive(Default)]
pub(super) struct Builder {
    value: Vec<u8>,
    ids: HashMap<Box<str>, usize>,
    names: Vec<Box<str>>,
    /// Memory of the names.
    named: Taken,
    /// Bytes that were moved or compared.
    work: Work,
}

/// A field of an object, or an element of an array (without a name): where it begins, from the first one's beginning on.
#[derive(Clone, Copy)]
pub(super) struct Member {
    id: usize,
    offset: usize,
}

impl Builder {
    /// The value and its metadata; the builder is empty again.
    pub(super) fn finish(&mut self) -> Result<(Vec<u8>, Vec<u8>)> {
        let bytes: usize = self.names.iter().map(|name| name.len()).sum();
        let width = width(bytes.max(self.names.len()));
        check_size(bytes)?;
        let mut metadata = vec![byte(1 | (width - 1) << 6)?];
        number(&mut metadata, self.names.len(), width)?;
        let mut end = 0;
        number(&mut metadata, end, width)?;
        for name in &self.names {
            end += name.len();
            number(&mut metadata, end, width)?;
        }
        self.names.iter().for_each(|name| metadata.extend_from_slice(name.as_bytes()));
        let value = std::mem::take(&mut self.value);
        self.ids.clear();
        self.names.clear();
        self.named = Taken::default();
        Ok((value, metadata))
    }

    /// Where the next value begins.
    pub(super) fn position(&self) -> usize {
        self.value.len()
    }

    /// Adds a field of an object that began at `start`; its value comes next.
    pub(super) fn field(&mut self, name: &str, start: usize, fields: &mut Vec<Member>) -> Result<()> {
        self.work.done(name.len())?;
        let id = if let Some(id) = self.ids.get(name) {
            *id
        } else {
            let id = self.names.len();
            // a copy for each of the two, and that of the dictionary
            self.named.more(name.len().saturating_mul(3), BINARIES)?;
            self.names.push(name.into());
            self.ids.insert(name.into(), id);
            id
        };
        self.member(id, start, fields)
    }

    /// Adds an element of an array that began at `start`; its value comes next.
    pub(super) fn element(&self, start: usize, elements: &mut Vec<Member>) -> Result<()> {
        self.member(0, start, elements)
    }

    fn member(&self, id: usize, start: usize, members: &mut Vec<Member>) -> Result<()> {
        limits::grow(members, 1, BINARIES)?;
        members.push(Member { id, offset: self.value.len() - start });
        Ok(())
    }

    /// Adds bytes of a value.
    fn add(&mut self, bytes: &[u8]) -> Result<()> {
        self.work.done(bytes.len())?;
        limits::grow(&mut self.value, bytes.len(), BINARIES)?;
        self.value.extend_from_slice(bytes);
        check_size(self.value.len())
    }

    /// A value without content: `null`, `true`, `false`.
    pub(super) fn bare(&mut self, kind: u8) -> Result<()> {
        self.primitive(kind, &[])
    }

    pub(super) fn primitive(&mut self, kind: u8, content: &[u8]) -> Result<()> {
        self.add(&[kind << 2])?;
        self.add(content)
    }

    /// In the fewest bytes.
    pub(super) fn integer(&mut self, value: i64) -> Result<()> {
        if let Ok(v) = i8::try_from(value) {
            self.primitive(3, &v.to_le_bytes())
        } else if let Ok(v) = i16::try_from(value) {
            self.primitive(4, &v.to_le_bytes())
        } else if let Ok(v) = i32::try_from(value) {
            self.primitive(5, &v.to_le_bytes())
        } else {
            self.primitive(6, &value.to_le_bytes())
        }
    }

    /// Of at most 38 digits and as many decimals.
    pub(super) fn decimal(&mut self, unscaled: i128, scale: u8) -> Result<()> {
        let digits = unscaled.unsigned_abs().checked_ilog10().map_or(1, |log| log + 1).max(u32::from(scale));
        let (kind, width) = match digits {
            ..=9 => (8, 4),
            10..=18 => (9, 8),
            _ => (10, 16),
        };
        let stored = unscaled.to_le_bytes();
        self.primitive(kind, &[&[scale], stored.get(..width).unwrap_or(&stored)].concat())
    }

    pub(super) fn text(&mut self, text: &str) -> Result<()> {
        if text.len() > SHORT_TEXT {
            return self.long(16, text.as_bytes());
        }
        self.add(&[byte(text.len() << 2 | 1)?])?;
        self.add(text.as_bytes())
    }

    /// A text or bytes with their length before them.
    pub(super) fn long(&mut self, kind: u8, content: &[u8]) -> Result<()> {
        self.add(&[kind << 2])?;
        number(&mut self.value, content.len(), 4)?;
        self.add(content)
    }

    /// Puts the head of an object before its fields, which were added since `start`.
    pub(super) fn finish_object(&mut self, start: usize, fields: &mut [Member]) -> Result<()> {
        let compared: usize = fields.iter().filter_map(|field| self.names.get(field.id)).map(|name| name.len()).sum();
        self.work.done(compared)?;
        let name = |member: &Member| self.names.get(member.id).map_or("", |name| name);
        fields.sort_by(|a, b| compare_utf16(name(a), name(b)));
        let twice = fields.windows(2).find_map(|pair| match pair {
            [a, b] if a.id == b.id => Some(a),
            _ => None,
        });
        if let Some(twice) = twice {
            let text = format!("the field '{}' is twice in an object", name(twice).escape_debug());
            return Err(Error::new(ErrorKind::InvalidArgument, text));
        }
        let data = self.value.len() - start;
        let of_id = width(fields.iter().map(|field| field.id).max().unwrap_or(0));
        let of_offset = width(data);
        let is_large = fields.len() > 0xff;
        let mut head = vec![byte(2 | (usize::from(is_large) << 4 | (of_id - 1) << 2 | (of_offset - 1)) << 2)?];
        number(&mut head, fields.len(), if is_large { 4 } else { 1 })?;
        limits::grow(&mut head, fields.len() * of_id, BINARIES)?;
        for field in &*fields {
            number(&mut head, field.id, of_id)?;
        }
        self.put_before(start, head, fields, of_offset)
    }

    /// Puts the head of an array before its elements, which were added since `start`.
    pub(super) fn finish_array(&mut self, start: usize, elements: &[Member]) -> Result<()> {
        let of_offset = width(self.value.len() - start);
        let is_large = elements.len() > 0xff;
        let mut head = vec![byte(3 | (usize::from(is_large) << 2 | (of_offset - 1)) << 2)?];
        number(&mut head, elements.len(), if is_large { 4 } else { 1 })?;
        self.put_before(start, head, elements, of_offset)
    }

    fn put_before(&mut self, start: usize, mut head: Vec<u8>, members: &[Member], of_offset: usize) -> Result<()> {
        limits::grow(&mut head, (members.len() + 1) * of_offset, BINARIES)?;
        for member in members {
            number(&mut head, member.offset, of_offset)?;
        }
        number(&mut head, self.value.len() - start, of_offset)?;
        limits::grow(&mut self.value, head.len(), BINARIES)?;
        self.work.done(self.value.len() - start)?;
        self.value.splice(start..start, head);
        check_size(self.value.len())
    }

    /// A value that is encoded already, with the names of its own dictionary; `left`: bytes of it that were not copied yet.
    pub(super) fn copy(&mut self, value: &[u8], names: &Names<'_>, depth: usize, left: &mut usize) -> Result<()> {
        let head = unsigned(value, 0, 1)?;
        let (kind, info) = (head & 3, head >> 2);
        *left = left.checked_sub(1).ok_or_else(|| corrupt("values in a VARIANT lie over each other"))?;
        match kind {
            0 | 1 => {
                let length = scalar_length(value, kind, info)?;
                self.add(bytes(value, 0, length)?)
            }
            _ if depth >= DEEPEST => Err(too_deep()),
            2 => {
                let (start, mut fields) = (self.position(), Vec::new());
                self.copy_fields(value, names, depth, left, (start, &mut fields))?;
                self.finish_object(start, &mut fields)
            }
            _ => {
                let of_count = if info >> 2 & 1 == 1 { 4 } else { 1 };
                let of_offset = (info & 3) + 1;
                let count = counted(value, of_count, of_offset)?;
                let start = self.position();
                let mut elements = Vec::new();
                for i in 0..count {
                    self.element(start, &mut elements)?;
                    self.copy(member(value, 1 + of_count, of_offset, count, i)?, names, depth + 1, left)?;
                }
                self.finish_array(start, &elements)
            }
        }
    }

    /// The fields of an object that is encoded already, into one that began at `start` and has some.
    pub(super) fn copy_fields(
        &mut self,
        value: &[u8],
        names: &Names<'_>,
        depth: usize,
        left: &mut usize,
        (start, fields): (usize, &mut Vec<Member>),
    ) -> Result<()> {
        let head = unsigned(value, 0, 1)?;
        let info = head >> 2;
        if head & 3 != 2 {
            return Err(corrupt("the rest of a shredded object is no object"));
        }
        let of_count = if info >> 4 & 1 == 1 { 4 } else { 1 };
        let (of_id, of_offset) = ((info >> 2 & 3) + 1, (info & 3) + 1);
        let (count, ids) = (counted(value, of_count, of_id + of_offset)?, 1 + of_count);
        for i in 0..count {
            let name = names.get(unsigned(value, ids + i * of_id, of_id)?)?;
            self.field(name, start, fields)?;
            self.copy(member(value, ids + count * of_id, of_offset, count, i)?, names, depth + 1, left)?;
        }
        Ok(())
    }
}

/// The number of members, each of which takes `width` bytes of the head.
fn counted(value: &[u8], of_count: usize, width: usize) -> Result<usize> {
    let count = unsigned(value, 1, of_count)?;
    bytes(value, 1 + of_count, count.saturating_mul(width))?;
    Ok(count)
}

/// The bytes from the i-th of `count` values on, whose offsets begin at `offsets`.
fn member(value: &[u8], offsets: usize, width: usize, count: usize, i: usize) -> Result<&[u8]> {
    let start = offsets + (count + 1) * width + unsigned(value, offsets + i * width, width)?;
    bytes(value, start, value.len().saturating_sub(start).max(1))
}

/// Bytes of a value that holds no others.
fn scalar_length(value: &[u8], kind: usize, info: usize) -> Result<usize> {
    if kind == 1 {
        text(bytes(value, 1, info)?)?;
        return Ok(1 + info);
    }
    Ok(1 + match info {
        0..=2 => 0,
        3 => 1,
        4 => 2,
        5 | 11 | 14 => 4,
        6 | 7 | 12 | 13 | 17..=19 => 8,
        8 => 5,
        9 => 9,
        10 => 17,
        15 => 4 + unsigned(value, 1, 4)?,
        16 => {
            let length = unsigned(value, 1, 4)?;
            text(bytes(value, 5, length)?)?;
            4 + length
        }
        20 => 16,
        other => return Err(Error::unsupported(format!("the VARIANT type {other}"))),
    })
}

pub(super) fn too_deep() -> Error {
    Error::unsupported(format!("a VARIANT of more than {DEEPEST} levels"))
}

fn check_size(bytes: usize) -> Result<()> {
    if bytes <= LONGEST { Ok(()) } else { Err(Error::unsupported("a VARIANT of more than 128 MiB")) }
}

/// Bytes that numbers up to this one take.
fn width(largest: usize) -> usize {
    match largest {
        ..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xff_ffff => 3,
        _ => 4,
    }
}

fn number(to: &mut Vec<u8>, value: usize, width: usize) -> Result<()> {
    let too_large = |e| Error::new(ErrorKind::Internal, "a VARIANT is too large").caused_by(e);
    let value = u32::try_from(value).map_err(too_large)?.to_le_bytes();
    to.extend(value.iter().take(width));
    Ok(())
}

fn byte(value: usize) -> Result<u8> {
    u8::try_from(value).map_err(|e| Error::new(ErrorKind::Internal, "not one byte").caused_by(e))
}
