//! The records of one branch, `siltstone/removal-<k>`, published one after another without replacing.

use super::{
    Parted, Removal, RemovalKind, Removals, RemovedSnapshot, Snapshot, TagManager, UpkeepLock,
    manager::{parse_id, read_hint},
    removal::is_old,
};
use crate::{
    error::{Error, ErrorKind, Result},
    fs::{FileIoRef, read_json},
    limits::LAST_ID,
};

const PREFIX: &str = "removal-";
/// Old records are looked for once in so many.
const PRUNED_EVERY: u64 = 32;
/// How often reading begins again because what was to be read had been deleted, being old, since it was found.
pub(super) const ATTEMPTS: usize = 5;

/// Records of a table or branch.
#[derive(Clone, Debug)]
pub struct RemovalLog {
    fs: FileIoRef,
    directory: String,
    branch: String,
}

impl RemovalLog {
    /// Records below `branch_root` (`path::branch_root`).
    pub fn new(fs: FileIoRef, branch_root: &str) -> Self {
        let root = branch_root.trim_end_matches('/');
        let branch = root.rsplit_once("/branch/branch-").map_or("main", |(_, branch)| branch);
        Self { fs, directory: format!("{root}/siltstone"), branch: branch.to_owned() }
    }

    /// The branch that they are of.
    pub fn branch(&self) -> &str {
        &self.branch
    }

    fn none(&self) -> Removals {
        Removals { branch: self.branch.clone(), ..Removals::default() }
    }

    /// Where they are.
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// Path of `removal-<k>`.
    pub fn path(&self, record: u64) -> String {
        format!("{}/{PREFIX}{record}", self.directory)
    }

    fn hint_path(&self) -> String {
        format!("{}/LATEST", self.directory)
    }

    /// What the records say now.
    pub fn read(&self) -> Result<Removals> {
        for _ in 0..ATTEMPTS {
            if let Some(found) = self.read_once()? {
                return Ok(found);
            }
        }
        Err(self.vanished())
    }

    /// `None`: the newest record was found, and had been deleted when it was read, because there were many newer ones by then.
    fn read_once(&self) -> Result<Option<Removals>> {
        if !self.fs.has_directories() {
            // a listing is one request, and sees what is there
            return match self.last_listed()? {
                0 => Ok(Some(self.none())),
                last => Ok(self.record(last)?.map(|record| Removals::of(&self.branch, last, record))),
            };
        }
        let mut newest = match self.hint()? {
            Some(hint) => hint,
            None => self.last_listed()?,
        };
        while self.fs.is_file(&self.path(newest + 1))? {
            newest += 1;
        }
        if newest == 0 {
            return Ok(Some(self.none()));
        }
        if let Some(record) = self.record(newest)? {
            return Ok(Some(Removals::of(&self.branch, newest, record)));
        }
        // a hint that is wrong, or old by now
        match self.last_listed()? {
            0 => Ok(Some(self.none())),
            last => Ok(self.record(last)?.map(|record| Removals::of(&self.branch, last, record))),
        }
    }

    fn vanished(&self) -> Error {
        Error::new(ErrorKind::Storage, "removal records were deleted faster than they could be read")
            .with("file", &self.directory)
            .hint("try again")
    }

    /// Publishes the next record. The lock is the proof that nobody else does at the same time.
    pub fn append(&self, lock: &UpkeepLock, kind: RemovalKind, bound: i64, going: &[Snapshot]) -> Result<Removals> {
        self.append_with(lock, kind, bound, going, &[])
    }

    /// Publishes the record of a rollback. `cut_off`: tagged snapshots and changelogs that go, too.
    pub fn append_rollback(
        &self,
        lock: &UpkeepLock,
        bound: i64,
        going: &[Snapshot],
        cut_off: &[Snapshot],
    ) -> Result<Removals> {
        self.append_with(lock, RemovalKind::Rollback, bound, going, cut_off)
    }

    /// Publishes the record that a snapshot is put into its place and is no version yet ([`super::Pending::placing`]).
    pub fn append_placing(&self, lock: &UpkeepLock, snapshot: &Snapshot) -> Result<Removals> {
        let before = self.read()?;
        let record = before.placing(snapshot, lock.now_millis());
        self.publish(lock, before.count + 1, record)
    }

    /// Publishes the record that a version is about to be taken back ([`super::Pending::taking_back`]).
    pub fn append_announcing(&self, lock: &UpkeepLock, snapshot: &Snapshot) -> Result<Removals> {
        let before = self.read()?;
        let record = before.announcing(snapshot, lock.now_millis());
        self.publish(lock, before.count + 1, record)
    }

