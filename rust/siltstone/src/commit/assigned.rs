//! Tables with dynamic buckets: a key never lives in two buckets.
//!
//! ```text
//! the partition has the index files that the rows were assigned by    the messages bring the new ones
//! it has others                                                       the keys of the new data files are looked up in them:
//!     none of them is in another bucket                               index files are written anew, theirs and ours in one
//!     one is                                                          a conflict: the rows have to be written again
//! ```
//!
//! Every try asks, whether new keys came or not: a bucket that a key had may be another one since somebody has overwritten the
//! partition. Java does not ask; two of its writers put a key into two buckets.
//!
//! What is looked up are the keys of the data files that a commit brings, so messages of several writers may come together. Where
//! a job has its own assigners, the index files that it brings are compared with each other and with those that stay.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{changes::FileChanges, given::check_given};
use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
    index::{HASH, HashIndexFiles, PartitionIndex, version_of},
    io::{FileReadSpec, TableContext, read_data_file},
    manifest::{BucketId, DataFileMeta, EntryKind, IndexManifestEntry},
    row::hash_rows,
    scan::has_hash_index,
    wire::{Assigned, AssignedBy, CommitMessage},
};

/// New rows of a bucket, and by what they came into it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Assignment {
    pub(super) bucket: BucketId,
    pub(super) by: Option<Assigned>,
    pub(super) files: Vec<DataFileMeta>,
    /// The message has a new index file of the bucket.
    indexed: bool,
}

impl Assignment {
    /// Of a message that brings new rows to a table without a number of buckets.
    pub(super) fn of(message: &CommitMessage) -> Option<Self> {
        let brings = |entry: &IndexManifestEntry| entry.kind == EntryKind::Add && entry.index_type == HASH;
        let indexed = message.data.index_files.iter().any(brings);
        let (files, by) = (&message.data.new_files, &message.assigned);
        (indexed || (message.total_buckets == -1 && !files.is_empty())).then(|| Self {
            bucket: message.bucket.clone(),
            by: by.clone(),
            files: files.clone(),
            indexed,
        })
    }

    /// By the assigners of a job.
    fn is_given(&self) -> bool {
        self.by.as_ref().is_some_and(|by| matches!(by.by, AssignedBy::Given(_)))
    }
}

/// Index files that take the place of those of the messages.
#[derive(Debug)]
pub(super) struct Settled {
    /// All changes of index files.
    pub(super) index: Vec<IndexManifestEntry>,
    pub(super) files: Rewritten,
}

/// Index files that one try has written.
#[derive(Clone, Debug)]
pub(super) struct Rewritten {
    files: HashIndexFiles,
    /// Of no use when the try fails.
    pub(super) new: Vec<IndexManifestEntry>,
    /// Of no use when it succeeds: those of the messages.
    old: Vec<IndexManifestEntry>,
}

impl Rewritten {
    /// After a try that was not published.
    pub(super) fn delete(&self) {
        self.new.iter().for_each(|entry| self.files.delete(entry));
    }

    /// After one that was.
    pub(super) fn delete_replaced(&self) {
        self.old.iter().for_each(|entry| self.files.delete(entry));
    }
}

/// What the index becomes; `None`: what the messages say. `replaces`: nothing of the partitions stays.
///
/// # Errors
/// `CommitConflict` when a key of new rows is in another bucket.
pub(super) fn settle(
    ctx: &TableContext,
    live: &[IndexManifestEntry],
    changes: &FileChanges,
    replaces: bool,
) -> Result<Option<Settled>> {
    if changes.assigned.is_empty() || !has_hash_index(ctx) {
        return Ok(None);
    }
    let partitions = by_partition(&changes.assigned);
    let stays = hashes_by_partition(live.iter().filter(|_| !replaces));
    let stays_of = |partition: &[u8]| stays.get(partition).map_or(&[][..], Vec::as_slice);
    let (agreed, partitions): (BTreeMap<_, _>, BTreeMap<_, _>) =
        partitions.into_iter().partition(|(partition, by)| agree(by, stays_of(partition), replaces));
    for (partition, _) in agreed.iter().filter(|(_, assignments)| assignments.iter().any(|one| one.is_given())) {
        check_given(ctx, stays_of(partition), &changes.index, partition)?;
    }
    if partitions.is_empty() {
        return Ok(None);
    }
    let is_moved =
        |entry: &&IndexManifestEntry| entry.index_type == HASH && partitions.contains_key(entry.partition.as_slice());
    let old = changes.index.iter().filter(|e| e.kind == EntryKind::Add).filter(is_moved).cloned().collect();
    let files = HashIndexFiles::new(&ctx.fs, &ctx.paths, &ctx.options);
    let mut rewritten = Rewritten { files, new: Vec::new(), old };
    // an overwrite says itself what goes
    let goes = |entry: &&IndexManifestEntry| replaces && entry.kind == EntryKind::Delete;
    let mut index: Vec<IndexManifestEntry> = changes
        .index
        .iter()
        .filter(|entry| !is_moved(entry) || (goes(entry) && live.iter().any(|l| l.file_name == entry.file_name)))
        .cloned()
        .collect();
    for (partition, assignments) in &partitions {
        match merged(ctx, &rewritten.files, stays_of(partition), assignments) {
            Ok(entries) => {
                rewritten.new.extend(entries.iter().filter(|entry| entry.kind == EntryKind::Add).cloned());
                index.extend(entries);
            }
            Err(error) => {
                rewritten.delete();
                return Err(error.in_table(&ctx.name));
            }
        }
    }
    index.sort_by_key(|entry| entry.kind != EntryKind::Delete);
    index.dedup();
    Ok(Some(Settled { index, files: rewritten }))
}

