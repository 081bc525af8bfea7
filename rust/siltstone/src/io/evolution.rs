//! Rows whose columns lie in several files (data evolution): each file has some columns of the same rows, the newest one that
//! has a column counts.
//!
//! ```text
//! rows 0 to 9     a.parquet (id, v, s)   of snapshot 1
//!                 b.parquet (v)          of snapshot 4        id and s of a, v of b
//! rows 10 to 14   c.parquet (id, v, s)   of snapshot 2
//! ```
//!
//! Source: `DataEvolutionSplitRead`, `RangeHelper`.

use std::{cmp::Reverse, ops::Range, sync::Arc};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType as Arrow, Field, Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;

use super::{BatchStream, FileReadSpec, TableContext, read::file_fields, read_data_file};
use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
    manifest::DataFileMeta,
    predicate::{Predicate, evaluate},
    types::{DataField, arrow_schema, special},
};

/// Files that hold columns of the same rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowGroup {
    /// Newest first.
    pub files: Vec<DataFileMeta>,
    /// The ids of the rows.
    pub ids: Range<i64>,
}

impl RowGroup {
    /// How many rows it has.
    pub fn rows(&self) -> i64 {
        self.ids.end.saturating_sub(self.ids.start)
    }

    /// Bytes of its files.
    pub fn size(&self) -> i64 {
        crate::limits::sum(self.files.iter().map(|file| file.file_size))
    }
}

/// The ids of the rows of a file; `None`: its entry does not say them.
pub fn row_ids(file: &DataFileMeta) -> Option<Range<i64>> {
    let first = file.first_row_id?;
    Some(first..first.checked_add(file.row_count)?)
}

/// Files by the rows that they hold columns of, in the order of the rows' ids.
///
/// # Errors
/// `CorruptFile`: a file does not say which rows it has, or two files have some rows in common, and others not.
pub fn row_groups(ctx: &TableContext, files: Vec<DataFileMeta>) -> Result<Vec<RowGroup>> {
    let damaged = |text: &str, file: &DataFileMeta| {
        Error::new(ErrorKind::CorruptFile, text).with("table", &ctx.name).with("file", &file.file_name)
    };
    let mut of_rows = Vec::with_capacity(files.len());
    for file in files {
        let without = || damaged("a file of a table with data evolution does not say which rows it has", &file);
        of_rows.push((row_ids(&file).ok_or_else(without)?, file));
    }
    of_rows.sort_by_key(|(ids, _)| (ids.start, ids.end));
    let mut groups: Vec<RowGroup> = Vec::new();
    for (ids, file) in of_rows {
        match groups.last_mut() {
            Some(group) if ids.start < group.ids.end => {
                if group.ids != ids {
                    let text = format!(
                        "files share some rows only: those from {} to {} and those from {} to {}",
                        group.ids.start,
                        group.ids.end - 1,
                        ids.start,
                        ids.end - 1
                    );
                    return Err(damaged(&text, &file).with("field", "_FIRST_ROW_ID"));
                }
                group.files.push(file);
            }
            _ => groups.push(RowGroup { files: vec![file], ids }),
        }
    }
    for group in &mut groups {
        group.files.sort_by_key(|file| Reverse(file.max_sequence_number));
    }
    Ok(groups)
}

/// [`read_data_file`] of rows whose columns are in several files; rows that fail a filter do not come.
///
/// # Errors
/// Those of the files; `CorruptFile` when one of them has fewer rows than the others.
pub fn read_row_group(
    ctx: &TableContext,
    partition: &[u8],
    bucket: i32,
    group: &RowGroup,
    spec: &FileReadSpec,
) -> Result<BatchStream> {
    let mut wanted = spec.fields.clone();
    for name in spec.filter.iter().flat_map(Predicate::columns) {
        if !wanted.iter().any(|field| field.name == name) {
            wanted.push(ctx.schema.field(name).cloned().ok_or_else(|| no_column(ctx, name))?);
        }
    }
    let mut parts = Vec::new();
    for (file, at) in group.files.iter().zip(places(ctx, group, &wanted)?) {
        if at.is_empty() && !(wanted.is_empty() && parts.is_empty()) {
            continue;
        }
        let fields = at.iter().filter_map(|at| wanted.get(*at)).cloned().collect();
        let spec = FileReadSpec { batch_rows: spec.batch_rows, ..FileReadSpec::new(fields) };
        let rows = read_data_file(ctx, partition, bucket, file, &spec)?;
        parts.push(Part { name: file.file_name.clone(), rows, at, batch: None });
    }
    let schema = arrow_schema(&wanted)?;
    let side_by_side = SideBySide { parts, schema, ended: false };
    let shape = Shape::new(spec)?;
    let mut position = 0_i64;
    let rows = side_by_side.map(move |batch| {
        let batch = batch?;
        let first = position;
        position = position.saturating_add(i64::try_from(batch.num_rows()).unwrap_or(i64::MAX));
        shape.of(&batch, first)
    });
    Ok(Box::new(rows.filter(|batch| !matches!(batch, Ok(b) if b.num_rows() == 0))))
}

