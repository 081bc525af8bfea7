//! Plans of what lies between two versions.
//!
//! Source: semantics f.6; `IncrementalDeltaStartingScanner`, `SnapshotReaderImpl.readIncrementalDiff` and `readChanges`.

use std::collections::{BTreeMap, HashSet};

use super::{
    EntryFilter, ScanPlan,
    deletions::DeletionFiles,
    entries::{listed_entries, live_entries},
    feature_check::{check_files, drop_postponed},
    incremental_range::{IncrementalChanges, Source},
    prepared::{Prepared, mergeable},
    prune::buckets_of_interest,
    split::SplitGenerator,
    time_travel::Versions,
};
use crate::{
    error::{Error, ErrorKind, Result},
    io::{TableContext, check_readable, is_blob_file},
    manifest::{BucketId, DataFileMeta, DeletionVectorRange, EntryId, EntryKind, ManifestEntry},
    options::{ChangelogProducer, IncrementalMode},
    predicate::Predicate,
    snapshot::{NamedList, Snapshot},
    wire::Split,
};

/// The splits of what lies between two versions.
pub(super) fn plan(
    ctx: &TableContext,
    prepared: Prepared,
    mode: IncrementalMode,
    changes: &IncrementalChanges,
) -> Result<ScanPlan> {
    let empty = |prepared: Prepared| ScanPlan {
        ctx: ctx.clone(),
        snapshot: None,
        splits: Vec::new(),
        read: prepared.read,
        files_considered: 0,
    };
    match changes {
        _ if prepared.nothing => Ok(empty(prepared)),
        IncrementalChanges::Nothing => Ok(empty(prepared)),
        IncrementalChanges::Files { after, until, source } => files(ctx, prepared, *after, *until, *source, mode),
        IncrementalChanges::Diff { before, after } => diff(ctx, prepared, before.as_deref(), after.as_ref().clone()),
    }
}

/// The partitions that changed; for a difference of two states those of the second one, as in Java.
pub(super) fn partitions(
    ctx: &TableContext,
    prepared: Prepared,
    mode: IncrementalMode,
    changes: &IncrementalChanges,
) -> Result<HashSet<Vec<u8>>> {
    if let IncrementalChanges::Diff { after, .. } = changes {
        let live = live_entries(ctx, after, &prepared.changes_filter(ctx))?;
        return Ok(live.into_iter().map(|entry| entry.partition).collect());
    }
    let plan = plan(ctx, prepared, mode, changes)?;
    Ok(plan.splits.into_iter().map(|split| split.bucket.partition).collect())
}

fn files(
    ctx: &TableContext,
    prepared: Prepared,
    after: i64,
    until: i64,
    source: Source,
    mode: IncrementalMode,
) -> Result<ScanPlan> {
    let versions = Versions::new(ctx);
    let mut entries = Vec::new();
    let mut last = None;
    let mut has_changelog = false;
    let filter = prepared.changes_filter(ctx);
    for id in after.saturating_add(1)..=until {
        let snapshot = versions.with_changelog(id)?;
        has_changelog |= snapshot.changelog_manifest_list.is_some();
        if let Some(list) = source.list_of(&snapshot) {
            entries.extend(added(ctx, &snapshot, list, &filter)?);
        }
        last = Some(snapshot);
    }
    if mode == IncrementalMode::Changelog && !has_changelog && ctx.options.changelog_producer == ChangelogProducer::None
    {
        return Err(Error::new(ErrorKind::InvalidArgument, "the table has no changelog")
            .with("table", &ctx.name)
            .with("option", "changelog-producer")
            .hint("read with mode 'delta' or 'diff', or set 'changelog-producer' for the changes to come"));
    }
    drop_postponed(ctx, &mut entries);
    let files_considered = entries.len();
    let residual = &prepared.residual;
    let splits = last.as_ref().map(|last| change_splits(ctx, entries, residual, last)).transpose()?.unwrap_or_default();
    Ok(ScanPlan { ctx: ctx.clone(), snapshot: last, splits, read: prepared.read, files_considered })
}

/// The changes that one snapshot brought, as streams read them; `None`: none that count.
pub(super) fn of_snapshot(
    ctx: &TableContext,
    prepared: &Prepared,
    snapshot: &Snapshot,
    list: NamedList<'_>,
) -> Result<Vec<Split>> {
    let mut entries = added(ctx, snapshot, list, &prepared.entry_filter(ctx))?;
    check_readable(ctx, &prepared.columns(ctx), entries.iter().map(|entry| &entry.file))?;
    if ctx.options.changelog_producer != ChangelogProducer::None {
        drop_postponed(ctx, &mut entries);
    }
    change_splits(ctx, entries, &prepared.residual, snapshot)
}