    /// Publishes the record that a version is not taken back any more ([`super::Pending::keeping`]).
    pub fn append_keeping(&self, lock: &UpkeepLock, snapshot: &Snapshot) -> Result<Removals> {
        let before = self.read()?;
        let record = before.keeping(snapshot, lock.now_millis());
        self.publish(lock, before.count + 1, record)
    }

    /// Publishes the record of a fast-forward to the branch `to`: up to `bound` both have the same versions.
    pub fn append_forward(&self, lock: &UpkeepLock, to: &str, bound: i64, going: &[Snapshot]) -> Result<Removals> {
        let before = self.read()?;
        let record = before.forward(to, bound, going, lock.now_millis());
        self.publish(lock, before.count + 1, record)
    }

    /// Publishes the record of a fast-forward to a branch whose first version this line never had.
    pub fn append_parting(&self, lock: &UpkeepLock, to: &str, parted: Parted, going: &[Snapshot]) -> Result<Removals> {
        let before = self.read()?;
        let record = before.parting(to, parted, going, lock.now_millis());
        self.publish(lock, before.count + 1, record)
    }

    fn append_with(
        &self,
        lock: &UpkeepLock,
        kind: RemovalKind,
        bound: i64,
        going: &[Snapshot],
        cut_off: &[Snapshot],
    ) -> Result<Removals> {
        let before = self.read()?;
        let record = before.next(kind, bound, going, cut_off, lock.now_millis());
        self.publish(lock, before.count + 1, record)
    }

    /// Publishes the record that everything which rollbacks cut off is gone ([`Removals::settled`]).
    pub(super) fn append_settled(&self, lock: &UpkeepLock, fence: i64, newest: Option<i64>) -> Result<Removals> {
        let before = self.read()?;
        let record = before.settled(fence, newest, lock.now_millis());
        self.publish(lock, before.count + 1, record)
    }

    /// The same, and that main has all of the branch that it went forward to ([`Removals::forwarded`]).
    pub(super) fn append_forwarded(&self, lock: &UpkeepLock, fence: i64, newest: Option<i64>) -> Result<Removals> {
        let before = self.read()?;
        let record = before.forwarded(fence, newest, lock.now_millis());
        self.publish(lock, before.count + 1, record)
    }

    /// Publishes the record that main's versions and schemas belong together again ([`super::Rollback::mixed`]), where there is
    /// none yet.
    pub fn append_unmixed(&self, lock: &UpkeepLock) -> Result<()> {
        let before = self.read()?;
        if before.mixed_with().is_none() {
            return Ok(());
        }
        let record = before.unmixed(lock.now_millis());
        self.publish(lock, before.count + 1, record).map(drop)
    }

    /// From here on the operation has taken effect, whatever fails afterwards: a record is published, or an error says that it
    /// is not, or that nobody knows.
    fn publish(&self, lock: &UpkeepLock, number: u64, record: Removal) -> Result<Removals> {
        if i64::try_from(number).map_or(true, |number| number > LAST_ID) {
            return Err(Error::new(
                ErrorKind::CorruptFile,
                "no removal record can come after the one with the largest number",
            )
            .with("file", self.path(number))
            .without_effect());
        }
        let content = record.to_json()?;
        if let Err(failed) = self.fs.publish(&self.path(number), content.as_bytes(), true) {
            self.make_sure(number, &content, failed)?;
        }
        let hinted = self.fs.overwrite(&self.hint_path(), number.to_string().as_bytes());
        if let Err(error) = hinted.and_then(|()| self.prune(number, lock.now_millis())) {
            tracing::warn!(%error, record = number, "the hint to the removal records was not written");
        }
        Ok(Removals::of(&self.branch, number, record))
    }

    /// Whether a record is there although publishing it has failed: an answer may have been lost.
    fn make_sure(&self, number: u64, content: &str, failed: Error) -> Result<()> {
        if failed.is_without_effect() {
            return Err(failed);
        }
        let path = self.path(number);
        match read_json(&*self.fs, &path) {
            // its name may not be durable yet, and what goes after it must not be gone without it
            Ok(found) if found == content.as_bytes() => self.fs.sync_dir(&self.directory).map_err(|e| {
                Error::new(e.kind(), "the operation has taken effect, but a power loss may undo it")
                    .with("file", path)
                    .hint("nothing has been deleted; run the same operation again when the storage works")
                    .caused_by(e)
            }),
            Ok(_) => Err(Error::new(ErrorKind::UpkeepRunning, "another program writes removal records")
                .with("file", path)
                .hint("try again when it has ended")),
            Err(e) if e.kind() == ErrorKind::FileNotFound => Err(failed),
            Err(_) => Err(Error::new(failed.kind(), "it is not known whether the operation has taken effect")
                .with("file", path)
                .hint("the table is whole, and nothing has been deleted; run the same operation again when the storage works")
                .caused_by(failed)),
        }
    }

