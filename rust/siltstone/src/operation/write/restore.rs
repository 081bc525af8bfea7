//! What a new bucket writer finds in its bucket: the live files of the latest snapshot.

use std::collections::{HashMap, HashSet};

use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    manifest::{BucketId, DataFileMeta, IndexManifestEntry, ManifestEntry},
    operation::scan::{EntryFilter, bucket_vectors, live_entries},
    snapshot::SnapshotManager,
};

/// What a snapshot has of a bucket.
#[derive(Debug, Default)]
pub(super) struct Restored {
    /// Live data files.
    pub(super) files: Vec<DataFileMeta>,
    /// Index files with deletion vectors.
    pub(super) vectors: Vec<IndexManifestEntry>,
}

/// The snapshot that was looked at (0: there was none), and what it has of each bucket.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) snapshot: i64,
    pub(super) buckets: HashMap<BucketId, Restored>,
}

/// The live files of each of these buckets, in one look at the manifests. A partition that was written
/// with another number of buckets cannot be written to.
pub(super) fn live_files(ctx: &TableContext, buckets: &[&BucketId]) -> Result<Found> {
    let snapshots = SnapshotManager::new(ctx.fs.clone(), &ctx.paths.branch_root(&ctx.branch));
    let Some(snapshot) = snapshots.latest()? else {
        return Ok(Found::default());
    };
    let partitions: HashSet<Vec<u8>> = buckets.iter().map(|b| b.partition.clone()).collect();
    let filter = EntryFilter { partitions: Some(partitions), ..EntryFilter::default() };
    let wanted: HashSet<&BucketId> = buckets.iter().copied().collect();
    let mut restored: HashMap<BucketId, Restored> = HashMap::new();
    for entry in live_entries(ctx, &snapshot, &filter)? {
        check_bucket_count(ctx, &entry)?;
        let bucket = BucketId { partition: entry.partition, bucket: entry.bucket };
        if wanted.contains(&bucket) {
            restored.entry(bucket).or_default().files.push(entry.file);
        }
    }
    for (bucket, vectors) in bucket_vectors(ctx, &snapshot)? {
        if wanted.contains(&bucket) {
            restored.entry(bucket).or_default().vectors = vectors;
        }
    }
    Ok(Found { snapshot: snapshot.id, buckets: restored })
}

fn check_bucket_count(ctx: &TableContext, entry: &ManifestEntry) -> Result<()> {
    let wanted = ctx.options.bucket;
    if entry.total_buckets == wanted || entry.total_buckets <= 0 {
        return Ok(());
    }
    let place = match ctx.paths.partition_path(&entry.partition)? {
        path if path.is_empty() => "the table".to_owned(),
        path => format!("partition {path}"),
    };
    let message = format!(
        "Try to write {place} with a new bucket num {wanted}, but the previous bucket num is {}. \
         Please perform INSERT OVERWRITE to rescale current data layout first.",
        entry.total_buckets
    );
    Err(Error::new(ErrorKind::CommitConflict, message)
        .with("table", &ctx.name)
        .with("option", "bucket")
        .hint("overwrite the partition with its own rows, or set the option bucket back"))
}
