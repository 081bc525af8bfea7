//! From commit messages to snapshots: conflict checks, manifests, publishing, retry.
//!
//! ```text
//! messages ─ changes ─ squash ─ plan (overwrite, conflict, lookup_conflict, tied, dv_conflict, index_files) ─ write (merge) ─ fsync ─ publish (retry, outcome, place, standing, descent, user)
//! ```
//!
//! New input and compaction are two snapshots with two outcomes: a conflict of the compaction never loses rows.
//!
//! Source: semantics chapter e, format chapter 1.7; `FileStoreCommitImpl`, `ConflictDetection`.

mod abort;
mod assigned;
mod begun;
mod buckets;
mod changes;
mod columns;
mod conflict;
mod descent;
mod dropped;
mod dv_conflict;
mod fsync;
mod given;
mod handed_out;
mod identifier;
mod idle;
mod index_files;
pub mod invariants;
mod level_0;
mod lookup_conflict;
mod merge;
mod model;
mod moved_keys;
mod new_rows;
mod outcome;
mod overwrite;
mod place;
mod plan;
mod publish;
mod repeated;
mod request;
mod retry;
mod row_ids;
mod row_ranges;
mod squash;
mod standing;
mod statistics;
mod taken_back;
mod theirs;
mod tied;
mod undisturbed;
mod user;
mod write;

#[cfg(test)]
mod tests;

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

pub(crate) use assigned::key_hashes;
pub(crate) use fsync::sync_contents;
pub use model::{CommitOutcome, Committable, CompactionOutcome, OverwriteTarget, ReadVersion, invisible_rows};
pub use place::{check_place, explain_by_place, is_of_another, replaced};
pub(crate) use retry::Retry;

use self::{
    abort::{Made, Strays, Unused},
    begun::Begun,
    changes::{Collected, FileChanges},
    identifier::Identifier,
    overwrite::Partitions,
    plan::Source,
    publish::{Published, UnknownOutcome},
    request::{Request, Since},
    user::{Seen, UserHistory, newest_expired},
};
use crate::{
    cleanup::upkeep_lock,
    env::{ClockRef, new_uuid, system_clock},
    error::{Error, ErrorKind, Result},
    io::TableContext,
    manifest::{BucketId, EntryKind, ManifestEntry},
    scan::{PartitionSpec, overtaken::at_newest},
    snapshot::{CommitKind, RemovedSnapshot, Snapshot, SnapshotManager, UpkeepLock},
    wire::CommitMessage,
};

/// Commits to one table on behalf of one user.
#[derive(Debug)]
pub struct TableCommit {
    ctx: TableContext,
    snapshots: SnapshotManager,
    user: String,
    clock: ClockRef,
    history: Mutex<UserHistory>,
    doubts: Mutex<Vec<UnknownOutcome>>,
    begun: Mutex<Begun>,
}

/// How often an explicit identifier is looked for again because the version that had it was taken back.
const LOOKS: usize = 5;

/// Whether an explicit identifier is there already.
enum LookedUp {
    Committed,
    /// Not as far as the table was looked at; `None`: the identifier is not explicit.
    NotUpTo(Option<Seen>),
}

impl TableCommit {
    /// A committer of an existing user, whose earlier commits are looked up.
    pub fn new(context: &TableContext, commit_user: &str) -> Self {
        Self::with_history(context, commit_user.to_owned(), UserHistory::existing())
    }

    /// A committer of a user made just now (a new UUID), which cannot have committed before.
    pub fn with_new_user(context: &TableContext) -> Self {
        let user = match &context.options.commit_user_prefix {
            Some(prefix) => format!("{prefix}_{}", new_uuid()),
            None => new_uuid(),
        };
        Self::with_history(context, user, UserHistory::new_user())
    }

    fn with_history(context: &TableContext, user: String, history: UserHistory) -> Self {
        Self {
            ctx: context.clone(),
            snapshots: context.snapshots(),
            user,
            clock: system_clock(),
            history: Mutex::new(history),
            doubts: Mutex::default(),
            begun: Mutex::default(),
        }
    }

    /// Another clock, for the times of snapshots and the waits between tries.
    #[must_use]
    pub fn with_clock(self, clock: ClockRef) -> Self {
        Self { clock, ..self }
    }

    /// The table.
    pub(crate) fn context(&self) -> &TableContext {
        &self.ctx
    }

    /// Epoch milliseconds, by its clock.
    pub(crate) fn now_millis(&self) -> i64 {
        self.clock.now_millis()
    }

    /// The user.
    pub fn commit_user(&self) -> &str {
        &self.user
    }

