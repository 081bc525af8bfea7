//! Rows in, commit messages out: checks and converts input, routes it to one writer per bucket, and
//! hands over what the commit needs.
//!
//! ```text
//!   batch ─ pieces (texts that many rows share) ─ input (names, types, nulls, lengths, defaults) ─ kinds (+I -U +U -D, filters)
//!         ─ sketches (their bytes) ─ counted (function count) ─ route (partition, bucket) ─▶ one BucketWriter each ─ prepare_commit ─▶ CommitMessage
//! ```
//!
//! Source: semantics a.2 to a.4, a.10, a.11, b.1; `TableWriteImpl`, `AbstractFileStoreWrite`.

mod arrow_check;
mod bucket;
mod convert;
mod count_column;
mod cross_partition;
mod decimal;
mod dynamic;
mod given;
mod held;
mod input;
mod key_names;
#[cfg(test)]
mod lifecycle;
mod nested;
mod options;
mod pieces;
mod place;
mod postponed;
mod reopen;
mod restore;
mod retraction;
mod route;
mod row_kinds;
mod shared;
mod sketches;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};

use arrow_array::RecordBatch;
use rayon::prelude::*;

pub use self::{
    arrow_check::check_arrays,
    options::{RowKinds, WriteOptions},
    shared::{KeyColumns, SharedAssigner, SharedWrite, by_bucket},
};
use self::{
    bucket::BucketWriter,
    count_column::CountColumns,
    cross_partition::{IndexRoom, KeyAssigner},
    dynamic::Assigner,
    given::GivenBuckets,
    held::HeldMemory,
    input::Input,
    pieces::{parts, pieces},
    postponed::{PostponedWriter, cannot_compact, context_of_waiting_files},
    restore::{Found, Restored},
    route::{ByKey, Portion, Router},
    row_kinds::KindRules,
    sketches::SketchRules,
};
pub(crate) use self::{
    input::{Formats, convert_column},
    restore::other_bucket_count,
    route::copied,
};
use crate::{
    Error, ErrorKind, Result,
    append::{AppendSettings, AppendVectors, AppendWriter},
    cancel,
    io::{TableContext, batch_bytes, delete_compacted, delete_written},
    manifest::{BucketId, ManifestEntry},
    merge_tree::{BucketVectors, LookupCache, MergeTreeWriter, WriterSettings, compact::CompactionPermits},
    scan::overtaken::{again_when_overtaken, overtaken, replaced},
    schema::{EngineSpec, check_writable},
    threads::install,
    wire::{CommitMessage, Seen},
};

/// Most rows that are routed at once.
const CHUNK_ROWS: usize = 1 << 18;
/// A chunk of rows is at most this part of the memory budget.
const CHUNK_SHARE: usize = 4;

/// Writes rows of one table. A batch is checked completely before any of it is written, so after an
/// error about the input the writer goes on and the table is unchanged; of a batch whose texts come to more
/// than 64 MiB when each row has its own, each piece is. After any other error, or one behind the first piece,
/// it only takes [`TableWrite::abort`]. Dropping it deletes what was not handed out.
pub struct TableWrite {
    ctx: TableContext,
    input: Input,
    kinds: KindRules,
    sketches: SketchRules,
    counted: CountColumns,
    router: Router,
    /// Of files that wait for a compaction, on tables with postponed buckets.
    waiting: Option<TableContext>,
    options: WriteOptions,
    budget: usize,
    /// Encoded bytes that each file's writer holds at most, when there is a limit.
    encoded: Option<usize>,
    threads: usize,
    pool: Option<rayon::ThreadPool>,
    permits: CompactionPermits,
    cache: LookupCache,
    writers: BTreeMap<BucketId, BucketWriter>,
    /// The snapshot that each of them began with.
    base_snapshots: BTreeMap<BucketId, Seen>,
    /// Why the compaction of a bucket was given up: others have compacted its files, and they have expired; or others have
    /// altered the table.
    given_up: Option<Error>,
    /// Since the last `prepare_commit` nobody has looked whether writers that were overtaken can go on.
    overtaken: bool,
    failed: bool,
    /// Which made it. A child of a fork has a copy, whose files are not its own.
    process: u32,
}

