//! Bytes in runs, and bits in them, written.

use arrow_buffer::BooleanBuffer;

use super::stream::StreamWriter;
use crate::error::Result;

/// Bytes that stand as they are, at most.
const LITERALS: usize = 128;
/// Bytes of a run.
const LEAST_RUN: usize = 3;
const LONGEST_RUN: usize = 130;

/// Writes bytes: runs of one of them, or as they are.
pub(super) fn put_bytes(bytes: &[u8], to: &mut StreamWriter) -> Result<()> {
    let mut rest = bytes;
    let mut literals = 0;
    while let Some(first) = rest.get(literals) {
        let same = rest.iter().skip(literals).take(LONGEST_RUN).take_while(|byte| *byte == first).count();
        if same < LEAST_RUN && literals < LITERALS {
            literals += 1;
            continue;
        }
        rest = put_literals(rest, literals, to)?;
        literals = 0;
        if same >= LEAST_RUN {
            to.put(&[u8::try_from(same - LEAST_RUN).unwrap_or_default(), *first])?;
            rest = rest.get(same..).unwrap_or_default();
        }
    }
    put_literals(rest, literals, to).map(drop)
}

/// The first bytes as they are; those that are left.
fn put_literals<'a>(bytes: &'a [u8], count: usize, to: &mut StreamWriter) -> Result<&'a [u8]> {
    let (now, rest) = bytes.split_at_checked(count).unwrap_or((bytes, &[]));
    if !now.is_empty() {
        to.put(&[u8::try_from(256 - now.len()).unwrap_or_default()])?;
        to.put(now)?;
    }
    Ok(rest)
}

/// Bits that are collected until they are written.
#[derive(Default)]
pub(super) struct BitsWriter {
    bytes: Vec<u8>,
    /// Bits of the last byte, at its upper end.
    used: u32,
}

impl BitsWriter {
    pub(super) fn put(&mut self, bits: &BooleanBuffer) {
        for bit in bits {
            self.push(bit);
        }
    }

    pub(super) fn put_same(&mut self, bit: bool, count: usize) {
        for _ in 0..count {
            self.push(bit);
        }
    }

    fn push(&mut self, bit: bool) {
        if self.used == 0 {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut().filter(|_| bit) {
            *last |= 0x80 >> self.used;
        }
        self.used = (self.used + 1) % 8;
    }

    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Writes all bits; it begins anew.
    pub(super) fn finish(&mut self, to: &mut StreamWriter) -> Result<()> {
        put_bytes(&self.bytes, to)?;
        *self = Self::default();
        Ok(())
    }
}
