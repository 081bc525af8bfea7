//! Lengths of texts as pages have them before the texts (`DELTA_BINARY_PACKED`), to look at them before the parquet crate asks
//! for memory for as many as there are said to be.
//!
//! ```text
//! varint values of a block, varint miniblocks of a block, varint values in all, zigzag first value
//! block: zigzag smallest delta, a bit width for each miniblock, miniblocks: deltas less the smallest, least bits first
//! ```
//!
//! Blocks are whole but for the last, of which only the miniblocks are there that have values.

/// A widest delta, in bits.
const MAX_WIDTH: u8 = 32;

/// Lengths to come. Sums wrap, as those of the decoder do.
pub(super) struct Lengths<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Miniblocks of a block.
    miniblocks: usize,
    /// Values of a miniblock.
    of_miniblock: usize,
    left: usize,
    last: i32,
    is_first: bool,
    smallest: i32,
    widths: &'a [u8],
    /// Bits of this miniblock that were read.
    bits: usize,
    /// Values of it that are left.
    values: usize,
}

impl<'a> Lengths<'a> {
    /// Begins; `None` where these bytes are no lengths, or those of more than `most` values.
    pub(super) fn new(bytes: &'a [u8], most: usize) -> Option<Self> {
        let mut lengths = Self {
            bytes,
            at: 0,
            miniblocks: 0,
            of_miniblock: 0,
            left: 0,
            last: 0,
            is_first: true,
            smallest: 0,
            widths: &[],
            bits: 0,
            values: 0,
        };
        let of_block = usize::try_from(lengths.varint()?).ok()?;
        lengths.miniblocks = usize::try_from(lengths.varint()?).ok()?;
        lengths.of_miniblock = of_block.checked_div(lengths.miniblocks)?;
        lengths.left = usize::try_from(lengths.varint()?).ok().filter(|count| *count <= most)?;
        lengths.last = i32::try_from(lengths.zigzag()?).ok()?;
        (lengths.of_miniblock > 0).then_some(lengths)
    }

    /// How many are left.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// The next one; `None` where the bytes end before it, or are none of lengths.
    pub(super) fn take_length(&mut self) -> Option<i32> {
        self.left = self.left.checked_sub(1)?;
        if !std::mem::take(&mut self.is_first) {
            while self.values == 0 {
                self.next_miniblock()?;
            }
            self.values -= 1;
            let delta = self.delta()?;
            self.last = self.last.wrapping_add(self.smallest).wrapping_add(delta);
        }
        Some(self.last)
    }

    /// What comes behind the last one.
    pub(super) fn rest(mut self) -> Option<&'a [u8]> {
        self.pass_miniblock()?;
        self.bytes.get(self.at..)
    }

    /// Goes behind the miniblock that is being read.
    fn pass_miniblock(&mut self) -> Option<()> {
        if let Some((width, rest)) = self.widths.split_first() {
            let bytes = usize::from(*width).checked_mul(self.of_miniblock)? / 8;
            self.at = self.at.checked_add(bytes).filter(|at| *at <= self.bytes.len())?;
            self.widths = rest;
        }
        Some(())
    }

    fn next_miniblock(&mut self) -> Option<()> {
        self.pass_miniblock()?;
        if self.widths.is_empty() {
            self.smallest = i32::try_from(self.zigzag()?).ok()?;
            let widths = self.at..self.at.checked_add(self.miniblocks)?;
            (self.widths, self.at) = (self.bytes.get(widths.clone())?, widths.end);
        }
        self.widths.first().filter(|width| **width <= MAX_WIDTH)?;
        (self.bits, self.values) = (0, self.of_miniblock);
        Some(())
    }

    /// The next bits of the miniblock, as many as it is wide.
    fn delta(&mut self) -> Option<i32> {
        let width = usize::from(*self.widths.first()?);
        let (first, end) = (self.bits, self.bits.checked_add(width)?);
        self.bits = end;
        let bytes = self.bytes.get(self.at.checked_add(first / 8)?..self.at.checked_add(end.div_ceil(8))?)?;
        let bits = bytes.iter().rev().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
        let mask = (1_u64 << width) - 1;
        // all 32 bits of a number with a sign
        Some(u32::try_from(bits >> (first % 8) & mask).ok()?.cast_signed())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn zigzag(&mut self) -> Option<i64> {
        let number = self.varint()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8], most: usize) -> Option<(Vec<i32>, Vec<u8>)> {
        let mut lengths = Lengths::new(bytes, most)?;
        let taken: Option<Vec<i32>> = (0..lengths.left()).map(|_| lengths.take_length()).collect();
        Some((taken?, lengths.rest()?.to_vec()))
    }

    /// Blocks of 128 values in 4 miniblocks.
    fn packed(count: u8, first: u8, rest: &[u8]) -> Vec<u8> {
        [&[0x80, 1, 4, count, first << 1][..], rest].concat()
    }

    #[test]
    fn lengths_are_the_sums_of_deltas() {
        assert_eq!(all(&packed(1, 7, b"x"), 1), Some((vec![7], b"x".to_vec())));
        assert_eq!(all(&packed(0, 7, b""), 1), Some((vec![], vec![])));
        // of width 0, smallest delta -2
        assert_eq!(all(&packed(4, 7, &[3, 0, 9, 9, 9, 1]), 9), Some((vec![7, 5, 3, 1], vec![1])));
        // of width 3: deltas 0, 1, 2, 3
        let miniblock = [0b1000_1000, 0b0000_0110, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let bytes = [&[0, 3, 0, 0, 0][..], &miniblock, b"rest"].concat();
        assert_eq!(all(&packed(5, 1, &bytes), 9), Some((vec![1, 1, 2, 4, 7], b"rest".to_vec())));
    }

    #[test]
    fn values_go_on_in_more_miniblocks_and_blocks() {
        // 1 + 128 + 1 values, each one more than the one before
        let bytes = [&[0x80, 1, 4, 0x82, 1, 0][..], &[2, 0, 0, 0, 0], &[2, 0, 0, 0, 0]].concat();
        assert_eq!(all(&bytes, 200), Some(((0..130).collect(), vec![])));
    }

    /// Room was made for as many as they said, and the process ended.
    #[test]
    fn more_lengths_than_values_and_what_is_none_is_refused() {
        assert_eq!(all(&packed(9, 7, b""), 8), None);
        for bytes in [
            &[][..],
            &[0x80, 1, 0, 1, 0],
            &[0, 4, 1, 0],
            &[0x80, 1, 4, 1],
            &[0xff; 12],
            &packed(2, 7, &[]),
            &packed(2, 7, &[0, 3, 0, 0]),
            &packed(2, 7, &[0, 3, 0, 0, 0]),
            &packed(2, 7, &[0, 33, 0, 0, 0, 1, 2, 3]),
        ] {
            assert_eq!(all(bytes, 9), None, "{bytes:?}");
        }
    }
}
