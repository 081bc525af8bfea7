//! Expiry of snapshots: the plan (semantics g.2), and carrying it out.
//!
//! ```text
//! lock ─ choose what goes ─ removal record ─ plan: tags, branches, what stays ─ data files ─ metadata ─ snapshot files
//! ```
//!
//! The record comes before the plan: a tag that is made later finds the record, a tag that was made before is seen by the
//! plan. Consumers are looked at just before the record, and those whose readers know of that moment
//! ([`ConsumerManager::expire`]) find the record, too. So is the first version that stays, and once more when all is planned: other
//! programs roll back without a lock. Data goes for snapshots that the record lists, which were in the line when it was written, and for no others.
//!
//! An expiry that fails before it deletes anything is called off by another record; the `EARLIEST` hint names what stays once it
//! cannot be called off any more. One that fails later says that its
//! snapshots count as expired, and the next one finishes it.

use std::sync::Arc;

use serde_json::json;

use super::{
    Retention,
    data::{added_changelog, deleted_data, live_names},
    deltas::Deltas,
    metadata::{Skip, unused_metadata},
    range::{Range, expiring},
};
use crate::{
    cancel,
    cleanup::{
        Change, CleanupPlan, CleanupStep, FileKind, ManifestCache, PlannedFile, References, Report, Tagged,
        bucket_dirs, finish_released, long_lived, name_lost_tag, plan_beside_others, referenced_by_other_branches,
        upkeep_lock,
    },
    error::{Error, ErrorKind, Result},
    io::TableContext,
    options::ChangelogProducer,
    snapshot::{ConsumerManager, RemovalKind, Removals, RemovedSnapshot, Snapshot, SnapshotManager, UpkeepLock},
};

/// Expires snapshots of the table's branch and deletes what only they needed.
///
/// With `dry_run` nothing is changed. What tags, other branches, consumers and long-lived changelogs need stays.
///
/// # Errors
/// `InvalidArgument` for numbers that contradict each other; `UpkeepRunning` beside another expiry or rollback; a tag,
/// snapshot or consumer that cannot be read, because then nobody knows what it needs (nothing is deleted).
pub fn expire_snapshots(ctx: &TableContext, keep: &Retention, dry_run: bool) -> Result<Report> {
    keep.check()?;
    if dry_run {
        let snapshots = snapshots_of(ctx);
        let Some(going) = choose(ctx, &snapshots, keep)? else { return Ok(nothing(true)) };
        let deltas = plan_beside_others(|| read_deltas(ctx, &snapshots, &going))?;
        let (plan, expired) = plan_beside_others(|| plan(ctx, &snapshots, &going, &deltas))?;
        return Ok(Report::of(&ctx.fs, plan, true)?.with("snapshots", expired));
    }
    expire(ctx, &upkeep_lock(ctx)?, keep).map_err(|e| name_lost_tag(ctx, e))
}

fn expire(ctx: &TableContext, lock: &UpkeepLock, keep: &Retention) -> Result<Report> {
    let snapshots = snapshots_of(ctx);
    snapshots.settle(lock)?;
    finish_released(ctx, lock)?;
    let Some(going) = choose(ctx, &snapshots, keep)? else {
        if snapshots.earliest_hint()?.is_none()
            && let Some(earliest) = snapshots.earliest_id()?
        {
            snapshots.write_earliest_hint(earliest)?;
        }
        return Ok(nothing(false));
    };
    // a tag that cannot be read stops the expiry before it leaves a trace
    Tagged::read(ctx, &snapshots)?;
    let deltas = plan_beside_others(|| read_deltas(ctx, &snapshots, &going))?;
    let consumers = ctx.consumers();
    let record = || {
        check_consumers(ctx, &consumers, &going)?;
        check_stays(&snapshots, &going)?;
        snapshots.removals().append(lock, RemovalKind::Expire, going.end, &going.snapshots)
    };
    consumers.expire(lock, record).map_err(|e| e.in_table(&ctx.name))?;
    // one of another program, which does not look whether it was seen
    let prepared = check_consumers(ctx, &consumers, &going)
        .and_then(|()| plan_beside_others(|| plan(ctx, &snapshots, &going, &deltas)))
        .and_then(|(plan, expired)| plan.check(&ctx.fs).map(|()| (plan, expired)))
        .and_then(|planned| check_stays(&snapshots, &going).map(|()| planned));
    let (plan, expired) = match prepared {
        Ok(planned) => planned,
        Err(error) => return Err(call_off(lock, &snapshots, &going, error).in_table(&ctx.name)),
    };
    // other programs begin there while the files go
    if let Err(error) = snapshots.write_earliest_hint(going.end) {
        tracing::warn!(%error, table = ctx.name, "the hint to the earliest snapshot was not written");
    }
    Ok(Report::of(&ctx.fs, plan, false)
        .map_err(|e| unfinished(&going, e).in_table(&ctx.name))?
        .with("snapshots", expired))
}

