//! MERGE into append tables: rows are marked as deleted, or their files written again; new versions and new rows come into
//! files beside.

use std::collections::HashMap;

use arrow_array::{RecordBatch, UInt32Array};

use super::{
    Merge, Merged, Source, count,
    keyed::{looked_for, new_rows},
    pass::{Decisions, Pass, positions_of},
};
use crate::{
    deletion_vectors::{BitmapKind, DeletionVector},
    dml::{
        Modified,
        append::{Candidate, Statement, updated_by, without_versions, writer_of_versions},
    },
    error::Result,
    io::{TableContext, check_rewritable, taken_rows},
    options::CoreOptions,
    scan::{ScanPlan, ScanRequest, bucket_vectors, plan},
    snapshot::RemovedSnapshot,
    types::DataField,
    write::{TableWrite, WriteOptions},
};

/// Finds the rows, and prepares messages that do what the clauses say. Nothing is committed. An error leaves no new file
/// behind.
///
/// # Errors
/// `InvalidArgument` where several rows of the source would change one row of the table.
pub fn merge_files(ctx: &TableContext, merge: &Merge, source: &Source) -> Result<(Modified, Merged)> {
    let rows = looked_for(merge, source);
    let request = ScanRequest { filter: Some(rows.clone().into()), statistics: true, ..ScanRequest::default() };
    let plan = plan(ctx, &request)?;
    check_rewritable(ctx, plan.splits.iter().flat_map(|split| &split.files))?;
    let mut work = Work {
        ctx,
        merge,
        versions: writer_of_versions(ctx, merge.threads)?,
        inserts: writer_of_inserts(ctx, merge.threads)?,
        found: HashMap::new(),
        merged: Merged::default(),
    };
    let mut statement = Statement::new(ctx);
    let done = work.passes(source, &plan, &statement).and_then(|()| {
        let Some(snapshot) = &plan.snapshot else { return Ok(()) };
        let found = &mut work.found;
        statement.run(&plan, &bucket_vectors(ctx, snapshot)?, &mut |file, _| {
            Ok(found.remove(&file.file.file_name).unwrap_or_else(|| none(ctx)))
        })
    });
    let Work { versions, inserts, merged, .. } = work;
    let messages = statement.finish(done, [versions, inserts])?;
    // what others add meanwhile may belong to rows that are inserted
    let inserts = merged.inserted > 0;
    let read = inserts.then(|| plan.snapshot.as_ref().map(RemovedSnapshot::from));
    Ok((Modified { messages, rows: merged.rows(), read, looked_for: inserts.then_some(rows) }, merged))
}

fn none(ctx: &TableContext) -> DeletionVector {
    DeletionVector::new(BitmapKind::of(&ctx.options))
}

/// New rows get ids, and defaults, as in any write.
fn writer_of_inserts(ctx: &TableContext, threads: usize) -> Result<TableWrite> {
    let quiet = CoreOptions { write_only: true, ..(*ctx.options).clone() };
    let ctx = TableContext { options: quiet.into(), ..ctx.clone() };
    TableWrite::new(&ctx, WriteOptions { threads: Some(threads), ..WriteOptions::default() })
}

struct Work<'a> {
    ctx: &'a TableContext,
    merge: &'a Merge,
    versions: TableWrite,
    inserts: TableWrite,
    /// By file: rows that are not to stay.
    found: HashMap<String, DeletionVector>,
    merged: Merged,
}

impl Work<'_> {
    fn passes(&mut self, source: &Source, plan: &ScanPlan, statement: &Statement<'_>) -> Result<()> {
        for classes in source.passes() {
            let mut pass = Pass::new(self.merge, source, classes)?;
            statement.each_file(plan, &mut |file| self.file(file, plan, &mut pass))?;
            let (inserts, merged) = (&mut self.inserts, &mut self.merged);
            pass.insert(&mut |clause, values| {
                let before = usize::try_from(merged.inserted).unwrap_or(usize::MAX);
                let rows = new_rows(values, &clause.set, before)?;
                merged.inserted += count(rows.num_rows());
                inserts.write_from(&rows, None, before).map(drop)
            })?;
        }
        Ok(())
    }

    fn file(&mut self, file: &Candidate<'_>, plan: &ScanPlan, pass: &mut Pass<'_>) -> Result<()> {
        for batch in file.read(self.fields(file), plan.read.filter.as_ref())? {
            let batch = batch?;
            pass.decide(&batch, &mut |decided| self.decided(file, &batch, decided))?;
        }
        Ok(())
    }

    fn decided(&mut self, file: &Candidate<'_>, batch: &RecordBatch, decided: Decisions) -> Result<()> {
        let mut gone = decided.deleted;
        self.merged.deleted += count(gone.len());
        for (clause, rows, values) in decided.updated {
            let Some(clause) = self.merge.clauses.get(clause) else { continue };
            let last = batch.num_columns().saturating_sub(1);
            let old = taken_rows(batch, &UInt32Array::from(rows.clone()))?;
            let old = old.project(&(0..last).collect::<Vec<_>>())?;
            let before = usize::try_from(self.merged.updated).unwrap_or(usize::MAX);
            let new = without_versions(updated_by(&old, &values, &clause.set, before)?)?;
            self.merged.updated += count(new.num_rows());
            self.versions.write_from(&new, None, before)?;
            gone.extend(rows);
        }
        if !gone.is_empty() {
            let found = self.found.entry(file.file.file_name.clone()).or_insert_with(|| none(self.ctx));
            found.delete_all(&positions_of(batch, &gone)?)?;
        }
        Ok(())
    }

    /// The columns that are read, with the ids of rows, where they have some.
    fn fields(&self, file: &Candidate<'_>) -> Vec<DataField> {
        let fields = &file.ctx.schema.fields;
        let Some(columns) = self.merge.columns(self.ctx) else { return fields.clone() };
        let is_own = |f: &&DataField| self.ctx.schema.fields.iter().any(|own| own.name == f.name);
        fields.iter().filter(|f| !is_own(f) || columns.contains(&f.name)).cloned().collect()
    }
}
