//! The `consumer/` directory: how far stream readers have come. Snapshots from `nextSnapshot` on are kept for them.
//!
//! `consumer-<id>` is `{ "nextSnapshot" : 5 }` in Jackson's pretty form, overwritten as the reader goes on. A reader that begins with
//! the state of that snapshot, and has not come to its end, says so by `siltstone.state`; `siltstone.removals` and
//! `siltstone.deltaManifestList` tell what it had read when it wrote the file ([`Behind`]). Other programs ignore these.
//!
//! Consumers expire when nobody has written their files for long. A reader may do so between the last look and the deletion:
//! the file is looked at once more when it has another name, which no reader writes, and comes back when it is not old. Until then
//! the lock is held, so that no snapshots expire meanwhile. For an expiry that dies there is a mark: expiry and reader each write
//! first and look afterwards, so that one of the two sees the other.
//!
//! ```text
//! expiry   lock ─ mark ─ look: which files are old ─ each: rename, look again, delete or put back ─ take the mark away
//! reader   write the file ─ is there a mark? Then wait until it is gone, or for the lock, and write the file again if it is gone
//! ```
//!
//! An expiry of snapshots or changelogs does the same while it looks which of them consumers keep, until a record or hint says what
//! goes: a reader that it has not seen finds that afterwards, whether the expiry has died or not. What an expiry that died has
//! left beside its place comes back before anything else expires.
//!
//! Source: format chapter 10.3; `Consumer`, `ConsumerManager`.

use std::time::Duration;

use serde_json::Value;

use super::{UpkeepLock, check_name};
use crate::{
    env::new_uuid,
    error::{Error, ErrorKind, Result},
    fs::{FileIoRef, NUMBER_BYTES, check_can_exist},
};

/// Says that a reader has not come to the end of the state that it begins with.
const STATE: &str = "siltstone.state";
/// [`Behind::removals`].
const REMOVALS: &str = "siltstone.removals";
/// [`Behind::delta_manifest_list`].
const LAST_READ: &str = "siltstone.deltaManifestList";
const PREFIX: &str = "consumer-";
/// A file that was taken out of its place: `.old-consumer-<id>.<uuid>.tmp`.
const ASIDE: &str = ".old-consumer-";
/// How long a reader waits for the lock before it looks at the mark again.
const WAIT: Duration = Duration::from_millis(50);

/// One stream reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumer {
    /// Its id.
    pub id: String,
    /// How far it has come.
    pub progress: ConsumerProgress,
    /// When its file was last written, epoch milliseconds.
    pub modified_millis: i64,
}

/// How far a stream reader has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerProgress {
    /// The snapshot that it reads next.
    pub next_snapshot: i64,
    /// Whether it reads the whole state of that snapshot, not what changed.
    pub reads_state: bool,
    /// `None`: another program has written the file, or there was nothing to read before.
    pub behind: Option<Behind>,
}

/// What tells whether the snapshot before the next one is still the one that a reader had read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// How many removal records there were when it was a version.
    pub removals: u64,
    /// What tells it from others of its id; `None`: it was not there any more.
    pub delta_manifest_list: Option<String>,
}

impl ConsumerProgress {
    /// The changes of a snapshot come next.
    pub fn changes_of(next_snapshot: i64, behind: Option<Behind>) -> Self {
        Self { next_snapshot, reads_state: false, behind }
    }

    /// `None`: that is not the JSON of a consumer.
    fn from_json(bytes: &[u8]) -> Option<Self> {
        let parsed: Value = serde_json::from_slice(bytes).ok()?;
        let next_snapshot = parsed.get("nextSnapshot")?.as_i64().filter(|next| (0..i64::MAX).contains(next))?;
        let behind = parsed.get(REMOVALS).and_then(Value::as_u64).map(|removals| Behind {
            removals,
            delta_manifest_list: parsed.get(LAST_READ).and_then(Value::as_str).map(str::to_owned),
        });
        Some(Self { next_snapshot, reads_state: parsed.get(STATE).and_then(Value::as_bool).unwrap_or(false), behind })
    }

    fn to_json(&self) -> String {
        let mut lines = vec![format!("\"nextSnapshot\" : {}", self.next_snapshot)];
        if self.reads_state {
            lines.push(format!("\"{STATE}\" : true"));
        }
        if let Some(behind) = &self.behind {
            lines.push(format!("\"{REMOVALS}\" : {}", behind.removals));
            let list = behind.delta_manifest_list.as_deref();
            lines.extend(list.map(|list| format!("\"{LAST_READ}\" : {}", Value::from(list))));
        }
        format!("{{\n  {}\n}}", lines.join(",\n  "))
    }
}

