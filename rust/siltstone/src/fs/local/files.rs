//! Open files.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    path::Path,
};

use bytes::Bytes;

use super::{
    errors::{cannot_exist, directory_instead, not_found, special_instead, storage},
    unsynced,
};
use crate::{
    cancel,
    error::Result,
    fs::{InputFile, OutputFile, checked_range},
    limits,
};

/// Bytes that are read at once.
const PIECE: usize = 8 * 1024 * 1024;

/// Opens a regular file. Pipes, sockets and devices are looked at first and not opened: a pipe would wait for a writer.
pub(super) fn open_existing(path: &str) -> Result<(File, fs::Metadata)> {
    let failed = |e: io::Error| {
        if cannot_exist(&e) { not_found(path) } else { storage("open the file", Path::new(path), e) }
    };
    regular(path, fs::metadata(path).map_err(failed)?)?;
    let file = open_without_waiting(Path::new(path)).map_err(failed)?;
    // again, because the name may mean something else by now
    let metadata = regular(path, file.metadata().map_err(failed)?)?;
    Ok((file, metadata))
}

pub(super) fn regular(path: &str, metadata: fs::Metadata) -> Result<fs::Metadata> {
    if metadata.is_file() {
        Ok(metadata)
    } else if metadata.is_dir() {
        Err(directory_instead(path))
    } else {
        Err(special_instead(path))
    }
}

/// For reading. The standard library adds `O_CLOEXEC`.
#[cfg(unix)]
pub(super) fn open_without_waiting(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

#[cfg(not(unix))]
pub(super) fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// For a lock, which is made when absent, and never where a link leads.
pub(super) fn lock_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOFOLLOW);
    options
}

/// A read is a call of the system, which reads ahead by itself. A merge holds as much of each column of each run.
const WINDOW: u64 = 128 * 1024;

pub(super) struct LocalInput {
    pub(super) path: String,
    pub(super) file: File,
    pub(super) size: u64,
}

impl InputFile for LocalInput {
    fn path(&self) -> &str {
        &self.path
    }

    fn size(&self) -> Result<u64> {
        Ok(self.size)
    }

    fn read_range(&self, start: u64, length: u64) -> Result<Bytes> {
        checked_range(&self.path, self.size, start, length)?;
        read_pieces(&self.path, &self.file, start, length)
    }

    fn window(&self) -> u64 {
        WINDOW
    }
}

/// Some bytes of an open file. Memory for many is asked for before, and between pieces there is a look at whether to stop.
pub(super) fn read_pieces(path: &str, file: &File, start: u64, length: u64) -> Result<Bytes> {
    let asked = usize::try_from(length).unwrap_or(usize::MAX);
    limits::ask(asked, "a read of a file").map_err(|e| e.with("file", path))?;
    let mut buffer = vec![0; asked];
    let mut at = start;
    for (number, piece) in buffer.chunks_mut(PIECE).enumerate() {
        if number > 0 {
            cancel::check()?;
        }
        read_exact_at(file, piece, at).map_err(|e| storage("read the file", Path::new(path), e))?;
        at += piece.len() as u64;
    }
    Ok(Bytes::from(buffer))
}

#[cfg(unix)]
pub(in crate::fs) fn read_exact_at(file: &File, buffer: &mut [u8], start: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, start)
}

#[cfg(windows)]
pub(in crate::fs) fn read_exact_at(file: &File, mut buffer: &mut [u8], mut start: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        let n = std::os::windows::fs::FileExt::seek_read(file, buffer, start)?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buffer = buffer.get_mut(n..).unwrap_or_default();
        start += n as u64;
    }
    Ok(())
}

pub(super) struct LocalOutput {
    pub(super) path: String,
    pub(super) out: BufWriter<File>,
    pub(super) position: u64,
}

impl Write for LocalOutput {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let n = self.out.write(data)?;
        self.position += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl OutputFile for LocalOutput {
    fn position(&self) -> u64 {
        self.position
    }

    fn close(mut self: Box<Self>, sync: bool) -> Result<u64> {
        let mut finish = || -> io::Result<()> {
            self.out.flush()?;
            if sync { self.out.get_ref().sync_all() } else { Ok(()) }
        };
        finish().map_err(|e| storage("write the file", Path::new(&self.path), e))?;
        Ok(self.position)
    }

    fn close_unsynced(self: Box<Self>) -> Result<u64> {
        let Self { path, out, position } = *self;
        let file = out.into_inner().map_err(|e| storage("write the file", Path::new(&path), e.into_error()))?;
        unsynced::add(&path, file)?;
        Ok(position)
    }
}
