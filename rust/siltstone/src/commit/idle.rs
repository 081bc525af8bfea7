//! Dropping partitions that nobody writes to any more: who writes to one before the drop is published keeps it.

use std::collections::HashSet;

use super::{CommitOutcome, Committable, FileChanges, Partitions, Source, TableCommit, outcome_of, request};
use crate::{
    error::Result,
    io::TableContext,
    manifest::{EntryKind, ManifestStore},
    snapshot::{CommitKind, Snapshot},
};

impl TableCommit {
    /// Deletes all rows of those of these partitions (serialized rows) that nobody has written to since a time (local wall
    /// clock, epoch milliseconds), as the table is when they are dropped. Returns which of them these are, too; an error when
    /// that cannot be read any more.
    pub fn drop_idle_partitions(
        &self,
        partitions: HashSet<Vec<u8>>,
        since: i64,
    ) -> Result<(CommitOutcome, Result<HashSet<Vec<u8>>>)> {
        let partitions = Partitions::Idle { of: partitions, since };
        let new = FileChanges::default();
        let source = Source::Overwrite { partitions: &partitions, new: &new };
        let published = self.publish(&request(&Committable::default(), CommitKind::Overwrite, source))?;
        let dropped = published.snapshot.as_ref().map(|snapshot| dropped(&self.ctx, snapshot));
        Ok((outcome_of(published), dropped.unwrap_or_else(|| Ok(HashSet::new()))))
    }
}

/// The partitions of which a snapshot deletes files.
fn dropped(ctx: &TableContext, snapshot: &Snapshot) -> Result<HashSet<Vec<u8>>> {
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?;
    let entries = store.read_all(&store.read_list(snapshot.delta_list())?, &|_| true)?;
    let deleted = entries.into_iter().filter(|entry| entry.kind == EntryKind::Delete);
    Ok(deleted.map(|entry| entry.partition).collect())
}
