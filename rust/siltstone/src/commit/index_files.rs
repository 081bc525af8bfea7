//! The next index manifest: the complete set of index files after a commit (format chapter 8.2).
//!
//! ```text
//! HASH, DELETION_VECTORS with buckets    a commit leaves one file per (partition, bucket, type): deletions first, then
//!                                        additions replace; buckets that it does not touch keep all they have
//! DELETION_VECTORS without buckets       by file name; a data file has at most one vector
//! any other type                         by file name; entries that are not touched are carried over unchanged
//! ```
//!
//! Stricter than Java: a HASH file that takes the place of one which the writer did not say it replaces (by a DELETE
//! entry) is a conflict. The writer assigned buckets from an index that another writer has extended since;
//! replacing it would make keys appear in two buckets.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::changes::DELETION_VECTORS;
use crate::{
    error::{Error, ErrorKind, Result},
    index::HASH,
    manifest::{EntryKind, IndexManifestEntry},
};

type BucketKey = (Vec<u8>, i32);

/// The entries after `changes`, or the conflict between them. `unaware`: the table has no buckets.
pub(super) fn combine(
    previous: Vec<IndexManifestEntry>,
    changes: &[IndexManifestEntry],
    unaware: bool,
) -> Result<Vec<IndexManifestEntry>> {
    let mut types: BTreeMap<String, (Vec<IndexManifestEntry>, Vec<&IndexManifestEntry>)> = BTreeMap::new();
    for entry in previous {
        if entry.kind != EntryKind::Add {
            let text = "an index manifest holds an entry that deletes a file";
            return Err(Error::new(ErrorKind::CorruptFile, text).with("file", &entry.file_name));
        }
        types.entry(entry.index_type.clone()).or_default().0.push(entry);
    }
    for entry in changes {
        types.entry(entry.index_type.clone()).or_default().1.push(entry);
    }
    let mut result = Vec::new();
    for (index_type, (previous, changes)) in types {
        result.extend(match index_type.as_str() {
            DELETION_VECTORS if unaware => combine_vectors_by_file(previous, &changes)?,
            DELETION_VECTORS => combine_by_bucket(previous, &changes)?,
            HASH => {
                check_hash_files(&previous, &changes)?;
                combine_by_bucket(previous, &changes)?
            }
            _ => combine_by_file(previous, &changes),
        });
    }
    Ok(result)
}

fn of_kind<'a>(changes: &[&'a IndexManifestEntry], kind: EntryKind) -> impl Iterator<Item = &'a IndexManifestEntry> {
    changes.iter().copied().filter(move |entry| entry.kind == kind).collect::<Vec<_>>().into_iter()
}

fn bucket_key(entry: &IndexManifestEntry) -> BucketKey {
    (entry.partition.clone(), entry.bucket)
}

fn combine_by_bucket(
    previous: Vec<IndexManifestEntry>,
    changes: &[&IndexManifestEntry],
) -> Result<Vec<IndexManifestEntry>> {
    let touched: HashSet<BucketKey> = changes.iter().map(|entry| bucket_key(entry)).collect();
    let mut entries: Vec<IndexManifestEntry> =
        previous.into_iter().filter(|entry| !touched.contains(&bucket_key(entry))).collect();
    for (_, added) in added_by_bucket(changes)? {
        entries.push(added.clone());
    }
    entries.sort_by_key(bucket_key);
    Ok(entries)
}

/// What a commit adds and does not replace itself; it says all that there is of its bucket.
fn added_by_bucket<'a>(changes: &[&'a IndexManifestEntry]) -> Result<BTreeMap<BucketKey, &'a IndexManifestEntry>> {
    let replaced: HashSet<&str> = of_kind(changes, EntryKind::Delete).map(|entry| entry.file_name.as_str()).collect();
    let mut added: BTreeMap<BucketKey, &IndexManifestEntry> = BTreeMap::new();
    for entry in of_kind(changes, EntryKind::Add).filter(|entry| !replaced.contains(entry.file_name.as_str())) {
        if let Some(other) = added.insert(bucket_key(entry), entry).filter(|other| other.file_name != entry.file_name) {
            let text = "two messages of a commit each bring an index file of the same bucket";
            return Err(Error::new(ErrorKind::CommitConflict, text)
                .with("file", &entry.file_name)
                .with("other", &other.file_name)
                .hint("Only one writer may write to such a bucket at a time: write the rows of one of them again."));
        }
    }
    Ok(added)
}

