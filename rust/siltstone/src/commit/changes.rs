//! The entries that commit messages mean, apart for new input and for compaction.

use std::collections::{BTreeMap, HashSet};

use super::{assigned::Assignment, lookup_conflict::is_of};
pub(super) use crate::deletion_vectors::DELETION_VECTORS;
use crate::{
    manifest::{BucketId, DataFileMeta, DroppedDeletes, EntryKind, IndexManifestEntry, ManifestEntry},
    stats::SimpleStats,
    wire::{CommitMessage, Seen},
};

/// What one snapshot changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FileChanges {
    /// Data files added and deleted.
    pub(super) files: Vec<ManifestEntry>,
    /// Changelog files added.
    pub(super) changelog: Vec<ManifestEntry>,
    /// Index files added and deleted.
    pub(super) index: Vec<IndexManifestEntry>,
    /// The snapshot that a bucket's compaction looked keys up in.
    pub(super) seen: BTreeMap<BucketId, Seen>,
    /// Deletes that a bucket's compaction has left out.
    pub(super) dropped: BTreeMap<BucketId, Vec<DroppedDeletes>>,
    /// By what new rows came into their buckets, on tables without a number of buckets.
    pub(super) assigned: Vec<Assignment>,
}

impl FileChanges {
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.changelog.is_empty() && self.index.is_empty()
    }

    /// New input that takes something away is an overwrite: it must be checked.
    pub(super) fn takes_away(&self) -> bool {
        self.files.iter().any(|entry| entry.kind == EntryKind::Delete)
            || self.index.iter().any(|entry| entry.index_type == DELETION_VECTORS)
    }

    /// Whether rows are marked as deleted by vectors.
    pub(super) fn marks_rows(&self) -> bool {
        self.index.iter().any(|entry| entry.kind == EntryKind::Add && entry.index_type == DELETION_VECTORS)
    }

    /// Whether files come to levels above 0.
    pub(super) fn raises_levels(&self) -> bool {
        self.files.iter().any(|entry| entry.kind == EntryKind::Add && entry.file.level > 0)
    }

    /// Whether files come to level 0.
    pub(super) fn adds_to_level_0(&self) -> bool {
        self.files.iter().any(|entry| entry.kind == EntryKind::Add && entry.file.level == 0)
    }

    /// Partitions that anything is added to or taken from.
    pub(super) fn partitions(&self) -> HashSet<Vec<u8>> {
        let files = self.files.iter().map(|entry| entry.partition.clone());
        files.chain(self.index.iter().map(|entry| entry.partition.clone())).collect()
    }

    /// Row counts: added minus deleted.
    pub(super) fn delta_records(&self) -> i64 {
        crate::limits::sum(self.files.iter().map(signed_rows))
    }

    fn add(&mut self, message: &CommitMessage, kind: EntryKind, files: &[DataFileMeta]) {
        self.files.extend(files.iter().map(|file| entry(message, kind, file)));
    }

    /// Deletions first, as Java orders them.
    fn add_index(&mut self, entries: &[IndexManifestEntry]) {
        for kind in [EntryKind::Delete, EntryKind::Add] {
            self.index.extend(entries.iter().filter(|entry| entry.kind == kind).cloned());
        }
    }

    fn drop_stats_of_deletes(&mut self) {
        for entry in self.files.iter_mut().filter(|entry| entry.kind == EntryKind::Delete) {
            entry.file.value_stats = SimpleStats::empty();
            entry.file.value_stats_cols = Some([].into());
        }
    }
}

/// Rows that an entry adds to the table's count.
pub(super) fn signed_rows(entry: &ManifestEntry) -> i64 {
    match entry.kind {
        EntryKind::Add => entry.file.row_count,
        EntryKind::Delete => entry.file.row_count.saturating_neg(),
    }
}

/// Changes of one commit: new input and compaction become snapshots of their own.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) append: FileChanges,
    pub(super) compact: FileChanges,
}

impl Collected {
    /// `drop_stats`: option `manifest.delete-file-drop-stats`.
    pub(super) fn from(messages: &[CommitMessage], drop_stats: bool) -> Self {
        let mut all = Self::default();
        for message in messages {
            let (data, compact) = (&message.data, &message.compact);
            all.append.add(message, EntryKind::Add, &data.new_files);
            all.append.add(message, EntryKind::Delete, &data.deleted_files);
            all.append.changelog.extend(data.changelog_files.iter().map(|f| entry(message, EntryKind::Add, f)));
            all.append.add_index(&data.index_files);
            all.append.assigned.extend(Assignment::of(message));
            all.compact.add(message, EntryKind::Delete, &compact.compact_before);
            all.compact.add(message, EntryKind::Add, &compact.compact_after);
            all.compact.changelog.extend(compact.changelog_files.iter().map(|f| entry(message, EntryKind::Add, f)));
            all.compact.add_index(&compact.index_files);
            if !compact.dropped.is_empty() {
                let all = all.compact.dropped.entry(message.bucket.clone()).or_default();
                all.extend(compact.dropped.iter().cloned());
            }
            if let Some(seen) = message
                .seen
                .as_ref()
                .filter(|_| !compact.compact_before.is_empty() || !compact.compact_after.is_empty())
            {
                let oldest = all.compact.seen.entry(message.bucket.clone()).or_insert_with(|| seen.clone());
                oldest.made.extend(seen.made.iter().cloned());
                if seen.snapshot.id < oldest.snapshot.id {
                    oldest.snapshot = seen.snapshot.clone();
                }
            }
        }
        all.know_newer_files();
        if drop_stats {
            all.append.drop_stats_of_deletes();
            all.compact.drop_stats_of_deletes();
        }
        all
    }

    /// New files of this commit with larger sequence numbers have come after the deletes that its compactions dropped.
    fn know_newer_files(&mut self) {
        for (bucket, dropped) in &mut self.compact.dropped {
            for dropped in dropped {
                let newer = self.append.files.iter().filter(|entry| {
                    is_of(entry, bucket) && entry.file.min_sequence_number > dropped.max_sequence_number
                });
                dropped.known.extend(newer.map(|entry| entry.file.file_name.clone()));
            }
        }
    }
}

/// What messages bring into the table: their new files, and those that their compactions made, also where one commit leaves out
/// what these have replaced, and another does not. Without files that only changed their level, which are there already.
pub(super) fn brought_by(messages: &[CommitMessage]) -> Vec<ManifestEntry> {
    let mut brought = Vec::new();
    for message in messages {
        let (data, compact) = (&message.data, &message.compact);
        let before: HashSet<&str> = compact.compact_before.iter().map(|file| file.file_name.as_str()).collect();
        let made = compact.compact_after.iter().filter(|file| !before.contains(file.file_name.as_str()));
        brought.extend(data.new_files.iter().chain(made).map(|file| entry(message, EntryKind::Add, file)));
    }
    brought
}

fn entry(message: &CommitMessage, kind: EntryKind, file: &DataFileMeta) -> ManifestEntry {
    ManifestEntry {
        kind,
        partition: message.bucket.partition.clone(),
        bucket: message.bucket.bucket,
        total_buckets: message.total_buckets,
        file: file.clone(),
    }
}

/// The entry that takes this file away: everything else stays as it was, so that the identities match.
pub(super) fn deletion_of(entry: &ManifestEntry, drop_stats: bool) -> ManifestEntry {
    let mut deletion = ManifestEntry { kind: EntryKind::Delete, ..entry.clone() };
    if drop_stats {
        deletion.file.value_stats = SimpleStats::empty();
        deletion.file.value_stats_cols = Some([].into());
    }
    deletion
}
