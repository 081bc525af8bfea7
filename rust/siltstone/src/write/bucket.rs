//! One bucket's writer, of either kind of table.

use arrow_array::{Int8Array, RecordBatch};

use super::postponed::PostponedWriter;
use crate::{
    Error, Result,
    append::AppendWriter,
    manifest::{CompactIncrement, DataIncrement},
    merge_tree::MergeTreeWriter,
};

/// The writer of one bucket.
pub(super) enum BucketWriter {
    /// primary-key table
    Tree(Box<MergeTreeWriter>),
    /// append table
    Append(Box<AppendWriter>),
    /// rows that wait for buckets
    Postponed(Box<PostponedWriter>),
}

impl BucketWriter {
    /// Of the memory of the rows so many bytes are held by whoever gave them.
    pub(super) fn write(&mut self, rows: &RecordBatch, kinds: &Int8Array, held: usize) -> Result<()> {
        match self {
            Self::Tree(w) => w.write_held(rows, kinds, held),
            Self::Append(w) => w.write(rows),
            Self::Postponed(w) => w.write(rows, kinds),
        }
    }

    pub(super) fn memory_used(&self) -> usize {
        match self {
            Self::Tree(w) => w.memory_used(),
            Self::Append(w) => w.memory_used(),
            Self::Postponed(w) => w.memory_used(),
        }
    }

    pub(super) fn release_memory(&mut self) -> Result<()> {
        match self {
            Self::Tree(w) => w.release_memory(),
            Self::Append(w) => w.flush(),
            Self::Postponed(w) => w.flush(),
        }
    }

    pub(super) fn compact(&mut self, full: bool) -> Result<()> {
        match self {
            Self::Tree(w) => w.compact(full),
            Self::Append(w) => {
                w.compact(full);
                Ok(())
            }
            // `TableWrite::compact` says so
            Self::Postponed(_) => Ok(()),
        }
    }

    pub(super) fn prepare_commit(&mut self) -> Result<(DataIncrement, CompactIncrement)> {
        match self {
            Self::Tree(w) => w.prepare_commit(true),
            Self::Append(w) => w.prepare_commit(),
            Self::Postponed(w) => w.prepare_commit(),
        }
    }

    /// Compactions come with the next commit, whoever writes the bucket beside it.
    pub(super) fn put_off_no_more(&mut self) {
        if let Self::Tree(w) = self {
            w.put_off_no_more();
        }
    }

    /// Whether a compaction is due that is better done once the rows are committed.
    pub(super) fn has_put_off(&mut self) -> bool {
        match self {
            Self::Tree(w) => w.has_put_off(),
            Self::Append(_) | Self::Postponed(_) => false,
        }
    }

    /// Why compactions were given up since the last call: a restored file was gone.
    pub(super) fn take_given_up(&mut self) -> Option<Error> {
        match self {
            Self::Tree(w) => w.take_given_up(),
            Self::Append(w) => w.take_given_up(),
            Self::Postponed(_) => None,
        }
    }

    /// Whether compactions were given up because others had compacted the bucket's files, and nothing waits to be handed
    /// over.
    pub(super) fn is_overtaken(&self) -> bool {
        match self {
            Self::Tree(w) => w.is_overtaken(),
            Self::Append(w) => w.is_overtaken(),
            Self::Postponed(_) => false,
        }
    }

    /// Goes on counting where another writer of the bucket stopped.
    pub(super) fn continuing(self, other: &Self) -> Self {
        match (self, other) {
            (Self::Tree(w), Self::Tree(other)) => Self::Tree(Box::new(w.continuing(other))),
            (Self::Append(w), Self::Append(other)) => Self::Append(Box::new(w.continuing(other))),
            (writer, _) => writer,
        }
    }

    /// Names of the files that a compaction may look into.
    pub(super) fn file_names(&self) -> Vec<String> {
        match self {
            Self::Tree(w) => w.file_names(),
            Self::Append(_) | Self::Postponed(_) => Vec::new(),
        }
    }

    /// Nobody wants what is being compacted.
    pub(super) fn stop(&self) {
        match self {
            Self::Tree(w) => w.stop(),
            Self::Append(_) | Self::Postponed(_) => {}
        }
    }

    pub(super) fn abort(self) {
        match self {
            Self::Tree(w) => w.abort(),
            Self::Append(w) => w.abort(),
            Self::Postponed(w) => w.abort(),
        }
    }
}
