//! Deletes that a compaction has left out, and older rows of their keys that it did not know.
//!
//! ```text
//! snapshot 4   writer A begins: no key 1
//! snapshot 5   writer B has brought key 1
//! snapshot 6   A's -D of key 1 is in level 0           the row is gone
//! snapshot 7   A's compaction drops the -D: there is nothing below it, for all that A knows      (wrong: the row is back)
//! ```
//!
//! A compaction leaves deletes out where it knows of no older rows: it takes in whatever it knows of their keys up to the level
//! that it writes to, and says what it knows there and does not take in. So any other file with such keys has come later. Files
//! above that level are older; deletion vectors mark what they have, and what they have that is not known is asked by what the
//! compaction has seen.

use std::{cmp::Ordering, collections::HashSet};

use super::{changes::FileChanges, lookup_conflict::is_of};
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    manifest::{BucketId, DroppedDeletes, EntryKind, ManifestEntry},
    row::compare_serialized,
    types::DataType,
};

/// A conflict when a live file (`base`) that a compaction did not know may have older rows of keys whose deletes it has dropped.
/// Rows are older by their sequence numbers; with `sequence.field` any may be.
pub(super) fn check_dropped_deletes(ctx: &TableContext, base: &[ManifestEntry], changes: &FileChanges) -> Result<()> {
    let types: Vec<DataType> = ctx.schema.key_fields().iter().map(|field| field.data_type.clone()).collect();
    for (bucket, dropped) in &changes.dropped {
        let taken = changes.files.iter().filter(|entry| entry.kind == EntryKind::Delete && is_of(entry, bucket));
        let taken: HashSet<&str> = taken.map(|entry| entry.file.file_name.as_str()).collect();
        let left = base.iter().filter(|entry| is_of(entry, bucket) && !taken.contains(entry.file.file_name.as_str()));
        for other in left {
            for dropped in dropped {
                if may_be_older(ctx, other, dropped) && has_keys_of(other, dropped, &types)? {
                    return Err(conflict(ctx, bucket, other));
                }
            }
        }
    }
    Ok(())
}

fn may_be_older(ctx: &TableContext, other: &ManifestEntry, dropped: &DroppedDeletes) -> bool {
    let by_number = ctx.options.sequence_fields.is_empty();
    let is_marked = ctx.options.deletion_vectors_enabled && other.file.level > dropped.level;
    let is_newer = by_number && other.file.min_sequence_number > dropped.max_sequence_number;
    !is_marked && !is_newer && !dropped.known.contains(&other.file.file_name)
}

fn has_keys_of(other: &ManifestEntry, dropped: &DroppedDeletes, types: &[DataType]) -> Result<bool> {
    let before = |a: &[u8], b: &[u8]| compare_serialized(a, b, types).map(Ordering::is_lt);
    let file = &other.file;
    Ok(!before(&file.max_key, &dropped.min_key)? && !before(&dropped.max_key, &file.min_key)?)
}

fn conflict(ctx: &TableContext, bucket: &BucketId, other: &ManifestEntry) -> Error {
    let text = "this compaction drops deletes of keys whose older rows came after it had begun";
    Error::new(ErrorKind::CommitConflict, text)
        .with("table", &ctx.name)
        .with("bucket", bucket.bucket)
        .with("file", &other.file.file_name)
        .hint("compact again; with several writers let one job compact and make the others write-only")
}
