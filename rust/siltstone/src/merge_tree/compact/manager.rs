//! The compactions of a bucket beside its writer: what to take, where it runs, and what becomes of the result.
//!
//! Source: semantics a.7; `MergeTreeCompactManager`.

use std::{collections::HashSet, thread};

use crossbeam_channel::{Receiver, TryRecvError, bounded};

use super::{
    BucketVectors, CompactResources, CompactUnit, CompactionPermits, Levels, forces_level0, pick_deleted, pick_in,
    run_compaction,
};
use crate::{
    Error, ErrorKind, Result,
    cancel::{self, Cancellation},
    env,
    io::{TableContext, delete_compacted, delete_unused},
    manifest::{BucketId, CompactIncrement, DataFileMeta},
    options::LookupCompact,
};

/// The tree of one bucket and the compaction that runs in it, one at a time.
pub(crate) struct CompactManager {
    ctx: TableContext,
    bucket: BucketId,
    levels: Levels,
    resources: CompactResources,
    /// Bounds the compactions of all writers that share it; `None`: there are none at all (option `write-only`).
    permits: Option<CompactionPermits>,
    /// names of files that came into level 0 since the last hand-over
    added: HashSet<String>,
    compacted: CompactIncrement,
    running: Option<Receiver<Result<CompactIncrement>>>,
    /// stops the compactions of this writer
    token: Cancellation,
    /// when this writer last picked everything, by the local wall clock
    last_full: Option<i64>,
    /// times that level 0 could have been compacted and was not (`lookup-compact=gentle`)
    passed_over: usize,
    /// A file was gone that a compaction wanted to read, or the table was altered: the restored files are not those of the
    /// table any more, or of a newer schema, and nothing is compacted on top of them. Another writer has to go on.
    stale: bool,
    /// Several write the bucket at once: what is compacted before the rows are committed would not fit the table then.
    put_off: bool,
    given_up: Option<Error>,
}

impl CompactManager {
    pub(crate) fn new(
        ctx: &TableContext,
        bucket: BucketId,
        levels: Levels,
        resources: CompactResources,
        permits: Option<CompactionPermits>,
    ) -> Self {
        Self {
            ctx: ctx.clone(),
            bucket,
            levels,
            resources,
            permits,
            added: HashSet::new(),
            compacted: CompactIncrement::default(),
            running: None,
            token: Cancellation::default(),
            last_full: None,
            passed_over: 0,
            stale: false,
            put_off: false,
            given_up: None,
        }
    }

    /// With the deletion vectors of the restored files.
    pub(crate) fn with_vectors(mut self, vectors: Option<BucketVectors>) -> Self {
        self.resources.vectors = vectors;
        self
    }

    /// Starts nothing by itself when `put_off`, before [`Self::put_off_no_more`].
    pub(crate) fn putting_off(self, put_off: bool) -> Self {
        Self { put_off, ..self }
    }

    pub(crate) fn put_off_no_more(&mut self) {
        self.put_off = false;
    }

    /// Whether a compaction is due that was put off. Where that cannot be found out, the compaction says why.
    pub(crate) fn has_put_off(&mut self) -> bool {
        self.put_off && self.permits.is_some() && !self.stale && !matches!(self.pick(false), Ok(None))
    }

    /// A file of the writer's.
    pub(crate) fn add_level0(&mut self, file: DataFileMeta) {
        self.added.insert(file.file_name.clone());
        self.levels.add_level0(file);
    }

    /// Whether there are more than `more` runs above the number that stops writing.
    pub(crate) fn is_behind(&self, more: usize) -> bool {
        self.levels.number_of_sorted_runs() > self.ctx.options.num_sorted_run_stop_trigger.saturating_add(more)
    }

    /// Starts a compaction beside the writing when one is due and none is running.
    pub(crate) fn start(&mut self, full: bool) -> Result<()> {
        if self.permits.is_none() || self.stale || self.put_off || self.running.is_some() {
            return Ok(());
        }
        let Some(unit) = self.pick(full)? else { return Ok(()) };
        if unit.output_level == self.levels.max_level() {
            self.last_full = Some(env::local_millis());
        }
        self.run_beside(unit)
    }

