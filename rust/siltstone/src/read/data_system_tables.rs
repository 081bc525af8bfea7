//! Views: the table's rows with their kinds (`$audit_log`), with each update as one row (`$binlog`), or those of the
//! highest level alone, which need no merging (`$ro`), or with what row tracking knows of them (`$row_tracking`).
//!
//! ```text
//! $audit_log     rowkind, [_SEQUENCE_NUMBER], the table's columns
//! $binlog        rowkind, [_SEQUENCE_NUMBER], every column as ARRAY: [value], or [before, after] for +U of a changelog
//! $ro            the table's columns
//! $row_tracking  the table's columns, _ROW_ID, _SEQUENCE_NUMBER: the snapshot that brought the row as it is
//! ```
//!
//! Source: semantics f.8 and h; `AuditLogTable`, `BinlogTable`, `PackChangelogReader`, `ReadOptimizedTable`, `RowTrackingTable`.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use arrow_arith::boolean::and;
use arrow_array::{
    Array as _, ArrayRef, BooleanArray, Int32Array, ListArray, RecordBatch, RecordBatchOptions, StringArray,
    UInt32Array, cast::AsArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_ord::cmp::not_distinct;
use arrow_schema::{DataType as Arrow, Field, Schema, SchemaRef};
use arrow_select::take::take;

use super::{
    nested_columns::NestedColumns,
    rebatch::{Rebatched, rebatch},
};
use crate::{
    error::{Error, ErrorKind, Result},
    io::{BatchStream, TableContext, filtered_rows},
    predicate::{Condition, Predicate, evaluate, resolved_by_name},
    row::RowKind,
    scan::{ROW_KIND_COLUMN, ReadOptions, ScanRequest},
    types::{DataField, DataType, MAX_LENGTH, TypeKind, arrow_schema, special},
};

/// A view of the table's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataSystemTable {
    /// `$audit_log`
    AuditLog,
    /// `$binlog`
    Binlog,
    /// `$ro`
    ReadOptimized,
    /// `$row_tracking`
    RowTracking,
}

