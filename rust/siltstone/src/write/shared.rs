//! Writing to a table with dynamic buckets in several processes: some give keys their buckets, others write the buckets' files.
//!
//! ```text
//! plan      ─ which index of the keys all of them begin with, and how many share the keys
//! assigners ─ each key comes to one of them: its bucket, and for each row the number of a writer
//! writers   ─ each bucket comes to one of them: its files, and its index with the new keys
//! commit    ─ looks whether the table still has that index, as for any writer
//! ```
//!
//! Source: `HashBucketAssigner`, `DynamicBucketIndexMaintainer`, Spark's `PaimonSparkWriter`.

use std::collections::{HashMap, hash_map::Entry};

use arrow_array::{ArrayRef, Int32Array, RecordBatch, UInt32Array};
use serde::{Deserialize, Serialize};

use crate::{
    cancel,
    env::new_uuid,
    error::{Error, ErrorKind, Result},
    index::{Assigners, BucketRules, HashIndexFiles, PartitionIndex},
    io::{TableContext, taken_rows},
    manifest::IndexManifestEntry,
    row::{BinaryRow, binary_rows, hash_rows},
    scan::{bucket_hashes, has_hash_index, hashes_of_manifest, overtaken::at_newest},
    types::DataType,
};

/// Rows between two questions whether to stop.
const STRETCH: usize = 1 << 16;

/// What the processes of one job agree about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedWrite {
    /// tells its messages from those of others
    pub job: String,
    /// the index manifest that says where keys are; `None`: no key is anywhere
    pub index: Option<String>,
    /// assigners for the table
    pub channels: u32,
    /// of them, those that share a partition
    pub assigners: u32,
}

impl SharedWrite {
    /// For the table as it is now. `channels`: assigners, where `dynamic-bucket.assigner-parallelism` does not say how many;
    /// `replaces`: the rows take the place of what is there.
    ///
    /// A partition is shared by `dynamic-bucket.initial-buckets` of them, else by as many as the option says there are. Where neither
    /// is said, by as many as the largest partition has buckets: each makes buckets of its own, and Java's default, one of each
    /// assigner in every partition, would be as many small files.
    ///
    /// # Errors
    /// `UnsupportedFeature` when the table has no dynamic buckets.
    pub fn plan(ctx: &TableContext, channels: u32, replaces: bool) -> Result<Self> {
        if !has_hash_index(ctx) {
            let text = "several assigners for a table without dynamic buckets";
            return Err(Error::unsupported(text).with("table", &ctx.name).with("option", "bucket"));
        }
        let (index, buckets) = at_newest(ctx, |newest| {
            let Some(newest) = newest.filter(|newest| newest.index_manifest.is_some()) else { return Ok((None, 1)) };
            let found = bucket_hashes(ctx, newest, |_| true)?;
            let most = found.values().map(Vec::len).max().unwrap_or(1);
            Ok((newest.index_manifest.clone(), u32::try_from(most).unwrap_or(u32::MAX)))
        })?;
        let (given, initial) =
            (ctx.options.dynamic_bucket_assigner_parallelism, ctx.options.dynamic_bucket_initial_buckets);
        let channels = given.unwrap_or(channels).max(1);
        let assigners = initial.or(given).unwrap_or(buckets).clamp(1, channels);
        Ok(Self { job: new_uuid(), index: index.filter(|_| !replaces), channels, assigners })
    }

    pub(super) fn shared(&self) -> Result<Assigners> {
        Assigners::new(self.channels, self.assigners)
    }

    /// As text that travels.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(not_shared)
    }

    /// From such a text.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(not_shared)
    }
}

fn not_shared(error: serde_json::Error) -> Error {
    Error::new(ErrorKind::InvalidArgument, "this does not say how several processes write a table").caused_by(error)
}

/// The index files that a job began with, read when the first is asked for.
#[derive(Default)]
pub(super) struct BaseIndex(Option<HashMap<Vec<u8>, Vec<IndexManifestEntry>>>);

impl BaseIndex {
    /// Those of a partition.
    pub(super) fn of(
        &mut self,
        ctx: &TableContext,
        shared: &SharedWrite,
        partition: &[u8],
    ) -> Result<&[IndexManifestEntry]> {
        let all = match self.0.take() {
            Some(all) => all,
            None => match &shared.index {
                Some(index) => hashes_of_manifest(ctx, index, |_| true).map_err(|e| gone(ctx, e))?,
                None => HashMap::new(),
            },
        };
        Ok(self.0.insert(all).get(partition).map_or(&[], Vec::as_slice))
    }
}

/// The index that the job began with is not there any more.
pub(super) fn gone(ctx: &TableContext, error: Error) -> Error {
    if error.kind() != ErrorKind::FileNotFound {
        return error;
    }
    Error::new(ErrorKind::CommitConflict, "the index of keys that the job began with has expired")
        .with("table", &ctx.name)
        .hint("write again: nothing was committed; keep snapshots for longer than such a job takes")
        .caused_by(error)
}

