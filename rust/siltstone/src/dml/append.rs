//! Rows of append tables: deletion vectors where the table has them, else rewritten files.

use std::collections::BTreeMap;

use arrow_array::{Array, Int64Array, RecordBatch, cast::AsArray, new_null_array, types::Int64Type};

use super::{Assignment, Modification, Modified};
use crate::{
    append::AppendVectors,
    deletion_vectors::{BitmapKind, DeletedRows, DeletionVector},
    error::{Error, ErrorKind, Result},
    io::{
        BatchStream, FileReadSpec, FileWriteSpec, RollingWriter, TableContext, check_rewritable, delete_written,
        filtered_rows, read_data_file,
    },
    manifest::{BucketId, CompactIncrement, DataFileMeta, DataIncrement, FileSource, IndexManifestEntry},
    options::CoreOptions,
    predicate::Predicate,
    read::vector_of,
    scan::{ScanPlan, ScanRequest, bucket_vectors, plan},
    types::{DataField, special},
    wire::{CommitMessage, Split},
    write::{TableWrite, WriteOptions},
};

/// Finds the rows, and prepares messages that delete or update them. Nothing is committed. An error leaves no new file
/// behind.
pub fn modify_files(ctx: &TableContext, change: &Modification) -> Result<Modified> {
    let filter = Some(change.filter.clone().into());
    let request = ScanRequest { filter, statistics: true, ..ScanRequest::default() };
    let plan = plan(ctx, &request)?;
    let Some(snapshot) = plan.snapshot.clone() else {
        return Ok(Modified::default());
    };
    check_rewritable(ctx, plan.splits.iter().flat_map(|split| &split.files))?;
    // new versions of rows are written beside; compaction has its own time
    let mut writer = writer_of_versions(ctx, change.threads)?;
    let filter = plan.read.filter.as_ref();
    let mut statement = Statement::new(ctx);
    let done = statement.run(&plan, &bucket_vectors(ctx, &snapshot)?, &mut |file, before| {
        file.matches(filter, &change.set, &mut writer, before)
    });
    let rows = statement.rows;
    let messages = statement.finish(done, [writer])?;
    Ok(Modified { messages, rows, ..Modified::default() })
}

/// A writer of new versions of rows, which keep their ids; they are written beside the others: compaction has its own time.
pub(super) fn writer_of_versions(ctx: &TableContext, threads: usize) -> Result<TableWrite> {
    let quiet = CoreOptions { write_only: true, ..(*ctx.options).clone() };
    let ctx = TableContext { options: quiet.into(), ..ctx.with_row_ids() };
    TableWrite::new(&ctx, WriteOptions { threads: Some(threads), stored: true, ..WriteOptions::default() })
}

/// Which rows of a file are not to stay; `before`: how many such rows other files had.
pub(super) type Find<'a> = &'a mut dyn FnMut(&Candidate<'_>, u64) -> Result<DeletionVector>;

/// What becomes of the files whose rows change.
pub(super) struct Statement<'a> {
    ctx: &'a TableContext,
    /// With the ids of rows, where they have some: they keep them.
    rows_ctx: TableContext,
    buckets: BTreeMap<BucketId, CommitMessage>,
    /// How many rows were found.
    pub(super) rows: u64,
}

impl<'a> Statement<'a> {
    pub(super) fn new(ctx: &'a TableContext) -> Self {
        Self { ctx, rows_ctx: ctx.with_row_ids(), buckets: BTreeMap::new(), rows: 0 }
    }

