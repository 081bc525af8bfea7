//! The rows of a file as they are decoded.

use std::{
    collections::{HashMap, VecDeque},
    ops::Range,
};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, cast::AsArray, new_null_array, types::Int64Type};
use parquet::{
    arrow::arrow_reader::{ParquetRecordBatchReader, RowSelection},
    file::metadata::ParquetMetaData,
};

use super::{
    chunks::Chunks,
    conform::conform,
    counted::other_rows,
    error::broken,
    project::Projection,
    reader::{Rows, guarded},
};
use crate::{
    cancel,
    error::Result,
    types::{DataField, arrow_type},
};

/// The wanted columns and which of them the file has.
pub(super) struct Shape {
    pub(super) columns: Vec<DataField>,
    pub(super) projection: Projection,
}

impl Shape {
    pub(super) fn columns(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let wanted = self.columns.iter().zip(&self.projection.present);
        let names = batch.schema_ref().fields().iter().map(|f| f.name().as_str());
        // of columns of one name the first counts: the row numbers of the decoder come last
        let read: HashMap<&str, &ArrayRef> = names.zip(batch.columns()).rev().collect();
        let arrays = wanted.map(|(field, present)| {
            let stored = if *present { read.get(field.name.as_str()).copied() } else { None };
            match stored {
                Some(array) => conform(array, &field.data_type).map_err(|e| e.with("column", &field.name)),
                None => Ok(new_null_array(&arrow_type(&field.data_type)?, batch.num_rows())),
            }
        });
        arrays.collect()
    }
}

/// Row numbers of the rows to come.
#[derive(Clone)]
pub(super) struct Positions(VecDeque<Range<i64>>);

impl Positions {
    pub(super) fn new(metadata: &ParquetMetaData, row_groups: &[usize], selection: Option<&RowSelection>) -> Self {
        let mut groups = VecDeque::new();
        let mut start = 0;
        for (i, group) in metadata.row_groups().iter().enumerate() {
            let end = start + group.num_rows();
            if row_groups.contains(&i) {
                groups.push_back(start..end);
            }
            start = end;
        }
        let mut all = Self(groups);
        let Some(selection) = selection else {
            return all;
        };
        let mut selected = VecDeque::new();
        for selector in selection.iter() {
            let ranges = all.take(selector.row_count);
            if !selector.skip {
                selected.extend(ranges);
            }
        }
        Self(selected)
    }

    fn take(&mut self, count: usize) -> Vec<Range<i64>> {
        let mut left = i64::try_from(count).unwrap_or(i64::MAX);
        let mut taken = Vec::new();
        while left > 0 {
            let Some(range) = self.0.pop_front() else { break };
            let end = range.end.min(range.start + left);
            left -= end - range.start;
            if end < range.end {
                self.0.push_front(end..range.end);
            }
            taken.push(range.start..end);
        }
        taken
    }

    pub(super) fn take_numbers(&mut self, count: usize) -> Int64Array {
        let mut numbers = Vec::with_capacity(count);
        for range in self.take(count) {
            numbers.extend(range);
        }
        Int64Array::from(numbers)
    }
}

/// The rows of a file, some at a time.
pub struct ParquetBatches {
    /// `None` after the end or an error.
    reader: Option<ParquetRecordBatchReader>,
    chunks: Chunks,
    shape: Shape,
    positions: Option<Positions>,
    /// Row numbers come from the decoder.
    numbered: bool,
    read: usize,
    /// How many there must be.
    rows: usize,
}

impl ParquetBatches {
    /// `rows` is how many there must be: by the footer, or that have passed a condition.
    pub(super) fn new(
        reader: ParquetRecordBatchReader,
        chunks: Chunks,
        shape: Shape,
        positions: Option<Positions>,
        numbered: bool,
        rows: usize,
    ) -> Self {
        Self { reader: Some(reader), chunks, shape, positions, numbered, read: 0, rows }
    }

    fn decode(&mut self) -> Result<Option<Rows>> {
        let Some(reader) = &mut self.reader else {
            return Ok(None);
        };
        cancel::check()?;
        let next =
            guarded(&self.chunks, || Ok(reader.next().transpose()?)).map_err(|e| e.with("after row", self.read))?;
        let Some(batch) = next else {
            let all = self.read == self.rows;
            return if all { Ok(None) } else { Err(other_rows(self.chunks.path(), self.rows, self.read)) };
        };
        self.read = self.read.saturating_add(batch.num_rows());
        if self.read > self.rows {
            return Err(other_rows(self.chunks.path(), self.rows, self.read));
        }
        if self.read == self.rows {
            // decoders of many columns and files are not kept until somebody asks for more
            self.reader = None;
            self.chunks = self.chunks.closed();
        }
        let columns = self.shape.columns(&batch).map_err(|e| e.with("file", self.chunks.path()))?;
        let positions = match &mut self.positions {
            None => None,
            Some(_) if self.numbered => batch.columns().last().and_then(|c| c.as_primitive_opt::<Int64Type>()).cloned(),
            Some(positions) => Some(positions.take_numbers(batch.num_rows())),
        };
        if let Some(positions) = &positions
            && positions.len() != batch.num_rows()
        {
            return Err(broken(self.chunks.path()));
        }
        Ok(Some(Rows { count: batch.num_rows(), columns, positions }))
    }
}

impl Iterator for ParquetBatches {
    type Item = Result<Rows>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.decode() {
            Ok(Some(rows)) => Some(Ok(rows)),
            Ok(None) => {
                self.reader = None;
                None
            }
            Err(e) => {
                self.reader = None;
                Some(Err(e))
            }
        }
    }
}
