//! Rows of primary-key tables: written again as -D or +U.

use std::{collections::HashSet, sync::Arc};

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow_row::{OwnedRow, RowConverter, SortField};

use super::{Modification, Replacement, removal::Removal};
use crate::{
    error::{Error, ErrorKind, Result},
    io::{TableContext, check_rewritable, filtered_rows},
    options::{ChangelogProducer, CoreOptions, POSTPONE_BUCKET},
    predicate::Predicate,
    read::read_splits,
    row::{RowKind, datums_from_array},
    scan::{EntryFilter, ScanPlan, ScanRequest, live_entries, plan},
    snapshot::Snapshot,
    types::arrow_type,
    write::{RowKinds, convert_column},
};

/// Takes rows and their kind.
pub type Sink<'a> = &'a mut dyn FnMut(&RecordBatch, &RowKinds) -> Result<()>;

/// The rows of the newest version that satisfy a condition, with those that wait in level 0 for a compaction: a statement
/// that did not see them would write older rows over them.
pub fn newest_rows(ctx: &TableContext, condition: &Predicate) -> Result<ScanPlan> {
    newest_columns(ctx, condition, None)
}

fn newest_columns(ctx: &TableContext, condition: &Predicate, columns: Option<Vec<String>>) -> Result<ScanPlan> {
    let options = CoreOptions { deletion_vectors_merge_on_read: true, ..(*ctx.options).clone() };
    let ctx = TableContext { options: options.into(), ..ctx.clone() };
    plan(&ctx, &ScanRequest { filter: Some(condition.clone().into()), columns, ..ScanRequest::default() })
}

/// [`newest_rows`], to be written again.
///
/// # Errors
/// `InvalidArgument` where rows wait for buckets that may satisfy the condition.
pub fn rows_to_change(ctx: &TableContext, condition: &Predicate) -> Result<ScanPlan> {
    columns_to_change(ctx, condition, None)
}

/// [`rows_to_change`], with some of their columns; `None`: all.
///
/// # Errors
/// As there.
pub(super) fn columns_to_change(
    ctx: &TableContext,
    condition: &Predicate,
    columns: Option<Vec<String>>,
) -> Result<ScanPlan> {
    let found = newest_columns(ctx, condition, columns)?;
    check_none_wait(ctx, condition, found.snapshot.as_ref())?;
    Ok(found)
}

/// A statement would not find rows that wait for buckets, and write older ones over them.
fn check_none_wait(ctx: &TableContext, condition: &Predicate, snapshot: Option<&Snapshot>) -> Result<()> {
    let Some(snapshot) = snapshot.filter(|_| ctx.options.bucket == POSTPONE_BUCKET) else { return Ok(()) };
    let waiting = EntryFilter {
        bucket: Some(POSTPONE_BUCKET),
        partition_predicate: Some(condition.clone()),
        ..EntryFilter::without_statistics()
    };
    let rows = crate::limits::sum(live_entries(ctx, snapshot, &waiting)?.iter().map(|entry| entry.file.row_count));
    if rows == 0 {
        return Ok(());
    }
    let message = format!("{rows} rows wait in bucket-postpone, where a statement does not find them");
    Err(Error::new(ErrorKind::InvalidArgument, message).with("table", &ctx.name).hint("run t.compact() first"))
}

/// Writes the rows that satisfy the condition again: -D, or +U with new values. Returns how many.
///
/// # Errors
/// Also those of [`Replacement`]; `DeleteNotAllowed` for a row that a -D would not remove.
pub fn write_matching(ctx: &TableContext, change: &Modification, found: &ScanPlan, sink: Sink<'_>) -> Result<u64> {
    if !change.set.is_empty() {
        check_rewritable(ctx, found.splits.iter().flat_map(|split| &split.files))?;
    }
    let replacement = if change.set.is_empty() { None } else { Some(Replacement::new(ctx, &change.set)?) };
    let removal = Removal::of(ctx);
    let kind = if change.set.is_empty() { RowKind::Delete } else { RowKind::UpdateAfter };
    let mut rows = 0_u64;
    for batch in read_splits(&found.ctx, &found.splits, &found.read, change.threads)? {
        let batch = batch?;
        let before = usize::try_from(rows).unwrap_or(usize::MAX);
        rows = rows.saturating_add(u64::try_from(batch.num_rows()).unwrap_or(u64::MAX));
        let batch = match &replacement {
            Some(replacement) => replacement.rows(&batch, before)?,
            None => removal.rows(batch)?,
        };
        sink(&with_kind(ctx, batch, kind)?, &RowKinds::All(kind))?;
    }
    Ok(rows)
}

/// Keys whose rows are deleted; columns that are not part of the primary key are ignored.
pub enum KeysToDelete<'a, I> {
    /// Where the merge engine and the changelog need nothing but the key of a deleted row, the keys are written as they
    /// are, also those that the table does not have.
    Keys(I),
    /// The rows are looked for.
    Rows(Wanted<'a>),
}

impl<'a, I: Iterator<Item = Result<RecordBatch>>> KeysToDelete<'a, I> {
    /// Takes the keys; they are read now when the rows have to be looked for.
    pub fn new(ctx: &'a TableContext, keys: I) -> Result<Self> {
        Ok(if key_is_enough(ctx) { Self::Keys(keys) } else { Self::Rows(Wanted::new(ctx, keys)?) })
    }
}

/// Writes -D for keys, and returns how many.
pub fn write_keys(ctx: &TableContext, keys: impl Iterator<Item = Result<RecordBatch>>, sink: Sink<'_>) -> Result<u64> {
    let mut rows = 0_u64;
    for batch in keys {
        let batch = key_columns(ctx, &batch?, usize::try_from(rows).unwrap_or(usize::MAX))?;
        rows = rows.saturating_add(u64::try_from(batch.num_rows()).unwrap_or(0));
        sink(&batch, &RowKinds::All(RowKind::Delete))?;
    }
    Ok(rows)
}

