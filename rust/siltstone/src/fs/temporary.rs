//! Files that only this process uses: they never have a name (Linux), or none as soon as they are open (other Unix systems,
//! file systems without `O_TMPFILE`), so they go with the process however it ends. Where that is not possible (other
//! systems, very many files) the name goes when the value is dropped.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::local::{read_exact_at, storage};
use crate::error::Result;

/// Nameless files have to stay open; of more than this at once the others keep their names.
const NAMELESS: usize = 256;

static OPEN: AtomicUsize = AtomicUsize::new(0);

/// A temporary file.
#[derive(Debug)]
pub(crate) struct TemporaryFile {
    path: PathBuf,
    /// the nameless file; `None` when it has its name
    file: Option<Arc<File>>,
}

impl TemporaryFile {
    /// A new file in a directory, which is made when it is not there, and the file to write to.
    pub(crate) fn create(directory: &Path) -> Result<(Self, Arc<File>)> {
        let path = directory.join(format!("siltstone-spill-{}.arrow", uuid::Uuid::new_v4()));
        let place = cfg!(unix) && take_place();
        let opened = match open(directory, &path, place) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(directory).and_then(|()| open(directory, &path, place))
            }
            other => other,
        };
        if place && !matches!(opened, Ok((_, true))) {
            OPEN.fetch_sub(1, Ordering::Relaxed);
        }
        let (file, nameless) = opened.map_err(|e| storage("create the file", &path, e))?;
        let file = Arc::new(file);
        Ok((Self { path, file: nameless.then(|| Arc::clone(&file)) }, file))
    }

    /// The name that it has or had, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file to read from.
    pub(crate) fn open(&self) -> Result<Arc<File>> {
        match &self.file {
            Some(file) => Ok(Arc::clone(file)),
            None => File::open(&self.path).map(Arc::new).map_err(|e| storage("open the file", &self.path, e)),
        }
    }

    /// Fills `buffer` with the bytes from `start` on.
    pub(crate) fn read_at(file: &File, buffer: &mut [u8], start: u64) -> io::Result<()> {
        read_exact_at(file, buffer, start)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if self.file.is_some() {
            OPEN.fetch_sub(1, Ordering::Relaxed);
        } else if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "a spill file could not be deleted");
        }
    }
}

fn take_place() -> bool {
    let more = |open: usize| (open < NAMELESS).then_some(open + 1);
    OPEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
}

/// Opens a new file in a directory, and whether it is without a name.
fn open(directory: &Path, path: &Path, without_name: bool) -> io::Result<(File, bool)> {
    if without_name && let Ok(file) = open_nameless(directory) {
        return Ok((file, true));
    }
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
    Ok((file, without_name && fs::remove_file(path).is_ok()))
}

/// A process that is killed between making a file and removing its name would leave it; here there is no such moment.
#[cfg(target_os = "linux")]
fn open_nameless(directory: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_TMPFILE | libc::O_EXCL).mode(0o600).open(directory)
}

#[cfg(not(target_os = "linux"))]
fn open_nameless(_directory: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_in_use_has_no_name_and_can_be_read_again_and_again() {
        let directory = std::env::temp_dir().join(format!("siltstone-temporary-{}", uuid::Uuid::new_v4()));
        let (temporary, file) = TemporaryFile::create(&directory).unwrap();
        (&*file).write_all(b"sorted run").unwrap();
        drop(file);
        let names = || fs::read_dir(&directory).unwrap().count();
        assert_eq!(names(), usize::from(!cfg!(unix)));
        for _ in 0..2 {
            let mut found = [0; 3];
            TemporaryFile::read_at(&temporary.open().unwrap(), &mut found, 7).unwrap();
            assert_eq!(&found, b"run");
        }
        drop(temporary);
        assert_eq!(names(), 0);
        fs::remove_dir(&directory).unwrap();
    }
}
