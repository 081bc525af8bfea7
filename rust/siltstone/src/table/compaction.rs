//! Compaction as plan, tasks and messages.

use std::collections::BTreeSet;

use super::Table;
use crate::{
    Error, ErrorKind, Result,
    compact::{CompactRequest, plan_compaction, plan_sort_compaction},
    limits::sum,
    manifest::DataFileMeta,
    predicate::{Condition, Predicate},
    scan::{PartitionSpec, partition_spec},
    wire::{CommitMessage, CompactionTask, SortOrder, SortStrategy},
};

/// What to compact.
#[derive(Clone, Debug, Default)]
pub struct CompactArgs {
    /// Merge each bucket into one run.
    pub full: bool,
    /// Condition over partition columns.
    pub filter: Option<Condition>,
    /// Partition specs, partial ones included.
    pub partitions: Option<Vec<PartitionSpec>>,
    /// Only partitions not written for this long.
    pub idle_millis: Option<i64>,
    /// Columns to sort by, and by which strategy; the strategy is [`SortStrategy`]'s text.
    pub order: Option<(Vec<String>, String)>,
}

/// A task of a plan, for those who look at it or run it.
#[derive(Clone, Debug)]
pub struct PlannedTask {
    /// `dt=2026-11-20`; empty where the table has no partitions.
    pub partition: String,
    /// Its bucket.
    pub bucket: i32,
    /// Data files that it reads.
    pub files: usize,
    /// Their bytes.
    pub bytes: i64,
    /// Rows in them.
    pub rows: i64,
    /// The task, serialized.
    pub token: Vec<u8>,
}

/// Counts of what compaction messages replace.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "files, bytes and rows before and after")]
pub struct CompactionSums {
    /// Buckets that were compacted.
    pub tasks: usize,
    pub files_before: usize,
    pub files_after: usize,
    pub bytes_before: i64,
    pub bytes_after: i64,
    pub rows_before: i64,
    pub rows_after: i64,
}

impl Table {
    /// What a compaction would do, task by task.
    pub fn plan_compaction(&self, args: &CompactArgs) -> Result<Vec<PlannedTask>> {
        self.check_writable()?;
        let fields = &self.context().schema.fields;
        let mut parts = Vec::new();
        parts.extend(Condition::of(args.filter.as_ref(), fields)?);
        if let Some(specs) = &args.partitions {
            let specs: Result<Vec<Predicate>> =
                specs.iter().map(|spec| partition_spec::predicate(self.context(), spec)).collect();
            parts.push(Predicate::Or(specs?));
        }
        let order = args.order.as_ref().map(|(columns, strategy)| sort_order(columns, strategy)).transpose()?;
        let request = CompactRequest {
            full: args.full,
            filter: (!parts.is_empty()).then_some(Predicate::And(parts)),
            idle_millis: args.idle_millis,
            dynamic_options: self.dynamic_options().clone(),
            ..CompactRequest::default()
        };
        // tasks open the table with this handle's schema, which a fast-forward may have taken away
        let planned = match &order {
            Some(order) => plan_sort_compaction(self.context(), &request, order),
            None => plan_compaction(self.context(), &request),
        };
        let plan = self.found(planned, |_| true)?;
        plan.tasks.iter().map(|task| self.describe_task(task)).collect()
    }

    fn describe_task(&self, task: &CompactionTask) -> Result<PlannedTask> {
        let path = self.context().paths.partition_shown(&task.bucket.partition)?;
        Ok(PlannedTask {
            partition: path.trim_end_matches('/').to_owned(),
            bucket: task.bucket.bucket,
            files: task.files.len(),
            bytes: total(&task.files, |f| f.file_size),
            rows: total(&task.files, |f| f.row_count),
            token: task.to_bytes()?,
        })
    }

    /// An error unless all these tasks were planned for this table.
    pub fn check_tasks(&self, tokens: &[Vec<u8>]) -> Result<()> {
        tokens.iter().try_for_each(|token| CompactionTask::from_bytes(token)?.check_table(self.context()))
    }

    /// Counts of what compaction messages replace.
    pub fn describe_messages(messages: &[CommitMessage]) -> CompactionSums {
        let before: Vec<&DataFileMeta> = messages.iter().flat_map(|m| &m.compact.compact_before).collect();
        let after: Vec<&DataFileMeta> = messages.iter().flat_map(|m| &m.compact.compact_after).collect();
        let moved: BTreeSet<&[u8]> =
            messages.iter().filter(|m| m.bucket.bucket < 0).map(|m| m.bucket.partition.as_slice()).collect();
        let of_others = messages.iter().filter(|m| !moved.contains(m.bucket.partition.as_slice())).count();
        CompactionSums {
            // all messages of rows that get buckets in a partition are one task's
            tasks: of_others + moved.len(),
            files_before: before.len(),
            files_after: after.len(),
            bytes_before: sum(before.iter().map(|f| f.file_size)),
            bytes_after: sum(after.iter().map(|f| f.file_size)),
            rows_before: sum(before.iter().map(|f| f.row_count)),
            rows_after: sum(after.iter().map(|f| f.row_count)),
        }
    }
}

fn sort_order(columns: &[String], strategy: &str) -> Result<SortOrder> {
    let strategy = SortStrategy::parse(strategy).ok_or_else(|| {
        let message = format!("the sort strategy '{strategy}' is none of order, zorder, hilbert");
        Error::new(ErrorKind::InvalidArgument, message)
    })?;
    Ok(SortOrder { strategy, columns: columns.to_vec() })
}

fn total(files: &[DataFileMeta], of: impl Fn(&DataFileMeta) -> i64) -> i64 {
    sum(files.iter().map(of))
}
