//! The committer of a table: it commits, and then does what the table's options ask for.

use std::ops::Deref;

use super::{Committed, after_commit};
use crate::{
    Result,
    commit::{CommitOutcome, Committable, OverwriteTarget, TableCommit},
    env::ClockRef,
    io::TableContext,
    maintenance::iceberg,
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

    fn maintained(&self, mut outcome: CommitOutcome, batch: bool) -> CommitOutcome {
        let snapshot = outcome.snapshots.iter().map(|snapshot| snapshot.id).max();
        let committed = Committed { snapshot, batch, now: self.0.now_millis() };
        if let Err(error) = iceberg::publish(self.0.context(), &outcome.snapshots) {
            tracing::warn!(%error, "Iceberg metadata after a commit failed");
            outcome.notes.push(format!("the commit is done, its Iceberg metadata failed: {error}"));
        }
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