fn combine_by_file(previous: Vec<IndexManifestEntry>, changes: &[&IndexManifestEntry]) -> Vec<IndexManifestEntry> {
    let deleted: HashSet<&str> = of_kind(changes, EntryKind::Delete).map(|entry| entry.file_name.as_str()).collect();
    let added: HashSet<&str> = of_kind(changes, EntryKind::Add).map(|entry| entry.file_name.as_str()).collect();
    let stays = |entry: &IndexManifestEntry| {
        !deleted.contains(entry.file_name.as_str()) && !added.contains(entry.file_name.as_str())
    };
    let kept = previous.into_iter().filter(stays);
    kept.chain(of_kind(changes, EntryKind::Add).cloned()).collect()
}

fn names_by_bucket<'a>(entries: impl Iterator<Item = &'a IndexManifestEntry>) -> HashMap<BucketKey, BTreeSet<&'a str>> {
    let mut names: HashMap<BucketKey, BTreeSet<&str>> = HashMap::new();
    for entry in entries {
        names.entry(bucket_key(entry)).or_default().insert(&entry.file_name);
    }
    names
}

fn listed(names: Option<&BTreeSet<&str>>) -> String {
    names.map_or_else(|| "none".to_owned(), |names| names.iter().copied().collect::<Vec<_>>().join(", "))
}

/// Every HASH file of the table must be the one that the writer extended.
fn check_hash_files(previous: &[IndexManifestEntry], changes: &[&IndexManifestEntry]) -> Result<()> {
    let current = names_by_bucket(previous.iter());
    let replaced = names_by_bucket(of_kind(changes, EntryKind::Delete));
    let touched: HashSet<BucketKey> = changes.iter().map(|entry| bucket_key(entry)).collect();
    for key in touched {
        let (now, expected) = (current.get(&key), replaced.get(&key));
        if now != expected {
            let text = "the hash index of a bucket changed while this commit was written";
            return Err(Error::new(ErrorKind::CommitConflict, text)
                .with("bucket", key.1)
                .with("expected", listed(expected))
                .with("found", listed(now))
                .hint("Write the rows again: only one job at a time may write to a table with dynamic buckets."));
        }
    }
    Ok(())
}

fn combine_vectors_by_file(
    previous: Vec<IndexManifestEntry>,
    changes: &[&IndexManifestEntry],
) -> Result<Vec<IndexManifestEntry>> {
    let mut with_vector: HashSet<String> = previous.iter().flat_map(vector_files).collect();
    let mut entries: BTreeMap<String, IndexManifestEntry> =
        previous.into_iter().map(|entry| (entry.file_name.clone(), entry)).collect();
    for entry in changes {
        let name = &entry.file_name;
        match entry.kind {
            EntryKind::Add => {
                if entries.insert(name.clone(), (*entry).clone()).is_some() {
                    return Err(conflict(entry, format!("Trying to add file {name} which is already added.")));
                }
                if let Some(file) = vector_files(entry).find(|file| !with_vector.insert(file.clone())) {
                    let text = format!("Trying to add dv for data file {file} which is already added.");
                    return Err(conflict(entry, text));
                }
            }
            EntryKind::Delete => {
                if entries.remove(name).is_none() {
                    return Err(conflict(entry, format!("Trying to delete file {name} which is not exists.")));
                }
                if let Some(file) = vector_files(entry).find(|file| !with_vector.remove(file)) {
                    let text = format!("Trying to delete dv for data file {file} which is not exists.");
                    return Err(conflict(entry, text));
                }
            }
        }
    }
    Ok(entries.into_values().collect())
}

fn vector_files(entry: &IndexManifestEntry) -> impl Iterator<Item = String> + use<> {
    let ranges = entry.deletion_vectors.clone().unwrap_or_default();
    ranges.into_iter().map(|range| range.data_file_name)
}

