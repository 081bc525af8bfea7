//! A commit with an explicit identifier is found in a version of another process: before anybody is told, it is certain that it stays.
//!
//! The same where messages were committed by another call, which ends the one that finds it.
//!
//! The writer of that version may be held up before it looks a last time, and take it back then, because its options have changed
//! ([`super::taken_back`]), or because an alter of what levels mean has come behind its schema ([`super::place`]). It does so with the
//! lock of upkeep, and not when a record says that somebody was told.

use super::{TableCommit, place::take_late_version_with};
use crate::{
    cleanup::upkeep_lock,
    error::{Error, Result},
    snapshot::{Removals, Snapshot},
};

impl TableCommit {
    /// Whether a version that another process has published stays from now on; otherwise it was taken back, and the look begins
    /// again. `removals` and `latest`: as they were read before it was found.
    pub(super) fn theirs_stays(
        &self,
        found: &Snapshot,
        removals: &Removals,
        latest: Option<&Snapshot>,
    ) -> Result<bool> {
        // what has versions behind it stays, and has stayed where it has expired since
        let is_newest = latest.is_some_and(|latest| latest.id == found.id);
        let may_go = removals.pending.takes_back(found.id) || (is_newest && self.may_be_taken_back(found)?);
        if self.ctx.fs.is_served() || !may_go {
            return Ok(true);
        }
        let lock = upkeep_lock(&self.ctx).map_err(|e| {
            let text = "another call has published this commit, and may yet take it back";
            Error::new(e.kind(), text).with("snapshot", found.id).hint("commit the same again").caused_by(e)
        })?;
        if take_late_version_with(&lock, &self.ctx, &self.snapshots, found)? {
            return Ok(false);
        }
        if self.snapshots.has_version(found)? {
            self.snapshots.removals().append_keeping(&lock, found)?;
            return Ok(true);
        }
        Ok(!self.snapshots.removals().read()?.is_rolled_back(found))
    }

    /// Whether its own writer may yet take it back: it is the first one, marks rows, has an older schema than the one before it, or one
    /// that a fast-forward can take away; or it may have files in level 0, and is older than the newest schema, whose alter has not seen
    /// them. One that comes later sees them.
    fn may_be_taken_back(&self, found: &Snapshot) -> Result<bool> {
        let newest = || Ok::<_, Error>(self.ctx.schemas.ids()?.last().copied());
        if self.ctx.schema.has_primary_key() && newest()? > Some(found.schema_id) {
            return Ok(true);
        }
        let before = self.snapshots.existing([found.id - 1])?;
        let is_fixed = before.iter().any(|before| before.schema_id <= found.schema_id);
        Ok(!is_fixed || found.index_manifest.is_some() || !self.ctx.branches().names()?.is_empty())
    }
}
