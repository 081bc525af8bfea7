//! What may have happened while a changed schema was published, and how it ends.
//!
//! ```text
//! alter    reads schema 0, finds no null … publishes schema 1 …              … looks again
//! others              fast-forward; commit a null under schema 0; make schema 2 of schema 1
//! ```
//!
//! A schema made of one that came too late came too late as well: its own alter finds that out by looking at all changes since the
//! newest version, and takes it away first. Options that are fixed once there are snapshots are decided about in [`super::pending`].

use std::{sync::Arc, thread, time::Duration};

use super::refusal::forbidden_change;
use super::{CheckChange, SchemaChange, SchemaManager, TableSchema};
use crate::env::{Clock, SystemClock};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::read_json;
use crate::snapshot::{SnapshotManager, UpkeepLock};

/// How long to wait for a fast-forward that has replaced a schema, or a commit that takes its snapshot back.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long to wait for another alter between two looks.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a look at the levels may be ago when a schema counts: less than commits wait for it by default.
const LOOK_LASTS: Duration = Duration::from_secs(10);
/// How often levels are looked at again because a look took longer: one that was held up is not held up each time.
const LOOKS: usize = 3;

/// From one schema to the next.
type Change = (Arc<TableSchema>, Arc<TableSchema>);

impl SchemaManager {
    /// Looks again after `new`, made of `old`, was published; where it came too late it is taken back.
    ///
    /// # Errors
    /// `CommitConflict`: `old` is not there any more; `IllegalSchemaChange`: `check` refuses what has come about meanwhile, or
    /// the first snapshot has come about under the options that are fixed from then on, and `new` changes one of them.
    pub(super) fn settle(
        &self,
        old: &TableSchema,
        new: &TableSchema,
        check: CheckChange<'_>,
    ) -> Result<Arc<TableSchema>> {
        match self.check_stored(old) {
            Ok(()) => {}
            // a fast-forward has replaced it: it has not seen the new one, or takes it away
            Err(replaced) if replaced.kind() == ErrorKind::CommitConflict => {
                return self.take_back(new).and(Err(replaced));
            }
            Err(e) => return Err(self.half_done(new, e)),
        }
        self.check_again(old, new, check)?;
        if new.is_pending() {
            self.confirm(new).map_err(|e| match e.kind() {
                ErrorKind::IllegalSchemaChange | ErrorKind::CommitConflict => e,
                _ => self.half_done(new, e),
            })?;
        }
        self.get(new.id).map_err(|e| match e.kind() {
            ErrorKind::FileNotFound => {
                Error::new(ErrorKind::CommitConflict, "a fast-forward has taken the new schema away")
                    .with("file", self.path(new.id))
                    .hint("open the table again, and change what it is now")
            }
            _ => self.half_done(new, e),
        })
    }

    /// Changes an option by which rows that are there are taken otherwise: the lock is held from before the first look to the word that
    /// the new schema counts. So no rollback brings a version back in between, and whoever finds the schema pending and has the
    /// lock knows that nobody will give that word. `None`: another alter was faster.
    ///
    /// # Errors
    /// As [`Self::settle`]; `UpkeepRunning`: another process has the lock.
    pub(super) fn commit_with_lock(
        &self,
        changes: &[SchemaChange],
        check: CheckChange<'_>,
    ) -> Result<Option<Arc<TableSchema>>> {
        let lock = self.wait_for_upkeep()?;
        self.decide_with(&lock)?;
        let (old, new) = self.changed(changes, check)?;
        if !new.is_pending() || !self.publish_if(&new, &|| self.check_stored(&old))? {
            return Ok(None);
        }
        // commits that would be taken otherwise give way from now on; those to level 0 wait for the lock, but not for ever
        for _ in 0..LOOKS {
            let began = SystemClock.elapsed();
            if let Some(refused) = self.refused_by_now(&old, &new, check)? {
                let later = self.ids().map_err(|e| self.half_done(&new, e))?.into_iter().find(|id| *id > new.id);
                return later.map_or_else(|| self.undo(&new), |_| Ok(())).and(Err(refused));
            }
            if SystemClock.elapsed().saturating_sub(began) < LOOK_LASTS {
                break;
            }
        }
        self.confirm_with(&lock, &new, true).map_err(|e| match e.kind() {
            ErrorKind::IllegalSchemaChange | ErrorKind::CommitConflict => e,
            _ => self.half_done(&new, e),
        })?;
        self.get(new.id).map(Some).map_err(|e| self.half_done(&new, e))
    }

    /// An error when the file of a schema that was read before has another content, or is gone.
    pub(super) fn check_stored(&self, known: &TableSchema) -> Result<()> {
        let path = self.path(known.id);
        match read_json(&*self.fs, &path) {
            Ok(bytes) if TableSchema::from_json(&path, &bytes)?.is_same(known) => Ok(()),
            Ok(_) => {
                Err(Error::new(ErrorKind::CommitConflict, "another table or schema has taken the place of this one")
                    .with("file", path)
                    .hint("open the table again"))
            }
            Err(e) if e.kind() == ErrorKind::FileNotFound => {
                Err(Error::new(ErrorKind::CommitConflict, "the schema that was to be changed has been taken away")
                    .with("file", path)
                    .hint("open the table again"))
            }
            Err(e) => Err(e),
        }
    }

