//! Which commit brought a file.

use std::collections::{HashMap, HashSet};

use super::{EntryFilter, entries::listed_entries};
use crate::{
    cancel,
    error::{ErrorKind, Result},
    io::TableContext,
    manifest::EntryKind,
    snapshot::Snapshot,
};

/// The id of the snapshot that brought each of these files, from `newest` backwards; of those whose snapshots have expired, or
/// are those of another branch, nothing is known.
pub(crate) fn brought_by(
    ctx: &TableContext,
    newest: &Snapshot,
    filter: &EntryFilter,
    mut files: HashSet<String>,
) -> Result<HashMap<String, i64>> {
    let snapshots = ctx.snapshots();
    let mut found = HashMap::with_capacity(files.len());
    let mut snapshot = newest.clone();
    loop {
        cancel::check()?;
        match listed_entries(ctx, snapshot.delta_list(), filter) {
            Ok(entries) => {
                for entry in entries.into_iter().filter(|entry| entry.kind == EntryKind::Add) {
                    if let Some(name) = files.take(&entry.file.file_name) {
                        found.insert(name, snapshot.id);
                    }
                }
            }
            // it has expired meanwhile
            Err(e) if e.kind() == ErrorKind::FileNotFound && snapshot.id != newest.id => return Ok(found),
            Err(e) => return Err(e),
        }
        if files.is_empty() || snapshot.id <= 1 {
            return Ok(found);
        }
        snapshot = match snapshots.get(snapshot.id - 1) {
            Ok(before) => before,
            Err(e) if matches!(e.kind(), ErrorKind::SnapshotExpired | ErrorKind::SnapshotNotFound) => return Ok(found),
            Err(e) => return Err(e),
        };
    }
}
