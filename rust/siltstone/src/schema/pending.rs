//! Schemas that change an option that is fixed once the table has snapshots ([`super::fixed`]), until it is decided whether they
//! came before the first one; and those that change an option by which rows that are there are taken otherwise
//! ([`rows_option_changed`]), until their own alter, which holds the lock all the time, has seen that there are no such rows.
//!
//! ```text
//! alter    finds no snapshot …                                publishes schema 1, pending …     … with the lock: does it count?
//! others                        commit the first snapshot                              (killed here)
//! ```
//!
//! Such a schema says in its own file that it is pending (`siltstone.pending`, which other programs do not read). It came too late
//! where the newest version was made under an older schema that has the option otherwise. While it is pending,
//!
//! - whoever opens or reads the table goes by the schema before it, where it came too late;
//! - a commit that finds it takes it away, where it came too late, and gives way to it otherwise;
//! - an alter decides about it first: it is taken away, or its file is replaced by one that does not say it any more.
//!
//! Nobody but its own alter looks at rows: for all others the second kind came too late, as long as it is pending. Who has the lock
//! and finds one knows that its alter is not at work any more, and makes a schema after it that is as the one before it. It is not
//! deleted: other programs, which do not know that it is pending, may have been opened under it, and bring files of it.
//!
//! What takes it away or decides that it counts holds the upkeep lock, so one of the two happens. Its own alter does neither
//! before it has the lock: killed before that, it leaves a schema that counts only where no version speaks against it.
//!
//! A schema that counts says that it was decided. A version that came about later under an older schema, because its writer was
//! held up before it gave the version its name, is none that anybody was told of: its writer takes it back, and where that one is
//! killed, the next commit does ([`SchemaManager::is_late_version`]).

use std::sync::Arc;

use super::fixed::{fixed_option_changed, rows_option_changed};
use super::refusal::forbidden_change;
use super::{SchemaManager, TableSchema};
use crate::env::now_millis;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::read_json;
use crate::limits::next_id;
use crate::snapshot::{Snapshot, SnapshotManager, UpkeepLock};

/// The member of the JSON object.
pub(super) const MEMBER: &str = "siltstone.pending";

impl SchemaManager {
    /// The schema with the largest id, after one that is pending and came too late was taken away.
    pub fn newest_in_time(&self, _lock: &UpkeepLock) -> Result<Option<Arc<TableSchema>>> {
        loop {
            match self.newest()? {
                Some(late) if late.is_pending() && self.late_option(&late)?.is_some() => self.undo(&late)?,
                newest => return Ok(newest),
            }
        }
    }

    /// Decides about the newest schema where it is pending, so that another one can be made of it, or of the one before.
    pub(super) fn decide(&self) -> Result<()> {
        match self.newest()? {
            Some(newest) if newest.is_pending() => {
                let lock = self.wait_for_upkeep().map_err(|e| {
                    let text = format!("another process is about to decide whether schema {} counts", newest.id);
                    Error::new(e.kind(), text).with("file", self.path(newest.id)).hint("try again").caused_by(e)
                })?;
                match self.confirm_with(&lock, &newest, false) {
                    Err(e) if matches!(e.kind(), ErrorKind::IllegalSchemaChange | ErrorKind::CommitConflict) => Ok(()),
                    decided => decided,
                }
            }
            _ => Ok(()),
        }
    }

    /// Makes `new` count, or takes it away where it came too late.
    ///
    /// # Errors
    /// `IllegalSchemaChange`: it came too late; `CommitConflict`: another process has taken it away.
    pub(super) fn confirm(&self, new: &TableSchema) -> Result<()> {
        let lock = self.upkeep_lock(new)?;
        self.confirm_with(&lock, new, false)
    }

    /// Decides about the newest schemas that are pending, with the lock: what is copied is decided.
    ///
    /// # Errors
    /// As reading and writing them.
    pub fn decide_with(&self, lock: &UpkeepLock) -> Result<()> {
        match self.newest_in_time(lock)? {
            Some(newest) if newest.is_pending() => self.confirm_with(lock, &newest, false),
            _ => Ok(()),
        }
    }

    /// `looked`: with the same lock, whether rows are there that `new` would make others of.
    pub(super) fn confirm_with(&self, _lock: &UpkeepLock, new: &TableSchema, looked: bool) -> Result<()> {
        let path = self.path(new.id);
        let version = self.fs.version(&path)?;
        let found = match read_json(&*self.fs, &path) {
            Ok(bytes) => TableSchema::from_json(&path, &bytes)?,
            Err(e) if e.kind() == ErrorKind::FileNotFound => return Err(self.gone(new)),
            Err(e) => return Err(e),
        };
        if !found.is_same(new) {
            return Err(self.gone(new));
        }
        if !found.is_pending() {
            return Ok(());
        }
        let is_fixed = self.changes_fixed_option(&found)?;
        let late = match (looked, is_fixed) {
            (false, _) => self.late_option(&found)?,
            (true, true) => self.late_fixed_option(&found)?,
            (true, false) => None,
        };
        if let Some(option) = late {
            return match self.ids()?.into_iter().find(|id| *id > found.id) {
                None => self.undo(&found).and(Err(came_too_late(&option))),
                Some(later) => Err(self.stays(&found, later).caused_by(came_too_late(&option))),
            };
        }
        // versions are late by a schema that changes a fixed option alone
        let decided = TableSchema { pending: is_fixed.then_some(false), ..found };
        // one that was held up for longer than the lock lasts comes to nothing where the schema was taken away meanwhile
        match self.fs.overwrite_version(&path, decided.to_json()?.as_bytes(), version.as_deref()) {
            Err(e) if e.kind() == ErrorKind::CommitConflict => return Err(self.gone(new)),
            decided => decided?,
        }
        self.fs.sync_dir(&self.directory())
    }

