//! Carrying out a task of waiting rows.

use std::collections::HashSet;

use arrow_array::{Int8Array, RecordBatch, cast::AsArray, types::Int8Type};

use super::with_buckets;
use crate::{
    cancel,
    compact::{TaskResources, check_task},
    error::{Error, ErrorKind, Result},
    io::{FileReadSpec, TableContext, delete_unused, read_data_file},
    manifest::{BucketId, CompactIncrement, DataFileMeta, DataIncrement},
    options::POSTPONE_BUCKET,
    scan::{
        EntryFilter, live_entries,
        overtaken::{at_newest, overtaken, replaced},
    },
    wire::{CommitMessage, CompactionTask, TaskUnit},
    write::{RowKinds, TableWrite, WriteOptions},
};

/// Reads the waiting files of a task and writes their rows into buckets; commits nothing. One message for each bucket, and one
/// that takes the waiting files away: they belong into one commit. An error leaves no new file behind.
///
/// # Errors
/// `CommitConflict` when files of the task are gone because others have given their rows buckets, and they have expired.
pub fn move_waiting(
    ctx: &TableContext,
    task: &CompactionTask,
    resources: &TaskResources,
) -> Result<Vec<CommitMessage>> {
    check_task(ctx, task)?;
    let TaskUnit::Postponed { full } = task.unit else {
        return Err(Error::new(ErrorKind::Internal, "a task of rows that have buckets"));
    };
    moved(ctx, task, full, resources).map_err(|error| match overtaken(ctx, Some(&task.bucket), &error) {
        Ok(true) => replaced(ctx, error).with("snapshot", task.snapshot.id),
        _ => error,
    })
}

fn moved(
    ctx: &TableContext,
    task: &CompactionTask,
    full: bool,
    resources: &TaskResources,
) -> Result<Vec<CommitMessage>> {
    let target = with_buckets(ctx, task.total_buckets)?;
    let options = WriteOptions {
        threads: resources.threads,
        spill_dir: resources.spill_dir.clone(),
        stored: true,
        moved: true,
        ..WriteOptions::default()
    };
    let mut writer = TableWrite::new(&target, options)?;
    for file in &task.files {
        write_file(ctx, task, file, &mut writer)?;
    }
    if full {
        writer.compact_buckets(&buckets_of(ctx, &task.bucket.partition)?, true)?;
    }
    let mut messages = writer.prepare_commit()?;
    if let Some(given_up) = writer.take_given_up() {
        tracing::info!(table = ctx.name, error = %given_up, "rows get buckets without a compaction of these");
    }
    let mut folded = Vec::with_capacity(messages.len() + 1);
    let mut left_over = Vec::new();
    for message in messages.drain(..) {
        let (message, unused) = as_compaction(message);
        left_over.extend(unused.into_iter().map(|file| (message.bucket.clone(), file)));
        folded.push(message);
    }
    delete(ctx, &left_over);
    folded.push(CommitMessage {
        bucket: task.bucket.clone(),
        total_buckets: POSTPONE_BUCKET,
        data: DataIncrement::default(),
        compact: CompactIncrement { compact_before: task.files.clone(), ..CompactIncrement::default() },
        seen: None,
        after: None,
        assigned: None,
    });
    Ok(folded)
}

fn write_file(ctx: &TableContext, task: &CompactionTask, file: &DataFileMeta, writer: &mut TableWrite) -> Result<()> {
    let spec = FileReadSpec { system: true, ..FileReadSpec::new(ctx.schema.fields.clone()) };
    for batch in read_data_file(ctx, &task.bucket.partition, task.bucket.bucket, file, &spec)? {
        cancel::check()?;
        let (rows, kinds) = rows_and_kinds(&batch?)?;
        writer.write(&rows, Some(&RowKinds::PerRow(kinds)))?;
    }
    Ok(())
}

/// Takes the system columns off.
fn rows_and_kinds(batch: &RecordBatch) -> Result<(RecordBatch, Int8Array)> {
    let width = batch.num_columns();
    let kinds = batch.columns().last().and_then(|kinds| kinds.as_primitive_opt::<Int8Type>());
    let kinds = kinds.ok_or_else(|| Error::new(ErrorKind::Internal, "a batch without row kinds"))?.clone();
    let columns: Vec<usize> = (0..width.saturating_sub(2)).collect();
    Ok((batch.project(&columns)?, kinds))
}

/// The buckets that a partition has now.
fn buckets_of(ctx: &TableContext, partition: &[u8]) -> Result<Vec<BucketId>> {
    let filter = EntryFilter { partitions: Some(HashSet::from([partition.to_vec()])), ..EntryFilter::default() };
    let live =
        at_newest(ctx, |newest| newest.map_or_else(|| Ok(Vec::new()), |newest| live_entries(ctx, newest, &filter)))?;
    let numbers: HashSet<i32> = live.iter().map(|entry| entry.bucket).filter(|bucket| *bucket >= 0).collect();
    Ok(numbers.into_iter().map(|bucket| BucketId { partition: partition.to_vec(), bucket }).collect())
}

/// What a writer brings as the result of a compaction, without files that it has compacted itself since; these are given
/// apart. Rows that wait have been counted before: nothing of this is new.
fn as_compaction(message: CommitMessage) -> (CommitMessage, Vec<DataFileMeta>) {
    let CommitMessage { data, compact, .. } = message;
    let new: HashSet<String> = data.new_files.iter().map(|file| file.file_name.clone()).collect();
    let replaced: HashSet<&str> = compact.compact_before.iter().map(|file| file.file_name.as_str()).collect();
    let kept: HashSet<&str> = compact.compact_after.iter().map(|file| file.file_name.as_str()).collect();
    let (gone, mut compact_after): (Vec<_>, Vec<_>) =
        data.new_files.into_iter().partition(|file| replaced.contains(file.file_name.as_str()));
    let unused = gone.into_iter().filter(|file| !kept.contains(file.file_name.as_str())).collect();
    compact_after.extend(compact.compact_after);
    let compact = CompactIncrement {
        compact_before: compact.compact_before.into_iter().filter(|file| !new.contains(&file.file_name)).collect(),
        compact_after,
        changelog_files: data.changelog_files.into_iter().chain(compact.changelog_files).collect(),
        index_files: data.index_files.into_iter().chain(compact.index_files).collect(),
        dropped: compact.dropped,
    };
    (CommitMessage { data: DataIncrement::default(), compact, ..message }, unused)
}

/// Deletes files that nobody has seen.
fn delete(ctx: &TableContext, files: &[(BucketId, DataFileMeta)]) {
    for (bucket, file) in files {
        delete_unused(ctx, &bucket.partition, bucket.bucket, file);
    }
}
