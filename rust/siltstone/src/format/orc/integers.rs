//! Whole numbers in runs, versions 1 and 2.

use super::stream::{MOST_AT_ONCE, Stream, unzigzag};
use crate::error::Result;

/// Widths of packed numbers by their code.
pub(super) const WIDTHS: [u8; 32] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 26, 28, 30, 32, 40, 48, 56,
    64,
];

/// Whole numbers. A clone goes on from the same place.
#[derive(Clone)]
pub(super) struct Integers {
    stream: Stream,
    signed: bool,
    second_version: bool,
    /// Numbers of the run, and how many of them were taken.
    run: Vec<i64>,
    at: usize,
}

impl Integers {
    pub(super) fn new(stream: Stream, signed: bool, second_version: bool) -> Self {
        Self { stream, signed, second_version, run: Vec::new(), at: 0 }
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The next numbers.
    pub(super) fn read(&mut self, count: usize) -> Result<Vec<i64>> {
        let mut out = Vec::with_capacity(count.min(MOST_AT_ONCE));
        while out.len() < count {
            if self.at >= self.run.len() {
                self.next_run()?;
            }
            let there = self.run.get(self.at..).unwrap_or_default();
            let taken = there.get(..count - out.len()).unwrap_or(there);
            self.stream.room(&mut out, taken.len())?;
            out.extend_from_slice(taken);
            self.at += taken.len();
        }
        Ok(out)
    }

    fn next_run(&mut self) -> Result<()> {
        self.run.clear();
        self.at = 0;
        let first = self.stream.byte()?;
        if !self.second_version {
            return self.first_version(first);
        }
        match first >> 6 {
            0 => self.short_repeat(first),
            1 => self.direct(first),
            2 => self.patched_base(first),
            _ => self.delta(first),
        }
    }

    fn number(&mut self) -> Result<i64> {
        if self.signed { self.stream.signed() } else { self.stream.unsigned().map(u64::cast_signed) }
    }

    fn first_version(&mut self, control: u8) -> Result<()> {
        if control < 0x80 {
            let delta = i64::from(self.stream.byte()?.cast_signed());
            let mut value = self.number()?;
            for _ in 0..usize::from(control) + 3 {
                self.run.push(value);
                value = value.wrapping_add(delta);
            }
        } else {
            for _ in 0..0x100 - usize::from(control) {
                let value = self.number()?;
                self.run.push(value);
            }
        }
        Ok(())
    }

    fn short_repeat(&mut self, first: u8) -> Result<()> {
        let width = usize::from(first >> 3 & 7) + 1;
        let value = self.big_endian(width)?;
        let value = if self.signed { unzigzag(value) } else { value.cast_signed() };
        self.run.resize(usize::from(first & 7) + 3, value);
        Ok(())
    }

    fn big_endian(&mut self, bytes: usize) -> Result<u64> {
        (0..bytes).try_fold(0_u64, |all, _| Ok(all << 8 | u64::from(self.stream.byte()?)))
    }

    /// Width and number of a run that says both.
    fn header(&mut self, first: u8) -> Result<(u8, usize)> {
        let width = WIDTHS.get(usize::from(first >> 1 & 31)).copied().unwrap_or(64);
        let count = usize::from(first & 1) << 8 | usize::from(self.stream.byte()?);
        Ok((width, count + 1))
    }

    fn direct(&mut self, first: u8) -> Result<()> {
        let (width, count) = self.header(first)?;
        let signed = self.signed;
        self.packed(width, count, |v| if signed { unzigzag(v) } else { v.cast_signed() })
    }

    fn delta(&mut self, first: u8) -> Result<()> {
        let has_width = first >> 1 & 31 != 0;
        let (width, count) = self.header(first)?;
        let mut value = self.number()?;
        let step = self.stream.signed()?;
        self.run.push(value);
        if !has_width {
            for _ in 1..count {
                value = value.wrapping_add(step);
                self.run.push(value);
            }
            return Ok(());
        }
        if count < 2 {
            return Ok(());
        }
        value = value.wrapping_add(step);
        self.run.push(value);
        self.packed(width, count - 2, |delta| {
            let delta = delta.cast_signed();
            value = if step < 0 { value.wrapping_sub(delta) } else { value.wrapping_add(delta) };
            value
        })
    }

    fn patched_base(&mut self, first: u8) -> Result<()> {
        let (width, count) = self.header(first)?;
        let (third, fourth) = (self.stream.byte()?, self.stream.byte()?);
        let base_bytes = usize::from(third >> 5) + 1;
        let patch_width = WIDTHS.get(usize::from(third & 31)).copied().unwrap_or(64);
        let gap_width = (fourth >> 5) + 1;
        let patches = usize::from(fourth & 31);
        let raw = self.big_endian(base_bytes)?;
        let sign = 1_u64 << (8 * base_bytes - 1);
        let magnitude = (raw & !sign).cast_signed();
        let base = if raw & sign == 0 { magnitude } else { magnitude.wrapping_neg() };
        self.packed(width, count, u64::cast_signed)?;
        let values = std::mem::take(&mut self.run);
        if u32::from(patch_width) + u32::from(gap_width) > 64 {
            return Err(self.stream.corrupt("patches of at most 64 bits", patch_width));
        }
        self.packed(closest_width(patch_width + gap_width), patches, u64::cast_signed)?;
        let list = std::mem::replace(&mut self.run, values);
        let mut place = 0_usize;
        for entry in list {
            let entry = entry.cast_unsigned();
            place = place.saturating_add(usize::try_from(entry >> patch_width).unwrap_or(usize::MAX));
            let patch = entry & ((1_u64 << patch_width) - 1);
            if patch == 0 {
                continue;
            }
            let high = if width < 64 { patch << width } else { 0 };
            match self.run.get_mut(place) {
                Some(value) => *value |= high.cast_signed(),
                None => return Err(self.stream.corrupt(format!("a patch of one of {count} numbers"), place)),
            }
        }
        self.run.iter_mut().for_each(|value| *value = value.wrapping_add(base));
        Ok(())
    }

    /// Appends numbers of `width` bits, most significant bit first, to the run; the last byte is filled up.
    fn packed(&mut self, width: u8, count: usize, mut value: impl FnMut(u64) -> i64) -> Result<()> {
        let bytes = (count * usize::from(width)).div_ceil(8);
        let mut packed = Vec::with_capacity(bytes);
        self.stream.read(&mut packed, bytes)?;
        self.run.reserve(count);
        match width {
            8 => self.run.extend(packed.iter().map(|b| value(u64::from(*b)))),
            16 | 24 | 32 | 40 | 48 | 56 | 64 => {
                let numbers = packed.chunks_exact(usize::from(width / 8));
                self.run.extend(numbers.map(|n| value(n.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)))));
            }
            _ => {
                let (mut there, mut have) = (0_u128, 0_u32);
                let mask = (1_u128 << width) - 1;
                let mut next = packed.iter();
                for _ in 0..count {
                    while have < u32::from(width) {
                        there = there << 8 | u128::from(next.next().copied().unwrap_or_default());
                        have += 8;
                    }
                    have -= u32::from(width);
                    let number = u64::try_from(there >> have & mask).unwrap_or_default();
                    self.run.push(value(number));
                    there &= (1_u128 << have) - 1;
                }
            }
        }
        Ok(())
    }
}

/// The least width with a code that is not below this.
fn closest_width(bits: u8) -> u8 {
    WIDTHS.into_iter().find(|width| *width >= bits).unwrap_or(64)
}
