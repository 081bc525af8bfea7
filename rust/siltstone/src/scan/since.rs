//! What others have committed since a version that somebody has looked at.

use super::{EntryFilter, entries::listed_entries};
use crate::{
    error::{ErrorKind, Result},
    io::TableContext,
    manifest::ManifestEntry,
    snapshot::{CommitKind, RemovedSnapshot, Snapshot},
};

/// Calls `visit` with the entries of each snapshot after `base` (id 0: there was none), up to `latest`, that has changed rows: statistics change
/// none, and compactions, unless `compactions` are asked for, where rows expire by their age. False when nobody can tell what came since: `base` was rolled back, or one of them has expired.
///
/// # Errors
/// Those of `visit`, and of reading.
pub(crate) fn changes_since(
    ctx: &TableContext,
    base: &RemovedSnapshot,
    latest: Option<&Snapshot>,
    compactions: bool,
    mut visit: impl FnMut(Vec<ManifestEntry>) -> Result<()>,
) -> Result<bool> {
    let Some(latest) = latest else { return Ok(base.id == 0) };
    if base.is(latest) {
        return Ok(true);
    }
    let snapshots = ctx.snapshots();
    if base.id >= latest.id {
        return Ok(false);
    }
    let removals = snapshots.removals().read()?;
    if base.id > 0 {
        let found = snapshots.existing([base.id])?.pop();
        if !found.is_some_and(|found| base.is(&found) && !removals.is_rolled_back(&found)) {
            return Ok(false);
        }
    }
    for id in base.id.saturating_add(1)..=latest.id {
        let snapshot = match snapshots.get(id) {
            Ok(snapshot) => snapshot,
            Err(e) if matches!(e.kind(), ErrorKind::SnapshotExpired | ErrorKind::SnapshotNotFound) => return Ok(false),
            Err(e) => return Err(e),
        };
        match snapshot.commit_kind {
            CommitKind::Analyze => continue,
            CommitKind::Compact if !compactions => continue,
            _ => {}
        }
        visit(listed_entries(ctx, snapshot.delta_list(), &EntryFilter::default())?)?;
    }
    // what lies where one has expired meanwhile is no version
    Ok(snapshots.removals().read()?.fence <= base.id.saturating_add(1))
}
