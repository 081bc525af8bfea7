//! Reading a value by the writer's type, and writing values.

use super::{Cursor, WriterType};
use crate::error::{Error, Result};

impl WriterType {
    /// The type of the value that follows: of a union its branch, whose number is read.
    #[inline]
    pub fn branch<'t>(&'t self, at: &mut Cursor<'_>) -> Result<&'t Self> {
        let Self::Union(branches) = self else {
            return Ok(self);
        };
        let number = at.long()?;
        let branch = usize::try_from(number).ok().and_then(|n| branches.get(n));
        branch.ok_or_else(|| at.corrupt(format!("a branch of {}", branches.len()), number))
    }

    /// int or long; `None` when null.
    #[inline]
    pub fn long(&self, at: &mut Cursor<'_>) -> Result<Option<i64>> {
        match self.branch(at)? {
            Self::Int | Self::Long => at.long().map(Some),
            Self::Null => Ok(None),
            other => Err(unexpected(at, "an int or long", other)),
        }
    }

    /// An int or long that fits an i32; `None` when null.
    #[inline]
    pub fn int(&self, at: &mut Cursor<'_>) -> Result<Option<i32>> {
        match self.long(at)? {
            Some(value) => i32::try_from(value).map(Some).map_err(|_| at.corrupt("a 32-bit number", value)),
            None => Ok(None),
        }
    }

    /// bytes; `None` when null.
    #[inline]
    pub fn bytes<'a>(&self, at: &mut Cursor<'a>) -> Result<Option<&'a [u8]>> {
        match self.branch(at)? {
            Self::Bytes | Self::String => at.bytes().map(Some),
            Self::Null => Ok(None),
            other => Err(unexpected(at, "bytes", other)),
        }
    }

    /// string; `None` when null.
    #[inline]
    pub fn string<'a>(&self, at: &mut Cursor<'a>) -> Result<Option<&'a str>> {
        match self.branch(at)? {
            Self::String | Self::Bytes => at.string().map(Some),
            Self::Null => Ok(None),
            other => Err(unexpected(at, "a string", other)),
        }
    }

    /// What `item` makes of the items of an array, which it gets with their type; `None` when null.
    ///
    /// Blocks of an array may give their size in bytes: then the count is negative.
    pub fn array<'a, T>(
        &self,
        at: &mut Cursor<'a>,
        mut item: impl FnMut(&Self, &mut Cursor<'a>) -> Result<Option<T>>,
    ) -> Result<Option<Vec<T>>> {
        let items = match self.branch(at)? {
            Self::Array(items) => items,
            Self::Null => return Ok(None),
            other => return Err(unexpected(at, "an array", other)),
        };
        let mut out = Vec::new();
        while let Some(count) = block_count(at)? {
            // an item takes a byte at least
            for _ in 0..count {
                at.step()?;
                if let Some(value) = item(items, at)? {
                    at.push(&mut out, value)?;
                }
            }
        }
        Ok(Some(out))
    }

    /// Enters a record (fields follow); `false` when null.
    #[inline]
    pub fn enter(&self, at: &mut Cursor<'_>) -> Result<bool> {
        match self.branch(at)? {
            Self::Record(_) => Ok(true),
            Self::Null => Ok(false),
            other => Err(unexpected(at, "a record", other)),
        }
    }

    /// Skips a value; each step but the first takes a byte at least.
    pub fn skip(&self, at: &mut Cursor<'_>) -> Result<()> {
        match self.branch(at)? {
            Self::Null => {}
            Self::Boolean => drop(at.take(1)?),
            Self::Int | Self::Long | Self::Enum => drop(at.long()?),
            Self::Float => drop(at.take(4)?),
            Self::Double => drop(at.take(8)?),
            Self::Bytes | Self::String => drop(at.bytes()?),
            Self::Fixed(n) => drop(at.take(*n)?),
            Self::Array(items) => {
                while let Some(count) = block_count(at)? {
                    (0..count).try_for_each(|_| at.step().and_then(|()| items.skip(at)))?;
                }
            }
            Self::Map(values) => {
                while let Some(count) = block_count(at)? {
                    (0..count).try_for_each(|_| {
                        at.step()?;
                        at.bytes()?;
                        values.skip(at)
                    })?;
                }
            }
            Self::Record(record) => record.sized.iter().try_for_each(|t| t.skip(at))?,
            Self::Union(_) => return Err(at.corrupt("a type", "a union in a union")),
        }
        Ok(())
    }
}

/// Items in the next block of an array or map; `None` at its end.
pub(super) fn block_count(at: &mut Cursor<'_>) -> Result<Option<usize>> {
    let count = at.long()?;
    if count < 0 {
        at.length("block size")?;
    }
    match usize::try_from(count.unsigned_abs()) {
        Ok(0) => Ok(None),
        Ok(n) if n <= at.remaining() => Ok(Some(n)),
        _ => Err(at.corrupt(format!("at most {} items", at.remaining()), count)),
    }
}

