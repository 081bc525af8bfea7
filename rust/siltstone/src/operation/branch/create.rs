//! Making, renaming and deleting branches.

use std::sync::Arc;

use serde_json::json;

use crate::{
    env::new_uuid,
    error::{Error, ErrorKind, Result},
    io::TableContext,
    operation::{
        cleanup::{FileKind, Plan, PlannedFile, Report, Step, upkeep_lock},
        rollback::restored,
        scan::VersionSelector,
        tag::{CreateTag, create_tag_beside, delete_tag_locked},
    },
    schema::{READ_BRANCHES, SchemaManager},
    snapshot::{BranchManager, SnapshotManager, Tag, TagManager, UpkeepLock, check_name, is_main},
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

/// The tag that keeps the files of a branch made from a snapshot.
fn fork_tag(branch: &str) -> String {
    format!("fork-{branch}")
}

fn main_context(ctx: &TableContext) -> TableContext {
    TableContext { branch: "main".to_owned(), ..ctx.clone() }
}

fn check_branch_name(name: &str) -> Result<()> {
    check_name("branch", name)?;
    let reason = if is_main(name) {
        "every table has the branch main"
    } else if name.bytes().all(|b| b.is_ascii_digit()) {
        "a name of digits is not allowed"
    } else if name.contains('$') {
        "a dollar sign separates the names of table, branch and system table"
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::InvalidArgument, format!("'{name}' cannot be the name of a new branch: {reason}"))
        .with("branch", name))
}