/// Consumers of a table, or of a branch.
#[derive(Clone, Debug)]
pub struct ConsumerManager {
    fs: FileIoRef,
    directory: String,
    /// There while an expiry of consumers is at work, or after one that died.
    mark: String,
}

impl ConsumerManager {
    /// Consumers below `branch_root` (`path::branch_root`).
    pub fn new(fs: FileIoRef, branch_root: &str) -> Self {
        let root = branch_root.trim_end_matches('/');
        Self { fs, directory: format!("{root}/consumer"), mark: format!("{root}/siltstone/consumers-expire") }
    }

    /// Path of `consumer-<id>`.
    pub fn path(&self, id: &str) -> String {
        format!("{}/{PREFIX}{id}", self.directory)
    }

    /// Ids of all consumers, those whose files are broken among them.
    pub fn ids(&self) -> Result<Vec<String>> {
        let files = self.fs.list(&self.directory)?.into_iter().filter(|file| !file.is_dir);
        Ok(files.filter_map(|file| Some(file.path.rsplit('/').next()?.strip_prefix(PREFIX)?.to_owned())).collect())
    }

    /// All consumers, by id. A file that is not a consumer's JSON is an error: its snapshots must not be lost.
    pub fn list(&self) -> Result<Vec<Consumer>> {
        let mut found = Vec::new();
        for file in self.fs.list(&self.directory)? {
            let name = file.path.rsplit('/').next().unwrap_or_default();
            let Some(id) = name.strip_prefix(PREFIX).filter(|_| !file.is_dir) else { continue };
            if let Some(progress) = self.progress(id)? {
                found.push(Consumer { id: id.to_owned(), progress, modified_millis: file.modified_millis });
            }
        }
        found.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(found)
    }

    /// One consumer; `None` when it does not exist.
    pub fn get(&self, id: &str) -> Result<Option<Consumer>> {
        check_can_exist("consumer", id)?;
        // the time first: progress that is made meanwhile only seems older than it is
        let Some(file) = self.fs.status(&self.path(id))? else { return Ok(None) };
        let found = |progress| Consumer { id: id.to_owned(), progress, modified_millis: file.modified_millis };
        Ok(self.progress(id)?.map(found))
    }

    /// The snapshot that a consumer reads next; `None` when it does not exist.
    pub fn next_snapshot(&self, id: &str) -> Result<Option<i64>> {
        Ok(self.progress(id)?.map(|progress| progress.next_snapshot))
    }

    /// How far a consumer has come; `None` when it does not exist.
    pub fn progress(&self, id: &str) -> Result<Option<ConsumerProgress>> {
        check_can_exist("consumer", id)?;
        let path = self.path(id);
        let bytes = match self.fs.read_at_most(&path, NUMBER_BYTES) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == ErrorKind::FileNotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        ConsumerProgress::from_json(&bytes).map(Some).ok_or_else(|| {
            Error::corrupt(path, 0, "a consumer as JSON", String::from_utf8_lossy(&bytes))
                .hint("reset the consumer, or delete it if nobody reads with it any more")
        })
    }

    /// The smallest `nextSnapshot` of all consumers.
    pub fn min_next_snapshot(&self) -> Result<Option<i64>> {
        Ok(self.list()?.into_iter().map(|consumer| consumer.progress.next_snapshot).min())
    }

    /// Sets how far a consumer has come; made when it does not exist.
    pub fn write(&self, id: &str, progress: &ConsumerProgress) -> Result<()> {
        check_name("consumer", id)?;
        self.fs.create_dir(&self.directory)?;
        self.fs.overwrite(&self.path(id), progress.to_json().as_bytes())
    }

    /// Makes a consumer that does not exist.
    ///
    /// # Errors
    /// `CommitConflict`: it does.
    fn create(&self, id: &str, progress: &ConsumerProgress) -> Result<()> {
        check_name("consumer", id)?;
        self.fs.create_dir(&self.directory)?;
        let made = self.fs.publish(&self.path(id), progress.to_json().as_bytes(), false);
        made.map_err(|e| match e.kind() {
            ErrorKind::FileExists => {
                Error::new(ErrorKind::CommitConflict, "another reader has begun with this consumer meanwhile")
                    .with("consumer", id)
                    .hint("begin again, to go on where that one is")
            }
            _ => e,
        })
    }

    /// Takes back what was written, unless somebody else has written since; `before`: what was there.
    pub fn undo(&self, id: &str, wrote: &ConsumerProgress, before: Option<&ConsumerProgress>) -> Result<()> {
        match (self.progress(id)?, before) {
            (Some(found), Some(before)) if found == *wrote => self.write(id, before),
            (Some(found), None) if found == *wrote => self.delete(id),
            _ => Ok(()),
        }
    }