/// The rows that an OVERWRITE snapshot took away, and those that it brought (`streaming-read-overwrite`).
pub(super) fn of_overwrite(ctx: &TableContext, prepared: &Prepared, snapshot: &Snapshot) -> Result<Vec<Split>> {
    let entries = listed_entries(ctx, snapshot.delta_list(), &prepared.entry_filter(ctx))?;
    check_readable(ctx, &prepared.columns(ctx), entries.iter().map(|entry| &entry.file))?;
    let (before, after): (Vec<_>, Vec<_>) = entries.into_iter().partition(|e| e.kind == EntryKind::Delete);
    if ctx.schema.primary_keys.is_empty() {
        return change_splits(ctx, after, &prepared.residual, snapshot);
    }
    check_files(ctx, &before)?;
    check_files(ctx, &after)?;
    let state = |entries| State { entries, vectors: DeletionFiles::default() };
    let mut splits = compared(ctx, &state(before), &state(after), snapshot)?;
    for split in &mut splits {
        split.is_streaming = true;
    }
    Ok(splits)
}

/// The new files of a manifest list.
fn added(
    ctx: &TableContext,
    snapshot: &Snapshot,
    list: NamedList<'_>,
    filter: &EntryFilter,
) -> Result<Vec<ManifestEntry>> {
    let entries = listed_entries(ctx, list, filter)?;
    if let Some(deleted) = entries.iter().find(|e| e.kind == EntryKind::Delete) {
        return Err(Error::unsupported("the changes of a snapshot that adds and deletes files at once")
            .with("table", &ctx.name)
            .with("snapshot", snapshot.id)
            .with("file", &deleted.file.file_name)
            .hint("read with mode 'diff'"));
    }
    check_files(ctx, &entries)?;
    check_whole_rows(ctx, snapshot, &entries)?;
    Ok(entries)
}

/// New values of some columns are no rows.
fn check_whole_rows(ctx: &TableContext, snapshot: &Snapshot, entries: &[ManifestEntry]) -> Result<()> {
    if !ctx.options.data_evolution_enabled {
        return Ok(());
    }
    for entry in entries {
        if is_blob_file(&entry.file) {
            return Err(Error::unsupported("the changes of a table with BLOB columns")
                .with("table", &ctx.name)
                .with("snapshot", snapshot.id)
                .with("file", &entry.file.file_name)
                .hint("read the rows as they are"));
        }
    }
    for entry in entries {
        if entry.file.has_some_columns(&*ctx.schemas.get(entry.file.schema_id)?) {
            return Err(Error::unsupported("the changes of a snapshot that gives columns of rows new values")
                .with("table", &ctx.name)
                .with("snapshot", snapshot.id)
                .with("file", &entry.file.file_name)
                .hint(
                    "read the rows as they are; _SEQUENCE_NUMBER of $row_tracking says in which snapshot they changed",
                ));
        }
    }
    Ok(())
}

/// Splits of changes: every row stands for itself, so files are left out by all their statistics. A key's rows are in
/// one split, in the order of their commits.
fn change_splits(
    ctx: &TableContext,
    entries: Vec<ManifestEntry>,
    residual: &Predicate,
    snapshot: &Snapshot,
) -> Result<Vec<Split>> {
    let splitter = SplitGenerator::new(ctx, snapshot);
    let mut splits = Vec::new();
    for bucket in buckets_of_interest(ctx, entries, residual, true)? {
        let order: Vec<String> = bucket.files.iter().map(|f| f.file_name.clone()).collect();
        let position: BTreeMap<&str, usize> = order.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
        for mut split in splitter.splits(bucket)? {
            split.files.sort_by_key(|f| position.get(f.file_name.as_str()).copied());
            split.is_streaming = true;
            split.deletion_files = None;
            splits.push(split);
        }
    }
    Ok(splits)
}

fn diff(ctx: &TableContext, prepared: Prepared, before: Option<&Snapshot>, after: Snapshot) -> Result<ScanPlan> {
    if ctx.schema.primary_keys.is_empty() {
        return Err(Error::unsupported("the difference of two states of a table without a primary key")
            .with("table", &ctx.name)
            .hint("read with mode 'delta'"));
    }
    mergeable(ctx)?;
    let filter = prepared.changes_filter(ctx);
    let state = |snapshot: &Snapshot| -> Result<State> {
        let mut entries = live_entries(ctx, snapshot, &filter)?;
        drop_postponed(ctx, &mut entries);
        check_files(ctx, &entries)?;
        let vectors = DeletionFiles::of(ctx, snapshot, &entries)?;
        Ok(State { entries, vectors })
    };
    let old = before.map(state).transpose()?.unwrap_or_default();
    let new = state(&after)?;
    check_same_buckets(ctx, &old.entries, &new.entries)?;
    let files_considered = old.entries.len() + new.entries.len();
    let splits = compared(ctx, &old, &new, &after)?;
    Ok(ScanPlan { ctx: ctx.clone(), snapshot: Some(after), splits, read: prepared.read, files_considered })
}

