//! The `changelog/` directory: expired snapshots whose changelog lives on.
//!
//! `changelog-<id>` is the JSON of the snapshot. Hints are written like those of snapshots; `LATEST` may hold -1 after a
//! rollback, and counts as absent then.
//!
//! Source: format chapter 3.4, semantics g.3; `ChangelogManager`.

use super::{
    Snapshot,
    manager::{parse_id, read_hint},
};
use crate::{
    error::{Error, ErrorKind, Result},
    fs::{FileIoRef, read_json},
};

const PREFIX: &str = "changelog-";

/// Long-lived changelogs of a table or branch.
#[derive(Clone, Debug)]
pub struct ChangelogManager {
    fs: FileIoRef,
    directory: String,
}

impl ChangelogManager {
    /// Changelogs below `branch_root` (`path::branch_root`).
    pub fn new(fs: FileIoRef, branch_root: &str) -> Self {
        Self { fs, directory: format!("{}/changelog", branch_root.trim_end_matches('/')) }
    }

    /// Where they are.
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// Path of `changelog-<id>`.
    pub fn path(&self, id: i64) -> String {
        format!("{}/{PREFIX}{id}", self.directory)
    }

    /// Path of a hint: `EARLIEST` or `LATEST`.
    pub fn hint_path(&self, name: &str) -> String {
        format!("{}/{name}", self.directory)
    }

    /// All ids, ascending.
    pub fn ids(&self) -> Result<Vec<i64>> {
        let listed = self.fs.list(&self.directory)?;
        let names = listed.iter().filter(|file| !file.is_dir).filter_map(|file| file.path.rsplit('/').next());
        let mut ids: Vec<i64> = names.filter_map(|name| parse_id(name.strip_prefix(PREFIX)?)).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// The oldest changelog's id.
    pub fn earliest_id(&self) -> Result<Option<i64>> {
        match read_hint(&self.fs, &self.hint_path("EARLIEST"))? {
            Some(id) if self.fs.is_file(&self.path(id))? => Ok(Some(id)),
            _ => Ok(self.ids()?.first().copied()),
        }
    }

    /// The newest changelog's id.
    pub fn latest_id(&self) -> Result<Option<i64>> {
        Ok(self.ids()?.last().copied())
    }

    /// One changelog; `FileNotFound` when it has expired.
    pub fn get(&self, id: i64) -> Result<Snapshot> {
        let path = self.path(id);
        let changelog = Snapshot::from_json(&path, &read_json(&*self.fs, &path)?)?;
        if changelog.id == id {
            return Ok(changelog);
        }
        Err(Error::corrupt(path, 0, format!("the changelog with id {id}"), format!("id {}", changelog.id)))
    }

    /// All changelogs, ascending; those that vanish meanwhile are left out.
    pub fn list(&self) -> Result<Vec<Snapshot>> {
        let mut found = Vec::new();
        for id in self.ids()? {
            match self.get(id) {
                Ok(changelog) => found.push(changelog),
                Err(e) if e.kind() == ErrorKind::FileNotFound => {}
                Err(e) => return Err(e),
            }
        }
        Ok(found)
    }
}
