//! Writing and committing in one place: what a Python writer, an overwrite or a truncation does.

use std::{collections::BTreeSet, sync::Arc};

use arrow_array::RecordBatch;

use super::{
    Table,
    again::{self, KeptRows},
    compact_after::CompactionAfter,
    handed_out::HandedOut,
    replaced::explained,
    unpublished::Unpublished,
};
use crate::{
    Error, ErrorKind, Result, cancel,
    commit::{
        CommitOutcome, Committable, CompactionOutcome, OverwriteTarget, check_place, explain_by_place, invisible_rows,
        sync_contents,
    },
    compact::TaskResources,
    io::{TableContext, check_own_rule},
    maintenance::automatic::Committer,
    manifest::DataFileMeta,
    options::{CoreOptions, POSTPONE_BUCKET},
    scan::{EntryFilter, PartitionSpec, bucket_vectors, live_entries, overtaken::at_newest, partition_spec},
    snapshot::{RemovedSnapshot, Snapshot},
    wire::{CommitMessage, unbundled},
    write::{RowKinds, TableWrite, WriteOptions, by_bucket},
};

/// What a commit did, with what it wrote.
#[derive(Debug, Default)]
pub struct CommitReport {
    /// Snapshots made, in order.
    pub snapshots: Vec<Snapshot>,
    /// Rows in the files added, retractions included.
    pub rows: i64,
    /// Data files added.
    pub files: usize,
    /// Their bytes.
    pub bytes: i64,
    /// Rows that no batch reader shows before a compaction: new files of level 0 where readers skip it.
    pub invisible_rows: i64,
    /// Rows that a DELETE or UPDATE found.
    pub affected_rows: u64,
    /// The identifier had been committed before.
    pub already_committed: bool,
    /// What the caller should know.
    pub notes: Vec<String>,
}

impl CommitReport {
    /// The report of messages and what became of them.
    pub fn new(ctx: &TableContext, messages: &[CommitMessage], outcome: CommitOutcome) -> Self {
        let invisible = invisible_rows(ctx, messages, &outcome);
        let mut report = Self {
            snapshots: outcome.snapshots,
            already_committed: outcome.already_committed,
            notes: outcome.notes,
            ..Self::default()
        };
        if report.already_committed {
            report.notes.push("the identifier was committed before by this user: nothing was done".to_owned());
            // the compaction that was to show its rows may have been cut short
            report.note_waiting(ctx);
            return report;
        }
        for file in messages.iter().flat_map(|m| &m.data.new_files) {
            report.add(file);
        }
        report.note_invisible(ctx, invisible);
        match outcome.compaction {
            CompactionOutcome::None | CompactionOutcome::Committed => {}
            CompactionOutcome::Dropped(e) => {
                report.notes.push(format!("the compaction was given up, rows are safe: {e}"));
            }
            CompactionOutcome::Failed(e) => report.notes.push(format!("the compaction failed, rows are safe: {e}")),
        }
        report
    }

    /// Says how many rows of the newest version wait for a compaction.
    pub(super) fn note_waiting(&mut self, ctx: &TableContext) {
        match waiting_rows(ctx) {
            Ok(rows) => self.note_invisible(ctx, rows),
            Err(error) => tracing::warn!(%error, table = ctx.name, "it was not found out whether rows wait"),
        }
    }

    /// Says how many rows wait for a compaction.
    fn note_invisible(&mut self, ctx: &TableContext, rows: i64) {
        if rows == 0 {
            return;
        }
        self.invisible_rows = rows;
        let text = format!("{rows} rows are not shown by batch reads before a compaction: run t.compact()");
        tracing::warn!(table = ctx.name, rows, "rows are not shown by batch reads before a compaction");
        self.notes.push(text);
    }

    fn add(&mut self, file: &DataFileMeta) {
        self.rows = self.rows.saturating_add(file.row_count);
        self.bytes = self.bytes.saturating_add(file.file_size);
        self.files = self.files.saturating_add(1);
    }
}

