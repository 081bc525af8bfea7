//! The rows that were decoded are as many as the footer says: pages may end before, and their end looks like the file's.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, BooleanArray, RecordBatch, cast::AsArray};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_schema::ArrowError;
use arrow_select::concat::concat;

use super::{
    chunks::Chunks,
    decoder::{Positions, Tested},
    error::other_rows,
    views::Slices,
};
use crate::{cancel, error::Result, format::Rows};

/// Rows of a row group that a condition was asked about, and those that it left.
#[derive(Clone)]
pub(super) struct Counted {
    /// How many there must be.
    rows: usize,
    passed: Arc<Mutex<BooleanBufferBuilder>>,
}

impl Counted {
    /// Counts up to `rows`.
    pub(super) fn new(rows: usize) -> Self {
        Self { rows, passed: Arc::new(Mutex::new(BooleanBufferBuilder::new(0))) }
    }

    /// More rows come to the condition.
    fn check(&self, more: usize, path: &str) -> Result<()> {
        let tested = self.passed.lock().unwrap_or_else(PoisonError::into_inner).len().saturating_add(more);
        if tested > self.rows { Err(other_rows(path, self.rows, tested)) } else { Ok(()) }
    }

    fn add(&self, passes: &BooleanArray) {
        let passed = match passes.nulls() {
            Some(nulls) => passes.values() & nulls.inner(),
            None => passes.values().clone(),
        };
        self.passed.lock().unwrap_or_else(PoisonError::into_inner).append_buffer(&passed);
    }

    /// How many rows passed, and which, after all of them were tested.
    pub(super) fn passed(&self, path: &str) -> Result<(usize, BooleanBuffer)> {
        let passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner).finish();
        if passed.len() == self.rows {
            Ok((passed.count_set_bits(), passed))
        } else {
            Err(other_rows(path, self.rows, passed.len()))
        }
    }
}

/// A condition as the decoder asks it.
pub(super) fn row_filter(
    tested: &Tested,
    mut numbers: Option<Positions>,
    chunks: Chunks,
    counted: Counted,
    batch_bytes: u64,
) -> impl FnMut(RecordBatch) -> std::result::Result<BooleanArray, ArrowError> + use<> {
    let (test, shape) = (Arc::clone(&tested.test), Arc::clone(&tested.shape));
    let mut passing = move |batch: RecordBatch, chunks: &Chunks| -> Result<BooleanArray> {
        // the whole row group is tested before its first batch comes
        cancel::check()?;
        chunks.end_batch();
        counted.check(batch.num_rows(), chunks.path())?;
        let (mut slices, mut all) = (Slices::of(batch), Vec::new());
        while let Some(slice) = slices.take_slice()? {
            let count = slice.num_rows();
            let positions = numbers.as_mut().map(|numbers| numbers.take_numbers(count));
            let passes = test(&Rows { count, columns: shape.columns(&slice)?, positions })?;
            counted.add(&passes);
            all.push(passes);
        }
        chunks.begin_batch(batch_bytes)?;
        match <[BooleanArray; 1]>::try_from(all) {
            Ok([passes]) => Ok(passes),
            Err(all) => {
                let all: Vec<&dyn Array> = all.iter().map(|passes| passes as &dyn Array).collect();
                Ok(concat(&all)?.as_boolean().clone())
            }
        }
    };
    move |batch| {
        passing(batch, &chunks).map_err(|e| {
            let text = e.to_string();
            chunks.keep_failure(e);
            ArrowError::ComputeError(text)
        })
    }
}
