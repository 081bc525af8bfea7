//! Rollback: a table as it was at a snapshot or tag; everything later goes (semantics g.6).
//!
//! ```text
//! lock ─ [record: it is no version yet ─ snapshot file of an expired tag ─ EARLIEST] ─ look ─ removal record ─ look
//!      ─ LATEST hint ─ snapshot files, newest first ─ later changelogs ─ later tags
//! ```
//!
//! Once the record is there, what is later than the target is no version any more, whether its file is there or not: a
//! rollback that was cut short is done, and the next operation that holds the lock removes what is left of it. An error after
//! the record is a note of the report.
//!
//! Another program, which takes no lock, may let the target expire: the two looks at it find that. After the record the newest
//! of the later versions then stays instead ([`SnapshotManager::call_off_rollback`]).
//!
//! Data and manifests of the removed snapshots stay until orphan files are removed: readers may still be at them.
//!
//! Source: `RollbackHelper`, `Table.rollbackTo`.

use std::{collections::HashSet, sync::Arc};

use serde_json::Value;

use crate::{
    cancel,
    cleanup::{
        Change, CleanupPlan, CleanupStep, FileKind, PlannedFile, Report, after_record, all_there, check_all_there,
        check_branch_points, upkeep_lock,
    },
    error::{Error, ErrorKind, Result},
    io::TableContext,
    manifest::{ManifestEntry, ManifestStore},
    options::CoreOptions,
    scan::{EntryFilter, VersionSelector, has_deleted_rows, has_several_levels, live_entries, time_travel},
    schema::{TableSchema, VECTORS, level_0_counts, levels_option_changed},
    snapshot::{ChangelogManager, RemovedSnapshot, Snapshot, SnapshotManager, UpkeepLock},
};

/// Makes a snapshot or tag the latest version.
///
/// With `dry_run` the report only says what would go. A rollback that was cut short is finished by the same call.
///
/// # Errors
/// `SnapshotNotFound`, `SnapshotExpired`, `TagNotFound` for the target; `VersionInUse` when a branch was made from a tag
/// that would go (nothing is deleted); `IllegalSchemaChange` where deletion vectors were switched since; `UpkeepRunning` beside an expiry or another rollback.
pub fn rollback(ctx: &TableContext, target: &VersionSelector, dry_run: bool) -> Result<Report> {
    let snapshots = ctx.snapshots();
    let lock = if dry_run { None } else { Some(upkeep_lock(ctx)?) };
    let before = latest_before(&snapshots)?;
    if let Some(lock) = &lock {
        if before.is_some() { snapshots.settle(lock)? } else { snapshots.remove_placed(lock)? }
    }
    let target = time_travel(ctx, target)?.1.ok_or_else(|| {
        Error::new(ErrorKind::SnapshotNotFound, "the table has no snapshot to go back to").with("table", &ctx.name)
    })?;
    check_whole(ctx, &target)?;
    check_levels(ctx, &target)?;
    let later = later_than(&snapshots, target.id)?;
    let gone = later_tags(ctx, &snapshots, &target)?;
    let mut cut_off = later_changelogs(&ctx.changelogs(), target.id)?;
    // whatever cannot be read is found before the rollback takes effect
    let plan = plan(ctx, &snapshots, &target, &later, &gone)?;
    plan.check(&ctx.fs)?;
    let report = if let Some(lock) = &lock {
        cut_off.extend(gone.into_iter().map(|(_, tagged)| tagged));
        restore(ctx, &snapshots, lock, &target)?;
        if !is_there(&snapshots, &target)? {
            return Err(expired_meanwhile(ctx, &target, before));
        }
        snapshots.removals().append_rollback(lock, target.id, &later, &cut_off).map_err(|e| e.in_table(&ctx.name))?;
        let done = format!("the table is back at snapshot {}", target.id);
        let looked = is_there(&snapshots, &target);
        let plan = match looked {
            Ok(true) => plan,
            Ok(false) => return Err(call_off(ctx, &snapshots, lock, &target)),
            // nothing goes before it is known that the target stays
            Err(_) => CleanupPlan { notes: plan.notes, ..CleanupPlan::default() },
        };
        // with writers that came too late
        let mut strays = Vec::new();
        let mut report = after_record(ctx, plan, &done, || {
            looked?;
            strays = remove_strays(ctx, &snapshots, target.id)?;
            snapshots.settle(lock)
        })?;
        strays.extend(later.iter().map(|snapshot| snapshot.id).filter(|id| before.is_some_and(|before| *id > before)));
        report.plan.notes.extend(note_of_strays(&strays));
        report
    } else {
        Report::of(&ctx.fs, plan, true)?
    };
    Ok(report.with("previous_snapshot", before.map_or(Value::Null, Value::from)).with("current_snapshot", target.id))
}