/// A writer with its committer.
pub struct TableWriter {
    ctx: TableContext,
    options: WriteOptions,
    write: TableWrite,
    commit: Committer,
    /// It does not look at the rows that are there.
    replaces: bool,
    failed: Option<FailedWrite>,
    unpublished: Option<Unpublished>,
    kept: KeptRows,
    handed_out: HandedOut,
    /// Everything was to be compacted since the last commit.
    full: bool,
}

/// Messages of the next commit.
struct Prepared {
    committable: Committable,
    /// Why a compaction of theirs was given up.
    given_up: Option<Error>,
    /// One is due and left for after the commit.
    put_off: bool,
}

/// A write that ended with an error: how many of its rows were taken before.
#[derive(Clone, Copy)]
struct FailedWrite {
    rows: usize,
}

impl Table {
    /// A writer; `commit_user` of `None` is a new user.
    pub fn writer(&self, commit_user: Option<&str>, mut options: WriteOptions) -> Result<TableWriter> {
        self.check_writable()?;
        let commit = self.committer(commit_user);
        check_latest_index(self.context(), &commit)?;
        commit.commit_user().clone_into(&mut options.commit_user);
        let replaces = options.ignore_previous_files;
        let ctx = of_writer(self.context());
        let write = TableWrite::new(&ctx, options.clone())?;
        let (kept, handed_out) = (KeptRows::of(&ctx, &options), HandedOut::of(&ctx, &options));
        let (failed, unpublished) = (None, None);
        Ok(TableWriter { ctx, options, write, commit, replaces, failed, unpublished, kept, handed_out, full: false })
    }

    /// A committer; `None` is a new user.
    pub fn committer(&self, commit_user: Option<&str>) -> Committer {
        match commit_user {
            Some(user) => Committer::new(self.context(), user),
            None => Committer::with_new_user(self.context()),
        }
    }

    /// Replaces partitions (or everything) by the rows of some batches, as one commit.
    pub fn overwrite(
        &self,
        batches: impl Iterator<Item = Result<RecordBatch>>,
        target: &OverwriteTarget,
    ) -> Result<CommitReport> {
        let options = WriteOptions { ignore_previous_files: true, ..WriteOptions::default() };
        let mut writer = self.writer(None, options)?;
        if let Err(error) = writer.write_all(batches, None) {
            writer.close();
            return Err(error);
        }
        let messages = writer.write.prepare_commit()?;
        let committable = Committable { messages: messages.clone(), ..Committable::default() };
        let outcome = give_up_on_conflict(&writer.commit, &messages, writer.commit.overwrite(target, committable))?;
        Ok(CommitReport::new(self.context(), &messages, outcome))
    }

    /// Commits messages that were prepared elsewhere, adding to the table or replacing partitions. After a conflict their files stay
    /// until orphan files are removed, or their owner aborts: another process may be about to publish the same messages.
    pub fn commit_messages(
        &self,
        commit_user: Option<&str>,
        committable: Committable,
        overwrite: Option<&OverwriteTarget>,
    ) -> Result<CommitReport> {
        self.check_writable()?;
        self.check_same_table()?;
        let commit = self.committer(commit_user);
        let messages = committable.messages.clone();
        check_no_file_twice(self.context(), &messages)?;
        // messages may arrive twice, for example from a job that was started again
        let committable = Committable { check_append: true, ..committable };
        let outcome = match overwrite {
            Some(target) => commit.overwrite(target, committable),
            None => commit.commit(committable),
        };
        Ok(CommitReport::new(self.context(), &messages, outcome?))
    }

    /// Messages that arrived as [`TableWriter::prepare_commit`] and [`super::run_compaction_task`] gave them.
    ///
    /// # Errors
    /// `CorruptFile`: one was damaged on its way; `InvalidArgument`: one was made for another table or branch.
    pub fn messages(&self, bytes: &[Vec<u8>]) -> Result<Vec<CommitMessage>> {
        let open = |bytes: &[u8]| Ok(CommitMessage::unseal(bytes, self.context())?.0);
        each(bytes)?.into_iter().map(open).collect()
    }