/// An error when a key of new rows, by whichever index files they were assigned, is in another bucket of the index files `live`.
///
/// # Errors
/// `CommitConflict`.
pub(super) fn check_assigned(ctx: &TableContext, live: &[IndexManifestEntry], changes: &FileChanges) -> Result<()> {
    let files = HashIndexFiles::new(&ctx.fs, &ctx.paths, &ctx.options);
    let there = hashes_by_partition(live.iter());
    for (partition, assignments) in by_partition(&changes.assigned) {
        let there = there.get(partition).map_or(&[][..], Vec::as_slice);
        if !agree(&assignments, there, false) {
            claimed(ctx, &files, there, &assignments).map_err(|e| e.in_table(&ctx.name))?;
        }
    }
    Ok(())
}

fn by_partition(assigned: &[Assignment]) -> BTreeMap<&[u8], Vec<&Assignment>> {
    let mut partitions: BTreeMap<&[u8], Vec<&Assignment>> = BTreeMap::new();
    for assignment in assigned {
        partitions.entry(&assignment.bucket.partition).or_default().push(assignment);
    }
    partitions
}

fn hashes_by_partition<'l>(
    index: impl Iterator<Item = &'l IndexManifestEntry>,
) -> HashMap<&'l [u8], Vec<&'l IndexManifestEntry>> {
    let mut partitions: HashMap<&[u8], Vec<&IndexManifestEntry>> = HashMap::new();
    for entry in index.filter(|entry| entry.index_type == HASH) {
        partitions.entry(&entry.partition).or_default().push(entry);
    }
    partitions
}

/// Whether one assigner has given all rows of a partition their buckets, and by the index that is there.
fn agree(assignments: &[&Assignment], live: &[&IndexManifestEntry], replaces: bool) -> bool {
    let version = version_of(live.iter().copied());
    let Some(Assigned { writer, .. }) = assignments.first().and_then(|first| first.by.as_ref()) else {
        return false;
    };
    let mut buckets = BTreeSet::new();
    assignments.iter().all(|assignment| {
        let by = [AssignedBy::Index(version), AssignedBy::Given(version)];
        let same = assignment.by.as_ref().is_some_and(|found| found.writer == *writer && by.contains(&found.by));
        same && buckets.insert(assignment.bucket.bucket) && (assignment.indexed || !replaces)
    })
}

/// The changes of index files that add the keys of new rows to what is there.
fn merged(
    ctx: &TableContext,
    files: &HashIndexFiles,
    live: &[&IndexManifestEntry],
    assignments: &[&Assignment],
) -> Result<Vec<IndexManifestEntry>> {
    let partition = assignments.first().map_or(&[][..], |first| &first.bucket.partition);
    let mut index = claimed(ctx, files, live, assignments)?;
    Ok(index.write(files, partition, |_| true)?.into_values().flatten().collect())
}

/// The keys that are there, and those of new rows.
fn claimed(
    ctx: &TableContext,
    files: &HashIndexFiles,
    live: &[&IndexManifestEntry],
    assignments: &[&Assignment],
) -> Result<PartitionIndex> {
    let mut index = PartitionIndex::load(files, live.iter().copied().cloned().collect())?;
    for Assignment { bucket, files, .. } in assignments {
        for file in files {
            cancel::check()?;
            for hash in key_hashes(ctx, bucket, file)? {
                if let Some(other) = index.claim(hash, bucket.bucket)? {
                    return Err(moved(ctx, bucket, other));
                }
            }
        }
    }
    Ok(index)
}

/// The hashes of the keys of a data file, each once.
pub(crate) fn key_hashes(ctx: &TableContext, bucket: &BucketId, file: &DataFileMeta) -> Result<HashSet<i32>> {
    let fields: Vec<_> = ctx.schema.key_fields().into_iter().cloned().collect();
    let types: Vec<_> = fields.iter().map(|field| field.data_type.clone()).collect();
    let mut hashes = HashSet::new();
    for batch in read_data_file(ctx, &bucket.partition, bucket.bucket, file, &FileReadSpec::new(fields))? {
        cancel::check()?;
        hashes.extend(hash_rows(&types, batch?.columns())?);
    }
    Ok(hashes)
}

fn moved(ctx: &TableContext, bucket: &BucketId, other: u16) -> Error {
    let text = "another commit has put a key of these rows into another bucket";
    let partition = ctx.paths.partition_shown(&bucket.partition).unwrap_or_default();
    Error::new(ErrorKind::CommitConflict, text)
        .with("table", &ctx.name)
        .with("partition", partition)
        .with("bucket", bucket.bucket)
        .with("other", other)
        .hint("write the rows again: they then go where their keys are")
        .for_rows_as_written()
}
