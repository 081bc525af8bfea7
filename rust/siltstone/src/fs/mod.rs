//! Storage behind one trait. Nothing above this module opens a file itself.
//!
//! Publishing never replaces: [`FileIo::publish`] either makes the whole file or fails with
//! `FileExists` (`decisions.md`, "Safety").

mod confined;
mod fault;
mod fork;
mod fresh;
mod guarded;
mod held;
mod home;
mod json;
mod local;
mod meanwhile;
mod names;
mod remote;
mod temporary;

use std::{ops::Range, sync::Arc};

use bytes::Bytes;

pub use confined::ConfinedFileIo;
pub use fault::{BeforeCall, FailWhen, FaultFileIo};
pub use fork::{after_fork_in_child, after_fork_in_parent, before_fork};
pub use guarded::{Publication, Publisher, guarded, watch, watched};
pub(crate) use json::json_value;
pub use local::LocalFileIo;
pub use meanwhile::Meanwhile;
pub use names::{can_exist, check_can_exist, check_external_path, check_file_name, name_fault, subdirectory_fault};
pub use remote::{Opened, StorageTokens, is_storage_option, is_store, lend, open_storage};
pub(crate) use temporary::TemporaryFile;

use crate::{
    cancel,
    error::{Error, Result},
    limits,
};

/// What a listing says about one child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStatus {
    /// Full path.
    pub path: String,
    /// Bytes; 0 for a directory.
    pub size: u64,
    /// Whether it is a directory, or a link to one.
    pub is_dir: bool,
    /// Whether the name itself is a regular file or a directory: not a link, pipe, socket or device. What deletes enters
    /// only such directories and takes only such files.
    pub is_plain: bool,
    /// Last change, epoch milliseconds; `i64::MAX` where nobody knows: directories of object stores.
    pub modified_millis: i64,
}

/// A file being written. Dropping it without [`OutputFile::close`] leaves an incomplete file that nobody refers to.
pub trait OutputFile: std::io::Write + Send {
    /// Bytes written so far.
    fn position(&self) -> u64;
    /// Flushes, and makes the content durable (fsync) when `sync` is true; the name needs [`FileIo::sync_dir`].
    fn close(self: Box<Self>, sync: bool) -> Result<u64>;
    /// As [`OutputFile::close`] with `sync`, but the content may be durable only after [`FileIo::sync_files`]: of many files
    /// that costs a fraction.
    fn close_unsynced(self: Box<Self>) -> Result<u64> {
        self.close(true)
    }
}

/// A file whose content is durable after [`FileIo::sync_files`], where it is to be durable.
struct Unsynced(Box<dyn OutputFile>);

