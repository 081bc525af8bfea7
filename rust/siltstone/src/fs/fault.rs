//! A storage in memory that fails when told to and forgets what was not made durable.
//!
//! `kill -9` does not show what a power loss does; this does. Every name has a volatile and a durable
//! state: a file's content becomes durable with `sync`, its name with `sync_dir` of its directory.
//! [`FaultFileIo::crash`] goes back to the durable state. Deletions and replacements are names, too.

mod files;
mod state;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use self::{
    files::{FaultInput, FaultLock, FaultOutput},
    state::{State, below, parent},
};
use super::{
    FileIo, FileIoRef, FileStatus, HeldLock, InputFile, OutputFile, check_size,
    home::Home,
    local::{exists_already, not_found},
};
use crate::{
    cancel::Cancellation,
    error::{Error, ErrorKind, Result},
};

/// Whether the call that fails has had its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailWhen {
    /// The call fails before it does anything.
    Before,
    /// The call does its work, and then fails (an answer that was lost).
    After,
}

/// What a handle asks before each of its calls: tests stop one of several actors there, or let it die. It works for others than the
/// one whose call it is: nobody else is stopped when that one is.
pub trait BeforeCall: Send + Sync + std::fmt::Debug {
    /// An error: the call fails and has no effect.
    fn before(&self, what: &str, path: &str) -> Result<()>;

    /// The call has had its effect. An error: it fails nevertheless.
    fn after(&self, what: &str, path: &str) -> Result<()> {
        let _ = (what, path);
        Ok(())
    }

    /// A lock of this handle was given back, which is no call.
    fn unlocked(&self, path: &str) {
        let _ = path;
    }
}

/// Storage in memory for crash tests. Clones share the storage.
#[derive(Clone, Debug, Default)]
pub struct FaultFileIo {
    state: Arc<Mutex<State>>,
    gate: Option<Arc<dyn BeforeCall>>,
    /// The directory of the table that this handle is for.
    home: Option<Home>,
}

impl FaultFileIo {
    /// An empty storage that does not fail.
    pub fn new() -> Self {
        Self::default()
    }

    /// A storage of its own that begins with the same files and the same time, and has seen no calls.
    pub fn fork(&self) -> Self {
        let state = State { calls: 0, fail_at: None, trace: Vec::new(), bytes_read: 0, ..self.state().clone() };
        Self { state: Arc::new(Mutex::new(state)), gate: None, home: None }
    }

    /// A handle to the same storage whose calls ask first.
    #[must_use]
    pub fn behind(&self, gate: Arc<dyn BeforeCall>) -> Self {
        Self { state: Arc::clone(&self.state), gate: Some(gate), home: self.home.clone() }
    }

