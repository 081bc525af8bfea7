//! Who compacts after a commit: one at a time.
//!
//! Two compactions of the same files are one too many, so writers of this program that share a table do not begin one while
//! another is at it. The lock is no part of a commit, and compactions that come otherwise do not ask for it: what keeps them
//! apart are the conflicts of commits, here as everywhere.

use crate::{error::Result, fs::HeldLock, io::TableContext};

/// Held while a writer plans, runs and commits a compaction.
#[derive(Debug)]
pub(crate) struct CompactionTurn {
    _held: Box<dyn HeldLock>,
}

impl CompactionTurn {
    /// The turn in a branch of a table; `None`: somebody else has it.
    pub(crate) fn try_take(ctx: &TableContext) -> Result<Option<Self>> {
        let path = format!("{}/siltstone/compaction.lock", ctx.branch_root());
        Ok(ctx.fs.try_lock(&path)?.map(|held| Self { _held: held }))
    }
}
