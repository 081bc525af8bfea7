//! The `snapshot/` directory of a table or branch: discovery by hints and listing, exclusive publishing.

use rayon::prelude::*;

use super::{Snapshot, TagManager};
use crate::{
    error::{Error, ErrorKind, Result},
    fs::FileIoRef,
    threads::in_pool,
};

const PREFIX: &str = "snapshot-";
const LATEST: &str = "LATEST";
const EARLIEST: &str = "EARLIEST";

/// How often a reader looks again when the newest snapshot vanished between finding and opening it.
const ATTEMPTS: usize = 5;

/// Snapshots of a table, or of a branch (`branch_root`).
#[derive(Clone, Debug)]
pub struct SnapshotManager {
    fs: FileIoRef,
    directory: String,
}

impl SnapshotManager {
    /// Snapshots below `branch_root` (`path::branch_root`).
    pub fn new(fs: FileIoRef, branch_root: &str) -> Self {
        Self { fs, directory: format!("{}/snapshot", branch_root.trim_end_matches('/')) }
    }

    /// Path of `snapshot-<id>`.
    pub fn path(&self, id: i64) -> String {
        format!("{}/{PREFIX}{id}", self.directory)
    }

    /// Path of a hint: `EARLIEST` or `LATEST`.
    pub fn hint_path(&self, name: &str) -> String {
        format!("{}/{name}", self.directory)
    }

    /// What the `EARLIEST` hint says, whether that snapshot exists or not.
    pub fn earliest_hint(&self) -> Result<Option<i64>> {
        self.hint(EARLIEST)
    }

    /// The newest snapshot's id; `None` for an empty table.
    ///
    /// The hint counts only when its snapshot exists and the next does not; else the directory is listed.
    pub fn latest_id(&self) -> Result<Option<i64>> {
        match self.hint(LATEST)? {
            Some(id) if !self.next_exists(id)? && self.exists(id)? => Ok(Some(id)),
            _ => Ok(self.ids()?.last().copied()),
        }
    }

    /// The oldest snapshot's id.
    pub fn earliest_id(&self) -> Result<Option<i64>> {
        match self.hint(EARLIEST)? {
            Some(id) if self.exists(id)? => Ok(Some(id)),
            _ => Ok(self.ids()?.first().copied()),
        }
    }