    /// Each file of a plan, with the rows of it that are deleted already.
    pub(super) fn each_file(&self, plan: &ScanPlan, each: &mut dyn FnMut(&Candidate<'_>) -> Result<()>) -> Result<()> {
        for split in &plan.splits {
            for (i, file) in split.files.iter().enumerate() {
                let old = vector_of(self.ctx, split, i)?;
                each(&Candidate { ctx: &self.rows_ctx, bucket: &split.bucket, file, old })?;
            }
        }
        Ok(())
    }

    /// The messages, with those of writers; an error leaves no new file behind.
    pub(super) fn finish(
        self,
        done: Result<()>,
        writers: impl IntoIterator<Item = TableWrite>,
    ) -> Result<Vec<CommitMessage>> {
        let mut messages: Vec<CommitMessage> = self.buckets.into_values().collect();
        let mut done = done;
        for mut writer in writers {
            match done.and_then(|()| writer.prepare_commit()) {
                Ok(more) => {
                    messages.extend(more);
                    done = Ok(());
                }
                Err(error) => done = Err(error),
            }
        }
        if let Err(error) = done {
            discard(self.ctx, &messages);
            return Err(error);
        }
        messages.retain(|message| !message.is_empty());
        Ok(messages)
    }

    pub(super) fn run(
        &mut self,
        plan: &ScanPlan,
        index: &BTreeMap<BucketId, Vec<IndexManifestEntry>>,
        find: Find<'_>,
    ) -> Result<()> {
        let mut splits: BTreeMap<&BucketId, Vec<&Split>> = BTreeMap::new();
        for split in &plan.splits {
            splits.entry(&split.bucket).or_default().push(split);
        }
        for (bucket, splits) in splits {
            let entries = index.get(bucket).map_or(&[][..], Vec::as_slice);
            self.bucket(bucket, &splits, entries, find)?;
        }
        Ok(())
    }

    fn bucket(
        &mut self,
        bucket: &BucketId,
        splits: &[&Split],
        entries: &[IndexManifestEntry],
        find: Find<'_>,
    ) -> Result<()> {
        let mut vectors = AppendVectors::new(self.ctx, bucket, entries)?;
        for split in splits {
            let message = self.buckets.entry(bucket.clone()).or_insert_with(|| CommitMessage {
                bucket: bucket.clone(),
                total_buckets: split.total_buckets,
                data: DataIncrement::default(),
                compact: CompactIncrement::default(),
                seen: None,
                after: None,
                assigned: None,
            });
            for (i, file) in split.files.iter().enumerate() {
                let old = vector_of(self.ctx, split, i)?;
                let file = Candidate { ctx: &self.rows_ctx, bucket, file, old };
                let found = find(&file, self.rows)?;
                let matched = found.cardinality();
                if matched == 0 {
                    continue;
                }
                self.rows = self.rows.saturating_add(matched);
                let gone = matched.saturating_add(file.old.as_ref().map_or(0, |old| old.cardinality()));
                let all = i64::try_from(gone).is_ok_and(|gone| gone >= file.file.row_count);
                if !all && self.ctx.options.deletion_vectors_enabled {
                    vectors.add(&file.file.file_name, &found)?;
                    continue;
                }
                // a file without rows goes as a whole
                if !all {
                    message.data.new_files.extend(file.without(found)?);
                }
                vectors.remove(&file.file.file_name);
                message.data.deleted_files.push(file.file.clone());
            }
        }
        if let Some(message) = self.buckets.get_mut(bucket) {
            message.data.index_files = vectors.persist()?;
        }
        Ok(())
    }
}

/// A file that may have rows that satisfy the condition.
pub(super) struct Candidate<'a> {
    pub(super) ctx: &'a TableContext,
    bucket: &'a BucketId,
    pub(super) file: &'a DataFileMeta,
    old: Option<std::sync::Arc<DeletedRows>>,
}

impl Candidate<'_> {
    /// Its rows, with their positions in the last column; no rows that a vector has deleted.
    pub(super) fn read(&self, fields: Vec<DataField>, filter: Option<&Predicate>) -> Result<BatchStream> {
        let spec = FileReadSpec {
            position: true,
            filter: filter.cloned(),
            deletions: self.old.clone(),
            ..FileReadSpec::new(fields)
        };
        read_data_file(self.ctx, &self.bucket.partition, self.bucket.bucket, self.file, &spec)
    }

    /// Which rows satisfy the condition; their new versions are written. `before`: how many rows satisfied it in other files.
    fn matches(
        &self,
        filter: Option<&Predicate>,
        set: &[Assignment],
        writer: &mut TableWrite,
        before: u64,
    ) -> Result<DeletionVector> {
        let fields = if set.is_empty() { Vec::new() } else { self.ctx.schema.fields.clone() };
        let spec = FileReadSpec {
            position: true,
            filter: filter.cloned(),
            exact_filter: filter.is_some(),
            deletions: self.old.clone(),
            ..FileReadSpec::new(fields)
        };
        let mut found = DeletionVector::new(BitmapKind::of(&self.ctx.options));
        for batch in read_data_file(self.ctx, &self.bucket.partition, self.bucket.bucket, self.file, &spec)? {
            let batch = batch?;
            if !set.is_empty() {
                let before = usize::try_from(before.saturating_add(found.cardinality())).unwrap_or(usize::MAX);
                let rows = updated(&batch, batch.num_columns().saturating_sub(1), set, before)?;
                let rows = without_versions(rows)?;
                writer.write_from(&rows, None, before)?;
            }
            found.delete_all(&positions(&batch)?)?;
        }
        Ok(found)
    }

    /// The other rows, in new files.
    fn without(&self, mut found: DeletionVector) -> Result<Vec<DataFileMeta>> {
        let matched = DeletedRows::try_from(&mut found)?;
        let spec = FileReadSpec {
            position: true,
            deletions: self.old.clone(),
            ..FileReadSpec::new(self.ctx.schema.fields.clone())
        };
        let target = FileWriteSpec::append(self.file.min_sequence_number, FileSource::Append);
        let mut writer = RollingWriter::new(self.ctx, &self.bucket.partition, self.bucket.bucket, target)?;
        let copied = read_data_file(self.ctx, &self.bucket.partition, self.bucket.bucket, self.file, &spec)
            .and_then(|mut batches| batches.try_for_each(|batch| copy(&batch?, &matched, &mut writer)));
        match copied {
            Ok(()) => writer.finish(),
            Err(error) => {
                writer.abort();
                Err(error)
            }
        }
    }
}

