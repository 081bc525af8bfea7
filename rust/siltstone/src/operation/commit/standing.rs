//! After publishing: is the snapshot part of the line?
//!
//! ```text
//! writer A  reads the line (latest 1), prepares snapshot 2 …                                  … publishes snapshot 2
//! others              publish 2, 3, 4, and let all before 4 expire: the name snapshot-2 is free
//! ```
//!
//! Publishing without replacing does not notice this. Removals of siltstone leave a record, which tells for certain
//! ([`crate::snapshot::RemovalLog::standing`]). Those of other programs leave none: what can be seen of them is looked for in the snapshots
//! themselves, the one that the commit was built on first.

use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    operation::cleanup::upkeep_lock,
    snapshot::{RemovalKind, RemovedSnapshot, Snapshot, SnapshotManager, Standing, UpkeepLock},
};

/// A snapshot that was or may have been published, and what its writer knew.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub(super) snapshot: Snapshot,
    /// The snapshot that it was built on.
    pub(super) base: Option<RemovedSnapshot>,
    /// How many removal records were known.
    pub(super) known: u64,
}

impl Attempt {
    /// Where it stands after it was published.
    pub(super) fn standing(&self, snapshots: &SnapshotManager) -> Result<Standing> {
        let recorded = snapshots.removals().standing(&self.snapshot, self.known)?;
        if recorded != Standing::Committed || self.base_is_there(snapshots)? {
            return Ok(recorded);
        }
        let base_removed = match &self.base {
            Some(base) => snapshots.removals().removed_by(base, self.known)?,
            None => None,
        };
        match base_removed {
            // that record may have come after the first look
            Some(_) => snapshots.removals().standing(&self.snapshot, self.known),
            None if self.is_in_line(snapshots)? => Ok(Standing::Committed),
            None => Ok(Standing::TooLate),
        }
    }

    /// Whether it was in the line and has expired since.
    pub(super) fn has_expired(&self, snapshots: &SnapshotManager) -> Result<bool> {
        let removed = snapshots.removals().removed_by(&RemovedSnapshot::from(&self.snapshot), self.known)?;
        Ok(removed == Some(RemovalKind::Expire))
    }

    fn base_is_there(&self, snapshots: &SnapshotManager) -> Result<bool> {
        let Some(base) = &self.base else { return Ok(false) };
        match snapshots.get(base.id) {
            Ok(found) => Ok(base.is(&found)),
            Err(e) if is_gone(&e) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// What the snapshots themselves say when another program, which leaves no records, has removed the base.
    fn is_in_line(&self, snapshots: &SnapshotManager) -> Result<bool> {
        let id = self.snapshot.id;
        // without what an expiry that died has left before the fence
        let fence = snapshots.removals().read()?.fence;
        let ids: Vec<i64> =
            snapshots.listed_ids()?.into_iter().filter(|other| *other >= fence || *other == id).collect();
        if let Some(next) = ids.iter().find(|other| **other > id) {
            // others went on: from this snapshot, or from one of the same id that has gone
            let follower = snapshots.get(*next);
            return Ok(*next == id + 1 && follower.is_ok_and(|next| next.time_millis >= self.snapshot.time_millis));
        }
        // nothing before it: all of that has expired; otherwise there is a hole, which a rollback has left
        Ok(self.base.is_none() || ids.iter().all(|other| *other >= id))
    }
}

fn is_gone(e: &Error) -> bool {
    matches!(e.kind(), ErrorKind::SnapshotExpired | ErrorKind::SnapshotNotFound)
}

/// What became of a snapshot that came too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Withdrawn {
    /// It is gone: the files that it names may go, too.
    Gone,
    /// The next upkeep removes it: nobody takes it for a version, because a record says so.
    Left,
    /// A second look, with the lock, finds it in the line.
    Committed,
}

/// Deletes the snapshot of a commit that came too late. Where no record says that it did, others may take it for a version:
/// then nothing goes on before it is gone.
pub(super) fn withdraw(ctx: &TableContext, snapshots: &SnapshotManager, attempt: &Attempt) -> Result<Withdrawn> {
    let recorded = snapshots.removals().standing(&attempt.snapshot, attempt.known)? == Standing::TooLate;
    let _lock = match UpkeepLock::try_take(&ctx.fs, &ctx.location)? {
        Some(lock) => lock,
        None if recorded => return Ok(Withdrawn::Left),
        None => upkeep_lock(ctx)?,
    };
    let found = match snapshots.get(attempt.snapshot.id) {
        Ok(found) => found,
        Err(e) if is_gone(&e) => return Ok(Withdrawn::Gone),
        Err(e) => return Err(e),
    };
    if !RemovedSnapshot::from(&attempt.snapshot).is(&found) {
        // another one has its name: then it was removed by somebody else
        return Ok(Withdrawn::Gone);
    }
    match attempt.standing(snapshots)? {
        Standing::TooLate if recorded || snapshots.ids()?.iter().any(|id| *id != found.id) => {
            ctx.fs.delete(&snapshots.path(found.id))?;
            Ok(Withdrawn::Gone)
        }
        Standing::RolledBack | Standing::Unknown => Ok(Withdrawn::Left),
        // the only version that is left is one, whatever it looks like
        Standing::Committed | Standing::TooLate => Ok(Withdrawn::Committed),
    }
}

/// Removes what a rollback that died, or a writer that came too late, has left where the next snapshot goes.
pub(super) fn clear_the_way(ctx: &TableContext, snapshots: &SnapshotManager) {
    let cleared = UpkeepLock::try_take(&ctx.fs, &ctx.location)
        .and_then(|lock| lock.map(|lock| snapshots.settle(&lock)).transpose());
    if let Err(error) = cleared {
        tracing::warn!(%error, table = ctx.name, "a snapshot that is not part of the table was not removed");
    }
}

pub(super) fn unknown(snapshot: &Snapshot) -> Error {
    let message = "the commit was held up for so long that it cannot be told any more whether it was published in time";
    Error::new(ErrorKind::Storage, message)
        .with("snapshot", snapshot.id)
        .hint("look whether its rows are in the table before you write them again")
}
