//! The `snapshot/` directory of a table or branch: discovery by hints and listing, exclusive publishing.

use super::Snapshot;
use crate::{
    error::{Error, ErrorKind, Result},
    fs::FileIoRef,
};

/// Snapshots of a table, or of a branch (`branch_root`).
#[derive(Clone, Debug)]
pub struct SnapshotManager {
    fs: FileIoRef,
    directory: String,
}

impl SnapshotManager {
    /// Snapshots below `branch_root` (`path::branch_root`).
    pub fn new(fs: FileIoRef, branch_root: &str) -> Self {
        Self { fs, directory: format!("{}/snapshot", branch_root.trim_end_matches('/')) }
    }

    /// Path of `snapshot-<id>`.
    pub fn path(&self, id: i64) -> String {
        format!("{}/snapshot-{id}", self.directory)
    }

    /// The newest snapshot's id; `None` for an empty table.
    pub fn latest_id(&self) -> Result<Option<i64>> {
        let _ = &self.fs;
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// The oldest snapshot's id.
    pub fn earliest_id(&self) -> Result<Option<i64>> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// All ids, ascending, from the listing.
    pub fn ids(&self) -> Result<Vec<i64>> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// One snapshot; `SnapshotExpired` or `SnapshotNotFound` with the available range.
    pub fn get(&self, _id: i64) -> Result<Snapshot> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// The newest snapshot; `None` for an empty table.
    pub fn latest(&self) -> Result<Option<Snapshot>> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// The newest snapshot that was committed at or before this time (epoch milliseconds).
    pub fn at_or_before(&self, _millis: i64) -> Result<Option<Snapshot>> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// Publishes a snapshot under its id without replacing anything. `false`: another commit has that id.
    /// The same content already there counts as published: an earlier attempt did succeed.
    pub fn publish(&self, _snapshot: &Snapshot, _sync: bool) -> Result<bool> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// Overwrites the `LATEST` hint. Best effort: a wrong hint is no error for readers.
    pub fn write_latest_hint(&self, _id: i64) -> Result<()> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }
}
