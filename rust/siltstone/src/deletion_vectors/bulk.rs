//! Many positions at once: container words are filled directly instead of one call a position.
//!
//! Positions that lie close together are set in a bitmap of the range they span, which then becomes containers by
//! copying words; positions far apart are sorted and appended. Which way is chosen by the bytes the range takes.
#![allow(clippy::indexing_slicing, reason = "the buffer is sized from the least and the largest position")]

use std::cell::RefCell;

use roaring::RoaringBitmap;

/// A range is filled directly when it takes at most this many bytes a position.
const BYTES_A_POSITION: usize = 16;
/// Positions of one container: ranges begin at a multiple, so that words are copied without shifting.
const CONTAINER: u32 = 1 << 16;

thread_local! {
    /// Reused from call to call: a fresh buffer of megabytes is mostly page faults.
    static WORDS: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Largest buffer that a thread keeps.
const KEPT_BYTES: usize = 64 << 20;

/// Adds positions in any order, repeated ones included.
pub(super) fn add_all(bitmap: &mut RoaringBitmap, positions: &[u32]) {
    let (Some(least), Some(most)) = (positions.iter().min(), positions.iter().max()) else {
        return;
    };
    let base = least - least % CONTAINER;
    let bytes = to_usize(most - base) / 8 + 1;
    let sorted = positions.is_sorted();
    if bytes > positions.len().saturating_mul(BYTES_A_POSITION) && positions.len() < 1 << 20 || bytes > 512 << 20 {
        add_sparse(bitmap, positions, sorted);
        return;
    }
    WORDS.with_borrow_mut(|words| {
        // whole words: the last one may reach beyond the largest position
        words.clear();
        words.resize(bytes.next_multiple_of(8), 0);
        if sorted {
            fill_ascending(words, positions, base);
        } else {
            for position in positions {
                words[to_usize((position - base) / 8)] |= 1 << (position % 8);
            }
        }
        let added = RoaringBitmap::from_lsb0_bytes(base, words);
        if bitmap.is_empty() {
            *bitmap = added;
        } else {
            *bitmap |= added;
        }
        if words.capacity() > KEPT_BYTES {
            *words = Vec::new();
        }
    });
}

/// Gathers the bits of one word in a register.
fn fill_ascending(words: &mut [u8], positions: &[u32], base: u32) {
    let (mut at, mut word) = (0, 0_u64);
    for position in positions {
        let offset = position - base;
        let next = offset / 64;
        if next != at {
            put(words, at, word);
            (at, word) = (next, 0);
        }
        word |= 1 << (offset % 64);
    }
    put(words, at, word);
}

#[inline]
fn put(words: &mut [u8], at: u32, word: u64) {
    let start = to_usize(at) * 8;
    words[start..start + 8].copy_from_slice(&word.to_le_bytes());
}

fn add_sparse(bitmap: &mut RoaringBitmap, positions: &[u32], sorted: bool) {
    if positions.len() < 64 {
        bitmap.extend(positions.iter().copied());
        return;
    }
    let mut positions = positions.to_vec();
    if !sorted {
        positions.sort_unstable();
    }
    positions.dedup();
    let mut added = RoaringBitmap::new();
    if added.append(positions.iter().copied()).is_err() {
        // not reached: they are sorted and differ
        added.extend(positions);
    }
    if bitmap.is_empty() { *bitmap = added } else { *bitmap |= added }
}

#[inline]
fn to_usize(value: u32) -> usize {
    value as usize
}
