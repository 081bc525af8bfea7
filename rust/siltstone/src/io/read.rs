//! Reading one data file under its own schema.
//!
//! Source: `FormatReaderMapping`, `DataFileRecordReader`, `KeyValueFileReaderFactory`.

use std::{
    collections::HashSet,
    iter,
    ops::Range,
    sync::{Arc, OnceLock},
};

use arrow_array::{
    Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions,
    cast::AsArray,
    types::{Int8Type, Int64Type},
};
use arrow_schema::{DataType as Arrow, Field, Schema, SchemaRef};
use arrow_select::filter::FilterBuilder;

use super::{
    BatchStream, Decoded, DecodedStream, FileReadSpec, TableContext,
    copies::filtered_rows,
    decoded::Steps,
    indexed::by_any_index,
    late_cast::{is_no_value, with_failures},
    mapping::{Mapping, prune},
    tracked::Tracked,
};
use crate::{
    cast::{check_not_null, same_values},
    deletion_vectors::DeletedRows,
    error::{Error, ErrorKind, Result},
    file_index::Candidates,
    format::{Block, Claim, DataFileReader, FileRead, RowTest, Rows, file_format, is_data_format},
    manifest::DataFileMeta,
    path::format_of,
    predicate::{Predicate, evaluate},
    row::RowKind,
    types::{DataField, arrow_schema, special},
};

/// Reads a data file of a bucket: columns found under the file's own schema, mapped by field id, cast
/// to the wanted types, null where the file has no such column.
///
/// The batches have the wanted fields, then `_SEQUENCE_NUMBER` and `_VALUE_KIND` when asked for, then `_POSITION`
/// when asked for. Empty batches and rows that the deletion vector deletes do not come; a vector that deletes rows
/// which the file does not have is an error.
pub fn read_data_file(
    ctx: &TableContext,
    partition: &[u8],
    bucket: i32,
    file: &DataFileMeta,
    spec: &FileReadSpec,
) -> Result<BatchStream> {
    decode_data_file(ctx, partition, bucket, file, spec).map(finished)
}

/// [`read_data_file`] whose batches are decoded only: the rest is done where [`Decoded::finish`] is called. Finished
/// batches may be empty.
pub fn decode_data_file(
    ctx: &TableContext,
    partition: &[u8],
    bucket: i32,
    file: &DataFileMeta,
    spec: &FileReadSpec,
) -> Result<DecodedStream> {
    check_format(&file.file_name).map_err(|e| e.with("table", &ctx.name))?;
    let path = ctx.paths.data_file(partition, bucket, file)?;
    let indexed =
        |fields: &[DataField], filter: &Predicate| by_any_index(ctx, (partition, bucket), file, fields, filter);
    decode_with(ctx, file, &path, spec, indexed, || open(ctx, file, &path))
}

fn finished(rows: DecodedStream) -> BatchStream {
    let batches = rows.map(|rows| rows?.finish());
    Box::new(batches.filter(|batch| !matches!(batch, Ok(b) if b.num_rows() == 0)))
}

/// A data file that is read more than once.
#[derive(Clone, Debug)]
pub struct OpenDataFile {
    file: DataFileMeta,
    path: String,
    reader: Arc<dyn DataFileReader>,
}

impl OpenDataFile {
    /// Opens a data file of a bucket.
    pub fn open(ctx: &TableContext, partition: &[u8], bucket: i32, file: &DataFileMeta) -> Result<Self> {
        check_format(&file.file_name).map_err(|e| e.with("table", &ctx.name))?;
        let path = ctx.paths.data_file(partition, bucket, file)?;
        let reader = open(ctx, file, &path)?.for_many_reads()?;
        Ok(Self { file: file.clone(), path, reader })
    }

    /// What the manifest says of it.
    pub(crate) fn meta(&self) -> &DataFileMeta {
        &self.file
    }

