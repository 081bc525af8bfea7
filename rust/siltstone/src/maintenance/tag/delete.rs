//! Deleting tags, with the files that only they kept (semantics g.4).

use std::{cell::Cell, sync::Arc};

use serde_json::json;

use crate::{
    cleanup::{
        Change, CleanupPlan, CleanupStep, FileKind, Gone, PlannedFile, Report, clean_released, plan_beside_others,
        plan_cleaning, release, settled_lock, with_effect,
    },
    env::local_wall_clock,
    error::{Error, ErrorKind, Result},
    io::TableContext,
    snapshot::{Snapshot, SnapshotManager, Tag, TagManager, UpkeepLock, is_main},
};

/// Deletes a tag and the files that nothing else keeps.
///
/// # Errors
/// `TagNotFound` with the nearest name; `VersionInUse` while a branch was made from the tag; a tag or snapshot that
/// cannot be read, because then nobody knows what it needs (nothing is deleted); `UpkeepRunning` beside an expiry.
pub fn delete_tag(ctx: &TableContext, name: &str, dry_run: bool) -> Result<Report> {
    let lock = if dry_run { None } else { Some(settled_lock(ctx)?) };
    delete_tag_locked(ctx, lock.as_ref(), name)
}

/// [`delete_tag`] of whoever holds the lock; without it, a dry run.
pub(crate) fn delete_tag_locked(ctx: &TableContext, lock: Option<&UpkeepLock>, name: &str) -> Result<Report> {
    // whatever cannot be read is found before anything is deleted
    let planned = planned_deletion(ctx, name, None)?;
    let Some(lock) = lock else { return Ok(planned) };
    let tags = ctx.tags();
    let tagged = tags.get(name).map_err(|e| e.with("table", &ctx.name))?;
    let released = release(ctx, lock, name, &tagged)?;
    let mut first = CleanupPlan::default();
    first.delete_in_order(vec![own_file(&tags, name)]);
    // the tag must not come back after a power loss, when its files are gone
    first.steps.push(CleanupStep::Change(Change::Sync { directory: ctx.paths.tag_dir(&ctx.branch) }));
    let deleted = || {
        let left = "the next upkeep removes the files that only it kept";
        Ok((!tags.exists(name)?).then(|| format!("tag '{name}' was deleted, {left}")))
    };
    let mut report = with_effect(Report::of(&ctx.fs, first, false), deleted)?.with("tags", json!([name]));
    // once more: a tag of the same snapshot may have been made before this one went
    report.extend(with_effect(clean_released(ctx, name, &tagged, released.as_ref()), deleted)?);
    Ok(report)
}

/// What the deletion of a tag deletes, as it is when the branch `gone` is not there.
///
/// # Errors
/// Those of [`delete_tag`].
pub(crate) fn planned_deletion(ctx: &TableContext, name: &str, gone: Option<&str>) -> Result<Report> {
    let tags = ctx.tags();
    let tagged = tags.get(name).map_err(|e| e.with("table", &ctx.name))?;
    check_no_branch(ctx, name, &tagged, gone)?;
    let cleaning = plan_beside_others(|| plan_cleaning(ctx, name, &tagged, Gone { tag: Some(name), branch: gone }))?;
    let mut plan = CleanupPlan::default();
    plan.delete_in_order(vec![own_file(&tags, name)]);
    plan.steps.extend(cleaning.steps);
    plan.notes = cleaning.notes;
    Ok(Report { plan, dry_run: true, ..Report::default() }.with("tags", json!([name])))
}

fn own_file(tags: &TagManager, name: &str) -> PlannedFile {
    PlannedFile { path: tags.path(name), kind: FileKind::Tag, bytes: 0, reason: Arc::from("the tag is deleted") }
}

