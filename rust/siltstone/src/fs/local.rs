//! The local file system.
//!
//! Durability: a file's content by `fsync` of the file, its name by `fsync` of its directory. A directory
//! that this handle created is made durable, with its own parents, by the first [`FileIo::sync_dir`] below it.

mod errors;
mod files;
pub(super) mod unsynced;

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use bytes::Bytes;

use self::{
    errors::{absent_is_fine, cannot_exist, link_on_the_way, not_published, special_instead},
    files::{LocalInput, LocalOutput, lock_options, open_existing, open_without_waiting, read_pieces, regular},
};
pub(super) use self::{
    errors::{directory_instead, exists_already, not_found, storage},
    files::read_exact_at,
};
use super::{
    FileIo, FileIoRef, FileStatus, HeldLock, InputFile, OutputFile, check_size,
    fresh::FreshDirs,
    held::{self, Refused},
    home::Home,
};
use crate::{
    cancel,
    env::{Clock, SystemClock},
    error::{Error, Result},
    threads::try_waiting,
};

/// Children of a directory after which there is a look at whether to stop.
const ASK_CHILDREN: usize = 4096;
/// Bytes collected before the operating system is asked to write.
const WRITE_BUFFER: usize = 256 * 1024;
/// How long a directory is made again and again that others, who take empty ones away, remove meanwhile.
const PATIENCE: Duration = Duration::from_secs(5);

/// Files of this machine (or mounted ones with `link`).
#[derive(Debug, Default)]
pub struct LocalFileIo {
    fresh_dirs: FreshDirs,
    /// The directory of the table that this handle is for.
    home: Option<Home>,
}

impl LocalFileIo {
    /// A handle on the local file system.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a directory with its parents and remembers which of them are new; again when one of them is removed meanwhile.
    fn ensure_dir(&self, directory: &Path) -> Result<()> {
        let started = SystemClock.elapsed();
        loop {
            match self.make_dir(directory)? {
                Made::AllThere => return Ok(()),
                Made::ParentWent(_) if has_patience(started) => cancel::check()?,
                Made::ParentWent(error) => return Err(error),
            }
        }
    }

    fn make_dir(&self, directory: &Path) -> Result<Made> {
        let home = self.home.as_ref().and_then(|home| Some((home, Path::new(home.of(directory.to_str()?)?))));
        let mut missing = Vec::new();
        let mut at = directory;
        while !at.as_os_str().is_empty() && !is_dir(at)? {
            if let Some((home, needed)) = home.filter(|(_, needed)| *needed == at) {
                return Err(home.gone(&needed.to_string_lossy()));
            }
            missing.push(at.to_path_buf());
            match at.parent() {
                Some(parent) => at = parent,
                None => break,
            }
        }
        if missing.is_empty() {
            return Ok(Made::AllThere);
        }
        let made = match home {
            Some((home, needed)) => make_below(home, needed, &missing)?,
            None => match fs::create_dir_all(directory) {
                // a file has the name
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                    return Err(storage("create the directory", directory, e));
                }
                result => made(result, directory)?,
            },
        };
        if matches!(made, Made::AllThere) {
            self.fresh_dirs.add(missing);
        }
        Ok(made)
    }

    fn ensure_parent(&self, path: &Path) -> Result<()> {
        match path.parent() {
            Some(parent) => self.ensure_dir(parent),
            None => Ok(()),
        }
    }

    /// Opens something whose directories may be missing: they are made, again and again while others take them away.
    fn below_parent<T, E>(
        &self,
        target: &Path,
        open: impl Fn() -> std::result::Result<T, E>,
        is_absent: impl Fn(&E) -> bool,
    ) -> Result<std::result::Result<T, E>> {
        let started = SystemClock.elapsed();
        loop {
            match open() {
                Err(e) if is_absent(&e) && has_patience(started) => self.ensure_parent(target)?,
                done => return Ok(done),
            }
        }
    }

    fn create_new(&self, path: &str) -> Result<File> {
        let target = Path::new(path);
        let open = || OpenOptions::new().write(true).create_new(true).open(target);
        self.below_parent(target, open, |e| e.kind() == io::ErrorKind::NotFound)?.map_err(|e| match e.kind() {
            io::ErrorKind::AlreadyExists => exists_already(path),
            _ => storage("create the file", target, e),
        })
    }

    /// A finished temporary file beside `path`, its name starting with a dot.
    fn write_temporary(&self, path: &str, data: &[u8], sync: bool) -> Result<String> {
        let (directory, name) = path.rsplit_once('/').unwrap_or((".", path));
        let temporary = format!("{directory}/.{name}.{}.tmp", uuid::Uuid::new_v4());
        self.write_new(&temporary, data, sync)?;
        Ok(temporary)
    }
}

