//! Files that a tag kept which is deleted or replaced (semantics g.4, rules A, B and C of the tags document).
//!
//! ```text
//! A  the tagged snapshot is there      only the tag's file goes: the snapshot's expiry does the rest
//! B  it has expired                    files of the earliest snapshot stay
//! C                                    and files of the previous and the next tag
//!
//! record (what the tag lets go) ─ the tag's file ─ data files ─ metadata ─ the record
//! ```
//!
//! While the record is there, its files count as committed: whoever commits the same messages once more finds them.

use std::{collections::HashSet, sync::Arc};

use super::{
    CleanupPlan, CleanupStep, FileKind, ManifestCache, MetaFile, MetaParts, PlannedFile, Report, Tagged, UnusedFile,
    bucket_dirs, data_files, long_lived, metadata_files, metadata_names, plan_beside_others,
    referenced_by_other_branches_but,
};
use crate::{
    error::{ErrorKind, Result},
    io::TableContext,
    snapshot::{Released, ReleasedVersions, Snapshot, UpkeepLock},
};

fn records(ctx: &TableContext) -> ReleasedVersions {
    ReleasedVersions::new(ctx.fs.clone(), &ctx.branch_root())
}

/// Records what the tag `name` is about to let go; `None`: its snapshot is a version, whose own file says what it needs.
pub fn release(ctx: &TableContext, lock: &UpkeepLock, name: &str, tagged: &Snapshot) -> Result<Option<Released>> {
    let snapshots = ctx.snapshots();
    if snapshots.has_version(tagged)? {
        return Ok(None);
    }
    records(ctx).publish(lock, name, tagged).map(Some)
}

/// Deletes what only the tag `name` kept, which does not name the snapshot any more, and then the record of it.
pub fn clean_released(
    ctx: &TableContext,
    name: &str,
    tagged: &Snapshot,
    released: Option<&Released>,
) -> Result<Report> {
    let cleaning = plan_beside_others(|| plan_cleaning(ctx, name, tagged, Gone::default()))?;
    let report = Report::of(&ctx.fs, cleaning, false)?;
    released.map_or(Ok(()), |released| records(ctx).remove(released))?;
    Ok(report)
}

/// Completes deletions of tags of the branch that died half-way. What cannot be deleted now is left to the next upkeep: until
/// then it counts as committed.
///
/// # Errors
/// `Cancelled`.
pub fn finish_released(ctx: &TableContext, _lock: &UpkeepLock) -> Result<()> {
    let finished = records(ctx).list().and_then(|left| left.iter().try_for_each(|released| finish(ctx, released)));
    match finished {
        Err(e) if e.kind() == ErrorKind::Cancelled => Err(e.in_table(&ctx.name)),
        Err(error) => {
            tracing::warn!(%error, table = ctx.name, "the deletion of a tag was not completed");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

fn finish(ctx: &TableContext, released: &Released) -> Result<()> {
    let tags = ctx.tags();
    let is_there = match tags.get(&released.tag) {
        Err(e) if e.kind() == ErrorKind::TagNotFound => false,
        tagged => tagged?.is_same_version(&released.snapshot),
    };
    if is_there {
        return records(ctx).remove(released);
    }
    clean_released(ctx, &released.tag, &released.snapshot, Some(released)).map(drop)
}

/// What counts as deleted already: it keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gone<'a> {
    /// A tag.
    pub tag: Option<&'a str>,
    /// A branch.
    pub branch: Option<&'a str>,
}

/// Files of a snapshot that the tag `name` kept, beside the tag's own one; none while something keeps the snapshot.
pub fn plan_cleaning(ctx: &TableContext, name: &str, tagged: &Snapshot, gone: Gone<'_>) -> Result<CleanupPlan> {
    let snapshots = ctx.snapshots();
    let others = Tagged::without(ctx, &snapshots, gone.tag)?;
    let mut plan = CleanupPlan::default();
    if snapshots.exists(tagged.id)? || others.names(tagged.id) {
        return Ok(plan);
    }
    let mut kept: Vec<Snapshot> = others.around(tagged.id).cloned().collect();
    // the oldest that is there, whatever the hint says: an expiry may have been cut short
    if let Some(earliest) = snapshots.ids()?.into_iter().find(|id| *id > tagged.id) {
        kept.push(snapshots.get(earliest)?);
    }
    if let Some(below) = snapshots.ids()?.into_iter().rev().find(|id| *id < tagged.id) {
        kept.push(snapshots.get(below)?);
    }
    // where ids have a gap, the neighbours may be of another line
    kept.extend(snapshots.latest()?);
    let cache = ManifestCache::new(ctx)?;
    let elsewhere = referenced_by_other_branches_but(ctx, &cache, gone.branch)?;
    let mut used_data: HashSet<String> = elsewhere.as_ref().map(|e| e.data.clone()).unwrap_or_default();
    let mut used_meta: HashSet<String> = elsewhere.map(|e| e.meta).unwrap_or_default();
    let changelogs = long_lived(ctx, &cache)?;
    used_data.extend(changelogs.data);
    used_meta.extend(changelogs.meta);
    let parts = MetaParts { changelog: false, ..MetaParts::ALL };
    for version in &kept {
        cache.visit_live(version, &mut |entry| used_data.extend([entry.file.file_name.clone()]))?;
        used_meta.extend(metadata_names(ctx, cache.store(), version, parts)?);
    }
    let reason: Arc<str> = Arc::from(format!("only tag '{name}' (snapshot {}) kept it", tagged.id));
    let mut unused: Vec<UnusedFile> = Vec::new();
    match cache.visit_live(tagged, &mut |entry| {
        if !used_data.contains(&entry.file.file_name) {
            unused.push(entry.clone().into());
        }
    }) {
        Err(e) if e.kind() == ErrorKind::FileNotFound => {
            plan.notes
                .push(format!("a manifest of tag '{name}' is gone, its data files are left to the orphan cleaning"));
            unused.clear();
        }
        other => other?,
    }
    plan.delete(data_files(ctx, &unused, &vec![Arc::clone(&reason); unused.len()], FileKind::Data)?);
    if ctx.options.snapshot_clean_empty_directories && !unused.is_empty() {
        plan.steps.push(CleanupStep::DeleteEmpty(bucket_dirs(ctx, &unused)?));
    }
    let mut files = Vec::new();
    let parts = MetaParts { tolerant: true, ..parts };
    for MetaFile { name, path, bytes, kind } in metadata_files(ctx, cache.store(), tagged, parts)? {
        if used_meta.insert(name) {
            files.push(PlannedFile { path, kind, bytes, reason: Arc::clone(&reason) });
        }
    }
    plan.delete(files);
    Ok(plan)
}