    /// The file as its format reads it.
    pub(crate) fn reader(&self) -> &dyn DataFileReader {
        self.reader.as_ref()
    }

    /// [`read_data_file`] of this file.
    pub fn read(&self, ctx: &TableContext, spec: &FileReadSpec) -> Result<BatchStream> {
        self.decode(ctx, spec).map(finished)
    }

    /// [`decode_data_file`] of this file.
    pub fn decode(&self, ctx: &TableContext, spec: &FileReadSpec) -> Result<DecodedStream> {
        let not_indexed = |_: &[DataField], _: &Predicate| Ok(Candidates::All);
        decode_with(ctx, &self.file, &self.path, spec, not_indexed, || Ok(Arc::clone(&self.reader)))
    }

    /// Numbers of the rows that are to be read, in parts that are worth reading side by side; `None`: the file is read as a
    /// whole.
    pub fn parts(&self, ctx: &TableContext, spec: &FileReadSpec) -> Result<Option<Vec<Vec<Range<i64>>>>> {
        let file_fields = file_fields(ctx, &self.file, spec.system)?;
        let reading = Reading::new(ctx, &self.file, &file_fields, spec)?;
        if reading.row_test(spec, &file_fields)?.is_none() {
            return Ok(Some(Vec::new()));
        }
        let filter_fields = reading.filter_fields.as_deref().unwrap_or_default();
        let prune = spec.filter.as_ref().map(|f| prune(f, filter_fields, &file_fields));
        self.reader.parts(&reading.mapping.columns, prune.as_ref())
    }

    /// Whether values of the wanted fields are cast: their columns had other types when the file was written.
    pub fn casts(&self, ctx: &TableContext, spec: &FileReadSpec) -> Result<bool> {
        Ok(Mapping::new(&file_fields(ctx, &self.file, spec.system)?, &spec.fields).casts())
    }

    /// Consecutive rows that are worth reading together, with bounds of these table fields in them.
    pub fn blocks(&self, ctx: &TableContext, fields: &[DataField]) -> Result<Vec<Block>> {
        let stored = file_fields(ctx, &self.file, false)?;
        let column = |field: &DataField| {
            let old = stored.iter().find(|f| f.id == field.id)?;
            let same = same_values(&old.data_type, &field.data_type);
            same.then(|| DataField::new(old.id, &old.name, field.data_type.clone()))
        };
        self.reader.blocks(&fields.iter().map(column).collect::<Vec<_>>())
    }

    /// What the file says of its own values, of those columns of the schema that it was written with; one list for each.
    pub fn claims(&self, fields: &[DataField]) -> Result<Vec<Vec<Claim>>> {
        self.reader.claims(fields)
    }
}

fn open(ctx: &TableContext, file: &DataFileMeta, path: &str) -> Result<Arc<dyn DataFileReader>> {
    let size = u64::try_from(file.file_size).map_err(|_| broken_size(file, path))?;
    let format = format_of(&file.file_name).unwrap_or_default();
    let (input, footers) = (ctx.fs.open(path)?, ctx.remembered.footers());
    let opened = file_format(format)?.open_known(input, size, &ctx.options.raw, footers)?;
    if opened.rows() == file.row_count {
        return Ok(opened);
    }
    Err(Error::corrupt(path, 0, format!("{} rows as the manifest says", file.row_count), opened.rows())
        .with("table", &ctx.name))
}

