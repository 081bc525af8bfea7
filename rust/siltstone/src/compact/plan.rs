//! Deciding what to compact, from metadata alone.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{
    sorted::check_order,
    waiting::{Waiting, take_waiting},
};
use crate::{
    append::{BucketQueue, PackRules, pack_row_groups, pack_with_vectors},
    env,
    error::{Error, ErrorKind, Result},
    io::{TableContext, row_groups},
    manifest::{BucketId, DataFileMeta, IndexManifestEntry, ManifestEntry},
    merge_tree::compact::pick_with_vectors,
    options::without_secrets,
    predicate::Predicate,
    scan::{EntryFilter, bucket_vectors, check_cardinality, live_entries_with_last_writes, overtaken::at_newest},
    schema::check_writable,
    snapshot::{RemovedSnapshot, Snapshot},
    wire::{CompactionTask, SortOrder, TableIdentity, TaskUnit},
};

/// What to compact.
#[derive(Clone, Debug, Default)]
pub struct CompactRequest {
    /// Everything into the highest level (append tables: every group of two small files or more);
    /// otherwise only what the triggers of the table ask for.
    pub full: bool,
    /// Only partitions (serialized `BinaryRow`) of this list.
    pub partitions: Option<Vec<Vec<u8>>>,
    /// Only partitions for which this condition, over partition columns only, holds.
    pub filter: Option<Predicate>,
    /// Only partitions whose newest file is at least this old.
    pub idle_millis: Option<i64>,
    /// Dynamic options of the operation, to travel with the tasks. Keys that carry secrets are left out.
    pub dynamic_options: BTreeMap<String, String>,
}

/// Independent tasks over one snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompactionPlan {
    /// The snapshot that was looked at; `None` = the table is empty.
    pub snapshot_id: Option<i64>,
    /// What to do; empty when nothing needs it.
    pub tasks: Vec<CompactionTask>,
    /// Buckets that were looked at.
    pub buckets: usize,
}

impl CompactionPlan {
    /// How many sorted runs the tree has that has the most of those to compact.
    pub(crate) fn most_runs(&self) -> usize {
        let runs = |task: &CompactionTask| {
            let (level0, above): (Vec<_>, Vec<_>) = task.files.iter().partition(|file| file.level <= 0);
            level0.len() + above.iter().map(|file| file.level).collect::<HashSet<i32>>().len()
        };
        let trees = self.tasks.iter().filter(|task| matches!(task.unit, TaskUnit::Tree { .. }));
        trees.map(runs).max().unwrap_or(0)
    }
}

/// Looks at the latest snapshot and decides what to compact. Works on write-only tables.
pub fn plan_compaction(ctx: &TableContext, request: &CompactRequest) -> Result<CompactionPlan> {
    plan_by(ctx, request, None)
}

/// The same for a sort compaction, which puts the rows of each partition into an order, whatever its files are like.
pub fn plan_sort_compaction(ctx: &TableContext, request: &CompactRequest, order: &SortOrder) -> Result<CompactionPlan> {
    check_order(ctx, order)?;
    plan_by(ctx, request, Some(order))
}

fn plan_by(ctx: &TableContext, request: &CompactRequest, order: Option<&SortOrder>) -> Result<CompactionPlan> {
    check_writable(&ctx.schema.with_options(&ctx.options.raw))?;
    check_filter(ctx, request)?;
    at_newest(ctx, |newest| {
        newest.map_or_else(|| Ok(CompactionPlan::default()), |newest| plan_of(ctx, newest, request, order))
    })
}

