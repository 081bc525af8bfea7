//! UPDATE of tables with data evolution: the columns with new values come into files of their own, beside those that have the
//! rows; nothing else is written again.
//!
//! Source: `MergeIntoPaimonDataEvolutionTable`, `DataEvolutionPaimonWriter`.

use std::collections::BTreeMap;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};

use super::{
    Assignment, Modification, Modified,
    append::{discard, updated},
    invalid,
};
use crate::{
    error::{Error, ErrorKind, Result},
    io::{
        FileReadSpec, FileWriteSpec, RollingWriter, RowGroup, TableContext, check_rewritable, filtered_rows,
        interleaved, read_row_group, row_groups,
    },
    manifest::{
        BucketId, CompactIncrement, DataFileFields, DataFileMeta, DataIncrement, FileSource, GlobalIndexMeta,
        ManifestStore,
    },
    predicate::{Predicate, evaluate},
    scan::{ScanRequest, plan},
    snapshot::{RemovedSnapshot, Snapshot},
    types::{DataField, TypeKind},
    wire::CommitMessage,
    write::convert_column,
};

/// Finds the rows, and prepares messages that give their columns new values. Nothing is committed. An error leaves no new
/// file behind.
pub fn modify_columns(ctx: &TableContext, change: &Modification) -> Result<Modified> {
    check_columns(ctx, &change.set)?;
    let filter = Some(change.filter.clone().into());
    let request = ScanRequest { filter, statistics: true, ..ScanRequest::default() };
    let plan = plan(ctx, &request)?;
    let Some(snapshot) = &plan.snapshot else { return Ok(Modified::default()) };
    check_rewritable(ctx, plan.splits.iter().flat_map(|split| &split.files))?;
    check_indexes(ctx, snapshot, &change.set)?;
    let statement = Statement { ctx, set: &change.set, filter: plan.read.filter.as_ref() };
    let mut messages: BTreeMap<BucketId, CommitMessage> = BTreeMap::new();
    let mut rows = 0_u64;
    for split in &plan.splits {
        let message = messages.entry(split.bucket.clone()).or_insert_with(|| CommitMessage {
            bucket: split.bucket.clone(),
            total_buckets: split.total_buckets,
            data: DataIncrement::default(),
            compact: CompactIncrement::default(),
            seen: None,
            after: None,
            assigned: None,
        });
        let done = statement.groups(split.files.clone(), &split.bucket, &mut message.data.new_files, &mut rows);
        if let Err(error) = done {
            discard(ctx, &messages.into_values().collect::<Vec<_>>());
            return Err(error);
        }
    }
    let messages = messages.into_values().filter(|message| !message.is_empty()).collect();
    Ok(Modified { messages, rows, read: Some(Some(RemovedSnapshot::from(snapshot))), looked_for: None })
}

/// Rows stay where they are.
fn check_columns(ctx: &TableContext, set: &[Assignment]) -> Result<()> {
    if set.is_empty() {
        let text = "deleting rows of a table with data evolution";
        return Err(Error::unsupported(text).with("table", &ctx.name).with("option", "data-evolution.enabled").hint(
            "delete whole partitions, or overwrite the table with the rows that stay; Java Paimon deletes none either",
        ));
    }
    let is_blob = |name: &str| ctx.schema.field(name).is_some_and(|field| field.data_type.kind == TypeKind::Blob);
    if let Some(blob) = set.iter().find(|a| is_blob(a.column())) {
        return Err(Error::unsupported("an update of a BLOB column")
            .with("table", &ctx.name)
            .with("column", blob.column())
            .hint("overwrite the rows"));
    }
    let moved = set.iter().find(|a| ctx.schema.partition_keys.iter().any(|key| key == a.column()));
    moved.map_or(Ok(()), |partition| {
        Err(invalid("rows of a table with data evolution do not move to other partitions")
            .with("table", &ctx.name)
            .with("column", partition.column())
            .hint("write them into a new table"))
    })
}

/// Global indexes, which Java builds, are not kept up here: Java would ask them for new values, and miss the rows.
fn check_indexes(ctx: &TableContext, snapshot: &Snapshot, set: &[Assignment]) -> Result<()> {
    let Some(name) = &snapshot.index_manifest else { return Ok(()) };
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?;
    let entries = store.read_index(name).map_err(|e| e.in_table(&ctx.name))?;
    let indexed: Vec<i32> =
        entries.iter().filter_map(|entry| entry.global_index.as_ref()).flat_map(fields_of).collect();
    let is_indexed = |name: &str| ctx.schema.field(name).is_some_and(|field| indexed.contains(&field.id));
    set.iter().find(|assigned| is_indexed(assigned.column())).map_or(Ok(()), |assigned| {
        Err(Error::unsupported("an update of a column with a global index")
            .with("table", &ctx.name)
            .with("column", assigned.column())
            .hint("drop its global index with Java Paimon, update, and build it again"))
    })
}