fn conflict(entry: &IndexManifestEntry, text: String) -> Error {
    Error::new(ErrorKind::CommitConflict, text)
        .with("file", &entry.file_name)
        .hint("Another commit changed the deletion vectors of this table; run the statement again.")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests may stop at the first surprise")]

    use super::*;
    use crate::manifest::{DeletionVectorRange, GlobalIndexMeta};

    fn index(kind: EntryKind, index_type: &str, bucket: i32, name: &str, vectors: &[&str]) -> IndexManifestEntry {
        let range = |file: &&str| DeletionVectorRange {
            data_file_name: (*file).to_owned(),
            offset: 1,
            length: 2,
            cardinality: Some(1),
        };
        IndexManifestEntry {
            kind,
            partition: vec![0; 12],
            bucket,
            index_type: index_type.to_owned(),
            file_name: name.to_owned(),
            file_size: 1,
            row_count: 1,
            deletion_vectors: (!vectors.is_empty()).then(|| vectors.iter().map(range).collect()),
            external_path: None,
            global_index: None,
        }
    }

    fn names(entries: &[IndexManifestEntry]) -> Vec<&str> {
        entries.iter().map(|entry| entry.file_name.as_str()).collect()
    }

    use EntryKind::{Add, Delete};

    #[test]
    fn a_bucket_has_one_file_of_a_type_and_other_buckets_stay() {
        let before = vec![index(Add, DELETION_VECTORS, 0, "a", &[]), index(Add, DELETION_VECTORS, 1, "b", &[])];
        let changes = [index(Add, DELETION_VECTORS, 0, "c", &[])];
        assert_eq!(names(&combine(before.clone(), &changes, false).unwrap()), ["c", "b"]);
        let changes = [index(Delete, DELETION_VECTORS, 1, "b", &[])];
        assert_eq!(names(&combine(before, &changes, false).unwrap()), ["a"]);
    }

    #[test]
    fn no_index_file_of_a_bucket_goes_that_the_commit_does_not_say_it_replaces() {
        for index_type in [DELETION_VECTORS, HASH] {
            let file = |kind, bucket, name| index(kind, index_type, bucket, name, &[]);
            let before = vec![file(Add, 0, "a"), file(Add, 0, "b"), file(Add, 1, "c")];
            let untouched = [file(Delete, 1, "c"), file(Add, 1, "d")];
            assert_eq!(names(&combine(before.clone(), &untouched, false).unwrap()), ["a", "b", "d"]);
            let whole = [file(Delete, 0, "a"), file(Delete, 0, "b"), file(Add, 0, "d")];
            assert_eq!(names(&combine(before, &whole, false).unwrap()), ["d", "c"]);
            let both = [file(Add, 2, "d"), file(Add, 2, "e")];
            assert_eq!(combine(Vec::new(), &both, false).unwrap_err().kind(), ErrorKind::CommitConflict);
        }
        let one_of_two = [index(Delete, HASH, 0, "b", &[]), index(Add, HASH, 0, "d", &[])];
        let before = vec![index(Add, HASH, 0, "a", &[]), index(Add, HASH, 0, "b", &[])];
        assert_eq!(combine(before, &one_of_two, false).unwrap_err().kind(), ErrorKind::CommitConflict);
    }

    #[test]
    fn entries_of_unknown_types_are_carried_over_unchanged() {
        let mut unknown = index(Add, "vector-search", 0, "u", &[]);
        unknown.global_index = Some(GlobalIndexMeta {
            row_range_start: 0,
            row_range_end: 9,
            index_field_id: 2,
            extra_field_ids: None,
            index_meta: Some(vec![1]),
            source_meta: None,
        });
        let after = combine(vec![unknown.clone()], &[index(Add, HASH, 0, "h", &[])], false).unwrap();
        assert!(after.contains(&unknown));
        assert_eq!(after.len(), 2);
    }

    #[test]
    fn a_hash_index_that_somebody_else_extended_is_a_conflict() {
        let before = vec![index(Add, HASH, 0, "theirs", &[])];
        let ours = [index(Delete, HASH, 0, "old", &[]), index(Add, HASH, 0, "ours", &[])];
        assert_eq!(combine(before.clone(), &ours, false).unwrap_err().kind(), ErrorKind::CommitConflict);
        assert_eq!(combine(before, &ours[1..], false).unwrap_err().kind(), ErrorKind::CommitConflict);
        let before = vec![index(Add, HASH, 0, "old", &[])];
        assert_eq!(names(&combine(before, &ours, false).unwrap()), ["ours"]);
    }

    #[test]
    fn without_buckets_a_data_file_has_one_vector_and_files_are_matched_by_name() {
        let before = vec![index(Add, DELETION_VECTORS, 0, "a", &["f1", "f2"])];
        let second = [index(Add, DELETION_VECTORS, 0, "b", &["f2"])];
        assert!(combine(before.clone(), &second, true).is_err());
        let gone = [index(Delete, DELETION_VECTORS, 0, "x", &[])];
        assert!(combine(before.clone(), &gone, true).is_err());
        let replace = [
            index(Delete, DELETION_VECTORS, 0, "a", &["f1", "f2"]),
            index(Add, DELETION_VECTORS, 0, "b", &["f1", "f2"]),
        ];
        assert_eq!(names(&combine(before, &replace, true).unwrap()), ["b"]);
    }
}
