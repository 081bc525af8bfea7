//! Whether what a stream has read is still part of the table: ids are used again after a rollback, and whoever only counts
//! on would pass over the snapshots that have come in the place of those it has read.

use crate::{
    error::{Error, ErrorKind, Result},
    scan::time_travel::Versions,
    snapshot::{Behind, Consumer, RemovedSnapshot, Snapshot},
};

/// What a stream has behind it: the snapshot that it has read last, or the one before those with which it begins.
#[derive(Clone, Debug)]
pub(super) struct Passed {
    pub(super) id: i64,
    /// `None`: it was not there any more when the stream began, so that only removal records tell.
    pub(super) snapshot: Option<RemovedSnapshot>,
    /// How many removal records there were when it was a version.
    pub(super) removals: u64,
    /// Whether the stream has handed it out.
    pub(super) is_read: bool,
}

impl Passed {
    /// What a stream has behind it that begins with the snapshot `next`, chosen when there were `removals` records or more.
    pub(super) fn before(versions: &Versions, next: i64, removals: u64) -> Result<Self> {
        let id = next.saturating_sub(1);
        let unknown = Self { id, snapshot: None, removals, is_read: false };
        match versions.with_changelog(id) {
            Ok(found) => Ok(match when_a_version(versions, &found)? {
                Some(removals) => Self { snapshot: Some(RemovedSnapshot::from(&found)), removals, ..unknown },
                None => unknown,
            }),
            // what cannot be read is not asked for: the stream begins after it
            Err(e) if has_no_identity(e.kind()) => Ok(unknown),
            Err(e) => Err(e),
        }
    }
}

impl Passed {
    /// What a reader had behind it when it wrote how far it had come.
    pub(super) fn of(next: i64, behind: &Behind) -> Self {
        let id = next.saturating_sub(1);
        let named = |list: &String| RemovedSnapshot { id, delta_manifest_list: list.clone(), commit: None };
        let snapshot = behind.delta_manifest_list.as_ref().map(named);
        Self { id, snapshot, removals: behind.removals, is_read: true }
    }

    /// What is written of it.
    pub(super) fn behind(&self) -> Behind {
        let list = self.snapshot.as_ref().map(|snapshot| snapshot.delta_manifest_list.clone());
        Behind { removals: self.removals, delta_manifest_list: list }
    }
}

/// How many removal records there are, after a look at a snapshot that is a version by them; `None`: it is none. A rollback before
/// that look may have made room for it.
pub(super) fn when_a_version(versions: &Versions, found: &Snapshot) -> Result<Option<u64>> {
    let records = versions.snapshots.removals().read()?;
    let is_none = records.is_rolled_back(found) || records.is_placing(found);
    Ok((!is_none).then_some(records.count))
}

fn has_no_identity(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::SnapshotExpired | ErrorKind::SnapshotNotFound | ErrorKind::CorruptFile)
}

/// What a stream has behind it is the table's still, or has expired.
///
/// # Errors
/// `SnapshotNotFound`: a rollback has taken it back.
pub(super) fn check_follows(versions: &Versions, passed: &Passed) -> Result<()> {
    let gone = || gone(passed);
    let not_rolled_back = || {
        let removals = versions.snapshots.removals().read()?;
        if removals.rolled_back_since(passed.removals, passed.id) { Err(gone()) } else { Ok(()) }
    };
    let Some(snapshot) = &passed.snapshot else { return not_rolled_back() };
    match versions.with_changelog(passed.id) {
        Ok(found) if snapshot.is(&found) => Ok(()),
        // what has expired there may be what came in its place
        Err(e) if e.kind() == ErrorKind::SnapshotExpired => not_rolled_back(),
        Ok(_) => Err(gone()),
        Err(e) if e.kind() == ErrorKind::SnapshotNotFound => Err(gone()),
        Err(e) => Err(e),
    }
}

/// What a stream has behind it and was a version is not after the newest one. Its file may still be there: a rollback says first
/// what it takes back, then deletes it.
///
/// # Errors
/// `SnapshotNotFound`: a rollback has taken it back.
pub(super) fn check_not_ahead(passed: &Passed, newest: Option<i64>) -> Result<()> {
    if passed.snapshot.is_some() && newest.is_none_or(|newest| newest < passed.id) { Err(gone(passed)) } else { Ok(()) }
}

/// What a consumer has read is the table's still, or has expired. Where its file does not say what that was, the time tells: no
/// rollback since it was written has taken back a snapshot of that id.
pub(super) fn check_consumer(versions: &Versions, consumer: &Consumer) -> Result<()> {
    let next = consumer.progress.next_snapshot;
    if let Some(behind) = &consumer.progress.behind {
        return check_follows(versions, &Passed::of(next, behind));
    }
    let removals = versions.snapshots.removals().read()?;
    let read = next.saturating_sub(1);
    let since = consumer.modified_millis;
    match removals.taken_back().find(|rollback| rollback.kept < read && rollback.time_millis >= since) {
        Some(_) => Err(rolled_back(read)),
        None => Ok(()),
    }
}

fn gone(passed: &Passed) -> Error {
    if passed.is_read { rolled_back(passed.id) } else { beginning_gone(passed.id) }
}

fn rolled_back(last: i64) -> Error {
    taken_back(last, format!("snapshot {last}, the last one that was read, was taken back by a rollback"))
}

fn beginning_gone(last: i64) -> Error {
    taken_back(last, format!("snapshot {last}, behind which the stream begins, was taken back by a rollback"))
}

fn taken_back(last: i64, message: String) -> Error {
    Error::new(ErrorKind::SnapshotNotFound, message)
        .with("snapshot", last)
        .hint("start again from a snapshot that exists; reset the consumer, if there is one")
}