    /// The same, for a commit that adds them to what is there.
    ///
    /// # Errors
    /// As [`Table::messages`]; `InvalidArgument`: one was written to replace what is there.
    pub fn messages_to_add(&self, bytes: &[Vec<u8>]) -> Result<Vec<CommitMessage>> {
        let open = |bytes: &[u8]| match CommitMessage::unseal(bytes, self.context())? {
            (message, false) => Ok(message),
            (_, true) => Err(replaces(&self.context().name)),
        };
        each(bytes)?.into_iter().map(open).collect()
    }

    /// An error when the table was dropped and created anew since this handle was opened.
    fn check_same_table(&self) -> Result<()> {
        check_place(self.context())
    }

    /// Rewrites manifests; the report has a snapshot when there was something to do.
    pub fn compact_manifests(&self) -> Result<CommitReport> {
        let snapshot = self.committer(None).compact_manifests()?;
        Ok(CommitReport { snapshots: snapshot.into_iter().collect(), ..CommitReport::default() })
    }

    /// What an overwrite replaces: a given partition, the partitions present in the data, or the whole table.
    ///
    /// # Errors
    /// `InvalidArgument`: a partition that the table cannot have, or both a partition and "dynamic".
    pub fn overwrite_target(&self, partition: PartitionSpec, dynamic: Option<bool>) -> Result<OverwriteTarget> {
        let ctx = self.context();
        partition_spec::pattern(ctx, &partition)?;
        if dynamic == Some(true) && !partition.is_empty() {
            return Err(Error::new(ErrorKind::InvalidArgument, "give either a partition or dynamic, not both")
                .with("table", &ctx.name));
        }
        let partitioned = !ctx.schema.partition_keys.is_empty();
        if !partition.is_empty() || !partitioned {
            return Ok(OverwriteTarget::Static(partition));
        }
        let dynamic = match dynamic {
            Some(dynamic) => dynamic,
            // what is deleted by an option goes by the option of now
            None => ctx.with_newest_options()?.options.dynamic_partition_overwrite,
        };
        Ok(if dynamic { OverwriteTarget::Dynamic } else { OverwriteTarget::Static(partition) })
    }

    /// Removes all rows, or those of some partitions.
    pub fn truncate(&self, partitions: Option<&[PartitionSpec]>, dry_run: bool) -> Result<CommitReport> {
        self.check_writable()?;
        let commit = self.committer(None);
        let mut report = CommitReport::default();
        for entry in self.found(commit.plan_truncate(partitions), Vec::is_empty)? {
            report.add(&entry.file);
        }
        if dry_run {
            report.notes.push(format!("{} files would be removed", report.files));
        } else {
            report.snapshots = commit.truncate(partitions)?.snapshots;
            if report.snapshots.is_empty() {
                self.check_not_replaced()?;
            }
        }
        Ok(report)
    }
}

/// The single messages.
fn each(bytes: &[Vec<u8>]) -> Result<Vec<&[u8]>> {
    let all: Vec<Vec<&[u8]>> = bytes.iter().map(|bytes| unbundled(bytes)).collect::<Result<_>>()?;
    Ok(all.into_iter().flatten().collect())
}

/// An error when two messages bring the same file.
fn check_no_file_twice(ctx: &TableContext, messages: &[CommitMessage]) -> Result<()> {
    let mut names = BTreeSet::new();
    let new = messages.iter().flat_map(|message| message.data.new_files.iter().chain(&message.data.changelog_files));
    for file in new {
        if !names.insert(file.file_name.as_str()) {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "the same message is given twice, or two bring the same file",
            )
            .with("table", &ctx.name)
            .with("file", &file.file_name)
            .hint("give each message once; nothing was committed or deleted"));
        }
    }
    Ok(())
}

