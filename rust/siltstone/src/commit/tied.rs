//! Rows that a compaction would put over equal ones which readers have seen before them.
//!
//! ```text
//! snapshot 4   writers A and B begin: both number their rows on from 7
//! snapshot 5   B's row 7 of key 1 is in level 0                          readers see it
//! snapshot 6   A's row 7 of key 1 is in level 0                          readers still see B's, which was committed first
//! snapshot 7   A's compaction, which knows nothing of B, moves A's row to level 5      (wrong: the higher level wins)
//! ```
//!
//! Of equal records that of the higher level stays, and in level 0 the one committed first (`merge_tree::ties`). A compaction
//! keeps what readers see as long as it takes in whatever stands before its inputs in this order; what its writer did not know
//! of, and was committed before the writer's own rows, it did not take in. A file of level 0 that is only replaced by itself, with
//! another index, comes behind those that were committed meanwhile.

use std::collections::{HashMap, HashSet};

use super::{
    changes::FileChanges,
    lookup_conflict::{files_meet, is_of},
};
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    manifest::{BucketId, DataFileMeta, EntryKind, ManifestEntry},
    merge_tree::numbers_meet,
    scan::skips_level_0,
    types::DataType,
};

/// A conflict when a compaction lifts rows over equal ones of a live file (`base`, in the order of commits) that it does not
/// take in and that stands before them. Where readers leave level 0 out they have seen neither: then only files that keep their
/// level, and would lose their place to those that came meanwhile, are looked at.
pub(super) fn check_ties(ctx: &TableContext, base: &[ManifestEntry], changes: &FileChanges) -> Result<()> {
    if ctx.schema.primary_keys.is_empty() {
        return Ok(());
    }
    let seen = !skips_level_0(ctx);
    let types: Vec<DataType> = ctx.schema.key_fields().iter().map(|field| field.data_type.clone()).collect();
    for (bucket, output) in output_levels(changes) {
        let of_bucket = || changes.files.iter().filter(|entry| is_of(entry, &bucket));
        let back = of_bucket().filter(|entry| entry.kind == EntryKind::Add && entry.file.level <= 0);
        let back: HashSet<&str> = back.map(|entry| entry.file.file_name.as_str()).collect();
        if !seen && back.is_empty() {
            continue;
        }
        let taken = of_bucket().filter(|entry| entry.kind == EntryKind::Delete);
        let taken: HashSet<&str> = taken.map(|entry| entry.file.file_name.as_str()).collect();
        let live = base.iter().enumerate().filter(|(_, entry)| is_of(entry, &bucket));
        let (taken, left): (Vec<_>, Vec<_>) =
            live.partition(|(_, entry)| taken.contains(entry.file.file_name.as_str()));
        let moved = |(at, entry): &&(usize, &ManifestEntry), place: usize| {
            place > *at && back.contains(entry.file.file_name.as_str())
        };
        for (at, other) in left {
            let lifts = seen && other.file.level < output;
            let passes = |taken: &&(usize, &ManifestEntry)| {
                (lifts && (other.file.level > 0 || taken.0 > at)) || (other.file.level <= 0 && moved(taken, at))
            };
            for (_, lifted) in taken.iter().filter(passes) {
                if may_tie_and_stay(&other.file, &lifted.file) && files_meet(other, lifted, &types)? {
                    return Err(conflict(ctx, &bucket, other));
                }
            }
        }
    }
    Ok(())
}

/// The highest level that is written, of each bucket.
fn output_levels(changes: &FileChanges) -> HashMap<BucketId, i32> {
    let mut levels: HashMap<BucketId, i32> = HashMap::new();
    for entry in changes.files.iter().filter(|entry| entry.kind == EntryKind::Add) {
        let bucket = BucketId { partition: entry.partition.clone(), bucket: entry.bucket };
        let level = levels.entry(bucket).or_insert(entry.file.level);
        *level = entry.file.level.max(*level);
    }
    levels
}

/// Whether rows of `a` may be equal to rows of `b` and stay, by their numbers and levels.
fn may_tie_and_stay(a: &DataFileMeta, b: &DataFileMeta) -> bool {
    numbers_meet(a, b) && (a.level > b.level || a.level <= 0 && b.level <= 0)
}

fn conflict(ctx: &TableContext, bucket: &BucketId, other: &ManifestEntry) -> Error {
    let text = "this compaction would put its rows over equal ones that were committed before them";
    Error::new(ErrorKind::CommitConflict, text)
        .with("table", &ctx.name)
        .with("bucket", bucket.bucket)
        .with("file", &other.file.file_name)
        .hint("compact again; with several writers let one job compact and make the others write-only")
}