    /// Commits new files (APPEND) and compactions (COMPACT), each with its own outcome.
    pub fn commit(&self, committable: Committable) -> Result<CommitOutcome> {
        let looked_up_to = match self.look_up(&committable)? {
            LookedUp::Committed => return Ok(already_committed()),
            LookedUp::NotUpTo(id) => id,
        };
        let since = Since::of(&committable);
        let Collected { append, compact } = self.collect(&committable.messages)?;
        let allow_empty = compact.is_empty() && self.allows_empty(&committable);
        if append.is_empty() && !allow_empty {
            let none = CommitOutcome::default();
            return match self.commit_compaction(&committable, &compact, none, looked_up_to, since.as_ref()) {
                // nothing else was to be done
                CommitOutcome { compaction: CompactionOutcome::Failed(error), .. } => Err(error),
                outcome => Ok(outcome),
            };
        }
        let kind = if append.takes_away() { CommitKind::Overwrite } else { CommitKind::Append };
        let request = Request { allow_empty, looked_up_to, ..request(&committable, kind, Source::Files(&append)) };
        let request = Request { read: committable.read.as_ref(), since: since.as_ref(), ..request };
        let published = self.publish(&request)?;
        if published.theirs {
            return Ok(already_committed());
        }
        Ok(self.commit_compaction(&committable, &compact, outcome_of(published), None, since.as_ref()))
    }

    /// Replaces partitions by new files.
    pub fn overwrite(&self, target: &OverwriteTarget, committable: Committable) -> Result<CommitOutcome> {
        let looked_up_to = match self.look_up(&committable)? {
            LookedUp::Committed => return Ok(already_committed()),
            LookedUp::NotUpTo(id) => id,
        };
        if committable.check_append {
            overwrite::check_files_exist(&self.ctx, &committable.messages)?;
        }
        let since = Since::of(&committable);
        let Collected { append: mut new, mut compact } = self.collect(&committable.messages)?;
        // what the writer took away goes anyway
        new.files.retain(|entry| entry.kind == EntryKind::Add);
        self.drop_changelog(&mut new);
        self.drop_changelog(&mut compact);
        let Some(partitions) = Partitions::of(&self.ctx, target, &new.files)? else {
            return Ok(CommitOutcome::default());
        };
        if compact.is_empty() {
            new.files = overwrite::upgraded(&self.ctx, new.files)?;
        }
        let folded = squash::squashed(&self.ctx, &new, &compact);
        let visible = visible(folded.as_ref().map_or(&new, |folded| &folded.changes));
        if let Some(folded) = &folded {
            new = folded.changes.clone();
            compact = FileChanges::default();
        }
        let source = Source::Overwrite { partitions: &partitions, new: &new };
        let allow_empty = self.allows_empty(&committable);
        let request = Request { allow_empty, looked_up_to, ..request(&committable, CommitKind::Overwrite, source) };
        let request = Request { read: committable.read.as_ref(), since: since.as_ref(), ..request };
        let published = self.publish(&request)?;
        if published.theirs {
            return Ok(already_committed());
        }
        if let Some(folded) = folded {
            // others, who have the same messages, may have committed them in another way
            if since.is_none() {
                folded.delete_replaced(&self.ctx);
            }
            return Ok(CommitOutcome { visible, compaction: CompactionOutcome::Committed, ..outcome_of(published) });
        }
        // its compaction looked at nothing but the new files, which are all there is since this snapshot
        if let Some(snapshot) = &published.snapshot {
            let buckets = compact.files.iter().map(|entry| (entry.partition.clone(), entry.bucket));
            let seen = crate::wire::Seen::from(RemovedSnapshot::from(snapshot));
            compact.seen = buckets.map(|(partition, bucket)| (BucketId { partition, bucket }, seen.clone())).collect();
        }
        let outcome = CommitOutcome { visible, ..outcome_of(published) };
        Ok(self.commit_compaction(&committable, &compact, outcome, None, since.as_ref()))
    }

    /// Deletes all rows, or those of the partitions that match any of the specifications.
    pub fn truncate(&self, partitions: Option<&[PartitionSpec]>) -> Result<CommitOutcome> {
        let partitions = self.partitions(partitions)?;
        let new = FileChanges::default();
        let source = Source::Overwrite { partitions: &partitions, new: &new };
        Ok(outcome_of(self.publish(&request(&Committable::default(), CommitKind::Overwrite, source))?))
    }

    /// Deletes all rows of these partitions (serialized rows).
    pub fn drop_partitions(&self, partitions: HashSet<Vec<u8>>) -> Result<CommitOutcome> {
        let partitions = Partitions::These(partitions);
        let new = FileChanges::default();
        let source = Source::Overwrite { partitions: &partitions, new: &new };
        Ok(outcome_of(self.publish(&request(&Committable::default(), CommitKind::Overwrite, source))?))
    }