impl TableWrite {
    /// A writer with no bucket open yet.
    pub fn new(ctx: &TableContext, options: WriteOptions) -> Result<Self> {
        // rows are encoded beside those that are buffered: a limit covers both, the option only the buffer
        let half = options.memory_limit.map(|limit| (limit / 2).max(1));
        let budget = half.unwrap_or(ctx.options.write_buffer_size);
        check_writable(&ctx.schema.with_options(&ctx.options.raw))?;
        let spec = EngineSpec::of(&ctx.schema, &ctx.options).map_err(|e| e.with("table", &ctx.name))?;
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = options.threads.unwrap_or_else(cores).max(1);
        let files = u64::try_from(open_files(ctx, threads)).unwrap_or(u64::MAX);
        let index = half.unwrap_or(ctx.options.lookup_cache_max_memory_size);
        let room =
            IndexRoom { memory: usize::try_from(index).unwrap_or(usize::MAX), spill_dir: options.spill_dir(), threads };
        // runs that were spilled are read beside it
        let encoded = half.map(|half| usize::try_from(half / 2 / files).unwrap_or(usize::MAX));
        Ok(Self {
            ctx: ctx.clone(),
            input: Input::new(&ctx.schema, &ctx.options, options.stored)?,
            kinds: KindRules::new(&ctx.schema, &ctx.options, &spec, options.moved)?,
            sketches: SketchRules::new(&ctx.schema, &spec),
            counted: CountColumns::new(&spec, options.moved),
            router: Router::new(&ctx.schema, &ctx.options, by_key(ctx, &options, room)?)?.held(options.held),
            waiting: context_of_waiting_files(ctx, &options.commit_user)?,
            budget: usize::try_from(budget).unwrap_or(usize::MAX),
            encoded,
            threads,
            options,
            pool: None,
            // a compaction merges on one thread and encodes on another
            permits: CompactionPermits::new(threads / 2),
            cache: LookupCache::new(ctx.options.lookup_cache_max_memory_size),
            writers: BTreeMap::new(),
            base_snapshots: BTreeMap::new(),
            given_up: None,
            overtaken: false,
            failed: false,
            process: std::process::id(),
        })
    }

    /// Writes a batch. Columns come in any order and any encoding that fits without loss; missing
    /// nullable columns become null or their default. `kinds` of `None` is `+I`; the table's
    /// `rowkind.field` wins over it. Returns how many rows were taken (filtered rows left out).
    pub fn write(&mut self, batch: &RecordBatch, kinds: Option<&RowKinds>) -> Result<usize> {
        self.write_from(batch, kinds, 0)
    }

    /// [`Self::write`] of a batch that has `before` rows of the same input in front of it: errors count from there.
    pub fn write_from(&mut self, batch: &RecordBatch, kinds: Option<&RowKinds>, before: usize) -> Result<usize> {
        self.check_open()?;
        let (mut start, mut taken) = (0, 0);
        for part in parts(batch) {
            let pieces = pieces(&part, before.saturating_add(start)).map_err(|e| e.with("table", &self.ctx.name));
            for piece in pieces.inspect_err(|_| self.failed |= start > 0)? {
                let of_piece = kinds.map(|kinds| kinds.slice(start, piece.num_rows(), batch.num_rows()));
                let written = self.write_piece(&piece, of_piece.as_ref(), before.saturating_add(start));
                taken += written.inspect_err(|_| self.failed |= start > 0)?;
                start += piece.num_rows();
            }
        }
        Ok(taken)
    }

    /// Whether rows since the last messages were left out because of keys in these: they are nowhere when those come to nothing.
    pub fn leaves_out_rows(&self) -> bool {
        self.router.leaves_out()
    }

    /// Says which bucket the next rows are of, to one of several writers of a job.
    pub fn next_bucket(&mut self, bucket: i32) {
        self.router.next_bucket(bucket);
    }

