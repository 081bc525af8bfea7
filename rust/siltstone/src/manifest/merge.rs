//! How ADD and DELETE entries cancel out (`FileEntry.mergeEntries`, format chapter 4.4).

use std::{
    collections::HashSet,
    hash::{BuildHasher, Hash, Hasher},
};

use foldhash::fast::RandomState;
use hashbrown::{HashTable, hash_table::Entry};

use super::{EntryKind, ManifestEntry};
use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
};

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

/// After so many entries there is a look at whether to stop.
const ASK_ENTRIES: usize = 4096;

/// Entries that are left after each DELETE has cancelled the ADD of the same identity before it.
///
/// The order of the rest is kept. A DELETE without its ADD stays: the ADD is in an earlier manifest.
/// An ADD of an identity that is present already is corrupt metadata.
pub fn merge_entries(entries: impl IntoIterator<Item = ManifestEntry>) -> Result<Vec<ManifestEntry>> {
    let mut entries: Vec<ManifestEntry> = entries.into_iter().collect();
    let mut keep = vec![true; entries.len()];
    let hasher = RandomState::default();
    let hash = |entry: &ManifestEntry| hasher.hash_one(IdRef(entry));
    // where entries are that nothing has cancelled: there may be millions
    let mut present: HashTable<u32> = HashTable::with_capacity(entries.len());
    let entry_at = |place: u32| usize::try_from(place).ok().and_then(|place| entries.get(place));
    for (place, (at, entry)) in (0_u32..).zip(entries.iter().enumerate()) {
        if at % ASK_ENTRIES == 0 {
            cancel::check()?;
        }
        let is_same = |other: &u32| entry_at(*other).is_some_and(|other| IdRef(other) == IdRef(entry));
        let known = present.entry(hash(entry), is_same, |other| entry_at(*other).map_or(0, hash));
        match (entry.kind, known) {
            // what is deleted before these entries begin may be added again
            (EntryKind::Add, Entry::Occupied(mut known)) => {
                if entry_at(*known.get()).is_none_or(|before| before.kind == EntryKind::Add) {
                    return Err(added_twice(entry));
                }
                *known.get_mut() = place;
            }
            (EntryKind::Delete, Entry::Occupied(known)) => {
                let (before, _) = known.remove();
                for dropped in [usize::try_from(before).unwrap_or(usize::MAX), at] {
                    keep.get_mut(dropped).into_iter().for_each(|keep| *keep = false);
                }
            }
            (_, Entry::Vacant(free)) => {
                free.insert(place);
            }
        }
    }
    drop(present);
    let mut keep = keep.into_iter();
    // in place: there may be millions
    entries.retain(|_| keep.next().unwrap_or(true));
    Ok(entries)
}

/// Files that exist after all entries of a snapshot: ADD entries that no DELETE took away, in order.
pub fn live_entries(entries: impl IntoIterator<Item = ManifestEntry>) -> Result<Vec<ManifestEntry>> {
    let mut merged = merge_entries(entries)?;
    merged.retain(|entry| entry.kind == EntryKind::Add);
    Ok(merged)
}

/// The same without copying entries and without complaints: for finding out what is in use, where one file too many
/// does no harm.
pub fn live_refs<'a>(entries: impl IntoIterator<Item = &'a ManifestEntry>) -> Vec<&'a ManifestEntry> {
    let mut live: HashSet<IdRef<'a>> = HashSet::new();
    for entry in entries {
        match entry.kind {
            EntryKind::Add => {
                live.replace(IdRef(entry));
            }
            EntryKind::Delete => {
                live.remove(&IdRef(entry));
            }
        }
    }
    live.into_iter().map(|id| id.0).collect()
}

fn added_twice(entry: &ManifestEntry) -> Error {
    Error::new(ErrorKind::CorruptFile, "the manifests add a data file that the table has already")
        .with("file", &entry.file.file_name)
        .with("bucket", entry.bucket)
        .with("level", entry.file.level)
        .hint("two commits may have overwritten each other; check who else commits to this table")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{manifest::DataFileFields, stats::SimpleStats};

    fn entry(kind: EntryKind, name: &str, level: i32) -> ManifestEntry {
        let file = DataFileFields {
            file_name: name.to_owned(),
            file_size: 1,
            row_count: 1,
            min_key: vec![0; 12],
            max_key: vec![0; 12],
            key_stats: SimpleStats::empty(),
            value_stats: SimpleStats::empty(),
            min_sequence_number: 0,
            max_sequence_number: 0,
            schema_id: 0,
            level,
            extra_files: vec!["a.index".to_owned()],
            creation_time: None,
            delete_row_count: Some(0),
            embedded_file_index: None,
            file_source: None,
            value_stats_cols: None,
            external_path: None,
            first_row_id: None,
            write_cols: None,
        }
        .into();
        ManifestEntry { kind, partition: vec![0; 12], bucket: 0, total_buckets: 1, file }
    }

    fn add(name: &str, level: i32) -> ManifestEntry {
        entry(EntryKind::Add, name, level)
    }

    fn delete(name: &str, level: i32) -> ManifestEntry {
        entry(EntryKind::Delete, name, level)
    }

    #[test]
    fn a_delete_cancels_the_add_before_it_and_the_order_stays() {
        let merged = merge_entries([add("a", 0), add("b", 0), add("c", 0), delete("b", 0)]).expect("merged");
        assert_eq!(merged, [add("a", 0), add("c", 0)]);
    }

    #[test]
    fn an_upgrade_moves_a_file_to_another_level() {
        let merged = merge_entries([add("a", 0), delete("a", 0), add("a", 5)]).expect("merged");
        assert_eq!(merged, [add("a", 5)]);
    }

    #[test]
    fn a_delete_without_its_add_is_kept_for_earlier_manifests() {
        let merged = merge_entries([delete("a", 0), add("b", 0)]).expect("merged");
        assert_eq!(merged, [delete("a", 0), add("b", 0)]);
        assert_eq!(live_entries([delete("a", 0), add("b", 0)]).expect("live"), [add("b", 0)]);
    }

    #[test]
    fn a_delete_that_differs_in_level_or_index_cancels_nothing() {
        let mut other = delete("a", 0);
        other.file.embedded_file_index = Some(vec![1]);
        for wrong in [delete("a", 1), other] {
            assert_eq!(live_entries([add("a", 0), wrong]).expect("live"), [add("a", 0)]);
        }
    }

    #[test]
    fn adding_a_file_twice_is_corrupt_metadata() {
        let e = merge_entries([add("a", 0), add("a", 0)]).expect_err("twice");
        assert_eq!((e.kind(), e.context_value("file")), (ErrorKind::CorruptFile, Some("a")));
    }
}
