//! One split as a stream of batches.

use std::{collections::HashSet, sync::Arc};

use arrow_array::{
    BooleanArray, Int8Array, RecordBatch, RecordBatchOptions, StringArray, cast::AsArray, types::Int8Type,
};
use arrow_schema::SchemaRef;

use super::{
    diff,
    divide::{RowsOfFile, Task},
    piece::{Last, Piece, PieceStream, complete},
};
use crate::{
    deletion_vectors::{DeletedRows, DeletionMap, DeletionVectorsIndexFile},
    error::{Error, ErrorKind, Result},
    fs::strip_scheme,
    io::{
        BatchStream, FileReadSpec, KvLayout, TableContext, decode_data_file, filtered_rows, read_row_group, row_groups,
    },
    manifest::{DataFileMeta, DeletionVectorRange},
    merge_tree::{MergeReadOptions, read_merged},
    predicate::{Predicate, evaluate},
    row::RowKind,
    scan::{
        ReadRequest,
        overtaken::version_gone_meanwhile,
        sections::{Section, sections_of},
    },
    schema::merge_columns,
    types::DataField,
    wire::Split,
};

/// The rows of a split that satisfy the request.
pub fn read_split(ctx: &TableContext, split: &Split, request: &ReadRequest) -> Result<BatchStream> {
    let batches = pieces_of(ctx, split, request)?.map(|piece| piece?.finish());
    let rows = batches.filter(|batch| !matches!(batch, Ok(b) if b.num_rows() == 0));
    Ok(limited(Box::new(rows), request.options.limit))
}

/// [`read_split`], without its limit, in pieces that another thread may finish. `SnapshotExpired` when files are gone with
/// their version.
fn pieces_of(ctx: &TableContext, split: &Split, request: &ReadRequest) -> Result<PieceStream> {
    of_version(ctx, split, |ctx| opened(ctx, split, request))
}

/// [`pieces_of`] a task.
pub(super) fn pieces_of_task(ctx: &TableContext, task: &Task, request: &ReadRequest) -> Result<PieceStream> {
    match &task.rows {
        None => pieces_of(ctx, &task.split, request),
        Some(rows) => of_version(ctx, &task.split, |ctx| some_rows(ctx, &task.split, rows, request)),
    }
}

fn of_version(
    ctx: &TableContext,
    split: &Split,
    open: impl FnOnce(&TableContext) -> Result<PieceStream>,
) -> Result<PieceStream> {
    let (at, id, list) = (ctx.clone(), split.snapshot_id, split.snapshot_list.clone());
    let expired = move |error| version_gone_meanwhile(&at, id, list.as_deref(), error);
    let pieces = open(ctx).map_err(&expired)?;
    Ok(Box::new(pieces.map(move |piece| piece.map_err(&expired))))
}

fn opened(ctx: &TableContext, split: &Split, request: &ReadRequest) -> Result<PieceStream> {
    let has_key = !ctx.schema.primary_keys.is_empty();
    if request.options.sequence_number && !has_key {
        return Err(Error::unsupported("sequence numbers of a table without a primary key")
            .with("table", &ctx.name)
            .with("option", "table-read.sequence-number.enabled"));
    }
    if !split.before_files.is_empty() {
        compared(ctx, split, request).map(complete)
    } else if is_merged(ctx, split)? {
        merged(ctx, split, request).map(complete)
    } else {
        one_after_another(ctx, split, request)
    }
}

/// Whether files of a split may have rows of the same keys.
pub(super) fn is_merged(ctx: &TableContext, split: &Split) -> Result<bool> {
    if ctx.schema.primary_keys.is_empty() || split.is_streaming || split.raw_convertible {
        return Ok(false);
    }
    let sections = sections_of(ctx, &split.files)?;
    Ok(!sections.iter().all(Section::needs_no_merge))
}

/// How a file that shares no keys with others is read.
pub(super) fn raw_spec(
    ctx: &TableContext,
    split: &Split,
    request: &ReadRequest,
    file: &DataFileMeta,
    deletions: Option<Arc<DeletedRows>>,
) -> FileReadSpec {
    let has_key = !ctx.schema.primary_keys.is_empty();
    let keep_retracts = request.options.keep_deletes || (split.is_streaming && request.options.row_kind);
    let retracts = has_key && !keep_retracts && file.delete_row_count != Some(0);
    FileReadSpec {
        fields: request.fields.clone(),
        system: has_key && (retracts || request.options.row_kind || request.options.sequence_number),
        drop_retracts: retracts,
        position: false,
        rows: None,
        filter: request.filter.clone(),
        exact_filter: request.filter.is_some(),
        batch_rows: request.options.batch_rows(),
        deletions,
        late_casts: Vec::new(),
    }
}

