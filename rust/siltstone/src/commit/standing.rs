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

use super::descent::was_built_on;
use super::identifier::Identifier;
use super::place::Fixed;
use crate::{
    cleanup::upkeep_lock,
    error::{Error, ErrorKind, Result},
    io::TableContext,
    snapshot::{Fate, RemovalKind, Removals, RemovedSnapshot, Snapshot, SnapshotManager, Standing, UpkeepLock},
};

/// A snapshot that was or may have been published, and what its writer knew.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub(super) snapshot: Snapshot,
    /// The snapshot that it was built on.
    pub(super) base: Option<RemovedSnapshot>,
    /// Whether the table may have other options by now that are fixed from the first snapshot on.
    pub(super) fixed: Fixed,
    /// How many removal records were known.
    pub(super) known: u64,
    /// Whether it is the first one with rows of a table with buckets, whose number a rescale of no rows may have changed.
    pub(super) number: bool,
    /// Whether it adds files to level 0 that an alter of what levels mean must have seen, or come after.
    pub(super) level_0: bool,
}

impl Attempt {
    /// Where it stands after it was published. Where a version that it was built on is about to be taken back, the end of that is
    /// waited for: the lock of upkeep is not held.
    pub(super) fn standing(&self, ctx: &TableContext, snapshots: &SnapshotManager) -> Result<Standing> {
        let (recorded, base_goes) = snapshots.removals().standing_for_now(&self.snapshot, self.known)?;
        if !base_goes {
            return self.standing_by(recorded, ctx, snapshots);
        }
        let _lock = upkeep_lock(ctx)?;
        self.standing_with_lock(ctx, snapshots)
    }

    /// The same, and the lock of upkeep is held: nobody is taking a version back now.
    pub(super) fn standing_with_lock(&self, ctx: &TableContext, snapshots: &SnapshotManager) -> Result<Standing> {
        self.standing_by(snapshots.removals().standing(&self.snapshot, self.known)?, ctx, snapshots)
    }

    fn standing_by(&self, recorded: Standing, ctx: &TableContext, snapshots: &SnapshotManager) -> Result<Standing> {
        if recorded != Standing::Committed {
            return Ok(recorded);
        }
        if self.base_is_there(snapshots)? {
            // what another program has built on a version that was rolled back may lie behind the hole that this one has filled
            let hidden = match self.follower(snapshots)? {
                Some(next) if snapshots.removals().read()?.admits(&next) => {
                    was_built_on(ctx, &next, &self.snapshot)? == Some(false)
                }
                _ => false,
            };
            return Ok(if hidden { Standing::TooLate } else { Standing::Committed });
        }
        let base_removed = match &self.base {
            Some(base) => snapshots.removals().removed_by(base, self.known)?,
            None => Fate::NotRemoved,
        };
        match base_removed {
            // that record may have come after the first look
            Fate::Removed(_) => match snapshots.removals().standing(&self.snapshot, self.known)? {
                Standing::Committed if self.fills_a_hole(ctx, snapshots)? => Ok(Standing::TooLate),
                recorded => Ok(recorded),
            },
            Fate::Unknown => Ok(Standing::Unknown),
            Fate::NotRemoved => self.standing_without_base(ctx, snapshots),
        }
    }

    /// Whether versions lie behind it that were not built on it: another program has removed those that were in between.
    fn fills_a_hole(&self, ctx: &TableContext, snapshots: &SnapshotManager) -> Result<bool> {
        let removals = snapshots.removals().read()?;
        let has_later = snapshots.placed_ids(&removals)?.into_iter().any(|id| id > self.snapshot.id);
        let hidden = match self.follower(snapshots)? {
            Some(next) if removals.admits(&next) => was_built_on(ctx, &next, &self.snapshot)? == Some(false),
            Some(_) => false,
            None => has_later,
        };
        // an expiry of ours says so before it removes any
        Ok(hidden && self.fate(snapshots)? == Fate::NotRemoved)
    }

    /// There was no base, or no record has removed it. Where a record lists the snapshot itself, that says all.
    fn standing_without_base(&self, ctx: &TableContext, snapshots: &SnapshotManager) -> Result<Standing> {
        match self.fate(snapshots)? {
            Fate::Removed(_) => snapshots.removals().standing(&self.snapshot, self.known),
            Fate::Unknown => Ok(Standing::Unknown),
            Fate::NotRemoved => match self.standing_by_others(ctx, snapshots)? {
                Standing::Committed => Ok(Standing::Committed),
                // a record that was made between two of these looks, which took the versions after it for others
                seen => match self.fate(snapshots)? {
                    Fate::Removed(_) => snapshots.removals().standing(&self.snapshot, self.known),
                    Fate::Unknown => Ok(Standing::Unknown),
                    Fate::NotRemoved => Ok(seen),
                },
            },
        }
    }