/// Columns of a batch in the table's types.
pub struct KeyColumns {
    /// The partition's columns.
    pub partition: (Vec<DataType>, Vec<ArrayRef>),
    /// The other columns of the primary key.
    pub key: (Vec<DataType>, Vec<ArrayRef>),
}

impl KeyColumns {
    /// The hash of the partition of each row.
    fn partitions(&self, rows: usize) -> Result<Vec<i32>> {
        let (types, columns) = &self.partition;
        if types.is_empty() { Ok(vec![BinaryRow::empty().hash(); rows]) } else { hash_rows(types, columns) }
    }

    /// The assigner of each row.
    pub fn channels(&self, shared: &SharedWrite) -> Result<Vec<i32>> {
        let all = shared.shared()?;
        let keys = hash_rows(&self.key.0, &self.key.1)?;
        let partitions = self.partitions(keys.len())?;
        Ok(partitions.iter().zip(&keys).map(|(partition, key)| all.channel(*partition, *key)).collect())
    }
}

/// Gives keys their buckets, one of several.
pub struct SharedAssigner {
    ctx: TableContext,
    shared: SharedWrite,
    files: HashIndexFiles,
    base: BaseIndex,
    /// Numbers of partitions, by the bytes of their values.
    partitions: HashMap<Vec<u8>, usize>,
    /// By partition and assigner: whoever runs the job may let one process do the work of several.
    known: HashMap<(usize, i32), PartitionIndex>,
}

impl SharedAssigner {
    /// Of a job.
    pub fn new(ctx: &TableContext, shared: SharedWrite) -> Self {
        let files = HashIndexFiles::new(&ctx.fs, &ctx.paths, &ctx.options);
        let (base, partitions, known) = (BaseIndex::default(), HashMap::new(), HashMap::new());
        Self { ctx: ctx.clone(), shared, files, base, partitions, known }
    }

    /// The bucket of each row, and a number that is equal for rows of one (partition, bucket).
    pub fn assign(&mut self, columns: &KeyColumns) -> Result<(Vec<i32>, Vec<i32>)> {
        let (all, rules) = (self.shared.shared()?, BucketRules::of(&self.ctx.options));
        let keys = hash_rows(&columns.key.0, &columns.key.1)?;
        let hashes = columns.partitions(keys.len())?;
        let (types, values) = &columns.partition;
        let partitions = if types.is_empty() { None } else { Some(binary_rows(types, values)?) };
        let (mut buckets, mut routes) = (Vec::with_capacity(keys.len()), Vec::with_capacity(keys.len()));
        for (row, (key, hash)) in keys.iter().zip(&hashes).enumerate() {
            if row % STRETCH == 0 {
                cancel::check()?;
            }
            let channel = all.channel(*hash, *key);
            let share = all.share(channel);
            let bytes = partitions.as_ref().map_or(&[][..], |partitions| partitions.row(row));
            let new = self.partitions.len();
            let number = match self.partitions.get(bytes) {
                Some(number) => *number,
                None => *self.partitions.entry(bytes.to_vec()).or_insert(new),
            };
            let index = match self.known.entry((number, channel)) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let none = || BinaryRow::empty().to_serialized();
                    let partition = partitions.as_ref().map_or_else(none, |partitions| partitions.serialized(row));
                    let entries = self.base.of(&self.ctx, &self.shared, &partition)?.to_vec();
                    let index = PartitionIndex::load_share(&self.files, entries, *hash, share);
                    new.insert(index.map_err(|e| gone(&self.ctx, e).in_table(&self.ctx.name))?)
                }
            };
            let bucket = i32::from(index.assign(*key, rules.of_share(share))?);
            buckets.push(bucket);
            routes.push(hash.wrapping_add(bucket) & i32::MAX);
        }
        Ok((buckets, routes))
    }
}

/// The rows of each bucket of a batch that says them in its last column, in the order of their first row.
///
/// # Errors
/// `InvalidArgument` when the last column is none of buckets.
pub fn by_bucket(batch: &RecordBatch) -> Result<Vec<(i32, RecordBatch)>> {
    let last = batch.num_columns().saturating_sub(1);
    let buckets = batch.columns().get(last).and_then(|column| column.as_any().downcast_ref::<Int32Array>());
    let buckets = buckets.ok_or_else(|| {
        Error::new(ErrorKind::InvalidArgument, "the last column of the rows does not say their buckets")
            .with("expected", "a column of int32")
    })?;
    let rows = batch.project(&(0..last).collect::<Vec<_>>())?;
    let mut members: Vec<(i32, Vec<u32>)> = Vec::new();
    let mut numbers: HashMap<i32, usize> = HashMap::new();
    for (row, bucket) in (0_u32..).zip(buckets.values()) {
        let number = *numbers.entry(*bucket).or_insert_with(|| {
            members.push((*bucket, Vec::new()));
            members.len() - 1
        });
        members.get_mut(number).into_iter().for_each(|(_, rows)| rows.push(row));
    }
    if let [(bucket, _)] = members.as_slice() {
        return Ok(vec![(*bucket, rows)]);
    }
    let part = |(bucket, members)| Ok((bucket, taken_rows(&rows, &UInt32Array::from(members))?));
    members.into_iter().map(part).collect()
}
