//! The rows of a file, some at a time, of one stripe after another.

use std::ops::Range;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, cast::AsArray, new_null_array, types::Int64Type};
use arrow_select::filter::{FilterBuilder, filter_record_batch};
use orc_rust::{
    array_decoder::NaiveStripeDecoder,
    stripe::{Stripe, StripeMetadata},
};

use super::{
    error::{broken, guarded},
    file::OrcFile,
    project::Projection,
    values::as_java,
    zones::{OffsetAt, offset_at},
};
use crate::{
    cancel,
    error::Result,
    format::{FileRead, Rows, conform::conform},
    limits,
    types::{DataField, arrow_type},
};

/// What the decoded rows of a batch may take, as far as the sizes of stripes tell.
const BATCH_BYTES: u64 = 64 * 1024 * 1024;
/// How much larger decoded values are than their streams, at least for batches to be made smaller.
const GROWTH: u64 = 8;

pub(super) struct OrcRows {
    file: OrcFile,
    request: FileRead,
    projection: Projection,
    /// The number of the next stripe, and of its first row.
    next: (usize, i64),
    open: Option<OpenStripe>,
    failed: bool,
}

struct OpenStripe {
    decoder: NaiveStripeDecoder,
    /// Offset of the zone in which moments of legacy writers are wall clocks.
    offset: Option<OffsetAt>,
    /// Rows that are left.
    rows: Range<i64>,
}

impl OrcRows {
    pub(super) fn new(file: OrcFile, request: FileRead) -> Self {
        let tested = request.row_test.iter().flat_map(|test| &test.columns);
        let wanted: Vec<&DataField> = request.columns.iter().chain(tested).collect();
        let projection = Projection::new(file.metadata.root_data_type(), &wanted);
        Self { file, request, projection, next: (0, 0), open: None, failed: false }
    }

    fn advance(&mut self) -> Result<Option<Rows>> {
        loop {
            cancel::check()?;
            if self.open.is_none() && !self.open_next()? {
                return Ok(None);
            }
            let Some(stripe) = &mut self.open else { continue };
            let input = &self.file.input;
            let Some(batch) = guarded(input, || stripe.decoder.next().transpose())? else {
                if !stripe.rows.is_empty() {
                    return Err(broken(input.path()).with("after row", stripe.rows.start));
                }
                self.open = None;
                continue;
            };
            let count = i64::try_from(batch.num_rows()).map_err(|_| broken(input.path()))?;
            let first = stripe.rows.start;
            stripe.rows.start = first.saturating_add(count);
            if count == 0 || stripe.rows.start > stripe.rows.end {
                return Err(broken(input.path()).with("after row", first));
            }
            let offset = stripe.offset.clone();
            if let Some(rows) = self.chosen(batch, first, offset.as_ref()).map_err(|e| self.named(e))? {
                return Ok(Some(rows));
            }
        }
    }

    fn named(&self, e: crate::Error) -> crate::Error {
        if e.context_value("file").is_some() { e } else { e.with("file", self.file.input.path()) }
    }

    /// Opens the next stripe of which rows are wanted.
    fn open_next(&mut self) -> Result<bool> {
        let path = self.file.input.path();
        while let Some(stripe) = self.file.metadata.stripe_metadatas().get(self.next.0) {
            let rows = i64::try_from(stripe.number_of_rows()).map_err(|_| broken(path))?;
            let rows = self.next.1..self.next.1.saturating_add(rows);
            self.next = (self.next.0 + 1, rows.end);
            let wanted = |chosen: &Range<i64>| chosen.start < rows.end && rows.start < chosen.end;
            if rows.is_empty() || self.request.rows.as_ref().is_some_and(|chosen| !chosen.iter().any(wanted)) {
                continue;
            }
            self.open = Some(self.open_stripe(stripe, rows)?);
            return Ok(true);
        }
        Ok(false)
    }

