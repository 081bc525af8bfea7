//! The `tag/` directory: named snapshots.

use super::Snapshot;
use crate::{
    error::{Error, ErrorKind, Result},
    fs::FileIoRef,
};

const PREFIX: &str = "tag-";

/// Tags of a table, or of a branch.
#[derive(Clone, Debug)]
pub struct TagManager {
    fs: FileIoRef,
    directory: String,
}

impl TagManager {
    /// Tags below `branch_root` (`path::branch_root`).
    pub fn new(fs: FileIoRef, branch_root: &str) -> Self {
        Self { fs, directory: format!("{}/tag", branch_root.trim_end_matches('/')) }
    }

    /// Path of `tag-<name>`.
    pub fn path(&self, name: &str) -> String {
        format!("{}/{PREFIX}{name}", self.directory)
    }

    /// Whether the tag exists. A name that cannot be a file name is no tag.
    pub fn exists(&self, name: &str) -> Result<bool> {
        Ok(!name.trim().is_empty() && !name.contains('/') && self.fs.exists(&self.path(name))?)
    }

    /// The snapshot that a tag names; `TagNotFound`.
    pub fn get(&self, name: &str) -> Result<Snapshot> {
        if name.trim().is_empty() || name.contains('/') {
            return self.missing(name);
        }
        let path = self.path(name);
        match self.fs.read(&path) {
            Ok(bytes) => Snapshot::from_json(&path, &bytes),
            Err(e) if e.kind() == ErrorKind::FileNotFound => self.missing(name),
            Err(e) => Err(e),
        }
    }

    /// Names of all tags, sorted.
    pub fn names(&self) -> Result<Vec<String>> {
        let listed = self.fs.list(&self.directory)?;
        let mut names: Vec<String> = listed
            .iter()
            .filter(|file| !file.is_dir)
            .filter_map(|file| file.path.rsplit('/').next()?.strip_prefix(PREFIX))
            .map(str::to_owned)
            .collect();
        names.sort();
        Ok(names)
    }

    /// All tags, by snapshot id and then name.
    pub fn list(&self) -> Result<Vec<(String, Snapshot)>> {
        let mut tags = Vec::new();
        for name in self.names()? {
            match self.get(&name) {
                Ok(snapshot) => tags.push((name, snapshot)),
                // deleted meanwhile
                Err(e) if e.kind() == ErrorKind::TagNotFound => {}
                Err(e) => return Err(e),
            }
        }
        tags.sort_by(|(a_name, a), (b_name, b)| (a.id, a_name).cmp(&(b.id, b_name)));
        Ok(tags)
    }

    fn missing(&self, name: &str) -> Result<Snapshot> {
        let names = self.names()?;
        let near = names.iter().min_by_key(|known| strsim::damerau_levenshtein(known, name));
        let error = Error::new(ErrorKind::TagNotFound, format!("tag '{name}' does not exist")).with("tag", name);
        Err(match near {
            Some(near) => error.hint(format!("did you mean '{near}'?")),
            None => error.hint("the table has no tags"),
        })
    }
}