impl TableWriter {
    /// Adds rows.
    pub fn write(&mut self, batch: &RecordBatch, kinds: Option<&RowKinds>) -> Result<()> {
        self.write_from(batch, kinds, 0)
    }

    /// Adds rows of an input of which `before` rows were added already: errors count over all of them.
    pub fn write_from(&mut self, batch: &RecordBatch, kinds: Option<&RowKinds>, before: usize) -> Result<()> {
        self.ready()?;
        self.take(batch, kinds, before)
    }

    fn take(&mut self, batch: &RecordBatch, kinds: Option<&RowKinds>, before: usize) -> Result<()> {
        self.write.write_from(batch, kinds, before)?;
        self.kept.add(batch, kinds)?;
        Ok(())
    }

    /// Adds all batches; `PerRow` kinds count over all of them. After an error the writer neither writes nor commits
    /// before [`Self::discard`] or [`Self::keep`] says what becomes of the rows it holds.
    pub fn write_all(
        &mut self,
        batches: impl Iterator<Item = Result<RecordBatch>>,
        kinds: Option<&RowKinds>,
    ) -> Result<()> {
        self.ready()?;
        let mut taken = 0;
        let written = self.take_all(batches, kinds, &mut taken);
        written.inspect_err(|_| self.failed = Some(FailedWrite { rows: taken }))
    }

    fn take_all(
        &mut self,
        batches: impl Iterator<Item = Result<RecordBatch>>,
        kinds: Option<&RowKinds>,
        taken: &mut usize,
    ) -> Result<()> {
        let named = |e: Error, name: &str| e.in_table(name);
        for batch in batches {
            let batch = batch.map_err(|e| named(e, &self.ctx.name))?;
            let rows = batch.num_rows();
            let part = kinds.map(|k| kinds_of(k, *taken, rows)).transpose();
            let part = part.map_err(|e| named(e, &self.ctx.name))?;
            self.take(&batch, part.as_ref(), *taken)?;
            *taken = taken.saturating_add(rows);
        }
        match kinds {
            Some(RowKinds::PerRow(all)) if all.len() != *taken => {
                Err(named(wrong_number_of_kinds(all.len(), *taken), &self.ctx.name))
            }
            _ => Ok(()),
        }
    }

    /// Adds rows that say in their last column which bucket they are of, to one of several writers of a job.
    pub fn write_given(
        &mut self,
        batches: impl Iterator<Item = Result<RecordBatch>>,
        kind: Option<&RowKinds>,
    ) -> Result<()> {
        self.decided()?;
        let mut taken = 0;
        let written = self.take_given(batches, kind, &mut taken);
        written.map_err(|e| e.in_table(&self.ctx.name)).inspect_err(|_| self.failed = Some(FailedWrite { rows: taken }))
    }

    fn take_given(
        &mut self,
        batches: impl Iterator<Item = Result<RecordBatch>>,
        kind: Option<&RowKinds>,
        taken: &mut usize,
    ) -> Result<()> {
        for batch in batches {
            for (bucket, rows) in by_bucket(&batch?)? {
                self.write.next_bucket(bucket);
                self.write.write_from(&rows, kind, *taken)?;
                *taken = taken.saturating_add(rows.num_rows());
            }
        }
        Ok(())
    }

    /// Notes that a write failed before its rows came here.
    pub fn fail(&mut self) {
        self.failed.get_or_insert(FailedWrite { rows: 0 });
    }

    /// Deletes the rows that were neither committed nor handed out; the writer starts anew. The files of a commit that failed
    /// stay: whether it was published may not be known.
    pub fn discard(&mut self) -> Result<()> {
        self.write = TableWrite::new(&self.ctx, self.options.clone())?;
        self.kept.clear();
        self.handed_out.clear();
        self.unpublished = None;
        self.failed = None;
        self.full = false;
        Ok(())
    }

    /// After a failed write: the rows that were taken before the error count. Not after an error of the storage, nor after a
    /// failed commit.
    pub fn keep(&mut self) -> Result<()> {
        self.published()?;
        self.write.check_open()?;
        self.failed = None;
        Ok(())
    }

