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

use rayon::{ThreadPool, prelude::*};

use crate::{
    cancel,
    env::new_uuid,
    error::{Error, ErrorKind, Result},
    index::{BucketRules, HashIndexFiles, PartitionIndex},
    io::TableContext,
    manifest::{IndexManifestEntry, ManifestEntry},
    scan::{
        bucket_hashes, has_hash_index,
        overtaken::{again_when_overtaken, at_newest},
    },
    threads::install,
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

/// New index files of a partition.
struct IndexChanges {
    /// Numbers of the messages about it.
    messages: Vec<usize>,
    /// Of the index files before.
    version: u128,
    /// By bucket.
    files: BTreeMap<i32, Vec<IndexManifestEntry>>,
}

struct Known {
    index: PartitionIndex,
    /// Rows came since the last reset.
    touched: bool,
    /// Nobody has looked since the last reset whether the table has the same index files.
    stale: bool,
    /// The index manifest that named them when somebody looked.
    manifest: Option<String>,
}

impl From<PartitionIndex> for Known {
    fn from(index: PartitionIndex) -> Self {
        Self { index, touched: true, stale: false, manifest: None }
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
                known.index.assign_all(part, self.rules, &mut buckets)?;
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
        let (manifest, mut found) = at_newest(&ctx, |newest| match newest {
            Some(newest) => {
                let found = bucket_hashes(&ctx, newest, |partition| partitions.contains(partition))?;
                Ok((newest.index_manifest.clone(), found))
            }
            None => Ok((None, HashMap::new())),
        })?;
        for partition in partitions {
            let entries: Vec<IndexManifestEntry> = found.remove(*partition).unwrap_or_default();
            let version = crate::index::version_of(entries.iter());
            match self.partitions.get_mut(*partition) {
                Some(known) if known.index.version() == version => {
                    (known.stale, known.manifest) = (false, manifest.clone());
                }
                _ => {
                    let index = PartitionIndex::load(&self.files, entries).map_err(|e| e.in_table(&ctx.name))?;
                    let known = Known { manifest: manifest.clone(), ..Known::from(index) };
                    self.partitions.insert((*partition).clone(), known);
                }
            }
        }
        Ok(())
    }

    /// Compares the index with a live file of a version with this index manifest, or with none: an index of another version may know other
    /// keys.
    pub(super) fn check(&self, entry: &ManifestEntry, manifest: Option<&str>) -> Result<()> {
        let known = self.partitions.get(&entry.partition).filter(|known| !known.stale);
        let Some(known) = known.filter(|known| known.manifest.as_deref() == manifest) else { return Ok(()) };
        known.index.check_bounds(&self.ctx.schema, entry).map_err(|e| e.in_table(&self.ctx.name))
    }

    /// Says in each message which index files its rows were assigned by, and gives it the new index file of its bucket.
    ///
    /// # Errors
    /// The messages name the files that were written all the same.
    pub(super) fn add_to(&mut self, messages: &mut [CommitMessage], pool: Option<&ThreadPool>) -> Result<()> {
        let mut failure = None;
        for written in self.write_indexes(messages, pool) {
            let IndexChanges { messages: numbers, version, mut files } = match written {
                Ok(changes) => changes,
                Err(error) => {
                    failure = failure.or(Some(error));
                    continue;
                }
            };
            for number in numbers {
                let Some(message) = messages.get_mut(number) else { continue };
                message.data.index_files.extend(files.remove(&message.bucket.bucket).unwrap_or_default());
                if !message.data.new_files.is_empty() || !message.data.index_files.is_empty() {
                    message.assigned = Some(Assigned { writer: self.id.clone(), by: AssignedBy::Index(version) });
                }
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// Writes the index files of the buckets of messages, each partition by itself; without threads no more after an error.
    fn write_indexes(&mut self, messages: &[CommitMessage], pool: Option<&ThreadPool>) -> Vec<Result<IndexChanges>> {
        let mut numbers: HashMap<&[u8], Vec<usize>> = HashMap::new();
        for (number, message) in messages.iter().enumerate() {
            numbers.entry(&message.bucket.partition).or_default().push(number);
        }
        let mut open: Vec<(&Vec<u8>, &mut Known, Vec<usize>)> = self
            .partitions
            .iter_mut()
            .filter_map(|(partition, known)| Some((partition, known, numbers.remove(partition.as_slice())?)))
            .collect();
        open.sort_unstable_by_key(|(partition, ..)| *partition);
        let files = &self.files;
        let write = |(partition, known, numbers): (&Vec<u8>, &mut Known, Vec<usize>)| {
            cancel::check()?;
            let version = known.index.version();
            let buckets =
                numbers.iter().filter_map(|number| messages.get(*number)).map(|message| message.bucket.bucket);
            let buckets: HashSet<i32> = buckets.collect();
            let files = known.index.write(files, partition, |bucket| buckets.contains(&bucket))?;
            Ok(IndexChanges { messages: numbers, version, files })
        };
        if let Some(pool) = pool {
            let write = cancel::carried(write);
            return install(pool, || open.into_par_iter().map(write).collect());
        }
        let mut written = Vec::with_capacity(open.len());
        for partition in open {
            written.push(write(partition));
            if written.last().is_some_and(Result::is_err) {
                break;
            }
        }
        written
    }

    /// What is known holds only where the table still has the same index files. Partitions that no row came for are forgotten.
    pub(super) fn reset(&mut self) {
        self.partitions.retain(|_, known| std::mem::take(&mut known.touched));
        self.partitions.values_mut().for_each(|known| known.stale = true);
    }
}
