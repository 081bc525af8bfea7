//! From a request to the splits of the version that it asks for.

use std::collections::{HashMap, HashSet};

use super::{
    ReadOptions, ScanPlan, ScanRequest, VersionSelector,
    deletions::DeletionFiles,
    entries::{Considered, EntryFilter, live_entries, live_entries_if},
    feature_check::{check_files, check_options, drop_postponed},
    incremental,
    level_0::{Level0, level_0, switched_off_later},
    overtaken::{again_when_overtaken, expired_meanwhile},
    prepared::Prepared,
    prune::{EntryTester, buckets_of_interest},
    resolved::Resolved,
    sections::{Section, sections_of},
    split::SplitGenerator,
};
use crate::{
    cancel, error::Result, io::TableContext, manifest::ManifestEntry, merge_tree::merge_function, predicate::Condition,
    snapshot::Snapshot, wire::Split,
};

/// Chooses snapshot, files and splits; again when the version expires while it is planned.
pub fn plan(ctx: &TableContext, request: &ScanRequest) -> Result<ScanPlan> {
    again_when_overtaken(ctx, || {
        plan_at(ctx, request, &Resolved::find(ctx, &request.version, request.incremental.as_ref())?)
    })
}

/// Chooses files and splits of a version that was looked up; what the request says of versions does not count.
///
/// # Errors
/// `SnapshotExpired`, naming a file, when the version has expired since then.
pub fn plan_at(ctx: &TableContext, request: &ScanRequest, at: &Resolved) -> Result<ScanPlan> {
    if let Some((asked, changes)) = &at.between {
        check_options(ctx)?;
        return incremental::plan(ctx, Prepared::new(ctx, request)?, asked.mode, changes);
    }
    let since = at.files_since.or(request.created_since);
    let snapshot = at.snapshot.clone();
    let ctx = if request.todays_schema { ctx.clone() } else { at.ctx.clone() };
    check_options(&ctx)?;
    let prepared = Prepared::new(&ctx, request)?;
    let Some(at) = snapshot.clone().filter(|_| !prepared.nothing) else {
        return Ok(ScanPlan { ctx, snapshot, splits: Vec::new(), read: prepared.read, files_considered: 0 });
    };
    let planned = splits_of(&ctx, &at, request, &prepared, since).map_err(|e| expired_meanwhile(&ctx, &at, e));
    let (mut splits, files_considered) = planned?;
    let read = prepared.read;
    if let (Some(limit), None, false) = (read.options.limit, &read.filter, read.options.keep_deletes) {
        splits = limited(splits, limit);
    }
    Ok(ScanPlan { ctx, snapshot, splits, read, files_considered })
}

/// The splits of a version, and of how many files they were chosen.
fn splits_of(
    ctx: &TableContext,
    at: &Snapshot,
    request: &ScanRequest,
    prepared: &Prepared,
    since: Option<i64>,
) -> Result<(Vec<Split>, usize)> {
    let mut wanted = prepared.entry_filter(ctx);
    wanted.no_statistics = prepared.residual.is_always_true() && !request.statistics;
    let level_0 = if request.all_levels { Level0::Read } else { level_0(ctx, at)? };
    let max_level_only =
        request.min_level.is_some_and(|level| level > 0 && level >= ctx.options.num_levels.saturating_sub(1));
    // what is skipped with a warning is listed first
    let min_level = if level_0 == Level0::SwitchedOn { request.min_level } else { level_0.min_level(request) };
    let chosen = EntryFilter { min_level, created_since: since, ..EntryFilter::default() };
    // vectors are compared with all files that may have one
    let has_vectors = at.index_manifest.is_some();
    if has_vectors {
        wanted.min_level = (level_0 == Level0::Skip).then_some(1);
    } else {
        (wanted.min_level, wanted.created_since) = (chosen.min_level, since);
    }
    let Considered { mut entries, files } = considered(ctx, at, request, prepared, &wanted, level_0)?;
    let read = entries.len();
    drop_postponed(ctx, &mut entries);
    let has_level_0 = entries.iter().any(|e| e.file.level == 0);
    let mut splitter = SplitGenerator::new(ctx, at);
    splitter.deletions = DeletionFiles::of(ctx, at, &entries)?;
    if has_vectors {
        chosen.keep_files(&mut entries)?;
    }
    if level_0 == Level0::SwitchedOn && has_level_0 {
        let why = "'deletion-vectors.enabled' was switched on after the snapshot: rows of level 0 are not read";
        tracing::warn!(table = %ctx.name, snapshot = at.id, "{why}; give 'deletion-vectors.enabled' = 'false' to read them");
        entries.retain(|entry| entry.file.level > 0);
    }
    let files_considered = files.saturating_sub(read - entries.len());
    check_files(ctx, &entries)?;
    // a writer from before the switch may have been the last one: the rows that it brought are seen from now on
    let waits = has_level_0 && request.version != VersionSelector::Latest;
    if level_0 == Level0::SwitchedOff && (waits || !splitter.deletions.is_empty()) {
        return Err(switched_off_later(ctx, at));
    }
    // with fewer levels than when files were compacted, several levels are the highest, and share keys; and so do levels from
    // before vectors were switched on
    splitter.disjoint_levels = level_0 == Level0::Skip || max_level_only && have_one_level(&entries);
    let mut splits = Vec::new();
    for bucket in buckets_of_interest(ctx, entries, &prepared.residual, splitter.disjoint_levels)? {
        cancel::check()?;
        splits.extend(splitter.splits(bucket)?);
    }
    check_mergeable(ctx, &splits)?;
    Ok((splits, files_considered))
}

