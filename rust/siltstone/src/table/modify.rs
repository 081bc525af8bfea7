//! DELETE and UPDATE as one commit each, repeated when others change the same files meanwhile.

use std::collections::{BTreeMap, HashSet};

use arrow_array::RecordBatch;

use super::{CommitReport, Table, TableWriter};
use crate::{
    Error, ErrorKind, Result,
    commit::{Committable, Retry, check_place, explain_by_place},
    dml::{
        Assignment, KeysToDelete, Modification, Replacement, check_deletes, modify_columns, modify_files, newest_rows,
        rows_to_change, write_keys, write_matching,
    },
    io::check_merges_alike,
    limits::sum,
    options::{ChangelogProducer, ScanMode},
    predicate::{Condition, Predicate},
    read::count,
    scan::{EntryFilter, ScanPlan, live_entries, overtaken::again_when_overtaken},
    snapshot::RemovedSnapshot,
    write::{Formats, RowKinds, WriteOptions},
};

/// Finds rows in the newest version.
pub(super) type Find<'a> = &'a dyn Fn() -> Result<ScanPlan>;
/// Writes what is to come of them, and returns how many there were.
pub(super) type WriteFound<'a> = &'a dyn Fn(&ScanPlan, &mut TableWriter) -> Result<u64>;

/// A condition and the new values of the rows that satisfy it.
#[derive(Clone, Debug, Default)]
pub struct ModifyArgs {
    /// Condition.
    pub filter: Option<Condition>,
    /// SQL expressions by column; empty deletes the rows.
    pub set: BTreeMap<String, String>,
    /// Threads; `None` = all cores.
    pub threads: Option<usize>,
}

impl Table {
    /// Deletes or updates the rows that satisfy a condition, as one commit. `DeleteNotAllowed` where the merge engine
    /// deletes no rows; `CommitConflict` when others change the same files again and again.
    pub fn modify(&self, args: &ModifyArgs) -> Result<CommitReport> {
        self.modify_rows(args).map_err(|error| self.of_table(error).in_table(&self.context().name))
    }

