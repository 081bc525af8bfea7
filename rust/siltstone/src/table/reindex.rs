//! Indexes of files that are there already.

use std::{cell::RefCell, collections::HashSet};

use super::{CommitReport, Table};
use crate::{
    Error, ErrorKind, Result, cancel,
    commit::{Committable, CompactionOutcome, check_place},
    io::{TableContext, has_index, reindexed},
    maintenance::automatic::Committer,
    manifest::{BucketId, CompactIncrement, DataFileMeta, DataIncrement, ManifestEntry},
    merge_tree::numbers_meet,
    predicate::Predicate,
    scan::{EntryFilter, PartitionSpec, bucket_vectors, live_entries, overtaken::at_newest, partition_spec},
    schema::file_indexes,
    snapshot::{RemovedSnapshot, Snapshot},
    wire::CommitMessage,
};

/// How often it is done when others compact the same files meanwhile.
const TRIES: usize = 5;

impl Table {
    /// Gives all data files, or those of some partitions, the indexes that the options ask for now, as one COMPACT commit that
    /// writes no rows. Files of tables without such options lose theirs. Of tables without a primary key, files whose rows vectors
    /// delete stay as they are: whoever replaces such a file must replace its vector. So do files that wait for buckets, and files
    /// of level 0 whose order tells which of equal rows stays. The report counts them.
    ///
    /// # Errors
    /// `CommitConflict` when others compact the same files again and again.
    pub fn rewrite_file_index(&self, partitions: Option<&[PartitionSpec]>) -> Result<CommitReport> {
        self.check_writable()?;
        self.check_latest("indexed")?;
        let ctx = self.context();
        let specs = partitions.map(|all| all.iter().map(|spec| partition_spec::predicate(ctx, spec)).collect());
        let specs: Option<Vec<Predicate>> = specs.transpose()?;
        let filter = EntryFilter { partition_predicate: specs.map(Predicate::Or), ..EntryFilter::default() };
        let mut tries = 1;
        loop {
            match self.reindex_once(&filter) {
                Err(error) if error.kind() == ErrorKind::CommitConflict && tries < TRIES => {
                    tracing::info!(table = ctx.name, %error, "files are indexed again");
                    tries += 1;
                }
                done => return done,
            }
        }
    }

    fn reindex_once(&self, filter: &EntryFilter) -> Result<CommitReport> {
        let ctx = self.context();
        let made = RefCell::new(Vec::new());
        let planned = at_newest(ctx, |newest| match newest {
            Some(newest) => messages(ctx, newest, filter, &made),
            None => Ok((Vec::new(), Unchanged::default())),
        });
        let (messages, unchanged) = planned.inspect_err(|_| give_up(ctx, &made.borrow()))?;
        check_place(ctx).inspect_err(|_| give_up(ctx, &made.borrow()))?;
        let notes = notes(&messages, unchanged);
        if messages.is_empty() {
            return Ok(CommitReport { notes, ..CommitReport::default() });
        }
        let committable = Committable { messages: messages.clone(), ..Committable::default() };
        let outcome = Committer::with_new_user(ctx).commit(committable)?;
        match outcome.compaction {
            CompactionOutcome::Dropped(error) => {
                give_up(ctx, &made.borrow());
                Err(Error::new(ErrorKind::CommitConflict, "others have replaced files while they were indexed")
                    .with("table", &ctx.name)
                    .caused_by(error))
            }
            CompactionOutcome::Failed(error) => Err(error),
            _ => {
                let mut report = CommitReport::new(ctx, &messages, outcome);
                report.notes.extend(notes);
                Ok(report)
            }
        }
    }
}

/// How many files stay as they are.
#[derive(Clone, Copy, Debug, Default)]
struct Unchanged {
    /// for being as the options ask
    as_wanted: usize,
    /// for their vectors
    with_vector: usize,
    /// for having no bucket yet
    waiting: usize,
    /// for their place among those of level 0
    in_order: usize,
}

/// What became of the files, in words.
fn notes(messages: &[CommitMessage], unchanged: Unchanged) -> Vec<String> {
    let new = messages.iter().flat_map(|message| &message.compact.compact_after);
    let (with, without): (Vec<_>, Vec<_>) = new.partition(|file| has_index(file));
    let counted = [
        (with.len(), "files got indexes"),
        (without.len(), "files lost the indexes they had: the options ask for none"),
        (unchanged.as_wanted, "files have the indexes that the options ask for already"),
        (unchanged.with_vector, "files whose rows deletion vectors delete keep the indexes they have: compact them"),
        (unchanged.waiting, "files wait for buckets: the indexes that the options ask for come with those"),
        (unchanged.in_order, "files of several jobs keep their order, and the indexes they have: compact them"),
    ];
    let notes: Vec<String> =
        counted.iter().filter(|(files, _)| *files > 0).map(|(files, text)| format!("{files} {text}")).collect();
    if notes.is_empty() { vec!["the table has no files whose indexes could change".to_owned()] } else { notes }
}

