//! Writing rows and arrays, value by value, at the end of a buffer.

use super::layout::{
    MAX_INLINE, Slot, WIDE_DECIMAL_BYTES, array_header_bytes, minimal_big_endian, round8, row_fixed_bytes,
    row_null_bytes,
};
use crate::error::{Error, ErrorKind, Result};

/// A value on its way into a slot.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell<'a> {
    /// null
    Null,
    /// little-endian bytes of a fixed value, the rest zero
    Fixed([u8; 8]),
    /// text or bytes
    Bytes(&'a [u8]),
    /// DECIMAL(p > 18)
    WideDecimal(i128),
    /// TIMESTAMP(p > 3)
    WideTimestamp(i64, i32),
    /// a whole nested array, map or row
    Nested(&'a [u8]),
}

impl Cell<'_> {
    /// A fixed value from its little-endian bytes.
    pub(super) fn fixed<const N: usize>(bytes: [u8; N]) -> Self {
        let mut word = [0; 8];
        word.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        Self::Fixed(word)
    }
}

/// A row or array that is being written at the end of a buffer. Fields must come in order.
pub(super) struct Container {
    base: usize,
    /// null bit of field 0, counted from `base`
    null_bit: usize,
    /// slot of field 0, counted from `base`
    slots: usize,
    is_row: bool,
}

impl Container {
    /// Starts a row; its fixed part is zero.
    pub(super) fn row(out: &mut Vec<u8>, arity: usize) -> Self {
        let base = out.len();
        out.resize(base + row_fixed_bytes(arity), 0);
        Self { base, null_bit: 8, slots: row_null_bytes(arity), is_row: true }
    }

    /// Starts an array of `size` elements.
    pub(super) fn array(out: &mut Vec<u8>, size: usize, slot: Slot) -> Result<Self> {
        let base = out.len();
        let header = array_header_bytes(size);
        out.extend_from_slice(&length(size)?.to_le_bytes());
        out.resize(base + round8(header + size * slot.element_width()), 0);
        Ok(Self { base, null_bit: 32, slots: header, is_row: false })
    }

    /// Sets field or element `i`.
    pub(super) fn put(&self, out: &mut Vec<u8>, i: usize, slot: Slot, cell: Cell<'_>) -> Result<()> {
        let width = if self.is_row { 8 } else { slot.element_width() };
        match cell {
            Cell::Null => {
                let bit = self.null_bit + i;
                if let Some(byte) = out.get_mut(self.base + bit / 8) {
                    *byte |= 1 << (bit % 8);
                }
                if self.is_row && slot.reserved() > 0 {
                    let offset = self.offset(out)?;
                    out.resize(out.len() + slot.reserved(), 0);
                    self.set(out, i, width, slot_word(0, offset));
                }
            }
            Cell::Fixed(word) => self.set(out, i, width, word),
            Cell::Bytes(bytes) if bytes.len() <= MAX_INLINE => self.set(out, i, width, inline(bytes)),
            Cell::Bytes(bytes) | Cell::Nested(bytes) => {
                let word = slot_word(length(bytes.len())?, self.offset(out)?);
                self.set(out, i, width, word);
                out.extend_from_slice(bytes);
                out.resize(self.base + round8(out.len() - self.base), 0);
            }
            Cell::WideDecimal(value) => {
                let (bytes, from) = minimal_big_endian(value);
                let bytes = bytes.get(from..).unwrap_or_default();
                let word = slot_word(length(bytes.len())?, self.offset(out)?);
                self.set(out, i, width, word);
                let end = out.len() + WIDE_DECIMAL_BYTES;
                out.extend_from_slice(bytes);
                out.resize(end, 0);
            }
            Cell::WideTimestamp(millis, nanos) => {
                let word = slot_word(nanos, self.offset(out)?);
                self.set(out, i, width, word);
                out.extend_from_slice(&millis.to_le_bytes());
            }
        }
        Ok(())
    }

    fn offset(&self, out: &[u8]) -> Result<i32> {
        length(out.len() - self.base)
    }

    fn set(&self, out: &mut [u8], i: usize, width: usize, word: [u8; 8]) {
        let at = self.base + self.slots + i * width;
        if let Some(slot) = out.get_mut(at..at + width) {
            slot.iter_mut().zip(word).for_each(|(to, from)| *to = from);
        }
    }
}

/// A slot of two halves: length (or nanoseconds) and offset.
pub(super) fn slot_word(low: i32, offset: i32) -> [u8; 8] {
    let word = u64::from(offset.cast_unsigned()) << 32 | u64::from(low.cast_unsigned());
    word.to_le_bytes()
}

/// The slot of at most 7 bytes.
pub(super) fn inline(bytes: &[u8]) -> [u8; 8] {
    let mut word = [0; 8];
    word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    word[7] = 0x80 | u8::try_from(bytes.len()).unwrap_or(0);
    word
}

/// A length or offset as the format stores it.
pub(super) fn length(n: usize) -> Result<i32> {
    i32::try_from(n).map_err(|_| {
        Error::new(ErrorKind::LengthExceeded, format!("a row or value of {n} bytes is larger than the format's 2 GiB"))
    })
}
