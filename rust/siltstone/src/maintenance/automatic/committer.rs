//! The committer of a table: it commits, and then does what the table's options ask for.

use std::{collections::HashSet, ops::Deref};

use super::{Committed, after_commit};
use crate::{
    Result,
    commit::{CommitOutcome, Committable, OverwriteTarget, TableCommit},
    env::ClockRef,
    io::TableContext,
    maintenance::iceberg,
    scan::PartitionSpec,
    snapshot::Snapshot,
};

/// A [`TableCommit`] that what is automatic follows; all that it does not do itself is the commit's.
#[derive(Debug)]
pub struct Committer(TableCommit);

impl Committer {
    /// [`TableCommit::new`]
    pub fn new(context: &TableContext, commit_user: &str) -> Self {
        Self(TableCommit::new(context, commit_user))
    }

    /// [`TableCommit::with_new_user`]
    pub fn with_new_user(context: &TableContext) -> Self {
        Self(TableCommit::with_new_user(context))
    }

    /// [`TableCommit::with_clock`]
    #[must_use]
    pub fn with_clock(self, clock: ClockRef) -> Self {
        Self(self.0.with_clock(clock))
    }

    /// [`TableCommit::commit`]; then automatic tags and expiry, whose failures are notes of the outcome.
    pub fn commit(&self, committable: Committable) -> Result<CommitOutcome> {
        let batch = committable.is_batch();
        self.0.commit(committable).map(|outcome| self.maintained(outcome, batch))
    }

    /// [`TableCommit::overwrite`]; then as [`Committer::commit`].
    pub fn overwrite(&self, target: &OverwriteTarget, committable: Committable) -> Result<CommitOutcome> {
        let batch = committable.is_batch();
        self.0.overwrite(target, committable).map(|outcome| self.maintained(outcome, batch))
    }

    /// [`TableCommit::truncate`]; then Iceberg metadata. As in Java neither tags nor expiry follow.
    pub fn truncate(&self, partitions: Option<&[PartitionSpec]>) -> Result<CommitOutcome> {
        self.0.truncate(partitions).map(|outcome| self.described(outcome))
    }

    /// [`TableCommit::drop_partitions`]; then as [`Committer::truncate`].
    pub fn drop_partitions(&self, partitions: HashSet<Vec<u8>>) -> Result<CommitOutcome> {
        self.0.drop_partitions(partitions).map(|outcome| self.described(outcome))
    }

    /// [`TableCommit::compact_manifests`]; then as [`Committer::truncate`], but a failure is only logged: rows and files are the same.
    pub fn compact_manifests(&self) -> Result<Option<Snapshot>> {
        let snapshot = self.0.compact_manifests()?;
        iceberg::after_commit(self.0.context(), snapshot.as_slice());
        Ok(snapshot)
    }

    fn described(&self, mut outcome: CommitOutcome) -> CommitOutcome {
        outcome.notes.extend(iceberg::after_commit(self.0.context(), &outcome.snapshots));
        outcome
    }

    fn maintained(&self, outcome: CommitOutcome, batch: bool) -> CommitOutcome {
        let newest = outcome.snapshots.iter().max_by_key(|snapshot| snapshot.id);
        let newest = newest.map(|snapshot| (snapshot.id, snapshot.schema_id));
        let committed = Committed { newest, batch, now: self.0.now_millis() };
        let mut outcome = self.described(outcome);
        outcome.notes.extend(after_commit(self.0.context(), committed));
        outcome
    }
}

impl Deref for Committer {
    type Target = TableCommit;

    fn deref(&self) -> &TableCommit {
        &self.0
    }
}