    /// Whether a schema is of the first kind: it changes an option that is fixed by the schema that it was made of.
    fn changes_fixed_option(&self, new: &TableSchema) -> Result<bool> {
        match self.ids()?.into_iter().rfind(|id| *id < new.id) {
            Some(before) => Ok(fixed_option_changed(&*self.get(before)?, new).is_some()),
            None => Ok(true),
        }
    }

    /// Takes a schema that came too late away, or back: the newest one says what the one before it said. With the lock.
    pub(super) fn undo(&self, late: &TableSchema) -> Result<()> {
        if self.changes_fixed_option(late)? {
            // no rows were written under it: other programs look whether there are versions, too
            return self.delete_own(late);
        }
        let before = self.in_time(Arc::new(late.clone()))?;
        let Some(id) = next_id(late.id).filter(|_| before.id < late.id) else { return self.delete_own(late) };
        let back = TableSchema {
            id,
            time_millis: now_millis(),
            highest_field_id: before.highest_field_id.max(late.highest_field_id),
            pending: None,
            ..(*before).clone()
        };
        // where another program has made a schema of it, that one is the newest
        self.publish_if(&back, &|| self.check_stored(late)).map(drop)
    }

    /// The option that is fixed in a table with snapshots, or of one that is pending an option by which rows are taken otherwise,
    /// and that `newest`, the newest schema, has otherwise than the one of the newest version: one that is pending came too late.
    pub fn late_option(&self, newest: &TableSchema) -> Result<Option<String>> {
        self.late_option_beside(newest, self)
    }

    /// The option that is fixed in a table with snapshots, and that `newest` has otherwise than the newest version.
    fn late_fixed_option(&self, newest: &TableSchema) -> Result<Option<String>> {
        let made_with = self.made_with(newest, self)?;
        Ok(made_with.and_then(|made_with| fixed_option_changed(&made_with, newest)))
    }

    /// [`Self::late_option`] of a main that goes forward to a `branch`: its version may be the branch's first one, whose schema has
    /// not come yet.
    pub(crate) fn late_option_beside(&self, newest: &TableSchema, branch: &Self) -> Result<Option<String>> {
        let Some(made_with) = self.made_with(newest, branch)? else { return Ok(None) };
        let of_rows = if newest.is_pending() { rows_option_changed(&made_with, newest)? } else { None };
        Ok(fixed_option_changed(&made_with, newest).or_else(|| of_rows.map(str::to_owned)))
    }

    /// The schema of the newest version where it is older than `newest`.
    fn made_with(&self, newest: &TableSchema, branch: &Self) -> Result<Option<Arc<TableSchema>>> {
        // a main whose fast-forward has died is opened, so that it can be run again
        let version = SnapshotManager::new(self.fs.clone(), &self.root).latest_by_records()?;
        let Some(version) = version.filter(|version| version.schema_id < newest.id) else { return Ok(None) };
        match self.get(version.schema_id) {
            Err(e) if e.kind() == ErrorKind::FileNotFound => branch.get(version.schema_id).map(Some),
            found => found.map(Some),
        }
    }

    /// The error of an alter whose schema is not there any more.
    fn gone(&self, new: &TableSchema) -> Error {
        match self.late_fixed_option(new) {
            Ok(Some(option)) => came_too_late(&option),
            Ok(None) | Err(_) => Error::new(ErrorKind::CommitConflict, "a fast-forward has taken the new schema away")
                .with("file", self.path(new.id))
                .hint("open the table again, and change what it is now"),
        }
    }

    /// The schema with the largest id, and the one to go by: the one before, where that one is pending and came too late.
    pub(super) fn in_time(&self, newest: Arc<TableSchema>) -> Result<Arc<TableSchema>> {
        let mut found = Arc::clone(&newest);
        // those of a branch come together
        while found.is_pending() && self.late_option(&found)?.is_some() {
            let Some(before) = self.ids()?.into_iter().rfind(|id| *id < found.id) else { return Ok(newest) };
            found = self.get(before)?;
        }
        Ok(found)
    }

    /// Whether a version was made under an older schema than one that was decided before it, and whose options its files do not
    /// have: nobody was told that it is committed.
    pub fn is_late_version(&self, version: &Snapshot) -> Result<bool> {
        let later = self.ids()?.into_iter().filter(|id| *id > version.schema_id);
        let later = later.map(|id| self.get(id)).collect::<Result<Vec<_>>>()?;
        let Some(newest) = later.last() else { return Ok(false) };
        let written = match self.get(version.schema_id) {
            Err(e) if e.kind() == ErrorKind::FileNotFound => return Ok(false),
            written => written?,
        };
        let changes = |schema: &Arc<TableSchema>| fixed_option_changed(&written, schema).is_some();
        Ok(changes(newest) && later.iter().any(|schema| schema.pending == Some(false) && changes(schema)))
    }

    /// The error where another program has made a schema of one that came too late.
    fn stays(&self, late: &TableSchema, later: i64) -> Error {
        let text = format!("schema {} came too late, and stays: schema {later} was made of it", late.id);
        Error::new(ErrorKind::CommitConflict, text).with("file", self.path(late.id)).hint("set the option back")
    }
}

impl TableSchema {
    /// Whether two files say the same, be it decided or not.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        *self == Self { pending: self.pending, ..other.clone() }
    }
}

fn came_too_late(option: &str) -> Error {
    forbidden_change(format!("'{option}' cannot change any more: meanwhile the table got its first snapshot"))
        .with("option", option)
        .hint("create another table")
}
