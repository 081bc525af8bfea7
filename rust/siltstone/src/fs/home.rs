//! Directories that are there before anything is written into them, and that no writer makes: a table's, and those of its
//! branches.
//!
//! Writers make directories as their files need them. Where the table has been dropped or renamed meanwhile, that would make
//! a ghost: a directory with some files of a table that nobody opens. So a handle that is confined to a table makes only what
//! lies below its directory, level by level: each level is refused when the one above it is gone.

use crate::error::{Error, ErrorKind};

/// The directory of a table.
#[derive(Clone, Debug)]
pub(super) struct Home(String);

impl Home {
    pub(super) fn new(location: &str) -> Self {
        Self(location.trim_end_matches('/').to_owned())
    }

    /// The directory that must exist when something is made in `directory`: the one of the branch that it belongs to, or of
    /// the table; `None` when it lies elsewhere.
    pub(super) fn of<'d>(&self, directory: &'d str) -> Option<&'d str> {
        let rest = directory.strip_prefix(self.0.as_str())?;
        if rest.is_empty() {
            return Some(directory);
        }
        let mut parts = rest.strip_prefix('/')?.split('/');
        match (parts.next(), parts.next()) {
            (Some("branch"), Some(name)) if name.starts_with("branch-") => {
                directory.get(..self.0.len() + "/branch/".len() + name.len())
            }
            _ => directory.get(..self.0.len()),
        }
    }

    /// The error for such a directory that is gone; nothing was changed.
    #[cold]
    pub(super) fn gone(&self, home: &str) -> Error {
        let (kind, what) = if home.trim_end_matches('/') == self.0 {
            (ErrorKind::TableNotFound, "the directory of the table does not exist any more")
        } else {
            (ErrorKind::BranchNotFound, "the directory of the branch does not exist any more")
        };
        Error::new(kind, what).with("path", home).hint("it was dropped or renamed while it was open").without_effect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_branch_need_its_directory_and_all_others_that_of_the_table() {
        let home = Home::new("/w/t/");
        for (directory, needed) in [
            ("/w/t", Some("/w/t")),
            ("/w/t/snapshot", Some("/w/t")),
            ("/w/t/branch", Some("/w/t")),
            ("/w/t/branch/.b.hidden/schema", Some("/w/t")),
            ("/w/t/branch/branch-b", Some("/w/t/branch/branch-b")),
            ("/w/t/branch/branch-b/snapshot", Some("/w/t/branch/branch-b")),
            ("/w/t/f1=1/branch/branch-b", Some("/w/t")),
            ("/w/tt", None),
            ("/external/bucket-0", None),
        ] {
            assert_eq!(home.of(directory), needed, "{directory}");
        }
        assert_eq!(home.gone("/w/t").kind(), ErrorKind::TableNotFound);
        assert_eq!(home.gone("/w/t/branch/branch-b").kind(), ErrorKind::BranchNotFound);
    }
}
