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

use std::{
    cmp::Ordering,
    collections::{HashMap, HashSet},
};

use super::changes::FileChanges;
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    manifest::{BucketId, EntryKind, ManifestEntry, ManifestStore},
    row::compare_serialized,
    snapshot::{CommitKind, Snapshot, SnapshotManager},
    types::DataType,
    wire::Seen,
};

/// A conflict when somebody has brought keys into the range of a compaction after the snapshot that it began with, or has
/// taken rows out of it; and when that snapshot has been taken back. Where such snapshots have expired, no file above level 0
/// may be left in its range (`base`: the live files), as after a full compaction, which looks nothing up. What its writer made
/// before, and it has looked into, must have come into the table meanwhile.
pub(super) fn check_unseen(
    ctx: &TableContext,
    store: &ManifestStore,
    latest: &Snapshot,
    base: &[ManifestEntry],
    changes: &FileChanges,
) -> Result<()> {
    let looks_up = ctx.options.needs_lookup() && !ctx.schema.primary_keys.is_empty();
    let from_level_0 = |bucket: &BucketId| {
        let mut files = changes.files.iter().filter(|entry| is_of(entry, bucket));
        let takes = |entry: &ManifestEntry| entry.kind == EntryKind::Delete && entry.file.level == 0;
        // rows that waited for buckets have been in level 0 of this one in between
        let moved = |entry: &ManifestEntry| takes(entry) && entry.bucket < 0 && entry.partition == bucket.partition;
        files.any(takes) || changes.files.iter().any(moved)
    };
    let mut seen: Vec<(&BucketId, &Seen)> = changes.seen.iter().collect();
    seen.retain(|(bucket, _)| looks_up && from_level_0(bucket));
    let mut open = not_there(&seen, base, &changes.files);
    seen.retain(|(_, seen)| !seen.snapshot.is(latest));
    let Some(first) = seen.iter().map(|(_, seen)| seen.snapshot.id).min() else {
        return all_there(ctx, &open);
    };
    let snapshots = ctx.snapshots();
    let types: Vec<DataType> = ctx.schema.key_fields().iter().map(|field| field.data_type.clone()).collect();
    // ids from a message: the loop goes over what is there
    let earliest = snapshots.ids()?.first().copied().unwrap_or(latest.id);
    check_still_there(ctx, &snapshots, earliest, &seen)?;
    for (bucket, _) in seen.iter().filter(|(_, seen)| seen.snapshot.id.saturating_add(1) < earliest) {
        check_nothing_left(ctx, bucket, base, changes, &types).map_err(|e| e.with("snapshot", earliest))?;
        // it looks nothing up: what its writer made before may have come and gone
        open.remove(bucket);
    }
    for id in first.saturating_add(1).max(earliest)..=latest.id {
        let snapshot = match snapshots.get(id) {
            Ok(snapshot) => snapshot,
            // they are expiring at this moment: whoever commits looks again
            Err(e) if matches!(e.kind(), ErrorKind::SnapshotExpired | ErrorKind::SnapshotNotFound) => {
                return Err(unseen(ctx, "snapshots expire while they are looked at").with("snapshot", id).caused_by(e));
            }
            Err(e) => return Err(e),
        };
        let partitions = changes.partitions();
        let lists = store.read_list(snapshot.delta_list())?;
        let delta = store.read_all(&lists, &|head| partitions.contains(head.partition))?;
        for (bucket, seen) in seen.iter().filter(|(_, seen)| seen.snapshot.id < id) {
            if let Some(open) = open.get_mut(bucket) {
                for name in added_above(&delta, bucket) {
                    open.remove(name);
                }
            }
            let brings = brings_keys(&snapshot, &delta, (bucket, &seen.made), &changes.files, &types)?;
            let (text, file) = if let Some(file) = brings {
                ("rows came above level 0 that this compaction has not seen", file)
            } else if let Some(file) = takes_rows(&snapshot, &delta, bucket, &changes.files, &types)? {
                ("rows were taken out that this compaction has seen", file)
            } else {
                continue;
            };
            return Err(unseen(ctx, text).with("snapshot", id).with("bucket", bucket.bucket).with("file", file));
        }
    }
    // what lies where one has expired meanwhile is no version
    let fence = snapshots.removals().read()?.fence;
    if fence > first.saturating_add(1).max(earliest) {
        return Err(unseen(ctx, "snapshots expire while they are looked at").with("snapshot", fence));
    }
    all_there(ctx, &open)
}

/// Files above level 0 that writers have made, and looked into since, by bucket: without those that are live and those that
/// this very commit adds.
fn not_there<'s>(
    seen: &[(&'s BucketId, &'s Seen)],
    base: &[ManifestEntry],
    own: &[ManifestEntry],
) -> HashMap<&'s BucketId, HashSet<&'s str>> {
    let mut open: HashMap<&BucketId, HashSet<&str>> = HashMap::new();
    for (bucket, seen) in seen.iter().filter(|(_, seen)| !seen.made.is_empty()) {
        let there: HashSet<&str> = added_above(base, bucket).chain(added_above(own, bucket)).collect();
        let made = seen.made.iter().map(String::as_str).filter(|name| !there.contains(name));
        open.insert(bucket, made.collect());
    }
    open
}

fn added_above<'e>(files: &'e [ManifestEntry], bucket: &'e BucketId) -> impl Iterator<Item = &'e str> {
    let above =
        move |entry: &&ManifestEntry| entry.kind == EntryKind::Add && entry.file.level > 0 && is_of(entry, bucket);
    files.iter().filter(above).map(|entry| entry.file.file_name.as_str())
}

