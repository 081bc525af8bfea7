//! Bytes in runs, and bits in them.

use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};

use super::stream::{MOST_AT_ONCE, Stream};
use crate::{error::Result, limits};

/// Bytes: runs of one of them, or as they are.
#[derive(Clone)]
pub(super) struct ByteRuns {
    stream: Stream,
    left: usize,
    /// The byte that is repeated; `None`: they stand there.
    repeated: Option<u8>,
}

impl ByteRuns {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, left: 0, repeated: None }
    }

    /// Appends the next bytes.
    pub(super) fn read(&mut self, to: &mut Vec<u8>, mut count: usize) -> Result<()> {
        while count > 0 {
            if self.left == 0 {
                let control = self.stream.byte()?;
                if control < 0x80 {
                    self.left = usize::from(control) + 3;
                    self.repeated = Some(self.stream.byte()?);
                } else {
                    self.left = 0x100 - usize::from(control);
                    self.repeated = None;
                }
            }
            let taken = self.left.min(count);
            match self.repeated {
                Some(byte) => {
                    self.stream.room(to, taken)?;
                    to.resize(to.len() + taken, byte);
                }
                None => self.stream.read(to, taken)?,
            }
            self.left -= taken;
            count -= taken;
        }
        Ok(())
    }
}

/// Bits, the most significant of each byte first.
#[derive(Clone)]
pub(super) struct Bits {
    bytes: ByteRuns,
    /// What is left of the last byte, at its upper end.
    rest: u8,
    left: usize,
}

impl Bits {
    pub(super) fn new(stream: Stream) -> Self {
        Self { bytes: ByteRuns::new(stream), rest: 0, left: 0 }
    }

    pub(super) fn read(&mut self, count: usize) -> Result<BooleanBuffer> {
        let from_rest = self.left.min(count);
        let missing = count - from_rest;
        let mut bytes = Vec::with_capacity(missing.div_ceil(8).min(MOST_AT_ONCE));
        self.bytes.read(&mut bytes, missing.div_ceil(8))?;
        limits::ask_for_part(count.div_ceil(8), "values of an ORC file")?;
        let mut out = BooleanBufferBuilder::new(count);
        self.take(&mut out, from_rest);
        let last = if missing.is_multiple_of(8) { None } else { bytes.pop() };
        if from_rest == 0 {
            for byte in &mut bytes {
                *byte = byte.reverse_bits();
            }
            out.append_packed_range(0..bytes.len() * 8, &bytes);
        } else {
            for byte in bytes {
                (self.rest, self.left) = (byte, 8);
                self.take(&mut out, 8);
            }
        }
        if let Some(last) = last {
            (self.rest, self.left) = (last, 8);
            self.take(&mut out, missing % 8);
        }
        Ok(out.finish())
    }

    fn take(&mut self, out: &mut BooleanBufferBuilder, count: usize) {
        for _ in 0..count {
            out.append(self.rest & 0x80 != 0);
            self.rest <<= 1;
        }
        self.left -= count;
    }
}
