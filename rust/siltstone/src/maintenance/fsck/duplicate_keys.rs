//! Rows, part three: each version is read as a whole, as a query would, and no primary key comes twice. The newest is also read
//! under the newest schema, which an alter after it has made: its columns may be of types that older values cannot be cast to,
//! or NOT NULL.
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
    Check, RESTORE,
    fault::{Fault, unread},
};
use crate::{
    cancel,
    error::{Error, Result},
    io::TableContext,
    read::read_splits,
    scan::{ReadOptions, ReadRequest, ScanPlan, ScanRequest, VersionSelector, has_hash_index, has_key_places, plan},
    snapshot::Snapshot,
    wire::Split,
};

/// Hashes of keys that are held at once: 256 MiB.
const HELD: u64 = 32 << 20;
const REPAIR: &str = "delete the keys and write their rows again, or roll back to a version without them";

/// Of a table whose writers look at all keys: they refuse it as it is.
const REPLACE: &str = "overwrite the table with its own rows, each key once, or roll back to a version without them";

/// Of a table with dynamic buckets: a key that the index has in two buckets is refused whatever its rows are.
const REASSIGN: &str =
    "overwrite the partition with its own rows, each key once, or roll back to a version without them";

const ALTER: &str = "change the column back, or write these rows anew under the schema that reads them";

/// What was read: a partition, the schema by its id and millisecond, and the files.
type Known = HashSet<(Vec<u8>, (i64, i64), Contents)>;

/// The files of a partition, with the vectors that delete rows in them.
type Contents = Vec<(i32, String, Option<(String, i32)>)>;

impl Check<'_> {
    /// Reads each version as a whole, and the newest of each branch as it is read without a version.
    pub(super) fn whole_versions(
        &mut self,
        versions: &[(TableContext, Snapshot)],
        branches: &[TableContext],
    ) -> Result<()> {
        let mut known = Known::new();
        for (ctx, version) in versions {
            let place = format!("{}/snapshot-{}", ctx.branch, version.id);
            let request = ScanRequest { version: VersionSelector::Snapshot(version.id), ..whole(ctx) };
            if let Some(planned) = self.whole_plan(&place, plan(ctx, &request))? {
                self.verdict.count("versions read", 1);
                self.whole_plan_read(&place, &planned, &mut known, RESTORE)?;
            }
        }
        for ctx in branches {
            let place = format!("{}/schema-{}", ctx.branch, ctx.schema.id);
            let Some(planned) = self.whole_plan(&place, plan(ctx, &whole(ctx)))? else { continue };
            let altered = planned.snapshot.as_ref().is_some_and(|newest| newest.schema_id != planned.ctx.schema.id);
            if altered {
                self.whole_plan_read(&place, &planned, &mut known, ALTER)?;
            }
        }
        Ok(())
    }

    /// The plan; `None` and a fault where there is none.
    fn whole_plan(&mut self, place: &str, planned: Result<ScanPlan>) -> Result<Option<ScanPlan>> {
        match planned {
            Ok(planned) => Ok(Some(planned)),
            Err(e) => self.unreadable(place, e, RESTORE).map(|()| None),
        }
    }

    /// Reads what was not read before under the same schema.
    fn whole_plan_read(
        &mut self,
        place: &str,
        planned: &ScanPlan,
        known: &mut Known,
        repair: &'static str,
    ) -> Result<()> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let schema = (planned.ctx.schema.id, planned.ctx.schema.time_millis);
        for (partition, splits) in by_partition(planned) {
            cancel::check()?;
            if !known.insert((partition.clone(), schema, contents(&splits))) {
                continue;
            }
            match twice(planned, &splits, threads, HELD) {
                Ok(0) => {}
                Ok(keys) => {
                    let name = planned.ctx.paths.partition_shown(&partition).unwrap_or_default();
                    let where_ = if name.is_empty() { String::new() } else { format!(" in {name}") };
                    let message = format!("{keys} primary keys come twice{where_}");
                    let repair = match &planned.ctx {
                        ctx if has_key_places(ctx) => REPLACE,
                        ctx if has_hash_index(ctx) => REASSIGN,
                        _ => REPAIR,
                    };
                    self.fault(place, Fault { code: "key-twice", message, repair, mild: false });
                }
                Err(e) => self.unreadable(place, e, repair)?,
            }
        }
        Ok(())
    }

    fn unreadable(&mut self, place: &str, e: Error, repair: &'static str) -> Result<()> {
        cancel::check()?;
        if let Some(fault) = unread("unreadable-version", e)? {
            let repair = if fault.mild { fault.repair } else { repair };
            self.fault(place, Fault { repair, ..fault });
        }
        Ok(())
    }
}

/// All rows; of tables whose keys may come in any partition also those that wait in level 0 for a compaction.
fn whole(ctx: &TableContext) -> ScanRequest {
    ScanRequest { all_levels: has_key_places(ctx), ..ScanRequest::default() }
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
        // files of this schema are read by themselves, rows are as they are; others' values are cast
        let is_cast = |split: &&Split| split.files.iter().any(|file| file.schema_id != plan.ctx.schema.id);
        let others: Vec<Split> = splits.iter().filter(is_cast).cloned().collect();
        for batch in read_splits(&plan.ctx, &others, &plan.read, threads)? {
            batch?;
        }
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
    let options = ReadOptions { limit: None, ..plan.read.options.clone() };
    let request = ReadRequest { fields, filter: None, options, ..plan.read.clone() };
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