impl DataSystemTable {
    /// Names of all views.
    pub const NAMES: [&'static str; 4] = ["audit_log", "binlog", "ro", "row_tracking"];

    /// By its name, in any case.
    pub fn find(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "audit_log" => Self::AuditLog,
            "binlog" => Self::Binlog,
            "ro" => Self::ReadOptimized,
            "row_tracking" => Self::RowTracking,
            _ => return None,
        })
    }

    /// The view's columns for a table.
    pub fn fields(self, ctx: &TableContext) -> Vec<DataField> {
        let mut fields = Vec::new();
        if self.shows_kinds() {
            fields.push(row_kind_field());
            if has_sequence_number(ctx) {
                fields.push(special::sequence_number());
            }
        }
        fields.extend(ctx.schema.fields.iter().map(|field| match self {
            Self::Binlog => {
                let element = field.data_type.clone().with_nullable(true);
                DataField { data_type: DataType::new(TypeKind::Array(Box::new(element))), ..field.clone() }
            }
            _ => field.clone(),
        }));
        if self == Self::RowTracking {
            fields.extend([special::row_id(), special::sequence_number()]);
        }
        fields
    }

    /// Whether rows come with their kinds, deletes among them.
    fn shows_kinds(self) -> bool {
        matches!(self, Self::AuditLog | Self::Binlog)
    }

    /// The fields that a filter may name: for `$binlog` the values, not the arrays.
    pub fn filter_fields(self, ctx: &TableContext) -> Vec<DataField> {
        if self == Self::Binlog { Self::AuditLog.fields(ctx) } else { self.fields(ctx) }
    }

    /// The scan below the view, and what to do with its rows.
    pub fn prepare(self, ctx: &TableContext, request: &ScanRequest) -> Result<(ScanRequest, Finish)> {
        let filter = Condition::of(request.filter.as_ref(), &self.filter_fields(ctx))?;
        let base = ScanRequest { system: None, ..request.clone() };
        if self == Self::ReadOptimized {
            let min_level = ctx.schema.has_primary_key().then_some(ctx.options.num_levels.saturating_sub(1));
            return Ok((ScanRequest { filter: filter.map(Into::into), min_level, ..base }, Finish::default()));
        }
        if self == Self::RowTracking && !ctx.options.row_tracking_enabled {
            return Err(Error::new(ErrorKind::InvalidArgument, "rows of the table have no ids")
                .with("table", &ctx.name)
                .hint("tables have them that are created with 'row-tracking.enabled' = 'true'"));
        }
        let (own, above) = self.split_filter(ctx, filter)?;
        let fields = self.fields(ctx);
        let names: Vec<String> = match &request.columns {
            Some(columns) => columns.clone(),
            None => fields.iter().map(|f| f.name.clone()).collect(),
        };
        let resolve = resolved_by_name(&fields);
        let output = names.iter().map(|name| resolve(name).cloned()).collect::<Result<Vec<_>>>()?;
        let needed = names.iter().map(String::as_str).chain(above.iter().flat_map(Predicate::columns));
        let (mut columns, mut sequence_number) = (Vec::<String>::new(), false);
        let mut seen: HashSet<&str> = HashSet::new();
        for name in needed {
            if name == special::SEQUENCE_NUMBER && self.shows_kinds() && has_sequence_number(ctx) {
                sequence_number = true;
            } else if name != ROW_KIND_COLUMN && seen.insert(name) {
                columns.push(name.to_owned());
            }
        }
        let pack = (self == Self::Binlog).then(|| ctx.schema.primary_keys.clone());
        let keys = pack.iter().flatten().filter(|key| !columns.contains(key)).cloned().collect::<Vec<_>>();
        columns.extend(keys);
        let own_limit = request.options.limit.filter(|_| above.is_none() && pack.is_none());
        let finish = Finish {
            pack,
            filter: above,
            output: Some(arrow_schema(&output)?),
            limit: request.options.limit.filter(|_| own_limit.is_none()),
            nested: None,
        };
        let options = ReadOptions {
            limit: own_limit,
            row_kind: self.shows_kinds(),
            keep_deletes: self.shows_kinds(),
            row_ids: self == Self::RowTracking,
            sequence_number,
            ..request.options.clone()
        };
        Ok((ScanRequest { columns: Some(columns), filter: own.map(Into::into), options, ..base }, finish))
    }

    /// Parts of the condition that the scan below can use, and the rest.
    fn split_filter(
        self,
        ctx: &TableContext,
        filter: Option<Predicate>,
    ) -> Result<(Option<Predicate>, Option<Predicate>)> {
        let Some(filter) = filter else { return Ok((None, None)) };
        let is_own = |column: &str| ![ROW_KIND_COLUMN, special::SEQUENCE_NUMBER, special::ROW_ID].contains(&column);
        let (own, above) = filter.without_not().split(&is_own);
        if self == Self::Binlog && ctx.schema.has_primary_key() {
            let values = own.columns().into_iter().chain(above.columns().into_iter().filter(|c| is_own(c)));
            if let Some(column) = values.into_iter().find(|c| !ctx.schema.primary_keys.iter().any(|k| k == c)) {
                let message = "a condition on $binlog may name only key columns: others differ before and after";
                return Err(Error::new(ErrorKind::InvalidArgument, message)
                    .with("table", &ctx.name)
                    .with("column", column)
                    .hint("use $audit_log, or filter the result"));
            }
        }
        let given = |p: Predicate| (!p.is_always_true()).then_some(p);
        Ok((given(own), given(above)))
    }
}

/// `rowkind STRING NOT NULL`
fn row_kind_field() -> DataField {
    DataField::new(special::VALUE_KIND_ID, ROW_KIND_COLUMN, DataType::not_null(TypeKind::VarChar(MAX_LENGTH)))
}

fn has_sequence_number(ctx: &TableContext) -> bool {
    ctx.options.table_read_sequence_number
}