impl std::io::Write for Unsynced {
    fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
        self.0.write(data)
    }

    fn write_all(&mut self, data: &[u8]) -> std::io::Result<()> {
        self.0.write_all(data)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl OutputFile for Unsynced {
    fn position(&self) -> u64 {
        self.0.position()
    }

    fn close(self: Box<Self>, sync: bool) -> Result<u64> {
        if sync { self.0.close_unsynced() } else { self.0.close(false) }
    }
}

/// A file open for positioned reads.
pub trait InputFile: Send + Sync {
    /// Path, for error messages.
    fn path(&self) -> &str;
    /// Size in bytes.
    fn size(&self) -> Result<u64>;
    /// Exactly the bytes `start..start + length`; an error when the file is shorter.
    fn read_range(&self, start: u64, length: u64) -> Result<Bytes>;
    /// Bytes that one read of what follows is to bring, where each is a request: few ones cost more than memory.
    fn window(&self) -> u64 {
        1024 * 1024
    }
}

/// A lock that is held: dropping it frees it, and so does the end of the process.
pub trait HeldLock: Send + Sync + std::fmt::Debug {
    /// Whether the file that is locked is still the one at its path. Of a directory that was renamed or deleted after the file
    /// had been opened, the lock protects nothing that others find at the path.
    fn is_in_place(&self) -> Result<bool>;
}

/// What a snapshot changes of its partitions, as the JSON that catalogs' servers take (`PartitionStatistics`).
pub type Statistics<'s> = &'s dyn Fn() -> Result<String>;

/// A storage. Paths are plain absolute paths (`/data/t/snapshot/snapshot-1`), `file:` prefixes already removed, or URIs of an
/// object store (`s3://bucket/t/snapshot/snapshot-1`).
pub trait FileIo: Send + Sync + std::fmt::Debug {
    /// The whole file; `FileNotFound` when absent.
    fn read(&self, path: &str) -> Result<Bytes> {
        self.read_at_most(path, u64::MAX)
    }
    /// The whole file, which has no more bytes than this: a larger one is `CorruptFile` before a byte is read.
    fn read_at_most(&self, path: &str, most: u64) -> Result<Bytes>;
    /// Opens a file for positioned reads; `FileNotFound` when absent.
    fn open(&self, path: &str) -> Result<Arc<dyn InputFile>>;
    /// Creates a file that must not exist, parents included, to be written in pieces (data files, spills).
    fn create(&self, path: &str) -> Result<Box<dyn OutputFile>>;
    /// Writes a whole file that must not exist (unique names: manifests, index files). With `sync` its content
    /// is durable; its name is only after [`FileIo::sync_dir`].
    fn write_new(&self, path: &str, data: &[u8], sync: bool) -> Result<()>;
    /// As [`FileIo::create`], of one of many files: a close with `sync` is one without ([`OutputFile::close_unsynced`]).
    fn create_unsynced(&self, path: &str) -> Result<Box<dyn OutputFile>> {
        Ok(Box::new(Unsynced(self.create(path)?)))
    }
    /// As [`FileIo::write_new`]; with `sync` the content may be durable only after [`FileIo::sync_files`].
    fn write_new_unsynced(&self, path: &str, data: &[u8], sync: bool) -> Result<()> {
        self.write_new(path, data, sync)
    }
    /// Makes the content of files durable that this process has closed without that; of others it is already.
    fn sync_files(&self, _paths: &[String]) -> Result<()> {
        Ok(())
    }
    /// Publishes a whole file atomically and durably: readers see nothing or everything, and an existing
    /// file is never replaced (`FileExists`). Snapshots, schemas.
    ///
    /// An error that is [without effect](Error::is_without_effect) says that the file is not there; after any other one,
    /// but `FileExists`, it may be.
    fn publish(&self, path: &str, data: &[u8], sync: bool) -> Result<()> {
        self.publish_if(path, data, sync, &|| Ok(()))
    }
    /// As [`FileIo::publish`], if `still` says so when the file is finished and only its name is missing; its error is one
    /// without effect. The name comes about only in the very directory that the file was finished in: when that one has been
    /// renamed or replaced since, this fails without effect. So what `still` has found of the place of the file holds when the
    /// name is there.
    fn publish_if(&self, path: &str, data: &[u8], sync: bool, still: &dyn Fn() -> Result<()>) -> Result<()>;
    /// As [`FileIo::publish_if`], of the file of a snapshot. Where a catalog's server publishes it, the server is told what
    /// changes of the partitions; nobody else asks.
    fn publish_snapshot(
        &self,
        path: &str,
        data: &[u8],
        sync: bool,
        still: &dyn Fn() -> Result<()>,
        _statistics: Statistics<'_>,
    ) -> Result<()> {
        self.publish_if(path, data, sync, still)
    }
    /// Whether a catalog's server publishes the snapshots of the table, and remembers them: they are not taken back.
    fn is_served(&self) -> bool {
        false
    }
    /// Replaces a small file atomically (hints, tags with replace). The content is durable, the name not yet. A handle that is
    /// confined to a table makes no directory for it.
    fn overwrite(&self, path: &str, data: &[u8]) -> Result<()>;
    /// What tells the file that is there from any other one that takes its place, where a request may arrive after its sender's
    /// lock has ended and a file can be replaced on the condition that it still has this version. `None` elsewhere, and of a file
    /// that is absent.
    fn version(&self, path: &str) -> Result<Option<String>>;
    /// As [`FileIo::overwrite`], of a file that still has this version.
    ///
    /// # Errors
    /// `CommitConflict`: it is gone, or another one has its place.
    fn overwrite_version(&self, path: &str, data: &[u8], version: Option<&str>) -> Result<()>;
    /// Makes the names in a directory durable, and the directory itself when this handle created it.
    fn sync_dir(&self, path: &str) -> Result<()>;
    /// As [`FileIo::sync_dir`], of several.
    fn sync_dirs(&self, paths: &[String]) -> Result<()> {
        paths.iter().try_for_each(|path| self.sync_dir(path))
    }
    /// Children of a directory; empty when it does not exist. Links that lead nowhere are left out.
    fn list(&self, path: &str) -> Result<Vec<FileStatus>>;
    /// Whether the path exists.
    fn exists(&self, path: &str) -> Result<bool>;
    /// Whether a file exists, where there can be no directory: one request of a store less than [`FileIo::exists`].
    fn is_file(&self, path: &str) -> Result<bool> {
        self.exists(path)
    }
    /// Status of a path; `None` when absent.
    fn status(&self, path: &str) -> Result<Option<FileStatus>>;
    /// Deletes a file; fine when absent. Of a link the link goes, not what it leads to.
    fn delete(&self, path: &str) -> Result<()>;
    /// Deletes files as [`FileIo::delete`] does, one after another, and asks between them whether to stop. What holds for a
    /// directory is checked once where files of one directory stand next to each other.
    fn delete_all(&self, paths: &[&str]) -> Result<()> {
        paths.iter().try_for_each(|path| cancel::check().and_then(|()| self.delete(path)))
    }
    /// Deletes a directory that is empty; whether it is gone. Fine when absent.
    fn delete_empty_dir(&self, path: &str) -> Result<bool>;
    /// Deletes a directory with all its content; fine when absent.
    fn delete_dir(&self, path: &str) -> Result<()>;
    /// Creates a directory and its parents.
    fn create_dir(&self, path: &str) -> Result<()>;
    /// Renames a directory, or a file that was not published; fails when the target exists.
    fn rename_dir(&self, from: &str, to: &str) -> Result<()>;
    /// Takes a lock that at most one holder has, in this process or another one; `None`: somebody has it. The file at
    /// `path` is made when absent, stays, and says nothing.
    fn try_lock(&self, path: &str) -> Result<Option<Box<dyn HeldLock>>>;
    /// Whether there are directories, which are renamed as a whole. Where there are none, [`FileIo::delete_dir`] takes a table's
    /// schemas last, and only what is hidden is renamed.
    fn has_directories(&self) -> bool {
        true
    }
    /// An error when this handle would not delete the path: it belongs to somebody else.
    fn check_deletable(&self, _path: &str) -> Result<()> {
        Ok(())
    }
    /// An error when a directory between `root` and `path`, which lies below it, is a link. `root` itself may be one.
    fn check_no_links(&self, _root: &str, _path: &str) -> Result<()> {
        Ok(())
    }
    /// A handle of the same storage that makes no directory of the table at `location`, or of a branch of it, and none above.
    fn within(&self, _location: &str) -> Option<FileIoRef> {
        None
    }
    /// The storage below a handle that is confined to one table.
    fn unconfined(&self) -> Option<&FileIoRef> {
        None
    }
}

/// A shared storage handle.
pub type FileIoRef = Arc<dyn FileIo>;

/// An error where what is at `path` cannot get another name without losing what others write meanwhile.
pub fn check_renames(fs: &dyn FileIo, path: &str) -> Result<()> {
    if fs.has_directories() {
        return Ok(());
    }
    Err(Error::unsupported("renaming on an object store").with("path", path).without_effect().hint(
        "a store has no directories to rename, and copies would lose what others commit meanwhile: make it anew under the other \
         name, and drop the old one",
    ))
}

/// A path without its `file:` scheme, in any case: storages take plain absolute paths, `_EXTERNAL_PATH` and catalogs give
/// URIs.
pub fn strip_scheme(path: &str) -> &str {
    let scheme = path.get(.."file:".len()).filter(|scheme| scheme.eq_ignore_ascii_case("file:"));
    let Some(rest) = scheme.and_then(|scheme| path.get(scheme.len()..)) else {
        return path;
    };
    match rest.strip_prefix("//") {
        Some(after) if after.starts_with('/') => after,
        Some(after) => after.find('/').and_then(|at| after.get(at..)).unwrap_or(rest),
        None => rest,
    }
}

/// `start..start + length` when the file has that many bytes; a short file is corrupt, and nothing is allocated.
fn checked_range(path: &str, size: u64, start: u64, length: u64) -> Result<Range<usize>> {
    let end = start.checked_add(length).filter(|&end| end <= size);
    let range = end.and_then(|end| Some(usize::try_from(start).ok()?..usize::try_from(end).ok()?));
    range.ok_or_else(|| Error::corrupt(path, start, format!("{length} bytes"), format!("a file of {size} bytes")))
}

/// An error for a file that is larger than files of its kind are.
fn check_size(path: &str, size: u64, most: u64) -> Result<()> {
    if size <= most {
        return Ok(());
    }
    Err(Error::corrupt(path, most, format!("a file of at most {most} bytes"), format!("{size} bytes")))
}

/// Bytes of a file that holds one number at most: larger ones hold something else.
pub(crate) const NUMBER_BYTES: u64 = 64 * 1024;
/// Bytes of a file of metadata whose size nobody tells at most: a list of millions of manifests fits.
pub(crate) const METADATA_BYTES: u64 = 512 * 1024 * 1024;
/// Bytes of a JSON document at most: what 100 000 columns or snapshots take fits many times.
const JSON_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes that a byte of JSON becomes at most when it is parsed (`[0,0,…`), with what is made of it.
const PARSED: usize = 32;

/// A JSON document, with room for what it becomes when it is parsed.
pub(crate) fn read_json(fs: &dyn FileIo, path: &str) -> Result<Bytes> {
    let bytes = fs.read_at_most(path, JSON_BYTES)?;
    limits::ask(bytes.len().saturating_mul(PARSED), "a JSON document").map_err(|e| e.with("file", path))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
