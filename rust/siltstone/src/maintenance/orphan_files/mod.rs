//! Orphan files: what lies in a table's directories and no version of any branch refers to.
//!
//! ```text
//! list candidates (older than the limit) ─ collect what is in use ─ the difference goes
//! ```
//!
//! Candidates are listed *before* the files in use are collected: a file that is committed meanwhile is either found in
//! use, or was too young to be listed. Files of writers that have not committed yet are protected by the age limit
//! alone, so it must exceed the longest job. Directories that are not Paimon's are never entered.
//!
//! Source: semantics g.8; `OrphanFilesClean`.

mod listing;

use std::sync::Arc;

use self::listing::{Candidates, list};
use crate::{
    cleanup::{
        CleanupPlan, CleanupStep, FileKind, ManifestCache, PlannedFile, References, Report, Roots, ahead_of_storage,
        finish_released, name_lost_tag, plan_beside_others, upkeep_lock,
    },
    error::{Error, ErrorKind, Result},
    io::TableContext,
    path::branch_root,
    schema::SchemaManager,
};

/// Deletes files older than `older_than` (epoch milliseconds) that nothing refers to; with `dry_run` only lists them.
///
/// # Errors
/// `InvalidArgument` for a time in the future; `CorruptFile` where lists of manifests are all that is left of versions; a branch without schema, a snapshot, tag or manifest that cannot be read:
/// what they need is not known, so nothing is deleted.
pub fn remove_orphan_files(ctx: &TableContext, older_than: i64, now: i64, dry_run: bool) -> Result<Report> {
    clean(ctx, older_than, now, dry_run, || Ok(0))
}

/// [`remove_orphan_files`] where `older_than` was counted from `now`, which a clock says that may be ahead of the storage's, by which
/// files have their times: files that were written a moment ago looked old, and commits were left without files.
pub fn remove_orphan_files_by_age(ctx: &TableContext, older_than: i64, now: i64, dry_run: bool) -> Result<Report> {
    clean(ctx, older_than, now, dry_run, || if dry_run { Ok(0) } else { ahead_of_storage(ctx, now) })
}

fn clean(
    ctx: &TableContext,
    older_than: i64,
    now: i64,
    dry_run: bool,
    ahead: impl FnOnce() -> Result<i64>,
) -> Result<Report> {
    if older_than > now {
        return Err(Error::new(ErrorKind::InvalidArgument, "the age limit of orphan files lies in the future")
            .with("table", &ctx.name)
            .hint("files of running writers look like orphans: give a time before the longest job began"));
    }
    let lock = if dry_run { None } else { Some(upkeep_lock(ctx)?) };
    if let Some(lock) = &lock {
        for branch in branches(ctx)? {
            // what an alter that was killed has left
            let schemas = SchemaManager::new(ctx.fs.clone(), &branch_root(&ctx.location, &branch));
            schemas.newest_in_time(lock).map_err(|e| e.in_table(&ctx.name))?;
            finish_released(&TableContext { branch, ..ctx.clone() }, lock)?;
        }
    }
    let named = |error: Error| {
        let all = branches(ctx).unwrap_or_default().into_iter();
        all.fold(error, |error, branch| name_lost_tag(&TableContext { branch, ..ctx.clone() }, error))
    };
    let older_than = older_than.saturating_sub(ahead()?);
    let (plan, examined) = plan_beside_others(|| plan(ctx, older_than)).map_err(named)?;
    Ok(Report::of(&ctx.fs, plan, dry_run)?.with("examined_files", examined))
}

fn plan(ctx: &TableContext, older_than: i64) -> Result<(CleanupPlan, usize)> {
    let branches = branches(ctx)?;
    let Candidates { files, temporary, empty_dirs, notes } = list(ctx, &branches, older_than)?;
    let examined = files.len();
    let (used, has_versions) = in_use(ctx, &branches)?;
    if !has_versions && !files.is_empty() {
        check_is_new(ctx)?;
    }
    let reason: Arc<str> = Arc::from("no version of any branch refers to it");
    let unused = files.into_iter().filter_map(|file| {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let needed = used.data.contains(name) || used.meta.contains(name);
        (!needed).then(|| PlannedFile { reason: Arc::clone(&reason), ..file })
    });
    let mut plan = CleanupPlan { notes, ..CleanupPlan::default() };
    plan.delete(unused.collect());
    let (trees, files): (Vec<PlannedFile>, Vec<PlannedFile>) =
        temporary.into_iter().partition(|file| file.kind == FileKind::Branch);
    plan.delete(files);
    if !trees.is_empty() {
        plan.steps.push(CleanupStep::DeleteTrees(trees));
    }
    if !empty_dirs.is_empty() {
        plan.steps.push(CleanupStep::DeleteEmpty(empty_dirs));
    }
    Ok((plan, examined))
}

/// All branches, main first; each must have a schema.
fn branches(ctx: &TableContext) -> Result<Vec<String>> {
    let mut names = vec!["main".to_owned()];
    names.extend(ctx.branches().names()?);
    for name in &names {
        let root = branch_root(&ctx.location, name);
        if SchemaManager::new(ctx.fs.clone(), &root).latest()?.is_none() {
            return Err(Error::new(ErrorKind::CorruptFile, format!("branch '{name}' has no schema"))
                .with("table", &ctx.name)
                .with("branch", name)
                .hint("what it refers to cannot be known, so nothing is deleted: delete the branch first"));
        }
    }
    Ok(names)
}

/// A table that has no version at all is new, or has lost its snapshots with all that would say so. Only a commit that is about
/// to publish writes a list of manifests: where there is none, nothing was ever committed, and what lies there is of writers
/// that failed.
///
/// # Errors
/// `CorruptFile`: there are lists. A first commit that died leaves one, too, and so do commits to a branch that was deleted: the next
/// commit makes the table one with a version, whose orphans are known.
fn check_is_new(ctx: &TableContext) -> Result<()> {
    let directory = ctx.paths.manifest_dir();
    let is_list = |path: &str| path.rsplit('/').next().is_some_and(|name| name.starts_with("manifest-list-"));
    match ctx.fs.list(&directory)?.into_iter().find(|child| is_list(&child.path)) {
        None => Ok(()),
        Some(list) => {
            Err(Error::new(ErrorKind::CorruptFile, "the table has no snapshots, but lists of manifests of some")
                .with("table", &ctx.name)
                .with("file", list.path)
                .hint(
                    "restore the snapshot directory; if the table never had a commit, but perhaps a branch that was deleted, commit \
                     once and clean it then",
                ))
        }
    }
}

/// Names of all files that any version of any branch refers to, and whether there is a version.
fn in_use(ctx: &TableContext, branches: &[String]) -> Result<(References, bool)> {
    let cache = ManifestCache::new(ctx)?;
    let mut used = References::default();
    let mut has_versions = false;
    for branch in branches {
        let of = TableContext { branch: branch.clone(), ..ctx.clone() };
        let roots = Roots::of(&of, branch)?;
        has_versions |= !roots.is_empty();
        used.add_branch(&of, &cache, &roots)?;
    }
    Ok((used, has_versions))
}
