//! The writer of one bucket: buffer, flush, and what goes to the commit.
//!
//! Source: semantics a.2, a.3; `MergeTreeWriter`.

use std::{path::PathBuf, sync::Arc};

use arrow_array::{ArrayRef, Int8Array, Int64Array, RecordBatch};

use super::{
    BucketVectors, Levels, LookupCache, WriteBuffer, WriteBufferOptions,
    compact::{ChangelogFiles, CompactManager, CompactResources, CompactionPermits},
    merge::{KeepAll, MergeOptions, SpillOptions, merge, read_ahead},
    merge_function::{MergeFunction, for_table},
    ties::may_tie,
};
use crate::{
    Error, Result, cancel,
    io::{
        BatchStream, FileReadSpec, FileWriteSpec, KvLayout, RollingWriter, TableContext, delete_unused, numbers_used_up,
    },
    manifest::{BucketId, CompactIncrement, DataFileMeta, DataIncrement, FileSource},
    options::ChangelogProducer,
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

/// Writes one bucket of a primary-key table.
pub struct MergeTreeWriter {
    ctx: TableContext,
    bucket: BucketId,
    settings: WriterSettings,
    layout: Arc<KvLayout>,
    buffer: WriteBuffer,
    next_sequence: i64,
    function: Arc<dyn MergeFunction>,
    new_files: Vec<DataFileMeta>,
    /// changelog of the flushes: the rows as they came
    new_changelog: Vec<DataFileMeta>,
    compaction: CompactManager,
    commit_count: u32,
}

impl MergeTreeWriter {
    /// A writer on top of the live files of the bucket.
    pub fn new(
        ctx: &TableContext,
        bucket: BucketId,
        restored: Vec<DataFileMeta>,
        settings: WriterSettings,
    ) -> Result<Self> {
        let layout = Arc::new(KvLayout::of_table(ctx));
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
        let function = for_table(ctx, Some(&bucket.partition))?;
        let tells_input = ctx.options.changelog_producer == ChangelogProducer::Input && !settings.ignore_previous;
        // the changelog wants every record
        let buffered: Arc<dyn MergeFunction> = if tells_input { Arc::new(KeepAll) } else { Arc::clone(&function) };
        let resources = CompactResources {
            threads: settings.threads,
            spill_dir: settings.spill_dir.clone(),
            cache: Some(settings.cache.clone()),
            ignore_previous: settings.ignore_previous,
            vectors: None,
            memory: settings.encoded,
        };
        let permits = (!settings.write_only).then(|| settings.permits.clone());
        let levels = Levels::new(&restored, ctx.options.num_levels, key_types)?;
        Ok(Self {
            compaction: CompactManager::new(ctx, bucket.clone(), levels, resources, permits)
                .putting_off(may_tie(&restored)),
            buffer: WriteBuffer::new(Arc::clone(&layout), buffered, options)?,
            next_sequence: restored.iter().map(|f| f.max_sequence_number.saturating_add(1)).max().unwrap_or(0).max(0),
            ctx: ctx.clone(),
            bucket,
            settings,
            layout,
            function,
            new_files: Vec::new(),
            new_changelog: Vec::new(),
            commit_count: 0,
        })
    }

    /// With the deletion vectors of the restored files.
    #[must_use]
    pub fn with_vectors(self, vectors: Option<BucketVectors>) -> Self {
        Self { compaction: self.compaction.with_vectors(vectors), ..self }
    }

    /// Every row as it came goes to a changelog (`changelog-producer=input`).
    fn tells_input(&self) -> bool {
        self.ctx.options.changelog_producer == ChangelogProducer::Input && !self.settings.ignore_previous
    }

    /// Adds rows: all table fields in schema order, and one row kind for each.
    pub fn write(&mut self, rows: &RecordBatch, kinds: &Int8Array) -> Result<()> {
        self.write_held(rows, kinds, 0)
    }

    /// As [`Self::write`]; so many bytes of the memory of the rows are `held` by whoever gave them, until they are committed.
    pub fn write_held(&mut self, rows: &RecordBatch, kinds: &Int8Array, held: usize) -> Result<()> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        let batch = self.key_value_batch(rows, kinds)?;
        if self.buffer.write_held(batch, held)? { self.flush() } else { Ok(()) }
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
            if self.compaction.is_behind(0) {
                self.compaction.wait()?;
            }
            self.write_level0()?;
        }
        self.compaction.take_finished(wait)?;
        self.compaction.start(false)
    }

    fn write_level0(&mut self) -> Result<()> {
        let changelog =
            self.tells_input().then(|| ChangelogFiles::new(&self.ctx, &self.bucket.partition, self.bucket.bucket, 0));
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
            self.compaction.add_level0(file.clone());
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
        Ok(if self.settings.threads > 0 { read_ahead(merged, self.buffer.ahead()) } else { merged })
    }

    fn write_files(&self, rows: BatchStream) -> Result<Vec<DataFileMeta>> {
        let spec = FileWriteSpec::key_value(0, FileSource::Append).within(self.settings.encoded);
        let mut writer = RollingWriter::new(&self.ctx, &self.bucket.partition, self.bucket.bucket, spec)?;
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
        self.put_off_no_more();
        if self.buffer.rows() > 0 {
            self.write_level0()?;
        }
        self.compaction.wait()?;
        self.compaction.start(full)
    }

    /// Flushes and hands over what changed since the last call; waits for the compaction when `wait`, when there are too
    /// many runs, or when `commit.force-compact` asks for it. A writer of many commits does not wait with
    /// `lookup-wait=false` on a table that looks keys up.
    pub fn prepare_commit(&mut self, wait: bool) -> Result<(DataIncrement, CompactIncrement)> {
        self.commit_count = self.commit_count.saturating_add(1);
        let o = &self.ctx.options;
        let patient = !(self.settings.streaming && o.needs_lookup() && !o.lookup_wait);
        let mut wait = (wait && patient) || o.commit_force_compact;
        if self.full_compaction_is_due() {
            self.compact(true)?;
            wait = true;
        } else {
            self.flush_and_compact(wait)?;
        }
        if wait || self.compaction.is_behind(1) {
            self.compaction.wait()?;
            self.compaction.drain_level0()?;
        }
        let data = DataIncrement {
            new_files: std::mem::take(&mut self.new_files),
            changelog_files: std::mem::take(&mut self.new_changelog),
            ..DataIncrement::default()
        };
        Ok((data, self.compaction.take()))
    }

    /// Compactions come with the next commit also where several write the bucket at once.
    pub fn put_off_no_more(&mut self) {
        self.compaction.put_off_no_more();
    }

    /// Whether a compaction is due that was not done because several write the bucket at once: their commits would get in its way.
    pub fn has_put_off(&mut self) -> bool {
        self.compaction.has_put_off()
    }

    fn full_compaction_is_due(&self) -> bool {
        let every = self.ctx.options.full_compaction_delta_commits;
        !self.settings.write_only
            && every.is_some_and(|n| !self.settings.streaming || self.commit_count.is_multiple_of(n.max(1)))
    }

    /// A compaction is running or finished but not yet handed over.
    pub fn is_compacting(&self) -> bool {
        self.compaction.is_compacting()
    }

    /// Names of the bucket's files as this writer knows them.
    pub fn file_names(&self) -> Vec<String> {
        self.compaction.file_names()
    }

    /// Asks a running compaction to stop: nobody wants its result.
    pub fn stop(&self) {
        self.compaction.stop();
    }

    /// Why compactions were given up since the last call. It is up to the caller to find out whether the file is missed.
    pub fn take_given_up(&mut self) -> Option<Error> {
        self.compaction.take_given_up()
    }

    /// Whether compactions were given up, and nothing waits to be handed over: another writer can go on.
    pub fn is_overtaken(&self) -> bool {
        self.compaction.is_overtaken() && self.buffer.rows() == 0 && self.new_files.is_empty()
    }

    /// Goes on counting rows and commits where another writer of the bucket stopped.
    #[must_use]
    pub fn continuing(self, other: &Self) -> Self {
        Self {
            next_sequence: self.next_sequence.max(other.next_sequence),
            compaction: self.compaction.continuing(&other.compaction),
            commit_count: other.commit_count,
            ..self
        }
    }

    /// Deletes every file written since the last [`MergeTreeWriter::prepare_commit`].
    pub fn abort(mut self) {
        let _shield = cancel::shield();
        self.compaction.abort();
        for file in self.new_files.iter().chain(&self.new_changelog) {
            delete_unused(&self.ctx, &self.bucket.partition, self.bucket.bucket, file);
        }
    }
}
