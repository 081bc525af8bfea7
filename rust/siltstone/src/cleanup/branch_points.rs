//! Versions that branches were made from.

use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    snapshot::{Snapshot, SnapshotManager, TagManager},
};

/// A branch was made from a version that would go: that version keeps the branch's files.
pub(crate) fn check_branch_points(
    ctx: &TableContext,
    snapshots: &SnapshotManager,
    target: &Snapshot,
    gone: &[(String, Snapshot)],
) -> Result<()> {
    let branches = ctx.branches();
    for branch in branches.names()?.into_iter().filter(|branch| *branch != ctx.branch) {
        let in_use = |what: String| {
            Err(Error::new(ErrorKind::VersionInUse, format!("{what} would go, and branch '{branch}' was made from it"))
                .with("table", &ctx.name)
                .with("branch", &branch)
                .hint("delete the branch first, or fast-forward to it"))
        };
        let root = branches.root(&branch);
        let copies = TagManager::new(ctx.fs.clone(), &root);
        for (name, tag) in gone {
            if copies.exists(name)? && copies.get(name)?.is_same_version(tag) {
                return in_use(format!("tag '{name}'"));
            }
        }
        let theirs = SnapshotManager::new(ctx.fs.clone(), &root);
        if let Some(first) = theirs.ids()?.first().copied().filter(|first| *first > target.id)
            && snapshots.exists(first)?
            && snapshots.get(first)?.is_same_version(&theirs.get(first)?)
        {
            return in_use(format!("snapshot {first}"));
        }
    }
    Ok(())
}