    /// What to compact now. `lookup-compact=gentle` forces level 0 up only at every so many times without another reason.
    fn pick(&mut self, full: bool) -> Result<Option<CompactUnit>> {
        let o = &self.ctx.options;
        let gentle = o.needs_lookup() && o.lookup_compact == LookupCompact::Gentle;
        if full || !gentle {
            let unit = pick_in(&self.ctx, &self.levels, full, forces_level0(&self.ctx), self.last_full)?;
            return Ok(unit.or_else(|| {
                let vectors = self.resources.vectors.as_ref()?;
                pick_deleted(&self.ctx, &self.levels, full, &|file| vectors.deleted_rows_of(file))
            }));
        }
        if let Some(unit) = pick_in(&self.ctx, &self.levels, false, false, self.last_full)? {
            return Ok(Some(unit));
        }
        self.passed_over += 1;
        if self.passed_over < o.lookup_compact_max_interval {
            return Ok(None);
        }
        self.passed_over = 0;
        pick_in(&self.ctx, &self.levels, false, true, self.last_full)
    }

    /// Runs a unit on a thread of its own; on this one when there are no threads to spare.
    fn run_beside(&mut self, unit: CompactUnit) -> Result<()> {
        let (ctx, bucket) = (self.ctx.clone(), self.bucket.clone());
        let files = self.levels.files();
        let resources = self.resources.clone();
        let (sender, receiver) = bounded(1);
        let permits = self.permits.clone().filter(|_| self.resources.threads > 0);
        // beside the writing it outlives the call that started it; without threads it is part of the call
        let token = if permits.is_some() { Some(self.token.clone()) } else { None };
        let work = move || {
            let _place = permits.as_ref().map(CompactionPermits::enter);
            let compact = || run_compaction(&ctx, &bucket.partition, bucket.bucket, &files, &unit, &resources);
            let result = match &token {
                Some(token) => token.run(compact),
                None => compact(),
            };
            // the writer may be gone; then it deletes nothing of ours, so we do
            if let Err(unsent) = sender.send(result)
                && let Ok(result) = unsent.into_inner()
            {
                delete_compacted(&ctx, &bucket, &result);
            }
        };
        self.running = Some(receiver);
        if self.resources.threads == 0 {
            work();
            return Ok(());
        }
        let started = thread::Builder::new().name("siltstone-compact".to_owned()).spawn(work);
        started.map(|_| ()).map_err(|e| {
            self.running = None;
            Error::new(ErrorKind::Storage, "no thread could be started for a compaction").caused_by(e)
        })
    }

    /// Compacts until level 0 is empty, where that is asked for.
    pub(crate) fn drain_level0(&mut self) -> Result<()> {
        let o = &self.ctx.options;
        if !o.needs_lookup() || o.lookup_compact == LookupCompact::Gentle {
            return Ok(());
        }
        while self.levels.has_level0() {
            self.start(false)?;
            if self.running.is_none() {
                break;
            }
            self.wait()?;
        }
        Ok(())
    }

    pub(crate) fn wait(&mut self) -> Result<()> {
        self.take_finished(true)
    }

    /// Takes over the result of the running compaction, if it is there or `wait` says to wait for it.
    pub(crate) fn take_finished(&mut self, wait: bool) -> Result<()> {
        let Some(receiver) = &self.running else { return Ok(()) };
        let result = if wait {
            cancel::wait(receiver)?
                .unwrap_or_else(|| Err(Error::new(ErrorKind::Internal, "a compaction thread stopped unexpectedly")))
        } else {
            match receiver.try_recv() {
                Ok(result) => result,
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => {
                    Err(Error::new(ErrorKind::Internal, "a compaction thread stopped unexpectedly"))
                }
            }
        };
        self.running = None;
        let result = match result {
            Err(error) if self.gives_up(&error) => {
                self.give_up(error);
                return Ok(());
            }
            result => result?,
        };
        let kept = |file: &&DataFileMeta| result.compact_after.iter().any(|f| f.file_name == file.file_name);
        if let Some(cache) = &self.resources.cache {
            cache.forget(result.compact_before.iter().filter(|file| !kept(file)));
        }
        self.levels.update(&result.compact_before, &result.compact_after)?;
        self.add(result);
        Ok(())
    }

