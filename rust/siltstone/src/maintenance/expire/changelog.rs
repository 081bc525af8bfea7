//! Expiry of long-lived changelogs (semantics g.3).

use std::{collections::HashSet, sync::Arc};

use serde_json::json;

use super::{
    Retention,
    data::{added_changelog, deleted_data, live_names},
    deltas::Deltas,
};
use crate::{
    cancel,
    cleanup::{
        Change, CleanupPlan, CleanupStep, FileKind, ManifestCache, MetaFile, MetaParts, PlannedFile, References,
        Report, Tagged, metadata_files, metadata_names, plan_beside_others, referenced_by_other_branches, upkeep_lock,
    },
    error::Result,
    io::TableContext,
    snapshot::{ChangelogManager, Snapshot, SnapshotManager, UpkeepLock},
};

/// Expires changelogs that have outlived their snapshots, with the files only they needed. The newest one stays.
pub fn expire_changelogs(ctx: &TableContext, keep: &Retention, dry_run: bool) -> Result<Report> {
    let lock = if dry_run { None } else { Some(upkeep_lock(ctx)?) };
    plan_beside_others(|| expire(ctx, keep, lock.as_ref()))
}

fn expire(ctx: &TableContext, keep: &Retention, lock: Option<&UpkeepLock>) -> Result<Report> {
    let dry_run = lock.is_none();
    keep.check()?;
    let changelogs = ctx.changelogs();
    let snapshots = ctx.snapshots();
    let nothing = || Report { dry_run, ..Report::default() }.with("changelogs", json!([]));
    let ids = changelogs.ids()?;
    let find_end = || end_of(ctx, &changelogs, &ids, &snapshots, keep);
    let Some(end) = find_end()? else { return Ok(nothing()) };
    let mut going = Vec::new();
    for id in ids.iter().filter(|id| **id < end) {
        going.push(changelogs.get(*id)?);
    }
    let Some(earliest) = snapshots.earliest_id()?.map(|id| snapshots.get(id)).transpose()? else {
        return Ok(nothing());
    };
    let plan = plan(ctx, &changelogs, &going, &changelogs.get(end)?, &earliest)?;
    if let Some(lock) = lock {
        plan.check(&ctx.fs)?;
        if !say(ctx, lock, &changelogs, end, find_end)? {
            return Ok(nothing());
        }
    }
    let gone: Vec<i64> = going.iter().map(|changelog| changelog.id).collect();
    Ok(Report::of(&ctx.fs, plan, dry_run)?.with("changelogs", gone))
}

/// The `EARLIEST` hint says what goes before anything is deleted; false: a consumer has begun there since, and nothing goes. A
/// reader that this does not see finds the hint afterwards ([`ConsumerManager::expire`]).
fn say(
    ctx: &TableContext,
    lock: &UpkeepLock,
    changelogs: &ChangelogManager,
    end: i64,
    find_end: impl Fn() -> Result<Option<i64>>,
) -> Result<bool> {
    let consumers = ctx.consumers();
    consumers.expire(lock, || {
        if find_end()?.is_none_or(|now| now < end) {
            return Ok(false);
        }
        if changelogs.earliest_id()?.is_none_or(|earliest| earliest < end) {
            ctx.fs.overwrite(&changelogs.hint_path("EARLIEST"), end.to_string().as_bytes())?;
        }
        Ok(true)
    })
}

/// Changelogs before this one expire. Of the ids (all, ascending) some may be missing between two others: an expiry by options
/// that let no changelog outlive its snapshot leaves none behind.
fn end_of(
    ctx: &TableContext,
    changelogs: &ChangelogManager,
    ids: &[i64],
    snapshots: &SnapshotManager,
    keep: &Retention,
) -> Result<Option<i64>> {
    let (Some(newest), Some(&earliest), Some(&latest)) = (snapshots.latest_id()?, ids.first(), ids.last()) else {
        return Ok(None);
    };
    let mut end = newest.saturating_sub(keep.min).saturating_add(1).min(latest);
    let consumers = ctx.consumers();
    end = consumers.min_next_snapshot()?.map_or(end, |next| end.min(next));
    end = end.min(earliest.saturating_add(keep.limit));
    let by_number = newest.saturating_sub(keep.max).saturating_add(1).max(earliest);
    if let Some(limit) = keep.older_than {
        for id in ids.iter().filter(|id| (by_number..end).contains(id)) {
            cancel::check()?;
            if changelogs.get(*id)?.time_millis >= limit {
                end = *id;
                break;
            }
        }
    }
    // the first one that stays is one that is there
    Ok(ids.iter().copied().find(|id| *id >= end).filter(|end| *end > earliest))
}