    /// Where it stands when its name is not its own any more after it was published.
    ///
    /// # Errors
    /// No record tells: another program may have removed or replaced it.
    pub(super) fn standing_of_gone(&self, snapshots: &SnapshotManager) -> Result<Standing> {
        match self.fate(snapshots)? {
            Fate::Removed(RemovalKind::Expire) => Ok(Standing::Committed),
            Fate::Removed(_) => Ok(Standing::RolledBack),
            Fate::Unknown => Ok(Standing::Unknown),
            Fate::NotRemoved => {
                let text = "a snapshot that was published is not there any more, and no record says why";
                Err(Error::new(ErrorKind::Storage, text).with("snapshot", self.snapshot.id))
            }
        }
    }

    /// Whether another program, which leaves no records, may have removed it after it was a version: none of the versions from
    /// `from` on has its place, and no record lists one that had it.
    pub(super) fn may_be_forgotten(&self, snapshots: &SnapshotManager, from: i64) -> Result<bool> {
        if self.snapshot.id >= from {
            return Ok(false);
        }
        let removed = snapshots.removals().removed_since(self.known)?;
        Ok(removed.is_none_or(|removed| removed.iter().all(|(_, removed)| removed.id != self.snapshot.id)))
    }

    /// What has become of it, which is not among the versions any more, or never was.
    pub(super) fn fate(&self, snapshots: &SnapshotManager) -> Result<Fate> {
        snapshots.removals().removed_by(&RemovedSnapshot::from(&self.snapshot), self.known)
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
    fn standing_by_others(&self, ctx: &TableContext, snapshots: &SnapshotManager) -> Result<Standing> {
        let in_line = |yes| if yes { Standing::Committed } else { Standing::TooLate };
        let id = self.snapshot.id;
        // without what an expiry that died has left before the fence
        let removals = snapshots.removals().read()?;
        let fence = removals.fence;
        let ids: Vec<i64> =
            snapshots.placed_ids(&removals)?.into_iter().filter(|other| *other >= fence || *other == id).collect();
        if !ids.contains(&id) && ids.iter().any(|other| *other > id) {
            // it has expired with all before it, or somebody else has removed it
            return Ok(Standing::Unknown);
        }
        if let Some(next) = self.follower(snapshots)? {
            // others went on: from this snapshot, or from one of the same id that has gone
            let built_on = was_built_on(ctx, &next, &self.snapshot)?;
            return Ok(in_line(built_on.unwrap_or(next.time_millis >= self.snapshot.time_millis)));
        }
        if ids.iter().any(|other| *other > id) {
            return Ok(Standing::TooLate);
        }
        if went_back_before(ctx, snapshots, fence)? {
            return Ok(Standing::TooLate);
        }
        // nothing before it: all of that has expired; otherwise there is a hole, which a rollback has left
        Ok(in_line(self.base.is_none() || ids.iter().all(|other| *other >= id)))
    }

    /// The snapshot with the next id.
    fn follower(&self, snapshots: &SnapshotManager) -> Result<Option<Snapshot>> {
        let Some(next) = self.snapshot.id.checked_add(1) else { return Ok(None) };
        if !snapshots.exists(next)? {
            return Ok(None);
        }
        let Some(found) = snapshots.existing([next])?.pop() else { return Ok(None) };
        let removals = snapshots.removals().read()?;
        Ok((!removals.is_placing(&found)).then_some(found))
    }
}

/// Whether another program, which does not know the fence, is going or went back to the tag of a snapshot before it. It sets the
/// hint first, removes all snapshots then, and makes that of the tag last. An expiry does not touch the hint.
fn went_back_before(ctx: &TableContext, snapshots: &SnapshotManager, fence: i64) -> Result<bool> {
    let Some(target) = snapshots.hint("LATEST")?.filter(|latest| *latest < fence) else { return Ok(false) };
    let tags = ctx.tags();
    Ok(tags.list()?.iter().any(|(_, tagged)| tagged.id == target))
}

/// Whether a snapshot that is there is, or was, part of the line. `removals`: as they were read after it was found.
pub(super) fn stands(snapshots: &SnapshotManager, removals: &Removals, snapshot: &Snapshot) -> Result<Standing> {
    if removals.admits(snapshot) {
        return Ok(Standing::Committed);
    }
    if snapshot.id < removals.fence {
        // only a version and records that belong together tell that the fence is void
        let (now, latest) = snapshots.latest_with_removals()?;
        if SnapshotManager::fence_is_void(&now, latest.as_ref()) {
            return Ok(if snapshots.is_version(snapshot)? { Standing::Committed } else { Standing::TooLate });
        }
    }
    if removals.is_placing(snapshot) {
        return Ok(Standing::TooLate);
    }
    // a file before the fence or after a rollback: of a removal that is not over, or it came too late
    if let Some(known) = removals.known(snapshot) {
        return snapshots.removals().standing(snapshot, known);
    }
    if removals.is_rolled_back(snapshot) {
        return Ok(Standing::RolledBack);
    }
    let own = RemovedSnapshot::from(snapshot);
    let Some(removed) = snapshots.removals().removed_since(0)? else { return Ok(Standing::Unknown) };
    let expired = removed.contains(&(RemovalKind::Expire, own));
    Ok(if expired { Standing::Committed } else { Standing::TooLate })
}

/// Whether an error says that a snapshot is not there.
pub(super) fn is_gone(e: &Error) -> bool {
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
    /// The records that would tell at the second look are not kept any more.
    Unknown,
}

/// Deletes the snapshot of a commit that came too late. Where no record says that it did, others may take it for a version:
/// then nothing goes on before it is gone.
pub(super) fn withdraw(ctx: &TableContext, snapshots: &SnapshotManager, attempt: &Attempt) -> Result<Withdrawn> {
    let recorded = match snapshots.removals().standing(&attempt.snapshot, attempt.known)? {
        Standing::Unknown => return Ok(Withdrawn::Unknown),
        standing => standing == Standing::TooLate,
    };
    let _lock = match UpkeepLock::try_take(&ctx.fs, &ctx.location)? {
        Some(lock) => lock,
        None if recorded => return Ok(Withdrawn::Left),
        None => upkeep_lock(ctx)?,
    };
    let found = match snapshots.get(attempt.snapshot.id) {
        // another one may have its name: then it was removed by somebody else
        Ok(found) if RemovedSnapshot::from(&attempt.snapshot).is(&found) => found,
        Err(e) if !is_gone(&e) => return Err(e),
        _ if recorded => return Ok(Withdrawn::Gone),
        _ => return withdrawn_by_others(attempt, snapshots),
    };
    let standing = attempt.standing_with_lock(ctx, snapshots)?;
    let went_back = !recorded && went_back_before(ctx, snapshots, snapshots.removals().read()?.fence)?;
    let versions = if went_back { snapshots.listed_ids()? } else { snapshots.ids_by_records()? };
    let has_others = versions.iter().any(|id| *id != found.id);
    match standing {
        // once a record has said so, it does not matter how long that one is kept
        Standing::Unknown if !recorded => Ok(Withdrawn::Unknown),
        // the other program has yet to make the version that it goes back to
        Standing::TooLate if went_back && !has_others => Ok(Withdrawn::Unknown),
        Standing::TooLate | Standing::Unknown if recorded || has_others => {
            ctx.fs.delete(&snapshots.path(found.id))?;
            Ok(Withdrawn::Gone)
        }
        Standing::RolledBack => Ok(Withdrawn::Left),
        // the only version that is left is one, whatever it looks like
        Standing::Committed | Standing::TooLate | Standing::Unknown => Ok(Withdrawn::Committed),
    }
}

/// What became of a snapshot that is not there any more, and that no record had called late when it was last looked at.
fn withdrawn_by_others(attempt: &Attempt, snapshots: &SnapshotManager) -> Result<Withdrawn> {
    Ok(match attempt.fate(snapshots)? {
        // it was a version until then
        Fate::Removed(RemovalKind::Expire) => Withdrawn::Committed,
        Fate::Removed(_) => Withdrawn::Left,
        Fate::Unknown => Withdrawn::Unknown,
        Fate::NotRemoved => Withdrawn::Gone,
    })
}

/// Removes what a rollback that died, or a writer that came too late, has left where the next snapshot goes.
pub(super) fn clear_the_way(ctx: &TableContext, snapshots: &SnapshotManager) {
    let cleared = UpkeepLock::try_take(&ctx.fs, &ctx.location)
        .and_then(|lock| lock.map(|lock| snapshots.settle(&lock)).transpose());
    if let Err(error) = cleared {
        tracing::warn!(%error, table = ctx.name, "a snapshot that is not part of the table was not removed");
    }
}

/// Nobody can tell any more what has become of a commit: it ends, because a second try could commit the same twice.
pub(super) fn unknown(snapshot: &Snapshot) -> Error {
    let message = "the commit was held up for so long that it cannot be told any more whether it was published in time";
    Error::new(ErrorKind::Storage, message).with("snapshot", snapshot.id).hint(LOOK_FIRST)
}

/// Whether an error is that of [`unknown`].
pub(super) fn is_untold(error: &Error) -> bool {
    error.hint_text() == Some(LOOK_FIRST) && error.context_value("snapshot").is_some()
}

/// The same of a commit with an explicit identifier, of which nothing was published here: versions that were made meanwhile
/// have expired before they were looked at.
pub(super) fn unseen(identifier: Identifier) -> Error {
    let message =
        "the commit was held up for so long that it cannot be told any more whether another process has committed it";
    let error = Error::new(ErrorKind::Storage, message).hint(LOOK_FIRST);
    match identifier {
        Identifier::Explicit(identifier) => error.with("commit_identifier", identifier),
        _ => error,
    }
}

const LOOK_FIRST: &str = "Do not delete the files. Look whether the rows are in the table before you write them again; \
    committing the same messages with the same committer looks, too, and never commits them twice.";