    /// The files that [`TableCommit::truncate`] would take out of the table.
    pub fn plan_truncate(&self, partitions: Option<&[PartitionSpec]>) -> Result<Vec<ManifestEntry>> {
        let partitions = self.partitions(partitions)?;
        at_newest(&self.ctx, |newest| {
            newest.map_or_else(|| Ok(Vec::new()), |newest| partitions.replaced(&self.ctx, newest))
        })
    }

    /// Rewrites the manifests so that none holds a deleted entry; `None` when there is nothing to do.
    pub fn compact_manifests(&self) -> Result<Option<Snapshot>> {
        if self.snapshots.latest_id()?.is_none() {
            return Ok(None);
        }
        let nothing = Committable::default();
        let request = request(&nothing, CommitKind::Compact, Source::Manifests);
        Ok(self.publish(&request)?.snapshot)
    }

    /// Makes a snapshot of kind ANALYZE that names a statistics file and changes nothing else.
    pub fn commit_statistics(&self, name: &str) -> Result<Option<Snapshot>> {
        let none = FileChanges::default();
        let nothing = Committable::default();
        let request = request(&nothing, CommitKind::Analyze, Source::Files(&none));
        let request = Request { statistics: Some(name.to_owned()), allow_empty: true, ..request };
        Ok(self.publish(&request)?.snapshot)
    }

    /// Deletes the files of messages that were not committed. Files that a version refers to stay, whoever
    /// committed them.
    ///
    /// # Errors
    /// `UpkeepRunning`: versions, tags or branches of the table are being removed, so that nobody can tell which files stay;
    /// nothing was deleted.
    pub fn abort(&self, messages: &[CommitMessage]) -> Result<()> {
        self.delete_unused(&upkeep_lock(&self.ctx)?, messages, Made::All)
    }

    /// [`TableCommit::abort`] after a conflict, which waits for nobody. Files that cannot be deleted now stay until orphan files
    /// are removed.
    pub(crate) fn give_up(&self, messages: &[CommitMessage]) {
        self.delete_when_free(messages, Made::All);
    }

    fn delete_when_free(&self, messages: &[CommitMessage], made: Made) {
        let deleted = match UpkeepLock::try_take(&self.ctx.fs, &self.ctx.location) {
            Ok(Some(lock)) => self.delete_unused(&lock, messages, made),
            Ok(None) => Err(Error::new(ErrorKind::UpkeepRunning, "another operation removes versions of the table")),
            Err(e) => Err(e),
        };
        if let Err(error) = deleted {
            tracing::warn!(%error, table = self.ctx.name, "files of a commit that was given up stay until orphan files are removed");
        }
    }

    /// With the lock: a version, tag or branch that goes between two looks may have handed its files to one that was looked at
    /// before.
    fn delete_unused(&self, _lock: &UpkeepLock, messages: &[CommitMessage], made: Made) -> Result<()> {
        Unused::find(&self.ctx, &self.snapshots, messages, Strays::Count)?.delete(made, messages)
    }

    /// The COMPACT snapshot after the rows are safe.
    fn commit_compaction(
        &self,
        committable: &Committable,
        compact: &FileChanges,
        mut outcome: CommitOutcome,
        looked_up_to: Option<Seen>,
        since: Option<&Since>,
    ) -> CommitOutcome {
        if compact.is_empty() {
            return outcome;
        }
        let mut request = request(committable, CommitKind::Compact, Source::Files(compact));
        (request.looked_up_to, request.since) = (looked_up_to, since);
        if let (Some(append), Identifier::Next) = (outcome.snapshots.last(), request.identifier) {
            request.identifier = Identifier::Shared(append.commit_identifier);
        }
        outcome.compaction = match self.publish(&request) {
            Ok(published) if published.theirs => return already_committed(),
            Ok(published) => {
                outcome.attempts += published.attempts;
                outcome.snapshots.extend(published.snapshot);
                CompactionOutcome::Committed
            }
            Err(error) if error.kind() == ErrorKind::CommitConflict && !error.lets_files_stay() => {
                // others, who have the same messages, may be about to publish them
                if since.is_none() {
                    self.delete_when_free(&committable.messages, Made::ByCompactions);
                }
                CompactionOutcome::Dropped(error)
            }
            Err(error) => CompactionOutcome::Failed(error),
        };
        outcome
    }

