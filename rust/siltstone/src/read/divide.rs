//! What the threads of a read share out: splits, or rows of large files of them where there are fewer splits than threads.
//!
//! ```text
//! split 1   file A, file B (large), file C     ─▶  A │ B: rows │ B: rows │ … │ C
//! split 2   files to be merged                 ─▶  split 2
//! ```
//!
//! The order of the rows stays: tasks are read in their order, side by side.

use std::{ops::Range, sync::Arc};

use super::split::{is_merged, raw_spec, vector_of};
use crate::{
    deletion_vectors::DeletedRows,
    error::Result,
    io::{OpenDataFile, TableContext, has_index},
    manifest::DataFileMeta,
    scan::ReadRequest,
    wire::Split,
};

/// A file with fewer rows is read by one thread.
const LARGE: i64 = 200_000;

/// So many files are divided, which are open as long as the read lasts.
const FILES: usize = 16;

/// What one thread reads.
pub(super) struct Task {
    /// A split; of one file where `rows` is there.
    pub(super) split: Split,
    pub(super) rows: Option<RowsOfFile>,
}

/// Some rows of a large file.
pub(super) struct RowsOfFile {
    pub(super) file: Arc<OpenDataFile>,
    pub(super) deletions: Option<Arc<DeletedRows>>,
    pub(super) rows: Vec<Range<i64>>,
}

impl Task {
    /// Batches of it, but for one: what its queue takes, so that its thread waits there for the consumer. `None`: it is a split.
    pub(super) fn queue(&self, batch_rows: usize) -> Option<usize> {
        let rows = self.rows.as_ref()?.rows.iter().map(|range| range.end.saturating_sub(range.start));
        let rows = usize::try_from(rows.fold(0, i64::saturating_add)).unwrap_or(0);
        Some(rows.div_ceil(batch_rows.max(1)).saturating_sub(1))
    }
}

/// The tasks of a read by so many threads.
pub(super) fn tasks(ctx: &TableContext, splits: &[Split], request: &ReadRequest, threads: usize) -> Vec<Task> {
    // a limited read ends soon
    let divides = threads > 1 && splits.len() < threads.saturating_mul(2) && request.options.limit.is_none();
    let (mut tasks, mut left) = (Vec::new(), FILES);
    for split in splits {
        if divides && left > 0 && is_divisible(ctx, split) {
            divide(ctx, split, request, &mut left, &mut tasks);
        } else {
            tasks.push(Task { split: split.clone(), rows: None });
        }
    }
    tasks
}

/// Rows of its files do not depend on one another.
fn is_divisible(ctx: &TableContext, split: &Split) -> bool {
    split.files.iter().any(|file| file.row_count >= LARGE)
        && split.before_files.is_empty()
        && !ctx.options.data_evolution_enabled
        && is_merged(ctx, split).is_ok_and(|merged| !merged)
}

fn divide(ctx: &TableContext, split: &Split, request: &ReadRequest, left: &mut usize, tasks: &mut Vec<Task>) {
    let mut begun = 0;
    for (at, file) in split.files.iter().enumerate() {
        if *left == 0 {
            break;
        }
        // whoever reads the file as a whole meets the error, if there is one, where its rows are due
        let Ok(Some(parts)) = parts_of(ctx, split, at, file, request) else { continue };
        if begun < at {
            tasks.push(Task { split: of_files(split, begun..at), rows: None });
        }
        let own = of_files(split, at..at.saturating_add(1));
        tasks.extend(parts.into_iter().map(|rows| Task { split: own.clone(), rows: Some(rows) }));
        begun = at.saturating_add(1);
        *left -= 1;
    }
    if begun < split.files.len() {
        tasks.push(Task { split: of_files(split, begun..split.files.len()), rows: None });
    }
}

/// The parts of a large file; `None`: it is read as a whole.
fn parts_of(
    ctx: &TableContext,
    split: &Split,
    at: usize,
    file: &DataFileMeta,
    request: &ReadRequest,
) -> Result<Option<Vec<RowsOfFile>>> {
    if file.row_count < LARGE || request.filter.is_some() && has_index(file) {
        return Ok(None);
    }
    let open = OpenDataFile::open(ctx, &split.bucket.partition, split.bucket.bucket, file)?;
    let deletions = vector_of(ctx, split, at)?;
    let spec = raw_spec(ctx, split, request, file, deletions.clone());
    let Some(parts) = open.parts(ctx, &spec)? else { return Ok(None) };
    let file = Arc::new(open);
    let rows = |rows| RowsOfFile { file: Arc::clone(&file), deletions: deletions.clone(), rows };
    Ok(Some(parts.into_iter().map(rows).collect()))
}

/// The same split with some of its files.
fn of_files(split: &Split, files: Range<usize>) -> Split {
    let vectors = split.deletion_files.as_ref();
    Split {
        files: split.files.get(files.clone()).unwrap_or_default().to_vec(),
        deletion_files: vectors.map(|vectors| vectors.get(files).unwrap_or_default().to_vec()),
        ..split.clone()
    }
}
