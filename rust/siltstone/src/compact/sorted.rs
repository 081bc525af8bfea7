//! Sort compaction: all rows of a partition of an append table in a new order, so that files cover little of each column.
//!
//! Rows go through the write buffer of the merge tree, which sorts and spills, and keeps all of them. Rows that the order does
//! not tell apart stay as they were. Source: `SortCompactAction`, `TableSorter`.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int8Array, Int64Array, RecordBatch};

use super::{curve, run::TaskResources};
use crate::{
    append::read_rows,
    deletion_vectors::DeletionMap,
    error::{Error, ErrorKind, Result},
    io::{FileReadSpec, FileWriteSpec, KvLayout, RollingWriter, TableContext, check_rewritable},
    manifest::{DataFileMeta, FileSource},
    merge_tree::{KeepAll, SpillOptions, WriteBuffer, WriteBufferOptions},
    types::{DataField, DataType, TypeKind, arrow_schema},
    wire::{CompactionTask, SortOrder, SortStrategy},
};

/// An error unless rows of the table can be put into the order.
pub(super) fn check_order(ctx: &TableContext, order: &SortOrder) -> Result<()> {
    let refused = |what: &str, hint: &str| {
        let message = format!("sort compaction does not order {what}");
        Err(Error::new(ErrorKind::UnsupportedFeature, message).with("table", &ctx.name).hint(hint))
    };
    if ctx.schema.has_primary_key() {
        return refused(
            "rows of a table with a primary key",
            "compact it without order_by: its files are sorted by the key",
        );
    }
    if ctx.options.bucket != -1 {
        return refused(
            "rows of fixed buckets, whose readers get them as they were written",
            "compact it without order_by",
        );
    }
    if ctx.options.data_evolution_enabled {
        return refused(
            "rows of a table with data evolution, which stay in the order of their ids",
            "compact it without order_by",
        );
    }
    let invalid = |message: String| Error::new(ErrorKind::InvalidArgument, message).with("table", &ctx.name);
    if order.columns.is_empty() {
        return Err(invalid("a sort compaction needs columns to order by".to_owned()));
    }
    for (at, name) in order.columns.iter().enumerate() {
        let names: Vec<&str> = ctx.schema.fields.iter().map(|field| field.name.as_str()).collect();
        let field = ctx.schema.field(name).ok_or_else(|| {
            invalid(format!("there is no column '{name}' to order by"))
                .with("column", name)
                .hint(format!("the columns are {}", names.join(", ")))
        })?;
        if ctx.schema.partition_keys.contains(name) {
            let message = format!("'{name}' is the same in all rows of a partition, and orders none of them");
            return Err(invalid(message).with("column", name).hint("leave it out of order_by"));
        }
        if order.columns.iter().take(at).any(|before| before == name) {
            return Err(invalid(format!("'{name}' is named twice in order_by")).with("column", name));
        }
        if !curve::has_place(&field.data_type.kind) {
            let message = format!("rows are not ordered by '{name}', a column of the type {}", field.data_type.kind);
            return Err(Error::new(ErrorKind::UnsupportedType, message).with("table", &ctx.name).with("column", name));
        }
    }
    Ok(())
}

