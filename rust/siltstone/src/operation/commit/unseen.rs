//! Keys that a compaction could not have looked up, because they came after the snapshot that it began with.
//!
//! ```text
//! snapshot 4   writer A begins: no key 1 above level 0
//! snapshot 6   writer B has brought key 1, and its compaction has moved it to level 4
//! snapshot 7   A's own row of key 1 is in level 0                       (right: it waits for a compaction)
//! snapshot 8   A's compaction moves it to level 5, and marks nothing    (wrong: key 1 is there twice)
//! ```
//!
//! Two files that overlap in one level are a conflict anyway, and so are two changes of one bucket's vectors. But files of
//! different levels may overlap: where readers do not merge them, or a changelog was written from what was looked up, the
//! compaction must have seen whatever is there now. Java does not check this; its manual allows one writer that compacts.
//!
//! Source: requirement DV-01.

use std::{cmp::Ordering, collections::HashSet};

use super::changes::Changes;
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    manifest::{BucketId, EntryKind, ManifestEntry, ManifestStore},
    path::branch_root,
    row::compare_serialized,
    snapshot::{CommitKind, Snapshot, SnapshotManager},
    types::DataType,
};

/// A conflict when another user has brought keys into the range of a compaction after the snapshot that it began with.
/// Where such snapshots have expired, no file above level 0 may be left in its range (`base`: the live files), as after a
/// full compaction.
pub(super) fn check_unseen(
    ctx: &TableContext,
    store: &ManifestStore,
    latest: &Snapshot,
    user: &str,
    base: &[ManifestEntry],
    changes: &Changes,
) -> Result<()> {
    let looks_up = ctx.options.needs_lookup() && !ctx.schema.primary_keys.is_empty();
    let from_level_0 = |bucket: &BucketId| {
        let mut files = changes.files.iter().filter(|entry| is_of(entry, bucket));
        files.any(|entry| entry.kind == EntryKind::Delete && entry.file.level == 0)
    };
    let mut seen: Vec<(&BucketId, i64)> = changes.seen.iter().map(|(bucket, id)| (bucket, *id)).collect();
    seen.retain(|(bucket, id)| *id < latest.id && from_level_0(bucket));
    let Some(first) = seen.iter().map(|(_, id)| *id).min().filter(|_| looks_up) else {
        return Ok(());
    };
    let snapshots = SnapshotManager::new(ctx.fs.clone(), &branch_root(&ctx.location, &ctx.branch));
    let types: Vec<DataType> = ctx.schema.key_fields().iter().map(|field| field.data_type.clone()).collect();
    let gone = changes.files.iter().filter(|entry| entry.kind == EntryKind::Delete);
    let gone: HashSet<&str> = gone.map(|entry| entry.file.file_name.as_str()).collect();
    // ids from a message: the loop goes over what is there
    let earliest = snapshots.ids()?.first().copied().unwrap_or(latest.id);
    for (bucket, _) in seen.iter().filter(|(_, seen)| seen.saturating_add(1) < earliest) {
        let left = base.iter().filter(|entry| !gone.contains(entry.file.file_name.as_str()));
        if let Some(file) = in_range(left, bucket, &changes.files, &types)? {
            let text = "snapshots have expired that may have brought rows this compaction has not seen";
            return Err(unseen(ctx, earliest, text).with("bucket", bucket.bucket).with("file", file));
        }
    }
    for id in first.saturating_add(1).max(earliest)..=latest.id {
        let snapshot = match snapshots.get(id) {
            Ok(snapshot) => snapshot,
            // they are expiring at this moment: whoever commits looks again
            Err(e) if matches!(e.kind(), ErrorKind::SnapshotExpired | ErrorKind::SnapshotNotFound) => {
                return Err(unseen(ctx, id, "snapshots expire while they are looked at").caused_by(e));
            }
            Err(e) => return Err(e),
        };
        if snapshot.commit_user == user {
            continue;
        }
        let partitions = changes.partitions();
        let lists = store.read_list(snapshot.delta_list())?;
        let delta = store.read_all(&lists, &|head| partitions.contains(head.partition))?;
        for (bucket, _) in seen.iter().filter(|(_, seen)| *seen < id) {
            if let Some(file) = brings_keys(&snapshot, &delta, bucket, &changes.files, &types)? {
                let text = "rows came above level 0 that this compaction has not seen";
                return Err(unseen(ctx, id, text).with("bucket", bucket.bucket).with("file", file));
            }
        }
    }
    Ok(())
}

/// A file above level 0 with keys that may be new to the bucket, in the range of a file that the compaction adds.
fn brings_keys<'d>(
    snapshot: &Snapshot,
    delta: &'d [ManifestEntry],
    bucket: &BucketId,
    compacted: &[ManifestEntry],
    types: &[DataType],
) -> Result<Option<&'d str>> {
    let of_bucket = || delta.iter().filter(|entry| is_of(entry, bucket));
    let rewrites = snapshot.commit_kind == CommitKind::Compact
        && !of_bucket().any(|entry| entry.kind == EntryKind::Delete && entry.file.level == 0);
    if rewrites {
        return Ok(None);
    }
    in_range(delta.iter(), bucket, compacted, types)
}

/// One of `files` that is added above level 0 of the bucket, in the range of a file that the compaction adds.
fn in_range<'d>(
    files: impl Iterator<Item = &'d ManifestEntry>,
    bucket: &BucketId,
    compacted: &[ManifestEntry],
    types: &[DataType],
) -> Result<Option<&'d str>> {
    let added = |entry: &&ManifestEntry| entry.kind == EntryKind::Add && entry.file.level > 0 && is_of(entry, bucket);
    for new in files.filter(added) {
        for own in compacted.iter().filter(added) {
            let before = |a: &ManifestEntry, b: &ManifestEntry| {
                compare_serialized(&a.file.max_key, &b.file.min_key, types).map(Ordering::is_lt)
            };
            if !before(new, own)? && !before(own, new)? {
                return Ok(Some(&new.file.file_name));
            }
        }
    }
    Ok(None)
}

fn is_of(entry: &ManifestEntry, bucket: &BucketId) -> bool {
    entry.bucket == bucket.bucket && entry.partition == bucket.partition
}

fn unseen(ctx: &TableContext, snapshot: i64, text: &str) -> Error {
    Error::new(ErrorKind::CommitConflict, text)
        .with("table", &ctx.name)
        .with("snapshot", snapshot)
        .hint("compact again; with several writers let one job compact and make the others write-only")
}