    /// All ids, ascending, from the listing. Names that are not `snapshot-<number>` are ignored.
    pub fn ids(&self) -> Result<Vec<i64>> {
        let listed = self.fs.list(&self.directory)?;
        let mut ids: Vec<i64> = listed
            .iter()
            .filter(|file| !file.is_dir)
            .filter_map(|file| parse_id(file.path.rsplit('/').next()?.strip_prefix(PREFIX)?))
            .collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// Whether `snapshot-<id>` exists.
    pub fn exists(&self, id: i64) -> Result<bool> {
        self.fs.exists(&self.path(id))
    }

    /// One snapshot; `SnapshotExpired` or `SnapshotNotFound` with the available range.
    pub fn get(&self, id: i64) -> Result<Snapshot> {
        match self.read(id) {
            Err(e) if e.kind() == ErrorKind::FileNotFound => Err(self.missing(id)?),
            other => other,
        }
    }

    /// When a snapshot was committed; `None` when it does not exist.
    pub fn time_of(&self, id: i64) -> Result<Option<i64>> {
        match self.read(id) {
            Ok(snapshot) => Ok(Some(snapshot.time_millis)),
            Err(e) if e.kind() == ErrorKind::FileNotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The snapshots of these ids that exist, ascending.
    pub fn existing(&self, ids: impl IntoIterator<Item = i64>) -> Result<Vec<Snapshot>> {
        let ids: Vec<i64> = ids.into_iter().collect();
        let read = |id: &i64| match self.read(*id) {
            Err(e) if e.kind() == ErrorKind::FileNotFound => None,
            other => Some(other),
        };
        let mut found: Vec<Snapshot> = in_pool(|| ids.par_iter().filter_map(read).collect::<Result<_>>())?;
        found.sort_by_key(|snapshot| snapshot.id);
        Ok(found)
    }

    /// The newest snapshot; `None` for an empty table.
    pub fn latest(&self) -> Result<Option<Snapshot>> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let Some(id) = self.latest_id()? else {
                return Ok(None);
            };
            match self.read(id) {
                // expired meanwhile, so there is a newer one
                Err(e) if e.kind() == ErrorKind::FileNotFound => last = Some(e),
                other => return other.map(Some),
            }
        }
        last.map_or(Ok(None), Err)
    }

    /// The newest snapshot that was committed at or before this time (epoch milliseconds).
    pub fn at_or_before(&self, millis: i64) -> Result<Option<Snapshot>> {
        let ids = self.ids()?;
        let (mut low, mut high) = (0, ids.len());
        let mut found = None;
        while low < high {
            let middle = low + (high - low) / 2;
            let Some(&id) = ids.get(middle) else {
                break;
            };
            match self.read(id) {
                Ok(snapshot) if snapshot.time_millis <= millis => {
                    found = Some(snapshot);
                    low = middle + 1;
                }
                Ok(_) => high = middle,
                // expired meanwhile: only later ones are left
                Err(e) if e.kind() == ErrorKind::FileNotFound => low = middle + 1,
                Err(e) => return Err(e),
            }
        }
        Ok(found)
    }

    /// Publishes a snapshot under its id without replacing anything. `false`: another commit has that id.
    ///
    /// The same content already there counts as published: an earlier attempt did succeed. The file is read
    /// back, because a JVM on the same directory may have replaced it by a rename.
    pub fn publish(&self, snapshot: &Snapshot, sync: bool) -> Result<bool> {
        let path = self.path(snapshot.id);
        match self.fs.publish(&path, snapshot.to_json()?.as_bytes(), sync) {
            Err(e) if e.kind() != ErrorKind::FileExists => return Err(e.with("snapshot", snapshot.id)),
            _ => {}
        }
        Ok(self.read(snapshot.id)? == *snapshot)
    }

    /// Overwrites the `LATEST` hint. Best effort: a wrong hint is no error for readers.
    pub fn write_latest_hint(&self, id: i64) -> Result<()> {
        self.fs.overwrite(&format!("{}/{LATEST}", self.directory), id.to_string().as_bytes())
    }

    /// Overwrites the `EARLIEST` hint. Best effort, too.
    pub fn write_earliest_hint(&self, id: i64) -> Result<()> {
        self.fs.overwrite(&format!("{}/{EARLIEST}", self.directory), id.to_string().as_bytes())
    }

    fn read(&self, id: i64) -> Result<Snapshot> {
        let path = self.path(id);
        let snapshot = Snapshot::from_json(&path, &self.fs.read(&path)?)?;
        if snapshot.id == id {
            return Ok(snapshot);
        }
        Err(Error::corrupt(path, 0, format!("the snapshot with id {id}"), format!("id {}", snapshot.id)))
    }

    fn next_exists(&self, id: i64) -> Result<bool> {
        id.checked_add(1).map_or(Ok(false), |next| self.exists(next))
    }

    /// What a hint says, `EARLIEST` or `LATEST`; `None` for one that is absent or says nothing.
    pub fn hint(&self, name: &str) -> Result<Option<i64>> {
        read_hint(&self.fs, &self.hint_path(name))
    }

    /// The error for a snapshot that is not there, with the nearest versions that are.
    fn missing(&self, id: i64) -> Result<Error> {
        let ids = self.ids()?;
        let near = self.nearest(id, &ids)?;
        let (Some(first), Some(last)) = (ids.first().copied(), ids.last().copied()) else {
            let message = format!("snapshot {id} does not exist, the table has no snapshots");
            let error = Error::new(ErrorKind::SnapshotNotFound, message).with("snapshot", id);
            return Ok(if near.is_empty() { error } else { error.hint(format!("there is {near}")) });
        };
        let range = format!("snapshots {first} to {last} are available");
        let error = if (1..first).contains(&id) {
            Error::new(ErrorKind::SnapshotExpired, format!("snapshot {id} has expired, {range}"))
                .hint(format!("the nearest is {near}; a tag keeps a snapshot longer than `snapshot.time-retained`"))
        } else {
            Error::new(ErrorKind::SnapshotNotFound, format!("snapshot {id} does not exist, {range}"))
                .hint(format!("the nearest is {near}"))
        };
        Ok(error.with("snapshot", id).with("earliest", first).with("latest", last))
    }

    /// In words: the snapshots just before and after `id`, and the tags of expired ones that are nearer.
    fn nearest(&self, id: i64, ids: &[i64]) -> Result<String> {
        let tags = TagManager::new(self.fs.clone(), self.directory.trim_end_matches("/snapshot"));
        // a tag that is broken or goes meanwhile is no choice
        let tagged = tags.names()?.into_iter().filter_map(|name| Some((tags.get(&name).ok()?.id, Some(name))));
        let expired = tagged.filter(|(tagged, _)| !ids.contains(tagged));
        let mut all: Vec<(i64, Option<String>)> = ids.iter().map(|id| (*id, None)).chain(expired).collect();
        all.sort();
        let before = all.iter().rev().find(|(other, _)| *other <= id);
        let after = all.iter().find(|(other, _)| *other > id);
        let text = |(id, tag): &(i64, Option<String>)| match tag {
            Some(tag) => format!("tag '{tag}' of snapshot {id}"),
            None => format!("snapshot {id}"),
        };
        Ok(before.into_iter().chain(after).map(text).collect::<Vec<_>>().join(", or "))
    }
}

/// A hint's id, when there is one: absent, empty and odd hints are the same.
pub(super) fn read_hint(fs: &FileIoRef, path: &str) -> Result<Option<i64>> {
    match fs.read(path) {
        Ok(bytes) => Ok(std::str::from_utf8(&bytes).ok().and_then(|text| parse_id(text.trim()))),
        Err(e) if matches!(e.kind(), ErrorKind::FileNotFound | ErrorKind::CorruptFile) => Ok(None),
        Err(e) => Err(e),
    }
}

/// A positive number in decimal digits and nothing else.
pub(super) fn parse_id(text: &str) -> Option<i64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|&id| digits && id > 0)
}
