//! The `consumer/` directory: how far stream readers have come. Snapshots from `nextSnapshot` on are kept for them.
//!
//! `consumer-<id>` is `{ "nextSnapshot" : 5 }` in Jackson's pretty form, overwritten as the reader goes on. A reader that begins with
//! the state of that snapshot, and has not come to its end, says so by `siltstone.state`, which other programs ignore.
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
const PREFIX: &str = "consumer-";
/// A file that was taken out of its place: `.old-consumer-<id>.<uuid>.tmp`.
const ASIDE: &str = ".old-consumer-";
/// How long a reader waits for the lock before it looks at the mark again.
const WAIT: Duration = Duration::from_millis(50);

/// One stream reader's progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumer {
    /// Its id.
    pub id: String,
    /// The snapshot that it reads next.
    pub next_snapshot: i64,
    /// Whether it reads the whole state of that snapshot, not what changed.
    pub reads_state: bool,
    /// When its file was last written, epoch milliseconds.
    pub modified_millis: i64,
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
            if let Some((next_snapshot, reads_state)) = self.place(id)? {
                let modified_millis = file.modified_millis;
                found.push(Consumer { id: id.to_owned(), next_snapshot, reads_state, modified_millis });
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
        let modified_millis = file.modified_millis;
        let found =
            |(next_snapshot, reads_state)| Consumer { id: id.to_owned(), next_snapshot, reads_state, modified_millis };
        Ok(self.place(id)?.map(found))
    }

    /// The snapshot that a consumer reads next; `None` when it does not exist.
    pub fn next_snapshot(&self, id: &str) -> Result<Option<i64>> {
        Ok(self.place(id)?.map(|(next, _)| next))
    }

    /// The snapshot, and whether its whole state is to be read.
    fn place(&self, id: &str) -> Result<Option<(i64, bool)>> {
        check_can_exist("consumer", id)?;
        let path = self.path(id);
        let bytes = match self.fs.read_at_most(&path, NUMBER_BYTES) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == ErrorKind::FileNotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let parsed: Option<Value> = serde_json::from_slice(&bytes).ok();
        let next = parsed.as_ref().and_then(|v| v.get("nextSnapshot")).and_then(Value::as_i64);
        let next = next.filter(|next| (0..i64::MAX).contains(next));
        let reads_state = parsed.as_ref().and_then(|v| v.get(STATE)).and_then(Value::as_bool).unwrap_or(false);
        next.map(|next| Some((next, reads_state))).ok_or_else(|| {
            Error::corrupt(path, 0, "a consumer as JSON", String::from_utf8_lossy(&bytes))
                .hint("reset the consumer, or delete it if nobody reads with it any more")
        })
    }

    /// The smallest `nextSnapshot` of all consumers.
    pub fn min_next_snapshot(&self) -> Result<Option<i64>> {
        Ok(self.list()?.into_iter().map(|consumer| consumer.next_snapshot).min())
    }

    /// Sets a consumer to the snapshot it reads next; made when it does not exist.
    pub fn reset(&self, id: &str, next_snapshot: i64) -> Result<()> {
        self.write(id, next_snapshot, false)
    }

    fn write(&self, id: &str, next_snapshot: i64, reads_state: bool) -> Result<()> {
        check_name("consumer", id)?;
        self.fs.create_dir(&self.directory)?;
        let state = if reads_state { format!(",\n  \"{STATE}\" : true") } else { String::new() };
        self.fs.overwrite(&self.path(id), format!("{{\n  \"nextSnapshot\" : {next_snapshot}{state}\n}}").as_bytes())
    }

    /// Remembers how far a reader has come, also beside an expiry of consumers: the snapshot that it reads next, and whether its
    /// whole state. `location` is the table's, `patience` how long to wait for that expiry.
    ///
    /// # Errors
    /// `UpkeepRunning`: it did not end, and may forget the consumer.
    pub fn record(
        &self,
        location: &str,
        id: &str,
        (next_snapshot, reads_state): (i64, bool),
        patience: Duration,
    ) -> Result<()> {
        self.write(id, next_snapshot, reads_state)?;
        let mut left = patience;
        while self.fs.is_file(&self.mark)? {
            let waits = left.min(WAIT);
            match UpkeepLock::take(&self.fs, location, waits) {
                Ok(_lock) => {
                    if self.next_snapshot(id)?.is_none() {
                        self.write(id, next_snapshot, reads_state)?;
                    }
                    // whoever holds the lock is the only one at work: the mark is of an expiry that died
                    return self.fs.delete(&self.mark);
                }
                Err(e) if e.kind() != ErrorKind::UpkeepRunning || left.is_zero() => return Err(e.with("consumer", id)),
                Err(_) => left = left.saturating_sub(waits),
            }
            // where that expiry is over, another one sees the file
            if !self.fs.is_file(&self.mark)? && self.next_snapshot(id)?.is_none() {
                self.write(id, next_snapshot, reads_state)?;
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
        match self.fs.publish(path, &self.fs.read(aside)?, false) {
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