fn has_patience(started: Duration) -> bool {
    SystemClock.elapsed().saturating_sub(started) <= PATIENCE
}

fn sync_directories(directories: &[&Path]) -> Result<()> {
    try_waiting(directories, |directory| {
        let synced = open_without_waiting(directory).and_then(|directory| directory.sync_all());
        synced.map_err(|e| storage("make the directory durable", directory, e))
    })
}

impl FileIo for LocalFileIo {
    fn read_at_most(&self, path: &str, most: u64) -> Result<Bytes> {
        let (file, metadata) = open_existing(path)?;
        check_size(path, metadata.len(), most)?;
        read_pieces(path, &file, 0, metadata.len())
    }

    fn open(&self, path: &str) -> Result<Arc<dyn InputFile>> {
        let (file, metadata) = open_existing(path)?;
        Ok(Arc::new(LocalInput { path: path.to_owned(), file, size: metadata.len() }))
    }

    fn create(&self, path: &str) -> Result<Box<dyn OutputFile>> {
        let file = self.create_new(path)?;
        let out = BufWriter::with_capacity(WRITE_BUFFER, file);
        Ok(Box::new(LocalOutput { path: path.to_owned(), out, position: 0 }))
    }

    fn write_new(&self, path: &str, data: &[u8], sync: bool) -> Result<()> {
        let mut file = self.create_new(path)?;
        let mut write = || -> io::Result<()> {
            file.write_all(data)?;
            if sync { file.sync_all() } else { Ok(()) }
        };
        write().map_err(|e| {
            let _ = fs::remove_file(path);
            storage("write the file", Path::new(path), e)
        })
    }

    fn write_new_unsynced(&self, path: &str, data: &[u8], sync: bool) -> Result<()> {
        let mut file = self.create_new(path)?;
        let written = file.write_all(data).map_err(|e| storage("write the file", Path::new(path), e));
        if let Err(error) = written.and_then(|()| if sync { unsynced::add(path, file) } else { Ok(()) }) {
            let _ = fs::remove_file(path);
            return Err(error);
        }
        Ok(())
    }

    fn sync_files(&self, paths: &[String]) -> Result<()> {
        unsynced::sync(paths)
    }

    fn publish_if(&self, path: &str, data: &[u8], sync: bool, still: &dyn Fn() -> Result<()>) -> Result<()> {
        let target = Path::new(path);
        if target.exists() {
            return Err(exists_already(path));
        }
        let temporary = self.write_temporary(path, data, sync).map_err(Error::without_effect)?;
        if let Err(error) = still() {
            let _ = fs::remove_file(&temporary);
            return Err(error.without_effect());
        }
        let linked = fs::hard_link(&temporary, target);
        // over NFS a link can succeed and its answer be lost: then the temporary file has two names
        let really_linked = linked.is_ok() || link_count(&temporary) == 2;
        let _ = fs::remove_file(&temporary);
        match linked {
            Err(e) if !really_linked => return Err(not_published(path, e)),
            _ => {}
        }
        match target.parent() {
            Some(directory) if sync => self.sync_dir(&directory.to_string_lossy()),
            _ => Ok(()),
        }
    }

    #[allow(clippy::disallowed_methods, reason = "this is the place that replaces small files")]
    fn overwrite(&self, path: &str, data: &[u8]) -> Result<()> {
        if self.home.is_some() && !Path::new(path).parent().map_or(Ok(false), is_dir)? {
            return Err(not_found(path));
        }
        let temporary = self.write_temporary(path, data, true)?;
        fs::rename(&temporary, path).map_err(|e| {
            let _ = fs::remove_file(&temporary);
            storage("replace the file", Path::new(path), e)
        })
    }

