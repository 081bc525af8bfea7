//! The rows that were decoded are as many as the footer says: pages may end before, and their end looks like the file's.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::ArrowError;
use parquet::file::metadata::ParquetMetaData;

use super::{
    batches::{Positions, Shape},
    chunks::Chunks,
    project::Projection,
    reader::{RowTest, Rows},
};
use crate::{
    cancel,
    error::{Error, Result},
};

/// Rows that a condition was asked about, and those that it left.
#[derive(Clone)]
pub(super) struct Counted(Arc<Counts>);

struct Counts {
    /// How many there must be.
    rows: usize,
    tested: AtomicUsize,
    passed: AtomicUsize,
}

impl Counted {
    /// Counts up to `rows`.
    pub(super) fn new(rows: usize) -> Self {
        Self(Arc::new(Counts { rows, tested: AtomicUsize::new(0), passed: AtomicUsize::new(0) }))
    }

    /// More rows come to the condition.
    fn add(&self, rows: usize, path: &str) -> Result<()> {
        let tested = self.0.tested.fetch_add(rows, Ordering::Relaxed).saturating_add(rows);
        if tested > self.0.rows { Err(other_rows(path, self.0.rows, tested)) } else { Ok(()) }
    }

    fn add_passed(&self, rows: usize) {
        self.0.passed.fetch_add(rows, Ordering::Relaxed);
    }

    /// How many rows passed, after all of them were tested.
    pub(super) fn passed(&self, path: &str) -> Result<usize> {
        let tested = self.0.tested.load(Ordering::Relaxed);
        if tested == self.0.rows {
            Ok(self.0.passed.load(Ordering::Relaxed))
        } else {
            Err(other_rows(path, self.0.rows, tested))
        }
    }
}

/// Pages that have other rows than the footer says.
pub(super) fn other_rows(path: &str, expected: usize, found: usize) -> Error {
    Error::corrupt(path, 0, format!("{expected} rows to be read, by the footer of the file"), found)
        .hint("pages of the Parquet file are missing, or its footer is damaged")
}

/// Rows of these row groups.
pub(super) fn rows_of(metadata: &ParquetMetaData, row_groups: &[usize]) -> usize {
    let groups = row_groups.iter().filter_map(|i| metadata.row_groups().get(*i));
    groups.map(|group| usize::try_from(group.num_rows()).unwrap_or(usize::MAX)).fold(0, usize::saturating_add)
}

/// A condition as the decoder asks it.
pub(super) fn row_filter(
    test: RowTest,
    projection: Projection,
    mut numbers: Option<Positions>,
    chunks: Chunks,
    counted: Counted,
) -> impl FnMut(RecordBatch) -> std::result::Result<BooleanArray, ArrowError> {
    let shape = Shape { columns: test.columns, projection };
    let mut passing = move |batch: &RecordBatch, path: &str| -> Result<BooleanArray> {
        let count = batch.num_rows();
        // all row groups are tested before the first batch comes
        cancel::check()?;
        counted.add(count, path)?;
        let positions = numbers.as_mut().map(|numbers| numbers.take_numbers(count));
        let passes = (test.test)(&Rows { count, columns: shape.columns(batch)?, positions })?;
        counted.add_passed(passes.true_count());
        Ok(passes)
    };
    move |batch| {
        passing(&batch, chunks.path()).map_err(|e| {
            let text = e.to_string();
            chunks.keep_failure(e);
            ArrowError::ComputeError(text)
        })
    }
}
