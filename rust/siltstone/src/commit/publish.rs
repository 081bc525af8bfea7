//! One snapshot: try, lose the race, try again, until it is published or known not to be.
//!
//! ```text
//! before publishing   an error ends the commit; what this commit wrote is deleted
//! race lost           what belongs to the try is deleted; manifests of the changes are used again
//! replaced            the name was ours and is not any more: the records tell, or the outcome is unknown
//! while publishing    refused: as before publishing
//!                     otherwise the outcome is unknown: nothing is deleted, and the next try first looks for its own snapshot
//! published           into a hole that a removal left meanwhile: withdrawn, and tried again (standing)
//!                     the place is another table's by now: an error, and what the snapshot names stays (place)
//! never known         the removal records that would tell are not kept any more: the commit ends at once, nothing is deleted
//! ```
//!
//! Every try, in doubt or not, looks at what others have committed since, once it is known that none of the call's own attempts
//! is in the line.
//!
//! When the tries end with the outcome unknown, it stays in memory ([`UnknownOutcome`]): committing the same files again
//! with the same committer looks for that snapshot first.

use std::{
    collections::HashSet,
    sync::{MutexGuard, PoisonError},
};

use super::{
    TableCommit,
    buckets::BaseManifests,
    fsync::sync_added,
    identifier::Identifier,
    level_0::name_newest_schema,
    place::{self, Fixed, Kept, check_place, check_place_of},
    plan::{Brought, CommitPlan, Planner},
    request::Request,
    retry::Retry,
    row_ids::assign_row_ids,
    standing::{Attempt, Withdrawn, clear_the_way, unknown, withdraw},
    statistics::partition_statistics,
    user::Seen,
    write::{DeltaManifests, SnapshotWriter, Written},
};
use crate::{
    cancel,
    cleanup::upkeep_lock,
    error::{Error, ErrorKind, Result},
    manifest::{ManifestEntry, ManifestStore},
    snapshot::{CommitKind, Named, Removals, RemovedSnapshot, Snapshot, SnapshotManager, Standing},
};

/// A commit whose outcome was not known when its call ended.
#[derive(Debug)]
pub(super) struct UnknownOutcome {
    files: HashSet<Brought>,
    kind: CommitKind,
    attempts: Vec<Attempt>,
    looked_up_to: i64,
    /// What came after it has expired before it was looked at ([`Tries::unseen`]).
    seen: Option<Seen>,
}

/// What is kept from try to try.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "five independent facts")]
pub(super) struct Tries {
    delta: DeltaManifests,
    /// Those that may have been published.
    pub(super) attempts: Vec<Attempt>,
    /// Delta manifest lists of those that came too late and may still lie there.
    strays: Vec<String>,
    /// No snapshot up to this one is ours.
    pub(super) looked_up_to: Option<i64>,
    /// Of an explicit identifier: no snapshot up to this one is another process's, and all after it are looked at.
    pub(super) seen: Option<Seen>,
    /// Some of them have expired, and the records that would tell whose they were are not kept any more.
    pub(super) unseen: bool,
    /// The snapshot that the last try began with.
    base: Option<RemovedSnapshot>,
    pub(super) in_doubt: bool,
    /// Some of the files may have been committed by an earlier call, others were not.
    overlaps: bool,
    /// The only one that was published was taken back, after others may have seen it.
    taken_back: bool,
    synced: bool,
    /// No snapshot up to this one has added a file of messages that were handed out.
    pub(super) searched: Option<RemovedSnapshot>,
    /// The oldest snapshot when what tags, changelogs and branches keep of expired ones was looked at.
    pub(super) kept_before: Option<i64>,
    /// How many removal records were known when the files were there.
    pub(super) searched_with: Option<u64>,
}

impl Tries {
    /// Whether nothing was tried or looked for before.
    pub(super) fn is_first(&self) -> bool {
        self.attempts.is_empty()
            && !self.in_doubt
            && !self.overlaps
            && self.looked_up_to.is_none()
            && self.base.is_none()
    }

    fn doubt(&mut self, attempt: Attempt) {
        self.taken_back = false;
        self.attempts.push(attempt);
        self.in_doubt = true;
    }

    fn took_back(&mut self, attempt: Attempt) {
        let first = self.attempts.is_empty();
        self.doubt(attempt);
        self.taken_back = first;
    }

