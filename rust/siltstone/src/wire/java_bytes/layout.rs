//! The BinaryRow and BinaryArray forms that Java's `InternalRowSerializer` gives to metadata objects.
//!
//! ```text
//! row    null bits: 1 byte row kind, then one bit a field, rounded up to 8 bytes
//!        8 bytes a field, little-endian: the value; or up to 7 bytes of text with 0x80 | length in the last byte;
//!        or offset << 32 | length of bytes in the variable part
//!        variable part, each value padded to 8 bytes
//! array  int count, one null bit an element rounded up to 4 bytes, 8 bytes an element as above, variable part
//! ```
//!
//! Format chapters 5.1 and 5.4. Only 8-byte elements occur in the metadata objects.

use crate::error::{Error, Result};

/// Largest value that lives in its slot.
const INLINE: usize = 7;

/// Builds one row or one array: slots first, variable part behind.
#[derive(Debug)]
pub(super) struct Builder {
    bytes: Vec<u8>,
    null_bits_at: usize,
    slots_at: usize,
    next: usize,
}

impl Builder {
    pub(super) fn row(arity: usize) -> Self {
        let slots_at = row_slots_at(arity);
        Self { bytes: vec![0; slots_at + 8 * arity], null_bits_at: 1, slots_at, next: 0 }
    }

    fn array(len: usize) -> Self {
        let slots_at = array_slots_at(len);
        let mut bytes = vec![0; (slots_at + 8 * len).next_multiple_of(8)];
        let count = i32::try_from(len).unwrap_or(i32::MAX).to_le_bytes();
        bytes.iter_mut().zip(count).for_each(|(to, from)| *to = from);
        Self { bytes, null_bits_at: 4, slots_at, next: 0 }
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.bytes
    }

    fn slot(&mut self, value: [u8; 8]) -> &mut Self {
        let at = self.slots_at + 8 * self.next;
        self.bytes.iter_mut().skip(at).zip(value).for_each(|(to, from)| *to = from);
        self.next += 1;
        self
    }

    pub(super) fn null(&mut self) -> &mut Self {
        if let Some(byte) = self.bytes.get_mut(self.null_bits_at + self.next / 8) {
            *byte |= 1 << (self.next % 8);
        }
        self.slot([0; 8])
    }

    pub(super) fn long(&mut self, value: i64) -> &mut Self {
        self.slot(value.to_le_bytes())
    }

    pub(super) fn int(&mut self, value: i32) -> &mut Self {
        let [a, b, c, d] = value.to_le_bytes();
        self.slot([a, b, c, d, 0, 0, 0, 0])
    }

    pub(super) fn byte(&mut self, value: u8) -> &mut Self {
        self.slot([value, 0, 0, 0, 0, 0, 0, 0])
    }

    /// Text or binary: short values in the slot.
    pub(super) fn binary(&mut self, value: &[u8]) -> &mut Self {
        if value.len() > INLINE {
            return self.nested(value);
        }
        let mut slot = [0; 8];
        slot.iter_mut().zip(value).for_each(|(to, from)| *to = *from);
        slot[7] = 0x80 | u8::try_from(value.len()).unwrap_or(0);
        self.slot(slot)
    }

    /// A nested row or array: always in the variable part.
    pub(super) fn nested(&mut self, value: &[u8]) -> &mut Self {
        let offset = i64::try_from(self.bytes.len()).unwrap_or(i64::MAX);
        let length = i64::try_from(value.len()).unwrap_or(i64::MAX);
        self.bytes.extend_from_slice(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        self.slot(((offset << 32) | length).to_le_bytes())
    }

    pub(super) fn option<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Self, T)) -> &mut Self {
        match value {
            Some(value) => put(self, value),
            None => {
                self.null();
            }
        }
        self
    }

    /// A nested array of values that `put` writes one by one.
    pub(super) fn list<T>(&mut self, values: &[T], put: impl Fn(&mut Self, &T)) -> &mut Self {
        let mut array = Self::array(values.len());
        for value in values {
            put(&mut array, value);
        }
        self.nested(&array.finish())
    }

    pub(super) fn strings(&mut self, values: &[String]) -> &mut Self {
        self.list(values, |array, text| {
            array.binary(text.as_bytes());
        })
    }
}

fn row_slots_at(arity: usize) -> usize {
    (arity + 8).div_ceil(64) * 8
}

fn array_slots_at(len: usize) -> usize {
    4 + len.div_ceil(32) * 4
}

/// Reads one row or one array, every access checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    what: &'static str,
    bytes: &'a [u8],
    null_bits_at: usize,
    slots_at: usize,
    len: usize,
}

impl<'a> View<'a> {
    /// `what` names the bytes in errors.
    pub(super) fn row(what: &'static str, bytes: &'a [u8], arity: usize) -> Result<Self> {
        let view = Self { what, bytes, null_bits_at: 1, slots_at: row_slots_at(arity), len: arity };
        view.checked(format!("a row of {arity} fields"))
    }

