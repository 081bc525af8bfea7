//! Files that are closed, and whose content is not durable yet.
//!
//! A file system with a journal writes it for each `fsync` that comes alone, and once for those that come together. So files that
//! are one of many wait here, still open, until somebody is about to rely on them, who makes those that are named durable, several
//! at once. A file stays open because an error of writing it behind our back is told to those only who have it open, and once for all
//! of them: a child of a fork closes the files of its parent and never syncs them.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs::File,
    io,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::errors::storage;
use crate::{error::Result, threads::try_waiting};

/// Files that wait at most, each of which is open.
const MOST: usize = 64;

/// What of a file's content is known.
enum State {
    Open(File),
    Durable,
    /// Asked again, the operating system would say that all is well.
    Failed(io::ErrorKind),
}

#[derive(Clone)]
struct Waiting {
    path: String,
    /// Held while the content is being made durable: who needs the same file waits for that.
    state: Arc<Mutex<State>>,
}

impl Waiting {
    fn sync(&self) -> Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let synced = match &*state {
            State::Open(file) => file.sync_all(),
            State::Durable => Ok(()),
            State::Failed(kind) => Err(io::Error::from(*kind)),
        };
        *state = synced.as_ref().map_or_else(|e| State::Failed(e.kind()), |()| State::Durable);
        synced.map_err(|e| storage("write the file", Path::new(&self.path), e))?;
        drop(state);
        forget(&self.path);
        Ok(())
    }
}

type Files = BTreeMap<String, Waiting>;

static WAITING: Mutex<Files> = Mutex::new(BTreeMap::new());

fn waiting() -> MutexGuard<'static, Files> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    /// The files, of the thread that forks.
    static FORKING: RefCell<Option<MutexGuard<'static, Files>>> = const { RefCell::new(None) };
}

/// No other thread adds or takes a file from now on.
pub(in crate::fs) fn before_fork() {
    FORKING.with_borrow_mut(|forking| {
        forking.get_or_insert_with(waiting);
    });
}

/// In the process that forked.
pub(in crate::fs) fn after_fork_in_parent() {
    FORKING.take();
}

/// In the new process: a thread of the parent that was making a file durable, and has its lock, is not here.
pub(in crate::fs) fn after_fork_in_child() {
    let mut files = FORKING.take().unwrap_or_else(waiting);
    files.clear();
}

/// A file that is written. Where too many wait, they become durable, and an error is one of this file: others' errors are told to
/// those who need them.
pub(super) fn add(path: &str, file: File) -> Result<()> {
    let added = Waiting { path: path.to_owned(), state: Arc::new(Mutex::new(State::Open(file))) };
    let all: Vec<Waiting> = {
        let mut waiting = waiting();
        waiting.insert(path.to_owned(), added.clone());
        if waiting.len() < MOST { Vec::new() } else { waiting.values().cloned().collect() }
    };
    if all.is_empty() {
        return Ok(());
    }
    try_waiting(&all, |file| {
        let _ = file.sync();
        Ok(())
    })?;
    added.sync()
}

/// Makes the content of those of these files durable that wait.
pub(super) fn sync(paths: &[String]) -> Result<()> {
    let wanted: Vec<Waiting> = {
        let waiting = waiting();
        paths.iter().filter_map(|path| waiting.get(path).cloned()).collect()
    };
    try_waiting(&wanted, Waiting::sync)
}

/// A file that nobody relies on any more, or that is durable.
pub(super) fn forget(path: &str) {
    waiting().remove(path);
}

/// Files of a directory that is deleted: as long as they are open they take room.
pub(super) fn forget_below(directory: &str) {
    let below = format!("{}/", directory.trim_end_matches('/'));
    waiting().retain(|path, _| !path.starts_with(&below));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(directory: &Path, name: &str) -> (String, File) {
        let path = directory.join(name);
        (path.to_string_lossy().into_owned(), File::create(path).unwrap())
    }

    fn is_waiting(path: &str) -> bool {
        waiting().contains_key(path)
    }

    #[test]
    fn files_wait_until_somebody_needs_them_or_there_are_many() {
        let directory = std::env::temp_dir().join(format!("siltstone-unsynced-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&directory).unwrap();
        let names: Vec<String> = (0..2 * MOST).map(|number| format!("data-{number}")).collect();
        let mut paths = Vec::new();
        for name in names.iter().take(3) {
            let (path, file) = file(&directory, name);
            add(&path, file).unwrap();
            paths.push(path);
        }
        sync(&paths[..1]).unwrap();
        forget(&paths[1]);
        assert!(!is_waiting(&paths[0]) && !is_waiting(&paths[1]));
        forget_below(&format!("{}-2", directory.display()));
        assert!(is_waiting(&paths[2]));
        forget_below(&directory.to_string_lossy());
        assert!(!is_waiting(&paths[2]));
        for name in names.iter().skip(3) {
            let (path, file) = file(&directory, name);
            add(&path, file).unwrap();
            paths.push(path);
            assert!(paths.iter().filter(|path| is_waiting(path)).count() < MOST);
        }
        sync(&paths).unwrap();
        assert!(!paths.iter().any(|path| is_waiting(path)));
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn an_error_is_told_to_everybody_who_needs_the_file() {
        let path = format!("/nowhere/{}", uuid::Uuid::new_v4());
        let failed =
            Waiting { path: path.clone(), state: Arc::new(Mutex::new(State::Failed(io::ErrorKind::StorageFull))) };
        waiting().insert(path.clone(), failed);
        for _ in 0..2 {
            let error = sync(std::slice::from_ref(&path)).unwrap_err();
            assert!(error.to_string().contains(&path), "{error}");
        }
        forget(&path);
        sync(&[path]).unwrap();
    }
}
