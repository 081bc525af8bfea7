//! The writer of one bucket: buffer, flush, compaction beside the writing, and what goes to the commit.
//!
//! Source: semantics a.2, a.3, a.7; `MergeTreeWriter`, `MergeTreeCompactManager`.

use std::{path::PathBuf, sync::Arc, thread};

use arrow_array::{ArrayRef, Int8Array, Int64Array, RecordBatch};
use crossbeam_channel::{Receiver, bounded};

use super::{
    BucketVectors, Levels, LookupCache, WriteBuffer, WriteBufferOptions,
    compact::{
        ChangelogFiles, CompactResources, CompactUnit, CompactionPermits, delete_file, forces_level0, pick_deleted,
        pick_in, run_compaction,
    },
    merge::{KeepAll, MergeOptions, SpillOptions, merge, read_ahead},
    merge_function::{MergeFunction, for_table},
};
use crate::{
    Error, ErrorKind, Result,
    cancel::{self, Cancellation},
    env,
    io::{BatchStream, FileReadSpec, FileWriteSpec, KvLayout, RollingWriter, TableContext, numbers_used_up},
    manifest::{CompactIncrement, DataFileMeta, DataIncrement, EntryKind, FileSource},
    options::{ChangelogProducer, LookupCompact, SortOrder},
    types::DataType,
};

/// Resources and mode of a bucket writer.
#[derive(Clone, Debug)]
pub struct WriterSettings {
    /// Bytes of buffered rows before this writer spills or flushes by itself.
    pub budget: usize,
    /// Encoded bytes that are held at most before they are written; `None`: as many as the table's options say. With a
    /// number here the budget covers what sorting and merging need, too.
    pub encoded: Option<usize>,
    /// Local folder for spilling; `None` never spills.
    pub spill_dir: Option<PathBuf>,
    /// No compaction at all (option `write-only`).
    pub write_only: bool,
    /// A writer of many commits: `full-compaction.delta-commits=n` compacts at every n-th commit. Otherwise at every one.
    pub streaming: bool,
    /// Threads that work beside the caller's, for sorting, decoding and compaction.
    pub threads: usize,
    /// Bounds the compactions of all writers that share it.
    pub permits: CompactionPermits,
    /// What lookups of earlier compactions left, for all writers that share it.
    pub cache: LookupCache,
    /// The rows replace what is there (overwrite): there is no changelog.
    pub ignore_previous: bool,
}

/// Batches that sorting may be ahead of encoding.
const AHEAD: usize = 4;

/// Key-value batches of all columns of a table.
pub(super) fn table_layout(ctx: &TableContext) -> KvLayout {
    let schema = &ctx.schema;
    let at = |name: &str| schema.fields.iter().position(|f| f.name == name);
    KvLayout {
        fields: schema.fields.clone(),
        key: schema.trimmed_primary_keys().into_iter().filter_map(at).collect(),
        sequence: ctx.options.sequence_fields.iter().filter_map(|name| at(name)).collect(),
        sequence_descending: ctx.options.sequence_order == SortOrder::Descending,
    }
}

/// Writes one bucket of a primary-key table.
pub struct MergeTreeWriter {
    ctx: TableContext,
    partition: Vec<u8>,
    bucket: i32,
    settings: WriterSettings,
    layout: Arc<KvLayout>,
    buffer: WriteBuffer,
    levels: Levels,
    next_sequence: i64,
    function: Arc<dyn MergeFunction>,
    new_files: Vec<DataFileMeta>,
    /// changelog of the flushes: the rows as they came
    new_changelog: Vec<DataFileMeta>,
    compacted: CompactIncrement,
    running: Option<Receiver<Result<CompactIncrement>>>,
    /// stops the compactions of this writer
    token: Cancellation,
    /// when this writer last picked everything, by the local wall clock
    last_full: Option<i64>,
    commits: u32,
    vectors: Option<BucketVectors>,
    /// times that level 0 could have been compacted and was not (`lookup-compact=gentle`)
    passed_over: usize,
    /// A file was gone that a compaction wanted to read, or the table was altered: the restored files are not those of the
    /// table any more, or of a newer schema, and nothing is compacted on top of them. Another writer has to go on.
    stale: bool,
    given_up: Option<Error>,
}