    /// The time of the file that was written last.
    pub fn clock_millis(&self) -> i64 {
        self.state().clock_millis
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls so far. Each method of the storage is one, each `write` and `close` of an output file and each
    /// `read_range`; `publish` is four (temporary file, link, removal, directory).
    pub fn calls(&self) -> u64 {
        self.state().calls
    }

    /// Bytes that `read_range` has given so far.
    pub fn bytes_read(&self) -> u64 {
        self.state().bytes_read
    }

    /// What each call was, for the message of a failing test.
    pub fn trace(&self) -> Vec<String> {
        self.state().trace.clone()
    }

    /// The first `n` calls from now succeed; the next one fails, with or without its effect, and all after it.
    pub fn fail_after(&self, n: u64, when: FailWhen) {
        let mut state = self.state();
        state.fail_at = Some((state.calls + n, when));
    }

    /// Calls succeed again (the process lives, the storage is back).
    pub fn heal(&self) {
        self.state().fail_at = None;
    }

    /// Power loss and restart: every name and content that was not made durable is gone, deletions that were
    /// not are undone. A durable name whose content is not durable is an empty file. Calls succeed again.
    pub fn crash(&self) {
        let mut state = self.state();
        state.fail_at = None;
        state.names = state.durable_names.clone();
        state.forget_unsynced();
    }

    /// Like [`FaultFileIo::crash`], except that all names survive: file systems may write names early,
    /// but never content that was not synced.
    pub fn crash_keeping_names(&self) {
        let mut state = self.state();
        state.fail_at = None;
        state.durable_names = state.names.clone();
        state.forget_unsynced();
    }

    /// Puts a durable file there, not counted as a call.
    pub fn put(&self, path: &str, data: &[u8]) {
        let mut state = self.state();
        let id = state.add(path, data.to_vec());
        state.sync_content(id);
        state.durable_names.insert(path.to_owned(), id);
    }

    /// Paths of all files, not counted as a call.
    pub fn paths(&self) -> Vec<String> {
        self.state().names.keys().cloned().collect()
    }

    /// An error when the table or branch that a directory belongs to is gone.
    fn room(&self, state: &State, directory: &str) -> Result<()> {
        match self.home.as_ref().and_then(|home| Some((home, home.of(directory)?))) {
            Some((home, needed)) if !state.dirs.contains(needed) => Err(home.gone(needed)),
            _ => Ok(()),
        }
    }

    /// Counts a call and runs its effect unless this is a call that fails.
    fn call<T>(&self, what: &str, path: &str, effect: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        let Some(gate) = &self.gate else { return self.call_now(what, path, effect) };
        let others = Cancellation::default();
        others.run(|| gate.before(what, path))?;
        let done = self.call_now(what, path, effect)?;
        others.run(|| gate.after(what, path)).map(|()| done)
    }

    fn call_now<T>(&self, what: &str, path: &str, effect: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        let mut state = self.state();
        let number = state.calls;
        state.calls += 1;
        state.trace.push(format!("{number} {what} {path}"));
        match state.fail_at {
            Some((at, FailWhen::After)) if number == at => {
                let _ = effect(&mut state);
                Err(failed(what, path, number))
            }
            Some((at, _)) if number >= at => Err(failed(what, path, number)),
            _ => effect(&mut state),
        }
    }
}

fn failed(what: &str, path: &str, number: u64) -> Error {
    Error::new(ErrorKind::Storage, format!("injected failure of {what}")).with("file", path).with("call", number)
}

impl FileIo for FaultFileIo {
    fn read_at_most(&self, path: &str, most: u64) -> Result<Bytes> {
        self.call("read", path, |s| {
            let data = &s.content(path)?.data;
            check_size(path, data.len() as u64, most)?;
            Ok(Bytes::copy_from_slice(data))
        })
    }

    fn open(&self, path: &str) -> Result<Arc<dyn InputFile>> {
        let data = self.call("open", path, |s| Ok(Bytes::copy_from_slice(&s.content(path)?.data)))?;
        Ok(Arc::new(FaultInput { io: self.clone(), path: path.to_owned(), data }))
    }

    fn create(&self, path: &str) -> Result<Box<dyn OutputFile>> {
        let id = self.call("create", path, |s| {
            self.room(s, parent(path))?;
            s.add_new(path, Vec::new())
        })?;
        Ok(Box::new(FaultOutput { io: self.clone(), path: path.to_owned(), id, position: 0 }))
    }

    fn write_new(&self, path: &str, data: &[u8], sync: bool) -> Result<()> {
        self.call("write_new", path, |s| {
            self.room(s, parent(path))?;
            let id = s.add_new(path, data.to_vec())?;
            if sync {
                s.sync_content(id);
            }
            Ok(())
        })
    }

    fn write_new_unsynced(&self, path: &str, data: &[u8], _sync: bool) -> Result<()> {
        self.write_new(path, data, false)
    }

    fn sync_files(&self, paths: &[String]) -> Result<()> {
        let Some(first) = paths.first() else { return Ok(()) };
        self.call("sync_files", first, |s| {
            let ids: Vec<_> = paths.iter().filter_map(|path| s.names.get(path).copied()).collect();
            for id in ids {
                s.sync_content(id);
            }
            Ok(())
        })
    }

    fn publish_if(&self, path: &str, data: &[u8], sync: bool, still: &dyn Fn() -> Result<()>) -> Result<()> {
        let directory = parent(path);
        let added = self.call("publish: temporary file", path, |s| {
            self.room(s, directory)?;
            let temporary = format!("{directory}/.{}.{}.tmp", path.rsplit('/').next().unwrap_or(path), s.next_id);
            let id = s.add(&temporary, data.to_vec());
            if sync {
                s.sync_content(id);
            }
            Ok((id, temporary))
        });
        let (id, temporary) = added.map_err(Error::without_effect)?;
        let checked = still().map_err(Error::without_effect);
        let linked = checked.and_then(|()| {
            self.call("publish: link", path, |s| {
                if s.names.contains_key(path) {
                    return Err(exists_already(path));
                }
                if !s.names.contains_key(&temporary) {
                    return Err(not_found(&temporary).without_effect());
                }
                s.names.insert(path.to_owned(), id);
                Ok(())
            })
        });
        let removed = self.call("publish: remove temporary file", path, |s| {
            s.names.remove(&temporary);
            Ok(())
        });
        linked.and(removed)?;
        if sync { self.sync_dir(directory) } else { Ok(()) }
    }

