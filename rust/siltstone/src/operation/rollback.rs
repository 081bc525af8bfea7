//! Rollback: a table as it was at a snapshot or tag; everything later goes (semantics g.6).
//!
//! ```text
//! LATEST hint ─ snapshot files, newest first ─ later changelogs ─ later tags ─ [snapshot file of an expired tag] ─ EARLIEST
//! ```
//!
//! Data and manifests of the removed snapshots stay until orphan files are removed: readers may still be at them.
//!
//! Source: `RollbackHelper`, `Table.rollbackTo`.

use std::sync::Arc;

use rayon::prelude::*;
use serde_json::Value;

use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    operation::{
        cleanup::{Change, FileKind, Plan, PlannedFile, Report, Step},
        scan::{EntryFilter, VersionSelector, live_entries, travel},
    },
    path::branch_root,
    snapshot::{BranchManager, ChangelogManager, Snapshot, SnapshotManager, TagManager},
    threads::in_pool,
};

/// How often snapshots that writers add meanwhile are removed.
const ROUNDS: usize = 10;

/// Makes a snapshot or tag the latest version.
///
/// With `dry_run` the report only says what would go. A rollback that was cut short is finished by the same call.
///
/// # Errors
/// `SnapshotNotFound`, `SnapshotExpired`, `TagNotFound` for the target; `VersionInUse` when a branch was made from a tag
/// that would go (nothing is deleted).
pub fn rollback(ctx: &TableContext, target: &VersionSelector, dry_run: bool) -> Result<Report> {
    let root = branch_root(&ctx.location, &ctx.branch);
    let snapshots = SnapshotManager::new(ctx.fs.clone(), &root);
    let target = travel(ctx, target)?.1.ok_or_else(|| {
        Error::new(ErrorKind::SnapshotNotFound, "the table has no snapshot to go back to").with("table", &ctx.name)
    })?;
    let before = snapshots.latest_id()?;
    check_whole(ctx, &target)?;
    let plan = plan(ctx, &snapshots, &target)?;
    let mut report = Report::of(&ctx.fs, plan, dry_run)?;
    for _ in 0..ROUNDS {
        // a writer may have put a snapshot on top of one that went
        if dry_run || snapshots.ids()?.last().is_none_or(|last| *last <= target.id) {
            break;
        }
        report.extend(Report::of(&ctx.fs, self::plan(ctx, &snapshots, &target)?, false)?);
    }
    if !dry_run && !snapshots.exists(target.id)? {
        let message = format!("snapshot {} expired while the table was rolled back to it", target.id);
        return Err(Error::new(ErrorKind::SnapshotExpired, message)
            .with("table", &ctx.name)
            .hint("roll back to a newer snapshot or a tag"));
    }
    Ok(report.with("previous_snapshot", before.map_or(Value::Null, Value::from)).with("current_snapshot", target.id))
}

/// Before anything later goes: every file of the target must be there.
fn check_whole(ctx: &TableContext, target: &Snapshot) -> Result<()> {
    let broken = |e: Error| {
        Error::new(
            ErrorKind::SnapshotExpired,
            format!("snapshot {} cannot be gone back to, it is not whole", target.id),
        )
        .with("table", &ctx.name)
        .with("snapshot", target.id)
        .caused_by(e)
        .hint("it has expired in part: choose a newer snapshot or a tag")
    };
    let live = live_entries(ctx, target, &EntryFilter::default()).map_err(broken)?;
    let missing: Option<String> = in_pool(|| {
        live.par_iter().find_map_any(|entry| {
            let path = ctx.paths.data_file(&entry.partition, entry.bucket, &entry.file).ok()?;
            matches!(ctx.fs.exists(&path), Ok(false)).then_some(path)
        })
    });
    match missing {
        Some(path) => Err(broken(Error::new(ErrorKind::FileNotFound, format!("{path} is missing")))),
        None => Ok(()),
    }
}