/// Nothing has been deleted: the versions stay, and readers must go on finding them.
fn call_off(lock: &UpkeepLock, snapshots: &SnapshotManager, going: &Going, error: Error) -> Error {
    // what is begun here is ended, also when the expiry was stopped
    let _shield = cancel::shield();
    if let Err(failed) = snapshots.removals().append(lock, RemovalKind::Keep, going.fence, &[]) {
        tracing::warn!(error = %failed, "an expiry was not called off");
        return unfinished(going, error);
    }
    error
}

/// The error of an expiry that failed after its record.
fn unfinished(going: &Going, cause: Error) -> Error {
    let message = format!("snapshots before {} count as expired, but not all of their files were deleted", going.end);
    Error::new(cause.kind(), message).hint("the next expiry deletes the others").caused_by(cause)
}

/// A consumer that came after the choice, and before it could see the record, keeps its snapshots as those before.
fn check_consumers(ctx: &TableContext, consumers: &ConsumerManager, going: &Going) -> Result<()> {
    if ctx.options.consumer_changelog_only || going.first().is_none() {
        return Ok(());
    }
    match consumers.min_next_snapshot()? {
        Some(next) if (going.fence..going.end).contains(&next) && going.snapshots.iter().any(|s| s.id == next) => {
            Err(Error::new(ErrorKind::VersionInUse, format!("a consumer has begun at snapshot {next} meanwhile"))
                .with("table", &ctx.name)
                .with("snapshot", next)
                .hint("nothing has expired: expire again"))
        }
        _ => Ok(()),
    }
}

/// Another program takes no lock: one that has gone back to a version before the first one that stays leaves nothing else. Where
/// it has let more expire, later versions are there.
fn check_stays(snapshots: &SnapshotManager, going: &Going) -> Result<()> {
    let gone = match (snapshots.existing([going.end])?.pop(), &going.stays) {
        (Some(found), Some(stays)) => !stays.is(&found),
        (Some(_), None) => false,
        (None, _) => !snapshots.listed_ids()?.iter().any(|id| *id > going.end),
    };
    if gone && going.first().is_some() {
        let message = format!("snapshot {}, the first that was to stay, is no version any more", going.end);
        return Err(Error::new(ErrorKind::VersionInUse, message)
            .with("snapshot", going.end)
            .hint("another program has rolled the table back; nothing has expired: expire again"));
    }
    Ok(())
}

fn snapshots_of(ctx: &TableContext) -> SnapshotManager {
    ctx.snapshots()
}

fn nothing(dry_run: bool) -> Report {
    Report { dry_run, ..Report::default() }.with("snapshots", json!([]))
}

/// What goes.
#[derive(Debug)]
struct Going {
    /// Snapshots of the line before `end`, and those of expiries that were cut short; ascending.
    snapshots: Vec<Snapshot>,
    /// Snapshot files that are not of the line of `end`: writers that came too late left them, or what took them back was cut
    /// short.
    strays: Vec<Snapshot>,
    /// They may be of several lines: an expiry or a fast-forward was cut short.
    mixed: bool,
    /// The first ids of lines that were not made from what lies before them.
    second_lines: Vec<i64>,
    /// The first snapshot that stays.
    end: i64,
    /// Its identity, unless it has gone since it was chosen.
    stays: Option<RemovedSnapshot>,
    /// The fence as it was.
    fence: i64,
}

impl Going {
    fn first(&self) -> Option<i64> {
        self.snapshots.first().map(|snapshot| snapshot.id)
    }
}