fn is_there(snapshots: &SnapshotManager, target: &Snapshot) -> Result<bool> {
    let found = snapshots.existing([target.id])?.pop();
    Ok(found.is_some_and(|found| RemovedSnapshot::from(target).is(&found)))
}

fn expired_meanwhile(ctx: &TableContext, target: &Snapshot, latest: Option<i64>) -> Error {
    let stays = latest.map_or_else(|| "it has no version".to_owned(), |id| format!("its latest version is {id}"));
    let message =
        format!("another program has let snapshot {} expire while the table was rolled back to it: {stays}", target.id);
    Error::new(ErrorKind::SnapshotExpired, message)
        .with("table", &ctx.name)
        .with("snapshot", target.id)
        .hint("choose a newer snapshot or a tag, and let one program do the upkeep of a table")
}

/// After the record: the newest of the later versions stays instead.
fn call_off(ctx: &TableContext, snapshots: &SnapshotManager, lock: &UpkeepLock, target: &Snapshot) -> Error {
    // what is begun here is ended, also when the rollback was stopped
    let _shield = cancel::shield();
    match snapshots.settle(lock).and_then(|()| latest_before(snapshots)) {
        Ok(latest) => expired_meanwhile(ctx, target, latest),
        Err(failed) => expired_meanwhile(ctx, target, None).caused_by(failed),
    }
}

/// The latest version, if there is one: where all snapshots are lost, a tag is what is left to go back to.
pub(crate) fn latest_before(snapshots: &SnapshotManager) -> Result<Option<i64>> {
    match snapshots.latest_id() {
        Err(e) if matches!(e.kind(), ErrorKind::Storage | ErrorKind::UpkeepRunning) => Err(e),
        found => Ok(found.ok().flatten()),
    }
}

/// Deletes what another program, which knows no records, has published meanwhile on a version that was going: it lies behind a
/// hole after the version that is the latest one now, and would be taken for a version as soon as the hole is filled.
pub(crate) fn remove_strays(ctx: &TableContext, snapshots: &SnapshotManager, latest: i64) -> Result<Vec<i64>> {
    let mut gone = Vec::new();
    loop {
        let ids = snapshots.listed_ids()?;
        let later: Vec<i64> = ids.iter().copied().filter(|id| *id > latest).collect();
        let in_line = (latest + 1..).zip(&later).take_while(|(next, id)| next == *id).count();
        let strays = later.get(in_line..).unwrap_or_default();
        if strays.is_empty() || !ids.contains(&latest) {
            if !gone.is_empty() {
                // its hint names what is gone, and other programs believe it
                snapshots.write_latest_hint(latest)?;
            }
            return Ok(gone);
        }
        // a listing does not show everything that was published while it was made
        let hole = latest.saturating_add(1).saturating_add_unsigned(in_line as u64);
        if snapshots.exists(hole)? {
            continue;
        }
        for id in strays.iter().rev() {
            ctx.fs.delete(&snapshots.path(*id))?;
        }
        gone.extend(strays);
    }
}

pub(crate) fn note_of_strays(strays: &[i64]) -> Option<String> {
    let gone = || format!("snapshots {strays:?}, which others made meanwhile on what was going, went, too");
    (!strays.is_empty()).then(gone)
}

/// Snapshots with later ids, those that are going already among them.
pub(crate) fn later_than(snapshots: &SnapshotManager, id: i64) -> Result<Vec<Snapshot>> {
    snapshots.existing(snapshots.listed_ids()?.into_iter().filter(|other| *other > id))
}

/// Long-lived changelogs with later ids, without those that are broken, which go all the same.
fn later_changelogs(changelogs: &ChangelogManager, id: i64) -> Result<Vec<Snapshot>> {
    let read = |id: i64| match changelogs.get(id) {
        Err(e) if matches!(e.kind(), ErrorKind::FileNotFound | ErrorKind::CorruptFile) => None,
        other => Some(other),
    };
    changelogs.ids()?.into_iter().filter(|other| *other > id).filter_map(read).collect()
}

