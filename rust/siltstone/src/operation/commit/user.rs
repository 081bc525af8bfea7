//! What a user has committed before: the next free identifier, and whether a commit is already there.
//!
//! A user's identifiers never decrease, so the user's newest snapshot answers both. Java's batch identifier
//! (2^63 - 1) says nothing: it is never a sign that a commit is already there.

use crate::{
    error::{ErrorKind, Result},
    snapshot::{BATCH_COMMIT_IDENTIFIER, CommitKind, RemovalKind, RemovedSnapshot, Snapshot, SnapshotManager},
};

/// How a commit gets its identifier, and by what it is recognised when its outcome was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Identifier {
    /// Chosen by the caller: user, identifier and kind name the commit, also across processes.
    Explicit(i64),
    /// Shared with other commits: only the manifest list of this very commit names it.
    Shared(i64),
    /// The next free one of the user, recognised like `Shared`.
    Next,
}

impl Identifier {
    pub(super) fn of(given: Option<i64>) -> Self {
        match given {
            None => Self::Next,
            Some(BATCH_COMMIT_IDENTIFIER) => Self::Shared(BATCH_COMMIT_IDENTIFIER),
            Some(id) => Self::Explicit(id),
        }
    }
}

/// The newest snapshot of one user, as far as the table was looked at. Follows the table from commit to commit.
#[derive(Debug, Default)]
pub(super) struct UserHistory {
    /// Snapshots up to this id need no look (any more); `None`: the user is new, what is there now is not its own.
    seen: Option<i64>,
    /// The latest snapshot of that look.
    seen_latest: Option<RemovedSnapshot>,
    newest: Option<Snapshot>,
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
        latest: Option<&Snapshot>,
    ) -> Result<Option<&Snapshot>> {
        let last = latest.map_or(0, |latest| latest.id);
        let seen = match self.seen {
            Some(seen) if seen <= last && self.is_still_there(snapshots, latest)? => seen,
            Some(_) => {
                self.newest = None; // the table was rolled back
                0
            }
            None => last,
        };
        if let Some(latest) = latest {
            let own = |s: &Snapshot| s.commit_user == user && s.commit_identifier != BATCH_COMMIT_IDENTIFIER;
            if let Some(found) = find_back(snapshots, latest, seen, &own)? {
                self.newest = Some(found);
            }
        }
        self.seen = Some(last);
        self.seen_latest = latest.map(RemovedSnapshot::from);
        Ok(self.newest.as_ref())
    }

    /// Whether the snapshot that was the latest is one still, or has expired: otherwise the table was rolled back and went on.
    fn is_still_there(&self, snapshots: &SnapshotManager, latest: Option<&Snapshot>) -> Result<bool> {
        let Some(seen) = &self.seen_latest else { return Ok(true) };
        if latest.is_some_and(|latest| seen.is(latest)) {
            return Ok(true);
        }
        Ok(snapshots.existing([seen.id])?.iter().all(|found| seen.is(found)))
    }

    /// The next free identifier, given the user's newest snapshot.
    pub(super) fn next_identifier(&self) -> i64 {
        self.newest.as_ref().map_or(0, |newest| newest.commit_identifier.saturating_add(1))
    }
}

/// The newest snapshot after `after` that is wanted; the search ends at the first one that has expired.
fn find_back(
    snapshots: &SnapshotManager,
    latest: &Snapshot,
    after: i64,
    wanted: &dyn Fn(&Snapshot) -> bool,
) -> Result<Option<Snapshot>> {
    let removals = snapshots.removals().read()?;
    let was_in_line = |snapshot: &Snapshot| -> Result<bool> {
        if removals.admits(snapshot) {
            return Ok(true);
        }
        if SnapshotManager::fence_is_void(&removals, Some(latest)) {
            return snapshots.is_version(snapshot);
        }
        // a file before the fence: of an expiry that is not over, or it came too late
        let own = RemovedSnapshot::from(snapshot);
        let records = snapshots.removals().all()?;
        Ok(records.iter().any(|record| record.kind == RemovalKind::Expire && record.removed.contains(&own)))
    };
    for id in ((after + 1)..=latest.id).rev() {
        let snapshot = if id == latest.id {
            latest.clone()
        } else {
            match snapshots.get(id) {
                Ok(snapshot) => snapshot,
                Err(e) if matches!(e.kind(), ErrorKind::SnapshotExpired | ErrorKind::SnapshotNotFound) => break,
                Err(e) => return Err(e),
            }
        };
        if wanted(&snapshot) && was_in_line(&snapshot)? {
            return Ok(Some(snapshot));
        }
    }
    Ok(None)
}

/// Looks for a snapshot of this very commit between `after` and `latest`: one whose delta manifest list it wrote,
/// or (explicit identifiers) one of the same user, identifier and kind.
pub(super) fn find_own(
    snapshots: &SnapshotManager,
    user: &str,
    identifier: Identifier,
    kind: CommitKind,
    delta_lists: &[String],
    after: i64,
    latest: &Snapshot,
) -> Result<Option<Snapshot>> {
    let own = |snapshot: &Snapshot| {
        let named = identifier == Identifier::Explicit(snapshot.commit_identifier)
            && snapshot.commit_user == user
            && snapshot.commit_kind == kind;
        named || delta_lists.contains(&snapshot.delta_manifest_list)
    };
    find_back(snapshots, latest, after, &own)
}
