//! Expiry of snapshots: the plan (semantics g.2), and carrying it out.

use std::sync::Arc;

use serde_json::json;

use super::{
    Retention,
    data::{added_changelog, deleted_data},
    metadata::{Skip, unused_metadata},
    range::{Range, expiring},
};
use crate::{
    error::Result,
    io::TableContext,
    operation::cleanup::{
        Change, FileKind, ManifestCache, Plan, PlannedFile, Report, Step, bucket_dirs, elsewhere, plan_beside_others,
    },
    options::ChangelogProducer,
    path::branch_root,
    snapshot::{ChangelogManager, Snapshot, SnapshotManager, TagManager},
};

/// Expires snapshots of the table's branch and deletes what only they needed.
///
/// With `dry_run` nothing is changed. What tags, other branches, consumers and long-lived changelogs need stays.
///
/// # Errors
/// `InvalidArgument` for numbers that contradict each other; a tag, snapshot or consumer that cannot be read, because
/// then nobody knows what it needs (nothing is deleted).
pub fn expire_snapshots(ctx: &TableContext, keep: &Retention, dry_run: bool) -> Result<Report> {
    let snapshots = SnapshotManager::new(ctx.fs.clone(), &branch_root(&ctx.location, &ctx.branch));
    // not the hint's: an expiry that was cut short has left older ones
    let earliest = snapshots.ids()?.first().copied();
    let Some(range) = expiring(ctx, &snapshots, earliest, keep)? else {
        if !dry_run
            && snapshots.earliest_hint()?.is_none()
            && let Some(earliest) = snapshots.earliest_id()?
        {
            snapshots.write_earliest_hint(earliest)?;
        }
        return Ok(Report { dry_run, ..Report::default() }.with("snapshots", json!([])));
    };
    let hint = snapshots.earliest_hint()?;
    if !dry_run {
        snapshots.write_earliest_hint(range.end)?;
    }
    let planned = plan_beside_others(|| plan(ctx, &snapshots, range));
    if planned.is_err() && !dry_run && snapshots.earliest_hint()? == Some(range.end) {
        // nothing expires: readers that trust the hint must go on finding the versions before it
        snapshots.write_earliest_hint(hint.or(earliest).unwrap_or(range.end))?;
    }
    let (plan, expired) = planned?;
    Ok(Report::of(&ctx.fs, plan, dry_run)?.with("snapshots", expired))
}

/// The plan for a range, and the ids that go.
fn plan(ctx: &TableContext, snapshots: &SnapshotManager, range: Range) -> Result<(Plan, Vec<i64>)> {
    let root = branch_root(&ctx.location, &ctx.branch);
    // an expiry that was cut short has left snapshots before the hint
    let ids = snapshots.ids()?;
    let going = snapshots.existing(ids.into_iter().filter(|id| *id < range.end))?;
    let end = snapshots.existing([range.end])?.pop();
    let mut plan = Plan::default();
    let Some(first) = going.first() else {
        return Ok((plan, Vec::new()));
    };
    let tags: Vec<Snapshot> =
        TagManager::new(ctx.fs.clone(), &root).list()?.into_iter().map(|(_, tagged)| tagged).collect();
    let cache = ManifestCache::new(ctx)?;
    let elsewhere = elsewhere(ctx, &cache)?;
    let outlive = Retention::changelogs_outlive(&ctx.options);
    let produces = ctx.options.changelog_producer != ChangelogProducer::None;

    let later: Vec<&Snapshot> = going.iter().chain(&end).filter(|s| s.id > first.id).collect();
    let keep_appended = outlive && !produces;
    let data = deleted_data(ctx, &cache, &later, &tags, keep_appended, elsewhere.as_ref(), &mut plan.notes)?;
    let mut entries = data.entries;
    plan.delete(data.files);
    if !outlive {
        let (files, of) = added_changelog(ctx, &cache, &going, elsewhere.as_ref())?;
        plan.delete(files);
        entries.extend(of);
    }
    if ctx.options.snapshot_clean_empty_directories && !entries.is_empty() {
        plan.steps.push(Step::DeleteEmpty(bucket_dirs(ctx, &entries)?));
    }
    if let Some(end) = &end {
        let skip = Skip { data_lists: keep_appended, changelog: outlive };
        let unused = unused_metadata(ctx, cache.store(), &going, end, &tags, elsewhere.as_ref(), skip)?;
        plan.delete(unused);
    } else {
        plan.notes.push(format!("snapshot {} is gone, another job expires snapshots: metadata stays", range.end));
    }
    delete_snapshots(ctx, snapshots, &going, outlive, &mut plan)?;
    plan.steps.push(Step::Change(Change::Sync { directory: ctx.paths.snapshot_dir(&ctx.branch) }));
    if let Some(end) = &end {
        plan.overwrite(snapshots.hint_path("EARLIEST"), end.id.to_string());
    }
    Ok((plan, going.iter().map(|snapshot| snapshot.id).collect()))
}

/// Snapshot files go last, oldest first; with decoupled changelogs each leaves its changelog behind.
fn delete_snapshots(
    ctx: &TableContext,
    snapshots: &SnapshotManager,
    going: &[Snapshot],
    outlive: bool,
    plan: &mut Plan,
) -> Result<()> {
    if outlive {
        let changelogs = ChangelogManager::new(ctx.fs.clone(), &branch_root(&ctx.location, &ctx.branch));
        for snapshot in going {
            plan.overwrite(changelogs.path(snapshot.id), snapshot.to_json()?);
        }
        if let Some(last) = going.last() {
            plan.overwrite(changelogs.hint_path("LATEST"), last.id.to_string());
        }
        // the changelogs' names stay, before those of the snapshots go
        plan.steps.push(Step::Change(Change::Sync { directory: changelogs.directory().to_owned() }));
    }
    let reason: Arc<str> = Arc::from("the snapshot has expired");
    let file = |snapshot: &Snapshot| PlannedFile {
        path: snapshots.path(snapshot.id),
        kind: FileKind::Snapshot,
        bytes: 0,
        reason: Arc::clone(&reason),
    };
    plan.delete_in_order(going.iter().map(file).collect());
    Ok(())
}
