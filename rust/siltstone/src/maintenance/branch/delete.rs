//! Deleting branches.

use std::sync::Arc;

use serde_json::json;

use super::names::{fork_tag, is_fork, keeps_branch, main_context};
use crate::{
    cleanup::{CleanupPlan, CleanupStep, FileKind, PlannedFile, Report, settled_lock, with_effect},
    error::{Error, ErrorKind, Result},
    io::TableContext,
    maintenance::tag::{delete_tag_locked, planned_deletion},
    schema::{READ_BRANCHES, SchemaManager},
    snapshot::{BranchManager, SnapshotManager, TagManager, is_main},
};

/// Deletes a branch: its own metadata. Its data files stay until orphan files are removed. The tag `fork-<name>` that its making
/// left goes with it, unless another branch was made from the same snapshot; a user's tag of that name stays.
///
/// # Errors
/// `BranchNotFound` with the nearest name; `VersionInUse` for the branch that the table handle works on and for one that
/// reads come from (`scan.fallback-branch`, `scan.primary-branch`), and while main lacks something of it after a fast-forward that
/// was cut short; `InvalidArgument` for main; a tag or version that cannot be
/// read, because then nobody knows what the tag keeps (nothing is deleted).
pub fn delete_branch(ctx: &TableContext, name: &str, dry_run: bool) -> Result<Report> {
    check_not_main(name)?;
    let main = main_context(ctx);
    let lock = if dry_run { None } else { Some(settled_lock(&main)?) };
    let branches = ctx.branches();
    check_deletable(ctx, &branches, name)?;
    let mut plan = CleanupPlan::default();
    plan.steps.push(CleanupStep::DeleteTrees(vec![PlannedFile {
        path: branches.root(name),
        kind: FileKind::Branch,
        bytes: 0,
        reason: Arc::from("the branch is deleted"),
    }]));
    plan.notes.push("data files that only the branch needs stay until orphan files are removed".to_owned());
    let fork = fork_tag(name);
    let planned = planned_fork(&main, name, &mut plan)?;
    let has_tag = planned.is_some();
    let tag_is_left = || {
        let deleted = !dry_run && !branches.exists(name)?;
        let and_tag = if has_tag { format!("; look whether tag '{fork}' is left of it") } else { String::new() };
        Ok(deleted.then(|| format!("branch '{name}' was deleted{and_tag}")))
    };
    let mut report = with_effect(Report::of(&ctx.fs, plan, dry_run), tag_is_left)?.with("branches", json!([name]));
    match (planned, &lock) {
        (Some(planned), None) => report.extend(planned),
        (Some(_), Some(lock)) => match delete_tag_locked(&main, Some(lock), &fork) {
            Ok(of_tag) => report.extend(of_tag),
            // another program made a branch of it meanwhile
            Err(e) if e.kind() == ErrorKind::VersionInUse => report.plan.notes.push(stays(&e)),
            Err(e) => return with_effect(Err(e), tag_is_left),
        },
        (None, _) => {}
    }
    Ok(report)
}

/// What goes with the branch's own tag, found before anything is deleted; `None` when there is none, or it stays: then the plan
/// says so.
fn planned_fork(main: &TableContext, name: &str, plan: &mut CleanupPlan) -> Result<Option<Report>> {
    let fork = fork_tag(name);
    if !keeps_branch(main, name)? {
        if TagManager::new(main.fs.clone(), &main.location).exists(&fork)? {
            plan.notes.push(format!("the tag '{fork}' stays: it was not made with the branch"));
        }
        return Ok(None);
    }
    match planned_deletion(main, &fork, Some(name)) {
        Ok(planned) => Ok(Some(planned)),
        // another branch was made from the same snapshot: the tag keeps its files, too
        Err(e) if e.kind() == ErrorKind::VersionInUse => {
            plan.notes.push(stays(&e));
            Ok(None)
        }
        Err(e) => Err(e),
    }
}

fn stays(reason: &Error) -> String {
    format!("the tag stays: {reason}")
}

fn check_not_main(name: &str) -> Result<()> {
    if is_main(name) {
        return Err(Error::new(ErrorKind::InvalidArgument, "the branch main cannot be deleted: drop the table"));
    }
    Ok(())
}

/// The branch is there, and nobody works on it.
pub(super) fn check_deletable(ctx: &TableContext, branches: &BranchManager, name: &str) -> Result<()> {
    branches.check_exists(name).map_err(|e| {
        let e = e.with("table", &ctx.name);
        // a deletion that was cut short: the branch is gone, what kept its files is not
        let left = is_fork(ctx, name).unwrap_or(false);
        if left { e.hint(format!("tag '{}' is left of it: delete the tag", fork_tag(name))) } else { e }
    })?;
    check_not_read(ctx, branches, name)?;
    check_not_on_the_way(ctx, name)
}

/// No fast-forward of main to the branch has stopped half-way: versions, schemas or tags that main lacks are nowhere else, and
/// the same fast-forward completes it. Main may have gone on from there: then it is not on its way any more.
fn check_not_on_the_way(ctx: &TableContext, name: &str) -> Result<()> {
    if half_forwarded_to(ctx)?.as_deref() != Some(name) {
        return Ok(());
    }
    let message = format!("branch '{name}' is in use: main has given way to it, and may not have all of it yet");
    Err(Error::new(ErrorKind::VersionInUse, message)
        .with("table", &ctx.name)
        .with("branch", name)
        .hint("fast-forward to the branch again: it goes on where the one before has stopped"))
}

/// The branch to which a fast-forward of main has stopped half-way.
pub(crate) fn half_forwarded_to(ctx: &TableContext) -> Result<Option<String>> {
    let main = SnapshotManager::new(ctx.fs.clone(), &ctx.location);
    let removals = main.removals().read()?;
    let (Some(name), Some(latest)) = (removals.forward_to(), main.latest_by_records()?) else { return Ok(None) };
    let branches = ctx.branches();
    let theirs = SnapshotManager::new(ctx.fs.clone(), &branches.root(name));
    let is_theirs =
        theirs.has_version(&latest)? || theirs.removals().expired()?.iter().any(|expired| expired.is(&latest));
    Ok(is_theirs.then(|| name.to_owned()))
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