fn decode_with(
    ctx: &TableContext,
    file: &DataFileMeta,
    path: &str,
    spec: &FileReadSpec,
    indexed: impl FnOnce(&[DataField], &Predicate) -> Result<Candidates>,
    open: impl FnOnce() -> Result<Arc<dyn DataFileReader>>,
) -> Result<DecodedStream> {
    let file_fields = file_fields(ctx, file, spec.system).map_err(|e| in_file(e, path))?;
    let reading = Reading::new(ctx, file, &file_fields, spec)?;
    let Some(row_test) = reading.row_test(spec, &file_fields)? else {
        return Ok(Box::new(iter::empty()));
    };
    let rows = match &spec.filter {
        Some(filter) => indexed(&file_fields, filter)?.ranges(file.row_count)?,
        None => None,
    };
    let rows = overlap(spec.rows.clone(), rows);
    if rows.as_ref().is_some_and(Vec::is_empty) {
        return Ok(Box::new(iter::empty()));
    }
    let opened = open()?;
    if let Some(deletions) = &spec.deletions {
        deletions.check_rows(&file.file_name, file.row_count).map_err(|e| e.with("table", &ctx.name))?;
    }
    let filter_fields = reading.filter_fields.as_deref().unwrap_or_default();
    let request = FileRead {
        columns: reading.mapping.columns.clone(),
        rows,
        prune: spec.filter.as_ref().map(|f| prune(f, filter_fields, &file_fields)),
        row_test: row_test.test,
        position: reading.needs_positions(),
        batch_rows: spec.batch_rows.max(1),
    };
    let rows = opened.read(request)?;
    let path: Arc<str> = path.into();
    let named = Arc::clone(&path);
    let steps: Steps = Arc::new(move |rows| reading.batch(rows).map_err(|e| in_file(e, &named)));
    Ok(Box::new(rows.map(move |rows| match rows {
        Ok(rows) => Ok(Decoded::new(rows, Arc::clone(&steps))),
        Err(e) => Err(in_file(e, &path)),
    })))
}

/// What two lists of ascending ranges have in common; `None` is everything.
fn overlap(a: Option<Vec<Range<i64>>>, b: Option<Vec<Range<i64>>>) -> Option<Vec<Range<i64>>> {
    let (a, b) = match (a, b) {
        (Some(a), Some(b)) => (a, b),
        (a, b) => return a.or(b),
    };
    let mut out = Vec::new();
    let (mut left, mut right) = (a.iter().peekable(), b.iter().peekable());
    while let (Some(x), Some(y)) = (left.peek(), right.peek()) {
        let both = x.start.max(y.start)..x.end.min(y.end);
        if !both.is_empty() {
            out.push(both);
        }
        if x.end < y.end {
            left.next()
        } else {
            right.next()
        };
    }
    Some(out)
}

/// The error with the file's name, unless it names one.
fn in_file(e: Error, path: &str) -> Error {
    if e.context_value("file").is_some() { e } else { e.with("file", path) }
}

/// A file of another format is named, never skipped.
fn check_format(name: &str) -> Result<()> {
    match format_of(name) {
        Some(format) if is_data_format(format) => Ok(()),
        Some(format) => {
            Err(Error::unsupported(format!("reading data files in the format '{format}'")).with("file", name))
        }
        None => Err(Error::unsupported("a data file whose name does not tell its format").with("file", name)),
    }
}

fn broken_size(file: &DataFileMeta, path: &str) -> Error {
    Error::new(ErrorKind::CorruptFile, format!("the manifest gives the data file {} bytes", file.file_size))
        .with("file", path)
}

/// The fields that the file was written with.
pub(super) fn file_fields(ctx: &TableContext, file: &DataFileMeta, system: bool) -> Result<Vec<DataField>> {
    let schema =
        if file.schema_id == ctx.schema.id { Arc::clone(&ctx.schema) } else { ctx.schemas.get(file.schema_id)? };
    let mut fields: Vec<DataField> = match &file.write_cols {
        None => schema.fields.iter().filter(|field| !special::is_tracking(field)).cloned().collect(),
        Some(written) => {
            let written: HashSet<&str> = written.iter().map(String::as_str).collect();
            let tracking = [special::row_id(), special::sequence_number()];
            let stored = schema.fields.iter().filter(|field| !special::is_tracking(field)).chain(&tracking);
            stored.filter(|field| written.contains(field.name.as_str())).cloned().collect()
        }
    };
    if system {
        fields.extend([special::sequence_number(), special::value_kind()]);
    }
    Ok(fields)
}

