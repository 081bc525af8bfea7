//! Taking back a snapshot that was published, because its schema went or a fixed option changed in the moment before.
//!
//! Between publishing and this, the snapshot was a version: it is taken back as a rollback takes back, by a removal record, and
//! only where nobody relies on it. What was built on it, a tag or branch of it, a rollback to it, and an expiry of all that was
//! before it keep it where it is.
//!
//! ```text
//! this one   publishes 3    record: 3 is about to be taken back    is there a 4?    record: 3 is taken back    deletes 3
//! others                                         publish 4 on 3, and read the records
//! ```
//!
//! One of the two sees the other: 3 stays, or whoever has published 4 waits for the end of this ([`Attempt::standing`]). Another
//! process with the same identifier, which finds 3, publishes nothing: it says by a record that 3 stays ([`super::theirs`]).

use super::{
    place::{Kept, check_lost},
    standing::{Attempt, is_gone},
};
use crate::{
    cleanup::check_branch_points,
    error::{Error, ErrorKind, Result},
    io::TableContext,
    snapshot::{Fate, RemovalKind, Removals, RemovedSnapshot, Snapshot, SnapshotManager, Standing, UpkeepLock},
};

/// Takes back the snapshot of an attempt, which is not what the table asks for.
///
/// # Errors
/// `TableNotFound`, `BranchNotFound`: it is not there, and no record says why.
pub(super) fn take_back(
    ctx: &TableContext,
    snapshots: &SnapshotManager,
    lock: &UpkeepLock,
    attempt: &Attempt,
) -> Result<Kept> {
    let own = &attempt.snapshot;
    match snapshots.get(own.id) {
        Ok(found) if RemovedSnapshot::from(own).is(&found) => {}
        Err(e) if !is_gone(&e) => return Err(e),
        _ => return gone(ctx, snapshots, attempt),
    }
    match attempt.standing_with_lock(ctx, snapshots)? {
        Standing::Committed => {}
        Standing::RolledBack => return Ok(Kept::TakenBack),
        other => return Ok(Kept::Stands(other)),
    }
    if ctx.fs.is_served() {
        return Ok(Kept::Stays(stays(ctx, own, "the catalog's server has it")));
    }
    let removals = snapshots.removals().read()?;
    if let Some(why) = relied_on(ctx, snapshots, &removals, attempt)? {
        return Ok(Kept::Stays(stays(ctx, own, &why)));
    }
    snapshots.removals().append_announcing(lock, own)?;
    if let Some(why) = relied_on(ctx, snapshots, &removals, attempt)? {
        snapshots.removals().append(lock, RemovalKind::Keep, removals.fence, &[])?;
        return Ok(Kept::Stays(stays(ctx, own, &why)));
    }
    let before = attempt.base.as_ref().map_or(0, |base| base.id);
    snapshots.removals().append_rollback(lock, before, std::slice::from_ref(own), &[])?;
    if before > 0 && snapshots.hint("LATEST")?.is_some_and(|hint| hint > before) {
        snapshots.write_latest_hint(before)?;
    }
    ctx.fs.delete(&snapshots.path(own.id))?;
    Ok(Kept::TakenBack)
}

/// It is not there any more.
fn gone(ctx: &TableContext, snapshots: &SnapshotManager, attempt: &Attempt) -> Result<Kept> {
    match attempt.fate(snapshots)? {
        Fate::Removed(RemovalKind::Expire) => Ok(Kept::Stays(stays(ctx, &attempt.snapshot, "others have built on it"))),
        Fate::Removed(_) => Ok(Kept::TakenBack),
        Fate::Unknown => Ok(Kept::Stands(Standing::Unknown)),
        // in a table that is where it was, another program has removed it
        Fate::NotRemoved => check_lost(ctx).and_then(|()| attempt.standing_of_gone(snapshots)).map(Kept::Stands),
    }
}

/// Why a version cannot be taken back; the lock is held.
fn relied_on(
    ctx: &TableContext,
    snapshots: &SnapshotManager,
    removals: &Removals,
    attempt: &Attempt,
) -> Result<Option<String>> {
    let own = &attempt.snapshot;
    if snapshots.removals().is_kept(&RemovedSnapshot::from(own), attempt.known)? {
        return Ok(Some("another process was told that it is committed".to_owned()));
    }
    if own.id.checked_add(1).map_or(Ok(false), |next| snapshots.exists(next))? {
        return Ok(Some("others have built on it".to_owned()));
    }
    if removals.rollbacks.iter().any(|rollback| rollback.record > attempt.known && rollback.target == own.id) {
        return Ok(Some("the table was rolled back to it".to_owned()));
    }
    let leaves_one = match &attempt.base {
        Some(base) => {
            snapshots.ids_by_records()?.contains(&base.id)
                && snapshots.existing([base.id])?.iter().all(|found| base.is(found))
        }
        // the table is as if it had never had one; records of a taking back that died or was given up do not matter
        None => own.id == 1 && removals.keep_all() && snapshots.hint("LATEST")?.is_none(),
    };
    if !leaves_one {
        return Ok(Some("it is the only version, because all before it have expired".to_owned()));
    }
    let named = RemovedSnapshot::from(own);
    if let Some((name, _)) = snapshots.tags().list()?.into_iter().find(|(_, tagged)| named.is(tagged)) {
        return Ok(Some(format!("tag '{name}' was made of it")));
    }
    let before = Snapshot { id: own.id.saturating_sub(1), ..own.clone() };
    match check_branch_points(ctx, snapshots, &before, &[]) {
        Err(e) if e.kind() == ErrorKind::VersionInUse => Ok(Some("a branch was made from it".to_owned())),
        checked => checked.map(|()| None),
    }
}

pub(super) fn stays(ctx: &TableContext, own: &Snapshot, why: &str) -> Error {
    let text = format!(
        "the schema of a commit was taken away or changed when it was published, and it stays, because {why}: it is not known \
         what it means under the table's options"
    );
    Error::new(ErrorKind::Storage, text)
        .with("table", &ctx.name)
        .with("snapshot", own.id)
        .hint(
            "Do not delete the files. Set the option back or restore the schema, or delete what relies on the snapshot (tags, branches), or \
             roll back to the one before.",
        )
}