/// Rows that are others now have the version of the commit that brings them.
pub(super) fn without_versions(rows: RecordBatch) -> Result<RecordBatch> {
    let Ok(at) = rows.schema_ref().index_of(special::SEQUENCE_NUMBER) else { return Ok(rows) };
    let mut columns = rows.columns().to_vec();
    if let Some(versions) = columns.get_mut(at) {
        *versions = new_null_array(versions.data_type(), rows.num_rows());
    }
    Ok(RecordBatch::try_new(rows.schema(), columns)?)
}

fn copy(batch: &RecordBatch, matched: &DeletedRows, writer: &mut RollingWriter) -> Result<()> {
    let last = batch.num_columns().saturating_sub(1);
    let kept = matched.keep_at(position_column(batch)?);
    let rows = batch.project(&(0..last).collect::<Vec<_>>())?;
    match kept {
        None => writer.write(&rows),
        Some(kept) => {
            let rows = filtered_rows(&rows, &arrow_array::BooleanArray::new(kept, None))?;
            if rows.num_rows() == 0 { Ok(()) } else { writer.write(&rows) }
        }
    }
}

fn position_column(batch: &RecordBatch) -> Result<&Int64Array> {
    let column = batch.columns().last().and_then(|c| c.as_primitive_opt::<Int64Type>());
    column.ok_or_else(|| Error::new(ErrorKind::Internal, "a batch without row positions"))
}

pub(super) fn positions(batch: &RecordBatch) -> Result<Vec<u64>> {
    let column = position_column(batch)?;
    Ok(column.values().iter().filter_map(|p| u64::try_from(*p).ok()).collect())
}

/// The first `columns` columns with new values in some of them, which are checked as a write checks them; the others stay
/// what they are. In errors rows are counted from `before` on.
pub(super) fn updated(batch: &RecordBatch, columns: usize, set: &[Assignment], before: usize) -> Result<RecordBatch> {
    let rows = batch.project(&(0..columns).collect::<Vec<_>>())?;
    updated_by(&rows, &rows, set, before)
}

/// The rows with new values that are computed from others, `source`, one for each of them.
pub(super) fn updated_by(
    rows: &RecordBatch,
    source: &RecordBatch,
    set: &[Assignment],
    before: usize,
) -> Result<RecordBatch> {
    let mut values = rows.columns().to_vec();
    let mut fields: Vec<_> = rows.schema().fields().iter().cloned().collect();
    for assignment in set {
        let value = assignment.value(source, before)?;
        let at = fields.iter().position(|f| f.name() == assignment.column());
        if at.is_none() {
            // a column that was not read, because its old values do not count
            fields.push(std::sync::Arc::new(arrow_schema::Field::new(
                assignment.column(),
                value.data_type().clone(),
                true,
            )));
            values.push(value);
            continue;
        }
        let slots = at.and_then(|at| Some((values.get_mut(at)?, fields.get_mut(at)?)));
        let (slot, field) = slots.ok_or_else(|| Error::new(ErrorKind::Internal, "an updated column was not read"))?;
        *field = std::sync::Arc::new(arrow_schema::Field::new(field.name(), value.data_type().clone(), true));
        *slot = value;
    }
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    let schema = std::sync::Arc::new(arrow_schema::Schema::new(fields));
    Ok(RecordBatch::try_new_with_options(schema, values, &options)?)
}

/// Deletes the files of messages that will not be committed.
pub(super) fn discard(ctx: &TableContext, messages: &[CommitMessage]) {
    for message in messages {
        delete_written(ctx, &message.bucket, &message.data);
    }
}