    /// An error after a failed commit of which nobody said what becomes of its rows.
    fn published(&self) -> Result<()> {
        self.unpublished.as_ref().map_or(Ok(()), |commit| Err(commit.undecided(&self.ctx.name)))
    }

    /// An error after a failed write or commit of which nobody said what becomes of its rows.
    fn decided(&self) -> Result<()> {
        self.published()?;
        let Some(FailedWrite { rows }) = self.failed else { return Ok(()) };
        Err(Error::new(
            ErrorKind::WriteFailed,
            format!("an earlier write of this writer failed after {rows} of its rows were taken"),
        )
        .with("table", &self.ctx.name)
        .hint("discard() drops all rows that are not committed, keep() keeps those that were taken; then go on"))
    }

    /// [`Self::decided`], and the writer does not go on from keys that it has handed out and that can never come into the table.
    fn ready(&mut self) -> Result<()> {
        self.decided()?;
        if self.handed_out.are_lost(&self.commit)? {
            self.write.check_open()?;
            self.write = TableWrite::new(&self.ctx, self.options.clone())?;
            self.kept.clear();
        }
        Ok(())
    }

    /// [`Self::ready`], and rows that were left out are somewhere, or may come there.
    fn ready_to_hand_out(&mut self) -> Result<()> {
        self.ready()?;
        if self.write.leaves_out_rows() { self.handed_out.check_left_out(&self.commit) } else { Ok(()) }
    }

    /// The table's name.
    pub fn table_name(&self) -> &str {
        &self.ctx.name
    }

    /// Compacts what was touched, as part of the next commit.
    pub fn compact(&mut self, full: bool) -> Result<()> {
        self.ready()?;
        self.write.compact(full)?;
        self.full |= full;
        Ok(())
    }

    /// Messages for somebody else to commit, as bytes that travel; [`Table::messages`] opens them.
    pub fn prepare_commit(&mut self) -> Result<Vec<Vec<u8>>> {
        self.ready_to_hand_out()?;
        // first: after an error the rows are still the writer's
        let after = Some(newest_now(&self.ctx)?);
        let messages = explained(&self.ctx, self.write.prepare_commit())?;
        self.kept.clear();
        let handed_out = |message: CommitMessage| CommitMessage { after: after.clone(), ..message };
        let messages: Vec<CommitMessage> = messages.into_iter().map(handed_out).collect();
        let sealed: Result<Vec<_>> = sync_contents(&self.ctx, &messages)
            .and_then(|()| messages.iter().map(|message| message.seal(&self.ctx, self.replaces)).collect());
        // whoever was interrupted during the last of it gets no messages
        match sealed.and_then(|sealed| cancel::check_now().map(|()| sealed)) {
            Ok(sealed) => {
                self.handed_out.add(messages);
                Ok(sealed)
            }
            // nobody has them: their rows are in no message, and would be missed in the next one
            Err(error) => {
                self.write.take_back(&messages);
                Err(error)
            }
        }
    }

    /// Says that the last messages have reached nobody, although [`Self::prepare_commit`] gave them: only [`Self::discard`] goes on.
    pub fn lose_messages(&mut self) {
        self.write.take_back(&[]);
    }

