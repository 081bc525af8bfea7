//! Making branches.

use super::names::{check_branch_name, exists_already, fork_tag, is_fork, main_context, sync};
use crate::{
    cleanup::{delete_tree, settled_lock, with_effect},
    env::new_uuid,
    error::{Error, ErrorKind, Result},
    fs::read_json,
    io::TableContext,
    maintenance::{
        rollback::restored,
        tag::{check_kept, create_fork_tag},
    },
    scan::VersionSelector,
    schema::SchemaManager,
    snapshot::{BranchManager, SnapshotManager, Tag, TagManager, UpkeepLock},
};

/// What a new branch starts with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BranchSource {
    /// The table's definition and no rows.
    #[default]
    Empty,
    /// A tag of the main branch.
    Tag(String),
    /// A snapshot of the main branch; `None` = the latest.
    Snapshot(Option<i64>),
}

/// An error when no new branch can have this name.
pub fn check_new(ctx: &TableContext, name: &str) -> Result<()> {
    check_branch_name(name)?;
    let exists = BranchManager::new(ctx.fs.clone(), &ctx.location).exists(name)?;
    if exists { Err(exists_already(ctx, name)) } else { Ok(()) }
}

/// Makes a branch of the table.
///
/// # Errors
/// `InvalidArgument` for a name that cannot be one; `BranchExists`; `TagExists` for a snapshot when there is a tag
/// `fork-<name>`; `TagNotFound`, `SnapshotNotFound` or `SnapshotExpired` for the source; `UpkeepRunning` beside an expiry, a rollback or a fast-forward.
pub fn create_branch(ctx: &TableContext, name: &str, source: &BranchSource) -> Result<()> {
    check_new(ctx, name)?;
    let branches = ctx.branches();
    let main = main_context(ctx);
    // a rollback, an expiry or a fast-forward has looked at the branches before its record: none may come between the two
    let lock = settled_lock(&main_context(ctx))?;
    // whole or not at all: readers do not look at names that start with a dot
    let hidden = format!("{}/.{name}.{}", branches.directory(), new_uuid());
    match source {
        BranchSource::Empty => {
            // nobody decides about the copy
            SchemaManager::new(main.fs.clone(), &main.location).decide_with(&lock)?;
            copy_schemas(&main, &hidden, None)?;
        }
        BranchSource::Tag(tag) => {
            check_kept(&main, &lock, tag)?;
            from_tag(&main, &hidden, tag)?;
        }
        BranchSource::Snapshot(id) => {
            let fork = fork_tag(name);
            keep_fork_point(&main, &lock, name, *id)?;
            let copied = fork_point_kept(&main, &lock, &fork).and_then(|()| from_tag(&main, &hidden, &fork));
            with_effect(copied, || made(ctx, &branches, name))?;
        }
    }
    match ctx.fs.rename_dir(&hidden, &branches.root(name)) {
        Err(e) if e.kind() == ErrorKind::FileExists => {
            ctx.fs.delete_dir(&hidden)?;
            return Err(exists_already(ctx, name));
        }
        renamed => with_effect(renamed, || made(ctx, &branches, name))?,
    }
    if let Some(tag) = with_effect(complete(ctx, &branches, name, source), || made(ctx, &branches, name))? {
        with_effect(delete_tree(&ctx.fs, &branches.root(name)), || made(ctx, &branches, name))?;
        return Err(Error::new(ErrorKind::TagNotFound, format!("tag '{tag}' was deleted while the branch was made"))
            .with("table", &ctx.name)
            .with("tag", tag));
    }
    Ok(())
}

/// How far the making of a branch came.
fn made(ctx: &TableContext, branches: &BranchManager, name: &str) -> Result<Option<String>> {
    if branches.exists(name)? {
        return Ok(Some(format!("branch '{name}' was created")));
    }
    let fork = fork_tag(name);
    Ok(is_fork(ctx, name)?
        .then(|| format!("tag '{fork}' is there, but not the branch that it is for: create the branch again")))
}

/// What is left to do when a new branch has its name; the tag that should keep its files when that one has gone.
fn complete(ctx: &TableContext, branches: &BranchManager, name: &str, source: &BranchSource) -> Result<Option<String>> {
    sync(ctx, branches, name)?;
    without_lost_changelog(ctx, branches, name)?;
    // other programs delete tags without the lock
    let keeper = match source {
        BranchSource::Empty => None,
        BranchSource::Tag(tag) => Some(tag.clone()),
        BranchSource::Snapshot(_) => Some(fork_tag(name)),
    };
    match keeper {
        Some(tag) if !is_kept(ctx, &branches.root(name), &tag)? => Ok(Some(tag)),
        _ => Ok(None),
    }
}

