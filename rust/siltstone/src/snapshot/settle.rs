//! Bringing files and removal records together: what operations that died have left, and what other programs, which know no
//! records, have made of the line of versions.

use super::{
    ChangelogManager, Removal, RemovalKind, Removals, RemovedSnapshot, Rollback, Snapshot, SnapshotManager, UpkeepLock,
};
use crate::error::Result;

impl SnapshotManager {
    /// Whether the fence lies after all snapshots: another program, which does not know it, went back to a tag before it.
    pub fn fence_is_void(removals: &Removals, latest: Option<&Snapshot>) -> bool {
        latest.is_some_and(|latest| latest.id < removals.fence)
    }

    /// The line where another program, which does not know the fence, went back to a tag before it: the snapshot of that tag,
    /// which is the last one that an expiry lists, and what was published after it; without what came too late. Where that
    /// program had expired the snapshot, too, no record lists it, and only the tag tells that it was a version.
    ///
    /// What lies before is left of an expiry that died, and its data files are gone: the next expiry finishes it.
    pub(super) fn below_void_fence(
        &self,
        listed: &[i64],
        removals: &Removals,
        records: &[(u64, Removal)],
    ) -> Result<Vec<i64>> {
        let has_expired = |snapshot: &Snapshot| {
            records.iter().any(|(_, record)| record.kind == RemovalKind::Expire && record.lists(snapshot))
        };
        let mut line = Vec::new();
        for id in listed {
            let Some(snapshot) = self.try_read(*id)? else { continue };
            let unlisted = removals.came_too_late(&snapshot, records);
            if unlisted && !self.is_tagged(&snapshot)? {
                continue;
            }
            if unlisted || has_expired(&snapshot) {
                line.clear();
            }
            line.push(*id);
        }
        Ok(line)
    }

    /// Deletes a snapshot that a fast-forward or rollback has put into its place, and that died before its record made it a version;
    /// where a rollback that left no version was being called off, that is done ([`Self::call_off_rollback`]).
    pub fn remove_placed(&self, lock: &UpkeepLock) -> Result<()> {
        let removals = self.removals().read()?;
        if !removals.are_settled() && self.call_off_rollback(lock)?.is_some() {
            return Ok(());
        }
        let Some(placing) = &removals.pending.placing else { return Ok(()) };
        match self.try_read(placing.id)? {
            Some(found) if removals.is_placing(&found) => {
                if self.hint("EARLIEST")? == Some(found.id)
                    && let Some(earliest) = self.ids_by_records()?.first()
                {
                    self.write_earliest_hint(*earliest)?;
                }
                self.fs.delete(&self.path(found.id))
            }
            _ => Ok(()),
        }
    }

    /// Brings records and files together before something is removed, or where the next snapshot cannot be published: a void
    /// fence is taken back, and what a rollback that died has left is deleted (snapshot files after the latest version,
    /// long-lived changelogs and tags that it cuts off), or a writer that came too late.
    ///
    /// With the lock nobody else deletes: a file that is read here is the one that is deleted.
    pub fn settle(&self, lock: &UpkeepLock) -> Result<()> {
        self.settle_with(lock, false)
    }

    /// The same at the end of a fast-forward: from here on nothing of the branch is missing ([`Removals::forward_to`]).
    pub fn settle_forwarded(&self, lock: &UpkeepLock) -> Result<()> {
        self.settle_with(lock, true)
    }

    fn settle_with(&self, lock: &UpkeepLock, forwarded: bool) -> Result<()> {
        self.remove_placed(lock)?;
        let removals = self.removals().read()?;
        self.delete_dead(&removals)?;
        if !removals.are_settled() {
            self.settle_others(&removals)?;
        }
        let latest = self.latest_by(&removals)?;
        // a hint that a writer wrote late, and died; Java believes it when the snapshot after it does not exist
        if let (Some(latest), Some(hint)) = (&latest, self.hint("LATEST")?)
            && hint < latest.id
            && !self.exists(hint)?
        {
            self.write_latest_hint(latest.id)?;
        }
        let void = Self::fence_is_void(&removals, latest.as_ref());
        let first = if void { self.line(&removals)?.first().copied() } else { None };
        let newest = first.and(latest).map(|latest| latest.id);
        let fence = first.unwrap_or(removals.fence);
        if forwarded && removals.forward_to().is_some() {
            self.removals().append_forwarded(lock, fence, newest)?;
        } else if first.is_some() || !removals.are_settled() || removals.pending.taking_back.is_some() {
            self.removals().append_settled(lock, fence, newest)?;
        }
        Ok(())
    }

