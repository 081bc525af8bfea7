//! Where main and a branch parted, when no version that both have is left.

use std::collections::BTreeSet;

use crate::{
    error::Result,
    io::TableContext,
    snapshot::{RemovedSnapshot, Snapshot, SnapshotManager},
};

/// The last version before `first`, the branch's first one, that main and the branch below `root` both had, as far as tags and
/// removal records tell; 0: none is known. `there`: versions of main that are left.
pub(super) fn last_common(main: &TableContext, root: &str, there: &[Snapshot], first: &Snapshot) -> Result<i64> {
    let mut ours = had(&SnapshotManager::new(main.fs.clone(), &main.location))?;
    ours.extend(there.iter().map(|version| identity(RemovedSnapshot::from(version))));
    // the branch was made of it: all before it were main's
    if ours.contains(&identity(RemovedSnapshot::from(first))) {
        return Ok(first.id.saturating_sub(1));
    }
    let theirs = had(&SnapshotManager::new(main.fs.clone(), root))?;
    Ok(theirs.intersection(&ours).map(|(id, _)| *id).filter(|id| *id < first.id).max().unwrap_or(0))
}

/// What the branch below `root` had after `common`, which has expired there: main does not have it in a record of its own.
pub(super) fn inherited(
    main: &TableContext,
    root: &str,
    common: i64,
    first: &Snapshot,
) -> Result<Vec<RemovedSnapshot>> {
    let mut expired = SnapshotManager::new(main.fs.clone(), root).removals().expired()?;
    expired.retain(|version| version.id > common && version.id < first.id);
    Ok(expired)
}

fn identity(version: RemovedSnapshot) -> (i64, String) {
    (version.id, version.delta_manifest_list)
}

/// Versions that a line had: those that have expired and those that are tagged.
fn had(snapshots: &SnapshotManager) -> Result<BTreeSet<(i64, String)>> {
    let removals = snapshots.removals().read()?;
    let mut had: BTreeSet<_> = snapshots.removals().expired()?.into_iter().map(identity).collect();
    let tagged = snapshots.tags().list()?.into_iter().map(|(_, tagged)| tagged);
    let tagged = tagged.filter(|tagged| !removals.is_rolled_back(tagged));
    had.extend(tagged.map(|tagged| identity(RemovedSnapshot::from(&tagged))));
    Ok(had)
}