/// Whether main still has the tag that the branch was made from.
fn is_kept(ctx: &TableContext, root: &str, tag: &str) -> Result<bool> {
    let (tags, copies) = (TagManager::new(ctx.fs.clone(), &ctx.location), TagManager::new(ctx.fs.clone(), root));
    Ok(tags.exists(tag)? && tags.get(tag)?.is_same_version(&copies.get(tag)?))
}

/// An expiry that was at work already has not seen the branch: it may have taken the changelog of the branch's first version,
/// which no tag keeps.
fn without_lost_changelog(ctx: &TableContext, branches: &BranchManager, name: &str) -> Result<()> {
    let snapshots = SnapshotManager::new(ctx.fs.clone(), &branches.root(name));
    let Some(first) = snapshots.existing(snapshots.listed_ids()?)?.into_iter().next() else { return Ok(()) };
    let kept = restored(&main_context(ctx), &first)?;
    if kept == first { Ok(()) } else { ctx.fs.overwrite(&snapshots.path(first.id), kept.to_json()?.as_bytes()) }
}

/// Tags what a branch starts with. A tag that a making which was cut short has left is taken over when it is the same; one of a
/// user is not.
fn keep_fork_point(main: &TableContext, lock: &UpkeepLock, name: &str, id: Option<i64>) -> Result<()> {
    let fork = fork_tag(name);
    let version = id.map_or(VersionSelector::Latest, VersionSelector::Snapshot);
    match create_fork_tag(main, lock, &fork, (name, &version)) {
        Err(e) if e.kind() == ErrorKind::TagExists => {
            let latest = || SnapshotManager::new(main.fs.clone(), &main.location).latest_id();
            let wanted = id.map_or_else(latest, |id| Ok(Some(id)))?;
            let kept = TagManager::new(main.fs.clone(), &main.location).get(&fork)?;
            if is_fork(main, name)? && wanted == Some(kept.id) { Ok(()) } else { Err(fork_exists(main, name, &fork)) }
        }
        other => other.map(drop),
    }
}

/// A tag for the branch that keeps nothing goes: other programs remove snapshots without the lock.
fn fork_point_kept(main: &TableContext, lock: &UpkeepLock, fork: &str) -> Result<()> {
    let kept = check_kept(main, lock, fork);
    if kept.as_ref().is_err_and(|e| e.kind() == ErrorKind::SnapshotExpired) {
        TagManager::new(main.fs.clone(), &main.location).delete_file(fork)?;
    }
    kept
}

fn fork_exists(main: &TableContext, name: &str, fork: &str) -> Error {
    Error::new(ErrorKind::TagExists, format!("branch '{name}' needs a tag of its own named '{fork}', and there is one"))
        .with("table", &main.name)
        .with("tag", fork)
        .with("branch", name)
        .hint("choose another name for the branch, or delete the tag if nobody needs it")
}

fn from_tag(main: &TableContext, root: &str, name: &str) -> Result<()> {
    let tag = TagManager::new(main.fs.clone(), &main.location).tag(name).map_err(|e| e.with("table", &main.name))?;
    // what it says of main's removal records does not count in the branch
    let snapshot = restored(main, &tag.snapshot)?;
    TagManager::new(main.fs.clone(), root).create(name, &Tag { ..tag }, main.options.sync)?;
    let snapshots = SnapshotManager::new(main.fs.clone(), root);
    main.fs.publish(&snapshots.path(snapshot.id), snapshot.to_json()?.as_bytes(), main.options.sync)?;
    copy_schemas(main, root, Some(snapshot.schema_id))
}

/// Copies schema files, up to one, or all that count.
fn copy_schemas(main: &TableContext, root: &str, up_to: Option<i64>) -> Result<()> {
    let schemas = SchemaManager::new(main.fs.clone(), &main.location);
    let theirs = SchemaManager::new(main.fs.clone(), root);
    let up_to = match up_to {
        None => schemas.latest()?.map(|newest| newest.id),
        last => last,
    };
    let ids = schemas.ids()?;
    let wanted: Vec<i64> = ids.into_iter().filter(|id| up_to.is_none_or(|last| *id <= last)).collect();
    for id in wanted {
        let content = read_json(&*main.fs, &schemas.path(id))?;
        main.fs.publish(&theirs.path(id), &content, main.options.sync)?;
    }
    Ok(())
}
