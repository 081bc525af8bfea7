//! MERGE as one commit, repeated when others change the same files meanwhile.

use std::cell::Cell;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::{CommitReport, Table, TableWriter, modify::counted, write::give_up_on_conflict};
use crate::{
    Error, ErrorKind, Result,
    commit::{Committable, Retry},
    dml::{Merge, MergeArgs, Merged, Source, looked_for, merge_files, merge_rows, rows_to_merge},
    scan::{ScanPlan, overtaken::again_when_overtaken},
};

/// What a merge did.
#[derive(Debug)]
pub struct MergeReport {
    /// Of its commit; `affected_rows` are all rows that it changed.
    pub commit: CommitReport,
    /// How many rows of which kind.
    pub merged: Merged,
}

impl Table {
    /// The arguments of [`Table::merge`] from their JSON.
    pub fn merge_args(json: &str) -> Result<MergeArgs> {
        let wrong = |e| Error::new(ErrorKind::InvalidArgument, "the clauses of the merge cannot be read").caused_by(e);
        serde_json::from_str(json).map_err(wrong)
    }

    /// Merges the rows of a source into the table, as one commit. `InvalidArgument` where several of them would change one
    /// row of the table; `CommitConflict` when others change the same rows again and again.
    pub fn merge(
        &self,
        args: &MergeArgs,
        schema: &SchemaRef,
        source: impl Iterator<Item = Result<RecordBatch>>,
    ) -> Result<MergeReport> {
        let merged = self.merge_source(args, schema, source);
        merged.map_err(|error| self.of_table(error).in_table(&self.context().name))
    }

    fn merge_source(
        &self,
        args: &MergeArgs,
        schema: &SchemaRef,
        source: impl Iterator<Item = Result<RecordBatch>>,
    ) -> Result<MergeReport> {
        self.check_writable()?;
        self.check_latest("changed")?;
        let ctx = self.context();
        let merge = Merge::new(ctx, args, schema)?;
        let source = merge.read(ctx, source)?;
        if ctx.schema.primary_keys.is_empty() {
            return self.merge_append(&merge, &source);
        }
        let merged = Cell::new(Merged::default());
        let newest = || rows_to_merge(ctx, &merge, &source);
        let write = |found: &ScanPlan, writer: &mut TableWriter| {
            let done = merge_rows(ctx, &merge, &source, found, &mut counted(writer))?;
            merged.set(done);
            Ok(done.rows())
        };
        let relied_on = || (merged.get().inserted > 0).then(|| looked_for(&merge, &source));
        let commit = self.write_found(&newest, &write, &relied_on)?;
        Ok(MergeReport { commit, merged: merged.get() })
    }

    fn merge_append(&self, merge: &Merge, source: &Source) -> Result<MergeReport> {
        let ctx = self.context();
        let commit = self.committer(None);
        let mut retry = Retry::of_statement(&ctx.options);
        loop {
            let (modified, merged) = again_when_overtaken(ctx, || merge_files(ctx, merge, source))?;
            self.check_still_there(modified.rows)?;
            let (messages, read) = (modified.messages.clone(), modified.read.clone());
            let looked_for = modified.looked_for.clone();
            let committable = Committable { messages, read, looked_for, ..Committable::default() };
            match give_up_on_conflict(&commit, &modified.messages, commit.commit(committable)) {
                Err(error) if error.kind() == ErrorKind::CommitConflict => {
                    tracing::info!(table = ctx.name, %error, "others have changed the same rows");
                    retry.after(error)?;
                }
                outcome => {
                    let mut report = CommitReport::new(ctx, &modified.messages, outcome?);
                    report.affected_rows = modified.rows;
                    return Ok(MergeReport { commit: report, merged });
                }
            }
        }
    }
}
