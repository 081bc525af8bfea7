//! A commit with an explicit identifier is found in a version of another process: before anybody is told, it is certain that it stays.
//!
//! The writer of that version may be held up before it looks a last time, and take it back then, because its options have changed
//! ([`super::taken_back`]). It does so with the lock of upkeep, and not when a record says that somebody was told.

use super::TableCommit;
use crate::{
    cleanup::upkeep_lock,
    error::Result,
    snapshot::{Removals, Snapshot},
};

impl TableCommit {
    /// Whether a version that another process has published stays from now on; otherwise it is none any more, and the look begins
    /// again. `removals`: as they were read before it was found.
    pub(super) fn theirs_stays(&self, found: &Snapshot, removals: &Removals) -> Result<bool> {
        let goes = removals.pending.takes_back(found.id);
        if self.ctx.fs.is_served() || (!goes && !self.may_be_taken_back(found)?) {
            return Ok(true);
        }
        let lock = upkeep_lock(&self.ctx)?;
        if !self.snapshots.has_version(found)? {
            return Ok(false);
        }
        self.snapshots.removals().append_keeping(&lock, found)?;
        Ok(true)
    }

    /// Whether its own writer may yet take it back: nothing was built on it, and it is the first one, marks rows, has a newer schema
    /// behind it, or a schema that a fast-forward can take away.
    fn may_be_taken_back(&self, found: &Snapshot) -> Result<bool> {
        let removals = self.snapshots.removals().read()?;
        let next = self.snapshots.existing(found.id.checked_add(1))?;
        if removals.pending.takes_back(found.id) || !next.iter().any(|next| removals.admits(next)) {
            let before = self.snapshots.existing([found.id - 1])?;
            let is_fixed = before.iter().any(|before| before.schema_id <= found.schema_id);
            return Ok(!is_fixed || found.index_manifest.is_some() || !self.ctx.branches().names()?.is_empty());
        }
        Ok(false)
    }
}