impl MergeTreeWriter {
    /// A writer on top of the live files of the bucket.
    pub fn new(
        ctx: &TableContext,
        partition: &[u8],
        bucket: i32,
        restored: Vec<DataFileMeta>,
        settings: WriterSettings,
    ) -> Result<Self> {
        let layout = Arc::new(table_layout(ctx));
        let key_types: Vec<DataType> = ctx.schema.key_fields().iter().map(|f| f.data_type.clone()).collect();
        let options = WriteBufferOptions {
            budget: settings.budget,
            spill: settings.spill_dir.clone().map(|dir| SpillOptions {
                dir,
                compress: ctx.options.spill_compression != "none",
                max_fan_in: ctx.options.local_sort_max_file_handles,
            }),
            max_disk_size: ctx.options.write_buffer_spill_max_disk_size,
            strict: settings.encoded.is_some(),
            batch_rows: FileReadSpec::DEFAULT_BATCH_ROWS,
            ahead: settings.threads > 0,
        };
        let function = for_table(ctx, Some(partition))?;
        let tells_input = ctx.options.changelog_producer == ChangelogProducer::Input && !settings.ignore_previous;
        // the changelog wants every record
        let buffered: Arc<dyn MergeFunction> = if tells_input { Arc::new(KeepAll) } else { Arc::clone(&function) };
        Ok(Self {
            buffer: WriteBuffer::new(Arc::clone(&layout), buffered, options)?,
            levels: Levels::new(&restored, ctx.options.num_levels, key_types)?,
            next_sequence: restored.iter().map(|f| f.max_sequence_number.saturating_add(1)).max().unwrap_or(0).max(0),
            ctx: ctx.clone(),
            partition: partition.to_vec(),
            bucket,
            settings,
            layout,
            function,
            new_files: Vec::new(),
            new_changelog: Vec::new(),
            compacted: CompactIncrement::default(),
            running: None,
            token: Cancellation::default(),
            last_full: None,
            commits: 0,
            vectors: None,
            passed_over: 0,
            stale: false,
            given_up: None,
        })
    }

    /// With the deletion vectors of the restored files.
    #[must_use]
    pub fn with_vectors(self, vectors: Option<BucketVectors>) -> Self {
        Self { vectors, ..self }
    }

    /// Every row as it came goes to a changelog (`changelog-producer=input`).
    fn tells_input(&self) -> bool {
        self.ctx.options.changelog_producer == ChangelogProducer::Input && !self.settings.ignore_previous
    }