/// Everything that turns decoded rows into batches.
struct Reading {
    mapping: Mapping,
    schema: SchemaRef,
    position: bool,
    /// Place of `_VALUE_KIND` where it is read.
    kinds: Option<usize>,
    /// Place of `_VALUE_KIND` among the columns that are read, where retracts do not come.
    dropped_kinds: Option<usize>,
    /// Fields of the filter when there is one.
    filter_fields: Option<Vec<DataField>>,
    /// Rows are dropped after decoding.
    post_filter: Option<PostFilter>,
    deletions: Option<Arc<DeletedRows>>,
    /// Ids of fields whose values may fail later.
    late_casts: Vec<i32>,
    /// Ids and versions of rows, where they are read.
    tracked: Option<Tracked>,
}

/// A filter over the columns that are read anyway.
struct PostFilter {
    predicate: Predicate,
    schema: SchemaRef,
}

/// Whether rows are dropped while decoding.
struct Decoding {
    test: Option<RowTest>,
}

impl Reading {
    fn new(ctx: &TableContext, file: &DataFileMeta, file_fields: &[DataField], spec: &FileReadSpec) -> Result<Self> {
        let mut wanted = spec.fields.clone();
        let tracked = Tracked::of(file, &wanted);
        if spec.system {
            wanted.extend([special::sequence_number(), special::value_kind()]);
        }
        let schema = arrow_schema(&wanted)?;
        let filter_fields = match &spec.filter {
            Some(filter) => Some(filter_fields(ctx, spec, filter)?),
            None => None,
        };
        let covered = filter_fields
            .as_ref()
            .is_some_and(|fields| fields.len() == spec.fields.len() && fields.iter().all(|f| spec.fields.contains(f)));
        let post_filter = match &spec.filter {
            Some(filter) if spec.exact_filter && covered => {
                Some(PostFilter { predicate: filter.clone(), schema: Arc::clone(&schema) })
            }
            _ => None,
        };
        let schema = if spec.position { with_position(&schema) } else { schema };
        if tracked.is_some() {
            // what is not stored is filled in
            wanted
                .iter_mut()
                .filter(|field| special::is_tracking(field))
                .for_each(|field| field.data_type.nullable = true);
        }
        let mapping = Mapping::new(file_fields, &wanted);
        let dropped_kinds = if spec.drop_retracts { kinds_among(&mapping.columns) } else { None };
        Ok(Self {
            mapping,
            dropped_kinds,
            schema,
            position: spec.position,
            kinds: spec.system.then(|| spec.fields.len() + 1),
            filter_fields,
            post_filter,
            deletions: spec.deletions.clone(),
            late_casts: spec.late_casts.clone(),
            tracked,
        })
    }

    fn needs_positions(&self) -> bool {
        self.position || self.deletions.is_some() || self.tracked.as_ref().is_some_and(Tracked::needs_positions)
    }

    /// The test of rows while decoding; `None` when no row can pass.
    fn row_test(&self, spec: &FileReadSpec, file_fields: &[DataField]) -> Result<Option<Decoding>> {
        let (Some(filter), Some(fields)) = (&spec.filter, &self.filter_fields) else {
            return Ok(Some(Decoding { test: None }));
        };
        if !spec.exact_filter || self.post_filter.is_some() {
            return Ok(Some(Decoding { test: None }));
        }
        let mapping = Mapping::new(file_fields, fields);
        let (schema, deletions) = (arrow_schema(fields)?, self.deletions.clone());
        let mut test = FilterRows { predicate: filter.clone(), schema, mapping, deletions, kinds: None };
        if test.mapping.is_constant() {
            // every row has the same values: nulls
            let passes = test.apply(&Rows { count: 1, columns: Vec::new(), positions: None })?;
            let passes = passes.is_valid(0) && passes.value(0);
            return Ok(passes.then_some(Decoding { test: None }));
        }
        let mut columns = test.mapping.columns.clone();
        if self.dropped_kinds.is_some() && test.mapping.casts() {
            test.kinds = Some(columns.len());
            columns.push(special::value_kind());
        }
        Ok(Some(Decoding { test: Some(RowTest { columns, test: Arc::new(move |rows| test.apply(rows)) }) }))
    }