/// Tags that go with the snapshots later than the target.
fn later_tags(ctx: &TableContext, snapshots: &SnapshotManager, target: &Snapshot) -> Result<Vec<(String, Snapshot)>> {
    let tags = ctx.tags();
    let gone: Vec<(String, Snapshot)> = tags.list()?.into_iter().filter(|(_, tag)| tag.id > target.id).collect();
    check_branch_points(ctx, snapshots, target, &gone)?;
    Ok(gone)
}

/// Before the record: from here on the target is there, whatever becomes of the rest. What an expiry that died has left in
/// its place goes, and so does what came too late. A record before it says that it is no version until then: one whose rollback died
/// would be a version once a later rollback has written its record.
fn restore(ctx: &TableContext, snapshots: &SnapshotManager, lock: &UpkeepLock, target: &Snapshot) -> Result<()> {
    if let Some(found) = snapshots.existing([target.id])?.pop() {
        let same = RemovedSnapshot::from(target).is(&found);
        match (snapshots.is_version(&found)?, same) {
            (true, true) => return Ok(()),
            (true, false) => {
                let message = format!("the table's snapshot {} is another one than the tag's", target.id);
                return Err(Error::new(ErrorKind::VersionInUse, message)
                    .with("table", &ctx.name)
                    .hint("a rollback has cut off what the tag names; roll back to an earlier snapshot first"));
            }
            (false, _) => ctx.fs.delete(&snapshots.path(found.id))?,
        }
    } else if !snapshots.is_tagged(target)? {
        // no tag keeps its files
        return Err(expired_meanwhile(ctx, target, latest_before(snapshots)?));
    }
    let restored = restored(ctx, target)?;
    let removals = snapshots.removals().append_placing(lock, &restored)?;
    let snapshot = restored.knowing(removals.count + 1, &removals.branch);
    ctx.fs.publish(&snapshots.path(snapshot.id), snapshot.to_json()?.as_bytes(), true)?;
    snapshots.write_earliest_hint(snapshot.id)
}

/// Readers of the newest version, and compactions, go by the newest schema: what several levels hold would become other rows, or
/// never be told of. An alter of such an option looks at the newest version under the lock of upkeep, too: one of the two gives way.
fn check_levels(ctx: &TableContext, target: &Snapshot) -> Result<()> {
    let Some(newest) = ctx.schemas.latest()? else { return Ok(()) };
    let then = ctx.schemas.get(target.schema_id)?;
    let Some(option) = levels_option_changed(&then, &newest)? else { return Ok(()) };
    let would_differ = has_several_levels(ctx, target, level_0_counts(option, &newest, target.schema_id)?)?
        || (option == VECTORS && has_deleted_rows(ctx, target)?);
    if !would_differ {
        return Ok(());
    }
    let message = format!("snapshot {} was made with another '{option}', and would show other rows", target.id);
    Err(Error::new(ErrorKind::IllegalSchemaChange, message)
        .with("table", &ctx.name)
        .with("snapshot", target.id)
        .with("option", option)
        .hint("compact the table with t.compact(full=True), set the option to what it was, and go back then"))
}

/// Before anything later goes: every file of the target must be there.
///
/// Only a file that is gone says that the version has expired. What cannot be asked for now, or is damaged, is its own error:
/// the advice to choose another version would be wrong.
fn check_whole(ctx: &TableContext, target: &Snapshot) -> Result<()> {
    let broken = |e: Error| {
        if e.kind() != ErrorKind::FileNotFound {
            return e.in_table(&ctx.name).with("snapshot", target.id);
        }
        let message = format!("snapshot {} cannot be gone back to, it is not whole", target.id);
        Error::new(ErrorKind::SnapshotExpired, message)
            .with("table", &ctx.name)
            .with("snapshot", target.id)
            .caused_by(e)
            .hint(
                "a file of it is gone, by an expiry or by hand: t.maintenance.fsck() says which versions lack files; choose one that \
                 lacks none, or a tag, or overwrite the partition of the file",
            )
    };
    check_all_there(ctx, target).map_err(broken)
}