fn finished_with(finish: &Finish, spec: &FileReadSpec) -> Last {
    let (finish, kinds) = (finish.clone(), spec.system.then(|| spec.fields.len() + 1));
    Arc::new(move |batch| finish.apply(batch, kinds, false))
}

/// Rows of one file that shares no keys with others.
fn some_rows(ctx: &TableContext, split: &Split, rows: &RowsOfFile, request: &ReadRequest) -> Result<PieceStream> {
    let Some(file) = split.files.first() else { return Ok(Box::new(std::iter::empty())) };
    let spec = raw_spec(ctx, split, request, file, rows.deletions.clone());
    let last = finished_with(&Finish::new(request, None)?, &spec);
    let decoded = rows.file.decode(ctx, &FileReadSpec { rows: Some(rows.rows.clone()), ..spec })?;
    Ok(Box::new(decoded.map(move |rows| Ok(Piece::Decoded(rows?, Arc::clone(&last))))))
}

/// Files that share no keys: every row of theirs is a row of the table, unless it retracts.
fn one_after_another(ctx: &TableContext, split: &Split, request: &ReadRequest) -> Result<PieceStream> {
    let finish = Finish::new(request, None)?;
    let (ctx, split, request) = (ctx.clone(), split.clone(), request.clone());
    if ctx.options.data_evolution_enabled {
        return side_by_side(&ctx, &split, &request, finish);
    }
    let files = split.files.clone().into_iter().enumerate();
    let pieces = files.flat_map(move |(i, file)| -> PieceStream {
        let deletions = match vector_of(&ctx, &split, i) {
            Ok(deletions) => deletions,
            Err(e) => return Box::new(std::iter::once(Err(e))),
        };
        let spec = raw_spec(&ctx, &split, &request, &file, deletions);
        let last = finished_with(&finish, &spec);
        match decode_data_file(&ctx, &split.bucket.partition, split.bucket.bucket, &file, &spec) {
            Ok(rows) => Box::new(rows.map(move |rows| Ok(Piece::Decoded(rows?, Arc::clone(&last))))),
            Err(e) => Box::new(std::iter::once(Err(e))),
        }
    });
    Ok(Box::new(pieces))
}

/// Rows whose columns may be in several files.
fn side_by_side(ctx: &TableContext, split: &Split, request: &ReadRequest, finish: Finish) -> Result<PieceStream> {
    let groups = row_groups(ctx, split.files.clone())?;
    let (ctx, bucket) = (ctx.clone(), split.bucket.clone());
    let spec = FileReadSpec {
        filter: request.filter.clone(),
        exact_filter: request.filter.is_some(),
        batch_rows: request.options.batch_rows(),
        ..FileReadSpec::new(request.fields.clone())
    };
    let last: Last = Arc::new(move |batch| finish.apply(batch, None, false));
    let pieces = groups.into_iter().flat_map(move |group| -> PieceStream {
        let last = Arc::clone(&last);
        let failed = |e| -> PieceStream { Box::new(std::iter::once(Err(e))) };
        if let Some(file) = group.only_file() {
            return match decode_data_file(&ctx, &bucket.partition, bucket.bucket, file, &spec) {
                Ok(rows) => Box::new(rows.map(move |rows| Ok(Piece::Decoded(rows?, Arc::clone(&last))))),
                Err(e) => failed(e),
            };
        }
        match read_row_group(&ctx, &bucket.partition, bucket.bucket, &group, &spec) {
            Ok(rows) => complete(Box::new(rows.map(move |batch| last(&batch?)))),
            Err(e) => failed(e),
        }
    });
    Ok(Box::new(pieces))
}

/// Overlapping files: rows of one key are merged, then filtered and projected.
fn merged(ctx: &TableContext, split: &Split, request: &ReadRequest) -> Result<BatchStream> {
    let layout = layout(ctx, request)?;
    let keys = ctx.schema.trimmed_primary_keys();
    let key_filter = request.filter.as_ref().map(|f| f.relaxed(&|c| keys.contains(&c)));
    let options = MergeReadOptions {
        key_filter: key_filter.filter(|f| !f.is_always_true()),
        value_filter: request.filter.clone(),
        drop_deletes: !request.options.keep_deletes,
        batch_rows: request.options.batch_rows(),
        threads: request.decoders,
        memory: request.options.merge_memory(),
        deletions: read_vectors(ctx, &split.files, split.deletion_files.as_deref())?,
        ..MergeReadOptions::default()
    };
    let kinds = layout.kind_index();
    let rows = read_merged(ctx, &split.bucket.partition, split.bucket.bucket, &split.files, &layout, options)?;
    let finish = Finish::new(request, request.filter.clone())?;
    Ok(Box::new(rows.map(move |batch| finish.apply(&batch?, Some(kinds), false))))
}

