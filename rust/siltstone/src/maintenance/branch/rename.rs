//! Renaming branches.

use super::{
    delete::check_deletable,
    names::{check_branch_name, exists_already, fork_tag, is_fork, keeps_branch, main_context, sync},
};
use crate::{
    cleanup::{settle, settled_lock, with_effect},
    error::{Error, ErrorKind, Result},
    fs::check_renames,
    io::TableContext,
    path::branch_root,
    snapshot::{BranchManager, Tag, TagManager, is_main},
};

/// Gives a branch another name, and its own tag `fork-<name>` with it. Where that stopped half-way, the same call completes it.
///
/// # Errors
/// `BranchNotFound`, `BranchExists`, `InvalidArgument`, `VersionInUse` as for deleting; `TagExists` when somebody else has made
/// a tag of the name that the branch's own would get.
pub fn rename_branch(ctx: &TableContext, from: &str, to: &str) -> Result<()> {
    check_branch_name(to)?;
    if is_main(from) {
        return Err(
            Error::new(ErrorKind::InvalidArgument, "the branch main cannot be renamed").with("table", &ctx.name)
        );
    }
    check_renames(&*ctx.fs, &branch_root(&ctx.location, from))?;
    let lock = settled_lock(&main_context(ctx))?;
    let branches = ctx.branches();
    let tags = TagManager::new(ctx.fs.clone(), &ctx.location);
    let (old, new) = (fork_tag(from), fork_tag(to));
    if !branches.exists(from)? && branches.exists(to)? && is_half_way(&tags, &copies(ctx, &branches, to), (from, to))? {
        return without_old_name(ctx, &branches, (from, to));
    }
    check_deletable(ctx, &branches, from)?;
    if branches.exists(to)? {
        return Err(exists_already(ctx, to));
    }
    // what snapshots say of their writers counts under this name only: nobody could tell later which of them a rollback cut off
    settle(ctx, from, &lock)?;
    let fork = keeps_branch(ctx, from)?;
    // the new name may be left of a renaming that was cut short
    for place in [&tags, &copies(ctx, &branches, from)] {
        if fork && place.exists(&new)? && place.tag(&new)? != renamed(tags.tag(&old)?, to) {
            return Err(fork_exists(ctx, &new, to));
        }
    }
    with_effect(move_branch(ctx, &branches, (from, to), fork), || {
        if branches.exists(to)? {
            return Ok(Some(format!("branch '{from}' was renamed to '{to}'")));
        }
        Ok((fork && tags.exists(&new)?)
            .then(|| format!("branch '{from}' has its name still, and tag '{new}' was created")))
    })
}

/// Whether a branch was renamed, and only what kept its files under the old name is left: it has both tags, and so has main the
/// new one. A branch that was made from the tag of another one has only that.
fn is_half_way(tags: &TagManager, copies: &TagManager, (from, to): (&str, &str)) -> Result<bool> {
    let (old, new) = (&fork_tag(from), &fork_tag(to));
    if !(copies.exists(old)? && copies.exists(new)? && tags.exists(new)?) {
        return Ok(false);
    }
    let (kept, tag) = (copies.get(old)?, tags.get(new)?);
    let are_own = kept.kept_branch() == Some(from) && tag.kept_branch() == Some(to);
    Ok(are_own && copies.get(new)?.is_same_version(&kept) && tag.is_same_version(&kept))
}

/// The tag that keeps the branch's files, as that of the branch's new name.
fn renamed(tag: Tag, to: &str) -> Tag {
    Tag { snapshot: tag.snapshot.keeping(to), ..tag }
}

fn fork_exists(ctx: &TableContext, tag: &str, to: &str) -> Error {
    Error::new(ErrorKind::TagExists, format!("the branch's own tag would get the name '{tag}', and there is one"))
        .with("table", &ctx.name)
        .with("tag", tag)
        .with("branch", to)
        .hint("choose another name for the branch, or delete the tag if nobody needs it")
}

/// `fork`: whether it has a tag of its own that keeps its files.
fn move_branch(ctx: &TableContext, branches: &BranchManager, (from, to): (&str, &str), fork: bool) -> Result<()> {
    let tags = TagManager::new(ctx.fs.clone(), &ctx.location);
    if fork {
        // in both branches, before the old name goes
        let (tag, new) = (renamed(tags.tag(&fork_tag(from))?, to), fork_tag(to));
        for place in [&tags, &copies(ctx, branches, from)] {
            if !place.exists(&new)? {
                place.create(&new, &tag, ctx.options.sync)?;
            }
        }
    }
    ctx.fs.rename_dir(&branches.root(from), &branches.root(to))?;
    sync(ctx, branches, to)?;
    if fork { without_old_name(ctx, branches, (from, to)) } else { Ok(()) }
}

/// Tags of a branch.
fn copies(ctx: &TableContext, branches: &BranchManager, name: &str) -> TagManager {
    TagManager::new(ctx.fs.clone(), &branches.root(name))
}

/// Deletes the tag under its old name, in the branch last: as long as it is there, the renaming is not complete.
fn without_old_name(ctx: &TableContext, branches: &BranchManager, (from, to): (&str, &str)) -> Result<()> {
    let old = fork_tag(from);
    // a user may have given another tag the old name since
    if is_fork(ctx, from)? {
        TagManager::new(ctx.fs.clone(), &ctx.location).delete_file(&old)?;
    }
    copies(ctx, branches, to).delete_file(&old)
}