    /// The changes, each from one schema to the next, that end with `new` and were made since the newest version.
    fn changes_since_newest(&self, old: &TableSchema, new: &TableSchema) -> Result<Vec<Change>> {
        let newest = SnapshotManager::new(self.fs.clone(), &self.root).latest()?;
        let first = newest.map_or(old.id, |newest| newest.schema_id.min(old.id));
        let mut changes = Vec::new();
        // one may be missing that another program has made another one of
        let ids = self.ids()?.into_iter().filter(|id| (first..=old.id).contains(id));
        let mut known = ids.map(|id| self.get(id)).collect::<Result<Vec<_>>>()?;
        // those that came to nothing
        known.retain(|schema| !schema.is_pending());
        for pair in known.windows(2) {
            if let [before, after] = pair {
                changes.push((before.clone(), after.clone()));
            }
        }
        changes.push((Arc::new(old.clone()), Arc::new(new.clone())));
        Ok(changes)
    }

    /// Takes `new` back where `check` refuses it by now. A commit of what it refuses finds `new` and takes its snapshot back
    /// under the same lock: one of them stays.
    fn check_again(&self, old: &TableSchema, new: &TableSchema, check: CheckChange<'_>) -> Result<()> {
        if self.checked_by_now(old, new, check)?.is_ok() {
            return Ok(());
        }
        self.take_back_if(new, || self.refused_by_now(old, new, check))
    }

    /// Why `new` came too late, if it did: nobody has made a version under it.
    fn refused_by_now(&self, old: &TableSchema, new: &TableSchema, check: CheckChange<'_>) -> Result<Option<Error>> {
        let Err(refused) = self.checked_by_now(old, new, check)? else { return Ok(None) };
        if refused.kind() != ErrorKind::IllegalSchemaChange {
            return Err(self.half_done(new, refused));
        }
        if self.came_late(new).map_err(|e| self.half_done(new, e))? {
            return Ok(Some(refused));
        }
        let text = format!("schema {} was published, and snapshots were made under it meanwhile", new.id);
        Err(forbidden_change(text).with("file", self.path(new.id)).caused_by(refused).hint("change it back"))
    }

    /// What `check` says of all changes since the newest version: one that came about under the new schema in between has none before it.
    /// Of those before `new` the options were decided about: a version that came about beside one of them has stayed.
    fn checked_by_now(&self, old: &TableSchema, new: &TableSchema, check: CheckChange<'_>) -> Result<Result<()>> {
        let changes = self.changes_since_newest(old, new).map_err(|e| self.half_done(new, e))?;
        let Some(((old, new), earlier)) = changes.split_last() else { return Ok(Ok(())) };
        let decided =
            |(old, new): &Change| check(&TableSchema { options: new.options.clone(), ..TableSchema::clone(old) }, new);
        Ok(earlier.iter().try_for_each(decided).and_then(|()| check(old, new)))
    }

    /// Takes `new` back where `refused` says why, with the lock, once no schema is made of it any more: what is made of a schema
    /// that comes too late goes before it.
    fn take_back_if(&self, new: &TableSchema, refused: impl Fn() -> Result<Option<Error>>) -> Result<()> {
        let mut left = PATIENCE;
        loop {
            let lock = self.upkeep_lock(new)?;
            let Some(refused) = refused()? else { return Ok(()) };
            let later = self.ids().map_err(|e| self.half_done(new, e))?.into_iter().find(|id| *id > new.id);
            let Some(later) = later else { return self.delete_own(new).and(Err(refused)) };
            drop(lock);
            if left.is_zero() {
                let text = format!("schema {} came too late, and stays: schema {later} was made of it", new.id);
                return Err(Error::new(ErrorKind::CommitConflict, text)
                    .with("file", self.path(new.id))
                    .caused_by(refused)
                    .hint("change back what was changed"));
            }
            left = left.saturating_sub(PAUSE);
            thread::sleep(PAUSE);
        }
    }

    /// Whether all snapshots are older than a schema. One that has it was made under it.
    fn came_late(&self, new: &TableSchema) -> Result<bool> {
        let snapshots = SnapshotManager::new(self.fs.clone(), &self.root);
        let versions = snapshots.existing(snapshots.ids()?)?;
        Ok(!versions.is_empty() && versions.iter().all(|version| version.schema_id < new.id))
    }

    /// Deletes a schema that was published just now, unless another one has its place.
    fn take_back(&self, own: &TableSchema) -> Result<()> {
        let _lock = self.upkeep_lock(own)?;
        self.delete_own(own)
    }

    /// With the lock nobody else deletes.
    pub(super) fn delete_own(&self, own: &TableSchema) -> Result<()> {
        self.lock().remove(&own.id);
        if self.check_stored(own).is_ok() {
            self.fs.delete(&self.path(own.id))?;
        }
        Ok(())
    }

    pub(super) fn upkeep_lock(&self, own: &TableSchema) -> Result<UpkeepLock> {
        let left = || format!("schema {} was made of what has changed meanwhile, and is left", own.id);
        self.wait_for_upkeep().map_err(|e| Error::new(e.kind(), left()).with("file", self.path(own.id)).caused_by(e))
    }

    pub(super) fn wait_for_upkeep(&self) -> Result<UpkeepLock> {
        let location = match self.root.rsplit_once("/branch/branch-") {
            Some((location, branch)) if !branch.contains('/') => location,
            _ => self.root.as_str(),
        };
        UpkeepLock::take(&self.fs, location, PATIENCE)
    }

    fn half_done(&self, new: &TableSchema, cause: Error) -> Error {
        let text = match self.check_stored(new) {
            Err(e) if e.kind() == ErrorKind::CommitConflict => {
                format!("schema {} was published, and taken away by another process; then a call failed", new.id)
            }
            _ => format!("schema {} was published; then a call failed", new.id),
        };
        Error::new(cause.kind(), text).with("file", self.path(new.id)).caused_by(cause)
    }
}