    /// Publishes what was written. After an error the same commit may be tried again; nothing else is done before that or
    /// [`Self::discard`].
    pub fn commit(&mut self, asked: Committable) -> Result<CommitReport> {
        if self.replaces {
            return Err(replaces(&self.ctx.name));
        }
        let mut next = self.next_commit(asked)?;
        let mut tries = 1;
        let mut outcome = loop {
            let messages = &next.committable.messages;
            match give_up_on_conflict(&self.commit, messages, self.commit.commit(next.committable.clone())) {
                Ok(outcome) => break outcome,
                Err(error) if tries < again::TRIES && self.is_to_be_written_again(&error) => {
                    tracing::info!(table = self.ctx.name, %error, "the rows are written again");
                    tries += 1;
                    next = self.written_again(next.committable)?;
                }
                Err(error) => {
                    self.unpublished = Some(Unpublished::of(next.committable, next.given_up, &error));
                    return Err(error);
                }
            }
        };
        self.kept.clear();
        let messages = next.committable.messages;
        if let (Some(overtaken), CompactionOutcome::None | CompactionOutcome::Committed, false) =
            (next.given_up, &outcome.compaction, outcome.already_committed)
        {
            outcome.compaction = CompactionOutcome::Dropped(overtaken);
        }
        let outcome = self.compacted_after(&messages, outcome, next.put_off);
        self.full = false;
        Ok(CommitReport::new(&self.ctx, &messages, outcome))
    }

    fn is_to_be_written_again(&self, error: &Error) -> bool {
        error.kind() == ErrorKind::CommitConflict && error.may_pass_if_written_again() && self.kept.can_be_written()
    }

    /// The same rows, written to the table as it is now. After an error they are in no message: nothing is committed before
    /// [`Self::discard`].
    fn written_again(&mut self, asked: Committable) -> Result<Prepared> {
        self.fail();
        self.write = TableWrite::new(&self.ctx, self.options.clone())?;
        self.kept.write(&mut self.write)?;
        if self.full {
            // it was asked for, too
            self.write.compact(true)?;
        }
        let prepared = self.prepared(asked)?;
        self.failed = None;
        Ok(prepared)
    }

    /// What was written, or what a commit that failed was to publish.
    fn next_commit(&mut self, asked: Committable) -> Result<Prepared> {
        if let Some(earlier) = self.unpublished.take_if(|earlier| earlier.is_same(&asked)) {
            let (committable, given_up) = earlier.again(&asked, &self.ctx.name)?;
            return Ok(Prepared { committable, given_up, put_off: false });
        }
        self.ready_to_hand_out()?;
        self.commit.check_place()?;
        self.prepared(asked)
    }

    /// What the writer holds, as messages; the writer begins anew.
    fn prepared(&mut self, asked: Committable) -> Result<Prepared> {
        let (messages, put_off) = self.write.prepare_rows().map_err(|e| explain_by_place(&self.ctx, e))?;
        let given_up = self.write.take_given_up();
        self.write.reset()?;
        Ok(Prepared { committable: Committable { messages, ..asked }, given_up, put_off })
    }

    /// What became of its compaction in the end.
    fn compacted_after(&self, messages: &[CommitMessage], outcome: CommitOutcome, put_off: bool) -> CommitOutcome {
        let options = &self.ctx.options;
        let is_tree = !self.ctx.schema.primary_keys.is_empty() && options.bucket != POSTPONE_BUCKET;
        // only what is due is done, which is not what was asked for
        let asked_for_all = self.full || options.full_compaction_delta_commits.is_some();
        if !is_tree || options.write_only || (asked_for_all && !options.needs_lookup()) {
            return outcome;
        }
        let WriteOptions { memory_limit, spill_dir, threads, .. } = self.options.clone();
        let memory = memory_limit.map(|limit| usize::try_from(limit / 2).unwrap_or(usize::MAX));
        let resources = TaskResources { threads, spill_dir, memory };
        CompactionAfter::of(&self.ctx, messages, resources).done(outcome, put_off)
    }

    /// The user of its commits.
    pub fn commit_user(&self) -> &str {
        self.commit.commit_user()
    }

    /// Deletes what was not committed.
    pub fn close(self) {
        self.write.abort();
    }
}

/// Rows whose sequence numbers begin anew would lose against those that are there.
fn replaces(table: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "the rows were written to replace what is there, not to be added")
        .with("table", table)
        .hint("give commit(messages, overwrite=...) what prepare_commit() returned, or write without overwrite=True")
}

