//! Many positions at once: container words are filled directly instead of one call a position.
//!
//! Positions that lie close together are set in a bitmap of the range they span, which then becomes containers by
//! copying words; positions far apart are sorted and appended. Which way is chosen by the bytes the range takes.
#![allow(clippy::indexing_slicing, reason = "the buffer is sized from the least and the largest position")]
#![allow(clippy::cast_possible_truncation, reason = "only positions below 2^32 are looked at")]

use std::cell::RefCell;

use arrow_buffer::ToByteSlice;
use roaring::RoaringBitmap;

use super::Position;

/// A range is filled directly when it takes at most this many bytes a position.
const BYTES_A_POSITION: usize = 16;
/// So many positions are not worth sorting: their range is filled, however far it reaches.
const TOO_MANY_TO_SORT: usize = 1 << 20;
/// A longer range is never filled directly.
const MOST_BYTES: usize = 512 << 20;
/// Positions of one container: ranges begin at a multiple, so that words are copied without shifting.
const CONTAINER: u32 = 1 << 16;

thread_local! {
    /// Reused from call to call: a fresh buffer of megabytes is mostly page faults.
    static WORDS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Largest buffer that a thread keeps.
const KEPT_BYTES: usize = 64 << 20;

/// Positions looked at while they are in the nearest cache.
const BLOCK: usize = 1 << 11;

/// Where positions lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) least: u64,
    pub(super) most: u64,
}

impl Extent {
    /// From the ends of ascending positions; `None` for no positions. Whether they ascend shows later.
    fn of_ends<P: Position>(positions: &[P]) -> Option<Self> {
        Some(Self { least: positions.first()?.row(), most: positions.last()?.row() })
    }

    fn of<P: Position>(positions: &[P]) -> Option<Self> {
        Some(Self { least: positions.iter().min()?.row(), most: positions.iter().max()?.row() })
    }

    /// Whether all are below 2^32, which is what one bitmap holds.
    fn fits(self) -> bool {
        self.least <= self.most && u32::try_from(self.most).is_ok()
    }

    fn base(self) -> u32 {
        let least = self.least as u32;
        least - least % CONTAINER
    }

    fn words(self) -> usize {
        ((self.most as u32 - self.base()) / 64 + 1) as usize
    }

    /// Whether filling the range is too much work for so many positions.
    fn is_sparse(self, positions: usize) -> bool {
        let bytes = self.words() * 8;
        bytes > MOST_BYTES || bytes > positions.saturating_mul(BYTES_A_POSITION) && positions < TOO_MANY_TO_SORT
    }
}

/// Positions in any order, repeated ones included, as a bitmap; when one of them is not below 2^32, the largest.
pub(super) fn collect<P: Position>(positions: &[P]) -> Result<RoaringBitmap, u64> {
    let Some(ends) = Extent::of_ends(positions) else {
        return Ok(RoaringBitmap::new());
    };
    if ends.fits()
        && !ends.is_sparse(positions.len())
        && let Some(bitmap) = filled(ends, |words| fill_ascending(words, positions, ends))
    {
        return Ok(bitmap);
    }
    let extent = Extent::of(positions).unwrap_or(ends);
    if !extent.fits() {
        return Err(extent.least.max(extent.most));
    }
    if extent.is_sparse(positions.len()) {
        return Ok(collect_sparse(positions));
    }
    let base = extent.base();
    let fill = |words: &mut [u64]| {
        for position in positions {
            let offset = position.row() as u32 - base;
            words[(offset / 64) as usize] |= (1_u64 << (offset % 64)).to_le();
        }
        true
    };
    Ok(filled(extent, fill).unwrap_or_default())
}

/// The containers of a range whose words `fill` sets; `None` when it cannot.
fn filled(extent: Extent, fill: impl FnOnce(&mut [u64]) -> bool) -> Option<RoaringBitmap> {
    WORDS.with_borrow_mut(|words| {
        words.clear();
        words.resize(extent.words(), 0);
        let bitmap =
            fill(words).then(|| RoaringBitmap::from_lsb0_bytes(extent.base(), words.as_slice().to_byte_slice()));
        if words.capacity() * 8 > KEPT_BYTES {
            *words = Vec::new();
        }
        bitmap
    })
}

/// Sets ascending positions between the ends; `false` when they do not ascend.
fn fill_ascending<P: Position>(words: &mut [u64], positions: &[P], ends: Extent) -> bool {
    let dense = positions.len() / DENSE >= ends.words();
    let mut last = positions[0];
    for block in positions.chunks(BLOCK) {
        if last > block[0] || !block.is_sorted() {
            return false;
        }
        last = block[block.len() - 1];
        if last.row() > ends.most {
            return false;
        }
        if dense {
            fill_dense(words, block, ends.base());
        } else {
            fill_sparse(words, block, ends.base());
        }
    }
    true
}

/// Positions a word from which on most groups of positions lie within one.
const DENSE: usize = 24;
/// Positions that are looked at together.
const GROUP: usize = 8;

/// The bits of a group gather without a test for each of them: its first and last one tell whether it lies in one word.
fn fill_dense<P: Position>(words: &mut [u64], block: &[P], base: u32) {
    let offset = |position: &P| position.row() as u32 - base;
    let mut groups = block.chunks_exact(GROUP);
    for group in &mut groups {
        let (first, last) = (offset(&group[0]) / 64, offset(&group[GROUP - 1]) / 64);
        if first == last {
            let bits = group.iter().fold(0_u64, |bits, position| bits | 1 << (offset(position) % 64));
            words[first as usize] |= bits.to_le();
        } else {
            fill_sparse(words, group, base);
        }
    }
    fill_sparse(words, groups.remainder(), base);
}

/// The bits of a word gather in a register that is stored after each of them: nothing to predict, nothing to load but
/// the first word.
fn fill_sparse<P: Position>(words: &mut [u64], block: &[P], base: u32) {
    let Some(first) = block.first() else { return };
    let mut at = (first.row() as u32 - base) / 64;
    let mut word = u64::from_le(words[at as usize]);
    for position in block {
        let offset = position.row() as u32 - base;
        let next = offset / 64;
        let before = if next == at { word } else { 0 };
        word = before | 1 << (offset % 64);
        at = next;
        words[next as usize] = word.to_le();
    }
}

fn collect_sparse<P: Position>(positions: &[P]) -> RoaringBitmap {
    let mut rows: Vec<u32> = positions.iter().map(|p| p.row() as u32).collect();
    if !rows.is_sorted() {
        rows.sort_unstable();
    }
    rows.dedup();
    let mut bitmap = RoaringBitmap::new();
    if bitmap.append(rows.iter().copied()).is_err() {
        // not reached: they are sorted and differ
        bitmap.extend(rows);
    }
    bitmap
}
