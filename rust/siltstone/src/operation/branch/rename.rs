//! Renaming branches.

use super::{
    delete::delete_branch,
    names::{check_branch_name, exists_already, fork_tag, main_context, sync},
};
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    operation::cleanup::{settle, settled_lock, with_effect},
    snapshot::{BranchManager, TagManager, is_main},
};

/// Gives a branch another name. Where that stopped half-way, the same call completes it.
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
    let lock = settled_lock(&main_context(ctx))?;
    let branches = BranchManager::new(ctx.fs.clone(), &ctx.location);
    let tags = TagManager::new(ctx.fs.clone(), &ctx.location);
    let (old, new) = (fork_tag(from), fork_tag(to));
    if !branches.exists(from)? && branches.exists(to)? && is_half_way(&tags, &copies(ctx, &branches, to), &old, &new)? {
        return without_old_name(ctx, &branches, to, &old);
    }
    delete_branch(ctx, from, true)?;
    if branches.exists(to)? {
        return Err(exists_already(ctx, to));
    }
    // what snapshots say of their writers counts under this name only: nobody could tell later which of them a rollback cut off
    settle(ctx, from, &lock)?;
    // the new name may be left of a renaming that was cut short
    let fork = tags.exists(&old)? && (!tags.exists(&new)? || tags.tag(&new)? == tags.tag(&old)?);
    with_effect(move_branch(ctx, &branches, (from, to), fork.then_some((old.as_str(), new.as_str()))), || {
        if branches.exists(to)? {
            return Ok(Some(format!("branch '{from}' was renamed to '{to}'")));
        }
        Ok((fork && tags.exists(&new)?)
            .then(|| format!("branch '{from}' has its name still, and tag '{new}' was created")))
    })
}

/// Whether a branch was renamed, and only what kept its files under the old name is left: it has both tags, and so has main the
/// new one. A branch that was made from the tag of another one has only that.
fn is_half_way(tags: &TagManager, copies: &TagManager, old: &str, new: &str) -> Result<bool> {
    if !(copies.exists(old)? && copies.exists(new)? && tags.exists(new)?) {
        return Ok(false);
    }
    let kept = copies.get(old)?;
    Ok(copies.get(new)?.is_same_version(&kept) && tags.get(new)?.is_same_version(&kept))
}

/// `fork`: the names of the tag that keeps the branch's files.
fn move_branch(
    ctx: &TableContext,
    branches: &BranchManager,
    (from, to): (&str, &str),
    fork: Option<(&str, &str)>,
) -> Result<()> {
    let tags = TagManager::new(ctx.fs.clone(), &ctx.location);
    if let Some((old, new)) = fork {
        // in both branches, before the old name goes
        let tag = tags.tag(old)?;
        for place in [&tags, &copies(ctx, branches, from)] {
            if !place.exists(new)? {
                place.create(new, &tag, ctx.options.sync)?;
            }
        }
    }
    ctx.fs.rename_dir(&branches.root(from), &branches.root(to))?;
    sync(ctx, branches, to)?;
    fork.map_or(Ok(()), |(old, _)| without_old_name(ctx, branches, to, old))
}

/// Tags of a branch.
fn copies(ctx: &TableContext, branches: &BranchManager, name: &str) -> TagManager {
    TagManager::new(ctx.fs.clone(), &branches.root(name))
}

/// Deletes the tag under its old name, in the branch last: as long as it is there, the renaming is not complete.
fn without_old_name(ctx: &TableContext, branches: &BranchManager, to: &str, old: &str) -> Result<()> {
    TagManager::new(ctx.fs.clone(), &ctx.location).delete_file(old)?;
    copies(ctx, branches, to).delete_file(old)
}