/// One message a bucket; `made` gets the index files that were written.
fn messages(
    ctx: &TableContext,
    snapshot: &Snapshot,
    filter: &EntryFilter,
    made: &RefCell<Vec<String>>,
) -> Result<(Vec<CommitMessage>, Unchanged)> {
    let wanted = !file_indexes(&ctx.schema, &ctx.options.raw)?.is_empty();
    let is_concerned = |entry: &ManifestEntry| wanted || has_index(&entry.file);
    let mut unchanged = Unchanged::default();
    let (mut entries, waiting): (Vec<_>, Vec<_>) =
        live_entries(ctx, snapshot, filter)?.into_iter().partition(|entry| entry.bucket >= 0);
    unchanged.waiting = waiting.iter().filter(|entry| is_concerned(entry)).count();
    if !ctx.schema.has_primary_key() {
        let vectors = bucket_vectors(ctx, snapshot)?;
        let ranges = vectors.values().flatten().flat_map(|entry| entry.deletion_vectors.iter().flatten());
        let with_vector: HashSet<&str> = ranges.map(|range| range.data_file_name.as_str()).collect();
        entries.retain(is_concerned);
        let before = entries.len();
        entries.retain(|entry| !with_vector.contains(entry.file.file_name.as_str()));
        unchanged.with_vector = before - entries.len();
    }
    entries.sort_by(|a, b| (&a.partition, a.bucket).cmp(&(&b.partition, b.bucket)));
    let mut messages: Vec<CommitMessage> = Vec::new();
    for of_bucket in entries.chunk_by(|a, b| (&a.partition, a.bucket) == (&b.partition, b.bucket)) {
        let mut files = Vec::new();
        for entry in of_bucket {
            cancel::check()?;
            let ManifestEntry { partition, bucket, file: old, .. } = entry;
            let mut file = Reindexed { old, new: None, path: None };
            if is_concerned(entry) {
                let (new, path) = reindexed(ctx, (partition, *bucket), old)?;
                made.borrow_mut().extend(path.clone());
                file.path = path;
                file.new = Some(new).filter(|new| new != old);
                unchanged.as_wanted += usize::from(file.new.is_none());
            }
            files.push(file);
        }
        if ctx.schema.has_primary_key() {
            unchanged.in_order += keep_order(ctx, &mut files);
        }
        let replaced: Vec<_> = files.into_iter().filter_map(|file| Some((file.old.clone(), file.new?))).collect();
        if let (Some(first), false) = (of_bucket.first(), replaced.is_empty()) {
            messages.push(message(first, snapshot, replaced));
        }
    }
    Ok((messages, unchanged))
}

/// A file, and the same one with other indexes, or none, where that is something else.
struct Reindexed<'e> {
    old: &'e DataFileMeta,
    new: Option<DataFileMeta>,
    /// Of the new index, where it is a file.
    path: Option<String>,
}

/// A file that is replaced comes behind all that stay. Where the order of level 0 tells which of equal rows stays
/// (`merge_tree::ties`), the files of other jobs among them, it is left as it is. Returns how many are.
fn keep_order(ctx: &TableContext, files: &mut [Reindexed<'_>]) -> usize {
    let (mut staying, mut left): (Vec<&DataFileMeta>, usize) = (Vec::new(), 0);
    for file in files.iter_mut().rev().filter(|file| file.old.level <= 0) {
        if staying.iter().any(|other| numbers_meet(other, file.old)) && file.new.take().is_some() {
            give_up(ctx, file.path.as_slice());
            left += 1;
        }
        if file.new.is_none() {
            staying.push(file.old);
        }
    }
    left
}

fn message(of: &ManifestEntry, snapshot: &Snapshot, replaced: Vec<(DataFileMeta, DataFileMeta)>) -> CommitMessage {
    let (compact_before, compact_after) = replaced.into_iter().unzip();
    CommitMessage {
        bucket: BucketId { partition: of.partition.clone(), bucket: of.bucket },
        total_buckets: of.total_buckets,
        data: DataIncrement::default(),
        compact: CompactIncrement { compact_before, compact_after, ..CompactIncrement::default() },
        seen: Some(RemovedSnapshot { commit: None, ..RemovedSnapshot::from(snapshot) }.into()),
        after: None,
        assigned: None,
    }
}

/// Deletes index files that nothing refers to; errors are logged, not returned.
fn give_up(ctx: &TableContext, made: &[String]) {
    for path in made {
        if let Err(error) = ctx.fs.delete(path) {
            tracing::warn!(path, %error, "an unused index file was not deleted");
        }
    }
}