    fn overwrite(&self, path: &str, data: &[u8]) -> Result<()> {
        self.call("overwrite", path, |s| {
            if self.home.is_some() && !s.dirs.contains(parent(path)) {
                return Err(not_found(path));
            }
            let id = s.add(path, data.to_vec());
            s.sync_content(id);
            Ok(())
        })
    }

    fn version(&self, _path: &str) -> Result<Option<String>> {
        Ok(None)
    }

    fn overwrite_version(&self, path: &str, data: &[u8], _version: Option<&str>) -> Result<()> {
        self.overwrite(path, data)
    }

    fn sync_dir(&self, path: &str) -> Result<()> {
        self.call("sync_dir", path, |s| {
            s.sync_names(path.trim_end_matches('/'));
            Ok(())
        })
    }

    fn sync_dirs(&self, paths: &[String]) -> Result<()> {
        paths.iter().try_for_each(|path| self.sync_dir(path))
    }

    fn list(&self, path: &str) -> Result<Vec<FileStatus>> {
        let directory = path.trim_end_matches('/');
        self.call("list", path, |s| {
            let children = s.names.keys().chain(&s.dirs).filter(|p| parent(p) == directory && !p.is_empty());
            Ok(children.filter_map(|p| s.status(p)).collect())
        })
    }

    fn exists(&self, path: &str) -> Result<bool> {
        self.call("exists", path, |s| Ok(s.status(path).is_some()))
    }

    fn status(&self, path: &str) -> Result<Option<FileStatus>> {
        self.call("status", path, |s| Ok(s.status(path)))
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.call("delete", path, |s| {
            s.names.remove(path);
            Ok(())
        })
    }

    fn delete_empty_dir(&self, path: &str) -> Result<bool> {
        self.call("delete_empty_dir", path, |s| {
            let used = s.names.keys().chain(s.dirs.iter()).any(|name| below(name, path));
            if !used {
                s.dirs.remove(path);
            }
            Ok(!used)
        })
    }

    fn delete_dir(&self, path: &str) -> Result<()> {
        self.call("delete_dir", path, |s| {
            s.names.retain(|name, _| !below(name, path));
            s.dirs.retain(|name| name != path && !below(name, path));
            s.locks.retain(|_, file| !below(file, path));
            Ok(())
        })
    }

    fn create_dir(&self, path: &str) -> Result<()> {
        self.call("create_dir", path, |s| {
            self.room(s, path.trim_end_matches('/'))?;
            s.add_dirs(path.trim_end_matches('/'));
            Ok(())
        })
    }

    fn rename_dir(&self, from: &str, to: &str) -> Result<()> {
        self.call("rename_dir", from, |s| {
            if s.status(to).is_some() {
                return Err(exists_already(to));
            }
            if s.status(from).is_none() {
                return Err(not_found(from));
            }
            let is_file = s.names.contains_key(from);
            let moved = |path: &str| path.strip_prefix(from).map(|rest| format!("{to}{rest}"));
            let inside = |path: &str| path == from || below(path, from);
            let names = std::mem::take(&mut s.names).into_iter();
            s.names = names.map(|(p, id)| (moved(&p).filter(|_| inside(&p)).unwrap_or(p), id)).collect();
            let dirs = std::mem::take(&mut s.dirs).into_iter();
            s.dirs = dirs.map(|p| moved(&p).filter(|_| inside(&p)).unwrap_or(p)).collect();
            s.add_dirs(if is_file { parent(to) } else { to });
            for file in s.locks.values_mut().filter(|file| inside(file)) {
                *file = moved(file).unwrap_or_default();
            }
            Ok(())
        })
    }

    fn within(&self, location: &str) -> Option<FileIoRef> {
        Some(Arc::new(Self { home: Some(Home::new(location)), ..self.clone() }))
    }

    fn try_lock(&self, path: &str) -> Result<Option<Box<dyn HeldLock>>> {
        let mut taken = None;
        let called = self.call("try_lock", path, |s| {
            self.room(s, parent(path))?;
            if !s.locks.values().any(|file| file == path) {
                let id = s.next_id;
                s.next_id += 1;
                s.locks.insert(id, path.to_owned());
                taken = Some(id);
            }
            Ok(())
        });
        // a holder whose call fails drops this at once, as the end of its process would
        let held = taken.map(|id| FaultLock { io: self.clone(), path: path.to_owned(), id });
        called.map(|()| held.map(|held| Box::new(held) as Box<dyn HeldLock>))
    }
}