    /// Adds a finished compaction to what the next commit gets. A file that an earlier compaction of this commit
    /// made and this one consumed was never visible: it is deleted, unless it only changed levels.
    fn add(&mut self, result: CompactIncrement) {
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
                delete_unused(&self.ctx, &self.bucket.partition, self.bucket.bucket, &file);
            }
        }
        self.compacted.compact_after.extend(result.compact_after);
        self.compacted.changelog_files.extend(result.changelog_files);
        // what is in level 0 now has come while it ran, and is newer
        let newer = self.levels.files().into_iter().filter(|file| file.level == 0);
        let newer: Vec<String> = newer.map(|file| file.file_name.clone()).collect();
        self.compacted.dropped.extend(result.dropped.into_iter().map(|mut dropped| {
            dropped.known.extend_from_slice(&newer);
            dropped
        }));
        if let Some(newer) = result.index_files.into_iter().last() {
            if let (Some(vectors), Some(older)) = (&self.resources.vectors, self.compacted.index_files.pop()) {
                vectors.delete(&older);
            }
            self.compacted.index_files = vec![newer];
        }
    }

    /// Whether a file is gone that this writer did not make itself, or the table was altered, or old rows are to blame.
    fn gives_up(&self, error: &Error) -> bool {
        let made = self.compacted.compact_after.iter().map(|file| &file.file_name);
        let own = self.added.iter().chain(made).map(String::as_str);
        error.kind() == ErrorKind::CommitConflict || error.is_about_stored_values() || error.misses_file_but(own)
    }

    /// Rows stay where the flushes have put them; what compactions made of them since the last commit is deleted.
    fn give_up(&mut self, error: Error) {
        delete_compacted(&self.ctx, &self.bucket, &std::mem::take(&mut self.compacted));
        self.stale = true;
        self.given_up = Some(error);
    }

    /// Why compactions were given up since the last call. It is up to the caller to find out whether the file is missed.
    pub(crate) fn take_given_up(&mut self) -> Option<Error> {
        self.given_up.take()
    }

    /// A compaction is running or finished but not yet handed over.
    pub(crate) fn is_compacting(&self) -> bool {
        self.running.is_some() || self.compacted != CompactIncrement::default()
    }

    /// Names of the bucket's files as this writer knows them.
    pub(crate) fn file_names(&self) -> Vec<String> {
        self.levels.files().into_iter().map(|file| file.file_name.clone()).collect()
    }

    /// Asks a running compaction to stop: nobody wants its result.
    pub(crate) fn stop(&self) {
        self.token.cancel();
    }

    /// What compactions changed since the last call.
    pub(crate) fn take(&mut self) -> CompactIncrement {
        self.added.clear();
        let mut compact = std::mem::take(&mut self.compacted);
        if let (Some(vectors), Some(new)) = (&self.resources.vectors, compact.index_files.pop()) {
            compact.index_files = vectors.replacing(new);
        }
        compact
    }

    /// Whether compactions were given up, and none runs any more.
    pub(crate) fn is_overtaken(&self) -> bool {
        self.stale && self.running.is_none()
    }

    /// Goes on counting where another writer of the bucket stopped.
    pub(crate) fn continuing(self, other: &Self) -> Self {
        Self { last_full: other.last_full, passed_over: other.passed_over, ..self }
    }

    /// Stops, and deletes what compactions made since the last hand-over.
    pub(crate) fn abort(&mut self) {
        self.stop();
        if let Err(error) = self.wait() {
            tracing::debug!(%error, "the compaction of an aborted writer failed");
        }
        delete_compacted(&self.ctx, &self.bucket, &self.compacted);
    }
}
