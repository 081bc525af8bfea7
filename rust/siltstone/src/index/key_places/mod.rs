//! Where the keys of a whole table are: for the hash of each key a number that says its place. Bounded in memory: what is too
//! much goes to sorted runs on local disk.
//!
//! ```text
//! table   hashes in memory, open addressing, 24 bytes a slot
//! run     a full table, sorted by hash, in a file; in memory the first hash of each block of 3 KiB
//! find    hashes of a batch, sorted: the table, then run by run, the newest first: each block is read once, in order
//! runs    newer ones of about the same size become one; a finished bootstrap leaves one
//! ```
//!
//! A hash has 128 bits of two SipHash functions with random keys: nobody can choose keys that collide, and 10^9 keys do by
//! chance once in 10^20 indexes. So a place needs no key beside it, and keys of all types take the same room.

mod run;
mod table;

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    path::PathBuf,
};

use self::{
    run::{Run, merged},
    table::Table,
};
use crate::error::{Error, ErrorKind, Result};

/// Runs that are there at once.
const MOST_RUNS: usize = 16;
/// Newer runs are joined with an older one that is at most so many times as large.
const ALIKE: u64 = 2;

/// The hash of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyHash(u64, u64);

/// A hash and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    hash: KeyHash,
    place: u64,
}

/// What a key's place is.
pub struct KeyPlaces {
    seeds: [RandomState; 2],
    table: Table,
    runs: Vec<Run>,
    directory: PathBuf,
    /// No key is put in twice, with other places.
    unique: bool,
}

impl KeyPlaces {
    /// The largest number of a place.
    pub const LAST: u64 = u64::MAX - 1;

    /// An empty index that holds about so many bytes of memory, and spills to a local directory.
    pub fn new(memory: usize, directory: PathBuf) -> Self {
        let seeds = [RandomState::new(), RandomState::new()];
        Self { seeds, table: Table::new(memory), runs: Vec::new(), directory, unique: false }
    }

    /// The same, of keys that have one place each, until it is settled.
    pub fn of_unique(memory: usize, directory: PathBuf) -> Self {
        Self { unique: true, ..Self::new(memory, directory) }
    }

    /// What hashes keys for this index; it may be used while the index is changed.
    pub fn hasher(&self) -> impl Fn(&[u8]) -> KeyHash + Send + Sync + use<> {
        let seeds = self.seeds.clone();
        move |key| {
            let [a, b] = seeds.each_ref().map(|seed| {
                let mut hasher = seed.build_hasher();
                hasher.write(key);
                hasher.finish()
            });
            KeyHash(a, b)
        }
    }

    /// The place of each hash; `None` of those that have none.
    pub fn find(&self, hashes: &[KeyHash]) -> Result<Vec<Option<u64>>> {
        let mut found: Vec<Option<u64>> = hashes.iter().map(|hash| self.table.get(*hash)).collect();
        if self.runs.is_empty() {
            return Ok(found);
        }
        let missing = found.iter().zip(hashes).enumerate().filter(|(_, (found, _))| found.is_none());
        let mut missing: Vec<(KeyHash, usize)> = missing.map(|(at, (_, hash))| (*hash, at)).collect();
        missing.sort_unstable();
        for run in self.runs.iter().rev() {
            if missing.is_empty() {
                break;
            }
            let mut left = Vec::with_capacity(missing.len());
            let mut reader = run.reader()?;
            for (hash, at) in missing {
                match (reader.find(hash)?, found.get_mut(at)) {
                    (Some(place), Some(slot)) => *slot = Some(place),
                    _ => left.push((hash, at)),
                }
            }
            missing = left;
        }
        Ok(found)
    }

    /// Gives a key a place, in the stead of the one that it had.
    ///
    /// # Errors
    /// Those of the local disk; `CorruptFile` for a key that is to have one place and gets another.
    pub fn put(&mut self, hash: KeyHash, place: u64) -> Result<()> {
        if !self.table.has_room()? {
            self.spill()?;
            self.table.has_room()?;
        }
        match self.table.put(hash, place) {
            Some(there) if self.unique && there != place => Err(in_two_places()),
            _ => Ok(()),
        }
    }

    /// Makes one run of all that is on disk: it is found with one look, and keys may change their places from now on.
    ///
    /// # Errors
    /// As [`KeyPlaces::put`].
    pub fn settle(&mut self) -> Result<()> {
        if !self.runs.is_empty() {
            self.spill()?;
        }
        if self.runs.len() > 1 {
            self.runs = merged(&self.runs, &self.directory, self.unique)?.into_iter().collect();
        }
        self.unique = false;
        Ok(())
    }

    /// Whether nothing was put in.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty() && self.runs.is_empty()
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.runs.iter().map(Run::memory).fold(self.table.memory(), usize::saturating_add)
    }

    /// Runs on disk.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    fn spill(&mut self) -> Result<()> {
        let entries = self.table.take_sorted();
        if !entries.is_empty() {
            self.runs.extend(Run::write(&self.directory, entries.into_iter().map(Ok))?);
        }
        if self.runs.len() > MOST_RUNS {
            self.join_alike()?;
        }
        Ok(())
    }

    /// Joins the newest runs, and each older one that is not much larger than they are together.
    fn join_alike(&mut self) -> Result<()> {
        let mut from = self.runs.len();
        let mut entries = 0_u64;
        while let Some(older) = from.checked_sub(1).and_then(|at| self.runs.get(at)) {
            if self.runs.len() - from >= 2 && older.entries() > entries.saturating_mul(ALIKE) {
                break;
            }
            entries = entries.saturating_add(older.entries());
            from -= 1;
        }
        let newest = self.runs.split_off(from);
        self.runs.extend(merged(&newest, &self.directory, self.unique)?);
        Ok(())
    }
}

/// The error of a key that has two places.
pub(super) fn in_two_places() -> Error {
    Error::new(ErrorKind::CorruptFile, "a key of the table lives in two partitions or buckets")
        .hint("several jobs have written to the table at the same time: overwrite it with its own rows, each key once")
}

#[cfg(test)]
mod tests;
