//! Another number of buckets for partitions that have rows: what it would do, and doing it.
//!
//! The rows are read as they are now, with those that wait in level 0, and written anew; one OVERWRITE replaces the partitions,
//! and only if nobody has written to them since they were read. Java overwrites what others have written meanwhile, or gives
//! up at any commit (`commit.strict-mode.last-safe-snapshot`).

use std::{
    collections::{BTreeMap, HashSet},
    path::PathBuf,
    sync::Arc,
};

use super::with_buckets;
use crate::{
    cancel,
    commit::ReadVersion,
    error::{Error, ErrorKind, Result},
    io::{TableContext, check_rewritable},
    limits::sum,
    manifest::ManifestEntry,
    options::{ChangelogProducer, CoreOptions},
    predicate::Predicate,
    read::read_splits,
    row::RowKind,
    scan::{EntryFilter, ScanPlan, ScanRequest, live_entries, plan},
    snapshot::RemovedSnapshot,
    wire::CommitMessage,
    write::{RowKinds, TableWrite, WriteOptions},
};

/// A partition whose number of buckets changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionBuckets {
    /// The partition (serialized row).
    pub partition: Vec<u8>,
    /// How many buckets it has.
    pub buckets: i32,
    /// Its data files, those of rows that wait for buckets not among them.
    pub files: usize,
    /// Records in them.
    pub rows: i64,
    /// Their size.
    pub bytes: i64,
}

/// What a rescale would do.
#[derive(Debug)]
pub struct RescalePlan {
    /// Buckets that the partitions get.
    pub buckets: i32,
    /// The partitions that have another number, in order.
    pub partitions: Vec<PartitionBuckets>,
    /// Partitions that have the number already.
    pub as_wanted: usize,
    /// Rows that wait in `bucket-postpone`, which a rescale leaves where they are.
    pub waiting: i64,
    /// Records that no changelog has told of, and that none would tell of after a rescale.
    pub untold: i64,
    found: ScanPlan,
}

impl RescalePlan {
    /// The version that the rows are read from.
    pub fn read(&self) -> ReadVersion {
        self.found.snapshot.as_ref().map(RemovedSnapshot::from)
    }

    /// The partitions that are replaced.
    pub fn replaced(&self) -> HashSet<Vec<u8>> {
        self.partitions.iter().map(|partition| partition.partition.clone()).collect()
    }
}

/// Which partitions have another number of buckets. `condition`: over partition columns.
///
/// # Errors
/// `InvalidArgument` for a table without a number of buckets, one that is no number, and rows that no reader sees yet.
pub fn plan_rescale(ctx: &TableContext, buckets: i32, condition: Option<&Predicate>) -> Result<RescalePlan> {
    let refused = |message: String| Error::new(ErrorKind::InvalidArgument, message).with("table", &ctx.name);
    if ctx.options.bucket == -1 {
        let why = if ctx.schema.has_primary_key() {
            "new keys get new buckets by themselves"
        } else {
            "its rows have no buckets"
        };
        return Err(refused("the table has no number of buckets that could be changed".to_owned())
            .with("option", "bucket")
            .hint(format!("{why}; only tables with 'bucket' = 'N' or '-2' are rescaled")));
    }
    if buckets < 1 {
        return Err(refused(format!("{buckets} is not a number of buckets")).hint("give a number of at least 1"));
    }
    // with the rows that wait in level 0
    let options = CoreOptions { deletion_vectors_merge_on_read: true, ..(*ctx.options).clone() };
    let all = TableContext { options: Arc::new(options), ..ctx.clone() };
    let mut found = plan(
        &all,
        &ScanRequest { filter: condition.cloned().map(Into::into), todays_schema: true, ..ScanRequest::default() },
    )?;
    let filter = EntryFilter { partition_predicate: condition.cloned(), ..EntryFilter::without_statistics() };
    let live = found.snapshot.as_ref().map(|snapshot| live_entries(ctx, snapshot, &filter)).transpose()?;
    let mut partitions: BTreeMap<Vec<u8>, Vec<ManifestEntry>> = BTreeMap::new();
    let (real, waiting): (Vec<_>, Vec<_>) = live.unwrap_or_default().into_iter().partition(|entry| entry.bucket >= 0);
    let waiting = sum(waiting.iter().map(|entry| entry.file.row_count));
    for entry in real {
        partitions.entry(entry.partition.clone()).or_default().push(entry);
    }
    let before = partitions.len();
    partitions.retain(|_, files| files.iter().any(|file| file.total_buckets != buckets));
    let as_wanted = before - partitions.len();
    let unseen = |entry: &&ManifestEntry| entry.file.level == 0 && ctx.options.merge_engine.oldest_wins();
    if let Some(entry) = partitions.values().flatten().find(unseen) {
        return Err(refused("rows wait in level 0 for a compaction that shows them".to_owned())
            .with("file", &entry.file.file_name)
            .hint("run t.compact() first"));
    }
    found.splits.retain(|split| partitions.contains_key(&split.bucket.partition));
    check_rewritable(ctx, partitions.values().flatten().map(|entry| &entry.file))?;
    let untold = partitions.values().flatten().filter(|entry| is_untold(&ctx.options, entry.file.level));
    let untold = sum(untold.map(|entry| entry.file.row_count));
    let described = |(partition, files): (Vec<u8>, Vec<ManifestEntry>)| PartitionBuckets {
        buckets: files.first().map_or(0, |file| file.total_buckets),
        files: files.len(),
        rows: sum(files.iter().map(|entry| entry.file.row_count)),
        bytes: sum(files.iter().map(|entry| entry.file.file_size)),
        partition,
    };
    let partitions = partitions.into_iter().map(described).collect();
    Ok(RescalePlan { buckets, partitions, as_wanted, waiting, untold, found })
}

/// Whether a compaction is still to tell the changelog of the records of a level.
fn is_untold(options: &CoreOptions, level: i32) -> bool {
    match options.changelog_producer {
        ChangelogProducer::None | ChangelogProducer::Input => false,
        ChangelogProducer::Lookup => level == 0,
        ChangelogProducer::FullCompaction => level < options.num_levels.saturating_sub(1),
    }
}

/// Writes the rows of a plan into their new buckets; the messages are to replace the partitions of the plan. An error leaves
/// no new file behind.
pub fn rescale(
    ctx: &TableContext,
    plan: &RescalePlan,
    threads: usize,
    spill_dir: Option<PathBuf>,
) -> Result<Vec<CommitMessage>> {
    let options = WriteOptions {
        threads: Some(threads),
        spill_dir,
        ignore_previous_files: true,
        stored: true,
        moved: true,
        ..WriteOptions::default()
    };
    let mut writer = TableWrite::new(&with_buckets(ctx, plan.buckets)?, options)?;
    for batch in read_splits(&plan.found.ctx, &plan.found.splits, &plan.found.read, threads)? {
        cancel::check()?;
        writer.write(&batch?, Some(&RowKinds::All(RowKind::Insert)))?;
    }
    writer.prepare_commit()
}

/// The table as its partitions are replaced: with so many buckets. Rows that wait for buckets stay where they are.
pub fn rescaled_table(ctx: &TableContext, plan: &RescalePlan) -> Result<TableContext> {
    let fixed = with_buckets(ctx, plan.buckets)?;
    let options = CoreOptions { write_only: ctx.options.write_only, ..(*fixed.options).clone() };
    Ok(TableContext { options: Arc::new(options), ..fixed })
}
