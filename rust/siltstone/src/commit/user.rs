//! What a user has committed before: the next free identifier, and whether a commit is already there.
//!
//! A user's identifiers never decrease, so the user's newest snapshot answers both. Java's batch identifier
//! (2^63 - 1) says nothing: it is never a sign that a commit is already there.

use super::{
    identifier::Identifier,
    standing::{stands, unknown},
};
use crate::{
    error::Result,
    snapshot::{
        BATCH_COMMIT_IDENTIFIER, CommitKind, CommitName, Removals, RemovedSnapshot, Snapshot, SnapshotManager, Standing,
    },
};

/// The newest snapshot of one user, as far as the table was looked at. Follows the table from commit to commit.
#[derive(Debug, Default)]
pub(super) struct UserHistory {
    /// Snapshots up to this id need no look (any more); `None`: the user is new, what is there now is not its own.
    seen: Option<i64>,
    /// The latest snapshot of that look, and how many removal records there were.
    seen_latest: Option<(RemovedSnapshot, u64)>,
    newest: Option<Snapshot>,
    /// Whether some after the newest of the user, as far as it is known, had expired before they were looked at.
    has_gap: bool,
}

impl UserHistory {
    /// The history of a user who may have committed before.
    pub(super) fn existing() -> Self {
        Self { seen: Some(0), ..Self::default() }
    }

    /// The history of a user who begins now.
    pub(super) fn new_user() -> Self {
        Self::default()
    }

    /// The user's newest snapshot up to `latest`; batch commits of Java do not count.
    pub(super) fn newest(
        &mut self,
        snapshots: &SnapshotManager,
        user: &str,
        removals: &Removals,
        latest: Option<&Snapshot>,
    ) -> Result<Option<&Snapshot>> {
        let last = latest.map_or(0, |latest| latest.id);
        let seen = match self.seen {
            Some(seen) if seen <= last && self.is_still_there(snapshots, removals, latest)? => seen,
            Some(_) => {
                (self.newest, self.has_gap) = (None, false); // the table was rolled back
                0
            }
            None => last,
        };
        if let Some(latest) = latest {
            let own = |s: &Snapshot| s.commit_user == user && s.commit_identifier != BATCH_COMMIT_IDENTIFIER;
            match find_back(snapshots, latest, seen, &own)? {
                Search::Found(found) => (self.newest, self.has_gap) = (Some(*found), false),
                Search::Untold(found) => return Err(unknown(&found)),
                Search::NotFrom(from) => self.has_gap |= from > seen + 1,
            }
        }
        self.seen = Some(last);
        self.seen_latest = latest.map(|latest| (RemovedSnapshot::from(latest), removals.count));
        Ok(self.newest.as_ref())
    }

    /// Whether the snapshot that was the latest is one still, or has expired: otherwise the table was rolled back and went on.
    fn is_still_there(
        &self,
        snapshots: &SnapshotManager,
        removals: &Removals,
        latest: Option<&Snapshot>,
    ) -> Result<bool> {
        let Some((seen, known)) = &self.seen_latest else { return Ok(true) };
        // its id may have been given again, and have expired since
        if removals.rolled_back_since(*known, seen.id) {
            return Ok(false);
        }
        if latest.is_some_and(|latest| seen.is(latest)) {
            return Ok(true);
        }
        // one that came too late into the place of an expired one is no version, and says nothing
        let void = SnapshotManager::fence_is_void(removals, latest);
        let other = |found: &Snapshot| !seen.is(found) && (void || removals.admits(found));
        Ok(!snapshots.existing([seen.id])?.iter().any(other))
    }

    /// Whether snapshots have expired unseen that may be newer than the user's newest: only the records tell whose they were.
    pub(super) fn has_gap(&self) -> bool {
        self.has_gap
    }

    /// The next free identifier, given the user's newest snapshot.
    pub(super) fn next_identifier(&self) -> i64 {
        self.newest.as_ref().map_or(0, |newest| newest.commit_identifier.saturating_add(1))
    }
}

/// How far a table was looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Up to this snapshot.
    pub(super) latest: i64,
    /// How many removal records there were.
    pub(super) removals: u64,
}

impl Seen {
    pub(super) fn of(removals: &Removals, latest: Option<&Snapshot>) -> Self {
        Self { latest: latest.map_or(0, |latest| latest.id), removals: removals.count }
    }
}

/// What a search for a snapshot came to.
#[derive(Debug)]
pub(super) enum Search {
    Found(Box<Snapshot>),
    /// It is none of the versions from this id on, none of which is missing; what is before has expired, or was not to be
    /// looked at.
    NotFrom(i64),
    /// It is there, and the records that would tell whether it came too late are not kept any more.
    Untold(Box<Snapshot>),
}

