//! What a writer or a compaction of one bucket changed.

use super::{DataFileMeta, IndexManifestEntry};

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
}
