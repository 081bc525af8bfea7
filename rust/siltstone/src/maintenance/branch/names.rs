//! What making, renaming and deleting branches share.

use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    snapshot::{BranchManager, TagManager, check_name, is_main},
};

/// The tag that keeps the files of a branch made from a snapshot.
pub(super) fn fork_tag(branch: &str) -> String {
    format!("fork-{branch}")
}

/// Whether main has the tag `fork-<branch>` that the making of this branch, or of one of its name that was cut short, has left.
/// Users, too, may give a tag that name: their tag is theirs.
pub(super) fn is_fork(ctx: &TableContext, branch: &str) -> Result<bool> {
    let (tags, fork) = (TagManager::new(ctx.fs.clone(), &ctx.location), fork_tag(branch));
    Ok(tags.exists(&fork)? && tags.get(&fork)?.kept_branch() == Some(branch))
}

/// Whether main has a tag `fork-<branch>` that keeps the files of the branch that is there: it has a copy of its own.
pub(super) fn keeps_branch(ctx: &TableContext, branch: &str) -> Result<bool> {
    let fork = fork_tag(branch);
    let tags = TagManager::new(ctx.fs.clone(), &ctx.location);
    let copies = TagManager::new(ctx.fs.clone(), &ctx.branches().root(branch));
    Ok(is_fork(ctx, branch)? && copies.exists(&fork)? && copies.get(&fork)?.is_same_version(&tags.get(&fork)?))
}

pub(super) fn main_context(ctx: &TableContext) -> TableContext {
    TableContext { branch: "main".to_owned(), ..ctx.clone() }
}

pub(super) fn check_branch_name(name: &str) -> Result<()> {
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

/// Makes a branch's new name durable, for the directory itself and for what is in it.
pub(super) fn sync(ctx: &TableContext, branches: &BranchManager, name: &str) -> Result<()> {
    for part in ["schema", "snapshot", "tag"] {
        let directory = format!("{}/{part}", branches.root(name));
        if ctx.fs.exists(&directory)? {
            ctx.fs.sync_dir(&directory)?;
        }
    }
    ctx.fs.sync_dir(&branches.directory())
}

pub(super) fn exists_already(ctx: &TableContext, name: &str) -> Error {
    Error::new(ErrorKind::BranchExists, format!("branch '{name}' exists already"))
        .with("table", &ctx.name)
        .with("branch", name)
        .hint("delete it, or choose another name")
}
