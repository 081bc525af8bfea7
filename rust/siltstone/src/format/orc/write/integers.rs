//! Whole numbers in runs of version 2, written: a first number with equal steps, or packed numbers of one width.

use super::{
    super::integers::WIDTHS,
    message::{varint, zigzag},
    stream::StreamWriter,
};
use crate::error::Result;

/// Numbers of a run at most.
const LONGEST: usize = 512;
/// Fewer with equal steps are packed with those around them.
const WORTH_A_RUN: usize = 8;

/// Numbers that are collected until a run is full.
pub(super) struct IntegersWriter {
    signed: bool,
    pending: Vec<i64>,
}

impl IntegersWriter {
    pub(super) fn new(signed: bool) -> Self {
        Self { signed, pending: Vec::new() }
    }

    #[inline]
    pub(super) fn put(&mut self, value: i64, to: &mut StreamWriter) -> Result<()> {
        self.pending.push(value);
        if self.pending.len() >= LONGEST { self.finish(to) } else { Ok(()) }
    }

    /// Writes what is there.
    pub(super) fn finish(&mut self, to: &mut StreamWriter) -> Result<()> {
        let values = std::mem::take(&mut self.pending);
        let mut out = Vec::new();
        let (mut packed, mut rest) = (0, &*values);
        let mut before = &*values;
        while !rest.is_empty() {
            let run = run_length(rest);
            if run < WORTH_A_RUN && run < values.len() {
                let step = run.max(2) - 1;
                packed += step.min(rest.len());
                rest = rest.get(step..).unwrap_or_default();
                continue;
            }
            self.direct(before.get(..packed).unwrap_or_default(), &mut out);
            self.steps(rest.get(..run).unwrap_or_default(), &mut out);
            rest = rest.get(run..).unwrap_or_default();
            (before, packed) = (rest, 0);
        }
        self.direct(before.get(..packed).unwrap_or_default(), &mut out);
        self.pending = values;
        self.pending.clear();
        to.put(&out)
    }

    fn stored(&self, value: i64) -> u64 {
        if self.signed { zigzag(value) } else { value.cast_unsigned() }
    }

    /// Numbers of which each is one step from the one before.
    fn steps(&self, values: &[i64], out: &mut Vec<u8>) {
        let Some(first) = values.first() else { return };
        let step = values.get(1).map_or(0, |second| second.wrapping_sub(*first));
        head(3, 0, values.len(), out);
        varint(out, self.stored(*first));
        varint(out, zigzag(step));
    }

    /// Packed numbers, the most significant bit first.
    fn direct(&self, values: &[i64], out: &mut Vec<u8>) {
        if values.is_empty() {
            return;
        }
        let all = values.iter().fold(0, |all, value| all | self.stored(*value));
        let bits = u8::try_from(64 - all.leading_zeros()).unwrap_or(64);
        let code = WIDTHS.iter().position(|width| *width >= bits).unwrap_or(WIDTHS.len() - 1);
        let width = WIDTHS.get(code).copied().unwrap_or(64);
        head(1, code, values.len(), out);
        let (mut there, mut have) = (0_u128, 0_u32);
        for value in values {
            there = there << width | u128::from(self.stored(*value));
            have += u32::from(width);
            while have >= 8 {
                have -= 8;
                let [byte, ..] = (there >> have).to_le_bytes();
                out.push(byte);
            }
            there &= (1 << have) - 1;
        }
        if have > 0 {
            let [byte, ..] = (there << (8 - have)).to_le_bytes();
            out.push(byte);
        }
    }
}

/// How many numbers from the first on have equal steps.
fn run_length(values: &[i64]) -> usize {
    let mut pairs = values.windows(2).map(|pair| match pair {
        [a, b] => b.checked_sub(*a),
        _ => None,
    });
    match pairs.next() {
        Some(Some(step)) => 2 + pairs.take_while(|next| *next == Some(step)).count(),
        _ => values.len().min(1),
    }
}

/// The kind of the run, the code of its width and its length.
fn head(kind: u8, width: usize, count: usize, out: &mut Vec<u8>) {
    let length = u16::try_from(count.saturating_sub(1)).unwrap_or_default();
    let [high, low] = length.to_be_bytes();
    out.push(kind << 6 | u8::try_from(width).unwrap_or_default() << 1 | high & 1);
    out.push(low);
}