    /// Files of a table that was dropped are missed first.
    pub(super) fn of_table(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::FileNotFound | ErrorKind::CorruptFile => explain_by_place(self.context(), error),
            _ => error,
        }
    }

    fn modify_rows(&self, args: &ModifyArgs) -> Result<CommitReport> {
        self.check_writable()?;
        self.check_latest("changed")?;
        let ctx = self.context();
        let fields = &ctx.schema.fields;
        let condition = Condition::of(args.filter.as_ref(), fields)?;
        let condition = condition.ok_or_else(|| {
            Error::new(ErrorKind::InvalidArgument, "a condition is needed")
                .hint("where='true' means all rows; t.truncate() removes them faster")
        })?;
        let formats = Formats::of(&ctx.options);
        let parse = |(column, text): (&String, &String)| Assignment::parse(fields, column, text);
        let set = args.set.iter().map(parse).map(|set| Ok(set?.stored_in(&formats)));
        let set: Vec<Assignment> = set.collect::<Result<_>>()?;
        let mut columns = HashSet::new();
        if let Some(twice) = set.iter().find(|assignment| !columns.insert(assignment.column())) {
            return Err(Error::new(ErrorKind::InvalidArgument, "a column gets two values")
                .with("table", &ctx.name)
                .with("column", twice.column())
                .hint("give the column once: 'a' and 'A' are the same one"));
        }
        let change = Modification { filter: condition.without_not(), set, threads: threads(args.threads) };
        let has_key = !ctx.schema.primary_keys.is_empty();
        if change.set.is_empty() && self.is_on_partitions(&change.filter) && self.drops_partitions() {
            return self.drop_partitions(&change.filter);
        }
        if !has_key {
            return self.modify_append(&change);
        }
        if change.set.is_empty() {
            check_deletes(ctx)?;
        } else {
            // before anything is read
            Replacement::new(ctx, &change.set)?;
        }
        let newest = || rows_to_change(ctx, &change.filter);
        self.write_found(&newest, &|found, writer| write_matching(ctx, &change, found, &mut counted(writer)), &|| None)
    }

    /// Deletes the rows that have these keys (a primary-key table), as one commit.
    pub fn delete_keys(&self, keys: impl Iterator<Item = Result<RecordBatch>>) -> Result<CommitReport> {
        self.check_writable()?;
        self.check_latest("changed")?;
        let ctx = self.context();
        if ctx.schema.primary_keys.is_empty() {
            return Err(Error::new(ErrorKind::InvalidArgument, "the table has no primary key")
                .with("table", &ctx.name)
                .hint("name the rows by a condition: t.delete(where=...)"));
        }
        check_deletes(ctx)?;
        match KeysToDelete::new(ctx, keys)? {
            KeysToDelete::Keys(keys) => {
                check_merges_alike(ctx, [ctx.schema.id])?;
                self.write_new(|writer| write_keys(ctx, keys, &mut counted(writer)))
            }
            KeysToDelete::Rows(wanted) => {
                let condition = wanted.condition()?;
                let write = |found: &ScanPlan, writer: &mut TableWriter| {
                    wanted.write(found, threads(None), &mut counted(writer))
                };
                let deleted = self.write_found(&|| rows_to_change(ctx, &condition), &write, &|| None);
                deleted.map_err(|error| self.of_table(error))
            }
        }
    }

    fn modify_append(&self, change: &Modification) -> Result<CommitReport> {
        let ctx = self.context();
        let modify = if ctx.options.data_evolution_enabled { modify_columns } else { modify_files };
        let commit = self.committer(None);
        let mut retry = Retry::of_statement(&ctx.options);
        loop {
            let modified = again_when_overtaken(ctx, || modify(ctx, change))?;
            self.check_still_there(modified.rows)?;
            let (messages, read) = (modified.messages.clone(), modified.read.clone());
            let committable = Committable { messages, read, ..Committable::default() };
            let outcome = super::write::give_up_on_conflict(&commit, &modified.messages, commit.commit(committable));
            match outcome {
                Err(error) if error.kind() == ErrorKind::CommitConflict => {
                    tracing::info!(table = ctx.name, %error, "others have changed the same rows");
                    retry.after(error)?;
                }
                outcome => {
                    let mut report = CommitReport::new(ctx, &modified.messages, outcome?);
                    report.affected_rows = modified.rows;
                    return Ok(report);
                }
            }
        }
    }

    /// Commits what `write` writes.
    fn write_new(&self, write: impl FnOnce(&mut TableWriter) -> Result<u64>) -> Result<CommitReport> {
        let mut writer = self.writer(None, WriteOptions::default())?;
        let done = write(&mut writer).and_then(|rows| {
            let report = writer.commit(Committable::default())?;
            Ok(CommitReport { affected_rows: rows, ..report })
        });
        writer.close();
        done
    }

    /// Commits what `write` makes of the rows that `find` has found in the newest version; again on a newer one when others
    /// have written to these rows meanwhile.
    /// `looked_for`: on which rows it relies besides, when it has written.
    pub(super) fn write_found(
        &self,
        find: Find<'_>,
        write: WriteFound<'_>,
        looked_for: &dyn Fn() -> Option<Predicate>,
    ) -> Result<CommitReport> {
        let mut retry = Retry::of_statement(&self.context().options);
        loop {
            match self.write_found_once(find, write, looked_for) {
                Err(error) if error.kind() == ErrorKind::CommitConflict => {
                    tracing::info!(table = self.context().name, %error, "others have changed the same rows");
                    retry.after(error)?;
                }
                done => return done,
            }
        }
    }

    fn write_found_once(
        &self,
        find: Find<'_>,
        write: WriteFound<'_>,
        looked_for: &dyn Fn() -> Option<Predicate>,
    ) -> Result<CommitReport> {
        check_merges_alike(self.context(), [self.context().schema.id])?;
        let (found, mut writer, rows) = again_when_overtaken(self.context(), || {
            let found = find()?;
            // it begins with a version that has all rows that were found: what it writes is newer
            let mut writer = self.writer(None, WriteOptions { stored: true, ..WriteOptions::default() })?;
            match write(&found, &mut writer).and_then(|rows| self.check_still_there(rows).map(|()| rows)) {
                Ok(rows) => Ok((found, writer, rows)),
                Err(error) => {
                    writer.close();
                    Err(error)
                }
            }
        })?;
        let read = found.snapshot.as_ref().map(RemovedSnapshot::from);
        let committable = Committable { read: Some(read), looked_for: looked_for(), ..Committable::default() };
        let committed = writer.commit(committable);
        writer.close();
        let mut report = CommitReport { affected_rows: rows, ..committed? };
        if rows == 0 && self.context().options.skips_level0() {
            // the statement may have been cut short before: what it did waits, and readers see the rows as they were
            report.note_waiting(self.context());
        }
        Ok(report)
    }

    /// Where no rows are found, no commit asks whether the table is the one that was opened: one that was made in its place
    /// meanwhile has not been asked about.
    pub(super) fn check_still_there(&self, rows: u64) -> Result<()> {
        if rows == 0 { check_place(self.context()) } else { Ok(()) }
    }

    /// A condition on partition columns alone.
    fn is_on_partitions(&self, condition: &Predicate) -> bool {
        let ctx = self.context();
        let keys = &ctx.schema.partition_keys;
        let columns = condition.columns();
        !columns.is_empty() && columns.iter().all(|c| keys.iter().any(|key| key == c))
    }

    /// Whether whole partitions go without a word in the changelog: where there is none, and where the merge engine takes
    /// no deletes that it could have; `delete.force-produce-changelog` forbids it.
    fn drops_partitions(&self) -> bool {
        let ctx = self.context();
        !ctx.options.delete_force_produce_changelog && (!self.has_changelog() || check_deletes(ctx).is_err())
    }

    fn has_changelog(&self) -> bool {
        let ctx = self.context();
        !ctx.schema.primary_keys.is_empty() && ctx.options.changelog_producer != ChangelogProducer::None
    }

    /// As Spark does for such a DELETE.
    fn drop_partitions(&self, condition: &Predicate) -> Result<CommitReport> {
        let ctx = self.context();
        let there = EntryFilter { partition_predicate: Some(condition.clone()), ..EntryFilter::without_statistics() };
        let (rows, entries) = again_when_overtaken(ctx, || {
            let found = newest_rows(ctx, condition)?;
            let rows = count(&found, threads(None))?;
            // also where all rows wait in level 0 for a compaction that shows them
            let entries = found.snapshot.as_ref().map(|newest| live_entries(ctx, newest, &there)).transpose()?;
            Ok((rows, entries.unwrap_or_default()))
        })?;
        // the rows themselves: texts of partitions, as directories have them, do not tell all values apart
        let waiting = sum(entries.iter().filter(|entry| entry.bucket < 0).map(|entry| entry.file.row_count));
        let waiting = u64::try_from(waiting).unwrap_or_default();
        let partitions: HashSet<Vec<u8>> = entries.into_iter().map(|entry| entry.partition).collect();
        if partitions.is_empty() {
            check_place(ctx)?;
            return Ok(CommitReport::default());
        }
        let snapshots = self.committer(None).drop_partitions(partitions)?.snapshots;
        let unseen = "the partitions were dropped: the changelog does not have their rows, because the merge engine takes \
                      no deletes";
        let mut notes = if self.has_changelog() { vec![unseen.to_owned()] } else { Vec::new() };
        if waiting > 0 {
            notes.push(format!(
                "{waiting} of the rows waited in bucket-postpone, counted as they came: not merged by key"
            ));
        }
        Ok(CommitReport { snapshots, affected_rows: rows.saturating_add(waiting), notes, ..CommitReport::default() })
    }

    /// Statements and statistics are of the latest snapshot: a handle that reads another one, or a part of it, is refused.
    pub(super) fn check_latest(&self, done: &str) -> Result<()> {
        let ctx = self.context();
        let options = &ctx.options;
        let refused = |option: &str, what: &str| {
            let text = format!("rows of {what} cannot be {done}");
            let error = Error::new(ErrorKind::InvalidOption, text).with("table", &ctx.name).with("option", option);
            Err(error.hint("open the table without this option"))
        };
        if options.named_changes()?.is_some() {
            return refused("incremental-between", "what lies between two versions");
        }
        if options.named_version()?.is_some() || options.scan_mode == ScanMode::CompactedFull {
            return refused("scan.mode", "an older version");
        }
        if options.scan_bucket.is_some() {
            return refused("scan.bucket", "one bucket alone");
        }
        Ok(())
    }
}

pub(super) fn threads(given: Option<usize>) -> usize {
    given.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1)
}

/// Hands rows to a writer; errors count them over all that it was handed.
pub(super) fn counted(writer: &mut TableWriter) -> impl FnMut(&RecordBatch, &RowKinds) -> Result<()> {
    let mut before = 0_usize;
    move |rows, kind| {
        writer.write_from(rows, Some(kind), before)?;
        before = before.saturating_add(rows.num_rows());
        Ok(())
    }
}