    fn write_piece(&mut self, batch: &RecordBatch, kinds: Option<&RowKinds>, before: usize) -> Result<usize> {
        // under a limit of everything, everything counts
        let held = self.options.held && self.encoded.is_none();
        let held = if held { HeldMemory::of(batch) } else { HeldMemory::default() };
        let rows = self.input.normalize(batch, before).map_err(|e| e.with("table", &self.ctx.name))?;
        let (rows, kinds, input) =
            self.kinds.apply(rows, kinds, before).map_err(|e| e.with("table", &self.ctx.name))?;
        self.sketches.check(&rows, &kinds, &input).map_err(|e| e.with("table", &self.ctx.name))?;
        let rows = self.counted.apply(rows)?;
        self.reopen_overtaken()?;
        let step = self.chunk_rows(&rows);
        let mut start = 0;
        while start < rows.num_rows() {
            let length = step.min(rows.num_rows() - start);
            cancel::check().inspect_err(|_| self.failed = start > 0)?;
            let portions = self.router.split(rows.slice(start, length), kinds.slice(start, length));
            let ready = portions.and_then(|portions| self.open_writers(&portions).map(|()| portions));
            let portions = ready.inspect_err(|_| self.failed = start > 0 || self.router.remembers())?;
            let written = self.write_portions(portions, &held).and_then(|()| self.balance_memory());
            written.inspect_err(|_| self.failed = true)?;
            start += length;
        }
        Ok(rows.num_rows())
    }

    /// Compacts the buckets that this writer has touched; the result comes with the next `prepare_commit`.
    pub fn compact(&mut self, full: bool) -> Result<()> {
        self.check_open()?;
        if self.waiting.is_some() {
            return Err(cannot_compact(&self.ctx));
        }
        self.reopen_overtaken()?;
        let done = self.writers.values_mut().try_for_each(|w| w.compact(full));
        done.inspect_err(|_| self.failed = true)
    }

    /// Compacts also buckets that no row came for.
    pub fn compact_buckets(&mut self, buckets: &[BucketId], full: bool) -> Result<()> {
        let portion = |bucket: &BucketId| !self.writers.contains_key(bucket);
        let untouched: Vec<BucketId> = buckets.iter().filter(|bucket| portion(bucket)).cloned().collect();
        let ctx = self.ctx.clone();
        again_when_overtaken(&ctx, || self.open_missing(untouched.iter()))?;
        self.compact(full)
    }

    /// Flushes everything, waits for compactions, and returns one message for each changed bucket, in
    /// (partition, bucket) order. The writer can go on after it.
    pub fn prepare_commit(&mut self) -> Result<Vec<CommitMessage>> {
        self.check_open()?;
        self.writers.values_mut().for_each(BucketWriter::put_off_no_more);
        self.prepare()
    }

    /// [`Self::prepare_commit`] for who commits at once and compacts after it: compactions of buckets that several write at
    /// once are left out. Whether some of them are due.
    pub fn prepare_rows(&mut self) -> Result<(Vec<CommitMessage>, bool)> {
        self.check_open()?;
        let messages = self.prepare()?;
        let put_off = self.writers.values_mut().any(BucketWriter::has_put_off);
        Ok((messages, put_off))
    }