    /// The one that has made this snapshot.
    fn attempt_of(&self, snapshot: &Snapshot) -> Option<Attempt> {
        let made = RemovedSnapshot::from(snapshot);
        self.attempts.iter().find(|attempt| made.is(&attempt.snapshot)).cloned()
    }

    /// Delta manifest lists of those that may have been published.
    pub(super) fn lists(&self) -> Vec<String> {
        self.attempts.iter().map(|attempt| attempt.snapshot.delta_manifest_list.clone()).collect()
    }

    /// Whether a snapshot is one that this call has made.
    pub(super) fn made(&self, snapshot: &Snapshot) -> bool {
        let attempts = self.attempts.iter().map(|attempt| &attempt.snapshot.delta_manifest_list);
        attempts.chain(&self.strays).any(|list| *list == snapshot.delta_manifest_list)
    }
}

pub(super) enum CommitStep {
    Done(Box<Snapshot>),
    /// Another process published this identifier.
    Theirs,
    Nothing,
    Lost,
    Unknown(Error),
    /// The outcome will never be known: another try could commit the same twice.
    Untold(Error),
}

/// What came of a request.
#[derive(Debug)]
pub(super) struct Published {
    /// `None`: there was nothing to do.
    pub(super) snapshot: Option<Snapshot>,
    /// Another process committed the same identifier while this one tried.
    pub(super) theirs: bool,
    pub(super) attempts: u32,
}

impl TableCommit {
    /// Publishes one snapshot.
    pub(super) fn publish(&self, request: &Request<'_>) -> Result<Published> {
        self.try_until_known(request).map_err(|e| e.in_table(&self.ctx.name))
    }

    fn try_until_known(&self, request: &Request<'_>) -> Result<Published> {
        let store = ManifestStore::new(&self.ctx.fs, &self.ctx.paths, &self.ctx.options)?;
        let mut retry = Retry::new(&self.ctx.options, &self.clock);
        let mut tries = self.resume(request);
        loop {
            let tried = self.try_once(request, &store, &mut tries).map_err(|error| self.explained(error, &tries));
            let failed = match tried {
                Ok(CommitStep::Done(snapshot)) => {
                    self.ctx.remembered.set_contended(retry.attempts() > 1);
                    return Ok(published(Some(*snapshot), &retry));
                }
                Ok(CommitStep::Theirs) => {
                    if !tries.in_doubt {
                        tries.delta.delete(&store);
                    }
                    return Ok(Published { theirs: true, ..published(None, &retry) });
                }
                Ok(CommitStep::Nothing) => return Ok(published(None, &retry)),
                Ok(CommitStep::Lost) => None,
                Ok(CommitStep::Unknown(error)) if place::is_lost(&error) => {
                    return Err(self.end(request, &store, tries, error));
                }
                Ok(CommitStep::Unknown(error)) => Some(error),
                Err(error) if tries.in_doubt && may_pass(&error) => Some(error),
                Err(error) if self.was_overtaken(&error, &tries) => None,
                Ok(CommitStep::Untold(error)) | Err(error) => return Err(self.end(request, &store, tries, error)),
            };
            if let Err(exhausted) = retry.next() {
                let error = match failed {
                    Some(error) if tries.in_doubt => outcome_unknown(error),
                    _ => self.gap().unwrap_or(exhausted),
                };
                return Err(self.end(request, &store, tries, error));
            }
        }
    }

    /// Why no try can succeed: the next id was given before, behind a gap.
    fn gap(&self) -> Option<Error> {
        self.snapshots.gap_behind(self.snapshots.latest_id().ok()??).ok()?
    }