fn plan(ctx: &TableContext, snapshots: &SnapshotManager, target: &Snapshot) -> Result<Plan> {
    let root = branch_root(&ctx.location, &ctx.branch);
    let changelogs = ChangelogManager::new(ctx.fs.clone(), &root);
    let tags = TagManager::new(ctx.fs.clone(), &root);
    let mut plan = Plan::default();
    let reason: Arc<str> = Arc::from(format!("later than snapshot {}", target.id));
    let file = |path: String, kind| PlannedFile { path, kind, bytes: 0, reason: Arc::clone(&reason) };

    let gone: Vec<(String, Snapshot)> = tags.list()?.into_iter().filter(|(_, tag)| tag.id > target.id).collect();
    check_branch_points(ctx, snapshots, target, &gone)?;
    let mut ids = snapshots.ids()?;
    let present = ids.contains(&target.id);
    ids.retain(|id| *id > target.id);
    let expired = !present;
    if expired {
        // first of all: from here on there is a latest snapshot at every moment
        let content = restored(ctx, target)?.to_json()?;
        plan.steps.push(Step::Change(Change::Publish { path: snapshots.path(target.id), content }));
        plan.overwrite(snapshots.hint_path("EARLIEST"), target.id.to_string());
    }
    plan.overwrite(snapshots.hint_path("LATEST"), target.id.to_string());
    plan.delete_in_order(ids.iter().rev().map(|id| file(snapshots.path(*id), FileKind::Snapshot)).collect());
    let long_lived = changelogs.ids()?;
    let later: Vec<i64> = long_lived.iter().copied().filter(|id| *id > target.id).collect();
    if !later.is_empty() {
        let left = long_lived.iter().copied().filter(|id| *id <= target.id).max().unwrap_or(-1);
        plan.overwrite(changelogs.hint_path("LATEST"), left.to_string());
        let files = later.iter().rev().map(|id| file(changelogs.path(*id), FileKind::LongLivedChangelog));
        plan.delete_in_order(files.collect());
    }
    plan.delete_in_order(gone.iter().rev().map(|(name, _)| file(tags.path(name), FileKind::Tag)).collect());
    // what is removed must not come back after a power loss, when the orphan cleaning has taken its files
    for directory in
        [ctx.paths.snapshot_dir(&ctx.branch), changelogs.directory().to_owned(), ctx.paths.tag_dir(&ctx.branch)]
    {
        plan.steps.push(Step::Change(Change::Sync { directory }));
    }
    if !ids.is_empty() {
        plan.notes.push(
            "readers and writers that are at a removed snapshot will fail; data files of removed snapshots stay until \
             orphan files are removed"
                .to_owned(),
        );
    }
    Ok(plan)
}

/// A tagged snapshot as it becomes a snapshot again: without its changelog when that has expired, because tags do not
/// keep changelogs and a stream must not look for one that is gone.
pub(super) fn restored(ctx: &TableContext, tagged: &Snapshot) -> Result<Snapshot> {
    let mut snapshot = tagged.clone();
    if let Some(list) = &tagged.changelog_manifest_list
        && !ctx.fs.exists(&ctx.paths.manifest(list))?
    {
        snapshot.changelog_manifest_list = None;
        snapshot.changelog_manifest_list_size = None;
        snapshot.changelog_record_count = None;
    }
    Ok(snapshot)
}

/// A branch was made from a version that would go: that version keeps the branch's files.
pub(super) fn check_branch_points(
    ctx: &TableContext,
    snapshots: &SnapshotManager,
    target: &Snapshot,
    gone: &[(String, Snapshot)],
) -> Result<()> {
    let branches = BranchManager::new(ctx.fs.clone(), &ctx.location);
    for branch in branches.names()?.into_iter().filter(|branch| *branch != ctx.branch) {
        let in_use = |what: String| {
            Err(Error::new(ErrorKind::VersionInUse, format!("{what} would go, and branch '{branch}' was made from it"))
                .with("table", &ctx.name)
                .with("branch", &branch)
                .hint("delete the branch first, or fast-forward to it"))
        };
        let root = branches.root(&branch);
        let copies = TagManager::new(ctx.fs.clone(), &root);
        for (name, tag) in gone {
            if copies.exists(name)? && copies.get(name)? == *tag {
                return in_use(format!("tag '{name}'"));
            }
        }
        let theirs = SnapshotManager::new(ctx.fs.clone(), &root);
        if let Some(first) = theirs.ids()?.first().copied().filter(|first| *first > target.id)
            && snapshots.exists(first)?
            && snapshots.get(first)? == theirs.get(first)?
        {
            return in_use(format!("snapshot {first}"));
        }
    }
    Ok(())
}
