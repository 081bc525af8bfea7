//! Directories whose own names may not be durable yet.

use std::{
    collections::{BTreeSet, HashSet},
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

    /// Makes directories durable, and the names that lead to them as far as they are new: `sync` is asked for those of one depth at
    /// once. A name counts as new until its parent has been made durable: whoever asks meanwhile, or after a failure, does it again.
    pub(super) fn sync(&self, directories: &[&Path], sync: &dyn Fn(&[&Path]) -> Result<()>) -> Result<()> {
        let mut at: BTreeSet<&Path> = directories.iter().copied().collect();
        let mut durable = BTreeSet::new();
        loop {
            let left: Vec<&Path> = at.iter().copied().filter(|directory| !durable.contains(directory)).collect();
            sync(&left)?;
            durable.extend(left);
            let fresh: Vec<&Path> = {
                let known = self.known();
                at.into_iter().filter(|directory| known.contains(*directory) && directory.parent().is_some()).collect()
            };
            if fresh.is_empty() {
                return Ok(());
            }
            at = fresh.iter().filter_map(|directory| directory.parent()).map(named).collect();
            let parents: Vec<&Path> = at.iter().copied().filter(|parent| !durable.contains(parent)).collect();
            sync(&parents)?;
            durable.extend(parents);
            let mut known = self.known();
            for directory in fresh {
                known.remove(directory);
            }
        }
    }
}

/// A path that can be opened.
fn named(directory: &Path) -> &Path {
    if directory.as_os_str().is_empty() { Path::new(".") } else { directory }
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
            let done = fresh.sync(&[Path::new("/lake/t/snapshot")], &|directories| {
                asked.borrow_mut().extend(directories.iter().map(PathBuf::from));
                let fails = refused.is_some_and(|refused| directories.contains(&Path::new(refused)));
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
        let sync = |directories: &[&Path]| {
            asked.borrow_mut().extend(directories.iter().map(PathBuf::from));
            Ok(())
        };
        fresh.sync(&[Path::new("lake")], &sync).expect("synced");
        assert_eq!(*asked.borrow(), [PathBuf::from("lake"), PathBuf::from(".")]);
    }

    #[test]
    fn of_several_directories_each_is_made_durable_once() {
        let fresh = FreshDirs::default();
        let paths = ["/lake/t/a=1/bucket-0", "/lake/t/a=2/bucket-0", "/lake/t/a=1", "/lake/t/a=2"].map(PathBuf::from);
        fresh.add(paths.to_vec());
        let asked = RefCell::new(Vec::new());
        let sync = |directories: &[&Path]| {
            asked.borrow_mut().push(directories.iter().map(PathBuf::from).collect::<Vec<_>>());
            Ok(())
        };
        let wanted: Vec<&Path> = paths.iter().map(PathBuf::as_path).chain([Path::new("/lake/t")]).collect();
        fresh.sync(&wanted, &sync).expect("synced");
        let mut once: Vec<PathBuf> = asked.take().concat();
        once.sort();
        let mut expected: Vec<PathBuf> = wanted.iter().map(PathBuf::from).collect();
        expected.push(PathBuf::from("/lake"));
        expected.sort();
        assert_eq!(once.iter().filter(|path| *path != Path::new("/lake")).count(), wanted.len());
        fresh.sync(&wanted, &sync).expect("synced");
        assert_eq!(asked.take().concat().len(), wanted.len());
    }
}