    fn try_once(&self, request: &Request<'_>, store: &ManifestStore, tries: &mut Tries) -> Result<CommitStep> {
        let begun = self.line_begun(request, tries);
        let (mut removals, mut latest) = begun.map_or_else(|| self.snapshots.latest_with_removals(), Ok)?;
        if removals.pending.taking_back.is_some() || SnapshotManager::fence_is_void(&removals, latest.as_ref()) {
            self.snapshots.settle(&upkeep_lock(&self.ctx)?)?;
            (removals, latest) = self.snapshots.latest_with_removals()?;
        }
        let latest = latest.as_ref();
        if let Some(version) = latest
            && place::take_late_version(&self.ctx, &self.snapshots, version)?
        {
            return Ok(CommitStep::Lost);
        }
        if let Some(step) = self.known_outcome(request, tries, &removals, latest)? {
            if let CommitStep::Done(found) = &step
                && let Some(attempt) = tries.attempt_of(found)
            {
                return Ok(self.looked_again(attempt, step, tries));
            }
            if !matches!(step, CommitStep::Untold(_)) {
                // in a table that has taken the place of this one, it says nothing
                check_place(&self.ctx)?;
            }
            return Ok(step);
        }
        // none of the own attempts is in the line: what others have committed is all there is
        if !self.is_not_repeated(request, store, tries, &removals, latest)? {
            return Ok(CommitStep::Lost);
        }
        if let Some(read) = request.read {
            self.check_undisturbed(read, request, store, latest, &removals)?;
        }
        tries.looked_up_to = Some(latest.map_or(0, |latest| latest.id));
        tries.seen = tries.seen.map(|_| Seen::of(&removals, latest));
        tries.base = latest.map(RemovedSnapshot::from);
        let identifier = self.identifier(request.identifier, &removals, latest)?;
        let manifests = &BaseManifests::remembered(&self.ctx, latest);
        let (ctx, user) = (&self.ctx, &self.user);
        let planner = Planner { ctx, store, manifests, user, kind: request.kind, source: request.source };
        let mut plan = planner.plan(latest, request.committable.check_append || tries.in_doubt || tries.overlaps)?;
        let next_row_id = assign_row_ids(ctx, latest, |latest| manifests.of(store, latest), &mut plan.changes)?;
        if plan.changes.is_empty() && !request.allow_empty && !request.packs_manifests() {
            return Ok(CommitStep::Nothing);
        }
        let now = self.clock.now_millis();
        let adds_to_level_0 = ctx.schema.has_primary_key() && plan.changes.adds_to_level_0();
        let newest_schema = match self.schema_begun(latest) {
            None if adds_to_level_0 => place::newest_beside_alters(ctx)?,
            begun => begun,
        };
        if let Some(newest) = newest_schema.filter(|_| adds_to_level_0) {
            name_newest_schema(ctx, &*ctx.schemas.get(newest)?, &mut plan.changes)?;
        }
        let removals = &removals;
        let writer = SnapshotWriter { ctx, store, manifests, request, user, now, removals, next_row_id, newest_schema };
        let mut written = Written::from(plan.rewritten.clone());
        let prepared = self.prepare_changes(&plan, store, tries);
        let prepared = prepared.and_then(|()| writer.write(latest, &plan, &tries.delta, identifier, &mut written));
        match prepared.and_then(|snapshot| self.sync_manifests(store).map(|()| snapshot)) {
            Ok(Some(snapshot)) => {
                let fixed = Fixed::of(&self.ctx, latest, &plan.changes);
                // a rescale that finds no rows publishes no version
                let is_empty = latest.is_none_or(|latest| latest.total_record_count == Some(0));
                let number = is_empty && ctx.options.bucket > 0;
                let level_0 = adds_to_level_0 && !ctx.fs.is_served();
                let (base, known) = (tries.base.clone(), removals.count);
                let attempt = Attempt { snapshot, base, fixed, known, number, level_0 };
                let step = self.put(attempt, &plan.changes.files, store, &written, tries)?;
                if let CommitStep::Done(snapshot) = &step {
                    self.ctx.remembered.keep_manifests(snapshot, written.manifests);
                }
                if let (CommitStep::Done(_), [], Some(rewritten)) = (&step, tries.attempts.as_slice(), &plan.rewritten)
                {
                    rewritten.delete_replaced();
                }
                Ok(step)
            }
            Ok(None) => Ok(CommitStep::Nothing),
            Err(error) => {
                written.delete(store);
                Err(error)
            }
        }
    }

    /// A snapshot of an earlier try is found in the line: what is asked after publishing may not have been asked of it.
    fn looked_again(&self, attempt: Attempt, found: CommitStep, tries: &mut Tries) -> CommitStep {
        let _shield = cancel::shield();
        match place::look_again(&self.ctx, &self.snapshots, &attempt) {
            Ok(Kept::Here) => found,
            Ok(Kept::TakenBack) => {
                tries.taken_back = tries.attempts.len() == 1;
                CommitStep::Lost
            }
            Ok(Kept::Stays(error)) => CommitStep::Untold(error),
            Ok(Kept::Stands(Standing::Unknown)) => CommitStep::Untold(unknown(&attempt.snapshot)),
            Ok(Kept::Stands(_)) => CommitStep::Lost,
            Err(error) => CommitStep::Unknown(error),
        }
    }