fn plan(
    ctx: &TableContext,
    snapshots: &SnapshotManager,
    target: &Snapshot,
    later: &[Snapshot],
    gone: &[(String, Snapshot)],
) -> Result<CleanupPlan> {
    let root = ctx.branch_root();
    let changelogs = ctx.changelogs();
    let tags = ctx.tags();
    let mut plan = CleanupPlan::default();
    let reason: Arc<str> = Arc::from(format!("later than snapshot {}", target.id));
    let file = |path: String, kind| PlannedFile { path, kind, bytes: 0, reason: Arc::clone(&reason) };

    plan.steps.push(CleanupStep::Change(Change::Latest { root: root.clone(), id: target.id }));
    plan.delete_in_order(later.iter().rev().map(|s| file(snapshots.path(s.id), FileKind::Snapshot)).collect());
    let long_lived = changelogs.ids()?;
    let outlived: Vec<i64> = long_lived.iter().copied().filter(|id| *id > target.id).collect();
    if !outlived.is_empty() {
        let left = long_lived.iter().copied().filter(|id| *id <= target.id).max().unwrap_or(-1);
        plan.overwrite(changelogs.hint_path("LATEST"), left.to_string());
        let files = outlived.iter().rev().map(|id| file(changelogs.path(*id), FileKind::LongLivedChangelog));
        plan.delete_in_order(files.collect());
    }
    plan.delete_in_order(gone.iter().rev().map(|(name, _)| file(tags.path(name), FileKind::Tag)).collect());
    // what is removed must not come back after a power loss, when the orphan cleaning has taken its files
    for directory in
        [ctx.paths.snapshot_dir(&ctx.branch), changelogs.directory().to_owned(), ctx.paths.tag_dir(&ctx.branch)]
    {
        plan.steps.push(CleanupStep::Change(Change::Sync { directory }));
    }
    plan.notes.extend(note_of_numbers(ctx, target)?);
    if !later.is_empty() {
        plan.notes.push(
            "readers and writers that are at a removed snapshot will fail; data files of removed snapshots stay until \
             orphan files are removed"
                .to_owned(),
        );
    }
    Ok(plan)
}

/// Where the table was rescaled since: the option keeps its number, the files get theirs back.
fn note_of_numbers(ctx: &TableContext, target: &Snapshot) -> Result<Option<String>> {
    let number = |schema: &TableSchema| CoreOptions::parse(&schema.options).map(|options| options.bucket);
    let Some(newest) = ctx.schemas.latest()?.filter(|newest| newest.id != target.schema_id) else { return Ok(None) };
    let now = number(&newest)?;
    if now <= 0 || number(&*ctx.schemas.get(target.schema_id)?)? == now {
        return Ok(None);
    }
    let live = live_entries(ctx, target, &EntryFilter::without_statistics())?;
    let other = |entry: &&ManifestEntry| entry.total_buckets > 0 && entry.total_buckets != now;
    let partitions: HashSet<&[u8]> = live.iter().filter(other).map(|entry| entry.partition.as_slice()).collect();
    Ok((!partitions.is_empty()).then(|| {
        format!(
            "{} partitions have other numbers of buckets than the option 'bucket', which stays {now}: rows for them are refused until \
             t.rescale() has run",
            partitions.len()
        )
    }))
}

/// A tagged snapshot as it becomes a snapshot again: without its changelog when a file of that has expired, because tags do not
/// keep changelogs and a stream must not look for one that is gone; and without the branch that the tag was for.
pub(crate) fn restored(ctx: &TableContext, tagged: &Snapshot) -> Result<Snapshot> {
    let mut snapshot = tagged.clone().keeping_no_branch();
    match changelog_there(ctx, tagged) {
        Err(e) if e.kind() == ErrorKind::FileNotFound => {
            snapshot.changelog_manifest_list = None;
            snapshot.changelog_manifest_list_size = None;
            snapshot.changelog_record_count = None;
        }
        // damage is told where the changelog is read
        Err(e) if e.kind() != ErrorKind::CorruptFile => return Err(e),
        _ => {}
    }
    Ok(snapshot)
}

/// `FileNotFound` when something is gone of what a snapshot's changelog consists of: a tag may keep the list, and its files are
/// gone.
fn changelog_there(ctx: &TableContext, snapshot: &Snapshot) -> Result<()> {
    let Some(list) = snapshot.changelog_list() else { return Ok(()) };
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?;
    let entries = store.read_all(&store.read_list(list)?, &|_| true)?;
    let paths = entries.iter().map(|entry| ctx.paths.data_file(&entry.partition, entry.bucket, &entry.file));
    all_there(ctx, &paths.collect::<Result<Vec<String>>>()?)
}