/// Makes a branch of the table.
///
/// # Errors
/// `InvalidArgument` for a name that cannot be one; `BranchExists`; `TagNotFound`, `SnapshotNotFound` or
/// `SnapshotExpired` for the source; `UpkeepRunning` beside an expiry, a rollback or a fast-forward.
pub fn create_branch(ctx: &TableContext, name: &str, source: &BranchSource) -> Result<()> {
    check_branch_name(name)?;
    let branches = BranchManager::new(ctx.fs.clone(), &ctx.location);
    if branches.exists(name)? {
        return Err(exists_already(ctx, name));
    }
    let main = main_context(ctx);
    // a rollback, an expiry or a fast-forward has looked at the branches before its record: none may come between the two
    let lock = upkeep_lock(ctx)?;
    // whole or not at all: readers do not look at names that start with a dot
    let hidden = format!("{}/.{name}.{}", branches.directory(), new_uuid());
    match source {
        BranchSource::Empty => copy_schemas(&main, &hidden, None)?,
        BranchSource::Tag(tag) => from_tag(&main, &hidden, tag)?,
        BranchSource::Snapshot(id) => {
            let version = id.map_or(VersionSelector::Latest, VersionSelector::Snapshot);
            let fork = fork_tag(name);
            keep_fork_point(&main, &lock, &fork, version)?;
            from_tag(&main, &hidden, &fork)?;
        }
    }
    match ctx.fs.rename_dir(&hidden, &branches.root(name)) {
        Err(e) if e.kind() == ErrorKind::FileExists => {
            ctx.fs.delete_dir(&hidden)?;
            return Err(exists_already(ctx, name));
        }
        other => other?,
    }
    sync(ctx, &branches, name)?;
    without_lost_changelog(ctx, &branches, name)?;
    // other programs delete tags without the lock
    let keeper = match source {
        BranchSource::Empty => None,
        BranchSource::Tag(tag) => Some(tag.clone()),
        BranchSource::Snapshot(_) => Some(fork_tag(name)),
    };
    if let Some(tag) = keeper
        && !is_kept(ctx, &branches.root(name), &tag)?
    {
        ctx.fs.delete_dir(&branches.root(name))?;
        return Err(Error::new(ErrorKind::TagNotFound, format!("tag '{tag}' was deleted while the branch was made"))
            .with("table", &ctx.name)
            .with("tag", tag));
    }
    Ok(())
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

/// Tags what a branch starts with. A tag that a making which was cut short has left is taken over when it is the same.
fn keep_fork_point(main: &TableContext, lock: &UpkeepLock, fork: &str, version: VersionSelector) -> Result<()> {
    let request = CreateTag { version, ..CreateTag::default() };
    match create_tag_beside(main, Some(lock), fork, &request) {
        Err(e) if e.kind() == ErrorKind::TagExists => {
            let kept = TagManager::new(main.fs.clone(), &main.location).get(fork)?;
            let wanted = match request.version {
                VersionSelector::Snapshot(id) => Some(id),
                _ => SnapshotManager::new(main.fs.clone(), &main.location).latest_id()?,
            };
            if wanted == Some(kept.id) { Ok(()) } else { Err(e) }
        }
        other => other.map(drop),
    }
}

/// Makes a branch's new name durable, for the directory itself and for what is in it.
fn sync(ctx: &TableContext, branches: &BranchManager, name: &str) -> Result<()> {
    for part in ["schema", "snapshot", "tag"] {
        let directory = format!("{}/{part}", branches.root(name));
        if ctx.fs.exists(&directory)? {
            ctx.fs.sync_dir(&directory)?;
        }
    }
    ctx.fs.sync_dir(&branches.directory())
}

fn exists_already(ctx: &TableContext, name: &str) -> Error {
    Error::new(ErrorKind::BranchExists, format!("branch '{name}' exists already"))
        .with("table", &ctx.name)
        .with("branch", name)
        .hint("delete it, or choose another name")
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

/// Copies schema files, up to one or all.
fn copy_schemas(main: &TableContext, root: &str, up_to: Option<i64>) -> Result<()> {
    let schemas = SchemaManager::new(main.fs.clone(), &main.location);
    let theirs = SchemaManager::new(main.fs.clone(), root);
    let ids = schemas.ids()?;
    let wanted: Vec<i64> = ids.into_iter().filter(|id| up_to.is_none_or(|last| *id <= last)).collect();
    for id in wanted {
        let content = main.fs.read(&schemas.path(id))?;
        main.fs.publish(&theirs.path(id), &content, main.options.sync)?;
    }
    Ok(())
}

/// Deletes a branch: its own metadata. Its data files stay until orphan files are removed. The tag `fork-<name>` goes with
/// it, unless another branch was made from the same snapshot.
///
/// # Errors
/// `BranchNotFound` with the nearest name; `VersionInUse` for the branch that the table handle works on and for one that
/// reads come from (`scan.fallback-branch`, `scan.primary-branch`); `InvalidArgument` for main.
pub fn delete_branch(ctx: &TableContext, name: &str, dry_run: bool) -> Result<Report> {
    if is_main(name) {
        return Err(Error::new(ErrorKind::InvalidArgument, "the branch main cannot be deleted: drop the table"));
    }
    let lock = if dry_run { None } else { Some(upkeep_lock(ctx)?) };
    let branches = BranchManager::new(ctx.fs.clone(), &ctx.location);
    let main = main_context(ctx);
    let fork = fork_tag(name);
    let forked = TagManager::new(ctx.fs.clone(), &ctx.location).exists(&fork)?;
    branches.check_exists(name).map_err(|e| {
        let e = e.with("table", &ctx.name);
        // a deletion that was cut short: the branch is gone, what kept its files is not
        if forked { e.hint(format!("tag '{fork}' is left of it: delete the tag")) } else { e }
    })?;
    check_not_read(ctx, &branches, name)?;
    let mut plan = Plan::default();
    plan.steps.push(Step::DeleteTrees(vec![PlannedFile {
        path: branches.root(name),
        kind: FileKind::Branch,
        bytes: 0,
        reason: Arc::from("the branch is deleted"),
    }]));
    plan.notes.push("data files that only the branch needs stay until orphan files are removed".to_owned());
    let mut report = Report::of(&ctx.fs, plan, dry_run)?.with("branches", json!([name]));
    if forked && !dry_run {
        match delete_tag_locked(&main, lock.as_ref(), &fork) {
            Ok(of_tag) => report.extend(of_tag),
            // another branch was made from the same snapshot: the tag keeps its files, too
            Err(e) if e.kind() == ErrorKind::VersionInUse => report.plan.notes.push(format!("the tag stays: {e}")),
            Err(e) => return Err(e),
        }
    }
    Ok(report)
}

/// Nobody works on the branch: neither this table, nor the options of main or another branch.
fn check_not_read(ctx: &TableContext, branches: &BranchManager, name: &str) -> Result<()> {
    let in_use = |reason: String| {
        Error::new(ErrorKind::VersionInUse, format!("branch '{name}' is in use: {reason}"))
            .with("table", &ctx.name)
            .with("branch", name)
    };
    let mut others = vec!["main".to_owned()];
    others.extend(branches.names()?.into_iter().filter(|other| other != name));
    for other in &others {
        let latest = SchemaManager::new(ctx.fs.clone(), &branches.root(other)).latest().map_err(|e| {
            e.with("branch", other).hint("whether this branch reads from others cannot be known: restore its schema")
        })?;
        let reads = |key: &&str| latest.as_ref().is_some_and(|s| s.options.get(*key).is_some_and(|b| b == name));
        if let Some(option) = READ_BRANCHES.into_iter().find(reads) {
            let whose = if is_main(other) { "the table".to_owned() } else { format!("branch '{other}'") };
            let choices: Vec<&str> = others.iter().map(String::as_str).filter(|choice| choice != other).collect();
            let hint = match choices.as_slice() {
                [] => "remove the option first".to_owned(),
                choices => format!("remove the option first, or let it name one of: {}", choices.join(", ")),
            };
            return Err(in_use(format!("{whose} has the option '{option}', which names it")).hint(hint));
        }
    }
    if ctx.branch == name {
        return Err(in_use("this table is opened on it".to_owned()).hint("open the table on main"));
    }
    Ok(())
}

/// Gives a branch another name.
///
/// # Errors
/// `BranchNotFound`, `BranchExists`, `InvalidArgument`, `VersionInUse` as for deleting.
pub fn rename_branch(ctx: &TableContext, from: &str, to: &str) -> Result<()> {
    check_branch_name(to)?;
    if is_main(from) {
        return Err(
            Error::new(ErrorKind::InvalidArgument, "the branch main cannot be renamed").with("table", &ctx.name)
        );
    }
    let _lock = upkeep_lock(ctx)?;
    delete_branch(ctx, from, true)?;
    let branches = BranchManager::new(ctx.fs.clone(), &ctx.location);
    if branches.exists(to)? {
        return Err(exists_already(ctx, to));
    }
    let tags = TagManager::new(ctx.fs.clone(), &ctx.location);
    let (old, new) = (fork_tag(from), fork_tag(to));
    let fork = tags.exists(&old)? && !tags.exists(&new)?;
    if fork {
        // in both branches, before the old name goes
        let tag = tags.tag(&old)?;
        tags.create(&new, &tag, ctx.options.sync)?;
        let copies = TagManager::new(ctx.fs.clone(), &branches.root(from));
        if !copies.exists(&new)? {
            copies.create(&new, &tag, ctx.options.sync)?;
        }
    }
    ctx.fs.rename_dir(&branches.root(from), &branches.root(to))?;
    sync(ctx, &branches, to)?;
    if fork {
        TagManager::new(ctx.fs.clone(), &branches.root(to)).delete_file(&old)?;
        tags.delete_file(&old)?;
    }
    Ok(())
}
