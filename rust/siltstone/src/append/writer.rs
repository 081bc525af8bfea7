//! The writer of one bucket of an append table.

use arrow_array::RecordBatch;

use super::{bucketed::BucketQueue, deletion_maintainer::AppendVectors, rewrite::rewrite};
use crate::{
    deletion_vectors::DeletionMap,
    error::{Error, ErrorKind, Result},
    io::{FileWriteSpec, InOrder, TableContext, numbers_used_up},
    manifest::{BucketId, CompactIncrement, DataFileMeta, DataIncrement, FileSource},
};

/// Files a full compaction inside the writer must have.
const FULL_COMPACTION_FILES: usize = 3;

/// Mode of an [`AppendWriter`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppendSettings {
    /// Compact small files of the bucket before a commit (fixed buckets that are not write-only).
    pub compact: bool,
    /// Threads for compaction.
    pub threads: usize,
    /// Encoded bytes that are held at most; `None`: as many as the options say.
    pub memory: Option<usize>,
}

/// Writes rows in their order; row numbers of the bucket continue from the restored files.
pub struct AppendWriter {
    ctx: TableContext,
    bucket: BucketId,
    next_sequence: i64,
    rows: InOrder,
    new_files: Vec<DataFileMeta>,
    queue: Option<BucketQueue>,
    full_requested: bool,
    threads: usize,
    memory: Option<usize>,
    vectors: Option<AppendVectors>,
    /// Why compactions were given up.
    given_up: Option<Error>,
    /// They were: nothing is compacted any more, another writer has to go on.
    stale: bool,
}

impl AppendWriter {
    /// A writer after the live files of the bucket (none for unaware buckets).
    pub fn new(ctx: &TableContext, bucket: BucketId, restored: Vec<DataFileMeta>, settings: &AppendSettings) -> Self {
        let next_sequence = restored.iter().map(|f| f.max_sequence_number.saturating_add(1)).max().unwrap_or(0);
        Self {
            ctx: ctx.clone(),
            rows: InOrder::new(ctx, bucket.clone()),
            bucket,
            next_sequence,
            new_files: Vec::new(),
            queue: settings.compact.then(|| BucketQueue::new(&ctx.options, restored)),
            full_requested: false,
            threads: settings.threads,
            memory: settings.memory,
            vectors: None,
            given_up: None,
            stale: false,
        }
    }

    /// With the deletion vectors of the restored files, which compaction applies.
    #[must_use]
    pub fn with_vectors(self, vectors: Option<AppendVectors>) -> Self {
        Self { vectors, ..self }
    }

    /// Appends rows: all table columns in schema order.
    pub fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        let count = i64::try_from(rows.num_rows())
            .map_err(|e| Error::new(ErrorKind::InvalidArgument, "a batch has too many rows").caused_by(e))?;
        let first = self.next_sequence;
        self.next_sequence = first.checked_add(count).ok_or_else(|| numbers_used_up(&self.ctx.name))?;
        self.rows.write(rows, || FileWriteSpec::append(first, FileSource::Append).within(self.memory))
    }

    /// Bytes of waiting rows, and what the encoder holds.
    pub fn memory_used(&self) -> usize {
        self.rows.memory_used()
    }

    /// Writes the waiting rows and closes the open file.
    pub fn flush(&mut self) -> Result<()> {
        let files = self.rows.finish()?;
        if let Some(queue) = &mut self.queue {
            for file in &files {
                queue.add(file.clone());
            }
        }
        self.new_files.extend(files);
        Ok(())
    }

    /// Asks for a compaction of everything small with the next commit; without `full` only what is due anyway.
    pub fn compact(&mut self, full: bool) {
        self.full_requested |= full;
    }

    /// Closes the open file, compacts what is due, and hands over what changed since the last call.
    pub fn prepare_commit(&mut self) -> Result<(DataIncrement, CompactIncrement)> {
        self.flush()?;
        let compact = match self.run_compaction() {
            Err(error) if self.gives_up(&error) => {
                // the restored files are not those of the table any more, or of a newer schema than this writer's
                (self.queue, self.vectors, self.given_up, self.stale) = (None, None, Some(error), true);
                CompactIncrement::default()
            }
            done => done?,
        };
        let new_files = std::mem::take(&mut self.new_files);
        Ok((DataIncrement { new_files, ..DataIncrement::default() }, compact))
    }

    /// Whether a file is gone that this writer did not make itself, or the table was altered, or old rows are to blame.
    fn gives_up(&self, error: &Error) -> bool {
        let own = self.new_files.iter().map(|file| file.file_name.as_str());
        error.kind() == ErrorKind::CommitConflict || error.is_about_stored_values() || error.misses_file_but(own)
    }

    /// Why compactions were given up since the last call. It is up to the caller to find out whether the file is missed.
    pub fn take_given_up(&mut self) -> Option<Error> {
        self.given_up.take()
    }

    /// Whether compactions were given up, and nothing waits to be handed over: another writer can go on.
    pub fn is_overtaken(&self) -> bool {
        self.stale && self.rows.is_empty() && self.new_files.is_empty()
    }

    /// Goes on counting rows where another writer of the bucket stopped.
    #[must_use]
    pub fn continuing(self, other: &Self) -> Self {
        Self { next_sequence: self.next_sequence.max(other.next_sequence), ..self }
    }

    fn run_compaction(&mut self) -> Result<CompactIncrement> {
        let full = std::mem::take(&mut self.full_requested);
        let Some(queue) = &mut self.queue else {
            return Ok(CompactIncrement::default());
        };
        let picked = if full { queue.pick_full(FULL_COMPACTION_FILES) } else { queue.pick() };
        let Some(before) = picked else {
            return Ok(CompactIncrement::default());
        };
        let deletions = match &mut self.vectors {
            Some(vectors) => vectors.of(&before)?,
            None => DeletionMap::default(),
        };
        let after = rewrite(&self.ctx, &self.bucket, &before, &deletions, self.threads)?;
        queue.finished(&after);
        let mut compact =
            CompactIncrement { compact_before: before, compact_after: after, ..CompactIncrement::default() };
        if let Some(vectors) = &mut self.vectors {
            compact.compact_before.iter().for_each(|file| vectors.remove(&file.file_name));
            match vectors.persist() {
                Ok(index_files) => compact.index_files = index_files,
                Err(error) => {
                    self.rows.delete(&compact.compact_after);
                    return Err(error);
                }
            }
        }
        Ok(compact)
    }

    /// Deletes every file written since the last [`AppendWriter::prepare_commit`].
    pub fn abort(mut self) {
        self.rows.abort(&self.new_files);
    }
}