/// The ids of the columns that an index is of.
fn fields_of(index: &GlobalIndexMeta) -> Vec<i32> {
    [index.index_field_id].into_iter().chain(index.extra_field_ids.iter().flatten().copied()).collect()
}

struct Statement<'a> {
    ctx: &'a TableContext,
    set: &'a [Assignment],
    filter: Option<&'a Predicate>,
}

impl Statement<'_> {
    /// Adds the files with new values, and how many rows get some.
    fn groups(
        &self,
        files: Vec<DataFileMeta>,
        bucket: &BucketId,
        written: &mut Vec<DataFileMeta>,
        rows: &mut u64,
    ) -> Result<()> {
        for group in row_groups(self.ctx, files)? {
            let found = self.count(&group, bucket)?;
            if found > 0 {
                written.push(self.rewrite(&group, bucket, *rows)?);
                *rows = rows.saturating_add(found);
            }
        }
        Ok(())
    }

    fn count(&self, group: &RowGroup, bucket: &BucketId) -> Result<u64> {
        let Some(filter) = self.filter else { return Ok(u64::try_from(group.rows()).unwrap_or(0)) };
        let spec = FileReadSpec { filter: Some(filter.clone()), exact_filter: true, ..FileReadSpec::new(Vec::new()) };
        let mut rows = read_row_group(self.ctx, &bucket.partition, bucket.bucket, group, &spec)?;
        rows.try_fold(0_u64, |sum, batch| Ok(sum.saturating_add(u64::try_from(batch?.num_rows()).unwrap_or(0))))
    }

    /// One file with the columns of all rows of the group.
    fn rewrite(&self, group: &RowGroup, bucket: &BucketId, before: u64) -> Result<DataFileMeta> {
        let (ctx, schema) = (self.ctx, &self.ctx.schema);
        let changed: Vec<DataField> =
            schema.fields.iter().filter(|field| self.set.iter().any(|a| a.column() == field.name)).cloned().collect();
        let target = ctx.with_columns(changed.clone()).with_one_file();
        let spec = FileWriteSpec { some_columns: true, ..FileWriteSpec::append(0, FileSource::Append) };
        let mut writer = RollingWriter::new(&target, &bucket.partition, bucket.bucket, spec)?;
        let mut before = usize::try_from(before).unwrap_or(usize::MAX);
        let mut names: Vec<&str> = self.set.iter().flat_map(|a| a.needs().into_iter().chain([a.column()])).collect();
        names.extend(self.filter.iter().flat_map(|filter| filter.columns()));
        let needed = schema.fields.iter().filter(|field| names.contains(&field.name.as_str()));
        let spec = FileReadSpec::new(needed.cloned().collect());
        let copied = read_row_group(ctx, &bucket.partition, bucket.bucket, group, &spec).and_then(|mut rows| {
            rows.try_for_each(|batch| writer.write(&self.new_values(&batch?, &changed, &mut before)?))
        });
        if let Err(error) = copied {
            writer.abort();
            return Err(error);
        }
        let mut files = writer.finish()?;
        match (files.pop(), files.is_empty()) {
            (Some(file), true) => {
                Ok(DataFileFields { first_row_id: Some(group.ids.start), ..DataFileFields::clone(&file) }.into())
            }
            _ => Err(Error::new(ErrorKind::Internal, "new values of rows came into no file, or into several")),
        }
    }

    /// The changed columns of all rows: new where the condition holds. `before`: how many rows have had new values.
    fn new_values(&self, rows: &RecordBatch, changed: &[DataField], before: &mut usize) -> Result<RecordBatch> {
        let mask = match self.filter {
            Some(filter) => evaluate(filter, rows)?,
            None => BooleanArray::from(vec![true; rows.num_rows()]),
        };
        let matched = filtered_rows(rows, &mask)?;
        let new = updated(&matched, matched.num_columns(), self.set, *before)?;
        let mut next = 0;
        let places: Vec<(usize, usize)> = (0..rows.num_rows())
            .map(|row| {
                let is_new = mask.is_valid(row) && mask.value(row);
                next += usize::from(is_new);
                if is_new { (1, next - 1) } else { (0, row) }
            })
            .collect();
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(changed.len());
        let mut fields = Vec::with_capacity(changed.len());
        for field in changed {
            let read = || Error::new(ErrorKind::Internal, "an updated column was not read");
            let old = rows.column_by_name(&field.name).ok_or_else(read)?;
            let new = convert_column(new.column_by_name(&field.name).ok_or_else(read)?, field, *before)?;
            columns.push(interleaved(&[std::sync::Arc::clone(old), new], &places)?);
            fields.push(Field::new(&field.name, old.data_type().clone(), field.data_type.nullable));
        }
        *before = before.saturating_add(matched.num_rows());
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        Ok(RecordBatch::try_new_with_options(Schema::new(fields).into(), columns, &options)?)
    }
}