    fn batch(&self, rows: &Rows) -> Result<RecordBatch> {
        let positions = || rows.positions.as_ref().ok_or_else(|| Error::new(ErrorKind::Internal, "no row positions"));
        // rows that are deleted are not cast
        let kept = match &self.deletions {
            Some(deletions) => deletions.keep_at(positions()?),
            None => None,
        };
        match kept {
            Some(kept) => self.added_batch(&filtered(rows, &BooleanArray::new(kept, None))?),
            None => self.added_batch(rows),
        }
    }

    /// Nor are those that take back what is there, where they are not wanted.
    fn added_batch(&self, rows: &Rows) -> Result<RecordBatch> {
        match self.dropped_kinds.and_then(|at| rows.columns.get(at)) {
            Some(kinds) => {
                check_kinds(kinds)?;
                match added(kinds) {
                    Some(added) => self.live_batch(&filtered(rows, &added)?),
                    None => self.live_batch(rows),
                }
            }
            None => self.live_batch(rows),
        }
    }

    fn live_batch(&self, rows: &Rows) -> Result<RecordBatch> {
        let (mut columns, failures) =
            self.mapping.apply_late(&rows.columns, rows.count, &|field| self.late_casts.contains(&field.id))?;
        if let Some(kinds) = self.kinds.and_then(|at| columns.get(at)) {
            check_kinds(kinds)?;
        }
        if let Some(tracked) = &self.tracked {
            tracked.fill(&mut columns, rows.positions.as_ref())?;
        }
        let mask = match &self.post_filter {
            Some(filter) => Some(evaluate(&filter.predicate, &batch_of(&filter.schema, columns.clone(), rows.count)?)?),
            None => None,
        };
        if self.position {
            let positions = rows.positions.as_ref();
            columns
                .push(Arc::new(positions.ok_or_else(|| Error::new(ErrorKind::Internal, "no row positions"))?.clone()));
        }
        let batch = batch_of(&self.schema, columns, rows.count)?;
        let batch = match failures {
            Some(failures) => with_failures(&batch, failures)?,
            None => batch,
        };
        match mask {
            Some(mask) => filtered_rows(&batch, &mask),
            None => Ok(batch),
        }
    }
}

/// Some rows of decoded ones.
fn filtered(rows: &Rows, mask: &BooleanArray) -> Result<Rows> {
    let filter = FilterBuilder::new(mask).optimize().build();
    let columns = rows.columns.iter().map(|column| Ok(filter.filter(column)?)).collect::<Result<_>>()?;
    let positions = rows.positions.as_ref().map(|positions| filter.filter(positions)).transpose()?;
    let positions = positions.and_then(|positions| positions.as_primitive_opt::<Int64Type>().cloned());
    Ok(Rows { count: filter.count(), columns, positions })
}

/// Where `_VALUE_KIND` is read.
fn kinds_among(columns: &[DataField]) -> Option<usize> {
    columns.iter().position(|column| column.id == special::value_kind().id)
}

/// Which rows are +I or +U; `None`: all of them, or there are nulls among the kinds, which is damage.
fn added(kinds: &ArrayRef) -> Option<BooleanArray> {
    let kinds = kinds.as_primitive_opt::<Int8Type>().filter(|kinds| kinds.null_count() == 0)?;
    let retracts = kinds.values().iter().fold(0, |all, kind| all | kind) & 1 == 1;
    retracts.then(|| kinds.values().iter().map(|kind| Some(kind & 1 == 0)).collect())
}

