//! Rows that come with their buckets, from the assigners of a job: the index of each bucket with its new keys.
//!
//! Source: `DynamicBucketIndexMaintainer`.

use std::collections::{HashMap, hash_map::Entry};

use super::{
    route::Stretch,
    shared::{BaseIndex, SharedWrite, gone},
};
use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
    index::{HashIndexFiles, PartitionIndex, version_of},
    io::TableContext,
    manifest::{BucketId, ManifestEntry},
    wire::{Assigned, AssignedBy, CommitMessage},
};

/// The buckets that a writer of a job has been given.
pub(super) struct GivenBuckets {
    ctx: TableContext,
    shared: SharedWrite,
    files: HashIndexFiles,
    /// That of the next rows.
    bucket: Option<i32>,
    base: BaseIndex,
    buckets: HashMap<BucketId, PartitionIndex>,
}

impl GivenBuckets {
    pub(super) fn new(ctx: &TableContext, shared: SharedWrite) -> Self {
        let files = HashIndexFiles::new(&ctx.fs, &ctx.paths, &ctx.options);
        Self { ctx: ctx.clone(), shared, files, bucket: None, base: BaseIndex::default(), buckets: HashMap::new() }
    }

    /// The next rows are of this bucket.
    pub(super) fn next(&mut self, bucket: i32) {
        self.bucket = Some(bucket);
    }

    /// The bucket of each row, which is the one that was said.
    pub(super) fn assign(&mut self, partitions: &[Vec<u8>], stretches: &[Stretch], hashes: &[i32]) -> Result<Vec<i32>> {
        let bucket = self.bucket.ok_or_else(|| {
            Error::new(ErrorKind::InvalidArgument, "the rows of a shared write come without their bucket")
                .with("table", &self.ctx.name)
        })?;
        for (rows, partition) in stretches {
            cancel::check()?;
            let partition = partitions.get(*partition).cloned().unwrap_or_default();
            let index = self.index(BucketId { partition, bucket })?;
            for hash in hashes.get(rows.clone()).unwrap_or_default() {
                index.claim(*hash, bucket)?;
            }
        }
        Ok(vec![bucket; hashes.len()])
    }

    /// Compares the index of a bucket with a live file of a version with this index manifest.
    pub(super) fn check(&self, entry: &ManifestEntry, manifest: Option<&str>) -> Result<()> {
        let bucket = BucketId { partition: entry.partition.clone(), bucket: entry.bucket };
        let index = self.buckets.get(&bucket).filter(|_| self.shared.index.as_deref() == manifest);
        index
            .map_or(Ok(()), |index| index.check_bounds(&self.ctx.schema, entry).map_err(|e| e.in_table(&self.ctx.name)))
    }

    /// What is known of a bucket.
    fn index(&mut self, id: BucketId) -> Result<&mut PartitionIndex> {
        let index = match self.buckets.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let id = new.key();
                let entries = self.base.of(&self.ctx, &self.shared, &id.partition)?;
                let own = entries.iter().filter(|entry| entry.bucket == id.bucket).cloned().collect();
                let index = PartitionIndex::load(&self.files, own);
                new.insert(index.map_err(|e| gone(&self.ctx, e).in_table(&self.ctx.name))?)
            }
        };
        Ok(index)
    }

    /// Gives each message the new index file of its bucket.
    pub(super) fn add_to(&mut self, messages: &mut [CommitMessage]) -> Result<()> {
        for message in messages {
            let BucketId { partition, bucket } = &message.bucket;
            let Some(index) = self.buckets.get_mut(&message.bucket) else { continue };
            let changes = index.write(&self.files, partition, |changed| changed == *bucket)?;
            message.data.index_files.extend(changes.into_values().flatten());
            let version = version_of(self.base.of(&self.ctx, &self.shared, partition)?.iter());
            message.assigned = Some(Assigned { writer: self.shared.job.clone(), by: AssignedBy::Given(version) });
        }
        Ok(())
    }
}
