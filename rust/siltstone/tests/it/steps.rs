//! Steps of operations on `k INT, v BIGINT` that tests of many actors have in common.

use arrow_array::{RecordBatch, cast::AsArray, types};
use siltstone::{
    Result,
    commit::{CommitOutcome, Committable, CompactionOutcome},
    compact::{CompactRequest, TaskResources, plan_compaction, run_task},
    io::TableContext,
    read::read_splits,
    rebucket::move_waiting,
    scan::{ScanRequest, VersionSelector, plan},
    table::Table,
    wire::{CommitMessage, TaskUnit},
};

/// The rows of a version, read as a query reads them.
pub(crate) fn rows(ctx: &TableContext, version: VersionSelector) -> Result<Vec<(i32, i64)>> {
    let columns = Some(vec!["k".to_owned(), "v".to_owned()]);
    let plan = plan(ctx, &ScanRequest { columns, version, ..ScanRequest::default() })?;
    let batches = read_splits(&plan.ctx, &plan.splits, &plan.read, 1)?.collect::<Result<Vec<RecordBatch>>>()?;
    let mut rows = Vec::new();
    for batch in &batches {
        let k = batch.column(0).as_primitive::<types::Int32Type>();
        let v = batch.column(1).as_primitive::<types::Int64Type>();
        rows.extend((0..batch.num_rows()).map(|i| (k.value(i), v.value(i))));
    }
    rows.sort_unstable();
    Ok(rows)
}

/// The messages of a full compaction, which gives rows that wait their buckets.
pub(crate) fn compacted(ctx: &TableContext) -> Result<Vec<CommitMessage>> {
    compacted_by(ctx, true)
}

fn compacted_by(ctx: &TableContext, full: bool) -> Result<Vec<CommitMessage>> {
    let plan = plan_compaction(ctx, &CompactRequest { full, ..CompactRequest::default() })?;
    let resources = TaskResources { threads: Some(1), ..TaskResources::default() };
    let mut messages = Vec::new();
    for task in &plan.tasks {
        match task.unit {
            TaskUnit::Postponed { .. } => messages.extend(move_waiting(ctx, task, &resources)?),
            _ => messages.push(run_task(ctx, task, &resources)?),
        }
    }
    Ok(messages)
}

/// A full compaction; one that was given up is an error.
pub(crate) fn compact(table: &Table) -> Result<CommitOutcome> {
    committed(table, compacted(table.context())?)
}

/// A compaction of what the options say; one that was given up is an error.
pub(crate) fn compact_some(table: &Table) -> Result<CommitOutcome> {
    committed(table, compacted_by(table.context(), false)?)
}

fn committed(table: &Table, messages: Vec<CommitMessage>) -> Result<CommitOutcome> {
    let mut outcome = table.committer(None).commit(Committable { messages, ..Committable::default() })?;
    match std::mem::take(&mut outcome.compaction) {
        CompactionOutcome::Dropped(error) | CompactionOutcome::Failed(error) => Err(error),
        compaction => Ok(CommitOutcome { compaction, ..outcome }),
    }
}
