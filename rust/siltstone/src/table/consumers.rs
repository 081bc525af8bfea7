//! Consumers: names under which a table remembers how far readers of changes have come, and keeps what they have not read.

use super::{Table, replaced::explained};
use crate::{
    Error, ErrorKind, Result,
    cleanup::with_effect,
    commit::replaced,
    scan::{behind, check_checkpoint, check_progress, checkpoint, checkpoint_before, first_readable, rolled_back_to},
    snapshot::{Consumer, ConsumerManager, ConsumerProgress},
};

impl Table {
    /// Consumers of the table's branch.
    pub fn consumers(&self) -> ConsumerManager {
        self.context().consumers()
    }

    /// Returns what was there. Not in a table or branch that was made in the place of the one that was opened: nobody there would
    /// know the consumer.
    fn record(&self, id: &str, progress: &ConsumerProgress) -> Result<Option<ConsumerProgress>> {
        let (ctx, consumers) = (self.context(), self.consumers());
        self.check_not_replaced()?;
        let before = match consumers.progress(id) {
            // setting it is how a damaged one is mended
            Err(e) if e.kind() == ErrorKind::CorruptFile => Some(progress.clone()),
            found => found?,
        };
        let patience = ctx.options.upkeep_lock_timeout;
        let recorded = consumers.record(&ctx.location, id, (before.as_ref(), progress), patience);
        explained(ctx, recorded.map_err(|e| e.in_table(&ctx.name)))?;
        if let Some(error) = replaced(ctx)? {
            consumers.undo(id, progress, before.as_ref())?;
            return Err(error);
        }
        Ok(before)
    }

    /// All consumers.
    pub fn consumer_list(&self) -> Result<Vec<Consumer>> {
        self.found(self.consumers().list(), Vec::is_empty)
    }

    /// Sets a consumer to a snapshot whose changes can be read, long-lived changelogs included; `None` = the one after the
    /// latest.
    pub fn reset_consumer(&self, id: &str, next_snapshot: Option<i64>) -> Result<()> {
        let snapshots = self.context().snapshots();
        let removals = snapshots.removals().read()?.count;
        // others may commit and expire between these two looks
        let earliest = first_readable(self.context())?.unwrap_or(1);
        let latest = snapshots.latest_id()?.unwrap_or(0).max(earliest - 1);
        let next = next_snapshot.unwrap_or(latest + 1);
        if !(earliest..=latest + 1).contains(&next) {
            let message = format!("a consumer can go on with snapshots {earliest} to {}, not {next}", latest + 1);
            return Err(Error::new(ErrorKind::SnapshotNotFound, message)
                .with("table", &self.context().name)
                .with("snapshot", next)
                .hint(format!("the nearest is {}", next.clamp(earliest, latest + 1))));
        }
        let consumers = self.consumers();
        let progress = ConsumerProgress::changes_of(next, Some(behind(self.context(), next, removals)?));
        with_effect(self.set_consumer(id, &progress, removals), || {
            let is_set = consumers.progress(id)?.is_some_and(|found| found == progress);
            Ok(is_set.then(|| format!("the consumer '{id}' was set to snapshot {next}")))
        })
    }

    /// `removals`: how many records there were when its place was chosen.
    fn set_consumer(&self, id: &str, progress: &ConsumerProgress, removals: u64) -> Result<()> {
        let (snapshots, next) = (self.context().snapshots(), progress.next_snapshot);
        let before = self.record(id, progress)?;
        // an expiry that had chosen before the consumer was there, a rollback that came before its file
        let gone = if first_readable(self.context())?.is_some_and(|earliest| next < earliest) {
            Error::new(ErrorKind::SnapshotExpired, format!("snapshot {next} expired meanwhile"))
                .hint("set the consumer again, to a newer snapshot")
        } else if snapshots.removals().read()?.rolled_back_since(removals, next.saturating_sub(1)) {
            let text = format!("a rollback or fast-forward has taken back what is before snapshot {next} meanwhile");
            Error::new(ErrorKind::SnapshotNotFound, text).hint("set the consumer again, to a snapshot that exists")
        } else {
            return Ok(());
        };
        self.consumers().undo(id, progress, before.as_ref())?;
        Err(gone.with("table", &self.context().name).with("snapshot", next))
    }

    /// Deletes a consumer, also one whose file is damaged; false when there was none.
    pub fn delete_consumer(&self, id: &str) -> Result<bool> {
        let consumers = self.consumers();
        let known = consumers.ids()?.iter().any(|known| known == id);
        if known {
            consumers.delete(id)?;
        }
        Ok(known)
    }