/// A conflict when a compaction has looked into a file that no version has had since: its commit was given up, aborted, taken
/// back, or comes later.
fn all_there(ctx: &TableContext, open: &HashMap<&BucketId, HashSet<&str>>) -> Result<()> {
    for (bucket, files) in open {
        if let Some(file) = files.iter().min() {
            let text = "this compaction has looked into a file that its writer made and that is not in the table";
            return Err(unseen(ctx, text).with("bucket", bucket.bucket).with("file", file));
        }
    }
    Ok(())
}

/// A conflict when one of the snapshots that compactions began with has been taken back.
fn check_still_there(
    ctx: &TableContext,
    snapshots: &SnapshotManager,
    earliest: i64,
    seen: &[(&BucketId, &Seen)],
) -> Result<()> {
    let removals = snapshots.removals().read()?;
    for (bucket, seen) in seen.iter().map(|(bucket, seen)| (bucket, &seen.snapshot)) {
        if seen.id < earliest {
            continue;
        }
        let found = snapshots.existing([seen.id])?.pop();
        if !found.is_some_and(|found| seen.is(&found) && !removals.is_rolled_back(&found)) {
            let text = "the version that this compaction has seen was taken back";
            return Err(unseen(ctx, text).with("snapshot", seen.id).with("bucket", bucket.bucket));
        }
    }
    Ok(())
}

/// A conflict where nobody can tell what came or went: unless the compaction took all that was there above level 0, and nothing
/// is left of it in its range.
fn check_nothing_left(
    ctx: &TableContext,
    bucket: &BucketId,
    base: &[ManifestEntry],
    changes: &FileChanges,
    types: &[DataType],
) -> Result<()> {
    let highest = ctx.options.num_levels.saturating_sub(1);
    let made = || changes.files.iter().filter(|entry| entry.kind == EntryKind::Add && is_of(entry, bucket));
    let gone = changes.files.iter().filter(|entry| entry.kind == EntryKind::Delete);
    let gone: HashSet<&str> = gone.map(|entry| entry.file.file_name.as_str()).collect();
    let left = base.iter().filter(|entry| !gone.contains(entry.file.file_name.as_str()));
    let left = in_range(left, EntryKind::Add, bucket, &changes.files, types)?;
    if left.is_none() && made().next().is_some() && made().all(|entry| entry.file.level >= highest) {
        return Ok(());
    }
    let text = "snapshots have expired that may have brought or taken rows this compaction has not seen";
    let error = unseen(ctx, text).with("bucket", bucket.bucket);
    Err(match left {
        Some(file) => error.with("file", file),
        None => error,
    })
}

/// A file above level 0 that an overwrite takes out, in the range of a file that the compaction adds: its rows may have been
/// looked up.
fn takes_rows<'d>(
    snapshot: &Snapshot,
    delta: &'d [ManifestEntry],
    bucket: &BucketId,
    compacted: &[ManifestEntry],
    types: &[DataType],
) -> Result<Option<&'d str>> {
    if snapshot.commit_kind == CommitKind::Compact {
        return Ok(None);
    }
    in_range(delta.iter(), EntryKind::Delete, bucket, compacted, types)
}

/// A file above level 0 with keys that may be new to the bucket, in the range of a file that the compaction adds.
fn brings_keys<'d>(
    snapshot: &Snapshot,
    delta: &'d [ManifestEntry],
    (bucket, made): (&BucketId, &[String]),
    compacted: &[ManifestEntry],
    types: &[DataType],
) -> Result<Option<&'d str>> {
    let of_bucket = || delta.iter().filter(|entry| is_of(entry, bucket));
    let rewrites = snapshot.commit_kind == CommitKind::Compact
        && !of_bucket().any(|entry| entry.kind == EntryKind::Delete && entry.file.level == 0);
    if rewrites {
        return Ok(None);
    }
    // it has seen what its writer has made, and what it takes in
    let taken = compacted.iter().filter(|entry| entry.kind == EntryKind::Delete);
    let taken = taken.map(|entry| entry.file.file_name.as_str());
    let known: HashSet<&str> = made.iter().map(String::as_str).chain(taken).collect();
    let others = delta.iter().filter(|entry| !known.contains(entry.file.file_name.as_str()));
    in_range(others, EntryKind::Add, bucket, compacted, types)
}

/// One of `files` of this kind above level 0 of the bucket, in the range of a file that the compaction takes in or adds: it may
/// add none, where all of its rows were there already.
fn in_range<'d>(
    files: impl Iterator<Item = &'d ManifestEntry>,
    kind: EntryKind,
    bucket: &BucketId,
    compacted: &[ManifestEntry],
    types: &[DataType],
) -> Result<Option<&'d str>> {
    let above = |entry: &ManifestEntry| entry.file.level > 0 && is_of(entry, bucket);
    for new in files.filter(|entry| entry.kind == kind && above(entry)) {
        for own in compacted.iter().filter(|entry| is_of(entry, bucket)) {
            if files_meet(new, own, types)? {
                return Ok(Some(&new.file.file_name));
            }
        }
    }
    Ok(None)
}

/// Whether two files may have a key in common.
pub(super) fn files_meet(a: &ManifestEntry, b: &ManifestEntry, types: &[DataType]) -> Result<bool> {
    let before = |a: &ManifestEntry, b: &ManifestEntry| {
        compare_serialized(&a.file.max_key, &b.file.min_key, types).map(Ordering::is_lt)
    };
    Ok(!before(a, b)? && !before(b, a)?)
}

pub(super) fn is_of(entry: &ManifestEntry, bucket: &BucketId) -> bool {
    entry.bucket == bucket.bucket && entry.partition == bucket.partition
}

fn unseen(ctx: &TableContext, text: &str) -> Error {
    Error::new(ErrorKind::CommitConflict, text)
        .with("table", &ctx.name)
        .hint("compact again; with several writers let one job compact and make the others write-only")
}
