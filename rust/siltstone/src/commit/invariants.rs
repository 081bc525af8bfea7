//! What holds of every snapshot that is published, each as a function with a name.
//!
//! Checked before publishing in builds with debug assertions (all tests), on values that are in memory anyway.
//! A failure is a defect of siltstone, or of the table where it compares what was read (`CorruptFile`), and keeps the
//! snapshot from being published.

use std::collections::HashSet;

use super::conflict::overlap;
use crate::{
    error::{Error, ErrorKind, Result},
    limits::sum,
    manifest::{EntryKind, IndexManifestEntry, ManifestEntry, ManifestFileMeta},
    snapshot::Snapshot,
    types::DataType,
};

/// Ids have no gaps, counts add up, the watermark does not fall.
pub fn snapshot_follows(previous: Option<&Snapshot>, next: &Snapshot) -> Result<()> {
    let expected = previous.map_or(1, |snapshot| snapshot.id + 1);
    ensure(next.id == expected, || format!("snapshot {} does not follow {}", next.id, expected - 1))?;
    let before = previous.map_or(Some(0), |snapshot| snapshot.total_record_count);
    let (delta, total) = (next.delta_record_count, next.total_record_count);
    if let (Some(before), Some(delta), Some(total)) = (before, delta, total) {
        ensure(Some(total) == before.checked_add(delta), || format!("{before} rows and {delta} more are not {total}"))?;
        ensure(total >= 0, || format!("a table cannot have {total} rows"))?;
    }
    let falls = previous.and_then(|snapshot| snapshot.watermark).filter(|mark| *mark != i64::MIN) > next.watermark;
    ensure(!falls, || "the watermark falls".to_owned())
}

/// Packing manifests differently keeps the number of live files: ADD entries minus DELETE entries.
pub fn merging_keeps_files(before: &[ManifestFileMeta], after: &[ManifestFileMeta]) -> Result<()> {
    let net = |manifests: &[ManifestFileMeta]| -> i64 {
        sum(manifests.iter().map(|manifest| manifest.num_added_files.saturating_sub(manifest.num_deleted_files)))
    };
    let (before, after) = (net(before), net(after));
    if before == after {
        return Ok(());
    }
    // the numbers before were read, those after are of entries that were written or of manifests that were kept
    let message = format!("the manifest lists of the table say {before} files, their manifests hold {after}");
    Err(Error::new(ErrorKind::CorruptFile, message).with("field", "_NUM_ADDED_FILES").hint("fsck says which list"))
}

/// A commit names each file once for each kind.
pub fn delta_names_files_once(delta: &[ManifestEntry]) -> Result<()> {
    let mut seen = HashSet::new();
    for entry in delta {
        let name = &entry.file.file_name;
        ensure(seen.insert((entry.kind == EntryKind::Add, entry.id())), || format!("{name} is named twice"))?;
    }
    Ok(())
}

/// An index manifest holds additions only, and each file once.
pub fn index_files_are_unique(entries: &[IndexManifestEntry]) -> Result<()> {
    let mut seen = HashSet::new();
    for entry in entries {
        let name = &entry.file_name;
        ensure(entry.kind == EntryKind::Add, || format!("index file {name} is deleted"))?;
        ensure(seen.insert((&entry.partition, entry.bucket, name)), || format!("index file {name} is named twice"))?;
    }
    Ok(())
}

/// On every level above 0 the files of a bucket have disjoint key ranges.
pub fn levels_are_sorted_runs(live: &[ManifestEntry], key_types: &[DataType]) -> Result<()> {
    match overlap(&live.iter().collect::<Vec<_>>(), key_types)? {
        None => Ok(()),
        Some((a, b)) => ensure(false, || format!("{} and {} overlap", a.file.file_name, b.file.file_name)),
    }
}

/// The recorded number of rows is that of the live files.
pub fn total_is_sum_of_live_files(snapshot: &Snapshot, live: &[ManifestEntry]) -> Result<()> {
    let sum = sum(live.iter().map(|entry| entry.file.row_count));
    let total = snapshot.total_record_count;
    ensure(total.is_none_or(|total| total == sum), || {
        format!("live files hold {sum} rows, the snapshot says {total:?}")
    })
}

fn ensure(holds: bool, text: impl FnOnce() -> String) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Internal, format!("a commit would break the table: {}", text()))
        .hint("Nothing was committed. Please report this."))
}
