//! From commit messages to snapshots: conflict checks, manifests, publishing, retry.
//!
//! Source: semantics chapter e, format chapter 1.7; `FileStoreCommitImpl`, `ConflictDetection`.

mod model;

pub use model::{CommitOutcome, Committable, CompactionOutcome, OverwriteTarget, PartitionSpec};

use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    manifest::ManifestEntry,
    operation::CommitMessage,
    snapshot::Snapshot,
};

/// Commits to one table on behalf of one user.
#[derive(Debug)]
pub struct TableCommit {}

impl TableCommit {
    /// A committer of an existing user, whose earlier commits are looked up.
    pub fn new(_context: &TableContext, _commit_user: &str) -> Self {
        Self {}
    }

    /// A committer of a user made just now (a new UUID), which cannot have committed before.
    pub fn with_new_user(_context: &TableContext) -> Self {
        Self {}
    }

    /// The user.
    pub fn commit_user(&self) -> &str {
        ""
    }

    /// Commits new files (APPEND) and compactions (COMPACT), each with its own outcome.
    pub fn commit(&self, _committable: Committable) -> Result<CommitOutcome> {
        Err(not_yet())
    }

    /// Replaces partitions by new files.
    pub fn overwrite(&self, _target: &OverwriteTarget, _committable: Committable) -> Result<CommitOutcome> {
        Err(not_yet())
    }

    /// Deletes all rows, or those of the partitions that match any of the specifications.
    pub fn truncate(&self, _partitions: Option<&[PartitionSpec]>) -> Result<CommitOutcome> {
        Err(not_yet())
    }

    /// The files that [`TableCommit::truncate`] would take out of the table.
    pub fn plan_truncate(&self, _partitions: Option<&[PartitionSpec]>) -> Result<Vec<ManifestEntry>> {
        Err(not_yet())
    }

    /// Rewrites the manifests so that none holds a deleted entry; `None` when there is nothing to do.
    pub fn compact_manifests(&self) -> Result<Option<Snapshot>> {
        Err(not_yet())
    }

    /// Deletes the files of messages that were not committed.
    pub fn abort(&self, _messages: &[CommitMessage]) -> Result<()> {
        Err(not_yet())
    }
}

fn not_yet() -> Error {
    Error::new(ErrorKind::Internal, "not yet")
}