    /// An overwrite has no changelog (semantics c.5).
    fn drop_changelog(&self, changes: &mut FileChanges) {
        if !changes.changelog.is_empty() {
            let files: Vec<&str> = changes.changelog.iter().map(|entry| entry.file.file_name.as_str()).collect();
            tracing::warn!(
                table = self.ctx.name,
                ?files,
                "an overwrite commits no changelog: readers of changes of these partitions miss it"
            );
            changes.changelog.clear();
        }
    }

    fn collect(&self, messages: &[CommitMessage]) -> Result<Collected> {
        messages.iter().try_for_each(|message| message.check_places(&self.ctx))?;
        let data = messages.iter().map(|message| &message.data);
        place::check_written_under(
            &self.ctx,
            data.flat_map(|data| data.new_files.iter().chain(&data.changelog_files)),
        )?;
        Ok(Collected::from(messages, self.ctx.options.manifest_delete_file_drop_stats))
    }

    /// Whether the user has committed this explicit identifier, or a later one.
    fn look_up(&self, committable: &Committable) -> Result<LookedUp> {
        let Identifier::Explicit(identifier) = Identifier::of(committable.identifier) else {
            return Ok(LookedUp::NotUpTo(None));
        };
        let mut cleared = false;
        for _ in 0..LOOKS {
            match self.look_once(identifier) {
                Ok(Some(found)) => return Ok(found),
                // one that came too late is none, and hides what is below it until it is gone
                Err(e) if e.kind() != ErrorKind::Storage => return Err(e),
                Err(e) if cleared => return Err(if standing::is_untold(&e) { e.hint(EXPIRE_FIRST) } else { e }),
                Ok(None) | Err(_) => {}
            }
            standing::clear_the_way(&self.ctx, &self.snapshots);
            cleared = true;
        }
        Err(standing::unseen(Identifier::Explicit(identifier)).in_table(&self.ctx.name))
    }

    /// `None`: what was found has been taken back meanwhile.
    fn look_once(&self, identifier: i64) -> Result<Option<LookedUp>> {
        let (removals, latest) = self.snapshots.latest_with_removals()?;
        let mut history = self.history();
        let found = history
            .newest(&self.snapshots, &self.user, &removals, latest.as_ref())
            .map_err(|e| e.in_table(&self.ctx.name))?;
        if let Some(found) = found.filter(|found| found.commit_identifier >= identifier)
            && !self.theirs_stays(found, &removals, latest.as_ref())?
        {
            return Ok(None);
        }
        let newest = found.map(|newest| newest.commit_identifier);
        let newest = if history.has_gap() {
            // what the user has committed since may have expired
            newest.max(newest_expired(&self.snapshots, &self.user, &removals, latest.as_ref())?)
        } else {
            newest
        };
        if newest.is_some_and(|newest| newest >= identifier) {
            // in a table that has taken the place of this one, it says nothing
            check_place(&self.ctx)?;
            return Ok(Some(LookedUp::Committed));
        }
        Ok(Some(LookedUp::NotUpTo(Some(Seen::of(&removals, latest.as_ref())))))
    }

    fn history(&self) -> MutexGuard<'_, UserHistory> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn allows_empty(&self, committable: &Committable) -> bool {
        let options = &self.ctx.options;
        committable.allow_empty
            || options.commit_force_create_snapshot
            || options.snapshot_ignore_empty_commit == Some(false)
    }

    fn partitions(&self, specs: Option<&[PartitionSpec]>) -> Result<Partitions> {
        specs.map_or(Ok(Partitions::All), |specs| Partitions::matching(&self.ctx, specs))
    }
}

/// A snapshot that no record is kept of any more stays until the next expiry.
const EXPIRE_FIRST: &str = "Look whether the rows are in the table. Where they are not, expire snapshots (t.expire_snapshots()), which removes what \
     came too late, and commit the same identifier again.";

fn request<'a>(committable: &'a Committable, kind: CommitKind, source: Source<'a>) -> Request<'a> {
    Request {
        kind,
        identifier: Identifier::of(committable.identifier),
        source,
        statistics: None,
        allow_empty: false,
        looked_up_to: None,
        committable,
        read: None,
        since: None,
    }
}

/// Names of the files that a commit adds above level 0.
fn visible(changes: &FileChanges) -> HashSet<String> {
    let above = changes.files.iter().filter(|entry| entry.kind == EntryKind::Add && entry.file.level > 0);
    above.map(|entry| entry.file.file_name.clone()).collect()
}

fn outcome_of(published: Published) -> CommitOutcome {
    let snapshots = published.snapshot.into_iter().collect();
    CommitOutcome { snapshots, attempts: published.attempts, ..CommitOutcome::default() }
}

fn already_committed() -> CommitOutcome {
    CommitOutcome { already_committed: true, ..CommitOutcome::default() }
}
