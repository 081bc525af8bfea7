//! The `branch/` directory: branches by name. Each has its own `schema`, `snapshot`, `tag`, `changelog`, `consumer`;
//! data, manifests, index files and statistics are shared with the main branch.
//!
//! Source: format chapter 10.2, semantics g.7; `FileSystemBranchManager`.

use crate::{
    error::{Error, ErrorKind, Result},
    fs::{FileIoRef, can_exist},
};

const PREFIX: &str = "branch-";

/// What to do about a branch of which only the directory is there.
pub(crate) const BRANCH_WITHOUT_SCHEMA: &str =
    "its directory holds no schema: restore that from a copy, or delete the branch";

/// Branches of one table.
#[derive(Clone, Debug)]
pub struct BranchManager {
    fs: FileIoRef,
    location: String,
}

impl BranchManager {
    /// Branches of the table at `location` (the main table's root).
    pub fn new(fs: FileIoRef, location: &str) -> Self {
        Self { fs, location: location.trim_end_matches('/').to_owned() }
    }

    /// Directory of all branches.
    pub fn directory(&self) -> String {
        format!("{}/branch", self.location)
    }

    /// Directory of a branch; for `main` the table's.
    pub fn root(&self, name: &str) -> String {
        if is_main(name) { self.location.clone() } else { format!("{}/branch/{PREFIX}{name}", self.location) }
    }

    /// Names of all branches but main, sorted.
    pub fn names(&self) -> Result<Vec<String>> {
        Ok(self.list()?.into_iter().map(|(name, _)| name).collect())
    }

    /// All branches but main, sorted, as Java lists them: directories of the name that a branch can have, with
    /// a schema or without; with the time their directory was changed (epoch milliseconds).
    pub fn list(&self) -> Result<Vec<(String, i64)>> {
        let mut found = Vec::new();
        for child in self.fs.list(&self.directory())?.iter().filter(|child| child.is_dir) {
            let name = child.path.rsplit('/').next().and_then(|name| name.strip_prefix(PREFIX));
            // a blank name is one of main, in Java, too
            let Some(name) = name.filter(|name| can_exist(name) && !is_main(name)) else { continue };
            let changed = match child.modified_millis {
                // where directories have no times, its schemas have
                i64::MAX => {
                    self.fs.list(&format!("{}/schema", child.path))?.iter().map(|file| file.modified_millis).max()
                }
                known => Some(known),
            };
            found.push((name.to_owned(), changed.unwrap_or(i64::MAX)));
        }
        found.sort();
        Ok(found)
    }

    /// Whether the branch exists; `main` always does.
    pub fn exists(&self, name: &str) -> Result<bool> {
        Ok(is_main(name) || (can_exist(name) && self.fs.exists(&self.root(name))?))
    }

    /// `BranchNotFound` with the nearest name.
    pub fn check_exists(&self, name: &str) -> Result<()> {
        if self.exists(name)? {
            return Ok(());
        }
        let names = self.names()?;
        let near = names.iter().min_by_key(|known| strsim::damerau_levenshtein(known, name));
        let error =
            Error::new(ErrorKind::BranchNotFound, format!("branch '{name}' does not exist")).with("branch", name);
        Err(match near {
            Some(near) => error.hint(format!("did you mean '{near}'?")),
            None => error.hint("the table has no branches beside main"),
        })
    }
}

/// Whether this names the branch that every table has.
pub fn is_main(name: &str) -> bool {
    name.is_empty() || name == "main"
}