fn plan(
    ctx: &TableContext,
    changelogs: &ChangelogManager,
    going: &[Snapshot],
    end: &Snapshot,
    earliest: &Snapshot,
) -> Result<CleanupPlan> {
    let mut plan = CleanupPlan::default();
    let snapshots = ctx.snapshots();
    let tags = Tagged::read(ctx, &snapshots)?;
    let cache = ManifestCache::new(ctx)?;
    let mut referenced_by_other_branches = referenced_by_other_branches(ctx, &cache)?;
    let first = going.first().map_or(end.id, |s| s.id);
    let lines = second_lines(&snapshots, first, earliest.id)?;
    if !lines.is_empty() {
        referenced_by_other_branches.get_or_insert_default().data.extend(live_names(&cache, earliest)?);
    }
    let (own, deltas): (Vec<Snapshot>, Vec<Snapshot>) =
        going.iter().cloned().partition(|changelog| changelog.changelog_manifest_list.is_some());
    plan.delete(added_changelog(ctx, &cache, &own, referenced_by_other_branches.as_ref())?.0);
    let versions: Vec<&Snapshot> = deltas.iter().collect();
    let deltas = Deltas::read(&cache, &versions, &lines)?;
    let data =
        deleted_data(ctx, &cache, &deltas, &tags, false, referenced_by_other_branches.as_ref(), &mut plan.notes)?;
    plan.delete(data.files);
    // all tags: of `end` itself, the lists may be gone that would name what a later one has, too
    let mut kept = tags.between(first, i64::MAX);
    let whole = first_whole(ctx, changelogs, &versions, end.id)?;
    kept.extend([end, earliest].into_iter().chain(&whole));
    plan.delete(unused_lists(ctx, &cache, going, &kept, referenced_by_other_branches.as_ref())?);
    let reason: Arc<str> = Arc::from("the changelog has expired");
    let file = |changelog: &Snapshot| PlannedFile {
        path: changelogs.path(changelog.id),
        kind: FileKind::LongLivedChangelog,
        bytes: 0,
        reason: Arc::clone(&reason),
    };
    plan.delete_in_order(going.iter().map(file).collect());
    plan.steps.push(CleanupStep::Change(Change::Sync { directory: changelogs.directory().to_owned() }));
    plan.overwrite(changelogs.hint_path("EARLIEST"), end.id.to_string());
    Ok(plan)
}

/// The first ids of lines after `first`, up to the earliest version, that were not made from what lies before them: a fast-forward
/// to a branch put them there, and died before the changelogs of main had gone.
fn second_lines(snapshots: &SnapshotManager, first: i64, earliest: i64) -> Result<Vec<i64>> {
    let removals = snapshots.removals().read()?;
    let partings = removals.rollbacks.iter().filter(|rollback| rollback.common.is_some());
    Ok(partings.map(|parting| parting.target).filter(|target| (first..=earliest).contains(target)).collect())
}

/// The first changelog from `end` on that needs its version's manifests and still has their list: what later ones need of the
/// manifests before it, it needs, too. Asked only where a going changelog has such a list.
fn first_whole(
    ctx: &TableContext,
    changelogs: &ChangelogManager,
    going: &[&Snapshot],
    end: i64,
) -> Result<Option<Snapshot>> {
    let has_lists = |changelog: &Snapshot| -> Result<bool> {
        Ok(changelog.changelog_manifest_list.is_none()
            && ctx.fs.is_file(&ctx.paths.manifest(&changelog.base_manifest_list)?)?)
    };
    let mut any = false;
    for changelog in going {
        any = any || has_lists(changelog)?;
    }
    if !any {
        return Ok(None);
    }
    for id in changelogs.ids()?.into_iter().filter(|id| *id >= end) {
        cancel::check()?;
        let changelog = changelogs.get(id)?;
        if has_lists(&changelog)? {
            return Ok(Some(changelog));
        }
    }
    Ok(None)
}

/// Manifests that only these changelogs need; their index files and statistics went with the snapshots.
fn unused_lists(
    ctx: &TableContext,
    cache: &ManifestCache,
    going: &[Snapshot],
    kept: &[&Snapshot],
    referenced_by_other_branches: Option<&References>,
) -> Result<Vec<PlannedFile>> {
    let mut used: HashSet<String> = HashSet::new();
    for version in kept {
        // of an expired snapshot whose changelog has files of its own, the other lists are gone
        let parts = MetaParts { data: true, changelog: true, index: false, tolerant: true };
        used.extend(metadata_names(ctx, cache.store(), version, parts)?);
    }
    let mut unused = Vec::new();
    for changelog in going {
        let own = changelog.changelog_manifest_list.is_some();
        let parts = MetaParts { data: !own, changelog: own, index: false, tolerant: true };
        let reason: Arc<str> = Arc::from(format!("only changelogs up to {} need it", changelog.id));
        for MetaFile { name, path, bytes, kind } in metadata_files(ctx, cache.store(), changelog, parts)? {
            let needed = referenced_by_other_branches.is_some_and(|other| other.meta.contains(&name));
            if !needed && used.insert(name) {
                unused.push(PlannedFile { path, kind, bytes, reason: Arc::clone(&reason) });
            }
        }
    }
    Ok(unused)
}