/// The files of a version, without those that the condition excludes one by one: they go while manifests are read.
fn considered(
    ctx: &TableContext,
    at: &Snapshot,
    request: &ScanRequest,
    prepared: &Prepared,
    wanted: &EntryFilter,
    level_0: Level0,
) -> Result<Considered> {
    let has_key = ctx.schema.has_primary_key();
    let is_each_by_itself = !ctx.options.data_evolution_enabled && level_0 != Level0::SwitchedOff;
    if is_each_by_itself && !prepared.residual.is_always_true() {
        let disjoint = matches!(level_0, Level0::Skip | Level0::SwitchedOn);
        let tester = EntryTester::new(ctx, &prepared.residual, disjoint);
        // what level 0 has is told, and so is what waits for buckets
        let is_told = |entry: &ManifestEntry| entry.bucket < 0 || has_key && entry.file.level == 0;
        return live_entries_if(ctx, at, wanted, &|entry| Ok(is_told(entry) || tester.may_match(entry)?), None);
    }
    let limit = request.options.limit.filter(|_| {
        !has_key
            && is_each_by_itself
            && at.index_manifest.is_none()
            && !request.options.keep_deletes
            && wanted.min_level.is_none()
            && wanted.created_since.is_none()
    });
    let enough = limit.map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
    live_entries_if(ctx, at, wanted, &|_| Ok(true), enough)
}

/// Whether the files of each bucket are of one level: above level 0 those share no keys.
fn have_one_level(entries: &[ManifestEntry]) -> bool {
    let mut levels: HashMap<(&[u8], i32), i32> = HashMap::new();
    entries.iter().all(|entry| {
        let level = entry.file.level;
        *levels.entry((entry.partition.as_slice(), entry.bucket)).or_insert(level) == level
    })
}

/// The partitions (serialized rows) that the version has, or of changes those that changed; only the parts of the
/// condition over partition columns count.
///
/// # Errors
/// As [`plan_at`].
pub fn partitions_at(ctx: &TableContext, request: &ScanRequest, at: &Resolved) -> Result<HashSet<Vec<u8>>> {
    let keys = &ctx.schema.partition_keys;
    let filter = Condition::of(request.filter.as_ref(), &at.ctx.schema.fields)?;
    let filter = filter.map(|f| f.relaxed(&|c| keys.iter().any(|k| k == c)).into());
    let options = ReadOptions { limit: None, ..request.options.clone() };
    let request = ScanRequest { filter, columns: None, options, ..request.clone() };
    if let Some((asked, changes)) = &at.between {
        return incremental::partitions(ctx, Prepared::new(ctx, &request)?, asked.mode, changes);
    }
    let (ctx, Some(snapshot)) = (&at.ctx, &at.snapshot) else { return Ok(HashSet::new()) };
    let mut wanted = Prepared::new(ctx, &request)?.entry_filter(ctx);
    wanted.min_level = level_0(ctx, snapshot)?.min_level(&request);
    wanted.created_since = at.files_since.or(request.created_since);
    wanted.no_statistics = true;
    let mut entries = live_entries(ctx, snapshot, &wanted).map_err(|e| expired_meanwhile(ctx, snapshot, e))?;
    entries.retain(|entry| entry.bucket >= 0);
    Ok(entries.into_iter().map(|entry| entry.partition).collect())
}

/// Splits that must be merged need an engine that siltstone has.
fn check_mergeable(ctx: &TableContext, splits: &[Split]) -> Result<()> {
    let Err(unsupported) = merge_function::for_table(ctx, None) else {
        return Ok(());
    };
    for split in splits.iter().filter(|s| !s.raw_convertible) {
        if !sections_of(ctx, &split.files)?.iter().all(Section::needs_no_merge) {
            return Err(unsupported);
        }
    }
    Ok(())
}

/// The first splits that surely have `limit` rows; all of them when that cannot be known.
fn limited(splits: Vec<Split>, limit: usize) -> Vec<Split> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows = 0_i64;
    let mut enough = Vec::new();
    for split in splits.iter().filter(|s| s.raw_convertible) {
        rows = rows.saturating_add(crate::limits::sum((0..split.files.len()).filter_map(|i| split.rows_left(i))));
        enough.push(split.clone());
        if rows >= limit {
            return enough;
        }
    }
    splits
}