/// Writes the rows of a task's files, without deleted ones, into new files in this order. Rows that have ids keep them. An
/// error leaves no new file behind.
///
/// # Errors
/// `CommitConflict` when files know columns or values that this schema does not have. Those of reading and writing.
pub(super) fn rewrite_sorted(
    ctx: &TableContext,
    task: &CompactionTask,
    order: &SortOrder,
    deletions: &DeletionMap,
    resources: &TaskResources,
) -> Result<Vec<DataFileMeta>> {
    check_order(ctx, order)?;
    check_rewritable(ctx, task.files.iter())?;
    let ctx = &ctx.with_row_ids();
    let mut files = task.files.clone();
    files.sort_by_key(|f| f.min_sequence_number);
    let Some(first) = files.first() else {
        return Ok(Vec::new());
    };
    let mut keyed = Keyed::new(ctx, order)?;
    let mut buffer =
        WriteBuffer::new(Arc::new(keyed.layout.clone()), Arc::new(KeepAll), buffer_options(ctx, resources))?;
    read_rows(ctx, &task.bucket, &files, deletions, &mut |batch| {
        if buffer.write(keyed.batch(&batch)?)? {
            return Err(Error::new(ErrorKind::Internal, "rows to be sorted were neither held nor spilled"));
        }
        Ok(())
    })?;
    let spec = FileWriteSpec::append(first.min_sequence_number, FileSource::Compact).within(resources.memory);
    let mut writer = RollingWriter::new(ctx, &task.bucket.partition, task.bucket.bucket, spec)?;
    let written =
        buffer.drain().and_then(|mut sorted| sorted.try_for_each(|batch| writer.write(&keyed.rows(&batch?)?)));
    match written {
        Ok(()) => writer.finish(),
        Err(error) => {
            writer.abort();
            Err(error)
        }
    }
}

fn buffer_options(ctx: &TableContext, resources: &TaskResources) -> WriteBufferOptions {
    let budget = usize::try_from(ctx.options.write_buffer_size).unwrap_or(usize::MAX);
    WriteBufferOptions {
        budget: resources.memory.unwrap_or(budget),
        spill: Some(SpillOptions {
            dir: resources.spill_dir.clone().unwrap_or_else(std::env::temp_dir),
            compress: ctx.options.spill_compression != "none",
            max_fan_in: ctx.options.local_sort_max_file_handles,
        }),
        // there is nothing else to do with the rows
        max_disk_size: u64::MAX,
        strict: true,
        batch_rows: FileReadSpec::DEFAULT_BATCH_ROWS,
        ahead: resources.threads != Some(1),
    }
}

/// Rows with what orders them.
struct Keyed {
    /// the columns of the table, and of a curve its key behind them
    layout: KvLayout,
    /// the table's columns
    schema: arrow_schema::SchemaRef,
    strategy: SortStrategy,
    by: Vec<usize>,
    contribution: usize,
    seen: i64,
}

impl Keyed {
    fn new(ctx: &TableContext, order: &SortOrder) -> Result<Self> {
        let mut fields = ctx.schema.fields.clone();
        let schema = arrow_schema(&fields)?;
        let at = |name: &String| fields.iter().position(|field| field.name == *name);
        let by: Vec<usize> = order.columns.iter().filter_map(at).collect();
        let key = if order.strategy == SortStrategy::Order {
            by.clone()
        } else {
            fields.push(DataField::new(
                i32::MAX,
                "_CURVE",
                DataType::not_null(TypeKind::VarBinary(crate::types::MAX_LENGTH)),
            ));
            vec![fields.len().saturating_sub(1)]
        };
        Ok(Self {
            layout: KvLayout { fields, key, sequence: Vec::new(), sequence_descending: false },
            schema,
            strategy: order.strategy,
            by,
            contribution: ctx.options.zorder_var_length_contribution,
            seen: 0,
        })
    }

    /// Rows as the buffer takes them: numbered, so that equal ones stay in their order.
    fn batch(&mut self, rows: &RecordBatch) -> Result<RecordBatch> {
        let mut columns = rows.columns().to_vec();
        if self.strategy != SortStrategy::Order {
            let by: Vec<ArrayRef> = self.by.iter().filter_map(|at| columns.get(*at).cloned()).collect();
            columns.push(Arc::new(curve::keys(&by, self.strategy, self.contribution)?));
        }
        let end = self.seen.saturating_add(i64::try_from(rows.num_rows()).unwrap_or(i64::MAX));
        columns.push(Arc::new(Int64Array::from_iter_values(self.seen..end)));
        columns.push(Arc::new(Int8Array::from_value(0, rows.num_rows())));
        self.seen = end;
        Ok(RecordBatch::try_new(self.layout.arrow_schema()?, columns)?)
    }

    /// The table's columns of sorted rows.
    fn rows(&self, sorted: &RecordBatch) -> Result<RecordBatch> {
        let columns = sorted.columns().iter().take(self.schema.fields().len()).cloned().collect();
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}