#[cold]
fn unexpected(at: &Cursor<'_>, expected: &str, found: &WriterType) -> Error {
    at.corrupt(expected, format!("type {}", found.name()))
}

/// Writes values one after another as the schema orders them.
#[derive(Debug, Default)]
pub struct Encoder {
    /// The bytes so far.
    pub out: Vec<u8>,
}

/// Bytes of a number at most.
const LONGEST: usize = 10;

/// Numbers near zero, negative ones, too, are short.
fn zig_zag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// Bytes that an int or long takes.
#[inline]
pub(super) fn length_of_long(value: i64) -> usize {
    let bits = 64 - (zig_zag(value) | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Writes an int or long at the beginning of `out`, which has room for it; returns how many bytes it takes.
#[inline]
pub(super) fn put_long(value: i64, out: &mut [u8]) -> usize {
    let mut rest = zig_zag(value);
    for (at, byte) in out.iter_mut().enumerate() {
        let [low, ..] = rest.to_le_bytes();
        rest >>= 7;
        if rest == 0 {
            *byte = low;
            return at + 1;
        }
        *byte = low | 0x80;
    }
    0
}

impl Encoder {
    /// int or long
    #[inline]
    pub fn long(&mut self, value: i64) {
        let mut bytes = [0; LONGEST];
        let length = put_long(value, &mut bytes);
        self.out.extend_from_slice(bytes.get(..length).unwrap_or_default());
    }

    /// int
    pub fn int(&mut self, value: i32) {
        self.long(i64::from(value));
    }

    /// A length or a count.
    pub fn length(&mut self, n: usize) {
        self.long(i64::try_from(n).unwrap_or(i64::MAX));
    }

    /// bytes
    pub fn bytes(&mut self, value: &[u8]) {
        self.length(value.len());
        self.out.extend_from_slice(value);
    }

    /// string
    pub fn string(&mut self, value: &str) {
        self.bytes(value.as_bytes());
    }

    /// `["null", T]`
    pub fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        match value {
            None => self.long(0),
            Some(value) => {
                self.long(1);
                write(self, value);
            }
        }
    }

    /// An array as one block.
    pub fn array<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        if !items.is_empty() {
            self.length(items.len());
            for item in items {
                write(self, item);
            }
        }
        self.long(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, cancel::Cancellation};

    fn skip(schema: &str, bytes: &[u8]) -> Result<usize> {
        let mut at = Cursor::new("m", 0, bytes);
        WriterType::parse("m", schema.as_bytes())?.skip(&mut at).map(|()| at.remaining())
    }

    /// A list of so many values of a byte, and its end.
    fn list(count: usize) -> Vec<u8> {
        let mut encoder = Encoder::default();
        encoder.length(count);
        encoder.out.extend(vec![0; count + 1]);
        encoder.out
    }

    #[test]
    fn a_number_takes_as_many_bytes_as_are_said() {
        let bounds =
            (0..64).map(|bits| 1_i64.wrapping_shl(bits)).flat_map(|at| [at.wrapping_sub(1), at, at.wrapping_neg()]);
        for value in bounds.chain([0, -1, i64::MAX, i64::MIN]) {
            let mut out = [0xaa; LONGEST + 1];
            let length = put_long(value, &mut out);
            assert_eq!((length, out[length]), (length_of_long(value), 0xaa), "{value}");
            assert_eq!(Cursor::new("m", 0, &out[..length]).long().unwrap(), value);
        }
    }

    #[test]
    fn nested_records_are_skipped_field_by_field_and_nulls_are_none() {
        let inner = r#"{"type":"record","name":"s","fields":[{"name":"n","type":"null"},{"name":"x","type":"int"}]}"#;
        let schema = format!(
            r#"{{"type":"record","name":"r","fields":[{{"name":"a","type":{inner}}},{{"name":"b","type":["null","s"]}},
            {{"name":"e","type":{{"type":"record","name":"t","fields":[{{"name":"n","type":"null"}}]}}}},
            {{"name":"c","type":"s"}},{{"name":"d","type":"string"}}]}}"#
        );
        assert_eq!(skip(&schema, &[2, 2, 4, 6, 4, b'h', b'i', 9]).unwrap(), 1);
    }

    #[test]
    fn long_lists_ask_whether_to_stop() {
        let token = Cancellation::default();
        token.cancel();
        for schema in [r#"{"type":"array","items":"int"}"#, r#"{"type":"map","values":"int"}"#] {
            let bytes = [list(5000), vec![0; 5000]].concat();
            let error = token.run(|| skip(schema, &bytes)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled);
        }
        let items = WriterType::parse("m", br#"{"type":"array","items":"int"}"#).unwrap();
        let bytes = list(5000);
        let read = || items.array(&mut Cursor::new("m", 0, &bytes), |item, at| item.long(at));
        assert_eq!(read().unwrap().map(|values| values.len()), Some(5000));
        assert_eq!(token.run(read).unwrap_err().kind(), ErrorKind::Cancelled);
    }
}
