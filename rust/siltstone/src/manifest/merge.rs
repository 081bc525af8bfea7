//! How ADD and DELETE entries cancel out (`FileEntry.mergeEntries`, format chapter 4.4).

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::{Hash, Hasher},
};

use super::{EntryKind, ManifestEntry};
use crate::error::{Error, ErrorKind, Result};

/// The identity of an entry without copying it: equal exactly when [`ManifestEntry::id`] is.
struct IdRef<'a>(&'a ManifestEntry);

impl PartialEq for IdRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.0, other.0);
        a.file.file_name == b.file.file_name
            && a.bucket == b.bucket
            && a.file.level == b.file.level
            && a.partition == b.partition
            && a.file.extra_files == b.file.extra_files
            && a.file.embedded_file_index == b.file.embedded_file_index
            && a.file.external_path == b.file.external_path
    }
}

impl Eq for IdRef<'_> {}

impl Hash for IdRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.file.file_name.hash(state);
        self.0.bucket.hash(state);
        self.0.file.level.hash(state);
    }
}

/// Entries that are left after each DELETE has cancelled the ADD of the same identity before it.
///
/// The order of the rest is kept. A DELETE without its ADD stays: the ADD is in an earlier manifest.
/// An ADD of an identity that is present already is corrupt metadata.
pub fn merge_entries(entries: impl IntoIterator<Item = ManifestEntry>) -> Result<Vec<ManifestEntry>> {
    let entries: Vec<ManifestEntry> = entries.into_iter().collect();
    let mut keep = vec![true; entries.len()];
    let mut present: HashMap<IdRef<'_>, usize> = HashMap::with_capacity(entries.len());
    let mut drop_at = |at: usize| {
        if let Some(flag) = keep.get_mut(at) {
            *flag = false;
        }
    };
    for (at, entry) in entries.iter().enumerate() {
        match (entry.kind, present.entry(IdRef(entry))) {
            (EntryKind::Add, Entry::Occupied(_)) => return Err(added_twice(entry)),
            (EntryKind::Delete, Entry::Occupied(known)) => {
                drop_at(known.remove());
                drop_at(at);
            }
            (_, Entry::Vacant(free)) => {
                free.insert(at);
            }
        }
    }
    drop(present);
    Ok(entries.into_iter().zip(keep).filter_map(|(entry, kept)| kept.then_some(entry)).collect())
}

/// Files that exist after all entries of a snapshot: ADD entries that no DELETE took away, in order.
pub fn live_entries(entries: impl IntoIterator<Item = ManifestEntry>) -> Result<Vec<ManifestEntry>> {
    let mut merged = merge_entries(entries)?;
    merged.retain(|entry| entry.kind == EntryKind::Add);
    Ok(merged)
}

fn added_twice(entry: &ManifestEntry) -> Error {
    Error::new(ErrorKind::CorruptFile, "the manifests add a data file that the table has already")
        .with("file", &entry.file.file_name)
        .with("bucket", entry.bucket)
        .with("level", entry.file.level)
        .hint("two commits may have overwritten each other; check who else commits to this table")
}
