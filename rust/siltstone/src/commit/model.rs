//! What a commit is asked for, and what came of it.

use std::collections::{BTreeMap, HashSet};

use crate::{
    error::Error,
    io::TableContext,
    manifest::DataFileMeta,
    predicate::Predicate,
    scan::PartitionSpec,
    snapshot::{BATCH_COMMIT_IDENTIFIER, RemovedSnapshot, Snapshot},
    wire::CommitMessage,
};

/// The version that a statement has read; `None`: the table had none.
pub type ReadVersion = Option<RemovedSnapshot>;

/// One logical commit.
#[derive(Clone, Debug, Default)]
pub struct Committable {
    /// Explicit identifiers make a commit repeatable: one that the user has already committed is
    /// not committed again. `None` takes the next free identifier and is never skipped.
    pub identifier: Option<i64>,
    /// Event time up to which the input is complete, epoch milliseconds.
    pub watermark: Option<i64>,
    /// Snapshot properties.
    pub properties: BTreeMap<String, String>,
    /// What writers and compactions hand over.
    pub messages: Vec<CommitMessage>,
    /// Make a snapshot although there is nothing to commit.
    pub allow_empty: bool,
    /// Check also plain appends against the live files (recovery of a job that may have half-committed).
    pub check_append: bool,
    /// The rows were read from this version: they must be what they were. `None`: none were.
    pub read: Option<ReadVersion>,
    /// Of the rows that were read: what is committed relies on their presence, or on their absence.
    pub looked_for: Option<Predicate>,
}

impl Committable {
    /// Whether it stands for itself; streams number their commits.
    pub(crate) fn is_batch(&self) -> bool {
        self.identifier.is_none_or(|id| id == BATCH_COMMIT_IDENTIFIER)
    }
}

/// What an overwrite replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OverwriteTarget {
    /// The partitions that the new files are in; without new files nothing happens.
    Dynamic,
    /// Every partition that matches; the new files must match too. Empty: the whole table.
    Static(PartitionSpec),
    /// Exactly these partitions (serialized rows), also those that no new file is in.
    Partitions(HashSet<Vec<u8>>),
}

/// What became of the compaction that came with a commit.
#[derive(Debug, Default)]
pub enum CompactionOutcome {
    /// There was none.
    #[default]
    None,
    /// It has its own snapshot, or is part of the overwrite's.
    Committed,
    /// Other commits changed the files it replaces: it was given up and its files deleted, unless its messages were handed out.
    /// The rows are committed.
    Dropped(Error),
    /// The storage failed or the retries were used up; its files stay. The rows are committed.
    Failed(Error),
}

/// What a commit did.
#[derive(Debug, Default)]
pub struct CommitOutcome {
    /// The snapshots made, in order: APPEND or OVERWRITE, then COMPACT. Empty when there was nothing to commit.
    pub snapshots: Vec<Snapshot>,
    /// The identifier had been committed by this user before; nothing was done.
    pub already_committed: bool,
    /// Files of an overwrite that came above level 0 at once.
    pub visible: HashSet<String>,
    /// What became of the compaction.
    pub compaction: CompactionOutcome,
    /// How often a snapshot was tried.
    pub attempts: u32,
    /// What followed the commit and failed: automatic tags, expiry. The commit stands.
    pub notes: Vec<String>,
}

/// Whether who opens the table now leaves level 0 out. The handle may be older than the alter that says so: the snapshot has the
/// schema that was the newest one.
fn readers_skip_level0(ctx: &TableContext, outcome: &CommitOutcome) -> bool {
    let newer = outcome.snapshots.last().filter(|snapshot| snapshot.schema_id != ctx.schema.id);
    let of_newer = |snapshot: &Snapshot| ctx.with_options_of(&*ctx.schemas.get(snapshot.schema_id)?);
    match newer.map(of_newer) {
        Some(Ok(newer)) => newer.options.skips_level0(),
        None | Some(Err(_)) => ctx.options.skips_level0(),
    }
}

/// Rows of committed messages that no batch reader shows before a compaction: those that wait in level 0 of a table whose
/// readers leave it out, and those that wait for buckets.
pub fn invisible_rows(ctx: &TableContext, messages: &[CommitMessage], outcome: &CommitOutcome) -> i64 {
    let postponed = messages.iter().filter(|message| message.bucket.bucket < 0).flat_map(|m| &m.data.new_files);
    let postponed = crate::limits::sum(postponed.map(|file| file.row_count));
    if postponed > 0 || ctx.schema.primary_keys.is_empty() || !readers_skip_level0(ctx, outcome) {
        return postponed;
    }
    let compacted = matches!(outcome.compaction, CompactionOutcome::Committed);
    // a later message may have compacted what an earlier one brought
    let before = messages.iter().filter(|_| compacted).flat_map(|m| &m.compact.compact_before);
    let before: HashSet<&str> = before.map(|file| file.file_name.as_str()).collect();
    let waits =
        |file: &&DataFileMeta| !before.contains(file.file_name.as_str()) && !outcome.visible.contains(&file.file_name);
    let files = messages.iter().flat_map(|m| &m.data.new_files).filter(waits);
    files.map(|file| file.row_count).fold(0, i64::saturating_add)
}
