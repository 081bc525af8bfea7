//! Rows, part three: each version is read as a whole, as a query would, and no primary key comes twice.
//!
//! A partition whose files and deletion vectors were read for an earlier version is not read again. Keys are compared by
//! their hashes, so many at a time that memory stays bounded: a partition with more rows is read more than once, for one
//! share of the hashes each time. Hashes that come twice are looked at again by their keys.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use arrow_row::{RowConverter, SortField};

use super::{
    Check,
    data::{Fault, unread},
};
use crate::{
    cancel,
    error::Result,
    io::TableContext,
    operation::{
        Split,
        read::{ReadRequest, read_splits},
        scan::{ScanPlan, ScanRequest, VersionSelector, plan},
    },
    snapshot::Snapshot,
};

/// Hashes of keys that are held at once: 256 MiB.
const HELD: u64 = 32 << 20;
const REPAIR: &str = "delete the keys and write their rows again, or roll back to a version without them";

/// The files of a partition, with the vectors that delete rows in them.
type Contents = Vec<(i32, String, Option<(String, i32)>)>;

impl Check<'_> {
    /// Reads each version as a whole.
    pub(super) fn whole_versions(&mut self, versions: &[(TableContext, Snapshot)]) -> Result<()> {
        let mut known: HashSet<(Vec<u8>, Contents)> = HashSet::new();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        for (ctx, version) in versions {
            let place = format!("{}/snapshot-{}", ctx.branch, version.id);
            let request = ScanRequest { version: VersionSelector::Snapshot(version.id), ..ScanRequest::default() };
            let planned = match plan(ctx, &request) {
                Ok(planned) => planned,
                Err(e) => {
                    cancel::check()?;
                    if let Some(fault) = unread("unreadable-version", e)? {
                        self.fault(&place, fault);
                    }
                    continue;
                }
            };
            self.verdict.count("versions read", 1);
            for (partition, splits) in by_partition(&planned) {
                cancel::check()?;
                if !known.insert((partition.clone(), contents(&splits))) {
                    continue;
                }
                match twice(&planned, &splits, threads, HELD) {
                    Ok(0) => {}
                    Ok(keys) => {
                        let name = ctx.paths.partition_path(&partition).unwrap_or_default();
                        let where_ = if name.is_empty() { String::new() } else { format!(" in {name}") };
                        let message = format!("{keys} primary keys come twice{where_}");
                        self.fault(&place, Fault { code: "key-twice", message, repair: REPAIR, mild: false });
                    }
                    Err(e) => {
                        cancel::check()?;
                        if let Some(fault) = unread("unreadable-version", e)? {
                            self.fault(&place, fault);
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

fn by_partition(plan: &ScanPlan) -> BTreeMap<Vec<u8>, Vec<Split>> {
    let mut partitions: BTreeMap<Vec<u8>, Vec<Split>> = BTreeMap::new();
    // a key that does not hold all partition columns may come in any partition
    let apart = plan.ctx.schema.partition_keys.iter().all(|key| plan.ctx.schema.primary_keys.contains(key));
    for split in &plan.splits {
        let partition = if apart { split.bucket.partition.clone() } else { Vec::new() };
        partitions.entry(partition).or_default().push(split.clone());
    }
    partitions
}

fn contents(splits: &[Split]) -> Contents {
    let mut all = Vec::new();
    for split in splits {
        for (at, file) in split.files.iter().enumerate() {
            let vector = split.deletion_file(at).map(|(path, range)| (path.clone(), range.offset));
            all.push((split.bucket.bucket, file.file_name.clone(), vector));
        }
    }
    all.sort();
    all
}

/// Reads all rows; returns how many primary keys come more than once.
fn twice(plan: &ScanPlan, splits: &[Split], threads: usize, held: u64) -> Result<usize> {
    let keyed = plan.ctx.schema.has_primary_key();
    if !keyed {
        // each file is read by itself, rows are as they are
        return Ok(0);
    }
    let all = crate::limits::sum(splits.iter().flat_map(|split| &split.files).map(|file| file.row_count));
    let shares = u64::try_from(all).unwrap_or(0) / held + 1;
    let mut suspects: HashSet<u64> = HashSet::new();
    for share in 0..shares {
        let mut hashes: Vec<u64> = Vec::new();
        let whole = share == 0;
        keys(plan, splits, threads, whole, &mut |key| {
            let hash = hash_of(key);
            if hash % shares == share {
                hashes.push(hash);
            }
        })?;
        cancel::stoppable(
            |ask| {
                hashes.sort_unstable_by(|a, b| {
                    ask(a);
                    a.cmp(b)
                });
            },
            |hash| hash.is_multiple_of(1024),
        )?;
        suspects.extend(hashes.windows(2).filter(|pair| pair.first() == pair.last()).filter_map(|pair| pair.first()));
    }
    if suspects.is_empty() {
        return Ok(0);
    }
    let mut counts: HashMap<Vec<u8>, usize> = HashMap::new();
    keys(plan, splits, threads, false, &mut |key| {
        if suspects.contains(&hash_of(key)) {
            *counts.entry(key.to_vec()).or_default() += 1;
        }
    })?;
    Ok(counts.values().filter(|count| **count > 1).count())
}

fn hash_of(key: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

/// Calls `visit` with every primary key; with `whole` all columns are read and merged beside it.
fn keys(plan: &ScanPlan, splits: &[Split], threads: usize, whole: bool, visit: &mut dyn FnMut(&[u8])) -> Result<()> {
    let ctx = &plan.ctx;
    let key_fields: Vec<_> =
        ctx.schema.primary_keys.iter().filter_map(|name| ctx.schema.field(name)).cloned().collect();
    let others = ctx.schema.fields.iter().filter(|f| whole && !ctx.schema.primary_keys.contains(&f.name)).cloned();
    let width = key_fields.len();
    let fields = key_fields.into_iter().chain(others).collect();
    let request = ReadRequest { fields, filter: None, limit: None, ..plan.read.clone() };
    let schema = request.arrow_schema()?;
    let sorts = schema.fields().iter().take(width).map(|f| SortField::new(f.data_type().clone())).collect();
    let converter = RowConverter::new(sorts)?;
    for batch in read_splits(ctx, splits, &request, threads)? {
        let batch = batch?;
        let columns: Vec<_> = batch.columns().iter().take(width).cloned().collect();
        for row in &converter.convert_columns(&columns)? {
            visit(row.as_ref());
        }
    }
    Ok(())
}