/// For each file the fields that it is asked for: it is the newest one that has them.
fn places(ctx: &TableContext, group: &RowGroup, wanted: &[DataField]) -> Result<Vec<Vec<usize>>> {
    let held = group.files.iter().map(|file| file_fields(ctx, file, false)).collect::<Result<Vec<_>>>()?;
    let mut places = vec![Vec::new(); group.files.len()];
    for (at, field) in wanted.iter().enumerate() {
        let has = |fields: &Vec<DataField>| special::is_tracking(field) || fields.iter().any(|f| f.id == field.id);
        // what no file has is null
        if let Some(place) = places.get_mut(held.iter().position(has).unwrap_or(0)) {
            place.push(at);
        }
    }
    Ok(places)
}

/// What becomes of the columns that were read.
struct Shape {
    filter: Option<Predicate>,
    width: usize,
    schema: SchemaRef,
    position: bool,
}

impl Shape {
    fn new(spec: &FileReadSpec) -> Result<Self> {
        let mut fields = arrow_schema(&spec.fields)?.fields().to_vec();
        if spec.position {
            fields.push(Arc::new(Field::new(special::POSITION, Arrow::Int64, false)));
        }
        let filter = spec.filter.clone().filter(|_| spec.exact_filter);
        Ok(Self { filter, width: spec.fields.len(), schema: Arc::new(Schema::new(fields)), position: spec.position })
    }

    /// `first`: the place of the first row.
    fn of(&self, batch: &RecordBatch, first: i64) -> Result<RecordBatch> {
        let mut columns: Vec<ArrayRef> = batch.columns().iter().take(self.width).cloned().collect();
        if self.position {
            let end = first.saturating_add(i64::try_from(batch.num_rows()).unwrap_or(i64::MAX));
            columns.push(Arc::new(Int64Array::from_iter_values(first..end)));
        }
        let rows = batch_of(&self.schema, columns, batch.num_rows())?;
        match &self.filter {
            Some(filter) => Ok(filter_record_batch(&rows, &evaluate(filter, batch)?)?),
            None => Ok(rows),
        }
    }
}

/// A file, and its rows that are not handed out yet.
struct Part {
    name: String,
    rows: BatchStream,
    /// Where its columns are among the wanted ones.
    at: Vec<usize>,
    batch: Option<RecordBatch>,
}

impl Part {
    /// Rows that wait; `false`: there are no more.
    fn fill(&mut self) -> Result<bool> {
        while self.batch.as_ref().is_none_or(|batch| batch.num_rows() == 0) {
            match self.rows.next() {
                Some(batch) => self.batch = Some(batch?),
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

/// Columns of several files, row by row.
struct SideBySide {
    parts: Vec<Part>,
    schema: SchemaRef,
    ended: bool,
}

impl SideBySide {
    fn advance(&mut self) -> Result<Option<RecordBatch>> {
        cancel::check()?;
        let mut ended = None;
        let mut going = 0_usize;
        for part in &mut self.parts {
            if part.fill()? {
                going += 1;
            } else {
                ended = Some(part.name.clone());
            }
        }
        match ended {
            Some(_) if going == 0 => return Ok(None),
            Some(name) => {
                return Err(Error::corrupt(&name, 0, "as many rows as other files of the same rows", "fewer"));
            }
            None => {}
        }
        let waiting = self.parts.iter().filter_map(|part| part.batch.as_ref().map(RecordBatch::num_rows));
        let Some(rows) = waiting.min() else { return Ok(None) };
        let mut columns: Vec<Option<ArrayRef>> = vec![None; self.schema.fields().len()];
        for part in &mut self.parts {
            let Some(batch) = part.batch.take() else { continue };
            for (at, column) in part.at.iter().zip(batch.columns()) {
                if let Some(place) = columns.get_mut(*at) {
                    *place = Some(column.slice(0, rows));
                }
            }
            part.batch = Some(batch.slice(rows, batch.num_rows() - rows));
        }
        let fields = self.schema.fields().iter().zip(columns);
        let columns = fields.map(|(f, column)| column.unwrap_or_else(|| new_null_array(f.data_type(), rows))).collect();
        batch_of(&self.schema, columns, rows).map(Some)
    }
}

impl Iterator for SideBySide {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.advance().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

fn batch_of(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

fn no_column(ctx: &TableContext, name: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "the filter names a column that the table does not have")
        .with("table", &ctx.name)
        .with("column", name)
}
