//! Before a try: is it known already what came of the commit?
//!
//! ```text
//! a version is of this commit, or of another process's with the same explicit identifier   it is there
//! a removal record lists it                                                                  it was there, and has expired
//! the newest version has what only it can have brought                                       it was there; another program has removed it
//! records that would tell are not kept any more                                              nobody knows: the commit ends
//! ```

use super::{
    TableCommit,
    plan::Brought,
    publish::{CommitStep, Tries},
    request::Request,
    standing::{Attempt, unknown, unseen},
    user::{Own, Search},
};
use crate::{
    error::Result,
    manifest::ManifestEntry,
    scan::{EntryFilter, live_entries},
    snapshot::{Fate, RemovalKind, Removals, RemovedSnapshot, Snapshot},
};

impl Tries {
    /// Ids after the target of a rollback are given again: what was looked at there is gone.
    fn forget_what_was_rolled_back(&mut self, removals: &Removals) {
        let Some(seen) = &mut self.seen else { return };
        for rollback in removals.rollbacks.iter().filter(|rollback| rollback.record > seen.removals) {
            seen.latest = seen.latest.min(rollback.last_known());
            self.looked_up_to = self.looked_up_to.map(|after| after.min(rollback.last_known()));
        }
    }
}

impl TableCommit {
    /// What came of earlier tries, and of other processes that commit the same explicit identifier.
    pub(super) fn known_outcome(
        &self,
        request: &Request<'_>,
        tries: &mut Tries,
        removals: &Removals,
        latest: Option<&Snapshot>,
    ) -> Result<Option<CommitStep>> {
        tries.forget_what_was_rolled_back(removals);
        let (snapshots, lists) = (&self.snapshots, tries.lists());
        let own = Own { user: &self.user, identifier: request.identifier, kind: request.kind, lists: &lists };
        let mut from = None;
        if let (Some(after), Some(latest)) = (tries.looked_up_to, latest) {
            match own.find(snapshots, after, latest)? {
                Search::Found(found) => {
                    self.settle_found(&found)?;
                    let ours = lists.contains(&found.delta_manifest_list);
                    if !ours && !self.theirs_stays(&found, removals, Some(latest))? {
                        return Ok(Some(CommitStep::Lost));
                    }
                    return Ok(Some(if ours { CommitStep::Done(found) } else { CommitStep::Theirs }));
                }
                Search::Untold(found) => return Ok(Some(CommitStep::Untold(unknown(&found)))),
                Search::NotFrom(id) => from = Some(id),
            }
        }
        for attempt in &tries.attempts {
            match attempt.fate(snapshots)? {
                Fate::Removed(RemovalKind::Expire) => {
                    return Ok(Some(CommitStep::Done(Box::new(attempt.snapshot.clone()))));
                }
                Fate::Unknown => return Ok(Some(CommitStep::Untold(unknown(&attempt.snapshot)))),
                Fate::Removed(_) | Fate::NotRemoved => {}
            }
        }
        if let (Some(latest), Some(from)) = (latest, from)
            && let Some(attempt) = self.left_in(request, tries, latest, from)?
        {
            return Ok(Some(CommitStep::Done(Box::new(attempt.snapshot.clone()))));
        }
        if let (Some(seen), Some(from)) = (tries.seen, from) {
            match own.has_expired(snapshots, seen, from)? {
                Some(true) => return Ok(Some(CommitStep::Theirs)),
                Some(false) => tries.unseen = false,
                None => {
                    tries.unseen = true;
                    // where the line has changed while it was looked at, the next look may tell
                    let (now, newest) = self.snapshots.latest_with_removals()?;
                    let as_before = now.count == removals.count
                        && newest.as_ref().map(RemovedSnapshot::from) == latest.map(RemovedSnapshot::from);
                    return Ok(Some(if as_before {
                        CommitStep::Untold(unseen(request.identifier))
                    } else {
                        CommitStep::Lost
                    }));
                }
            }
        }
        Ok(None)
    }

    /// The attempt that the newest version has something of, although another program has removed its snapshot.
    ///
    /// Others can move the same files, and commit the same messages where they were handed out: then only an attempt counts
    /// whose place nobody else is known to have had. `from`: the versions from this id on are none.
    fn left_in<'t>(
        &self,
        request: &Request<'_>,
        tries: &'t Tries,
        latest: &Snapshot,
        from: i64,
    ) -> Result<Option<&'t Attempt>> {
        let Some(last) = tries.attempts.last() else { return Ok(None) };
        let mut forgotten = None;
        for attempt in tries.attempts.iter().rev() {
            if forgotten.is_none() && attempt.may_be_forgotten(&self.snapshots, from)? {
                forgotten = Some(attempt);
            }
        }
        let handed_out = request.since.is_some();
        let tells = |brought: &Brought| match brought {
            Brought::File(_) => forgotten.is_some() || !handed_out,
            Brought::Moved(_) => forgotten.is_some(),
        };
        let brought = request.source.brought();
        if !brought.iter().any(tells) {
            return Ok(None);
        }
        let has = |entry: &ManifestEntry| {
            [Brought::File(entry.file.file_name.clone()), Brought::Moved(entry.id())]
                .iter()
                .any(|left| tells(left) && brought.contains(left))
        };
        let live = live_entries(&self.ctx, latest, &EntryFilter::without_statistics())?;
        Ok(live.iter().any(has).then(|| forgotten.unwrap_or(last)))
    }

    /// The link is there; whether it outlives a power loss is not known yet.
    fn settle_found(&self, own: &Snapshot) -> Result<()> {
        if self.ctx.options.sync {
            self.ctx.fs.sync_dir(&self.ctx.paths.snapshot_dir(&self.ctx.branch))?;
        }
        self.hint(own.id, false);
        Ok(())
    }
}