fn plan_of(
    ctx: &TableContext,
    snapshot: &Snapshot,
    request: &CompactRequest,
    order: Option<&SortOrder>,
) -> Result<CompactionPlan> {
    let filter = EntryFilter {
        partitions: request.partitions.as_ref().map(|p| p.iter().cloned().collect()),
        partition_predicate: request.filter.clone(),
        ..EntryFilter::default()
    };
    let (mut entries, writes) = live_entries_with_last_writes(ctx, snapshot, &filter)?;
    if let Some(idle) = request.idle_millis {
        let newest = env::local_millis().saturating_sub(idle);
        entries.retain(|entry| writes.of_partition(&entry.partition).is_none_or(|written| written <= newest));
    }
    let task_of = |bucket, total_buckets, unit, files, vectors| CompactionTask {
        table: TableIdentity::of(ctx),
        options: without_secrets(&request.dynamic_options),
        snapshot: RemovedSnapshot { commit: None, ..RemovedSnapshot::from(snapshot) },
        bucket,
        total_buckets,
        unit,
        files,
        vectors,
    };
    let live = LiveFiles::of(ctx, snapshot, entries, bucket_vectors(ctx, snapshot)?)?;
    let looked_at = live.buckets.len().saturating_add(live.waiting.len());
    let mut tasks = Vec::new();
    for Waiting { bucket, total_buckets, files } in live.waiting {
        let unit = TaskUnit::Postponed { full: request.full };
        tasks.push(task_of(bucket, total_buckets, unit, files, Vec::new()));
    }
    for live in live.buckets {
        let LiveBucket { bucket, total_buckets, files, index } = live;
        let units = match order {
            Some(order) => vec![(TaskUnit::Sorted(order.clone()), files)],
            None => units(ctx, request.full, files, &index)?,
        };
        for (unit, files) in units {
            let vectors = vectors_for(&unit, &files, &index);
            tasks.push(task_of(bucket.clone(), total_buckets, unit, files, vectors));
        }
    }
    Ok(CompactionPlan { snapshot_id: Some(snapshot.id), tasks, buckets: looked_at })
}

/// The live files of a version, as a plan looks at them.
pub(super) struct LiveFiles {
    /// By partition.
    pub(super) waiting: Vec<Waiting>,
    /// In (partition, bucket) order; those of partitions with waiting rows are not among them.
    pub(super) buckets: Vec<LiveBucket>,
}

/// One bucket with its files in manifest order, and its index files with deletion vectors.
pub(super) struct LiveBucket {
    pub(super) bucket: BucketId,
    pub(super) total_buckets: i32,
    pub(super) files: Vec<DataFileMeta>,
    pub(super) index: Vec<IndexManifestEntry>,
}

impl LiveFiles {
    pub(super) fn of(
        ctx: &TableContext,
        snapshot: &Snapshot,
        mut entries: Vec<ManifestEntry>,
        mut vectors: BTreeMap<BucketId, Vec<IndexManifestEntry>>,
    ) -> Result<Self> {
        let waiting = take_waiting(ctx, snapshot, &mut entries)?;
        let mut buckets: BTreeMap<BucketId, LiveBucket> = BTreeMap::new();
        for entry in entries {
            let bucket = BucketId { partition: entry.partition, bucket: entry.bucket };
            let total_buckets = entry.total_buckets;
            let live = || LiveBucket { bucket: bucket.clone(), total_buckets, files: Vec::new(), index: Vec::new() };
            buckets.entry(bucket.clone()).or_insert_with(live).files.push(entry.file);
        }
        let mut buckets: Vec<LiveBucket> = buckets.into_values().collect();
        for live in &mut buckets {
            live.index = vectors.remove(&live.bucket).unwrap_or_default();
            check_alive(ctx, &live.files, &live.index)?;
        }
        Ok(Self { waiting, buckets })
    }
}

