//! The `tag/` directory: named snapshots.

use super::Snapshot;
use crate::{
    error::{Error, ErrorKind, Result},
    fs::FileIoRef,
};

/// Tags of a table, or of a branch.
#[derive(Clone, Debug)]
pub struct TagManager {
    fs: FileIoRef,
    directory: String,
}

impl TagManager {
    /// Tags below `branch_root` (`path::branch_root`).
    pub fn new(fs: FileIoRef, branch_root: &str) -> Self {
        Self { fs, directory: format!("{}/tag", branch_root.trim_end_matches('/')) }
    }

    /// Path of `tag-<name>`.
    pub fn path(&self, name: &str) -> String {
        format!("{}/tag-{name}", self.directory)
    }

    /// The snapshot that a tag names; `TagNotFound`.
    pub fn get(&self, _name: &str) -> Result<Snapshot> {
        let _ = &self.fs;
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// Names of all tags, sorted.
    pub fn names(&self) -> Result<Vec<String>> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// All tags, by snapshot id and then name.
    pub fn list(&self) -> Result<Vec<(String, Snapshot)>> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }
}