    /// All records that are kept, oldest first.
    pub fn all(&self) -> Result<Vec<Removal>> {
        Ok(self.numbered()?.into_iter().map(|(_, record)| record).collect())
    }

    /// All records that are kept with their numbers, oldest first.
    pub fn numbered(&self) -> Result<Vec<(u64, Removal)>> {
        for _ in 0..ATTEMPTS {
            let listed = self.listed()?;
            let mut found = Vec::new();
            for number in &listed {
                // one that was deleted since: those before it are gone, too, and there are many newer ones
                let Some(record) = self.record(*number)? else { break };
                found.push((*number, record));
            }
            if found.len() == listed.len() {
                return Ok(found);
            }
        }
        Err(self.vanished())
    }

    /// What has expired, as far as records are kept; without what a later rollback has taken back.
    pub fn expired(&self) -> Result<Vec<RemovedSnapshot>> {
        let mut expired = Vec::new();
        self.numbered()?.iter().for_each(|(number, record)| record.add_to_expired(*number, &mut expired));
        Ok(expired)
    }

    pub(super) fn record(&self, number: u64) -> Result<Option<Removal>> {
        let path = self.path(number);
        match read_json(&*self.fs, &path) {
            Ok(bytes) => Removal::from_json(&path, &bytes).map(Some),
            Err(e) if e.kind() == ErrorKind::FileNotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    pub(super) fn hint(&self) -> Result<Option<u64>> {
        Ok(read_hint(&self.fs, &self.hint_path())?.and_then(|id| u64::try_from(id).ok()))
    }

    fn listed(&self) -> Result<Vec<u64>> {
        let children = self.fs.list(&self.directory)?;
        let names = children.iter().filter(|child| !child.is_dir).filter_map(|child| child.path.rsplit('/').next());
        let ids = names.filter_map(|name| parse_id(name.strip_prefix(PREFIX)?));
        let mut numbers: Vec<u64> = ids.filter_map(|id| u64::try_from(id).ok()).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn last_listed(&self) -> Result<u64> {
        Ok(self.listed()?.last().copied().unwrap_or(0))
    }

    /// Whether there may be records after `known` ones: where there are no directories, one listing tells, instead of asking for the
    /// next one and for the hint.
    pub(super) fn has_newer(&self, known: u64) -> Result<bool> {
        Ok(self.fs.has_directories() || self.last_listed()? > known)
    }

    /// Whether a record is there.
    pub(super) fn has(&self, number: u64) -> Result<bool> {
        self.fs.is_file(&self.path(number))
    }

    /// What tags name whose manifest lists are gone: their makers died, or were held up, while it expired.
    fn lost_tags(&self) -> Result<Vec<Snapshot>> {
        let root = self.directory.trim_end_matches("/siltstone");
        let table = root.rsplit_once("/branch/branch-").map_or(root, |(table, _)| table);
        // no file of a table has a name with a slash
        let is_there = |list: &str| -> Result<bool> {
            Ok(!list.contains('/') && self.fs.is_file(&format!("{table}/manifest/{list}"))?)
        };
        let mut lost = Vec::new();
        for (_, tagged) in TagManager::new(self.fs.clone(), root).list()? {
            if !is_there(&tagged.base_manifest_list)? && !is_there(&tagged.delta_manifest_list)? {
                lost.push(tagged);
            }
        }
        Ok(lost)
    }

    /// Deletes records that no writer asks for any more, oldest first; the hint names a much newer one by then. Who misses a
    /// record and finds no such hint has come to the end of the records.
    fn prune(&self, newest: u64, now: i64) -> Result<()> {
        if !newest.is_multiple_of(PRUNED_EVERY) {
            return Ok(());
        }
        let mut hint_is_durable = false;
        let mut lost = None;
        for number in self.listed()? {
            let record = self.record(number)?;
            // one that is gone is old, when its number is
            let time = record.as_ref().map_or(i64::MIN, |record| record.time_millis);
            if !is_old(number, time, newest, now) {
                return Ok(());
            }
            let lost = match &lost {
                Some(lost) => lost,
                None => lost.insert(self.lost_tags()?),
            };
            // without it nobody could tell that what these tags lack is no damage
            if record.is_some_and(|record| lost.iter().any(|tagged| record.lists(tagged))) {
                return Ok(());
            }
            if !std::mem::replace(&mut hint_is_durable, true) {
                self.fs.sync_dir(&self.directory)?;
            }
            self.fs.delete(&self.path(number))?;
        }
        Ok(())
    }
}
