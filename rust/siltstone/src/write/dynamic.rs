//! Rows of tables with dynamic buckets: which bucket each key is in, and the index files that say so (format chapter 6.4).
//!
//! ```text
//! first row of a partition ─ its hash index files in the newest version ─ known keys keep their bucket, new ones get one
//! prepare_commit           ─ a bucket with new keys: its whole index anew, DELETE old, ADD new
//! the message              ─ which index files of the partition the rows were assigned by; the commit looks whether it has them still
//! reset                    ─ the next row of a partition asks whether its index files are the same
//! ```
//!
//! One assigner for all rows of a writer, so `dynamic-bucket.initial-buckets` and `dynamic-bucket.assigner-parallelism` change
//! nothing, as in Java with a parallelism of one. An overwrite begins with nothing (`SimpleHashBucketAssigner`).
//!
//! Source: `HashBucketAssigner`, `DynamicBucketIndexMaintainer`.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    ops::Range,
};

use crate::{
    cancel,
    env::new_uuid,
    error::{Error, ErrorKind, Result},
    index::{BucketRules, HashIndexFiles, PartitionIndex},
    io::TableContext,
    manifest::{BucketId, IndexManifestEntry},
    scan::{
        bucket_hashes, has_hash_index,
        overtaken::{again_when_overtaken, at_newest},
    },
    wire::{Assigned, AssignedBy, CommitMessage},
};

/// Rows between two questions whether to stop.
const STRETCH: usize = 1 << 16;

/// Gives keys their buckets.
pub(super) struct Assigner {
    ctx: TableContext,
    files: HashIndexFiles,
    rules: BucketRules,
    /// Tells its messages from those of others.
    id: String,
    /// What is there is replaced: it is not looked at.
    replaces: bool,
    partitions: HashMap<Vec<u8>, Known>,
}

struct Known {
    index: PartitionIndex,
    /// Rows came since the last reset.
    touched: bool,
    /// Nobody has looked since the last reset whether the table has the same index files.
    stale: bool,
}

impl From<PartitionIndex> for Known {
    fn from(index: PartitionIndex) -> Self {
        Self { index, touched: true, stale: false }
    }
}

impl Assigner {
    /// Of a table with dynamic buckets. `replaces`: the rows take the place of what is there.
    pub(super) fn of(ctx: &TableContext, replaces: bool) -> Option<Self> {
        has_hash_index(ctx).then(|| Self {
            files: HashIndexFiles::new(&ctx.fs, &ctx.paths, &ctx.options),
            rules: BucketRules::of(&ctx.options),
            ctx: ctx.clone(),
            id: new_uuid(),
            replaces,
            partitions: HashMap::new(),
        })
    }

    /// The bucket of each row: `stretches` says which of the partitions it is in, `hashes` has the hash of its key.
    pub(super) fn assign(
        &mut self,
        partitions: &[Vec<u8>],
        stretches: &[(Range<usize>, usize)],
        hashes: &[i32],
    ) -> Result<Vec<i32>> {
        self.know(partitions)?;
        let mut buckets = Vec::with_capacity(hashes.len());
        for (rows, partition) in stretches {
            let known = partitions.get(*partition).and_then(|partition| self.partitions.get_mut(partition));
            let known = known.ok_or_else(|| Error::new(ErrorKind::Internal, "a partition was not looked at"))?;
            known.touched = true;
            for part in hashes.get(rows.clone()).unwrap_or_default().chunks(STRETCH) {
                cancel::check()?;
                for hash in part {
                    buckets.push(i32::from(known.index.assign(*hash, self.rules)?));
                }
            }
        }
        Ok(buckets)
    }

    /// Loads what is not known of these partitions, or not known any more.
    fn know(&mut self, partitions: &[Vec<u8>]) -> Result<()> {
        let open = |partition: &&Vec<u8>| self.partitions.get(*partition).is_none_or(|known| known.stale);
        let open: BTreeSet<&Vec<u8>> = partitions.iter().filter(open).collect();
        if open.is_empty() {
            return Ok(());
        }
        if self.replaces {
            for partition in open {
                self.partitions.insert(partition.clone(), PartitionIndex::default().into());
            }
            return Ok(());
        }
        let ctx = self.ctx.clone();
        again_when_overtaken(&ctx, || self.load(&open))
    }

    fn load(&mut self, partitions: &BTreeSet<&Vec<u8>>) -> Result<()> {
        let ctx = self.ctx.clone();
        let mut found = at_newest(&ctx, |newest| match newest {
            Some(newest) => bucket_hashes(&ctx, newest, |partition| partitions.contains(partition)),
            None => Ok(HashMap::new()),
        })?;
        for partition in partitions {
            let entries: Vec<IndexManifestEntry> = found.remove(*partition).unwrap_or_default();
            let version = crate::index::version_of(entries.iter());
            match self.partitions.get_mut(*partition) {
                Some(known) if known.index.version() == version => known.stale = false,
                _ => {
                    let index = PartitionIndex::load(&self.files, entries).map_err(|e| e.in_table(&ctx.name))?;
                    self.partitions.insert((*partition).clone(), index.into());
                }
            }
        }
        Ok(())
    }

    /// Says in each message which index files its rows were assigned by, and gives it the new index file of its bucket.
    pub(super) fn add_to(&mut self, messages: &mut [CommitMessage]) -> Result<()> {
        let mut buckets: BTreeMap<Vec<u8>, HashSet<i32>> = BTreeMap::new();
        for BucketId { partition, bucket } in messages.iter().map(|message| &message.bucket) {
            buckets.entry(partition.clone()).or_default().insert(*bucket);
        }
        for (partition, buckets) in buckets {
            let Some(known) = self.partitions.get_mut(&partition) else { continue };
            let version = known.index.version();
            let mut changes = known.index.write(&self.files, &partition, |bucket| buckets.contains(&bucket))?;
            for message in messages.iter_mut().filter(|message| message.bucket.partition == partition) {
                message.data.index_files.extend(changes.remove(&message.bucket.bucket).unwrap_or_default());
                if !message.data.new_files.is_empty() || !message.data.index_files.is_empty() {
                    message.assigned = Some(Assigned { writer: self.id.clone(), by: AssignedBy::Index(version) });
                }
            }
        }
        Ok(())
    }

    /// What is known holds only where the table still has the same index files. Partitions that no row came for are forgotten.
    pub(super) fn reset(&mut self) {
        self.partitions.retain(|_, known| std::mem::take(&mut known.touched));
        self.partitions.values_mut().for_each(|known| known.stale = true);
    }
}