/// The deletion vector of the split's file at `i`.
pub fn vector_of(ctx: &TableContext, split: &Split, i: usize) -> Result<Option<Arc<DeletedRows>>> {
    split.deletion_file(i).map(|(path, range)| read_vector(ctx, path, range)).transpose()
}

fn read_vector(ctx: &TableContext, path: &str, range: &DeletionVectorRange) -> Result<Arc<DeletedRows>> {
    let path = strip_scheme(path);
    let read = DeletionVectorsIndexFile::read(&ctx.fs, path, range).map_err(|e| e.with("table", &ctx.name));
    read.map(Arc::new)
}

/// The deletion vectors of some files, one entry a file.
fn read_vectors(
    ctx: &TableContext,
    files: &[DataFileMeta],
    vectors: Option<&[Option<(String, DeletionVectorRange)>]>,
) -> Result<DeletionMap> {
    let pairs = files.iter().zip(vectors.unwrap_or_default());
    let with_vector = pairs.filter_map(|(file, vector)| Some((file.file_name.clone(), vector.as_ref()?)));
    let read = with_vector.map(|(name, (path, range))| Ok((name, read_vector(ctx, path, range)?)));
    Ok(Arc::new(read.collect::<Result<_>>()?))
}

/// Files of two states: their difference, or as a stream the old rows taken back and the new ones.
fn compared(ctx: &TableContext, split: &Split, request: &ReadRequest) -> Result<BatchStream> {
    let wanted: HashSet<i32> = request.fields.iter().map(|f| f.id).collect();
    let others = ctx.schema.fields.iter().filter(|f| !wanted.contains(&f.id)).cloned();
    // rows differ when any column does
    let fields: Vec<DataField> = request.fields.iter().cloned().chain(others).collect();
    let layout = layout(ctx, &ReadRequest { fields, ..request.clone() })?;
    let keys = ctx.schema.trimmed_primary_keys();
    let key_filter = request.filter.as_ref().map(|f| f.relaxed(&|c| keys.contains(&c)));
    let options = MergeReadOptions {
        key_filter: key_filter.filter(|f| !f.is_always_true()),
        drop_deletes: split.is_streaming || !request.options.keep_deletes,
        batch_rows: request.options.batch_rows(),
        threads: request.decoders,
        memory: request.options.merge_memory(),
        ..MergeReadOptions::default()
    };
    let kinds = layout.kind_index();
    let drop_retracts = split.is_streaming && !request.options.row_kind && !request.options.keep_deletes;
    let finish = Finish::new(request, request.filter.clone())?;
    let vectors = split.before_deletion_files.as_deref();
    let before = MergeReadOptions { deletions: read_vectors(ctx, &split.before_files, vectors)?, ..options.clone() };
    let vectors = split.deletion_files.as_deref();
    let after = MergeReadOptions { deletions: read_vectors(ctx, &split.files, vectors)?, ..options };
    let rows = if split.is_streaming {
        diff::replaced(ctx, split, &layout, before, after)?
    } else {
        diff::difference(ctx, split, &layout, before, after)?
    };
    Ok(Box::new(rows.map(move |batch| finish.apply(&batch?, Some(kinds), drop_retracts))))
}

/// The result's columns first, then what merging and filtering need besides.
fn layout(ctx: &TableContext, request: &ReadRequest) -> Result<KvLayout> {
    let mut fields = request.fields.clone();
    let mut names: HashSet<String> = fields.iter().map(|f| f.name.clone()).collect();
    let keys: Vec<String> = ctx.schema.trimmed_primary_keys().into_iter().map(str::to_owned).collect();
    let filtered = request.filter.iter().flat_map(|f| f.columns()).map(str::to_owned);
    for name in filtered.chain(keys.iter().cloned()) {
        if names.insert(name.clone()) {
            fields.push(ctx.schema.field(&name).cloned().ok_or_else(|| missing(ctx, &name))?);
        }
    }
    let wanted: Vec<String> = fields.iter().map(|f| f.name.clone()).collect();
    for name in merge_columns(&ctx.schema, &ctx.options, &wanted).map_err(|e| e.with("table", &ctx.name))? {
        fields.push(ctx.schema.field(&name).cloned().ok_or_else(|| missing(ctx, &name))?);
    }
    let positions = |names: &[String]| -> Result<Vec<usize>> {
        let position = |name: &String| fields.iter().position(|f| f.name == *name).ok_or_else(|| missing(ctx, name));
        names.iter().map(position).collect()
    };
    let (key, sequence) = (positions(&keys)?, positions(&ctx.options.sequence_fields)?);
    Ok(KvLayout { fields, key, sequence, sequence_descending: ctx.options.sequence_descending() })
}