/// The kinds of `rows` rows from `offset` on.
fn kinds_of(kinds: &RowKinds, offset: usize, rows: usize) -> Result<RowKinds> {
    match kinds {
        RowKinds::All(kind) => Ok(RowKinds::All(*kind)),
        RowKinds::PerRow(all) if offset.saturating_add(rows) <= all.len() => {
            Ok(RowKinds::PerRow(all.slice(offset, rows)))
        }
        RowKinds::PerRow(all) => Err(wrong_number_of_kinds(all.len(), offset.saturating_add(rows))),
    }
}

fn wrong_number_of_kinds(kinds: usize, rows: usize) -> Error {
    Error::new(ErrorKind::InvalidRowKind, format!("{kinds} row kinds were given for {rows} rows or more"))
        .hint("give one row kind for all rows, or exactly one for each row")
}

/// An error when the latest snapshot has index files of a kind that is not known.
fn check_latest_index(ctx: &TableContext, commit: &Committer) -> Result<()> {
    let (mut removals, mut latest) = ctx.snapshots().latest_with_removals()?;
    if let Some(version) = &latest
        && commit.takes_late_version_back(version)?
    {
        (removals, latest) = ctx.snapshots().latest_with_removals()?;
    }
    let checked = latest.as_ref().map_or(Ok(()), |newest| bucket_vectors(ctx, newest).map(drop));
    if checked.is_ok() {
        commit.begin_with(removals, latest);
        return checked;
    }
    at_newest(ctx, |newest| newest.map_or(Ok(()), |newest| bucket_vectors(ctx, newest).map(drop)))
}

/// After a conflict nothing refers to the files of the messages: they are deleted, unless others may have seen the commit.
/// After any other error the outcome may be unknown, and they stay.
pub(super) fn give_up_on_conflict(
    commit: &Committer,
    messages: &[CommitMessage],
    outcome: Result<CommitOutcome>,
) -> Result<CommitOutcome> {
    if let Err(e) = &outcome
        && e.kind() == ErrorKind::CommitConflict
        && !e.lets_files_stay()
    {
        commit.give_up(messages);
    }
    outcome
}

/// The context of a writer: where options of its handle say otherwise than the table's how rows are merged, it compacts nothing.
fn of_writer(ctx: &TableContext) -> TableContext {
    match check_own_rule(ctx) {
        Err(error) if !ctx.options.write_only => {
            tracing::warn!(table = ctx.name, %error, "the writer compacts nothing");
            let quiet = CoreOptions { write_only: true, ..(*ctx.options).clone() };
            TableContext { options: Arc::new(quiet), ..ctx.clone() }
        }
        _ => ctx.clone(),
    }
}

/// Rows of the table that no batch reader shows before a compaction.
pub(super) fn waiting_rows(ctx: &TableContext) -> Result<i64> {
    // the handle may be older than an alter
    let ctx = &ctx.with_newest_options()?;
    let postponed = ctx.options.bucket == POSTPONE_BUCKET;
    if !(postponed || ctx.options.skips_level0()) || ctx.schema.primary_keys.is_empty() {
        return Ok(0);
    }
    let files = at_newest(ctx, |newest| {
        newest.map_or_else(|| Ok(Vec::new()), |newest| live_entries(ctx, newest, &EntryFilter::without_statistics()))
    })?;
    let skips_level0 = ctx.options.skips_level0();
    let waiting = files.iter().filter(|entry| entry.bucket < 0 || (skips_level0 && entry.file.level == 0));
    Ok(waiting.map(|entry| entry.file.row_count).fold(0, i64::saturating_add))
}

/// The newest snapshot; id 0 where there is none.
fn newest_now(ctx: &TableContext) -> Result<RemovedSnapshot> {
    let snapshots = ctx.snapshots();
    let none = || RemovedSnapshot { id: 0, delta_manifest_list: String::new(), commit: None };
    let newest = snapshots.latest()?.as_ref().map_or_else(none, RemovedSnapshot::from);
    Ok(RemovedSnapshot { commit: None, ..newest })
}