    /// Manifests of the changes, and durable names of the files that they add.
    fn prepare_changes(&self, plan: &CommitPlan<'_>, store: &ManifestStore, tries: &mut Tries) -> Result<()> {
        tries.delta.prepare(store, &plan.changes, !tries.in_doubt)?;
        if !tries.synced {
            sync_added(&self.ctx, plan.changes.files.iter().chain(&plan.changes.changelog), plan.changes.index.iter())?;
            tries.synced = true;
        }
        let Some(rewritten) = &plan.rewritten else { return Ok(()) };
        sync_added(&self.ctx, std::iter::empty(), rewritten.new.iter())
    }

    fn put(
        &self,
        attempt: Attempt,
        changed: &[ManifestEntry],
        store: &ManifestStore,
        written: &Written,
        tries: &mut Tries,
    ) -> Result<CommitStep> {
        // once a snapshot may be there, its outcome is found out
        let _shield = cancel::shield();
        let still = || check_place_of(&self.ctx, attempt.fixed);
        let statistics = || partition_statistics(&self.ctx.paths, changed);
        let begun = self.now_millis();
        let published = self.snapshots.publish_if(&attempt.snapshot, self.ctx.options.sync, &still, &statistics);
        let has_name = matches!(published, Ok(Named::Ours));
        let standing = match published {
            Ok(Named::Ours) => attempt.standing(&self.ctx, &self.snapshots),
            Ok(Named::Replaced) => {
                place::check_lost(&self.ctx).and_then(|()| attempt.standing_of_gone(&self.snapshots))
            }
            Ok(Named::Others) => match place::check_lost(&self.ctx) {
                Ok(()) => {
                    written.delete(store);
                    clear_the_way(&self.ctx, &self.snapshots);
                    return Ok(CommitStep::Lost);
                }
                Err(error) => Err(error),
            },
            // it is certain that the snapshot is not there: nothing to find out, and no reason to try again
            Err(error) if error.is_without_effect() => {
                written.delete(store);
                return Err(error);
            }
            Err(error) => Err(error),
        };
        // what was found holds only where the place is still that of the commit
        let standing = match standing {
            Ok(found) => match place::look_again(&self.ctx, &self.snapshots, &attempt) {
                Ok(Kept::Here) => Ok(found),
                Ok(Kept::Stands(standing)) => Ok(standing),
                Ok(Kept::Stays(error)) => {
                    tries.doubt(attempt);
                    return Ok(CommitStep::Untold(error));
                }
                Ok(Kept::TakenBack) => {
                    tries.took_back(attempt);
                    return Ok(CommitStep::Lost);
                }
                Err(error) => Err(error),
            },
            failed => failed,
        };
        let standing = match standing {
            Ok(Standing::TooLate) => match withdraw(&self.ctx, &self.snapshots, &attempt) {
                Ok(Withdrawn::Gone) => {
                    written.delete(store);
                    return Ok(CommitStep::Lost);
                }
                Ok(Withdrawn::Left) => {
                    tries.strays.push(attempt.snapshot.delta_manifest_list);
                    return Ok(CommitStep::Lost);
                }
                Ok(Withdrawn::Committed) => Ok(Standing::Committed),
                Ok(Withdrawn::Unknown) => Ok(Standing::Unknown),
                Err(error) => Err(error),
            },
            other => other,
        };
        Ok(match standing {
            Ok(Standing::Unknown) => {
                let error = unknown(&attempt.snapshot);
                tries.doubt(attempt);
                CommitStep::Untold(error)
            }
            Ok(Standing::Committed) => {
                if has_name {
                    // it was just looked for the one that would follow
                    self.hint(attempt.snapshot.id, self.is_fresh(begun));
                }
                CommitStep::Done(Box::new(attempt.snapshot))
            }
            Ok(_) => CommitStep::Lost,
            Err(error) => {
                tries.doubt(attempt);
                CommitStep::Unknown(error)
            }
        })
    }

    fn sync_manifests(&self, store: &ManifestStore) -> Result<()> {
        if self.ctx.options.sync { store.sync() } else { Ok(()) }
    }

