//! Whether what a stream has read is still part of the table: ids are used again after a rollback, and whoever only counts
//! on would pass over the snapshots that have come in the place of those it has read.

use crate::{
    error::{Error, ErrorKind, Result},
    operation::scan::version::Versions,
    snapshot::RemovedSnapshot,
};

/// The snapshot that a stream has read last.
#[derive(Clone, Debug)]
pub(super) struct Passed {
    pub(super) snapshot: RemovedSnapshot,
    /// How many removal records there were when it was a version.
    pub(super) removals: u64,
}

/// The snapshot that a stream has read last is the table's still, or has expired.
///
/// # Errors
/// `SnapshotNotFound`: a rollback has taken it back.
pub(super) fn check_follows(versions: &Versions, last: &Passed) -> Result<()> {
    let passed = &last.snapshot;
    match versions.with_changelog(passed.id) {
        Ok(found) if passed.is(&found) => Ok(()),
        // what has expired there may be what came in its place
        Err(e) if e.kind() == ErrorKind::SnapshotExpired => {
            let removals = versions.snapshots.removals().read()?;
            if removals.rolled_back_since(last.removals, passed.id) { Err(rolled_back(passed.id)) } else { Ok(()) }
        }
        Ok(_) => Err(rolled_back(passed.id)),
        Err(e) if e.kind() == ErrorKind::SnapshotNotFound => Err(rolled_back(passed.id)),
        Err(e) => Err(e),
    }
}

/// No rollback since a consumer's progress was written has taken back what it had read.
pub(super) fn check_not_rolled_back(versions: &Versions, next: i64, written_at: i64) -> Result<()> {
    let removals = versions.snapshots.removals().read()?;
    let later = |kept: i64, time: i64| kept < next.saturating_sub(1) && time >= written_at;
    match removals.rollbacks.iter().find(|rollback| later(rollback.kept(), rollback.time_millis)) {
        Some(_) => Err(rolled_back(next.saturating_sub(1))),
        None => Ok(()),
    }
}

fn rolled_back(last: i64) -> Error {
    let message = format!("snapshot {last}, the last one that was read, was taken back by a rollback");
    Error::new(ErrorKind::SnapshotNotFound, message)
        .with("snapshot", last)
        .hint("start again from a snapshot that exists; reset the consumer, if there is one")
}
