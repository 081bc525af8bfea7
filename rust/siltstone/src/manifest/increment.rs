//! What a writer or a compaction of one bucket changed.

use std::collections::HashSet;

use super::{DataFileMeta, EntryKind, IndexManifestEntry};

/// One LSM tree (or one bucket of an append table).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BucketId {
    /// serialized `BinaryRow` of the partition columns
    pub partition: Vec<u8>,
    /// bucket number
    pub bucket: i32,
}

/// Files that a writer produced from new input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataIncrement {
    /// files added
    pub new_files: Vec<DataFileMeta>,
    /// files deleted
    pub deleted_files: Vec<DataFileMeta>,
    /// changelog files
    pub changelog_files: Vec<DataFileMeta>,
    /// index files added (kind ADD) and deleted (kind DELETE)
    pub index_files: Vec<IndexManifestEntry>,
}

impl DataIncrement {
    /// Data and changelog files that the writer has made.
    pub fn made(&self) -> impl Iterator<Item = &DataFileMeta> {
        self.new_files.iter().chain(&self.changelog_files)
    }

    /// Index files that the writer has made.
    pub fn made_indexes(&self) -> impl Iterator<Item = &IndexManifestEntry> {
        added(&self.index_files)
    }
}

/// Files that a compaction replaced.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompactIncrement {
    /// inputs
    pub compact_before: Vec<DataFileMeta>,
    /// outputs
    pub compact_after: Vec<DataFileMeta>,
    /// changelog files
    pub changelog_files: Vec<DataFileMeta>,
    /// index files added and deleted
    pub index_files: Vec<IndexManifestEntry>,
    /// where deletes were left out
    pub dropped: Vec<DroppedDeletes>,
}

impl CompactIncrement {
    /// Data and changelog files that the compaction has made. One that only changed its level is an input.
    pub fn made(&self) -> impl Iterator<Item = &DataFileMeta> {
        let inputs: HashSet<&str> = self.compact_before.iter().map(|file| file.file_name.as_str()).collect();
        let outputs = self.compact_after.iter().filter(move |file| !inputs.contains(file.file_name.as_str()));
        self.changelog_files.iter().chain(outputs)
    }

    /// Index files that the compaction has made.
    pub fn made_indexes(&self) -> impl Iterator<Item = &IndexManifestEntry> {
        added(&self.index_files)
    }
}

fn added(entries: &[IndexManifestEntry]) -> impl Iterator<Item = &IndexManifestEntry> {
    entries.iter().filter(|entry| entry.kind == EntryKind::Add)
}

/// Keys of inputs whose deletes a compaction has left out, because it knew of no older rows of theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedDeletes {
    /// level that was written to
    pub level: i32,
    /// smallest key of the inputs that have deletes
    pub min_key: Vec<u8>,
    /// their largest key
    pub max_key: Vec<u8>,
    /// their largest sequence number
    pub max_sequence_number: i64,
    /// names of files up to that level that it knew, and did not take in
    pub known: Vec<String>,
}