    fn array(what: &'static str, bytes: &'a [u8]) -> Result<Self> {
        let count = bytes.first_chunk::<4>().map(|count| i32::from_le_bytes(*count));
        let len = count.and_then(|count| usize::try_from(count).ok()).filter(|len| *len <= bytes.len());
        let Some(len) = len else {
            return Err(Error::corrupt(what, 0, "the length of an array", format!("{count:?}")));
        };
        let view = Self { what, bytes, null_bits_at: 4, slots_at: array_slots_at(len), len };
        view.checked(format!("an array of {len} elements"))
    }

    fn checked(self, expected: String) -> Result<Self> {
        if self.bytes.len() < self.slots_at + 8 * self.len {
            return Err(Error::corrupt(self.what, 0, expected, format!("{} bytes", self.bytes.len())));
        }
        Ok(self)
    }

    fn slot(&self, i: usize) -> Result<[u8; 8]> {
        let at = self.slots_at + 8 * i;
        let slot = self.bytes.get(at..).and_then(<[u8]>::first_chunk::<8>).filter(|_| i < self.len);
        slot.copied().ok_or_else(|| self.corrupt(i, "a field", "the end"))
    }

    fn corrupt(&self, i: usize, expected: &str, found: &str) -> Error {
        let at = u64::try_from(self.slots_at + 8 * i).unwrap_or(u64::MAX);
        Error::corrupt(self.what, at, expected, found)
    }

    pub(super) fn is_null(&self, i: usize) -> bool {
        self.bytes.get(self.null_bits_at + i / 8).is_some_and(|byte| byte & (1 << (i % 8)) != 0)
    }

    fn present(&self, i: usize) -> Result<()> {
        if self.is_null(i) { Err(self.corrupt(i, "a value", "null")) } else { Ok(()) }
    }

    pub(super) fn long(&self, i: usize) -> Result<i64> {
        self.present(i)?;
        Ok(i64::from_le_bytes(self.slot(i)?))
    }

    pub(super) fn int(&self, i: usize) -> Result<i32> {
        self.present(i)?;
        let slot = self.slot(i)?;
        let value = slot.first_chunk::<4>().copied().unwrap_or_default();
        Ok(i32::from_le_bytes(value))
    }

    pub(super) fn byte(&self, i: usize) -> Result<u8> {
        self.present(i)?;
        let [a, ..] = self.slot(i)?;
        Ok(a)
    }

    pub(super) fn binary(&self, i: usize) -> Result<&'a [u8]> {
        self.present(i)?;
        let slot = self.slot(i)?;
        let [.., mark] = slot;
        if mark & 0x80 == 0 {
            return self.nested(i);
        }
        let at = self.slots_at + 8 * i;
        let len = usize::from(mark & 0x7F);
        let bytes = self.bytes.get(at..at + len).filter(|_| len <= INLINE);
        bytes.ok_or_else(|| self.corrupt(i, "at most 7 bytes in place", "more"))
    }

    pub(super) fn nested(&self, i: usize) -> Result<&'a [u8]> {
        self.present(i)?;
        let place = u64::from_le_bytes(self.slot(i)?);
        let range = usize::try_from(place >> 32).ok().and_then(|offset| {
            let length = usize::try_from(place & u64::from(u32::MAX)).ok()?;
            Some(offset..offset.checked_add(length)?)
        });
        let bytes = range.and_then(|range| self.bytes.get(range));
        bytes.ok_or_else(|| self.corrupt(i, "a place inside the row", "one outside"))
    }

    pub(super) fn string(&self, i: usize) -> Result<String> {
        let bytes = self.binary(i)?;
        let text = std::str::from_utf8(bytes).map_err(|_| self.corrupt(i, "UTF-8 text", "other bytes"))?;
        Ok(text.to_owned())
    }

    pub(super) fn nested_row(&self, i: usize, arity: usize) -> Result<Self> {
        Self::row(self.what, self.nested(i)?, arity)
    }

    pub(super) fn list<T>(&self, i: usize, mut get: impl FnMut(&Self, usize) -> Result<T>) -> Result<Vec<T>> {
        let array = Self::array(self.what, self.nested(i)?)?;
        (0..array.len).map(|at| get(&array, at)).collect()
    }

    pub(super) fn strings(&self, i: usize) -> Result<Vec<String>> {
        let mut left = self.nested(i)?.len();
        self.list(i, |array, at| {
            let bytes = array.binary(at)?.len();
            // elements that name the same bytes would be far more than what travelled
            left = left
                .checked_sub(bytes)
                .ok_or_else(|| array.corrupt(at, "texts beside each other", "the same bytes"))?;
            array.string(at)
        })
    }

    /// `None` when null.
    pub(super) fn option<T>(&self, i: usize, get: impl FnOnce(&Self, usize) -> Result<T>) -> Result<Option<T>> {
        if self.is_null(i) { Ok(None) } else { get(self, i).map(Some) }
    }
}