    fn version(&self, _path: &str) -> Result<Option<String>> {
        Ok(None)
    }

    fn overwrite_version(&self, path: &str, data: &[u8], _version: Option<&str>) -> Result<()> {
        self.overwrite(path, data)
    }

    fn sync_dir(&self, path: &str) -> Result<()> {
        self.fresh_dirs.sync(&[Path::new(path)], &sync_directories)
    }

    fn sync_dirs(&self, paths: &[String]) -> Result<()> {
        let directories: Vec<&Path> = paths.iter().map(Path::new).collect();
        self.fresh_dirs.sync(&directories, &sync_directories)
    }

    fn list(&self, path: &str) -> Result<Vec<FileStatus>> {
        let directory = Path::new(path);
        let children = match fs::read_dir(directory) {
            Ok(children) => children,
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Vec::new());
            }
            Err(e) => return Err(storage("list the directory", directory, e)),
        };
        let mut out = Vec::new();
        for (at, child) in children.enumerate() {
            // small directories are listed even by who cleans up after work that was stopped
            if at % ASK_CHILDREN == ASK_CHILDREN - 1 {
                cancel::check()?;
            }
            let child = child.map_err(|e| storage("list the directory", directory, e))?;
            // names that are no text are not Paimon's
            let Ok(name) = child.file_name().into_string() else { continue };
            let child_path = format!("{}/{name}", path.trim_end_matches('/'));
            match child.metadata() {
                Ok(own) if own.is_symlink() => out.extend(self.status(&child_path)?),
                Ok(own) => out.push(described(&child_path, &own, &own)),
                // a child may vanish between the listing and this question
                Err(e) if cannot_exist(&e) => {}
                Err(e) => return Err(storage("read the file's status", Path::new(&child_path), e)),
            }
        }
        Ok(out)
    }

    fn exists(&self, path: &str) -> Result<bool> {
        Ok(self.status(path)?.is_some())
    }

    fn status(&self, path: &str) -> Result<Option<FileStatus>> {
        let look = || {
            let own = fs::symlink_metadata(path)?;
            let target = if own.is_symlink() { fs::metadata(path)? } else { own.clone() };
            Ok(described(path, &own, &target))
        };
        match look() {
            Ok(status) => Ok(Some(status)),
            Err(e) if cannot_exist(&e) => Ok(None),
            Err(e) => Err(storage("read the file's status", Path::new(path), e)),
        }
    }

    fn delete(&self, path: &str) -> Result<()> {
        if let Ok(own) = fs::symlink_metadata(path)
            && !(own.is_file() || own.is_symlink() || own.is_dir())
        {
            return Err(special_instead(path));
        }
        unsynced::forget(path);
        absent_is_fine(fs::remove_file(path), "delete the file", path)
    }

    fn delete_empty_dir(&self, path: &str) -> Result<bool> {
        match fs::remove_dir(path) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(true),
            Err(e) if matches!(e.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory) => Ok(false),
            Err(e) => Err(storage("delete the directory", Path::new(path), e)),
        }
    }

    fn delete_dir(&self, path: &str) -> Result<()> {
        unsynced::forget_below(path);
        absent_is_fine(fs::remove_dir_all(path), "delete the directory", path)
    }

    fn create_dir(&self, path: &str) -> Result<()> {
        self.ensure_dir(Path::new(path))
    }

    #[allow(
        clippy::disallowed_methods,
        reason = "the existence of the target is checked; published files never go this way"
    )]
    fn rename_dir(&self, from: &str, to: &str) -> Result<()> {
        if self.exists(to)? {
            return Err(exists_already(to));
        }
        self.ensure_parent(Path::new(to))?;
        fs::rename(from, to).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => not_found(from),
            // it came since
            io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => exists_already(to),
            _ => storage("rename the directory", Path::new(from), e).with("to", to),
        })
    }

    fn try_lock(&self, path: &str) -> Result<Option<Box<dyn HeldLock>>> {
        let target = Path::new(path);
        let take = || {
            held::take(target, || {
                let file = lock_options().open(target)?;
                if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
            })
        };
        let is_absent = |e: &Refused| matches!(e, Refused::Open(e) if e.kind() == io::ErrorKind::NotFound);
        match self.below_parent(target, take, is_absent)? {
            Ok(lock) => Ok(lock.map(|lock| Box::new(lock) as Box<dyn HeldLock>)),
            Err(Refused::Open(e)) => {
                // something that is no file says so better than the operating system does
                fs::symlink_metadata(path)
                    .map_or(Ok(()), |own| if own.is_symlink() { Ok(()) } else { regular(path, own).map(drop) })?;
                Err(storage("open the lock", target, e))
            }
            Err(Refused::Lock(e)) => Err(storage("take the lock", target, e)
                .hint("the file system must support locks of whole files (flock), local disks and NFS 4 do")),
        }
    }

    fn within(&self, location: &str) -> Option<FileIoRef> {
        Some(Arc::new(Self { fresh_dirs: self.fresh_dirs.clone(), home: Some(Home::new(location)) }))
    }

    fn check_no_links(&self, root: &str, path: &str) -> Result<()> {
        let below = path.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')).unwrap_or_default();
        for (at, _) in below.match_indices('/') {
            let Some(directory) = path.get(..root.len() + 1 + at) else { break };
            match fs::symlink_metadata(directory) {
                Ok(own) if own.is_symlink() => return Err(link_on_the_way(directory, path)),
                Ok(_) => {}
                // what does not exist leads nowhere
                Err(e) if cannot_exist(&e) => break,
                Err(e) => return Err(storage("read the file's status", Path::new(directory), e)),
            }
        }
        Ok(())
    }
}