fn check_same_buckets(ctx: &TableContext, old: &[ManifestEntry], new: &[ManifestEntry]) -> Result<()> {
    let totals: BTreeMap<&[u8], i32> = old.iter().map(|e| (e.partition.as_slice(), e.total_buckets)).collect();
    for entry in new {
        if let Some(total) = totals.get(entry.partition.as_slice()).filter(|total| **total != entry.total_buckets) {
            let message =
                format!("the two states have {total} and {} buckets and cannot be compared", entry.total_buckets);
            return Err(Error::new(ErrorKind::InvalidArgument, message)
                .with("table", &ctx.name)
                .with("partition", ctx.paths.partition_shown(&entry.partition)?)
                .hint("read with mode 'delta', or compare states with the same number of buckets"));
        }
    }
    Ok(())
}

/// Files and what is deleted in them.
#[derive(Default)]
struct State {
    entries: Vec<ManifestEntry>,
    vectors: DeletionFiles,
}

impl State {
    /// Each file with the place of its deletion vector.
    fn ids(&self) -> HashSet<(EntryId, Option<(String, i32)>)> {
        self.entries.iter().map(|entry| self.id(entry)).collect()
    }

    fn id(&self, entry: &ManifestEntry) -> (EntryId, Option<(String, i32)>) {
        let bucket = BucketId { partition: entry.partition.clone(), bucket: entry.bucket };
        let vector = self.vectors.get(&bucket, &entry.file.file_name);
        (entry.id(), vector.map(|(path, range)| (path, range.offset)))
    }

    fn vectors_of(&self, bucket: &BucketId, files: &[DataFileMeta]) -> Option<Vec<Option<DeletionFile>>> {
        let vectors = || files.iter().map(|file| self.vectors.get(bucket, &file.file_name)).collect();
        (!self.vectors.is_empty()).then(vectors)
    }
}

type DeletionFile = (String, DeletionVectorRange);

/// Splits of two sets of files without those that are in both, with the same rows deleted; the keys of a split are in
/// no other one.
fn compared(ctx: &TableContext, old: &State, new: &State, snapshot: &Snapshot) -> Result<Vec<Split>> {
    let (in_old, in_new) = (old.ids(), new.ids());
    let mut buckets: BTreeMap<BucketId, Sides> = BTreeMap::new();
    for (state, other, is_before) in [(old, &in_new, true), (new, &in_old, false)] {
        for entry in state.entries.iter().filter(|e| !other.contains(&state.id(e))) {
            let id = BucketId { partition: entry.partition.clone(), bucket: entry.bucket };
            let bucket = buckets.entry(id).or_default();
            bucket.total_buckets = entry.total_buckets;
            if is_before { &mut bucket.before } else { &mut bucket.after }.push(entry.file.clone());
        }
    }
    let splitter = SplitGenerator::new(ctx, snapshot);
    let mut splits = Vec::new();
    for (id, sides) in buckets {
        let names = |files: &[DataFileMeta]| -> HashSet<String> { files.iter().map(|f| f.file_name.clone()).collect() };
        let (before, after) = (names(&sides.before), names(&sides.after));
        // a file that lost rows is on both sides
        let files = sides.before.into_iter().chain(sides.after.into_iter().filter(|f| !before.contains(&f.file_name)));
        for mut split in splitter.merged_splits(id.clone(), sides.total_buckets, files.collect())? {
            let files = std::mem::take(&mut split.files);
            split.before_files = files.iter().filter(|f| before.contains(&f.file_name)).cloned().collect();
            split.files = files.into_iter().filter(|f| after.contains(&f.file_name)).collect();
            split.before_deletion_files = old.vectors_of(&id, &split.before_files);
            split.deletion_files = new.vectors_of(&id, &split.files);
            split.raw_convertible = false;
            splits.push(split);
        }
    }
    Ok(splits)
}

#[derive(Default)]
struct Sides {
    total_buckets: i32,
    before: Vec<DataFileMeta>,
    after: Vec<DataFileMeta>,
}
