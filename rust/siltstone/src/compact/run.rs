//! Doing what a task says.

use std::path::PathBuf;

use super::sorted::rewrite_sorted;
use crate::{
    append::{AppendVectors, rewrite, rewrite_row_groups},
    deletion_vectors::DeletionMap,
    error::{Error, ErrorKind, Result},
    io::{TableContext, delete_unused},
    manifest::{CompactIncrement, DataFileMeta, DataIncrement},
    merge_tree::{
        BucketVectors,
        compact::{CompactResources, CompactUnit, run_compaction},
    },
    scan::overtaken::{overtaken, replaced},
    wire::{CommitMessage, CompactionTask, TaskUnit},
};

/// What a task may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskResources {
    /// Threads of this task; `None` = all cores.
    pub threads: Option<usize>,
    /// Where runs are spilled; `None` = the system's temporary directory.
    pub spill_dir: Option<PathBuf>,
    /// Encoded bytes that are held at most; `None`: as many as the options say.
    pub memory: Option<usize>,
}

/// Runs one task: reads and writes files, commits nothing. `ctx` must be of the task's location, branch and
/// schema. An error leaves no new file behind.
///
/// # Errors
/// `CommitConflict` when files of the task are gone because others have compacted them and they have expired.
pub fn run_task(ctx: &TableContext, task: &CompactionTask, resources: &TaskResources) -> Result<CommitMessage> {
    check_task(ctx, task)?;
    compacted(ctx, task, resources).map_err(|error| match overtaken(ctx, Some(&task.bucket), &error) {
        Ok(true) => replaced(ctx, error).with("snapshot", task.snapshot.id),
        _ => error,
    })
}

fn compacted(ctx: &TableContext, task: &CompactionTask, resources: &TaskResources) -> Result<CommitMessage> {
    let threads = resources.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let compact = match &task.unit {
        TaskUnit::Postponed { .. } => {
            return Err(Error::new(ErrorKind::Internal, "waiting rows get buckets from `rebucket`"));
        }
        TaskUnit::Append if ctx.options.data_evolution_enabled => CompactIncrement {
            compact_before: task.files.clone(),
            compact_after: rewrite_row_groups(ctx, &task.bucket, &task.files)?,
            ..CompactIncrement::default()
        },
        TaskUnit::Append => {
            rewrite_append(ctx, task, &|deletions| rewrite(ctx, &task.bucket, &task.files, deletions, threads))?
        }
        TaskUnit::Sorted(order) => {
            rewrite_append(ctx, task, &|deletions| rewrite_sorted(ctx, task, order, deletions, resources))?
        }
        TaskUnit::Tree { output_level, inputs, file_rewrite } => {
            let unit = CompactUnit {
                output_level: *output_level,
                files: find_inputs(task, inputs)?,
                file_rewrite: *file_rewrite,
            };
            let spill_dir = resources.spill_dir.clone().unwrap_or_else(std::env::temp_dir);
            let resources = CompactResources {
                threads: threads.saturating_sub(1),
                spill_dir: Some(spill_dir),
                vectors: BucketVectors::restore(ctx, &task.bucket, &task.vectors, &task.files)?,
                memory: resources.memory,
                ..CompactResources::default()
            };
            let (partition, bucket) = (&task.bucket.partition, task.bucket.bucket);
            let mut compact = run_compaction(ctx, partition, bucket, &task.files, &unit, &resources)?;
            if let (Some(vectors), Some(new)) = (&resources.vectors, compact.index_files.pop()) {
                compact.index_files = vectors.replacing(new);
            }
            compact
        }
    };
    Ok(CommitMessage {
        bucket: task.bucket.clone(),
        total_buckets: task.total_buckets,
        data: DataIncrement::default(),
        compact,
        seen: Some(task.snapshot.clone().into()),
        after: None,
        assigned: None,
    })
}

fn rewrite_append(
    ctx: &TableContext,
    task: &CompactionTask,
    rewrite: &dyn Fn(&DeletionMap) -> Result<Vec<DataFileMeta>>,
) -> Result<CompactIncrement> {
    let mut vectors = AppendVectors::new(ctx, &task.bucket, &task.vectors)?;
    let deletions = vectors.of(&task.files)?;
    let compact_after = rewrite(&deletions)?;
    task.files.iter().for_each(|file| vectors.remove(&file.file_name));
    let index_files = vectors.persist();
    let compact_before = task.files.clone();
    match index_files {
        Ok(index_files) => {
            Ok(CompactIncrement { compact_before, compact_after, index_files, ..CompactIncrement::default() })
        }
        Err(error) => {
            for file in &compact_after {
                delete_unused(ctx, &task.bucket.partition, task.bucket.bucket, file);
            }
            Err(error)
        }
    }
}

/// The inputs in the order that the plan gave them.
fn find_inputs(task: &CompactionTask, names: &[String]) -> Result<Vec<DataFileMeta>> {
    let find = |name: &String| {
        task.files.iter().find(|f| &f.file_name == name).cloned().ok_or_else(|| {
            Error::new(ErrorKind::InvalidArgument, "a compaction task names an input that it does not hold")
                .with("file", name)
        })
    };
    names.iter().map(find).collect()
}

/// An error when a task was planned for another table, or under another schema.
pub fn check_task(ctx: &TableContext, task: &CompactionTask) -> Result<()> {
    task.check_table(ctx)?;
    let (planned, ours) = (task.table.schema_id, ctx.schema.id);
    if planned == ours {
        return Ok(());
    }
    let message = format!("the task was planned under schema {planned} and is run under schema {ours}");
    Err(Error::new(ErrorKind::InvalidArgument, message).with("table", &ctx.name))
}
