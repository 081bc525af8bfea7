//! What snapshots deleted, read once: before an expiry leaves a trace, and for its plan.
//!
//! ```text
//! delta 4   ADD b at level 5
//! delta 7   DELETE b at level 5      the same file: it may go
//!           DELETE b at level 4      another one by its entry, the same by its path: readers keep it, so nothing goes
//! delta 9   ADD b                    and nothing of delta 7 takes it away
//! ```

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use rayon::prelude::*;

use crate::{
    cleanup::{ManifestCache, UnusedFile},
    error::{Error, ErrorKind, Result},
    manifest::{EntryKind, ManifestEntry},
    snapshot::{NamedList, Snapshot},
    threads::in_pool,
};

/// What one delta does to files that it does not take back itself (an upgrade deletes a file and adds it).
#[derive(Debug, Default)]
struct Delta {
    deleted: HashMap<String, (UnusedFile, u64)>,
    added: HashMap<String, u64>,
}

/// The deltas of some snapshots, ascending. Manifests without DELETE entries are read only when others of their list have some.
#[derive(Debug, Default)]
pub(super) struct Deltas {
    deltas: Vec<(i64, Delta)>,
    /// Deltas that cannot be read: what they deleted stays.
    pub(super) notes: Vec<String>,
}

fn identity(entry: &ManifestEntry) -> u64 {
    let mut hasher = DefaultHasher::new();
    entry.id().hash(&mut hasher);
    hasher.finish()
}

impl Delta {
    /// Entries take each other back by what they are, in any order: messages of one writer that are committed together move a file
    /// up, and take it in.
    fn read(cache: &ManifestCache, list: NamedList<'_>) -> Result<Self> {
        Ok(Self::of(cache.entries_of_deleting_list(list)?))
    }

    fn of(entries: impl IntoIterator<Item = ManifestEntry>) -> Self {
        let mut files: HashMap<String, (HashSet<u64>, HashMap<u64, ManifestEntry>)> = HashMap::new();
        for entry in entries {
            let (added, deleted) = files.entry(entry.file.file_name.clone()).or_default();
            match entry.kind {
                EntryKind::Add => drop(added.insert(identity(&entry))),
                EntryKind::Delete => drop(deleted.insert(identity(&entry), entry)),
            }
        }
        let mut delta = Self::default();
        for (name, (added, mut deleted)) in files {
            if let Some(stays) = added.iter().find(|identity| !deleted.contains_key(identity)) {
                delta.added.insert(name, *stays);
                continue;
            }
            // of one that came and went in between, any
            let first = deleted.keys().copied().find(|identity| !added.contains(identity));
            let Some(identity) = first.or_else(|| deleted.keys().next().copied()) else { continue };
            if let Some(entry) = deleted.remove(&identity) {
                delta.deleted.insert(name, (entry.into(), identity));
            }
        }
        delta
    }
}

impl Deltas {
    /// Of these snapshots, ascending. `second_lines`: the first ids of lines that were not made from what lies before them.
    ///
    /// # Errors
    /// `CorruptFile` when a file that they delete is one that they leave there, by its path.
    pub(super) fn read(cache: &ManifestCache, snapshots: &[&Snapshot], second_lines: &[i64]) -> Result<Self> {
        let read: Vec<(i64, Result<Delta>)> =
            in_pool(|| snapshots.par_iter().map(|s| (s.id, Delta::read(cache, s.delta_list()))).collect());
        let mut all = Self::default();
        for (id, delta) in read {
            match delta {
                Ok(delta) => all.deltas.push((id, delta)),
                Err(e) if e.kind() == ErrorKind::CorruptFile => {
                    all.notes.push(format!("what snapshot {id} deleted cannot be read, its files stay: {e}"));
                }
                Err(e) => return Err(e),
            }
        }
        all.check(second_lines)?;
        Ok(all)
    }

    /// Files by snapshot, ascending.
    pub(super) fn deleted(&self) -> impl Iterator<Item = (i64, Vec<UnusedFile>)> {
        self.deltas.iter().map(|(id, delta)| (*id, delta.deleted.values().map(|(file, _)| file.clone()).collect()))
    }

    /// Within each line: what one has deleted may live in another.
    fn check(&self, second_lines: &[i64]) -> Result<()> {
        let mut there: HashMap<&str, u64> = HashMap::new();
        let mut gone: HashMap<&str, i64> = HashMap::new();
        let mut back: BTreeMap<&str, i64> = BTreeMap::new();
        let mut last = None;
        for (id, delta) in &self.deltas {
            let is_gap = |last: i64| last.saturating_add(1) != *id;
            if second_lines.contains(id) || last.is_some_and(is_gap) {
                there.clear();
                gone.clear();
            }
            last = Some(*id);
            for (name, (_, identity)) in &delta.deleted {
                if there.remove(name.as_str()).is_some_and(|added| added != *identity) {
                    return Err(still_named(name, *id));
                }
                gone.insert(name, *id);
                back.remove(name.as_str());
            }
            for (name, identity) in &delta.added {
                there.insert(name, *identity);
                if let Some(deleted_by) = gone.get(name.as_str()) {
                    back.insert(name, *deleted_by);
                }
            }
        }
        back.pop_first().map_or(Ok(()), |(name, deleted_by)| Err(still_named(name, deleted_by)))
    }
}

fn still_named(file: &str, snapshot: i64) -> Error {
    Error::new(ErrorKind::CorruptFile, "a data file that a snapshot deletes is named by later versions")
        .with("file", file)
        .with("snapshot", snapshot)
        .hint("nothing was deleted: see what fsck says of the table")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta(deleted: &[(&str, u64)], added: &[(&str, u64)]) -> Delta {
        Delta {
            deleted: deleted.iter().map(|(name, id)| ((*name).to_owned(), (UnusedFile::default(), *id))).collect(),
            added: added.iter().map(|(name, id)| ((*name).to_owned(), *id)).collect(),
        }
    }

    fn check(deltas: Vec<Delta>) -> Option<ErrorKind> {
        let deltas = Deltas { deltas: (1..).zip(deltas).collect(), notes: Vec::new() };
        deltas.check(&[]).err().map(|e| e.kind())
    }

    #[test]
    fn a_file_goes_when_nothing_names_it_after_its_deletion() {
        assert_eq!(check(vec![delta(&[("a", 1)], &[("b", 2)]), delta(&[("b", 2)], &[("c", 3)])]), None);
        let again = vec![delta(&[("a", 1)], &[]), delta(&[], &[("a", 1)]), delta(&[("a", 1)], &[])];
        assert_eq!(check(again), None);
    }

    #[test]
    fn a_file_that_is_named_by_another_entry_or_again_stops_the_expiry() {
        let other = vec![delta(&[("a", 1)], &[("b", 2)]), delta(&[("b", 7)], &[])];
        assert_eq!(check(other), Some(ErrorKind::CorruptFile));
        let again = vec![delta(&[("a", 1)], &[]), delta(&[], &[("a", 1)])];
        assert_eq!(check(again), Some(ErrorKind::CorruptFile));
    }

    #[test]
    fn a_version_of_another_line_may_still_have_a_file() {
        for (id, second_lines) in [(5, &[][..]), (4, &[4][..])] {
            let deltas = vec![(3, delta(&[("a", 1)], &[])), (id, delta(&[], &[("a", 1)]))];
            Deltas { deltas, notes: Vec::new() }.check(second_lines).unwrap();
        }
    }
}
