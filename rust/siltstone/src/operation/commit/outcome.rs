//! Before a try: is it known already what came of the commit?
//!
//! ```text
//! a version is of this commit, or of another process's with the same explicit identifier   it is there
//! a removal record lists it                                                                  it was there, and has expired
//! the newest version has its files                                                           it was there; another program has removed it
//! records that would tell are not kept any more                                              nobody knows: the commit ends
//! ```

use super::{
    TableCommit,
    publish::{Request, Step, Tries},
    standing::{unknown, unseen},
    user::{Own, Search},
};
use crate::{
    error::Result,
    operation::scan::{EntryFilter, live_entries},
    snapshot::{Fate, RemovalKind, Removals, Snapshot},
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
    ) -> Result<Option<Step>> {
        tries.forget_what_was_rolled_back(removals);
        let (snapshots, lists) = (&self.snapshots, tries.lists());
        let own = Own { user: &self.user, identifier: request.identifier, kind: request.kind, lists: &lists };
        let mut from = None;
        if let (Some(after), Some(latest)) = (tries.looked_up_to, latest) {
            match own.find(snapshots, after, latest)? {
                Search::Found(found) => {
                    self.settle_found(&found)?;
                    let ours = tries.in_doubt || lists.contains(&found.delta_manifest_list);
                    return Ok(Some(if ours { Step::Done(found) } else { Step::Theirs }));
                }
                Search::Untold(found) => return Ok(Some(Step::Untold(unknown(&found)))),
                Search::NotFrom(id) => from = Some(id),
            }
        }
        for attempt in &tries.attempts {
            match attempt.fate(snapshots)? {
                Fate::Removed(RemovalKind::Expire) => return Ok(Some(Step::Done(Box::new(attempt.snapshot.clone())))),
                Fate::Unknown => return Ok(Some(Step::Untold(unknown(&attempt.snapshot)))),
                Fate::Removed(_) | Fate::NotRemoved => {}
            }
        }
        if let (true, Some(attempt), Some(latest)) = (tries.in_doubt, tries.attempts.last(), latest)
            && self.has_files_of(request, latest)?
        {
            return Ok(Some(Step::Done(Box::new(attempt.snapshot.clone()))));
        }
        if let (Some(seen), Some(from)) = (tries.seen, from) {
            match own.has_expired(snapshots, seen, from)? {
                Some(true) => return Ok(Some(Step::Theirs)),
                Some(false) => tries.unseen = false,
                None => {
                    tries.unseen = true;
                    return Ok(Some(Step::Untold(unseen(request.identifier))));
                }
            }
        }
        Ok(None)
    }

    /// Whether the newest version has files that the commit brings: then it is there, although another program has removed its
    /// snapshot.
    fn has_files_of(&self, request: &Request<'_>, latest: &Snapshot) -> Result<bool> {
        let names = request.source.new_files();
        if names.is_empty() {
            return Ok(false);
        }
        let live = live_entries(&self.ctx, latest, &EntryFilter::default())?;
        Ok(live.iter().any(|entry| names.contains(&entry.file.file_name)))
    }

    /// The link is there; whether it outlives a power loss is not known yet.
    fn settle_found(&self, own: &Snapshot) -> Result<()> {
        if self.ctx.options.sync {
            self.ctx.fs.sync_dir(&self.ctx.paths.snapshot_dir(&self.ctx.branch))?;
        }
        self.hint(own.id);
        Ok(())
    }
}