fn missing(ctx: &TableContext, column: &str) -> Error {
    Error::new(ErrorKind::IllegalSchema, format!("the table has no column '{column}', which its key or options name"))
        .with("table", &ctx.name)
        .with("column", column)
}

/// From what was read to what was asked.
#[derive(Clone)]
struct Finish {
    schema: SchemaRef,
    filter: Option<Predicate>,
    /// The result's columns are the first ones of a batch.
    width: usize,
    row_kind: bool,
    sequence_number: bool,
}

impl Finish {
    fn new(request: &ReadRequest, filter: Option<Predicate>) -> Result<Self> {
        Ok(Self {
            schema: request.arrow_schema()?,
            filter,
            width: request.fields.len(),
            row_kind: request.options.row_kind,
            sequence_number: request.options.sequence_number,
        })
    }

    /// `kinds`: position of `_VALUE_KIND`. Drops retracts when told, and rows that fail the filter.
    fn apply(&self, batch: &RecordBatch, kinds: Option<usize>, drop_retracts: bool) -> Result<RecordBatch> {
        let numbers = kinds.and_then(|i| batch.columns().get(i.checked_sub(1)?));
        let kinds = kinds.and_then(|i| batch.columns().get(i)).map(|c| c.as_primitive_opt::<Int8Type>());
        let kinds = match kinds {
            Some(None) => return Err(Error::new(ErrorKind::Internal, "_VALUE_KIND is not an Int8 column")),
            Some(Some(kinds)) => Some(kinds.clone()),
            None => None,
        };
        let mut mask: Option<BooleanArray> = None;
        if let (true, Some(kinds)) = (drop_retracts, &kinds) {
            mask = Some(kinds.iter().map(|k| Some(matches!(k, Some(0 | 2)))).collect());
        }
        if let Some(filter) = &self.filter {
            let kept = evaluate(filter, batch)?;
            mask = Some(match mask {
                Some(mask) => arrow_arith::boolean::and_kleene(&mask, &kept)?,
                None => kept,
            });
        }
        let mut columns: Vec<_> = batch.columns().iter().take(self.width).cloned().collect();
        if self.sequence_number {
            let missing = || Error::new(ErrorKind::Internal, "rows without sequence numbers");
            columns.insert(0, Arc::clone(numbers.ok_or_else(missing)?));
        }
        if self.row_kind {
            columns.insert(0, Arc::new(kind_texts(kinds.as_ref(), batch.num_rows())?));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let result = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        match mask {
            Some(mask) if mask.true_count() < mask.len() => filtered_rows(&result, &mask),
            _ => Ok(result),
        }
    }
}

fn kind_texts(kinds: Option<&Int8Array>, rows: usize) -> Result<StringArray> {
    let Some(kinds) = kinds else {
        return Ok(StringArray::from(vec![RowKind::Insert.as_str(); rows]));
    };
    let texts: Result<Vec<&str>> = kinds.values().iter().map(|k| RowKind::from_byte(*k).map(RowKind::as_str)).collect();
    Ok(StringArray::from(texts?))
}

/// At most so many rows; `None` = all.
pub fn limited(rows: BatchStream, limit: Option<usize>) -> BatchStream {
    match limit {
        Some(left) => Box::new(Limited { rows, left }),
        None => rows,
    }
}

/// Stops after so many rows.
struct Limited {
    rows: BatchStream,
    left: usize,
}

impl Iterator for Limited {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let batch = match self.rows.next()? {
            Ok(batch) => batch,
            Err(e) => {
                self.left = 0;
                return Some(Err(e));
            }
        };
        let taken = batch.num_rows().min(self.left);
        self.left -= taken;
        Some(Ok(if taken < batch.num_rows() { batch.slice(0, taken) } else { batch }))
    }
}