/// What becomes of the rows of the scan below.
#[derive(Clone, Debug, Default)]
pub struct Finish {
    /// Values become arrays, -U and +U of one key one row: the key columns.
    pack: Option<Vec<String>>,
    filter: Option<Predicate>,
    /// The columns to keep; `None` = the rows as they are.
    output: Option<SchemaRef>,
    limit: Option<usize>,
    /// Fields of rows that are columns of the result.
    nested: Option<NestedColumns>,
}

impl From<NestedColumns> for Finish {
    fn from(nested: NestedColumns) -> Self {
        Self { nested: Some(nested), ..Self::default() }
    }
}

impl Finish {
    /// The schema of the result, when it is not that of the scan below.
    pub fn schema(&self) -> Option<&SchemaRef> {
        self.nested.as_ref().map(NestedColumns::schema).or(self.output.as_ref())
    }

    /// Whether the number of rows is that of the scan below.
    pub fn keeps_count(&self) -> bool {
        self.pack.is_none() && self.filter.is_none() && self.limit.is_none()
    }

    /// The view's rows.
    pub fn apply(&self, rows: BatchStream) -> BatchStream {
        if let Some(nested) = self.nested.clone() {
            return Box::new(rows.map(move |batch| nested.of(&batch?)));
        }
        let Some(output) = self.output.clone() else { return rows };
        let rows = match self.pack.clone() {
            Some(keys) => rebatch(rows, move |batch, more| packed(batch, more, &keys)),
            None => rows,
        };
        let (filter, pack) = (self.filter.clone(), self.pack.is_some());
        let finished = rows.map(move |batch| {
            let batch = batch?;
            let kept = match &filter {
                Some(filter) if pack => evaluate(filter, &first_values(&batch)?)?,
                Some(filter) => evaluate(filter, &batch)?,
                None => return finished(&batch, &output),
            };
            finished(&filtered_rows(&batch, &kept)?, &output)
        });
        let some = finished.filter(|batch| !matches!(batch, Ok(b) if b.num_rows() == 0));
        let mut left = self.limit.unwrap_or(usize::MAX);
        Box::new(some.map_while(move |batch| {
            if left == 0 {
                return None;
            }
            Some(batch.map(|b| {
                let taken = b.num_rows().min(left);
                left -= taken;
                b.slice(0, taken)
            }))
        }))
    }
}

/// What a condition on packed rows is about: of each array its first value. The others of a row that has two are the same,
/// because only key columns are in conditions there ([`DataSystemTable::split_filter`]).
fn first_values(rows: &RecordBatch) -> Result<RecordBatch> {
    let mut fields = Vec::with_capacity(rows.num_columns());
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(rows.num_columns());
    for (field, column) in rows.schema().fields().iter().zip(rows.columns()) {
        let is_packed = field.name() != ROW_KIND_COLUMN && field.name() != special::SEQUENCE_NUMBER;
        let column = match column.as_list_opt::<i32>().filter(|_| is_packed) {
            Some(lists) => {
                let firsts = lists.value_offsets().iter().copied().take(rows.num_rows());
                take(lists.values(), &Int32Array::from_iter_values(firsts), None)?
            }
            None => Arc::clone(column),
        };
        fields.push(Field::new(field.name(), column.data_type().clone(), true));
        columns.push(column);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?)
}

fn finished(kept: &RecordBatch, output: &SchemaRef) -> Result<RecordBatch> {
    let missing = |name: &str| Error::new(ErrorKind::Internal, "a view lacks a column").with("column", name);
    let kept_schema = kept.schema_ref();
    let named = kept_schema.fields().iter().map(|field| field.name().as_str());
    let places: HashMap<&str, &ArrayRef> = named.zip(kept.columns()).collect();
    let columns: Result<Vec<ArrayRef>> = output
        .fields()
        .iter()
        .map(|f| places.get(f.name().as_str()).copied().map(Arc::clone).ok_or_else(|| missing(f.name())))
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(kept.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(output), columns?, &options)?)
}

