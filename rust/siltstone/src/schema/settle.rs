//! What may have happened while a changed schema was published, and how it ends.
//!
//! ```text
//! alter    reads schema 0, finds no snapshot … publishes schema 1 …              … looks again
//! others              fast-forward; commit the first snapshot under schema 0
//! ```

use std::{sync::Arc, time::Duration};

use super::fixed::fixed_option_changed;
use super::refusal::forbidden_change;
use super::{CheckChange, SchemaManager, TableSchema};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::read_json;
use crate::snapshot::{SnapshotManager, UpkeepLock};

/// How long to wait for a fast-forward that has replaced a schema, or a commit that takes its snapshot back.
const PATIENCE: Duration = Duration::from_secs(30);

impl SchemaManager {
    /// Looks again after `new`, made of `old`, was published; where it came too late it is taken back.
    ///
    /// # Errors
    /// `CommitConflict`: `old` is not there any more; `IllegalSchemaChange`: the first snapshot has come about under the
    /// options that are fixed from then on, and `new` changes one of them; or `check` refuses what has come about meanwhile.
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
        self.check_in_time(old, new)?;
        self.check_again(old, new, check)?;
        self.get(new.id).map_err(|e| match e.kind() {
            ErrorKind::FileNotFound => {
                Error::new(ErrorKind::CommitConflict, "a fast-forward has taken the new schema away")
                    .with("file", self.path(new.id))
                    .hint("open the table again, and change what it is now")
            }
            _ => self.half_done(new, e),
        })
    }

    /// An error when the file of a schema that was read before has another content, or is gone.
    pub(super) fn check_stored(&self, known: &TableSchema) -> Result<()> {
        let path = self.path(known.id);
        match read_json(&*self.fs, &path) {
            Ok(bytes) if TableSchema::from_json(&path, &bytes)? == *known => Ok(()),
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

    /// Takes `new` back where the first snapshot came about before it. A commit that finds `new` takes its snapshot back under
    /// the same lock: one of them stays.
    fn check_in_time(&self, old: &TableSchema, new: &TableSchema) -> Result<()> {
        let Some(option) = fixed_option_changed(old, new) else { return Ok(()) };
        if !self.came_late(new).map_err(|e| self.half_done(new, e))? {
            return Ok(());
        }
        let _lock = self.upkeep_lock(new)?;
        if self.came_late(new).map_err(|e| self.half_done(new, e))? {
            self.delete_own(new)?;
            let message = format!("'{option}' cannot change any more: meanwhile the table got its first snapshot");
            return Err(forbidden_change(message).with("option", option).hint("create another table"));
        }
        Ok(())
    }

    /// Takes `new` back where `check` refuses it by now. A commit of what it refuses finds `new` and takes its snapshot back
    /// under the same lock: one of them stays.
    fn check_again(&self, old: &TableSchema, new: &TableSchema, check: CheckChange<'_>) -> Result<()> {
        if check(old, new).is_ok() {
            return Ok(());
        }
        let _lock = self.upkeep_lock(new)?;
        match check(old, new) {
            Err(e) if e.kind() != ErrorKind::IllegalSchemaChange => Err(self.half_done(new, e)),
            Err(refused) if self.came_late(new).map_err(|e| self.half_done(new, e))? => {
                self.delete_own(new).and(Err(refused))
            }
            Err(refused) => {
                let text = format!("schema {} was published, and snapshots were made under it meanwhile", new.id);
                Err(forbidden_change(text).with("file", self.path(new.id)).caused_by(refused).hint("change it back"))
            }
            Ok(()) => Ok(()),
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
    fn delete_own(&self, own: &TableSchema) -> Result<()> {
        self.lock().remove(&own.id);
        if self.check_stored(own).is_ok() {
            self.fs.delete(&self.path(own.id))?;
        }
        Ok(())
    }

    fn upkeep_lock(&self, own: &TableSchema) -> Result<UpkeepLock> {
        let location = match self.root.rsplit_once("/branch/branch-") {
            Some((location, branch)) if !branch.contains('/') => location,
            _ => self.root.as_str(),
        };
        let left = || format!("schema {} was made of what has changed meanwhile, and is left", own.id);
        UpkeepLock::take(&self.fs, location, PATIENCE)
            .map_err(|e| Error::new(e.kind(), left()).with("file", self.path(own.id)).caused_by(e))
    }

    fn half_done(&self, new: &TableSchema, cause: Error) -> Error {
        let text = format!("schema {} was published; then a call failed", new.id);
        Error::new(cause.kind(), text).with("file", self.path(new.id)).caused_by(cause)
    }
}