    /// `LATEST` after every commit, `EARLIEST` after the first one (as Java, whose committers expire unless the table
    /// is write-only). Readers find both snapshots without them, only slower.
    pub(super) fn hint(&self, id: i64, at_once: bool) {
        let mut written = self.snapshots.write_latest_hint_of(id, at_once);
        if id == 1 && !self.ctx.options.write_only {
            written = written.and_then(|()| self.snapshots.write_earliest_hint(id));
        }
        if let Err(error) = written {
            tracing::warn!(snapshot = id, %error, "the hints to the snapshots were not written");
        }
    }

    fn identifier(&self, identifier: Identifier, removals: &Removals, latest: Option<&Snapshot>) -> Result<i64> {
        match identifier {
            Identifier::Explicit(id) | Identifier::Shared(id) => Ok(id),
            Identifier::Next => {
                let mut history = self.history();
                history.newest(&self.snapshots, &self.user, removals, latest)?;
                Ok(history.next_identifier())
            }
        }
    }

    /// A file of the snapshot that the try began with is gone because that snapshot has been removed meanwhile.
    fn was_overtaken(&self, error: &Error, tries: &Tries) -> bool {
        let moved = |latest: Option<Snapshot>| latest.as_ref().map(RemovedSnapshot::from) != tries.base;
        error.kind() == ErrorKind::FileNotFound && self.snapshots.latest().is_ok_and(moved)
    }

    /// When the table, branch or schema of a commit is not there any more, that is why it failed.
    fn explained(&self, error: Error, tries: &Tries) -> Error {
        let Some(displaced) = place::explain(&self.ctx, tries.in_doubt && !tries.taken_back) else {
            return if tries.taken_back { error.files_stay() } else { error };
        };
        tracing::debug!(%error, table = self.ctx.name, "a commit failed because its place is another's");
        if tries.taken_back { displaced.files_stay() } else { displaced }
    }

    /// The end of a commit that was not published, or not to our knowledge.
    fn end(&self, request: &Request<'_>, store: &ManifestStore, tries: Tries, error: Error) -> Error {
        if !tries.in_doubt {
            tries.delta.delete(store);
        }
        if tries.unseen || (tries.in_doubt && error.kind() != ErrorKind::CommitConflict) {
            let doubt = UnknownOutcome {
                files: request.source.brought(),
                kind: request.kind,
                attempts: tries.attempts,
                looked_up_to: tries.looked_up_to.unwrap_or(0),
                seen: tries.seen.filter(|_| tries.unseen),
            };
            self.doubts().push(doubt);
        }
        error
    }

    /// Continues where an earlier call with the same files, or with these and others, ended in doubt. What a call with only some of
    /// them may have published does not have them all: it is not this commit, and where it is there, this one is a conflict.
    fn resume(&self, request: &Request<'_>) -> Tries {
        let mut doubts = self.doubts();
        let seen = request.looked_up_to;
        let mut tries = Tries { looked_up_to: seen.map(|seen| seen.latest), seen, ..Tries::default() };
        if doubts.is_empty() {
            return tries;
        }
        let files = request.source.brought();
        let (same, other): (Vec<UnknownOutcome>, Vec<UnknownOutcome>) =
            doubts.drain(..).partition(|d| d.kind == request.kind && !files.is_empty() && files.is_subset(&d.files));
        tries.overlaps = other.iter().any(|d| !d.files.is_disjoint(&files));
        *doubts = other;
        for doubt in same {
            tries.in_doubt |= !doubt.attempts.is_empty();
            tries.unseen |= doubt.seen.is_some();
            tries.seen = doubt.seen.or(tries.seen);
            tries.looked_up_to = Some(tries.looked_up_to.unwrap_or(i64::MAX).min(doubt.looked_up_to));
            tries.attempts.extend(doubt.attempts);
        }
        tries
    }

    fn doubts(&self) -> MutexGuard<'_, Vec<UnknownOutcome>> {
        self.doubts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn published(snapshot: Option<Snapshot>, retry: &Retry) -> Published {
    Published { snapshot, theirs: false, attempts: retry.attempts() }
}

/// A failure of the storage, or another's work, which may have passed at the next try.
fn may_pass(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Storage | ErrorKind::FileNotFound | ErrorKind::UpkeepRunning)
}

fn outcome_unknown(cause: Error) -> Error {
    Error::new(cause.kind(), "something failed while a snapshot was published: it is not known whether it is there")
        .hint(
            "Do not delete the files. Commit the same messages with the same committer, or with the same explicit \
             identifier: it looks first whether they were committed.",
        )
        .caused_by(cause)
}
