//! The records of one branch, `siltstone/removal-<k>`, published one after another without replacing.

use super::{
    Removal, RemovalKind, Removals, RemovedSnapshot, Snapshot, UpkeepLock,
    manager::{parse_id, read_hint},
    removal::is_old,
};
use crate::{
    error::{Error, ErrorKind, Result},
    fs::FileIoRef,
};

const PREFIX: &str = "removal-";
/// Old records are looked for once in so many.
const PRUNED_EVERY: u64 = 32;

/// Where a published snapshot stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It became part of the line; it may have expired since.
    Committed,
    /// It came into a hole that a removal had left: nobody takes it for a version.
    TooLate,
    /// It was part of the line and a rollback has taken it out.
    RolledBack,
    /// The records that would tell are not kept any more.
    Unknown,
}

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
        let mut newest = match self.hint()? {
            Some(hint) => hint,
            None => self.last_listed()?,
        };
        while self.fs.exists(&self.path(newest + 1))? {
            newest += 1;
        }
        if newest == 0 {
            return Ok(self.none());
        }
        match self.record(newest)? {
            Some(record) => Ok(Removals::of(&self.branch, newest, record)),
            // a hint that is wrong
            None => match self.last_listed()? {
                0 => Ok(self.none()),
                last => {
                    let gone = || Error::new(ErrorKind::FileNotFound, "a removal record is gone");
                    Ok(Removals::of(
                        &self.branch,
                        last,
                        self.record(last)?.ok_or_else(|| gone().with("file", self.path(last)))?,
                    ))
                }
            },
        }
    }

    /// Where a snapshot stands that was published by a writer who knew `known` records.
    pub fn standing(&self, snapshot: &Snapshot, known: u64) -> Result<Standing> {
        let mut next = known + 1;
        loop {
            let Some(record) = self.record(next)? else {
                let older = next == known + 1 && self.hint()?.is_some_and(|newest| newest > known);
                return Ok(if older { Standing::Unknown } else { Standing::Committed });
            };
            if record.concerns(next, snapshot.id) {
                return Ok(match (record.lists(snapshot), record.kind) {
                    (false, _) => Standing::TooLate,
                    (true, RemovalKind::Rollback) => Standing::RolledBack,
                    // it was in the line; whether it is still there does not matter
                    (true, _) => Standing::Committed,
                });
            }
            next += 1;
        }
    }

    /// Why this very snapshot was removed after `known` records; `None` when none of the later ones lists it.
    pub fn removed_by(&self, snapshot: &RemovedSnapshot, known: u64) -> Result<Option<RemovalKind>> {
        let mut next = known + 1;
        while let Some(record) = self.record(next)? {
            if record.removed.contains(snapshot) {
                return Ok(Some(record.kind));
            }
            next += 1;
        }
        Ok(None)
    }

    /// Publishes the next record. The lock is the proof that nobody else does at the same time.
    pub fn append(&self, lock: &UpkeepLock, kind: RemovalKind, bound: i64, going: &[Snapshot]) -> Result<Removals> {
        let before = self.read()?;
        let record = before.next(kind, bound, going, lock.now_millis());
        self.publish(lock, before.count + 1, record)
    }

    /// Publishes the record that everything which rollbacks cut off is gone ([`Removals::settled`]).
    pub(super) fn append_settled(&self, lock: &UpkeepLock, fence: i64, newest: Option<i64>) -> Result<Removals> {
        let before = self.read()?;
        let record = before.settled(fence, newest, lock.now_millis());
        self.publish(lock, before.count + 1, record)
    }

    fn publish(&self, lock: &UpkeepLock, number: u64, record: Removal) -> Result<Removals> {
        self.fs.publish(&self.path(number), record.to_json()?.as_bytes(), true).map_err(|e| match e.kind() {
            ErrorKind::FileExists => Error::new(ErrorKind::UpkeepRunning, "another program writes removal records")
                .with("file", self.path(number))
                .hint("try again when it has ended"),
            _ => e,
        })?;
        let hinted = self.fs.overwrite(&self.hint_path(), number.to_string().as_bytes());
        if let Err(error) = hinted.and_then(|()| self.prune(number, lock.now_millis())) {
            tracing::warn!(%error, record = number, "the hint to the removal records was not written");
        }
        Ok(Removals::of(&self.branch, number, record))
    }

    /// All records that are kept, oldest first.
    pub fn all(&self) -> Result<Vec<Removal>> {
        Ok(self.numbered()?.into_iter().map(|(_, record)| record).collect())
    }

    /// All records that are kept with their numbers, oldest first.
    pub(super) fn numbered(&self) -> Result<Vec<(u64, Removal)>> {
        let mut found = Vec::new();
        for number in self.listed()? {
            found.extend(self.record(number)?.map(|record| (number, record)));
        }
        Ok(found)
    }

    fn record(&self, number: u64) -> Result<Option<Removal>> {
        let path = self.path(number);
        match self.fs.read(&path) {
            Ok(bytes) => Removal::from_json(&path, &bytes).map(Some),
            Err(e) if e.kind() == ErrorKind::FileNotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn hint(&self) -> Result<Option<u64>> {
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

    /// Deletes records that no writer asks for any more, oldest first.
    fn prune(&self, newest: u64, now: i64) -> Result<()> {
        if !newest.is_multiple_of(PRUNED_EVERY) {
            return Ok(());
        }
        for number in self.listed()? {
            // one that is gone is old, when its number is
            let time = self.record(number)?.map_or(i64::MIN, |record| record.time_millis);
            if !is_old(number, time, newest, now) {
                return Ok(());
            }
            self.fs.delete(&self.path(number))?;
        }
        Ok(())
    }
}
