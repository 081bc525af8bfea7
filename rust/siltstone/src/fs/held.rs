//! The locks that this process holds, and what a `fork` makes of them.
//!
//! A child of a fork inherits open files, and with them the locks that the operating system ties to an open file: when the
//! parent is killed, its locks would stay as long as the child lives. So a child closes them first of all. Closing frees
//! nothing while the parent has the file open; unlocking would, in both.
//!
//! Around a fork ([`super::fork`]) nobody opens, takes or frees a lock: the child finds a list that is whole, and no file that
//! is not in it.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs::{self, File, Metadata, TryLockError},
    io,
    path::{Path, PathBuf},
    process,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{HeldLock, local::storage};
use crate::error::Result as Outcome;

#[derive(Debug, Default)]
struct Held {
    next: u64,
    files: BTreeMap<u64, File>,
}

static HELD: Mutex<Held> = Mutex::new(Held { next: 0, files: BTreeMap::new() });

thread_local! {
    /// The list, of the thread that forks.
    static FORKING: RefCell<Option<MutexGuard<'static, Held>>> = const { RefCell::new(None) };
}

fn held() -> MutexGuard<'static, Held> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits at most while another thread opens or closes a lock, or forks.
pub(super) fn before_fork() {
    FORKING.with_borrow_mut(|forking| {
        forking.get_or_insert_with(held);
    });
}

/// In the process that forked.
pub(super) fn after_fork_in_parent() {
    FORKING.take();
}

/// In the new process: locks of its parent are not its own.
pub(super) fn after_fork_in_child() {
    let mut held = FORKING.take().unwrap_or_else(held);
    held.files.clear();
}

/// Why a lock could not be taken though nobody has it.
#[derive(Debug)]
pub(super) enum Refused {
    Open(io::Error),
    Lock(io::Error),
}

/// Takes the lock of the file at `path`, which `open` opens; `None`: somebody has it.
pub(super) fn take(path: &Path, open: impl FnOnce() -> io::Result<File>) -> Result<Option<LocalLock>, Refused> {
    let mut held = held();
    let file = open().map_err(Refused::Open)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(e)) => return Err(Refused::Lock(e)),
    }
    let number = held.next;
    held.next += 1;
    held.files.insert(number, file);
    Ok(Some(LocalLock { path: path.to_owned(), number, process: process::id() }))
}

/// The operating system frees the lock when the process ends.
#[derive(Debug)]
pub(super) struct LocalLock {
    path: PathBuf,
    number: u64,
    /// A value that a forked child has inherited is no lock of the child's.
    process: u32,
}

impl HeldLock for LocalLock {
    fn is_in_place(&self) -> Outcome<bool> {
        let failed = |e| storage("look at the lock", &self.path, e);
        let found = match fs::symlink_metadata(&self.path) {
            Ok(found) => found,
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(false),
            Err(e) => return Err(failed(e)),
        };
        match held().files.get(&self.number) {
            Some(file) => file.metadata().map(|own| is_same(&own, &found)).map_err(failed),
            // a forked child holds nothing
            None => Ok(false),
        }
    }
}

#[cfg(unix)]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// Where directories with open files cannot be renamed or deleted.
#[cfg(not(unix))]
fn is_same(_a: &Metadata, _b: &Metadata) -> bool {
    true
}

impl Drop for LocalLock {
    fn drop(&mut self) {
        let mut held = held();
        let freed = match held.files.remove(&self.number) {
            // closing is not enough where a child that does not know of this has the file open, too
            Some(file) if self.process == process::id() => file.unlock(),
            _ => Ok(()),
        };
        // the log may wait for the interpreter lock, which a thread that forks has
        drop(held);
        if let Err(error) = freed {
            tracing::warn!(%error, "a lock was not freed");
        }
    }
}
