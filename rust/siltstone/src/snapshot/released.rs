//! Versions that a tag lets go, `siltstone/released-<id>`.
//!
//! The file of a tag goes before the files that only the tag kept, so that nobody finds a tag without files. In between those
//! files belong to no version, and look like files that nobody has committed yet. The record says what they are, from before the
//! tag's file goes until they are gone; what a deletion that died has left, the next upkeep deletes by it.

use super::{Snapshot, UpkeepLock};
use crate::{
    env::new_uuid,
    error::{Error, ErrorKind, Result},
    fs::{FileIoRef, read_json},
};

const PREFIX: &str = "released-";
/// The property of a recorded snapshot that names its tag.
const TAG: &str = "siltstone.tag";

/// A snapshot that a tag kept, which has been deleted or replaced, or is about to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Released {
    path: String,
    /// The tag's name.
    pub tag: String,
    /// What it named.
    pub snapshot: Snapshot,
}

/// The records of one branch.
#[derive(Clone, Debug)]
pub struct ReleasedVersions {
    fs: FileIoRef,
    directory: String,
}

impl ReleasedVersions {
    /// Records below `branch_root` (`path::branch_root`).
    pub fn new(fs: FileIoRef, branch_root: &str) -> Self {
        Self { fs, directory: format!("{}/siltstone", branch_root.trim_end_matches('/')) }
    }

    /// Publishes a record. The lock is the proof that nobody makes a tag of a version that has expired meanwhile.
    pub fn publish(&self, _lock: &UpkeepLock, tag: &str, snapshot: &Snapshot) -> Result<Released> {
        let path = format!("{}/{PREFIX}{}", self.directory, new_uuid());
        let mut recorded = snapshot.clone();
        recorded.properties.get_or_insert_default().insert(TAG.to_owned(), tag.to_owned());
        self.fs.publish(&path, recorded.to_json()?.as_bytes(), true)?;
        Ok(Released { path, tag: tag.to_owned(), snapshot: snapshot.clone() })
    }

    /// All records, in no order. One that goes meanwhile is left out: its files have gone before it.
    ///
    /// # Errors
    /// `CorruptFile`: a file that is no record.
    pub fn list(&self) -> Result<Vec<Released>> {
        let read = self.paths()?.into_iter().map(|path| self.read(path));
        read.filter_map(Result::transpose).collect()
    }

    /// Where the records are.
    pub fn paths(&self) -> Result<Vec<String>> {
        let files = self.fs.list(&self.directory)?.into_iter().filter(|file| !file.is_dir).map(|file| file.path);
        Ok(files.filter(|path| path.rsplit('/').next().is_some_and(|name| name.starts_with(PREFIX))).collect())
    }

    /// One of them; `None`: it has gone.
    ///
    /// # Errors
    /// As [`Self::list`].
    pub fn read(&self, path: String) -> Result<Option<Released>> {
        match read_json(&*self.fs, &path) {
            Ok(bytes) => parse(path, &bytes).map(Some),
            Err(e) if e.kind() == ErrorKind::FileNotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Removes a record: what only the tag kept is gone, or something else keeps it.
    pub fn remove(&self, released: &Released) -> Result<()> {
        self.fs.delete(&released.path)
    }
}

fn parse(path: String, bytes: &[u8]) -> Result<Released> {
    let recorded = Snapshot::from_json(&path, bytes)?;
    let tag = recorded.properties.as_ref().and_then(|properties| properties.get(TAG)).cloned();
    match tag {
        Some(tag) => Ok(Released { path, tag, snapshot: recorded.without_property(TAG) }),
        None => Err(Error::corrupt(&path, 0, format!("a snapshot with the property '{TAG}'"), "one without")),
    }
}