/// Every row says what it does: an unknown kind would be taken for a retract, and its row be lost.
fn check_kinds(column: &ArrayRef) -> Result<()> {
    let kinds = column.as_primitive_opt::<Int8Type>().map(|kinds| kinds.values().as_ref()).unwrap_or_default();
    let unknown = |kind: &i8| !(RowKind::Insert as i8..=RowKind::Delete as i8).contains(kind);
    // two comparisons a row, without a branch: damage is rare
    if kinds.iter().fold(false, |any, kind| any | unknown(kind)) {
        let found = kinds.iter().find(|kind| unknown(kind)).copied().unwrap_or_default();
        return Err(Error::new(
            ErrorKind::CorruptFile,
            format!("a row of a data file has the unknown row kind {found}"),
        )
        .with("column", special::VALUE_KIND)
        .with("expected", "0 (+I), 1 (-U), 2 (+U) or 3 (-D)")
        .with("found", found));
    }
    Ok(())
}

/// A filter over columns of its own.
struct FilterRows {
    predicate: Predicate,
    schema: SchemaRef,
    mapping: Mapping,
    deletions: Option<Arc<DeletedRows>>,
    /// Place of `_VALUE_KIND` among the columns, where retracts do not come.
    kinds: Option<usize>,
}

impl FilterRows {
    fn apply(&self, rows: &Rows) -> Result<BooleanArray> {
        let failed = match self.test(rows) {
            Err(e) if is_no_value(&e) => e,
            tested => return tested,
        };
        // a value of a row that does not come may have no place in the wanted type
        let Some(kept) = self.kept(rows) else {
            return Err(failed);
        };
        let passed = self.test(&filtered(rows, &kept)?)?;
        let mut passed = passed.iter();
        Ok(kept.values().iter().map(|kept| if kept { passed.next().flatten() } else { Some(false) }).collect())
    }

    /// The rows that come; `None`: all.
    fn kept(&self, rows: &Rows) -> Option<BooleanArray> {
        let positions = self.deletions.as_ref().zip(rows.positions.as_ref());
        let live = positions.and_then(|(deletions, positions)| deletions.keep_at(positions));
        let added = self.kinds.and_then(|at| rows.columns.get(at)).and_then(added);
        match (live, added) {
            (Some(live), Some(added)) => Some(BooleanArray::new(&live & added.values(), None)),
            (live, added) => live.map(|live| BooleanArray::new(live, None)).or(added),
        }
    }

    fn test(&self, rows: &Rows) -> Result<BooleanArray> {
        let columns = self.mapping.apply(&rows.columns, rows.count)?;
        evaluate(&self.predicate, &batch_of(&self.schema, columns, rows.count)?)
    }
}

/// The table fields that a filter needs: as wanted, else as the operation's schema has them.
fn filter_fields(ctx: &TableContext, spec: &FileReadSpec, filter: &Predicate) -> Result<Vec<DataField>> {
    let names = filter.columns();
    let fields = names.iter().map(|name| {
        let field = spec.fields.iter().find(|f| f.name == *name).or_else(|| ctx.schema.field(name));
        field.cloned().ok_or_else(|| {
            Error::new(ErrorKind::InvalidArgument, "the filter names a column that the table does not have")
                .with("column", name)
        })
    });
    fields.collect()
}

fn with_position(schema: &Schema) -> SchemaRef {
    /// Built once per process: every batch with positions ends with this field.
    static POSITION: OnceLock<Arc<Field>> = OnceLock::new();
    let position = POSITION.get_or_init(|| Arc::new(Field::new(special::POSITION, Arrow::Int64, false)));
    let fields: Vec<Arc<Field>> = schema.fields().iter().chain([position]).map(Arc::clone).collect();
    Arc::new(Schema::new(fields))
}

fn batch_of(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    for (field, column) in schema.fields().iter().zip(&columns) {
        check_not_null(column, field.is_nullable(), None).map_err(|e| e.with("column", field.name()))?;
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}