pub(super) fn key_is_enough(ctx: &TableContext) -> bool {
    let keys = &ctx.schema.primary_keys;
    ctx.options.merge_engine.newest_wins()
        // else the key does not say which partition its row is in
        && ctx.schema.key_holds_partition()
        && ctx.options.changelog_producer != ChangelogProducer::Input
        && ctx.options.sequence_fields.is_empty()
        && ctx.options.rowkind_field.is_none()
        && ctx.schema.fields.iter().all(|f| f.data_type.nullable || keys.contains(&f.name))
}

/// The columns of the primary key, with the table's types; a key that has no value of its type is an error, as in a write.
/// In errors rows are counted from `before` on.
fn key_columns(ctx: &TableContext, batch: &RecordBatch, before: usize) -> Result<RecordBatch> {
    let columns = ctx.schema.primary_keys.iter().map(|key| {
        let missing = || {
            Error::new(ErrorKind::SchemaMismatch, format!("the keys lack the column '{key}' of the primary key"))
                .with("table", &ctx.name)
                .with("column", key)
        };
        let column = batch.column_by_name(key).ok_or_else(missing)?;
        let field = ctx.schema.field(key).ok_or_else(missing)?;
        Ok((key.as_str(), convert_column(column, field, before)?))
    });
    let columns: Vec<(&str, ArrayRef)> = columns.collect::<Result<_>>()?;
    Ok(RecordBatch::try_from_iter(columns)?)
}

/// Values of one key column that are worth listing in a condition.
const LISTED: usize = 1000;

/// A set of keys.
pub struct Wanted<'a> {
    ctx: &'a TableContext,
    converter: RowConverter,
    keys: HashSet<OwnedRow>,
    batches: Vec<RecordBatch>,
}

impl<'a> Wanted<'a> {
    fn new(ctx: &'a TableContext, keys: impl Iterator<Item = Result<RecordBatch>>) -> Result<Self> {
        let types = ctx.schema.primary_keys.iter().filter_map(|key| ctx.schema.field(key));
        let fields: Result<Vec<SortField>> = types.map(|f| Ok(SortField::new(arrow_type(&f.data_type)?))).collect();
        let mut wanted =
            Self { ctx, converter: RowConverter::new(fields?)?, keys: HashSet::new(), batches: Vec::new() };
        let mut before = 0;
        for batch in keys {
            let batch = key_columns(ctx, &batch?, before)?;
            before += batch.num_rows();
            let rows = wanted.converter.convert_columns(batch.columns())?;
            wanted.keys.extend(rows.iter().map(|row| row.owned()));
            wanted.batches.push(batch);
        }
        Ok(wanted)
    }

    /// What all of the keys satisfy, to skip files.
    pub fn condition(&self) -> Result<Predicate> {
        let rows: usize = self.batches.iter().map(RecordBatch::num_rows).sum();
        if rows > LISTED {
            return Ok(Predicate::Constant(true));
        }
        let mut parts = Vec::new();
        for key in &self.ctx.schema.primary_keys {
            let Some(field) = self.ctx.schema.field(key) else { continue };
            let mut values = Vec::new();
            for column in self.batches.iter().filter_map(|batch| batch.column_by_name(key)) {
                values.extend(datums_from_array(column.as_ref(), &field.data_type)?);
            }
            parts.push(Predicate::In { column: key.clone(), values: values.into(), negated: false });
        }
        Ok(Predicate::all(parts))
    }

    /// Writes -D for the rows that were found, and returns how many.
    ///
    /// # Errors
    /// `DeleteNotAllowed` for a row that a -D would not remove.
    pub fn write(&self, found: &ScanPlan, threads: usize, sink: Sink<'_>) -> Result<u64> {
        let ctx = self.ctx;
        let removal = Removal::of(ctx);
        let mut rows = 0_u64;
        for batch in read_splits(&found.ctx, &found.splits, &found.read, threads)? {
            let batch = self.rows_of(&batch?)?;
            if batch.num_rows() > 0 {
                let batch = removal.rows(batch)?;
                rows = rows.saturating_add(u64::try_from(batch.num_rows()).unwrap_or(0));
                sink(&with_kind(ctx, batch, RowKind::Delete)?, &RowKinds::All(RowKind::Delete))?;
            }
        }
        Ok(rows)
    }

    /// The rows of a batch of the table that are meant; their keys are what they are, also where they are too long.
    fn rows_of(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let keys: Vec<ArrayRef> =
            self.ctx.schema.primary_keys.iter().filter_map(|key| batch.column_by_name(key).cloned()).collect();
        let rows = self.converter.convert_columns(&keys)?;
        let found: BooleanArray = rows.iter().map(|row| Some(self.keys.contains(&row.owned()))).collect();
        filtered_rows(batch, &found)
    }
}

/// Where the table has `rowkind.field`, the kind is in that column.
pub(super) fn with_kind(ctx: &TableContext, batch: RecordBatch, kind: RowKind) -> Result<RecordBatch> {
    let Some(at) = ctx.options.rowkind_field.as_ref().and_then(|name| batch.schema().index_of(name).ok()) else {
        return Ok(batch);
    };
    let mut columns = batch.columns().to_vec();
    let kinds: ArrayRef = Arc::new(StringArray::from(vec![kind.as_str(); batch.num_rows()]));
    if let (Some(column), Some(field)) = (columns.get_mut(at), ctx.schema.fields.get(at)) {
        *column = convert_column(&kinds, field, 0)?;
    }
    Ok(RecordBatch::try_new(batch.schema(), columns)?)
}
