//! Deletes that a compaction has dropped, and older rows of their keys that it did not know.
//!
//! ```text
//! snapshot 4   writer A begins: no key 1
//! snapshot 5   writer B has brought key 1
//! snapshot 6   A's -D of key 1 is in level 0           the row is gone
//! snapshot 7   A's compaction drops the -D: there is nothing below it, for all that A knows      (wrong: the row is back)
//! ```

use std::collections::HashSet;

use super::{
    changes::Changes,
    unseen::{files_meet, is_of},
};
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    manifest::{BucketId, EntryKind, ManifestEntry},
    types::DataType,
};

/// A conflict when a compaction drops deletes although a live file (`base`) that it does not take in may have older rows of the
/// same keys.
///
/// Rows are older by their sequence numbers; with `sequence.field` files do not tell which are. Compactions that look keys up
/// are checked by what they have seen. A file above the level that the compaction writes to may be one that it knew, and kept
/// its deletes for; those up to that level it takes in, where it knows them.
pub(super) fn check_dropped_deletes(ctx: &TableContext, base: &[ManifestEntry], changes: &Changes) -> Result<()> {
    let by_number = ctx.options.sequence_fields.is_empty();
    if ctx.schema.primary_keys.is_empty() || !by_number || ctx.options.needs_lookup() {
        return Ok(());
    }
    let types: Vec<DataType> = ctx.schema.key_fields().iter().map(|field| field.data_type.clone()).collect();
    for bucket in changes.seen.keys() {
        if !drops_deletes(bucket, &changes.files) {
            continue;
        }
        if let Some(file) = older_rows(bucket, base, &changes.files, &types)? {
            return Err(Error::new(
                ErrorKind::CommitConflict,
                "this compaction drops deletes of keys whose older rows came after it had begun",
            )
            .with("table", &ctx.name)
            .with("bucket", bucket.bucket)
            .with("file", file)
            .hint("compact again; with several writers let one job compact and make the others write-only"));
        }
    }
    Ok(())
}

fn of_kind<'e>(
    files: &'e [ManifestEntry],
    bucket: &'e BucketId,
    kind: EntryKind,
) -> impl Iterator<Item = &'e ManifestEntry> + Clone {
    files.iter().filter(move |entry| entry.kind == kind && is_of(entry, bucket))
}

/// Whether it takes more deletes in than it leaves; older files do not say how many they have.
fn drops_deletes(bucket: &BucketId, compacted: &[ManifestEntry]) -> bool {
    let deletes = |kind| of_kind(compacted, bucket, kind).map(|entry| entry.file.delete_row_count).sum::<Option<i64>>();
    match (deletes(EntryKind::Delete), deletes(EntryKind::Add)) {
        (Some(before), Some(after)) => before > after,
        _ => true,
    }
}

fn older_rows<'b>(
    bucket: &'b BucketId,
    base: &'b [ManifestEntry],
    compacted: &[ManifestEntry],
    types: &[DataType],
) -> Result<Option<&'b str>> {
    let taken = of_kind(compacted, bucket, EntryKind::Delete);
    let names: HashSet<&str> = taken.clone().map(|entry| entry.file.file_name.as_str()).collect();
    // where nothing is left, everything was dropped
    let output = of_kind(compacted, bucket, EntryKind::Add).map(|entry| entry.file.level).max().unwrap_or(i32::MAX);
    let left = |entry: &&ManifestEntry| !names.contains(entry.file.file_name.as_str()) && entry.file.level <= output;
    for other in of_kind(base, bucket, EntryKind::Add).filter(left) {
        for own in taken.clone().filter(|entry| entry.file.delete_row_count != Some(0)) {
            if other.file.min_sequence_number <= own.file.max_sequence_number && files_meet(other, own, types)? {
                return Ok(Some(&other.file.file_name));
            }
        }
    }
    Ok(None)
}