    /// Remembers how far a reader has come, also beside an expiry of consumers. `before` is what was there, `location` the table's,
    /// `patience` how long to wait for that expiry.
    ///
    /// # Errors
    /// `CommitConflict`: none was there, and now there is one.
    /// `UpkeepRunning`: it did not end, and may forget the consumer.
    pub fn record(
        &self,
        location: &str,
        id: &str,
        (before, progress): (Option<&ConsumerProgress>, &ConsumerProgress),
        patience: Duration,
    ) -> Result<()> {
        match before {
            Some(_) => self.write(id, progress)?,
            None => self.create(id, progress)?,
        }
        let mut left = patience;
        while self.fs.is_file(&self.mark)? {
            let waits = left.min(WAIT);
            match UpkeepLock::take(&self.fs, location, waits) {
                Ok(_lock) => {
                    if self.next_snapshot(id)?.is_none() {
                        self.write(id, progress)?;
                    }
                    // whoever holds the lock is the only one at work: the mark is of an expiry that died
                    return self.fs.delete(&self.mark);
                }
                Err(e) if e.kind() != ErrorKind::UpkeepRunning || left.is_zero() => return Err(e.with("consumer", id)),
                Err(_) => left = left.saturating_sub(waits),
            }
            // where that expiry is over, another one sees the file
            if !self.fs.is_file(&self.mark)? && self.next_snapshot(id)?.is_none() {
                self.write(id, progress)?;
            }
        }
        Ok(())
    }

    /// Runs an expiry, or what it begins with: what it finds out about consumers is not changed meanwhile by a reader who does not
    /// notice.
    pub fn expire<T>(&self, _lock: &UpkeepLock, expire: impl FnOnce() -> Result<T>) -> Result<T> {
        if let Some((directory, _)) = self.mark.rsplit_once('/') {
            self.fs.create_dir(directory)?;
        }
        let died = self.fs.is_file(&self.mark)?;
        self.fs.overwrite(&self.mark, b"")?;
        if died {
            self.put_back()?;
        }
        let expired = expire();
        // one that stays does no harm: the next reader takes it away
        if let Err(error) = self.fs.delete(&self.mark) {
            tracing::warn!(%error, "the mark of an expiry of consumers was not removed");
        }
        expired
    }

    /// Puts files back that an expiry which died had taken out of their places: nobody knows whether they are old.
    fn put_back(&self) -> Result<()> {
        for file in self.fs.list(&self.directory)? {
            let name = file.path.rsplit('/').next().unwrap_or_default();
            let aside = name.strip_prefix(ASIDE).and_then(|rest| rest.strip_suffix(".tmp")).filter(|_| !file.is_dir);
            let Some((id, _)) = aside.and_then(|rest| rest.rsplit_once('.')) else { continue };
            check_can_exist("consumer", id)?;
            self.publish(&self.path(id), &file.path)?;
            self.fs.delete(&file.path)?;
        }
        Ok(())
    }

    /// Deletes a consumer whose file was last written before this time, within [`ConsumerManager::expire`]; whether it is gone.
    ///
    /// # Errors
    /// Storage errors; the file is in its place again, unless that fails, too.
    pub fn delete_old(&self, id: &str, older_than: i64) -> Result<bool> {
        check_can_exist("consumer", id)?;
        let (path, aside) = (self.path(id), format!("{}/{ASIDE}{id}.{}.tmp", self.directory, new_uuid()));
        match self.fs.rename_dir(&path, &aside) {
            // somebody else has deleted it
            Err(e) if e.kind() == ErrorKind::FileNotFound => return Ok(true),
            renamed => renamed?,
        }
        let judged = self.judge(&path, &aside, older_than);
        match &judged {
            Ok(_) => self.fs.delete(&aside)?,
            // nobody knows that it is old
            Err(_) => {
                if let Err(error) = self.fs.rename_dir(&aside, &path) {
                    tracing::warn!(%error, consumer = id, "the file of a consumer is left beside its place");
                }
            }
        }
        judged
    }

    /// Whether a file that was taken out of its place is old; otherwise its content is put back.
    fn judge(&self, path: &str, aside: &str, older_than: i64) -> Result<bool> {
        let is_old = self.fs.status(aside)?.is_none_or(|file| file.modified_millis < older_than);
        if !is_old {
            self.publish(path, aside)?;
        }
        Ok(is_old)
    }

    /// Puts the content of a file back, unless its reader has gone on once more.
    fn publish(&self, path: &str, aside: &str) -> Result<()> {
        match self.fs.publish(path, &self.fs.read_at_most(aside, NUMBER_BYTES)?, false) {
            Err(e) if e.kind() == ErrorKind::FileExists => Ok(()),
            published => published,
        }
    }

    /// Deletes a consumer; fine when absent.
    pub fn delete(&self, id: &str) -> Result<()> {
        check_can_exist("consumer", id)?;
        self.fs.delete(&self.path(id))
    }
}
