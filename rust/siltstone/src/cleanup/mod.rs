//! What everything that deletes shares: plans of paths with reasons, their execution, and what living versions need.
//!
//! ```text
//! references (branches, snapshots, tags, changelogs) ─ metadata_files (of each) ─ plan (path, reason, size) ─ execute
//! ```
//!
//! Source: semantics g.2, g.4 and g.8; `FileDeletionBase`, `OrphanFilesClean`.

mod after_record;
mod branch_points;
mod cache;
mod clock;
mod effect;
mod metadata_files;
mod plan;
mod references;
mod release;
mod tagged;
mod unused_file;
mod whole;

pub use after_record::after_record;
pub use cache::ManifestCache;
pub(crate) use clock::ahead_of_storage;
pub use effect::with_effect;
pub use metadata_files::{MetaFile, MetaParts, metadata_files, metadata_names};
pub use plan::{
    Change, CleanupPlan, CleanupStep, FileKind, PlannedFile, Report, delete_tree, is_dropped_tree, plan_beside_others,
};
pub use references::{References, Roots, long_lived, referenced_by_other_branches, referenced_by_other_branches_but};
pub use release::{Gone, clean_released, finish_released, plan_cleaning, release};
pub use tagged::{Tagged, name_lost_tag};
pub use unused_file::{UnusedFile, bucket_dirs, data_files};
pub use whole::{all_there, check_all_there};

use crate::{
    error::{ErrorKind, Result},
    io::TableContext,
    path::branch_root,
    snapshot::{SnapshotManager, UpkeepLock},
};
pub(crate) use branch_points::check_branch_points;

/// The lock of whoever removes or replaces names of a table, waiting as long as the table's options say.
///
/// # Errors
/// `UpkeepRunning`: another such operation held it all the time.
pub fn upkeep_lock(ctx: &TableContext) -> Result<UpkeepLock> {
    UpkeepLock::take(&ctx.fs, &ctx.location, ctx.options.upkeep_lock_timeout).map_err(|e| e.in_table(&ctx.name))
}

/// The lock of whoever changes tags or branches: what a rollback that died has cut off goes first, so that nothing is made of a
/// tag that the next upkeep deletes, and what only a tag kept whose deletion died.
///
/// # Errors
/// As [`upkeep_lock`].
pub fn settled_lock(ctx: &TableContext) -> Result<UpkeepLock> {
    let lock = upkeep_lock(ctx)?;
    settle(ctx, &ctx.branch, &lock)?;
    Ok(lock)
}

/// Brings the files of a branch and its removal records together ([`SnapshotManager::settle`]), and completes deletions of tags.
///
/// # Errors
/// Storage errors.
pub fn settle(ctx: &TableContext, branch: &str, lock: &UpkeepLock) -> Result<()> {
    let snapshots = SnapshotManager::new(ctx.fs.clone(), &branch_root(&ctx.location, branch));
    match snapshots.latest_id() {
        Ok(Some(_)) => snapshots.settle(lock).map_err(|e| e.in_table(&ctx.name))?,
        Err(e) if e.kind() != ErrorKind::CorruptFile => return Err(e.in_table(&ctx.name)),
        // where all snapshots are lost, tags are what is left
        _ => return Ok(()),
    }
    finish_released(&TableContext { branch: branch.to_owned(), ..ctx.clone() }, lock)
}