/// A branch made from a tag shares its files; other programs know only the tag. Its own copy of that tag says later that it was
/// made from it, so this one stays, too. The branch `gone` counts as deleted.
pub(super) fn check_no_branch(ctx: &TableContext, name: &str, tagged: &Snapshot, gone: Option<&str>) -> Result<()> {
    if !is_main(&ctx.branch) && tagged.kept_branch() == Some(ctx.branch.as_str()) {
        let text = format!("tag '{name}' says which files of the main branch the branch needs");
        return Err(Error::new(ErrorKind::VersionInUse, text)
            .with("table", &ctx.name)
            .with("tag", name)
            .hint("it goes with the branch"));
    }
    let branches = ctx.branches();
    let counts = |branch: &String| *branch != ctx.branch && Some(branch.as_str()) != gone;
    for branch in branches.names()?.into_iter().filter(counts) {
        let root = branches.root(&branch);
        let copies = TagManager::new(ctx.fs.clone(), &root);
        // under any name: either may have another one by now
        let same_tag = copies.list()?.iter().any(|(_, copy)| copy.is_same_version(tagged));
        let snapshots = SnapshotManager::new(ctx.fs.clone(), &root);
        let same_snapshot = snapshots.exists(tagged.id)? && snapshots.get(tagged.id)?.is_same_version(tagged);
        if same_tag || same_snapshot {
            return Err(Error::new(
                ErrorKind::VersionInUse,
                format!("tag '{name}' keeps the files that branch '{branch}' was made from"),
            )
            .with("table", &ctx.name)
            .with("tag", name)
            .with("branch", branch)
            .hint("delete the branch first, or fast-forward to it"));
        }
    }
    Ok(())
}

/// Deletes tags whose retention is over at `now` (epoch milliseconds), and with `older_than` also those made before that
/// time (a tag that does not know when it was made: when its file was written).
///
/// A tag that a branch was made from stays, and the report says so. So does one that was replaced by a younger one since.
pub fn expire_tags(ctx: &TableContext, older_than: Option<i64>, now: i64, dry_run: bool) -> Result<Report> {
    expire(ctx, older_than, now, dry_run).map(|(report, _)| report)
}

/// Deletes tags whose retention is over; whether there was any that has one.
pub(in crate::maintenance) fn expire_over(ctx: &TableContext, now: i64) -> Result<(Report, bool)> {
    expire(ctx, None, now, false)
}

fn expire(ctx: &TableContext, older_than: Option<i64>, now: i64, dry_run: bool) -> Result<(Report, bool)> {
    let has_timed = Cell::new(false);
    let tags = ctx.tags();
    let local = |millis: i64| chrono::DateTime::from_timestamp_millis(local_wall_clock(millis)).map(|t| t.naive_utc());
    let (Some(now), limit) = (local(now), older_than.and_then(local)) else {
        return Err(Error::new(ErrorKind::InvalidArgument, "the time is out of range"));
    };
    let report = delete_chosen(ctx, dry_run, &|| {
        let mut chosen = Vec::new();
        for (name, tag) in tags.tags()? {
            let over = tag.expires_at().is_some_and(|end| end < now);
            has_timed.set(has_timed.get() || tag.expires_at().is_some());
            let made = if limit.is_some() { made_at(&tags, &name, &tag, &local)? } else { None };
            if over || limit.is_some_and(|limit| made.is_some_and(|made| made < limit)) {
                chosen.push(name);
            }
        }
        Ok(chosen)
    })?;
    Ok((report, has_timed.get()))
}

/// Deletes the tags that `choose` names. It is asked again when the lock is held: from then on nobody replaces a tag.
pub(super) fn delete_chosen(
    ctx: &TableContext,
    dry_run: bool,
    choose: &dyn Fn() -> Result<Vec<String>>,
) -> Result<Report> {
    let mut report = Report { dry_run, ..Report::default() };
    let mut chosen = choose()?;
    let lock = if dry_run || chosen.is_empty() { None } else { Some(settled_lock(ctx)?) };
    if lock.is_some() {
        chosen = choose()?;
    }
    let mut gone = Vec::new();
    for name in chosen {
        match delete_tag_locked(ctx, lock.as_ref(), &name) {
            Ok(done) => {
                report.extend(done);
                gone.push(name);
            }
            Err(e) if e.kind() == ErrorKind::VersionInUse => report.plan.notes.push(e.to_string()),
            // another job was faster
            Err(e) if e.kind() == ErrorKind::TagNotFound => {}
            Err(e) => {
                let before = || Ok((!gone.is_empty()).then(|| format!("tags {} were deleted", gone.join(", "))));
                return with_effect(Err(e), before);
            }
        }
    }
    Ok(report.with("tags", gone))
}

fn made_at(
    tags: &TagManager,
    name: &str,
    tag: &Tag,
    local: &dyn Fn(i64) -> Option<chrono::NaiveDateTime>,
) -> Result<Option<chrono::NaiveDateTime>> {
    match tag.create_time {
        Some(time) => Ok(Some(time)),
        None => Ok(tags.modified_millis(name)?.and_then(local)),
    }
}
