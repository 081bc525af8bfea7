//! Avro's primitive values, read from the bytes of one block.
//!
//! int and long: zig-zag, then 7 bits a byte, lowest first. bytes and string: length as long, then the bytes.

use super::memory::Memory;
use crate::{
    cancel,
    error::{Error, Result},
    limits,
};

/// How many values are read between two looks at whether to stop.
const ASK_EVERY: u32 = 1024;

/// A position in the plain bytes of a block.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    file: &'a str,
    block: u64,
    data: &'a [u8],
    at: usize,
    /// What values are counted by; the header of a file has none that grow.
    memory: Option<&'a Memory<'a>>,
    values: u32,
}

impl<'a> Cursor<'a> {
    /// At the start of `data`; `file` and `block`, the block's offset in it, are for messages.
    pub fn new(file: &'a str, block: u64, data: &'a [u8]) -> Self {
        Self { file, block, data, at: 0, memory: None, values: 0 }
    }

    /// The same, with memory that values take.
    pub(super) fn counted(self, memory: &'a Memory<'a>) -> Self {
        Self { memory: Some(memory), ..self }
    }

    /// The file's name.
    pub fn file(&self) -> &'a str {
        self.file
    }

    /// Bytes not read yet.
    pub fn remaining(&self) -> usize {
        self.data.len().saturating_sub(self.at)
    }

    /// Bytes read so far.
    pub fn position(&self) -> usize {
        self.at
    }

    /// What another position in the same bytes, further on, has passed since this one.
    pub fn until(&self, other: &Self) -> &'a [u8] {
        self.data.get(self.at..other.at).unwrap_or_default()
    }

    /// An error at this place: block offset in the file, and position in the decompressed block.
    #[cold]
    pub fn corrupt(&self, expected: impl std::fmt::Display, found: impl std::fmt::Display) -> Error {
        Error::corrupt(self.file, self.block, expected, found).with("position in block", self.at)
    }

    /// The next `n` bytes.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let rest = self.data.get(self.at..).unwrap_or_default();
        match rest.get(..n) {
            Some(taken) => {
                self.at += n;
                Ok(taken)
            }
            None => Err(self.corrupt(format!("{n} bytes"), format!("{} bytes", rest.len()))),
        }
    }

    /// At the next of many values; an error when the work is to stop.
    #[inline]
    pub fn step(&mut self) -> Result<()> {
        self.values = self.values.wrapping_add(1);
        if self.values.is_multiple_of(ASK_EVERY) { cancel::check() } else { Ok(()) }
    }

    /// Appends a value that was read to a list, whose memory is asked for first.
    #[inline]
    pub fn push<T>(&self, list: &mut Vec<T>, value: T) -> Result<()> {
        if list.len() == list.capacity() {
            self.grow(list, 4)?;
        }
        list.push(value);
        Ok(())
    }

    /// Appends bytes to a list in the same way.
    #[inline]
    pub fn extend(&self, list: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
        if list.capacity() - list.len() < bytes.len() {
            self.grow(list, bytes.len())?;
        }
        list.extend_from_slice(bytes);
        Ok(())
    }

    /// Makes room for as many elements as there are, and for so many.
    #[cold]
    fn grow<T>(&self, list: &mut Vec<T>, least: usize) -> Result<()> {
        let more = list.len().max(least);
        if let Some(memory) = self.memory {
            memory.take(more.saturating_mul(size_of::<T>()))?;
        }
        limits::reserve(list, more, "a list of values").map_err(|e| e.with("file", self.file))
    }

    /// An int or a long.
    #[inline]
    pub fn long(&mut self) -> Result<i64> {
        let rest = self.data.get(self.at..).unwrap_or_default();
        let mut value = 0_u64;
        for (i, &byte) in rest.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte & 0x80 == 0 {
                if i == 9 && byte > 1 {
                    break;
                }
                self.at += i + 1;
                return Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
            }
        }
        Err(self.corrupt(
            "a variable-length number",
            if rest.len() < 10 { "the end of the block" } else { "too many bytes" },
        ))
    }

    /// A length or a count: not negative, and not more than the bytes that are left.
    pub fn length(&mut self, what: &str) -> Result<usize> {
        let before = self.at;
        let value = self.long()?;
        match usize::try_from(value) {
            Ok(n) if n <= self.remaining() => Ok(n),
            _ => {
                self.at = before;
                Err(self.corrupt(format!("a {what} of at most {} bytes", self.remaining()), value))
            }
        }
    }

    /// bytes
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let n = self.length("length")?;
        self.take(n)
    }

    /// string
    pub fn string(&mut self) -> Result<&'a str> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|e| self.corrupt("UTF-8 text", e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(bytes: &[u8]) -> Option<i64> {
        Cursor::new("f", 0, bytes).long().ok()
    }

    #[test]
    fn numbers_are_zig_zag_and_bounded_to_ten_bytes() {
        assert_eq!(long(&[0]), Some(0));
        assert_eq!(long(&[1]), Some(-1));
        assert_eq!(long(&[2]), Some(1));
        assert_eq!(long(&[0x80, 0x01]), Some(64));
        assert_eq!(long(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]), Some(i64::MIN));
        assert_eq!(long(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]), None);
        assert_eq!(long(&[0x80; 11]), None);
        assert_eq!(long(&[0x80]), None);
        assert_eq!(long(&[]), None);
    }

    #[test]
    fn a_length_beyond_the_block_is_refused_before_anything_is_allocated() {
        let e = Cursor::new("m", 77, &[0xfe, 0xff, 0xff, 0xff, 0x0f, 1]).bytes().expect_err("too long");
        assert_eq!(e.kind(), crate::ErrorKind::CorruptFile);
        assert_eq!((e.context_value("file"), e.context_value("offset")), (Some("m"), Some("77")));
        assert!(Cursor::new("m", 0, &[1]).bytes().is_err(), "negative");
    }
}
