//! What a new bucket writer finds in its bucket: the live files of the latest snapshot.

use std::collections::{HashMap, HashSet};

use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    manifest::{BucketId, DataFileMeta, IndexManifestEntry, ManifestEntry},
    scan::{EntryFilter, bucket_vectors, live_entries, overtaken::at_newest},
    snapshot::{RemovedSnapshot, Snapshot},
    wire::{CommitMessage, Seen},
};

/// What a snapshot has of a bucket.
#[derive(Debug, Default)]
pub(super) struct Restored {
    /// Live data files.
    pub(super) files: Vec<DataFileMeta>,
    /// Index files with deletion vectors.
    pub(super) vectors: Vec<IndexManifestEntry>,
}

/// A message names no more files than these that its writer has made before.
const MOST_MADE: usize = 256;

/// The files that a writer knows of a bucket.
pub(super) struct Known {
    pub(super) all: HashSet<String>,
    /// Those that must be there still: not what it has not committed.
    pub(super) there: HashSet<String>,
}

/// The snapshot that was looked at (id 0: there was none), and what it has of each bucket.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) snapshot: RemovedSnapshot,
    pub(super) buckets: HashMap<BucketId, Restored>,
}

impl Default for Found {
    fn default() -> Self {
        let snapshot = RemovedSnapshot { id: 0, delta_manifest_list: String::new(), commit: None };
        Self { snapshot, buckets: HashMap::new() }
    }
}

/// The live files of each of these buckets, in one look at the manifests. A partition that was written
/// with another number of buckets cannot be written to. `check` sees all files of their partitions, with the
/// index manifest, if there is one.
pub(super) fn live_files(
    ctx: &TableContext,
    buckets: &[&BucketId],
    check: impl Fn(&ManifestEntry, Option<&str>) -> Result<()>,
) -> Result<Found> {
    at_newest(ctx, |newest| {
        newest.map_or_else(|| Ok(Found::default()), |newest| live_files_of(ctx, newest, buckets, &check))
    })
}

fn live_files_of(
    ctx: &TableContext,
    snapshot: &Snapshot,
    buckets: &[&BucketId],
    check: impl Fn(&ManifestEntry, Option<&str>) -> Result<()>,
) -> Result<Found> {
    let partitions: HashSet<Vec<u8>> = buckets.iter().map(|b| b.partition.clone()).collect();
    let filter = EntryFilter { partitions: Some(partitions), ..EntryFilter::default() };
    let wanted: HashSet<&BucketId> = buckets.iter().copied().collect();
    let mut restored: HashMap<BucketId, Restored> = HashMap::new();
    for entry in live_entries(ctx, snapshot, &filter)? {
        check_bucket_count(ctx, &entry)?;
        check(&entry, snapshot.index_manifest.as_deref())?;
        let bucket = BucketId { partition: entry.partition, bucket: entry.bucket };
        if wanted.contains(&bucket) {
            restored.entry(bucket).or_default().files.push(entry.file);
        }
    }
    for (bucket, vectors) in bucket_vectors(ctx, snapshot)? {
        if wanted.contains(&bucket) {
            restored.entry(bucket).or_default().vectors = vectors;
        }
    }
    Ok(Found { snapshot: RemovedSnapshot { commit: None, ..RemovedSnapshot::from(snapshot) }, buckets: restored })
}

/// The latest snapshot, and which buckets have no file above level 0 that is not among the `known` ones, and lack none of those. Only buckets are
/// looked at whose compaction takes level 0 and began with a snapshot whose successor has expired, or long ago; `None` when there are
/// none.
pub(super) fn seen_since(
    ctx: &TableContext,
    messages: &[CommitMessage],
    known: impl Fn(&CommitMessage) -> Known,
) -> Result<Option<(RemovedSnapshot, HashSet<BucketId>)>> {
    let takes_level_0 = |message: &&CommitMessage| message.compact.compact_before.iter().any(|file| file.level == 0);
    let mut waiting: Vec<(&CommitMessage, &Seen)> =
        messages.iter().filter(takes_level_0).filter_map(|message| Some((message, message.seen.as_ref()?))).collect();
    if waiting.is_empty() {
        return Ok(None);
    }
    let snapshots = ctx.snapshots();
    let earliest = snapshots.earliest_id()?.unwrap_or(0);
    let is_long_ago = |seen: &Seen| seen.snapshot.id.saturating_add(1) < earliest || seen.made.len() > MOST_MADE;
    waiting.retain(|(_, seen)| is_long_ago(seen));
    if waiting.is_empty() {
        return Ok(None);
    }
    let buckets: Vec<&BucketId> = waiting.iter().map(|(message, _)| &message.bucket).collect();
    let found = live_files(ctx, &buckets, |_, _| Ok(()))?;
    let mut seen = HashSet::new();
    for (message, _) in waiting {
        let known = known(message);
        let live = found.buckets.get(&message.bucket).map_or(&[][..], |restored| &restored.files);
        let names: HashSet<&str> = live.iter().map(|file| file.file_name.as_str()).collect();
        let all_known = live.iter().all(|file| file.level == 0 || known.all.contains(&file.file_name));
        if all_known && known.there.iter().all(|name| names.contains(name.as_str())) {
            seen.insert(message.bucket.clone());
        }
    }
    Ok(Some((found.snapshot, seen)))
}

fn check_bucket_count(ctx: &TableContext, entry: &ManifestEntry) -> Result<()> {
    let wanted = ctx.options.bucket;
    if entry.total_buckets == wanted || entry.total_buckets <= 0 {
        return Ok(());
    }
    let place = match ctx.paths.partition_shown(&entry.partition)? {
        path if path.is_empty() => "the table".to_owned(),
        path => format!("partition {path}"),
    };
    Err(other_bucket_count(ctx, &place, wanted, entry.total_buckets))
}

/// Rows of a job with a number of buckets cannot come to those in another number.
pub(crate) fn other_bucket_count(ctx: &TableContext, place: &str, wanted: i32, old: i32) -> Error {
    let message = format!("Try to write {place} with a new bucket num {wanted}, but the previous bucket num is {old}.");
    let newest = ctx.schemas.latest().ok().flatten();
    let says = newest.and_then(|schema| schema.options.get("bucket").and_then(|n| n.parse::<i32>().ok()));
    let hint = if says == Some(old) {
        format!("the table was rescaled to {old} buckets since it was opened: open it again")
    } else if wanted < 1 {
        "another table, or one with other buckets, is in the place of the one that was opened: open it again".to_owned()
    } else {
        format!(
            "run t.rescale({wanted}), or set the option 'bucket' back to {old}; open the table again when it was rescaled"
        )
    };
    let error = Error::new(ErrorKind::CommitConflict, message).of_old_handle();
    error.with("table", &ctx.name).with("option", "bucket").hint(hint)
}