/// What expires; `None`: nothing.
fn choose(ctx: &TableContext, snapshots: &SnapshotManager, keep: &Retention) -> Result<Option<Going>> {
    let removals = snapshots.removals().read()?;
    let line = snapshots.ids()?;
    keep.check()?;
    let range = match (line.first(), line.last()) {
        (Some(earliest), Some(latest)) => expiring(ctx, snapshots, (*earliest, *latest), keep)?,
        _ => None,
    };
    // the first one that stays is one that is there
    let stays = range.and_then(|Range { end }| line.iter().find(|id| **id >= end)).or(line.first()).copied();
    let Some(end) = stays else { return Ok(None) };
    let before = |id: &i64| *id < end;
    let left: Vec<i64> = snapshots.listed_ids()?.into_iter().filter(before).filter(|id| !line.contains(id)).collect();
    let (taken_back, mut going) = taken_back(snapshots, &removals, line.into_iter().filter(before))?;
    let (unfinished, mut strays) = left_over(snapshots, left)?;
    strays.extend(taken_back);
    strays.sort_by_key(|snapshot| snapshot.id);
    let second_lines: Vec<i64> = removals.half_partings().map(|parting| parting.target).collect();
    let mixed = !unfinished.is_empty() || !second_lines.is_empty();
    going.extend(unfinished);
    going.sort_by_key(|snapshot| snapshot.id);
    if going.is_empty() && strays.is_empty() {
        return Ok(None);
    }
    let stays = snapshots.existing([end])?.pop().as_ref().map(RemovedSnapshot::from);
    Ok(Some(Going { snapshots: going, strays, mixed, second_lines, end, stays, fence: removals.fence }))
}

/// Of these versions, those that a fast-forward which died between its records has taken back, and the others. No version is made
/// of the former any more: their snapshot files alone go, as if it had come to its end.
fn taken_back(
    snapshots: &SnapshotManager,
    removals: &Removals,
    ids: impl Iterator<Item = i64>,
) -> Result<(Vec<Snapshot>, Vec<Snapshot>)> {
    let versions = snapshots.existing(ids)?;
    let numbers: Vec<u64> = removals.half_partings().map(|parting| parting.record).collect();
    if numbers.is_empty() {
        return Ok((Vec::new(), versions));
    }
    let mut partings = snapshots.removals().numbered()?;
    partings.retain(|(number, _)| numbers.contains(number));
    Ok(versions.into_iter().partition(|version| partings.iter().any(|(_, record)| record.lists(version))))
}

/// Snapshot files that are not part of the line any more: those that an expiry left, and all others. Of the latter only the
/// snapshot file goes: what came too late may be committed yet, and what was taken back is of another line, whose deleted
/// files may live in this one.
fn left_over(snapshots: &SnapshotManager, left: Vec<i64>) -> Result<(Vec<Snapshot>, Vec<Snapshot>)> {
    if left.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let records = snapshots.removals().all()?;
    let listed = |kind: RemovalKind, snapshot: &Snapshot| records.iter().any(|r| r.kind == kind && r.lists(snapshot));
    let has_expired = |s: &Snapshot| listed(RemovalKind::Expire, s) && !listed(RemovalKind::Rollback, s);
    Ok(snapshots.existing(left)?.into_iter().partition(has_expired))
}

/// What the snapshots that go, and the first that stays, deleted.
///
/// # Errors
/// `CorruptFile` when versions that stay name such a file, as far as what is read here says it, or a manifest twice.
fn read_deltas(ctx: &TableContext, snapshots: &SnapshotManager, chosen: &Going) -> Result<Deltas> {
    let Some(first) = chosen.first() else { return Ok(Deltas::default()) };
    let cache = ManifestCache::new(ctx)?;
    let end = snapshots.existing([chosen.end])?.pop();
    for stays in end.iter().chain(&snapshots.latest()?) {
        match cache.manifests(stays) {
            // what is gone is for the plan to tell
            Err(e) if e.kind() != ErrorKind::FileNotFound => return Err(e.in_table(&ctx.name)),
            _ => {}
        }
    }
    let later: Vec<&Snapshot> = chosen.snapshots.iter().chain(&end).filter(|s| s.id > first).collect();
    Deltas::read(&cache, &later, &chosen.second_lines).map_err(|e| e.in_table(&ctx.name))
}

