//! Directories whose own names may not be durable yet.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::error::Result;

/// Directories made by a handle, or one that shares them, whose name in their parent may not be durable.
#[derive(Clone, Debug, Default)]
pub(super) struct FreshDirs(Arc<Mutex<HashSet<PathBuf>>>);

impl FreshDirs {
    fn known(&self) -> MutexGuard<'_, HashSet<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// These were made.
    pub(super) fn add(&self, directories: Vec<PathBuf>) {
        self.known().extend(directories);
    }

    /// Makes a directory durable, and the names that lead to it as far as they are new. A name counts as new until its parent
    /// has been made durable: whoever asks meanwhile, or after a failure, does it again.
    pub(super) fn sync(&self, directory: &Path, sync: &dyn Fn(&Path) -> Result<()>) -> Result<()> {
        let mut at = directory;
        sync(at)?;
        while self.known().contains(at) {
            let Some(parent) = at.parent() else { break };
            sync(if parent.as_os_str().is_empty() { Path::new(".") } else { parent })?;
            self.known().remove(at);
            at = parent;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::error::{Error, ErrorKind};

    #[test]
    fn a_directory_is_new_until_its_parent_is_durable() {
        let fresh = FreshDirs::default();
        fresh.add(vec![PathBuf::from("/lake/t/snapshot"), PathBuf::from("/lake/t")]);
        let asked = RefCell::new(Vec::new());
        let mut fails = Some("/lake/t");
        for synced in
            [&["/lake/t/snapshot", "/lake/t"][..], &["/lake/t/snapshot", "/lake/t", "/lake"], &["/lake/t/snapshot"]]
        {
            asked.borrow_mut().clear();
            let refused = fails.take();
            let done = fresh.sync(Path::new("/lake/t/snapshot"), &|directory| {
                asked.borrow_mut().push(directory.to_path_buf());
                let fails = refused.is_some_and(|refused| Path::new(refused) == directory);
                if fails { Err(Error::new(ErrorKind::Storage, "cannot make the directory durable")) } else { Ok(()) }
            });
            assert_eq!(done.is_err(), refused.is_some());
            assert_eq!(*asked.borrow(), synced.iter().map(PathBuf::from).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_directory_without_a_parent_in_its_path_has_the_working_directory_as_one() {
        let fresh = FreshDirs::default();
        fresh.add(vec![PathBuf::from("lake")]);
        let asked = RefCell::new(Vec::new());
        let sync = |directory: &Path| {
            asked.borrow_mut().push(directory.to_path_buf());
            Ok(())
        };
        fresh.sync(Path::new("lake"), &sync).expect("synced");
        assert_eq!(*asked.borrow(), [PathBuf::from("lake"), PathBuf::from(".")]);
    }
}
