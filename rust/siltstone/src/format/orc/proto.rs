//! Messages of protocol buffers: fields with a number and a value, in any order.

use crate::{
    cancel,
    error::{Error, Result},
    limits,
};

/// How many fields are read between two looks at whether to stop.
const ASK_EVERY: usize = 1024;

/// The bytes of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<'a> {
    file: &'a str,
    bytes: &'a [u8],
}

/// The value of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    Number(u64),
    Fixed(u64),
    Bytes(&'a [u8]),
}

impl<'a> Message<'a> {
    pub(super) fn new(file: &'a str, bytes: &'a [u8]) -> Self {
        Self { file, bytes }
    }

    /// Gives each field to `read`, with its number.
    pub(super) fn fields(self, mut read: impl FnMut(u64, Field<'a>) -> Result<()>) -> Result<()> {
        let (mut rest, mut passed) = (self.bytes, 0_usize);
        while !rest.is_empty() {
            passed += 1;
            if passed.is_multiple_of(ASK_EVERY) {
                cancel::check()?;
            }
            let key = self.number(&mut rest)?;
            let value = match key & 7 {
                0 => Value::Number(self.number(&mut rest)?),
                1 => Value::Fixed(u64::from_le_bytes(self.array(&mut rest)?)),
                2 => {
                    let length = usize::try_from(self.number(&mut rest)?).unwrap_or(usize::MAX);
                    Value::Bytes(self.take(&mut rest, length)?)
                }
                5 => Value::Fixed(u64::from(u32::from_le_bytes(self.array(&mut rest)?))),
                other => return Err(self.corrupt("a field of a message", format!("wire type {other}"))),
            };
            match key >> 3 {
                0 => return Err(self.corrupt("a number of a field", 0)),
                field => read(field, Field { message: self, value })?,
            }
        }
        Ok(())
    }

    fn take(&self, rest: &mut &'a [u8], length: usize) -> Result<&'a [u8]> {
        let (taken, after) = rest
            .split_at_checked(length)
            .ok_or_else(|| self.corrupt(format!("a field of {length} bytes"), format!("{} bytes", rest.len())))?;
        *rest = after;
        Ok(taken)
    }

    fn array<const N: usize>(&self, rest: &mut &'a [u8]) -> Result<[u8; N]> {
        let bytes = self.take(rest, N)?;
        bytes.try_into().map_err(|_| self.corrupt("a number", "the end of the message"))
    }

    fn number(&self, rest: &mut &'a [u8]) -> Result<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array(rest)?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.corrupt("a variable-length number", "too many bytes"))
    }

    fn corrupt(&self, expected: impl std::fmt::Display, found: impl std::fmt::Display) -> Error {
        Error::corrupt(self.file, 0, expected, found).with("part", "the metadata of an ORC file")
    }
}

/// A field of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a> {
    message: Message<'a>,
    value: Value<'a>,
}

impl<'a> Field<'a> {
    fn wrong(&self, expected: &str) -> Error {
        self.message.corrupt(expected, format!("{:?}", self.value))
    }

    /// uint32, uint64, enums
    pub(super) fn number(&self) -> Result<u64> {
        match self.value {
            Value::Number(n) => Ok(n),
            _ => Err(self.wrong("a number")),
        }
    }

    /// sint32, sint64
    pub(super) fn signed(&self) -> Result<i64> {
        let n = self.number()?;
        Ok((n >> 1).cast_signed() ^ -(n & 1).cast_signed())
    }

    /// double
    pub(super) fn double(&self) -> Result<f64> {
        match self.value {
            Value::Fixed(bits) => Ok(f64::from_bits(bits)),
            _ => Err(self.wrong("a double")),
        }
    }

    /// bytes
    pub(super) fn bytes(&self) -> Result<&'a [u8]> {
        match self.value {
            Value::Bytes(bytes) => Ok(bytes),
            _ => Err(self.wrong("bytes")),
        }
    }

    /// string
    pub(super) fn text(&self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| self.wrong("a text"))
    }

    /// a message
    pub(super) fn message(&self) -> Result<Message<'a>> {
        Ok(Message { file: self.message.file, bytes: self.bytes()? })
    }

    /// One number, or a packed list of them.
    pub(super) fn numbers(&self, to: &mut Vec<u64>) -> Result<()> {
        match self.value {
            Value::Number(n) => push(to, n)?,
            Value::Bytes(mut rest) => {
                while !rest.is_empty() {
                    push(to, self.message.number(&mut rest)?)?;
                    if to.len().is_multiple_of(ASK_EVERY) {
                        cancel::check()?;
                    }
                }
            }
            Value::Fixed(_) => return Err(self.wrong("numbers")),
        }
        Ok(())
    }
}

/// Appends to a list of which a file may have any number of elements.
pub(super) fn push<T>(list: &mut Vec<T>, value: T) -> Result<()> {
    limits::grow(list, 1, "the metadata of an ORC file")?;
    list.push(value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cancel::Cancellation, error::ErrorKind};

    #[test]
    fn long_messages_ask_whether_to_stop_and_fields_have_numbers() {
        let bytes = [7 << 3 | 2, 0].repeat(2 * ASK_EVERY);
        let read = || {
            let mut fields = 0;
            Message::new("m", &bytes).fields(|field, _| {
                fields += usize::from(field == 7);
                Ok(())
            })?;
            Ok(fields)
        };
        assert_eq!(read().unwrap(), 2 * ASK_EVERY);
        let token = Cancellation::default();
        token.cancel();
        let stopped: Result<usize> = token.run(read);
        assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Cancelled);
        let zeros = Message::new("m", &[0, 0]).fields(|_, _| Ok(()));
        assert_eq!(zeros.unwrap_err().kind(), ErrorKind::CorruptFile);
    }
}
