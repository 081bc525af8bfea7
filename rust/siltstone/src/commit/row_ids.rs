//! Ids of new rows, and the version that brings them (row tracking): given by each try, from the newest snapshot on.
//!
//! ```text
//! new rows              _FIRST_ROW_ID counts on from nextRowId; _MIN/_MAX_SEQUENCE_NUMBER are the snapshot's id
//! rows written again    the file has their ids and versions; those without a version are of this snapshot
//! compacted rows        as they were
//! ```
//!
//! Java numbers the files of a writer that rolled by rows, all but the first: their rows would be of versions that never were.
//!
//! Source: `RowTrackingCommitUtils`.

use std::{borrow::Cow, collections::HashMap};

use super::changes::FileChanges;
use crate::{
    error::{Error, ErrorKind, Result},
    io::{TableContext, is_blob_file},
    limits,
    manifest::{DataFileMeta, EntryKind, FileSource, ManifestFileMeta},
    snapshot::Snapshot,
    types::special,
};

/// Numbers the rows of the changes on top of `latest`, whose manifests can be asked for; the id of the next row.
pub(super) fn assign_row_ids<'m>(
    ctx: &TableContext,
    latest: Option<&Snapshot>,
    manifests: impl FnOnce(&Snapshot) -> Result<&'m [ManifestFileMeta]>,
    changes: &mut Cow<'_, FileChanges>,
) -> Result<i64> {
    let mut next = latest.and_then(|latest| latest.next_row_id).unwrap_or(0);
    let brings = |changes: &FileChanges| changes.files.iter().any(|entry| entry.kind == EntryKind::Add);
    if !ctx.options.row_tracking_enabled || !brings(changes) {
        return Ok(next);
    }
    if let Some(latest) = latest {
        check_unused(ctx, next, manifests(latest)?)?;
    }
    // BLOB columns have files of their own for the rows of the file before them
    let (mut rows_from, mut of_columns) = (next, HashMap::new());
    let version = limits::next_id(latest.map_or(0, |latest| latest.id)).unwrap_or(i64::MAX - 1);
    for entry in changes.to_mut().files.iter_mut().filter(|entry| entry.kind == EntryKind::Add) {
        let file = &mut entry.file;
        if file.file_source == Some(FileSource::Compact) {
            continue;
        }
        (file.min_sequence_number, file.max_sequence_number) = (version, version);
        if says_ids(file) {
            continue;
        }
        if is_blob_file(file) {
            let from = of_columns.entry(file.write_cols.clone()).or_insert(rows_from);
            file.first_row_id = Some(*from);
            *from =
                from.checked_add(file.row_count).filter(|end| *end <= next).ok_or_else(|| without_rows(ctx, file))?;
        } else {
            (rows_from, of_columns) = (next, HashMap::new());
            file.first_row_id = Some(next);
            next = next.checked_add(file.row_count).filter(|next| *next < i64::MAX).ok_or_else(|| used_up(ctx))?;
        }
    }
    Ok(next)
}

/// An error when a manifest of the newest version has an id that is to be given to a new row: the new one would hide the other.
fn check_unused(ctx: &TableContext, next: i64, manifests: &[ManifestFileMeta]) -> Result<()> {
    match manifests.iter().filter_map(|manifest| manifest.max_row_id).max() {
        Some(last) if last >= next => {
            let message =
                format!("the newest snapshot says that the next row id is {next}, a manifest has row id {last}");
            Err(Error::new(ErrorKind::CorruptFile, message).with("table", &ctx.name).with("field", "nextRowId"))
        }
        _ => Ok(()),
    }
}

fn without_rows(ctx: &TableContext, file: &DataFileMeta) -> Error {
    Error::new(ErrorKind::Internal, "a file has BLOB values of rows that no file before it has")
        .with("table", &ctx.name)
        .with("file", &file.file_name)
}

/// Whether the rows of a file have ids already.
fn says_ids(file: &DataFileMeta) -> bool {
    file.first_row_id.is_some()
        || file.write_cols.as_deref().unwrap_or_default().iter().any(|column| column == special::ROW_ID)
}

fn used_up(ctx: &TableContext) -> Error {
    let message = "the newest snapshot says that the last row id is used, there is none for another row";
    Error::new(ErrorKind::CorruptFile, message).with("table", &ctx.name).with("field", "nextRowId")
}