/// What is worth doing in one bucket, with the files that belong into each task.
pub(super) fn units(
    ctx: &TableContext,
    full: bool,
    files: Vec<DataFileMeta>,
    index: &[IndexManifestEntry],
) -> Result<Vec<(TaskUnit, Vec<DataFileMeta>)>> {
    if !ctx.schema.primary_keys.is_empty() {
        let places = places(index);
        let deleted = |name: &str| places.get(name).map_or(0, |(_, rows)| u64::try_from(*rows).unwrap_or(0).max(1));
        let unit = pick_with_vectors(ctx, &files, full, &deleted)?.map(|unit| TaskUnit::Tree {
            output_level: unit.output_level,
            inputs: unit.files.into_iter().map(|f| f.into_inner().file_name).collect(),
            file_rewrite: unit.file_rewrite,
        });
        return Ok(unit.map(|unit| (unit, files)).into_iter().collect());
    }
    let groups = if ctx.options.data_evolution_enabled {
        pack_row_groups(&ctx.options, row_groups(ctx, files)?, full)
    } else if ctx.options.bucket == -1 {
        let mut files = files;
        files.truncate(ctx.options.compaction_file_num_limit);
        let rules = PackRules::new(&ctx.options, full);
        pack_with_vectors(&rules, files, &places(index), ctx.options.compaction_delete_ratio_threshold)
    } else {
        let mut queue = BucketQueue::new(&ctx.options, files);
        let picked = if full { queue.pick_full(2) } else { queue.pick() };
        picked.into_iter().collect()
    };
    Ok(groups.into_iter().map(|files| (TaskUnit::Append, files)).collect())
}

/// An error when a vector is said to delete more rows than its file has.
fn check_alive(ctx: &TableContext, files: &[DataFileMeta], index: &[IndexManifestEntry]) -> Result<()> {
    let alive: HashMap<&str, i64> = files.iter().map(|file| (file.file_name.as_str(), file.row_count)).collect();
    for entry in index {
        for range in entry.deletion_vectors.iter().flatten() {
            // full compactions of Java 1.4 leave the vectors of the files that they replace
            let Some(rows) = alive.get(range.data_file_name.as_str()) else { continue };
            if let Err(error) = check_cardinality(range, *rows) {
                return Err(error.with("table", &ctx.name).with("file", ctx.paths.index_file_of(entry)?));
            }
        }
    }
    Ok(())
}

/// The index file with the vector of each data file, and how many rows it deletes: as Java, too many to keep the file
/// where the index manifest does not say.
fn places(index: &[IndexManifestEntry]) -> HashMap<&str, (&str, i64)> {
    let ranges =
        index.iter().flat_map(|entry| entry.deletion_vectors.iter().flatten().map(move |range| (entry, range)));
    ranges
        .map(|(entry, range)| {
            (range.data_file_name.as_str(), (entry.file_name.as_str(), range.cardinality.unwrap_or(i64::MAX)))
        })
        .collect()
}

/// The index files that a task needs: append tables without buckets only those with vectors of its files.
fn vectors_for(unit: &TaskUnit, files: &[DataFileMeta], index: &[IndexManifestEntry]) -> Vec<IndexManifestEntry> {
    let bucket_unaware = matches!(unit, TaskUnit::Append | TaskUnit::Sorted(_)) && index.len() > 1;
    let names: HashSet<&str> = files.iter().map(|f| f.file_name.as_str()).collect();
    let touched = |entry: &&IndexManifestEntry| {
        !bucket_unaware
            || entry.deletion_vectors.iter().flatten().any(|range| names.contains(range.data_file_name.as_str()))
    };
    index.iter().filter(touched).cloned().collect()
}

fn check_filter(ctx: &TableContext, request: &CompactRequest) -> Result<()> {
    let Some(filter) = &request.filter else {
        return Ok(());
    };
    let columns = filter.columns();
    let Some(other) = columns.iter().find(|c| !ctx.schema.partition_keys.iter().any(|k| k == *c)) else {
        return Ok(());
    };
    let message = format!("compaction is restricted by partitions, and '{other}' is not a partition column");
    Err(Error::new(ErrorKind::InvalidArgument, message).with("column", other).hint(
        match ctx.schema.partition_keys.as_slice() {
            [] => "the table is not partitioned: compact it as a whole".to_owned(),
            keys => format!("use only {}", keys.join(", ")),
        },
    ))
}