/// What came of making directories.
enum Made {
    AllThere,
    /// One that was there, or had been made, was removed before the next one below it was made.
    ParentWent(Error),
}

fn made(result: io::Result<()>, level: &Path) -> Result<Made> {
    match result {
        Ok(()) => Ok(Made::AllThere),
        // a link that leads nowhere stays in the way
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => match fs::symlink_metadata(level) {
            Ok(own) if own.is_symlink() && !is_dir(level)? => Err(storage("create the directory", level, e)),
            _ => Ok(Made::AllThere),
        },
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            Ok(Made::ParentWent(storage("create the directory", level, e)))
        }
        Err(e) => Err(storage("create the directory", level, e)),
    }
}

/// Makes directories below `needed`, the outermost of them last in `missing`.
fn make_below(home: &Home, needed: &Path, missing: &[PathBuf]) -> Result<Made> {
    for level in missing.iter().rev() {
        if let Made::ParentWent(error) = made(fs::create_dir(level), level)? {
            return if is_dir(needed)? {
                Ok(Made::ParentWent(error))
            } else {
                Err(home.gone(&needed.to_string_lossy()))
            };
        }
    }
    Ok(Made::AllThere)
}

/// What a listing says: `own` of the name itself, `target` of what it leads to when it is a link.
fn described(path: &str, own: &fs::Metadata, target: &fs::Metadata) -> FileStatus {
    let modified = target.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    FileStatus {
        path: path.to_owned(),
        size: if target.is_file() { target.len() } else { 0 },
        is_dir: target.is_dir(),
        is_plain: own.is_file() || own.is_dir(),
        modified_millis: modified.and_then(|d| i64::try_from(d.as_millis()).ok()).unwrap_or(0),
    }
}

/// Whether a directory is there; an error where that cannot be told.
fn is_dir(path: &Path) -> Result<bool> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(metadata.is_dir()),
        Err(e) if cannot_exist(&e) => Ok(false),
        Err(e) => Err(storage("look at the directory", path, e)),
    }
}

#[cfg(unix)]
fn link_count(path: &str) -> u64 {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).map_or(0, |m| m.nlink())
}

#[cfg(not(unix))]
fn link_count(_path: &str) -> u64 {
    0
}