/// The newest snapshot after `after` that is wanted, among those that are there.
///
/// Expiries delete the oldest snapshots first, rollbacks the newest: behind one that is gone there may be others. What lies
/// there does not say that nothing between was wanted: it may have come too late, or be left of an expiry that is not over.
fn find_back(
    snapshots: &SnapshotManager,
    latest: &Snapshot,
    after: i64,
    wanted: &dyn Fn(&Snapshot) -> bool,
) -> Result<Search> {
    let mut from = latest.id + 1;
    if latest.id <= after {
        return Ok(Search::NotFrom(from));
    }
    let removals = snapshots.removals().read()?;
    let mut next = Some(latest.id);
    while let Some(id) = next.filter(|id| *id > after) {
        let snapshot = if id == latest.id { Some(latest.clone()) } else { snapshots.existing([id])?.pop() };
        let Some(snapshot) = snapshot else {
            next = snapshots.listed_ids()?.into_iter().rev().find(|listed| *listed < id);
            continue;
        };
        if id + 1 == from && removals.admits(&snapshot) {
            from = id;
        }
        if wanted(&snapshot) {
            match stands(snapshots, &removals, &snapshot)? {
                Standing::Committed => return Ok(Search::Found(Box::new(snapshot))),
                Standing::Unknown => return Ok(Search::Untold(Box::new(snapshot))),
                Standing::TooLate | Standing::RolledBack => {}
            }
        }
        next = Some(id - 1);
    }
    Ok(Search::NotFrom(from))
}

/// The largest identifier of a user among the commits that have expired, as far as removal records are kept; without those
/// that a later rollback has taken back.
pub(super) fn newest_expired(
    snapshots: &SnapshotManager,
    user: &str,
    removals: &Removals,
    latest: Option<&Snapshot>,
) -> Result<Option<i64>> {
    let mut expired = snapshots.removals().expired()?;
    if let Some(latest) = latest.filter(|latest| SnapshotManager::fence_is_void(removals, Some(latest))) {
        expired.retain(|removed| removed.id <= latest.id);
    }
    let names = expired.into_iter().filter_map(|removed| removed.commit);
    let own = names.filter(|name| name.user == user && name.identifier != BATCH_COMMIT_IDENTIFIER);
    Ok(own.map(|name| name.identifier).max())
}

/// What a commit is recognised by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own<'a> {
    pub(super) user: &'a str,
    pub(super) identifier: Identifier,
    pub(super) kind: CommitKind,
    /// Delta manifest lists that it wrote.
    pub(super) lists: &'a [String],
}

impl Own<'_> {
    /// By user and identifier; explicit identifiers only. A commit may publish its compactions apart from its rows, and under the
    /// same name: one is not the other. What others publish of that name are its rows, whether they add or overwrite.
    fn is_named(&self, name: &CommitName) -> bool {
        let same_part = (name.kind == CommitKind::Compact) == (self.kind == CommitKind::Compact);
        self.identifier == Identifier::Explicit(name.identifier) && name.user == self.user && same_part
    }

    fn is(&self, snapshot: &Snapshot) -> bool {
        let named = RemovedSnapshot::from(snapshot).commit.is_some_and(|name| self.is_named(&name));
        named || self.lists.contains(&snapshot.delta_manifest_list)
    }

    /// Looks for a snapshot of this very commit between `after` and `latest`.
    pub(super) fn find(&self, snapshots: &SnapshotManager, after: i64, latest: &Snapshot) -> Result<Search> {
        find_back(snapshots, latest, after, &|snapshot| self.is(snapshot))
    }

    /// Whether one of the snapshots after `seen` and before `from`, which have expired before they were looked at, is of this
    /// explicit identifier; `None`: nobody can tell.
    pub(super) fn has_expired(&self, snapshots: &SnapshotManager, seen: Seen, from: i64) -> Result<Option<bool>> {
        if from <= seen.latest + 1 || !matches!(self.identifier, Identifier::Explicit(_)) {
            return Ok(Some(false));
        }
        let Some(expired) = snapshots.removals().expired_since(seen.removals)? else { return Ok(None) };
        let mut known = expired.iter().filter_map(|removed| removed.commit.as_ref());
        if known.any(|name| self.is_named(name)) {
            return Ok(Some(true));
        }
        // one that no record lists was removed by another program
        let told = |id: i64| expired.iter().any(|removed| removed.id == id && removed.commit.is_some());
        Ok((seen.latest + 1..from).all(told).then_some(false))
    }
}