    /// Registers a reader that begins, so that what it has not read is kept. `check_follows`: whether what lies before that is the
    /// table's still.
    ///
    /// # Errors
    /// `SnapshotExpired`: an expiry that had chosen before the consumer was there does not see it, and there is nothing to keep;
    /// `CommitConflict`: another reader has made it meanwhile; those of `check_follows`.
    pub(super) fn begin_consumer(
        &self,
        id: &str,
        first: &ConsumerProgress,
        check_follows: impl Fn() -> Result<()>,
    ) -> Result<()> {
        let (before, next) = (self.record(id, first)?, first.next_snapshot);
        let undo = || self.consumers().undo(id, first, before.as_ref());
        if let Err(error) = check_follows() {
            undo()?;
            return Err(error);
        }
        match first_readable(self.context())? {
            Some(earliest) if next < earliest => {
                undo()?;
                Err(Error::new(ErrorKind::SnapshotExpired, format!("snapshot {next} expired while the consumer began"))
                    .with("table", &self.context().name)
                    .with("consumer", id)
                    .hint("begin again"))
            }
            _ => Ok(()),
        }
    }

    /// Where a consumer goes on: the next snapshot, whether with its whole state, which nobody has read to its end, and what it has
    /// read as a checkpoint, where its file says that. `None`: there is no such consumer.
    ///
    /// # Errors
    /// `SnapshotExpired`; `SnapshotNotFound`: what it has read was taken back by a rollback.
    pub fn consumer_place(&self, id: &str) -> Result<Option<(i64, bool, Option<String>)>> {
        let Some(known) = self.found(self.consumers().get(id), Option::is_none)? else { return Ok(None) };
        if !known.progress.reads_state {
            check_progress(self.context(), &known)?;
        }
        let ConsumerProgress { next_snapshot, reads_state, behind } = known.progress;
        let read = behind.map(|behind| checkpoint_before(self.context(), next_snapshot, behind)).transpose()?;
        Ok(Some((next_snapshot, reads_state, read)))
    }

    /// Registers a reader that keeps its place itself: it begins with the whole state of a snapshot, or goes on after a checkpoint.
    ///
    /// # Errors
    /// `SnapshotExpired`: an expiry that had chosen before the consumer was there; `CommitConflict`: another reader has made it
    /// meanwhile; those of [`Table::check_checkpoint`].
    pub fn register_consumer(&self, id: &str, next: i64, checkpoint: Option<&str>) -> Result<()> {
        let Some(text) = checkpoint else {
            let first = ConsumerProgress { next_snapshot: next, reads_state: true, behind: None };
            return self.begin_consumer(id, &first, || Ok(()));
        };
        let behind = check_checkpoint(self.context(), text)?.behind;
        self.begin_consumer(id, &ConsumerProgress::changes_of(next, behind), || self.check_checkpoint(text))
    }

    /// The place of a reader that has read everything up to a snapshot, as a text that it keeps.
    pub fn checkpoint(&self, snapshot: i64) -> Result<String> {
        explained(self.context(), checkpoint(self.context(), snapshot))
    }

    /// What a reader has read up to its checkpoint is the table's still, or has expired.
    ///
    /// # Errors
    /// `SnapshotNotFound`: a rollback or fast-forward has taken it back, or another table is in its place.
    pub fn check_checkpoint(&self, text: &str) -> Result<()> {
        check_checkpoint(self.context(), text).map(drop)
    }

    /// Lets a consumer go on after a checkpoint.
    ///
    /// # Errors
    /// As [`Table::check_checkpoint`].
    pub fn consumer_passed(&self, id: &str, text: &str) -> Result<()> {
        let progress = check_checkpoint(self.context(), text)?;
        self.remember(id, &progress, || self.check_checkpoint(text))
    }

    /// Not what a rollback has taken back, whose ids are given again: whoever goes on with the consumer would pass over them.
    pub(super) fn remember(
        &self,
        id: &str,
        progress: &ConsumerProgress,
        check_follows: impl Fn() -> Result<()>,
    ) -> Result<()> {
        self.check_not_replaced()?;
        check_follows()?;
        self.record(id, progress)?;
        let rolled_back = check_follows();
        if rolled_back.is_err()
            && let Some(target) = rolled_back_to(self.context(), progress)?
        {
            self.record(id, &target).map(drop)?;
        }
        rolled_back
    }
}
