//! MERGE into primary-key tables: rows are written again as -D and +U, and new ones as +I.

use arrow_arith::boolean::is_not_null;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::{Field, Schema};
use arrow_select::zip::zip;

use super::{Merge, Merged, Source, clauses::Verb, count, pass::Pass};
use crate::{
    cast::default_value,
    dml::{
        Assignment, Replacement, Sink,
        append::updated_by,
        keyed::{columns_to_change, with_kind},
        removal::Removal,
    },
    error::Result,
    io::{TableContext, check_rewritable, taken_rows},
    predicate::Predicate,
    read::read_splits,
    row::{RowKind, constant_array},
    scan::ScanPlan,
    types::{DataField, arrow_type},
    write::RowKinds,
};

/// Rows of the table that are held against the source together, where none is large: few of them are written, and those of a batch at once.
const LOOKED_AT: usize = 1 << 16;

/// The rows of the newest version that rows of the source may belong to.
///
/// # Errors
/// `InvalidArgument` where rows wait for buckets that may be among them.
pub fn rows_to_merge(ctx: &TableContext, merge: &Merge, source: &Source) -> Result<ScanPlan> {
    let mut found = columns_to_change(ctx, &looked_for(merge, source), merge.columns(ctx))?;
    let is_small = |f: &DataField| arrow_type(&f.data_type).is_ok_and(|t| t.primitive_width().is_some());
    if found.read.fields.iter().all(is_small) {
        found.read.options.batch_rows.get_or_insert(LOOKED_AT);
    }
    Ok(found)
}

/// What the rows of the table satisfy that a clause may change, or that keep a row of the source from being inserted.
pub fn looked_for(merge: &Merge, source: &Source) -> Predicate {
    if merge.looks_at_all_rows() {
        return Predicate::Constant(true);
    }
    let columns: Vec<&str> = merge.on.iter().map(|(column, _)| column.as_str()).collect();
    Predicate::all([source.condition(&columns), merge.table_only.clone()])
}

/// Writes what the clauses make of the rows.
///
/// # Errors
/// Those of [`Replacement`]; `DeleteNotAllowed` for a row that a -D would not remove; `InvalidArgument` where several rows of
/// the source would change one.
pub fn merge_rows(
    ctx: &TableContext,
    merge: &Merge,
    source: &Source,
    found: &ScanPlan,
    sink: Sink<'_>,
) -> Result<Merged> {
    if merge.clauses.iter().any(|clause| clause.verb == Verb::Update) {
        check_rewritable(ctx, found.splits.iter().flat_map(|split| &split.files))?;
    }
    let replacements = merge.clauses.iter().map(|clause| match clause.verb {
        Verb::Update => Replacement::new(ctx, &clause.set).map(Some),
        Verb::Delete | Verb::Insert => Ok(None),
    });
    let replacements = replacements.collect::<Result<Vec<_>>>()?;
    let removal = Removal::of(ctx);
    let mut merged = Merged::default();
    for classes in source.passes() {
        let mut pass = Pass::new(merge, source, classes)?;
        for batch in read_splits(&found.ctx, &found.splits, &found.read, merge.threads)? {
            let batch = batch?;
            pass.decide(&batch, &mut |decided| {
                if !decided.deleted.is_empty() {
                    let rows = removal.rows(taken_rows(&batch, &UInt32Array::from(decided.deleted))?)?;
                    merged.deleted += count(rows.num_rows());
                    sink(&with_kind(ctx, rows, RowKind::Delete)?, &RowKinds::All(RowKind::Delete))?;
                }
                for (clause, rows, values) in decided.updated {
                    let Some(Some(replacement)) = replacements.get(clause) else { continue };
                    let old = taken_rows(&batch, &UInt32Array::from(rows))?;
                    let before = usize::try_from(merged.updated).unwrap_or(usize::MAX);
                    let rows = replacement.rows_by(&old, &values, before)?;
                    merged.updated += count(rows.num_rows());
                    sink(&with_kind(ctx, rows, RowKind::UpdateAfter)?, &RowKinds::All(RowKind::UpdateAfter))?;
                }
                Ok(())
            })?;
        }
        pass.insert(&mut |clause, values| {
            let before = usize::try_from(merged.inserted).unwrap_or(usize::MAX);
            let rows = with_defaults(ctx, &new_rows(values, &clause.set, before)?)?;
            merged.inserted += count(rows.num_rows());
            sink(&with_kind(ctx, rows, RowKind::Insert)?, &RowKinds::All(RowKind::Insert))
        })?;
    }
    Ok(merged)
}

/// The columns that an insert gives values.
pub(super) fn new_rows(values: &RecordBatch, set: &[Assignment], before: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(values.num_rows()));
    let none = RecordBatch::try_new_with_options(Schema::empty().into(), Vec::new(), &options)?;
    updated_by(&none, values, set, before)
}

/// The rows as a write of new rows takes them: defaults take the places of nulls and of columns that are not given.
fn with_defaults(ctx: &TableContext, rows: &RecordBatch) -> Result<RecordBatch> {
    let defaults = ctx.schema.fields.iter().filter_map(|f| Some((f, f.default_value.as_ref()?)));
    let defaults: Vec<(&DataField, &String)> = defaults.collect();
    if defaults.is_empty() {
        return Ok(rows.clone());
    }
    let mut fields: Vec<_> = rows.schema().fields().iter().cloned().collect();
    let mut columns = rows.columns().to_vec();
    for (field, text) in defaults {
        let value = default_value(text, &field.data_type).map_err(|e| e.with("column", &field.name))?;
        if value.is_null() {
            continue;
        }
        let filled = constant_array(&value, &field.data_type, rows.num_rows())?;
        match fields.iter().position(|f| *f.name() == field.name).and_then(|at| columns.get_mut(at)) {
            Some(column) if column.null_count() == 0 => {}
            Some(column) => *column = or_default(column, &filled)?,
            None => {
                fields.push(Field::new(&field.name, filled.data_type().clone(), true).into());
                columns.push(filled);
            }
        }
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    Ok(RecordBatch::try_new_with_options(Schema::new(fields).into(), columns, &options)?)
}

fn or_default(column: &ArrayRef, default: &ArrayRef) -> Result<ArrayRef> {
    Ok(zip(&is_not_null(column)?, column, default)?)
}