/// Rows as arrays, -U and +U of one key as one; a -U at the end waits for its +U in the next batch.
fn packed(mut rows: RecordBatch, more: bool, keys: &[String]) -> Result<Rebatched> {
    let before = RowKind::UpdateBefore.as_str();
    let count = rows.num_rows();
    let mut waiting = None;
    if more && count > 0 && kinds(&rows)?.value(count - 1) == before {
        waiting = Some(rows.slice(count - 1, 1));
        rows = rows.slice(0, count - 1);
    }
    let kinds = kinds(&rows)?;
    let same_key = as_the_next(&rows, keys)?;
    let (mut places, mut lengths, mut result) = (Vec::new(), Vec::new(), Vec::new());
    let mut at = 0;
    while at < rows.num_rows() {
        let paired = kinds.value(at) == before
            && at + 1 < rows.num_rows()
            && kinds.value(at + 1) == RowKind::UpdateAfter.as_str()
            && same_key.as_ref().is_none_or(|same| same.value(at));
        let taken = if paired { 2 } else { 1 };
        places.extend(at..at + taken);
        lengths.push(taken);
        result.push(at);
        at += taken;
    }
    Ok((arrays(&rows, &places, &lengths, &result)?, waiting))
}

/// Of each row but the last whether the next one has the same key: a -U and a +U of others may be neighbours, where one of the two
/// has no other half. `None`: there is no key, or no next row.
fn as_the_next(rows: &RecordBatch, keys: &[String]) -> Result<Option<BooleanArray>> {
    let Some(length) = rows.num_rows().checked_sub(1).filter(|length| *length > 0) else { return Ok(None) };
    let mut all: Option<BooleanArray> = None;
    for key in keys {
        let column = rows.column_by_name(key);
        let column =
            column.ok_or_else(|| Error::new(ErrorKind::Internal, "a view lacks a key column").with("column", key))?;
        let same = not_distinct(&column.slice(0, length), &column.slice(1, length))?;
        all = Some(match all {
            Some(all) => and(&all, &same)?,
            None => same,
        });
    }
    Ok(all)
}

/// `result`: the first row of each group; system columns keep its value, the kind is that of the last.
fn arrays(rows: &RecordBatch, places: &[usize], lengths: &[usize], result: &[usize]) -> Result<RecordBatch> {
    let firsts = indices(result.iter().copied())?;
    let lasts = indices(result.iter().zip(lengths).map(|(at, n)| at + n - 1))?;
    let all = indices(places.iter().copied())?;
    let offsets = OffsetBuffer::<i32>::from_lengths(lengths.iter().copied());
    let mut fields = Vec::with_capacity(rows.num_columns());
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(rows.num_columns());
    for (field, column) in rows.schema().fields().iter().zip(rows.columns()) {
        if field.name() == ROW_KIND_COLUMN {
            fields.push(Arc::clone(field));
            columns.push(take(column, &lasts, None)?);
        } else if field.name() == special::SEQUENCE_NUMBER {
            fields.push(Arc::clone(field));
            columns.push(take(column, &firsts, None)?);
        } else {
            let element = Arc::new(Field::new("element", field.data_type().clone(), true));
            let values = take(column, &all, None)?;
            let list = ListArray::try_new(Arc::clone(&element), offsets.clone(), values, None)?;
            fields.push(Arc::new(Field::new(field.name(), Arrow::List(element), true)));
            columns.push(Arc::new(list));
        }
    }
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}

fn kinds(rows: &RecordBatch) -> Result<&StringArray> {
    let column = rows.column_by_name(ROW_KIND_COLUMN).and_then(|c| c.as_string_opt::<i32>());
    column.ok_or_else(|| Error::new(ErrorKind::Internal, "rows without kinds"))
}

fn indices(rows: impl Iterator<Item = usize>) -> Result<UInt32Array> {
    let places: std::result::Result<Vec<u32>, _> = rows.map(u32::try_from).collect();
    places.map(UInt32Array::from).map_err(|e| Error::new(ErrorKind::Internal, "a batch is too long").caused_by(e))
}
