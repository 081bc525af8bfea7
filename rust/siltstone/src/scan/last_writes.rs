//! When partitions and buckets were last written to.
//!
//! As in Java that is when the newest file was made that manifests name, whether it is alive or not: a compaction with deletion
//! vectors takes files of deletions away, and leaves the old files of the rows and a vector. Only when such entries have been
//! left out of rewritten manifests the files that are alive count alone. A commit that adds vectors and no file (`DELETE` on append
//! tables) is no write by this rule, here and in Java.
//!
//! Source: `PartitionEntry.merge`, `BucketEntry.merge`, `AbstractFileStoreScan.readPartitionEntries`.

use std::collections::HashMap;

use super::entries::{EntryFilter, all_entries, live_among};
use crate::{error::Result, io::TableContext, manifest::ManifestEntry, snapshot::Snapshot};

/// The newest times at which files were made (local wall clock, epoch milliseconds), as far as their manifests say so.
#[derive(Clone, Debug, Default)]
pub struct LastWrites(HashMap<Vec<u8>, HashMap<i32, i64>>);

/// [`super::live_entries`], with the last writes to the partitions and buckets of the filter.
pub fn live_entries_with_last_writes(
    ctx: &TableContext,
    snapshot: &Snapshot,
    filter: &EntryFilter,
) -> Result<(Vec<ManifestEntry>, LastWrites)> {
    let all = all_entries(ctx, snapshot, filter)?;
    let writes = LastWrites::of(&all);
    Ok((live_among(all, filter)?, writes))
}

impl LastWrites {
    /// As far as these entries say, those of deleted files included.
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a ManifestEntry>) -> Self {
        let mut writes = Self::default();
        for entry in entries {
            writes.add(entry);
        }
        writes
    }

    fn add(&mut self, entry: &ManifestEntry) {
        let Some(created) = entry.file.creation_time else { return };
        if !self.0.contains_key(&entry.partition) {
            self.0.insert(entry.partition.clone(), HashMap::new());
        }
        if let Some(buckets) = self.0.get_mut(&entry.partition) {
            let newest = buckets.entry(entry.bucket).or_insert(created);
            *newest = created.max(*newest);
        }
    }

    /// The last write to a partition.
    pub fn of_partition(&self, partition: &[u8]) -> Option<i64> {
        self.0.get(partition)?.values().max().copied()
    }

    /// The last write to a bucket.
    pub fn of_bucket(&self, partition: &[u8], bucket: i32) -> Option<i64> {
        self.0.get(partition)?.get(&bucket).copied()
    }
}
