//! Files that hold columns of rows that are there (data evolution): the rows must still be there, and each file has all rows
//! of the others that it shares some with.
//!
//! ```text
//! rows 0 to 4, rows 5 to 9    UPDATE writes v of rows 0 to 4, from what it read
//! rows 0 to 9                 a compaction was faster: v of rows 0 to 4 is of no file any more    conflict
//! ```
//!
//! Java does not look whether the rows are there.
//!
//! Source: `ConflictDetection.checkRowIdRangeConflicts`.

use std::{collections::HashSet, ops::Range};

use super::changes::FileChanges;
use crate::{
    error::{Error, ErrorKind, Result},
    io::{TableContext, is_blob_file, row_ids},
    manifest::{EntryKind, ManifestEntry},
    snapshot::CommitKind,
};

/// Whether the changes bring columns of rows that are there, or replace files of such rows.
pub(super) fn concerns(ctx: &TableContext, changes: &FileChanges) -> bool {
    ctx.options.data_evolution_enabled && changes.files.iter().any(is_of_known_rows)
}

fn is_of_known_rows(entry: &ManifestEntry) -> bool {
    entry.kind == EntryKind::Add && entry.file.first_row_id.is_some()
}

/// An error when a file would share some rows with another, or have columns of rows that are not there.
///
/// # Errors
/// `CommitConflict`.
pub(super) fn check_row_ranges(
    ctx: &TableContext,
    kind: CommitKind,
    base: &[ManifestEntry],
    changes: &FileChanges,
) -> Result<()> {
    if !concerns(ctx, changes) {
        return Ok(());
    }
    let gone: HashSet<_> =
        changes.files.iter().filter(|entry| entry.kind == EntryKind::Delete).map(ManifestEntry::id).collect();
    let live = || base.iter().filter(|entry| !gone.contains(&entry.id()));
    let ids = |entry: &ManifestEntry| row_ids(&entry.file);
    let there: HashSet<Range<i64>> = live().filter_map(ids).collect();
    let new = || changes.files.iter().filter(|entry| is_of_known_rows(entry));
    if kind != CommitKind::Compact
        && let Some(lost) = new().find(|entry| ids(entry).is_none_or(|ids| !there.contains(&ids)))
    {
        let text = "rows that get new values are not there any more, or in other files";
        return Err(conflict(ctx, text, lost));
    }
    // values of BLOB columns lie in files for some of the rows of another
    let whole = live().chain(new()).filter(|entry| !is_blob_file(&entry.file));
    let mut all: Vec<(Range<i64>, &ManifestEntry)> = whole.filter_map(|entry| Some((ids(entry)?, entry))).collect();
    all.sort_by_key(|(ids, _)| (ids.start, ids.end));
    let mut end: Option<Range<i64>> = None;
    for (ids, entry) in all {
        match &end {
            Some(before) if ids.start < before.end && *before != ids => {
                return Err(conflict(ctx, "files would share some rows only", entry));
            }
            _ => end = Some(ids),
        }
    }
    Ok(())
}

fn conflict(ctx: &TableContext, text: &str, entry: &ManifestEntry) -> Error {
    Error::new(ErrorKind::CommitConflict, text)
        .with("table", &ctx.name)
        .with("file", &entry.file.file_name)
        .hint("run the statement or the compaction again: it reads the rows as they are now")
}