/// The plan, and the ids that go.
fn plan(
    ctx: &TableContext,
    snapshots: &SnapshotManager,
    chosen: &Going,
    deltas: &Deltas,
) -> Result<(CleanupPlan, Vec<i64>)> {
    let going = &chosen.snapshots;
    let end = snapshots.existing([chosen.end])?.pop();
    let mut plan = CleanupPlan::default();
    let reason: Arc<str> = Arc::from("it is no version: its commit came too late, or it was taken back");
    plan.delete_in_order(chosen.strays.iter().map(|stray| snapshot_file(snapshots, stray, &reason)).collect());
    if going.is_empty() {
        return Ok((plan, Vec::new()));
    }
    let tags = Tagged::read(ctx, snapshots)?;
    let cache = ManifestCache::new(ctx)?;
    let mut referenced_by_other_branches = referenced_by_other_branches(ctx, &cache)?;
    let outlive = Retention::changelogs_outlive(&ctx.options);
    if !outlive {
        // others, with other options, have left changelogs that go on
        referenced_by_other_branches.get_or_insert_default().extend(long_lived(ctx, &cache)?);
    }
    let produces = ctx.options.changelog_producer != ChangelogProducer::None;

    let keep_appended = outlive && !produces;
    let versions: Vec<&Snapshot> = going.iter().chain(&end).collect();
    let mut referenced_by_other_branches = with_other_lines(&cache, &versions, referenced_by_other_branches)?;
    if let (true, Some(end)) = (chosen.mixed, &end) {
        // the last version was not made from all of them, whatever their ids say
        referenced_by_other_branches.get_or_insert_default().data.extend(live_names(&cache, end)?);
    }
    let data = deleted_data(
        ctx,
        &cache,
        deltas,
        &tags,
        keep_appended,
        referenced_by_other_branches.as_ref(),
        &mut plan.notes,
    )?;
    let mut entries = data.entries;
    plan.delete(data.files);
    if !outlive {
        let (files, of) = added_changelog(ctx, &cache, going, referenced_by_other_branches.as_ref())?;
        plan.delete(files);
        entries.extend(of);
    }
    if ctx.options.snapshot_clean_empty_directories && !entries.is_empty() {
        plan.steps.push(CleanupStep::DeleteEmpty(bucket_dirs(ctx, &entries)?));
    }
    if let Some(end) = &end {
        let skip = Skip { data_lists: keep_appended, changelog: outlive };
        let unused =
            unused_metadata(ctx, cache.store(), going, end, &tags, referenced_by_other_branches.as_ref(), skip)?;
        plan.delete(unused);
    } else {
        plan.notes.push(format!("snapshot {} is gone, another job expires snapshots: metadata stays", chosen.end));
    }
    delete_snapshots(ctx, snapshots, going, outlive, &mut plan)?;
    plan.steps.push(CleanupStep::Change(Change::Sync { directory: ctx.paths.snapshot_dir(&ctx.branch) }));
    if let Some(end) = &end {
        plan.overwrite(snapshots.hint_path("EARLIEST"), end.id.to_string());
    }
    Ok((plan, going.iter().map(|snapshot| snapshot.id).collect()))
}

/// What a version says is deleted may live in later ones when these were not made from it: where ids have a gap, files of the
/// version after the gap are kept.
fn with_other_lines(
    cache: &ManifestCache,
    versions: &[&Snapshot],
    referenced_by_other_branches: Option<References>,
) -> Result<Option<References>> {
    let mut kept = referenced_by_other_branches;
    for pair in versions.windows(2) {
        if let [before, after] = pair
            && before.id + 1 != after.id
        {
            kept.get_or_insert_default().data.extend(live_names(cache, after)?);
        }
    }
    Ok(kept)
}

fn snapshot_file(snapshots: &SnapshotManager, snapshot: &Snapshot, reason: &Arc<str>) -> PlannedFile {
    PlannedFile { path: snapshots.path(snapshot.id), kind: FileKind::Snapshot, bytes: 0, reason: Arc::clone(reason) }
}

/// Snapshot files go last, oldest first; with decoupled changelogs each leaves its changelog behind.
fn delete_snapshots(
    ctx: &TableContext,
    snapshots: &SnapshotManager,
    going: &[Snapshot],
    outlive: bool,
    plan: &mut CleanupPlan,
) -> Result<()> {
    if outlive {
        let changelogs = ctx.changelogs();
        for snapshot in going {
            plan.overwrite(changelogs.path(snapshot.id), snapshot.to_json()?);
        }
        if let Some(last) = going.last() {
            plan.overwrite(changelogs.hint_path("LATEST"), last.id.to_string());
        }
        // the changelogs' names stay, before those of the snapshots go
        plan.steps.push(CleanupStep::Change(Change::Sync { directory: changelogs.directory().to_owned() }));
    }
    let reason: Arc<str> = Arc::from("the snapshot has expired");
    plan.delete_in_order(going.iter().map(|snapshot| snapshot_file(snapshots, snapshot, &reason)).collect());
    Ok(())
}
