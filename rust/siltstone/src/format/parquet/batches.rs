//! The rows of a file as they are decoded.

use std::{collections::VecDeque, sync::Arc};

use arrow_array::RecordBatch;

use super::{
    chunks::Chunks,
    decoder::{Decoder, Open},
    error::{broken, decoded, other_rows},
    guard::guarded,
    part::Part,
    shape::Shape,
    views::Slices,
};
use crate::{cancel, error::Result, format::Rows};

/// The rows of a file, some at a time, of one row group after another.
pub struct ParquetBatches {
    /// `None` after the end or an error.
    decoder: Option<Decoder>,
    chunks: Chunks,
    shape: Arc<Shape>,
    parts: VecDeque<Part>,
    open: Option<Open>,
    /// Rows so far.
    read: usize,
}

impl ParquetBatches {
    /// Begins with the first of `parts`.
    pub(super) fn new(decoder: Decoder, chunks: Chunks, shape: Shape, parts: VecDeque<Part>) -> Result<Self> {
        let (decoder, shape) = (Some(decoder), Arc::new(shape));
        let mut batches = Self { decoder, chunks, shape, parts, open: None, read: 0 };
        batches.open_next()?;
        Ok(batches)
    }

    /// Opens the next row group that has rows to be read; after the last one the file is closed.
    fn open_next(&mut self) -> Result<()> {
        self.open = None;
        while let (Some(decoder), Some(part)) = (&self.decoder, self.parts.pop_front()) {
            cancel::check()?;
            let open = decoder.open(&self.chunks, part)?;
            if open.rows > 0 {
                self.open = Some(open);
                return Ok(());
            }
        }
        // decoders of many columns and files are not kept until somebody asks for more
        self.close();
        Ok(())
    }

    fn close(&mut self) {
        (self.decoder, self.open) = (None, None);
        self.chunks = self.chunks.closed();
    }

    fn decode(&mut self) -> Result<Option<Rows>> {
        if self.open.as_ref().is_some_and(|open| open.read == open.rows && open.slices.is_empty()) {
            self.open_next()?;
        }
        let Some(open) = &mut self.open else {
            return Ok(None);
        };
        cancel::check()?;
        let batch = match open.slices.take_slice().map_err(|e| decoded(self.chunks.path(), e))? {
            Some(batch) => batch,
            None => next_slice(open, &self.chunks).map_err(|e| open.located(e).with("after row", self.read))?,
        };
        self.read = self.read.saturating_add(batch.num_rows());
        let columns = self.shape.columns(&batch).map_err(|e| decoded(self.chunks.path(), e))?;
        let positions = open.positions.as_mut().map(|positions| positions.take_numbers(batch.num_rows()));
        if positions.as_ref().is_some_and(|positions| positions.len() != batch.num_rows()) {
            return Err(broken(self.chunks.path()));
        }
        if open.read == open.rows && open.slices.is_empty() && self.parts.is_empty() {
            self.close();
        }
        Ok(Some(Rows { count: batch.num_rows(), columns, positions }))
    }
}

/// The first rows of the next batch; the others are left in `open`.
fn next_slice(open: &mut Open, chunks: &Chunks) -> Result<RecordBatch> {
    let Some(batch) = next_batch(open, chunks)? else {
        return Err(other_rows(chunks.path(), open.rows, open.read));
    };
    open.read = open.read.saturating_add(batch.num_rows());
    // their end is looked at, too: what comes behind the last row is of nobody
    let more = if open.read < open.rows { None } else { next_batch(open, chunks)? };
    let read = open.read.saturating_add(more.map_or(0, |batch| batch.num_rows()));
    if read > open.rows {
        return Err(other_rows(chunks.path(), open.rows, read));
    }
    open.slices = Slices::of(batch);
    let slice = open.slices.take_slice().map_err(|e| decoded(chunks.path(), e))?;
    slice.ok_or_else(|| broken(chunks.path()))
}

fn next_batch(open: &mut Open, chunks: &Chunks) -> Result<Option<RecordBatch>> {
    chunks.begin_batch(open.batch_bytes)?;
    let batch = guarded(chunks, || Ok(open.reader.next().transpose()?));
    chunks.end_batch();
    batch
}

impl Iterator for ParquetBatches {
    type Item = Result<Rows>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = self.decode();
        if rows.is_err() {
            self.close();
        }
        rows.transpose()
    }
}
