//! Checking a table that may be too broken to be opened.

use std::{collections::BTreeMap, sync::Arc};

use super::{MAIN_BRANCH, Table, place::Place};
use crate::{ErrorKind, Result, maintenance::fsck::Verdict, schema::SchemaManager, snapshot::SnapshotManager};

/// Checks the table in a directory. One whose newest schema cannot be read is looked at under an older schema; without
/// any the schemas are all that is told.
///
/// # Errors
/// No table is there; the storage fails; the table needs something that siltstone does not have.
pub fn check(location: &str, deep: bool) -> Result<Verdict> {
    let Place { fs, path: location, options } = Place::of(location, BTreeMap::new())?;
    let open = |id| Table::open_with(Arc::clone(&fs), &location, MAIN_BRANCH, id, options.clone());
    let wrong = match open(None) {
        Ok(table) => return table.fsck(deep),
        Err(e) if matches!(e.kind(), ErrorKind::Storage | ErrorKind::UnsupportedFeature) => return Err(e),
        Err(e) => e,
    };
    for id in SchemaManager::new(Arc::clone(&fs), &location).ids()?.into_iter().rev() {
        if let Ok(table) = open(Some(id)) {
            return table.fsck(deep);
        }
    }
    let snapshots = SnapshotManager::new(Arc::clone(&fs), &location).ids()?;
    if wrong.kind() == ErrorKind::TableNotFound && snapshots.is_empty() {
        return Err(wrong);
    }
    Ok(Verdict::of_unopened(&location, &wrong))
}
