//! What the operating system refuses, as errors of a storage.

use std::{io, path::Path};

use crate::error::{Error, ErrorKind, Result};

/// There is no such file, or there can be none: its name is too long, or has a zero byte.
pub(super) fn cannot_exist(e: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound};
    matches!(e.kind(), NotFound | NotADirectory | InvalidFilename | InvalidInput) || is_loop(e)
}

/// A link that leads to itself leads nowhere.
#[cfg(unix)]
fn is_loop(e: &io::Error) -> bool {
    e.raw_os_error() == Some(libc::ELOOP)
}

#[cfg(not(unix))]
fn is_loop(_e: &io::Error) -> bool {
    false
}

pub(in crate::fs) fn not_found(path: &str) -> Error {
    Error::new(ErrorKind::FileNotFound, "the file does not exist").with("file", path)
}

/// A directory lies where a file must be: the table is broken, the storage is not.
pub(in crate::fs) fn directory_instead(path: &str) -> Error {
    Error::corrupt(path, 0, "a file", "a directory")
}

/// A pipe, socket or device lies where a file must be.
pub(super) fn special_instead(path: &str) -> Error {
    Error::corrupt(path, 0, "a regular file", "a pipe, socket or device")
}

pub(super) fn link_on_the_way(directory: &str, path: &str) -> Error {
    Error::new(ErrorKind::CorruptFile, "a directory of the table is a link: nothing is changed through it")
        .with("file", path)
        .with("path", directory)
        .hint("put a directory in its place; only the table's own directory may be a link")
}

pub(in crate::fs) fn exists_already(path: &str) -> Error {
    Error::new(ErrorKind::FileExists, "the file exists already").with("file", path)
}

/// The link was not made, as far as is known here: of these refusals it is certain, others (an answer that was lost) may come
/// from a link that is there.
pub(super) fn not_published(path: &str, e: io::Error) -> Error {
    use io::ErrorKind::{
        AlreadyExists, NotFound, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull, TooManyLinks,
        Unsupported,
    };
    match e.kind() {
        AlreadyExists => exists_already(path),
        Unsupported | PermissionDenied => storage("publish the file by a hard link", Path::new(path), e)
            .hint("the file system must support hard links: a rename could replace another commit")
            .without_effect(),
        // `NotFound`: the directory was replaced since the file was finished there
        ReadOnlyFilesystem | StorageFull | QuotaExceeded | TooManyLinks | NotFound => {
            storage("publish the file", Path::new(path), e).without_effect()
        }
        _ => storage("publish the file", Path::new(path), e),
    }
}

pub(in crate::fs) fn storage(what: &str, path: &Path, e: io::Error) -> Error {
    Error::new(ErrorKind::Storage, format!("cannot {what}")).with("file", path.display()).caused_by(e)
}

pub(super) fn absent_is_fine(done: io::Result<()>, what: &str, path: &str) -> Result<()> {
    match done {
        Err(e) if !matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(storage(what, Path::new(path), e))
        }
        _ => Ok(()),
    }
}