    /// Adds rows: all table fields in schema order, and one row kind for each.
    pub fn write(&mut self, rows: &RecordBatch, kinds: &Int8Array) -> Result<()> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        let batch = self.key_value_batch(rows, kinds)?;
        if self.buffer.write(batch)? { self.flush() } else { Ok(()) }
    }

    /// The rows with the next sequence numbers and their kinds behind.
    fn key_value_batch(&mut self, rows: &RecordBatch, kinds: &Int8Array) -> Result<RecordBatch> {
        let count = i64::try_from(rows.num_rows()).unwrap_or(i64::MAX);
        let end = self.next_sequence.checked_add(count).ok_or_else(|| numbers_used_up(&self.ctx.name))?;
        let numbers = Int64Array::from_iter_values(self.next_sequence..end);
        let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
        columns.push(Arc::new(numbers));
        columns.push(Arc::new(kinds.clone()));
        let batch = RecordBatch::try_new(self.layout.arrow_schema()?, columns)?;
        self.next_sequence = end;
        Ok(batch)
    }

    /// Bytes of buffered rows.
    pub fn memory_used(&self) -> usize {
        self.buffer.memory_used()
    }

    /// Frees the buffer's memory: spills when possible, else flushes to level 0.
    pub fn release_memory(&mut self) -> Result<()> {
        if self.buffer.spill()? { Ok(()) } else { self.flush() }
    }

    /// Writes the buffered rows to level 0, and starts a compaction when one is due.
    pub fn flush(&mut self) -> Result<()> {
        self.flush_and_compact(false)
    }

    fn flush_and_compact(&mut self, wait: bool) -> Result<()> {
        if self.buffer.rows() > 0 {
            if self.levels.number_of_sorted_runs() > self.ctx.options.num_sorted_run_stop_trigger {
                self.wait_for_compaction()?;
            }
            self.write_level0()?;
        }
        self.take_finished(wait)?;
        self.start_compaction(false)
    }

    fn write_level0(&mut self) -> Result<()> {
        let changelog = self.tells_input().then(|| ChangelogFiles::new(&self.ctx, &self.partition, self.bucket, 0));
        let changelog = changelog.transpose()?;
        let written = self.sorted_rows(changelog.as_ref()).and_then(|rows| self.write_files(rows));
        let files = match written {
            Ok(files) => files,
            Err(error) => {
                if let Some(changelog) = &changelog {
                    changelog.abort();
                }
                return Err(error);
            }
        };
        // known from here on, so that an abort finds them
        for file in files {
            self.levels.add_level0(file.clone());
            self.new_files.push(file);
        }
        if let Some(changelog) = &changelog {
            self.new_changelog.extend(changelog.finish()?);
        }
        Ok(())
    }

    /// The buffered rows, sorted and merged. Before they are merged they go to the changelog.
    fn sorted_rows(&mut self, changelog: Option<&ChangelogFiles>) -> Result<BatchStream> {
        let sorted = self.buffer.drain()?;
        let merged = match changelog {
            None => sorted,
            Some(changelog) => {
                let mut sink = changelog.sink();
                let told: BatchStream = Box::new(sorted.map(move |batch| {
                    let batch = batch?;
                    sink(&batch)?;
                    Ok(batch)
                }));
                let options = MergeOptions { unique_inputs: false, ..MergeOptions::default() };
                merge(vec![told], &self.layout, Arc::clone(&self.function), options)?
            }
        };
        Ok(if self.settings.threads > 0 { read_ahead(merged, AHEAD) } else { merged })
    }

    fn write_files(&self, rows: BatchStream) -> Result<Vec<DataFileMeta>> {
        let spec = FileWriteSpec::key_value(0, FileSource::Append).within(self.settings.encoded);
        let mut writer = RollingWriter::new(&self.ctx, &self.partition, self.bucket, spec)?;
        for batch in rows {
            if let Err(error) = batch.and_then(|b| writer.write(&b)) {
                writer.abort();
                return Err(error);
            }
        }
        writer.finish()
    }

    /// Flushes, waits for a running compaction and starts a new one: of everything when `full`.
    pub fn compact(&mut self, full: bool) -> Result<()> {
        if self.buffer.rows() > 0 {
            self.write_level0()?;
        }
        self.wait_for_compaction()?;
        self.start_compaction(full)
    }

    /// Flushes and hands over what changed since the last call; waits for the compaction when `wait`, when there are too
    /// many runs, or when `commit.force-compact` asks for it. A writer of many commits does not wait with
    /// `lookup-wait=false` on a table that looks keys up.
    pub fn prepare_commit(&mut self, wait: bool) -> Result<(DataIncrement, CompactIncrement)> {
        self.commits = self.commits.saturating_add(1);
        let o = &self.ctx.options;
        let patient = !(self.settings.streaming && o.needs_lookup() && !o.lookup_wait);
        let mut wait = (wait && patient) || o.commit_force_compact;
        if self.full_compaction_is_due() {
            self.compact(true)?;
            wait = true;
        } else {
            self.flush_and_compact(wait)?;
        }
        let limit = self.ctx.options.num_sorted_run_stop_trigger.saturating_add(1);
        if wait || self.levels.number_of_sorted_runs() > limit {
            self.wait_for_compaction()?;
            self.drain_level0()?;
        }
        let data = DataIncrement {
            new_files: std::mem::take(&mut self.new_files),
            changelog_files: std::mem::take(&mut self.new_changelog),
            ..DataIncrement::default()
        };
        let mut compact = std::mem::take(&mut self.compacted);
        if let (Some(vectors), Some(new)) = (&self.vectors, compact.index_files.pop()) {
            compact.index_files = vectors.replacing(new);
        }
        Ok((data, compact))
    }

    /// Compacts until level 0 is empty, where that is asked for.
    fn drain_level0(&mut self) -> Result<()> {
        let o = &self.ctx.options;
        if !o.needs_lookup() || o.lookup_compact == LookupCompact::Gentle {
            return Ok(());
        }
        while self.levels.has_level0() {
            self.start_compaction(false)?;
            if self.running.is_none() {
                break;
            }
            self.wait_for_compaction()?;
        }
        Ok(())
    }

    fn full_compaction_is_due(&self) -> bool {
        let every = self.ctx.options.full_compaction_delta_commits;
        !self.settings.write_only
            && every.is_some_and(|n| !self.settings.streaming || self.commits.is_multiple_of(n.max(1)))
    }

    /// A compaction is running or finished but not yet handed over.
    pub fn is_compacting(&self) -> bool {
        self.running.is_some() || self.compacted != CompactIncrement::default()
    }

    /// Starts a compaction beside the writing when one is due and none is running.
    fn start_compaction(&mut self, full: bool) -> Result<()> {
        if self.settings.write_only || self.stale || self.running.is_some() {
            return Ok(());
        }
        let Some(unit) = self.pick(full) else { return Ok(()) };
        if unit.output_level == self.levels.max_level() {
            self.last_full = Some(env::local_millis());
        }
        self.run_beside(unit)
    }

    /// What to compact now. `lookup-compact=gentle` forces level 0 up only at every so many times without another reason.
    fn pick(&mut self, full: bool) -> Option<CompactUnit> {
        let o = &self.ctx.options;
        let gentle = o.needs_lookup() && o.lookup_compact == LookupCompact::Gentle;
        if full || !gentle {
            let unit = pick_in(&self.ctx, &self.levels, full, forces_level0(&self.ctx), self.last_full);
            return unit.or_else(|| {
                let vectors = self.vectors.as_ref()?;
                pick_deleted(&self.ctx, &self.levels, full, &|file| vectors.deleted_rows_of(file))
            });
        }
        if let Some(unit) = pick_in(&self.ctx, &self.levels, false, false, self.last_full) {
            return Some(unit);
        }
        self.passed_over += 1;
        if self.passed_over < o.lookup_compact_max_interval {
            return None;
        }
        self.passed_over = 0;
        pick_in(&self.ctx, &self.levels, false, true, self.last_full)
    }

    /// Names of the bucket's files as this writer knows them.
    pub fn file_names(&self) -> Vec<String> {
        self.levels.files().into_iter().map(|file| file.file_name).collect()
    }

    /// Runs a unit on a thread of its own; on this one when there are no threads to spare.
    fn run_beside(&mut self, unit: CompactUnit) -> Result<()> {
        let (ctx, partition, bucket) = (self.ctx.clone(), self.partition.clone(), self.bucket);
        let files = self.levels.files();
        let resources = CompactResources {
            threads: self.settings.threads,
            spill_dir: self.settings.spill_dir.clone(),
            cache: Some(self.settings.cache.clone()),
            ignore_previous: self.settings.ignore_previous,
            vectors: self.vectors.clone(),
            memory: self.settings.encoded,
        };
        let (sender, receiver) = bounded(1);
        let permits = (self.settings.threads > 0).then(|| self.settings.permits.clone());
        // beside the writing it outlives the call that started it; without threads it is part of the call
        let token = if permits.is_some() { Some(self.token.clone()) } else { None };
        let work = move || {
            let _place = permits.as_ref().map(CompactionPermits::enter);
            let compact = || run_compaction(&ctx, &partition, bucket, &files, &unit, &resources);
            let result = match &token {
                Some(token) => token.run(compact),
                None => compact(),
            };
            // the writer may be gone; then it deletes nothing of ours, so we do
            if let Err(unsent) = sender.send(result)
                && let Ok(result) = unsent.into_inner()
            {
                delete_rewritten(&ctx, &partition, bucket, &result);
            }
        };
        self.running = Some(receiver);
        if self.settings.threads == 0 {
            work();
            return Ok(());
        }
        let started = thread::Builder::new().name("siltstone-compact".to_owned()).spawn(work);
        started.map(|_| ()).map_err(|e| {
            self.running = None;
            Error::new(ErrorKind::Storage, "no thread could be started for a compaction").caused_by(e)
        })
    }

    fn wait_for_compaction(&mut self) -> Result<()> {
        self.take_finished(true)
    }

    /// Takes over the result of the running compaction, if it is there or `wait` says to wait for it.
    fn take_finished(&mut self, wait: bool) -> Result<()> {
        let Some(receiver) = &self.running else { return Ok(()) };
        let result = if wait {
            cancel::wait(receiver)?
                .unwrap_or_else(|| Err(Error::new(ErrorKind::Internal, "a compaction thread stopped unexpectedly")))
        } else {
            match receiver.try_recv() {
                Ok(result) => result,
                Err(crossbeam_channel::TryRecvError::Empty) => return Ok(()),
                Err(crossbeam_channel::TryRecvError::Disconnected) => {
                    Err(Error::new(ErrorKind::Internal, "a compaction thread stopped unexpectedly"))
                }
            }
        };
        self.running = None;
        let result = match result {
            Err(error) if self.gives_up(&error) => {
                self.give_compactions_up(error);
                return Ok(());
            }
            result => result?,
        };
        let kept = |file: &&DataFileMeta| result.compact_after.iter().any(|f| f.file_name == file.file_name);
        self.settings.cache.forget(result.compact_before.iter().filter(|file| !kept(file)));
        self.levels.update(&result.compact_before, &result.compact_after)?;
        self.add_compaction(result);
        Ok(())
    }

    /// Adds a finished compaction to what the next commit gets. A file that an earlier compaction of this commit
    /// made and this one consumed was never visible: it is deleted, unless it only changed levels.
    fn add_compaction(&mut self, result: CompactIncrement) {
        let named = |files: &[DataFileMeta], name: &str| files.iter().any(|f| f.file_name == name);
        for file in result.compact_before {
            let made = self.compacted.compact_after.iter().position(|f| f.file_name == file.file_name);
            let Some(at) = made else {
                self.compacted.compact_before.push(file);
                continue;
            };
            self.compacted.compact_after.remove(at);
            let upgraded =
                named(&self.compacted.compact_before, &file.file_name) || named(&result.compact_after, &file.file_name);
            if !upgraded {
                delete_file(&self.ctx, &self.partition, self.bucket, &file);
            }
        }
        self.compacted.compact_after.extend(result.compact_after);
        self.compacted.changelog_files.extend(result.changelog_files);
        // what is in level 0 now has come while it ran, and is newer
        let newer = self.levels.files().into_iter().filter(|file| file.level == 0);
        let newer: Vec<String> = newer.map(|file| file.file_name).collect();
        self.compacted.dropped.extend(result.dropped.into_iter().map(|mut dropped| {
            dropped.known.extend_from_slice(&newer);
            dropped
        }));
        if let Some(newer) = result.index_files.into_iter().last() {
            if let (Some(vectors), Some(older)) = (&self.vectors, self.compacted.index_files.pop()) {
                vectors.delete(&older);
            }
            self.compacted.index_files = vec![newer];
        }
    }

    /// Asks a running compaction to stop: nobody wants its result.
    pub fn stop(&self) {
        self.token.cancel();
    }

    /// Whether a file is gone that this writer did not make itself, or the table was altered.
    fn gives_up(&self, error: &Error) -> bool {
        let own = self.new_files.iter().chain(&self.compacted.compact_after);
        error.kind() == ErrorKind::CommitConflict || error.misses_file_but(own.map(|file| file.file_name.as_str()))
    }

    /// Rows stay where the flushes have put them; what compactions made of them since the last commit is deleted.
    fn give_compactions_up(&mut self, error: Error) {
        delete_rewritten(&self.ctx, &self.partition, self.bucket, &std::mem::take(&mut self.compacted));
        self.stale = true;
        self.given_up = Some(error);
    }

    /// Why compactions were given up since the last call. It is up to the caller to find out whether the file is missed.
    pub fn take_given_up(&mut self) -> Option<Error> {
        self.given_up.take()
    }

    /// Whether compactions were given up, and nothing waits to be handed over: another writer can go on.
    pub fn is_overtaken(&self) -> bool {
        self.stale && self.buffer.rows() == 0 && self.new_files.is_empty() && self.running.is_none()
    }

    /// Goes on counting rows and commits where another writer of the bucket stopped.
    #[must_use]
    pub fn continuing(self, other: &Self) -> Self {
        Self {
            next_sequence: self.next_sequence.max(other.next_sequence),
            last_full: other.last_full,
            commits: other.commits,
            passed_over: other.passed_over,
            ..self
        }
    }

    /// Deletes every file written since the last [`MergeTreeWriter::prepare_commit`].
    pub fn abort(mut self) {
        self.stop();
        let _shield = cancel::shield();
        if let Err(error) = self.wait_for_compaction() {
            tracing::debug!(%error, "the compaction of an aborted writer failed");
        }
        delete_rewritten(&self.ctx, &self.partition, self.bucket, &self.compacted);
        for file in self.new_files.iter().chain(&self.new_changelog) {
            delete_file(&self.ctx, &self.partition, self.bucket, file);
        }
    }
}

/// Deletes the outputs of a compaction that will not be committed; upgraded files are inputs and stay.
fn delete_rewritten(ctx: &TableContext, partition: &[u8], bucket: i32, result: &CompactIncrement) {
    for file in &result.changelog_files {
        delete_file(ctx, partition, bucket, file);
    }
    for file in &result.compact_after {
        if !result.compact_before.iter().any(|f| f.file_name == file.file_name) {
            delete_file(ctx, partition, bucket, file);
        }
    }
    for entry in result.index_files.iter().filter(|entry| entry.kind == EntryKind::Add) {
        if let Err(error) = ctx.paths.index_file_of(entry).and_then(|path| ctx.fs.delete(&path)) {
            tracing::warn!(file = entry.file_name, %error, "an unused index file was not deleted");
        }
    }
}
