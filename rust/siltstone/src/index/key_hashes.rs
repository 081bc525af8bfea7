//! Hashes of keys, each with the bucket that its keys are in: open addressing, six bytes a slot, so 8 to 12 bytes a hash.
//!
//! The hashes are Murmur's and spread well: the place of one is its share of the table, and neighbours follow.
#![allow(clippy::indexing_slicing, reason = "`place` is below the number of slots, and both lists have as many")]

use crate::{error::Result, limits};

/// No bucket has this number.
const FREE: u16 = u16::MAX;
const FEWEST: usize = 16;

/// Which bucket the keys of a hash are in.
#[derive(Clone, Debug, Default)]
pub struct KeyHashes {
    hashes: Vec<i32>,
    buckets: Vec<u16>,
    len: usize,
}

/// What is known of a hash.
pub(super) enum Slot {
    /// Its bucket.
    Taken(u16),
    /// Nothing: where it goes.
    Free(usize),
}

impl KeyHashes {
    /// Room for so many hashes.
    pub fn with_capacity(hashes: usize) -> Result<Self> {
        let mut made = Self::default();
        made.resize(slots_for(hashes))?;
        Ok(made)
    }

    /// How many hashes there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.hashes.capacity() * size_of::<i32>() + self.buckets.capacity() * size_of::<u16>()
    }

    /// The bucket of a hash.
    pub fn get(&self, hash: i32) -> Option<u16> {
        if self.buckets.is_empty() {
            return None;
        }
        let place = self.place(hash);
        (self.buckets[place] != FREE).then(|| self.buckets[place])
    }

    /// Adds a hash, unless it is there: then the bucket that it has.
    pub fn insert(&mut self, hash: i32, bucket: u16) -> Result<Option<u16>> {
        Ok(match self.slot(hash)? {
            Slot::Taken(bucket) => Some(bucket),
            Slot::Free(place) => {
                self.fill(place, hash, bucket);
                None
            }
        })
    }

    /// The bucket of a hash, or the place where it goes as long as no other one is added.
    pub(super) fn slot(&mut self, hash: i32) -> Result<Slot> {
        if self.len >= self.buckets.len() / 4 * 3 {
            // not twice as many: there would be more than twelve bytes a hash
            self.resize(slots_for(self.len.saturating_add(self.len / 20 * 9)))?;
        }
        let place = self.place(hash);
        Ok(match self.buckets[place] {
            FREE => Slot::Free(place),
            bucket => Slot::Taken(bucket),
        })
    }

    /// Reads the slots where searches for some hashes begin. Their memory is far apart: the processor waits for all of it at once
    /// here, and for one after another in searches that depend on what they find.
    pub(super) fn touch(&self, hashes: &[i32]) {
        if self.buckets.is_empty() {
            return;
        }
        let seen = hashes.iter().fold(0_i64, |seen, hash| {
            let place = self.first_place(*hash);
            seen.wrapping_add(i64::from(self.hashes[place])).wrapping_add(i64::from(self.buckets[place]))
        });
        std::hint::black_box(seen);
    }

    /// Adds a hash at its place.
    pub(super) fn fill(&mut self, place: usize, hash: i32, bucket: u16) {
        (self.hashes[place], self.buckets[place]) = (hash, bucket);
        self.len += 1;
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (i32, u16)> {
        self.hashes.iter().copied().zip(self.buckets.iter().copied()).filter(|(_, bucket)| *bucket != FREE)
    }

    /// The slot that has the hash, or where it would go.
    fn place(&self, hash: i32) -> usize {
        let slots = self.buckets.len();
        let mut place = self.first_place(hash);
        while self.buckets[place] != FREE && self.hashes[place] != hash {
            place += 1;
            if place == slots {
                place = 0;
            }
        }
        place
    }

    /// Where the search for a hash begins.
    fn first_place(&self, hash: i32) -> usize {
        let slots = u64::try_from(self.buckets.len()).unwrap_or(u64::MAX);
        usize::try_from(u64::from(hash.cast_unsigned()).saturating_mul(slots) >> 32).unwrap_or_default()
    }

    fn resize(&mut self, slots: usize) -> Result<()> {
        let what = "an index of the keys of a partition";
        let (mut hashes, mut buckets) = (Vec::new(), Vec::new());
        limits::ask(slots.saturating_mul(6), what)?;
        limits::reserve(&mut hashes, slots, what)?;
        limits::reserve(&mut buckets, slots, what)?;
        hashes.resize(slots, 0);
        buckets.resize(slots, FREE);
        let old = std::mem::replace(self, Self { hashes, buckets, len: self.len });
        for (hash, bucket) in old.iter() {
            let place = self.place(hash);
            (self.hashes[place], self.buckets[place]) = (hash, bucket);
        }
        Ok(())
    }
}

/// A third more, and one free slot at least: where a search ends.
fn slots_for(hashes: usize) -> usize {
    hashes.saturating_add(hashes / 3).saturating_add(FEWEST)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn hashes_keep_their_first_bucket_and_memory_stays_small() {
        let mut model = HashMap::new();
        let mut hashes = KeyHashes::default();
        assert_eq!(hashes.get(7), None);
        for i in 0..20_000_i32 {
            // ends, neighbours and repeats
            let hash = match i % 4 {
                0 => i,
                1 => -i,
                2 => i32::MAX - i / 2,
                _ => i.wrapping_mul(-1_640_531_527),
            };
            let bucket = u16::try_from(i % 32_767).unwrap();
            let known = hashes.insert(hash, bucket).unwrap();
            assert_eq!(known, model.get(&hash).copied());
            model.entry(hash).or_insert(bucket);
        }
        assert_eq!(hashes.len(), model.len());
        assert!(model.iter().all(|(hash, bucket)| hashes.get(*hash) == Some(*bucket)));
        assert_eq!(hashes.iter().collect::<HashMap<_, _>>(), model);
        assert!(hashes.memory() <= 12 * hashes.len(), "{} bytes for {}", hashes.memory(), hashes.len());
        let sized = KeyHashes::with_capacity(1_000_000).unwrap();
        assert!(sized.memory() <= 8_100_000, "{}", sized.memory());
    }
}