    fn prepare(&mut self) -> Result<Vec<CommitMessage>> {
        let total_buckets = self.ctx.options.bucket;
        let all_seen = std::mem::take(&mut self.base_snapshots);
        let ctx = self.ctx.clone();
        let prepare = |(bucket, writer): (&BucketId, &mut BucketWriter)| {
            let (data, compact) = writer.prepare_commit()?;
            let seen = all_seen.get(bucket).cloned();
            let bucket_of = bucket.clone();
            let message =
                CommitMessage { bucket: bucket_of, total_buckets, data, compact, seen, after: None, assigned: None };
            match writer.take_given_up() {
                Some(error) if error.kind() == ErrorKind::CommitConflict || error.is_about_stored_values() => {
                    Ok((message, Some(error)))
                }
                Some(error) if !is_overtaken(&ctx, bucket, &error) => {
                    discard(&ctx, &message);
                    Err(error)
                }
                given_up => Ok((message, given_up.map(|error| replaced(&ctx, error)))),
            }
        };
        let prepared: Vec<Result<(CommitMessage, Option<Error>)>> = if self.in_parallel(self.writers.len()) {
            let writers: Vec<_> = self.writers.iter_mut().collect();
            let prepare = cancel::carried(prepare);
            let work = || writers.into_par_iter().map(prepare).collect();
            self.pool.as_ref().map_or_else(Vec::new, |pool| install(pool, work))
        } else {
            self.writers.iter_mut().map(prepare).collect()
        };
        self.base_snapshots = all_seen;
        let mut messages = Vec::with_capacity(prepared.len());
        let mut failure = None;
        for message in prepared {
            match message {
                Ok((message, given_up)) => {
                    messages.push(message);
                    self.given_up = given_up.or(self.given_up.take());
                }
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        if failure.is_none() {
            let pool = self.pool.as_ref().filter(|_| messages.len() > 1);
            failure = self.router.add_to(&mut messages, pool).err();
        }
        if let Some(error) = failure {
            self.failed = true;
            for message in &messages {
                discard(&self.ctx, message);
            }
            return Err(error);
        }
        self.overtaken = self.writers.values().any(BucketWriter::is_overtaken);
        messages.retain(|m| !m.is_empty());
        self.refresh_base(&mut messages);
        for message in &messages {
            if let Some(seen) = self.base_snapshots.get_mut(&message.bucket) {
                seen.made.extend(message.compact.compact_after.iter().map(|file| file.file_name.clone()));
            }
        }
        Ok(messages)
    }

    /// Where the snapshots have expired that tell what others brought since a bucket's files were looked at, its files are
    /// looked at again: a writer that knows all of them above level 0, and no others, has seen what there is now.
    fn refresh_base(&mut self, messages: &mut [CommitMessage]) {
        if !self.ctx.options.needs_lookup() || !self.looks_at_files() || self.ctx.schema.primary_keys.is_empty() {
            return;
        }
        let writers = &self.writers;
        let known = |message: &CommitMessage| {
            let own: HashSet<String> =
                writers.get(&message.bucket).map(BucketWriter::file_names).unwrap_or_default().into_iter().collect();
            let new = message.data.new_files.iter().chain(&message.compact.compact_after);
            let new: HashSet<&str> = new.map(|file| file.file_name.as_str()).collect();
            let there = own.iter().filter(|name| !new.contains(name.as_str())).cloned().collect();
            let before = message.compact.compact_before.iter().map(|file| file.file_name.clone());
            restore::Known { all: own.into_iter().chain(before).collect(), there }
        };
        match restore::seen_since(&self.ctx, messages, known) {
            Ok(Some((snapshot, buckets))) => {
                for message in messages.iter_mut().filter(|message| buckets.contains(&message.bucket)) {
                    let seen = Seen::from(snapshot.clone());
                    message.seen = Some(seen.clone());
                    self.base_snapshots.insert(message.bucket.clone(), seen);
                }
            }
            Ok(None) => {}
            // the commit may then give the compaction up, and says so
            Err(error) => {
                tracing::debug!(table = self.ctx.name, %error, "the files of a writer were not looked at again");
            }
        }
    }

    /// Why a compaction was given up since the last call, if one was: others had compacted the same files, and these have
    /// expired, or had altered the table. The rows are in the messages; they wait for a compaction of the table as it is now.
    pub fn take_given_up(&mut self) -> Option<Error> {
        self.given_up.take()
    }

    /// Closes the bucket writers: the next write looks at the live files of the then latest snapshot.
    /// Call it after a commit (never between `prepare_commit` and its commit).
    pub fn reset(&mut self) -> Result<()> {
        self.check_open()?;
        self.close_writers();
        self.router.reset();
        Ok(())
    }

    /// Messages that nobody got, because something failed after they were made: their files are deleted, and this writer does not
    /// go on without their rows.
    pub fn take_back(&mut self, messages: &[CommitMessage]) {
        self.failed = true;
        let _shield = cancel::shield();
        for message in messages {
            discard(&self.ctx, message);
        }
    }

    /// Deletes the files of everything not handed out by `prepare_commit`.
    pub fn abort(mut self) {
        self.close_writers();
    }

    fn close_writers(&mut self) {
        self.base_snapshots.clear();
        if self.process != std::process::id() {
            // the files are the parent's, and the threads did not come along
            std::mem::forget((std::mem::take(&mut self.writers), self.pool.take()));
            return;
        }
        // all of them first: one may wait for the permit of another
        self.writers.values().for_each(BucketWriter::stop);
        std::mem::take(&mut self.writers).into_values().for_each(BucketWriter::abort);
    }

    /// An error after one that was not about the input, and in another process.
    pub fn check_open(&self) -> Result<()> {
        if self.process != std::process::id() {
            return Err(Error::new(ErrorKind::InvalidArgument, "this writer belongs to the process that was forked")
                .with("table", &self.ctx.name)
                .hint("make a writer in the new process; commit this one in the process that made it"));
        }
        if !self.failed {
            return Ok(());
        }
        Err(Error::new(ErrorKind::InvalidArgument, "this writer failed before and cannot go on")
            .with("table", &self.ctx.name)
            .hint("abort it and write again with a new writer"))
    }

    /// Rows that are routed at once: a small part of the memory budget.
    fn chunk_rows(&self, rows: &RecordBatch) -> usize {
        let per_row = batch_bytes(rows) / rows.num_rows().max(1) + 1;
        (self.budget / CHUNK_SHARE / per_row).clamp(1024, CHUNK_ROWS)
    }

    /// Opens the writers that these rows need and that are not open yet. When the snapshot that was looked at expires
    /// meanwhile, the then latest is looked at.
    fn open_writers(&mut self, portions: &[Portion]) -> Result<()> {
        let ctx = self.ctx.clone();
        again_when_overtaken(&ctx, || self.open_missing(portions.iter().map(|portion| &portion.bucket)))
    }

    /// Opens what is not open yet, with one look at the snapshot.
    fn open_missing<'b>(&mut self, buckets: impl Iterator<Item = &'b BucketId>) -> Result<()> {
        let missing: Vec<&BucketId> = buckets.filter(|bucket| !self.writers.contains_key(bucket)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let looks = self.looks_at_files();
        let check = |entry: &ManifestEntry, index: Option<&str>| self.router.check(entry, index);
        let mut found = if looks { restore::live_files(&self.ctx, &missing, check)? } else { Found::default() };
        for bucket in missing {
            let writer = self.new_writer(bucket, found.buckets.remove(bucket).unwrap_or_default())?;
            self.writers.insert(bucket.clone(), writer);
            if looks {
                self.base_snapshots.insert(bucket.clone(), found.snapshot.clone().into());
            }
        }
        Ok(())
    }

    /// Whether new writers need the bucket's files: for sequence numbers, or for compaction.
    fn looks_at_files(&self) -> bool {
        let o = &self.ctx.options;
        if self.waiting.is_some() {
            return false;
        }
        if !self.ctx.schema.primary_keys.is_empty() {
            return !self.options.ignore_previous_files;
        }
        match o.bucket {
            -1 => false,
            _ if o.bucket_append_ordered => !self.options.ignore_previous_files,
            _ => !o.write_only && !self.options.ignore_previous_files,
        }
    }

    fn new_writer(&self, bucket: &BucketId, Restored { files, vectors }: Restored) -> Result<BucketWriter> {
        let o = &self.ctx.options;
        if let Some(ctx) = &self.waiting {
            let writer = PostponedWriter::new(ctx, bucket.clone(), self.encoded)?;
            return Ok(BucketWriter::Postponed(Box::new(writer)));
        }
        if self.ctx.schema.primary_keys.is_empty() {
            let compact = o.bucket > 0 && !o.write_only && !self.options.ignore_previous_files;
            let settings = AppendSettings { compact, threads: self.threads, memory: self.encoded };
            let restore = || AppendVectors::restore(&self.ctx, bucket, &vectors, &files);
            let vectors = compact.then(restore).transpose()?;
            let writer = AppendWriter::new(&self.ctx, bucket.clone(), files, &settings).with_vectors(vectors);
            return Ok(BucketWriter::Append(Box::new(writer)));
        }
        let settings = WriterSettings {
            budget: self.budget,
            encoded: self.encoded,
            spill_dir: o.write_buffer_spillable.then(|| self.options.spill_dir()),
            write_only: o.write_only,
            streaming: self.options.streaming,
            threads: self.threads - 1,
            permits: self.permits.clone(),
            cache: self.cache.clone(),
            ignore_previous: self.options.ignore_previous_files,
        };
        let vectors = BucketVectors::restore(&self.ctx, bucket, &vectors, &files)?;
        let writer = MergeTreeWriter::new(&self.ctx, bucket.clone(), files, settings)?;
        Ok(BucketWriter::Tree(Box::new(writer.with_vectors(vectors))))
    }

    fn write_portions(&mut self, portions: Vec<Portion>, held: &HeldMemory) -> Result<()> {
        if self.in_parallel(portions.len()) {
            let mut portions: HashMap<BucketId, Portion> =
                portions.into_iter().map(|p| (p.bucket.clone(), p)).collect();
            let pairs = self.writers.iter_mut().filter_map(|(b, w)| portions.remove(b).map(|p| (w, p)));
            let pairs: Vec<(&mut BucketWriter, Portion)> = pairs.collect();
            let write = cancel::carried(|(writer, p): (&mut BucketWriter, Portion)| {
                writer.write(&p.rows, &p.kinds, held.bytes_of(&p.rows))
            });
            let work = || pairs.into_par_iter().try_for_each(write);
            return self.pool.as_ref().map_or(Ok(()), |pool| install(pool, work));
        }
        for p in portions {
            if let Some(writer) = self.writers.get_mut(&p.bucket) {
                writer.write(&p.rows, &p.kinds, held.bytes_of(&p.rows))?;
            }
        }
        Ok(())
    }

    /// Lets the largest writers spill or flush until all of them together are within the budget.
    fn balance_memory(&mut self) -> Result<()> {
        loop {
            let used: usize = self.writers.values().map(BucketWriter::memory_used).sum();
            if used <= self.budget {
                return Ok(());
            }
            let Some(largest) = self.writers.values_mut().max_by_key(|w| w.memory_used()) else {
                return Ok(());
            };
            let before = largest.memory_used();
            largest.release_memory()?;
            if largest.memory_used() >= before {
                return Ok(());
            }
        }
    }

    /// Whether this many pieces of work are shared among threads; starts the pool with the first of them.
    fn in_parallel(&mut self, pieces: usize) -> bool {
        if self.threads < 2 || pieces < 2 {
            return false;
        }
        if self.pool.is_none() {
            self.pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build().ok();
        }
        // without threads to be had the work is done on the caller's
        self.pool.is_some()
    }
}

/// Who says which bucket a key is in, where an index of keys does.
fn by_key(ctx: &TableContext, options: &WriteOptions, room: IndexRoom) -> Result<Option<ByKey>> {
    if let Some(shared) = &options.shared {
        return Ok(Some(ByKey::Given(Box::new(GivenBuckets::new(ctx, shared.clone())))));
    }
    let replaces = options.ignore_previous_files;
    if let Some(keys) = KeyAssigner::of(ctx, replaces, room)? {
        return Ok(Some(ByKey::Keys(Box::new(keys))));
    }
    Ok(Assigner::of(ctx, replaces).map(|assigner| ByKey::Assigner(Box::new(assigner))))
}

/// Files that are encoded at once: of as many buckets as there are threads, and of a compaction beside.
fn open_files(ctx: &TableContext, threads: usize) -> usize {
    let one = ctx.options.bucket == 1 && ctx.schema.partition_keys.is_empty();
    let compacting = usize::from(!ctx.options.write_only && ctx.schema.has_primary_key() && threads > 1);
    if one { 1 + compacting } else { threads + compacting }
}

impl Drop for TableWrite {
    fn drop(&mut self) {
        self.close_writers();
    }
}

/// Whether a restored file is gone because others were quicker. When that cannot be found out, it is damage.
fn is_overtaken(ctx: &TableContext, bucket: &BucketId, error: &Error) -> bool {
    overtaken(ctx, Some(bucket), error).unwrap_or_else(|e| {
        tracing::warn!(table = ctx.name, error = %e, "it was not found out whether a missing file is missed");
        false
    })
}

/// Deletes the new files of a message that will not be committed.
fn discard(ctx: &TableContext, message: &CommitMessage) {
    delete_written(ctx, &message.bucket, &message.data);
    delete_compacted(ctx, &message.bucket, &message.compact);
}