    /// Another program, which knows no records, may let the target of a rollback expire while its record is written. Where no
    /// version is left by that, the newest one that the record takes back becomes the only one, as if it had been tagged and gone
    /// back to. Its id; `None`: there is another version.
    pub fn call_off_rollback(&self, lock: &UpkeepLock) -> Result<Option<i64>> {
        let removals = self.removals().read()?;
        // a fast-forward has its target from the branch, and brings it again
        let can_be = |own: &&Rollback| own.forward.is_none() && !own.settled && own.target > 0;
        let Some(rollback) = removals.rollbacks.last().filter(can_be) else { return Ok(None) };
        if self.exists(rollback.target)? || !self.line(&removals)?.is_empty() {
            return Ok(None);
        }
        let Some(record) = self.removals().record(rollback.record)? else { return Ok(None) };
        let taken_back = self.existing(self.listed_ids()?)?;
        let Some(newest) = taken_back.iter().rfind(|snapshot| record.lists(snapshot)) else { return Ok(None) };
        let id = newest.id;
        let placing = self.removals().append_placing(lock, newest)?;
        let again = newest.clone().knowing(placing.count + 1, &placing.branch);
        self.fs.overwrite(&self.path(id), again.to_json()?.as_bytes())?;
        self.removals().append_rollback(lock, id, &[], &[])?;
        self.write_earliest_hint(id)?;
        self.write_latest_hint(id)?;
        for left in taken_back.iter().filter(|left| left.id != id) {
            self.fs.delete(&self.path(left.id))?;
        }
        Ok(Some(id))
    }

    /// Whether a tag names this very snapshot.
    pub(crate) fn is_tagged(&self, snapshot: &Snapshot) -> Result<bool> {
        let named = RemovedSnapshot::from(snapshot);
        let mut names = self.tags().names()?.into_iter();
        // a tag that is broken, or goes meanwhile, tells nothing
        Ok(names.any(|name| self.tags().get(&name).is_ok_and(|tagged| named.is(&tagged))))
    }

    /// Whether a snapshot was published into a hole: no record lists it, and no tag names it.
    fn came_too_late(&self, removals: &Removals, snapshot: &Snapshot, records: &[(u64, Removal)]) -> Result<bool> {
        Ok(removals.came_too_late(snapshot, records) && !self.is_tagged(snapshot)?)
    }

    /// Deletes snapshot files after the latest version.
    fn delete_dead(&self, removals: &Removals) -> Result<()> {
        let listed = self.listed_ids()?;
        let mut records = Vec::new();
        if listed.last().is_some_and(|last| *last < removals.fence) {
            records = self.removals().numbered()?;
            if self.below_void_fence(&listed, removals, &records)?.is_empty() {
                // the only snapshots that are left are not deleted, whatever they are
                return Ok(());
            }
        }
        let (mut dead, mut newest) = (Vec::new(), None);
        for id in listed.into_iter().rev() {
            match self.try_read(id)? {
                Some(found) if removals.is_rolled_back(&found) || self.came_too_late(removals, &found, &records)? => {
                    dead.push(id);
                }
                Some(_) => {
                    newest = Some(id);
                    break;
                }
                None => {}
            }
        }
        if newest.is_none() && !self.were_first(removals, &dead)? {
            // the only snapshots that are left are not deleted, whatever the records say
            return Ok(());
        }
        // Java believes the hint when the snapshot after it does not exist
        if let (false, Some(newest)) = (dead.is_empty(), newest)
            && self.hint("LATEST")?.is_some_and(|hint| hint > newest)
        {
            self.fs.overwrite(&self.hint_path("LATEST"), newest.to_string().as_bytes())?;
        }
        dead.into_iter().try_for_each(|id| self.fs.delete(&self.path(id)))
    }

    /// Whether all these are a first version that its writer has taken back, by a record that names it.
    fn were_first(&self, removals: &Removals, dead: &[i64]) -> Result<bool> {
        let Some(last) = removals.rollbacks.last().filter(|last| last.target == 0) else { return Ok(false) };
        let Some(record) = self.removals().record(last.record)? else { return Ok(false) };
        let listed = |id: &i64| Ok(self.try_read(*id)?.is_none_or(|found| record.lists(&found)));
        dead.iter().map(listed).try_fold(true, |all, listed: Result<bool>| Ok(all && listed?))
    }

    /// Deletes long-lived changelogs and tags that a rollback cut off; their names are gone for good before a record says that
    /// nobody needs to look for them any more.
    fn settle_others(&self, removals: &Removals) -> Result<()> {
        let root = self.directory.trim_end_matches("/snapshot");
        let changelogs = ChangelogManager::new(self.fs.clone(), root);
        for changelog in changelogs.list()?.iter().rev().take_while(|changelog| removals.is_rolled_back(changelog)) {
            self.fs.delete(&changelogs.path(changelog.id))?;
        }
        let tags = self.tags();
        for (name, _) in tags.list()?.iter().filter(|(_, tagged)| removals.is_rolled_back(tagged)) {
            tags.delete_file(name)?;
        }
        for directory in [changelogs.directory(), &format!("{root}/tag")] {
            if self.fs.exists(directory)? {
                self.fs.sync_dir(directory)?;
            }
        }
        Ok(())
    }
}
