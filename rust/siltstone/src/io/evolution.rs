//! Rows whose columns lie in several files (data evolution): each file has some columns of the same rows, the newest one that
//! has a column counts.
//!
//! ```text
//! rows 0 to 9     a.parquet (id, v, s)   of snapshot 1
//!                 b.parquet (v)          of snapshot 4        id and s of a, v of b
//! rows 10 to 14   c.parquet (id, v, s)   of snapshot 2
//!                 d.blob (b) of rows 10 to 12, e.blob (b) of rows 13 and 14
//! ```
//!
//! Values of a BLOB column lie in files of their own, which have no other; a group of rows may have several after one another.
//!
//! Source: `DataEvolutionSplitRead`, `RangeHelper`.

use std::{cmp::Reverse, ops::Range, sync::Arc};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType as Arrow, Field, Schema, SchemaRef};

use super::{BatchStream, FileReadSpec, TableContext, filtered_rows, read::file_fields, read_data_file};
use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
    format::blob,
    manifest::DataFileMeta,
    path::format_of,
    predicate::{Predicate, evaluate},
    types::{DataField, TypeKind, arrow_schema, special},
};

/// Files that hold columns of the same rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowGroup {
    /// Newest first.
    pub files: Vec<DataFileMeta>,
    /// Files with values of BLOB columns, by their first rows, newest first.
    pub blobs: Vec<DataFileMeta>,
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
        crate::limits::sum(self.files.iter().chain(&self.blobs).map(|file| file.file_size))
    }

    /// All of its files.
    pub fn into_files(self) -> impl Iterator<Item = DataFileMeta> {
        self.files.into_iter().chain(self.blobs)
    }

    /// The file that has all columns of the rows, where there is only one.
    pub fn only_file(&self) -> Option<&DataFileMeta> {
        match self.files.as_slice() {
            [file] if self.blobs.is_empty() => Some(file),
            _ => None,
        }
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
    let (blobs, of_rows): (Vec<_>, Vec<_>) = of_rows.into_iter().partition(|(_, file)| is_blob_file(file));
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
            _ => groups.push(RowGroup { files: vec![file], blobs: Vec::new(), ids }),
        }
    }
    for (ids, file) in blobs {
        let at = groups.partition_point(|group| group.ids.end <= ids.start);
        match groups.get_mut(at) {
            Some(group) if group.ids.start <= ids.start && ids.end <= group.ids.end => group.blobs.push(file),
            _ => return Err(damaged("a file has BLOB values of rows that no other file has", &file)),
        }
    }
    for group in &mut groups {
        group.files.sort_by_key(|file| Reverse(file.max_sequence_number));
        group.blobs.sort_by_key(|file| (file.first_row_id, Reverse(file.max_sequence_number)));
    }
    Ok(groups)
}

/// Whether a file has values of a BLOB column.
pub fn is_blob_file(file: &DataFileMeta) -> bool {
    format_of(&file.file_name) == Some(blob::NAME)
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
    let mut apart = Vec::new();
    for (at, field) in wanted.iter().enumerate().filter(|(_, field)| field.data_type.kind == TypeKind::Blob) {
        let files = blob_files(ctx, group, field)?;
        if let Some(first) = files.first() {
            let name = first.file_name.clone();
            let spec = FileReadSpec { batch_rows: spec.batch_rows, ..FileReadSpec::new(vec![field.clone()]) };
            parts.push(Part {
                name,
                rows: one_after_another(ctx, partition, bucket, files, spec),
                at: vec![at],
                batch: None,
            });
            apart.push(at);
        }
    }
    for (file, at) in group.files.iter().zip(places(ctx, group, &wanted, &apart)?) {
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

/// The files with the values of a BLOB column, one after another; none: all values are null.
fn blob_files(ctx: &TableContext, group: &RowGroup, field: &DataField) -> Result<Vec<DataFileMeta>> {
    let mut files: Vec<DataFileMeta> = Vec::new();
    let mut next = group.ids.start;
    for file in &group.blobs {
        if !file_fields(ctx, file, false)?.iter().any(|stored| stored.id == field.id) {
            continue;
        }
        let ids = row_ids(file).unwrap_or(next..next);
        let newest = files.last().map_or(i64::MAX, |file| file.max_sequence_number);
        if ids.start < next && file.max_sequence_number < newest {
            continue;
        }
        if ids.start != next {
            return Err(apart(ctx, file, next, ids.start));
        }
        next = ids.end;
        files.push(file.clone());
    }
    match files.last() {
        Some(last) if next != group.ids.end => Err(apart(ctx, last, group.ids.end, next)),
        _ => Ok(files),
    }
}

fn apart(ctx: &TableContext, file: &DataFileMeta, expected: i64, found: i64) -> Error {
    let text = format!("files with BLOB values do not follow each other: row {found} where row {expected} is expected");
    Error::new(ErrorKind::CorruptFile, text).with("table", &ctx.name).with("file", &file.file_name)
}

fn one_after_another(
    ctx: &TableContext,
    partition: &[u8],
    bucket: i32,
    files: Vec<DataFileMeta>,
    spec: FileReadSpec,
) -> BatchStream {
    let (ctx, partition) = (ctx.clone(), partition.to_vec());
    Box::new(files.into_iter().flat_map(move |file| match read_data_file(&ctx, &partition, bucket, &file, &spec) {
        Ok(rows) => rows,
        Err(e) => Box::new(std::iter::once(Err(e))) as BatchStream,
    }))
}

/// For each file the fields that it is asked for: it is the newest one that has them. Some come from elsewhere.
fn places(ctx: &TableContext, group: &RowGroup, wanted: &[DataField], apart: &[usize]) -> Result<Vec<Vec<usize>>> {
    let held = group.files.iter().map(|file| file_fields(ctx, file, false)).collect::<Result<Vec<_>>>()?;
    let mut places = vec![Vec::new(); group.files.len()];
    for (at, field) in wanted.iter().enumerate().filter(|(at, _)| !apart.contains(at)) {
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
            Some(filter) => filtered_rows(&rows, &evaluate(filter, batch)?),
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
