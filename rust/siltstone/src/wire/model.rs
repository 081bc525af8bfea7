//! What travels between planning, executing and committing.

use crate::{
    manifest::{BucketId, CompactIncrement, DataFileMeta, DataIncrement, DeletionVectorRange},
    snapshot::RemovedSnapshot,
};

/// What one writer or compaction of one bucket hands to the commit (`CommitMessageImpl`).
#[derive(Clone, Debug, PartialEq)]
pub struct CommitMessage {
    /// bucket
    pub bucket: BucketId,
    /// option `bucket` of the writer; -1 for unaware append
    pub total_buckets: i32,
    /// new input
    pub data: DataIncrement,
    /// compaction
    pub compact: CompactIncrement,
    /// `None`: not known
    pub seen: Option<Seen>,
    /// the newest snapshot when the message was handed out (id 0: there was none): nobody has committed it before; `None`: not
    /// known. Java's bytes do not hold it
    pub after: Option<RemovedSnapshot>,
    /// what the buckets of new rows were found by; `None`: a number of buckets, or not known
    pub assigned: Option<Assigned>,
}

/// By what a writer gave rows their buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assigned {
    /// the assigner: a key is in one bucket for all messages of one of them
    pub writer: String,
    /// what it has looked at
    pub by: AssignedBy,
}

/// What an assigner has looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssignedBy {
    /// the hash index files of the partition ([`crate::index::version_of`])
    Index(u128),
    /// the same, by the assigners of a job, which is not ours to trust: no key may be in two buckets
    Given(u128),
    /// all keys of the table, as they were at a snapshot, and the files that the assigner's writer has made since
    Keys(Seen),
}

/// What keys were looked up in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// the snapshot (id 0: there was none)
    pub snapshot: RemovedSnapshot,
    /// names of files that the same writer has made since
    pub made: Vec<String>,
}

impl From<RemovedSnapshot> for Seen {
    fn from(snapshot: RemovedSnapshot) -> Self {
        Self { snapshot: RemovedSnapshot { commit: None, ..snapshot }, made: Vec::new() }
    }
}

impl CommitMessage {
    /// Nothing added, deleted or replaced.
    pub fn is_empty(&self) -> bool {
        self.data == DataIncrement::default() && self.compact == CompactIncrement::default()
    }
}

impl Split {
    /// The deletion vector of the file at `i`: index file path and range.
    pub fn deletion_file(&self, i: usize) -> Option<&(String, DeletionVectorRange)> {
        self.deletion_files.as_ref()?.get(i)?.as_ref()
    }

    /// Rows of the file at `i` that its vector leaves; `None` when only the vector itself tells.
    pub fn rows_left(&self, i: usize) -> Option<i64> {
        let rows = self.files.get(i)?.row_count;
        match self.deletion_file(i) {
            None => Some(rows),
            Some((_, range)) => range.cardinality.map(|deleted| rows.saturating_sub(deleted)),
        }
    }

    /// The same split with fewer files.
    pub fn with_files(&self, mut keep: impl FnMut(&DataFileMeta) -> bool) -> Self {
        let kept: Vec<bool> = self.files.iter().map(&mut keep).collect();
        let files = self.files.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(file, _)| file.clone()).collect();
        let deletions = self.deletion_files.as_ref().map(|all| {
            all.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(deletions, _)| deletions.clone()).collect()
        });
        Self { files, deletion_files: deletions, ..self.clone() }
    }
}

/// A piece of a scan that one task reads (`DataSplit`).
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// snapshot the files are read at
    pub snapshot_id: i64,
    /// its manifest list of changes, which no other snapshot has; ids are used again after a rollback. Java's bytes do
    /// not hold it; `None`: not known
    pub snapshot_list: Option<String>,
    /// bucket
    pub bucket: BucketId,
    /// `_TOTAL_BUCKETS` of the files
    pub total_buckets: i32,
    /// full path of the bucket directory
    pub bucket_path: String,
    /// files, in key order of sections (primary key) or sequence order (append)
    pub files: Vec<DataFileMeta>,
    /// for each file its vector: index file path and range
    pub deletion_files: Option<Vec<Option<(String, DeletionVectorRange)>>>,
    /// files can be read one after another, without merging
    pub raw_convertible: bool,
    /// a changelog or delta: no merging, all row kinds kept
    pub is_streaming: bool,
    /// files that `files` replace: batch reads give the difference, streaming ones take the old rows back first
    pub before_files: Vec<DataFileMeta>,
    /// as `deletion_files`, for `before_files`
    pub before_deletion_files: Option<Vec<Option<(String, DeletionVectorRange)>>>,
}
