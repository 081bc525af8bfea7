//! What a commit changes of each partition, for catalogs whose server publishes the snapshot (`PartitionStatistics`).

use std::collections::BTreeMap;

use chrono::DateTime;
use serde_json::{Map, Value, json};

use crate::{
    env::local_to_instant,
    error::Result,
    manifest::{EntryKind, ManifestEntry},
    path::PathFactory,
};

#[derive(Debug, Default)]
struct Sum {
    rows: i64,
    bytes: i64,
    files: i64,
    newest: i64,
    buckets: i32,
}

impl Sum {
    /// What is deleted counts below zero.
    fn add(&mut self, entry: &ManifestEntry) {
        let count = |sum: i64, number: i64| match entry.kind {
            EntryKind::Add => sum.saturating_add(number),
            EntryKind::Delete => sum.saturating_sub(number),
        };
        self.rows = count(self.rows, entry.file.row_count);
        self.bytes = count(self.bytes, entry.file.file_size);
        self.files = count(self.files, 1);
        self.newest = self.newest.max(entry.file.creation_time.map_or(0, instant));
        self.buckets = entry.total_buckets;
    }
}

/// A file has the local time of its making.
fn instant(wall: i64) -> i64 {
    DateTime::from_timestamp_millis(wall).map_or(wall, |time| local_to_instant(time.naive_utc()))
}

/// The partitions in the order of their bytes, as JSON.
pub(super) fn partition_statistics(paths: &PathFactory, changed: &[ManifestEntry]) -> Result<String> {
    let mut sums: BTreeMap<&[u8], Sum> = BTreeMap::new();
    for entry in changed {
        sums.entry(&entry.partition).or_default().add(entry);
    }
    let of = |(partition, sum): (&[u8], Sum)| {
        let spec = paths.partition_spec(partition)?.into_iter().map(|(name, text)| (name, Value::from(text)));
        Ok(json!({
            "spec": spec.collect::<Map<_, _>>(),
            "recordCount": sum.rows,
            "fileSizeInBytes": sum.bytes,
            "fileCount": sum.files,
            "lastFileCreationTime": sum.newest,
            "totalBuckets": sum.buckets,
        }))
    };
    let all: Vec<Value> = sums.into_iter().map(of).collect::<Result<_>>()?;
    Ok(Value::from(all).to_string())
}