    fn open_stripe(&self, stripe: &StripeMetadata, rows: Range<i64>) -> Result<OpenStripe> {
        let OrcFile { input, metadata, legacy_moments, .. } = &self.file;
        let batch_rows = batch_rows(stripe, self.request.batch_rows);
        let decoded = stripe.data_length().saturating_mul(GROWTH) / stripe.number_of_rows().max(1);
        let decoded = usize::try_from(decoded).unwrap_or(usize::MAX).saturating_mul(batch_rows);
        limits::ask(decoded, "decoding rows of an ORC file").map_err(|e| e.with("file", input.path()))?;
        guarded(input, || {
            let opened = Stripe::new(&mut input.clone(), metadata, &self.projection.root, stripe)?;
            let zone = opened.writer_tz().filter(|zone| *legacy_moments && zone.name() != "UTC");
            let decoder = NaiveStripeDecoder::new(opened, self.projection.schema.clone(), batch_rows)?;
            Ok(OpenStripe { decoder, offset: zone.map(offset_at), rows })
        })
    }

    /// The rows of a batch that are wanted; `None`: none of them.
    fn chosen(&self, mut batch: RecordBatch, first: i64, offset: Option<&OffsetAt>) -> Result<Option<Rows>> {
        let end = first.saturating_add(i64::try_from(batch.num_rows()).unwrap_or(i64::MAX));
        let mut positions = Int64Array::from_iter_values(first..end);
        if let Some(chosen) = &self.request.rows {
            let mask: BooleanArray = positions.values().iter().map(|row| Some(has(chosen, *row))).collect();
            (batch, positions) = kept(&batch, &positions, &mask)?;
        }
        let said = |positions: &Int64Array| self.request.position.then(|| positions.clone());
        if let Some(test) = self.request.row_test.as_ref().filter(|_| batch.num_rows() > 0) {
            let columns = self.columns(&batch, &test.columns, offset)?;
            let mask = (test.test)(&Rows { count: batch.num_rows(), columns, positions: said(&positions) })?;
            (batch, positions) = kept(&batch, &positions, &mask)?;
        }
        if batch.num_rows() == 0 {
            return Ok(None);
        }
        let columns = self.columns(&batch, &self.request.columns, offset)?;
        Ok(Some(Rows { count: batch.num_rows(), columns, positions: said(&positions) }))
    }

    fn columns(&self, batch: &RecordBatch, wanted: &[DataField], offset: Option<&OffsetAt>) -> Result<Vec<ArrayRef>> {
        let column = |field: &DataField| {
            let stored = batch.column_by_name(&field.name).zip(self.projection.stored(&field.name));
            let Some((array, stored)) = stored else {
                return Ok(new_null_array(&arrow_type(&field.data_type)?, batch.num_rows()));
            };
            let values = as_java(array, stored, offset).and_then(|values| conform(&values, &field.data_type));
            values.map_err(|e| e.with("column", &field.name))
        };
        wanted.iter().map(column).collect()
    }
}

fn has(chosen: &[Range<i64>], row: i64) -> bool {
    let at = chosen.partition_point(|rows| rows.end <= row);
    chosen.get(at).is_some_and(|rows| rows.contains(&row))
}

/// The rows of a batch that a mask keeps; null drops a row.
fn kept(batch: &RecordBatch, positions: &Int64Array, mask: &BooleanArray) -> Result<(RecordBatch, Int64Array)> {
    let left = FilterBuilder::new(mask).build().filter(positions)?;
    Ok((filter_record_batch(batch, mask)?, left.as_primitive::<Int64Type>().clone()))
}

/// Fewer rows at once where they are large.
fn batch_rows(stripe: &StripeMetadata, most: usize) -> usize {
    let row = (stripe.data_length().saturating_mul(GROWTH) / stripe.number_of_rows().max(1)).max(1);
    most.min(usize::try_from(BATCH_BYTES / row).unwrap_or(usize::MAX)).max(1)
}

impl Iterator for OrcRows {
    type Item = Result<Rows>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let rows = self.advance();
        self.failed = rows.is_err();
        rows.transpose()
    }
}
