//! Hashes in memory, each with its place: open addressing. The slot of a hash is its share of the table, and neighbours follow, so
//! the slots are almost sorted.
#![allow(clippy::indexing_slicing, reason = "`slot` is below the number of slots")]

use super::{Entry, KeyHash};
use crate::{error::Result, limits};

/// No place has this number.
const FREE: u64 = u64::MAX;
const FEWEST: usize = 1024;
const EMPTY: Entry = Entry { hash: KeyHash(0, 0), place: FREE };

pub(super) struct Table {
    slots: Vec<Entry>,
    len: usize,
    /// Most slots, also for the moment in which a larger table takes over those of a smaller one.
    most: usize,
}

impl Table {
    /// A table that holds so many bytes.
    pub(super) fn new(memory: usize) -> Self {
        Self { slots: Vec::new(), len: 0, most: (memory / size_of::<Entry>()).max(2 * FEWEST) }
    }

    pub(super) fn memory(&self) -> usize {
        self.slots.capacity().saturating_mul(size_of::<Entry>())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn get(&self, hash: KeyHash) -> Option<u64> {
        if self.slots.is_empty() {
            return None;
        }
        Some(self.slots[self.slot(hash)].place).filter(|place| *place != FREE)
    }

    /// Whether one hash more may be put in; makes the table larger when it is almost full.
    pub(super) fn has_room(&mut self) -> Result<bool> {
        if self.len < self.slots.len() / 4 * 3 {
            return Ok(true);
        }
        let larger = (self.slots.len() / 2 * 3).max(FEWEST);
        if self.slots.len().saturating_add(larger) > self.most {
            return Ok(false);
        }
        let mut slots = Vec::new();
        limits::reserve(&mut slots, larger, "an index of the keys of a table")?;
        slots.resize(larger, EMPTY);
        for entry in std::mem::replace(&mut self.slots, slots).into_iter().filter(|entry| entry.place != FREE) {
            let slot = self.slot(entry.hash);
            self.slots[slot] = entry;
        }
        Ok(true)
    }

    /// Puts a hash in; the place that it had.
    pub(super) fn put(&mut self, hash: KeyHash, place: u64) -> Option<u64> {
        let slot = self.slot(hash);
        let before = std::mem::replace(&mut self.slots[slot], Entry { hash, place }).place;
        if before == FREE {
            self.len += 1;
            return None;
        }
        Some(before)
    }

    /// All that is there, sorted by hash; then nothing is.
    pub(super) fn take_sorted(&mut self) -> Vec<Entry> {
        self.len = 0;
        let mut entries = std::mem::take(&mut self.slots);
        entries.retain(|entry| entry.place != FREE);
        entries.sort_unstable_by_key(|entry| entry.hash);
        entries
    }

    /// The slot that has the hash, or where it would go.
    fn slot(&self, hash: KeyHash) -> usize {
        let slots = self.slots.len();
        let share = u128::from(hash.0).wrapping_mul(slots as u128) >> 64;
        let mut slot = usize::try_from(share).unwrap_or_default();
        while self.slots[slot].place != FREE && self.slots[slot].hash != hash {
            slot += 1;
            if slot == slots {
                slot = 0;
            }
        }
        slot
    }
}
