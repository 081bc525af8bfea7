//! All files of a partition have the same number of buckets, and only an overwrite changes it.
//!
//! A writer that was opened before such an overwrite has put its rows into buckets of the old number. To compare with all live
//! files would cost a commit more with every file of the table. The newest file that was added to a partition says enough:
//!
//! ```text
//! manifests, newest first   … until one adds a file to each partition of the commit
//! all of these additions have the commit's number    it is the live one: an overwrite with another number is newer, or none was
//! otherwise                                          the live files are asked (an overwrite's own deletions, merged manifests)
//! ```

use std::{
    cell::OnceCell,
    collections::{HashMap, HashSet},
};

use super::merge::PartitionBounds;
use crate::{
    error::Result,
    manifest::{EntryKind, ManifestEntry, ManifestFileMeta, ManifestStore},
    snapshot::Snapshot,
    types::DataType,
};

/// The manifests of the version that a try builds on, oldest first; its lists are read when they are first asked for.
#[derive(Debug, Default)]
pub(super) struct BaseManifests(OnceCell<Vec<ManifestFileMeta>>);

impl BaseManifests {
    pub(super) fn of(&self, store: &ManifestStore, latest: &Snapshot) -> Result<&[ManifestFileMeta]> {
        if let Some(read) = self.0.get() {
            return Ok(read);
        }
        let read = store.read_lists(latest)?;
        Ok(self.0.get_or_init(|| read))
    }
}

/// Whether the files that `delta` adds have, by the newest additions, the number of buckets of their partitions; `false`: the
/// live files must say it.
pub(super) fn are_as_newest(
    store: &ManifestStore,
    manifests: &[ManifestFileMeta],
    partition_types: &[DataType],
    delta: &[ManifestEntry],
) -> Result<bool> {
    let mut open = counts(delta);
    let mut left = manifests;
    let mut wanted = 1;
    while !open.is_empty() && !left.is_empty() {
        let bounds = PartitionBounds::of(open.keys().copied(), partition_types)?;
        let mut newest = Vec::with_capacity(wanted);
        while let (true, Some((last, older))) = (newest.len() < wanted, left.split_last()) {
            left = older;
            if last.num_added_files > 0 && bounds.may_be_in(last)? {
                newest.push(last.clone());
            }
        }
        let added = store.read_all(&newest, &|head| {
            head.kind == EntryKind::Add && head.total_buckets > 0 && open.contains_key(head.partition)
        })?;
        let differs = |entry: &ManifestEntry| open.get(entry.partition.as_slice()) != Some(&entry.total_buckets);
        if added.iter().any(differs) {
            return Ok(false);
        }
        let found: HashSet<&[u8]> = added.iter().map(|entry| entry.partition.as_slice()).collect();
        open.retain(|partition, _| !found.contains(partition));
        // a partition that is new is looked for in all manifests that may hold it: then many at once
        wanted *= 2;
    }
    Ok(true)
}

/// The number of buckets of each partition with fixed buckets that gets a file.
fn counts(delta: &[ManifestEntry]) -> HashMap<&[u8], i32> {
    let added = delta.iter().filter(|entry| entry.kind == EntryKind::Add && entry.total_buckets > 0);
    added.map(|entry| (entry.partition.as_slice(), entry.total_buckets)).collect()
}
