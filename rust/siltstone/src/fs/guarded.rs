//! A storage whose publishing somebody watches over: the catalog that a table belongs to, with its lock.
//!
//! Storages are opened by the path of a table alone, wherever a table, a split or a job is opened again. So a catalog says once
//! which tables are its own ([`watch`]), and every handle of one of them publishes under its eyes.

use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;

use super::{FileIo, FileIoRef, FileStatus, HeldLock, InputFile, OutputFile, Statistics};
use crate::error::Result;

/// A file that is to be published ([`FileIo::publish_if`]).
#[derive(Clone, Copy)]
pub struct Publication<'p> {
    /// Its path.
    pub path: &'p str,
    /// Its content.
    pub data: &'p [u8],
    /// What is asked when only the name is missing.
    pub still: &'p dyn Fn() -> Result<()>,
    /// What a snapshot changes of the partitions; an empty list of others.
    pub statistics: Statistics<'p>,
}

/// Who is asked to publish files of the tables below a directory.
pub trait Publisher: Send + Sync + std::fmt::Debug {
    /// Calls `publish`, once at most, when whatever it takes is in order; what follows from it is its business, too. An error
    /// before that call is one without effect. Who [serves](Publisher::is_server) the table publishes its snapshots by itself.
    fn publish(&self, what: &Publication<'_>, publish: &dyn Fn() -> Result<()>) -> Result<()>;

    /// Whether it is a server that publishes snapshots, and remembers which is the newest.
    fn is_server(&self) -> bool {
        false
    }
}

/// A storage that publishes through a [`Publisher`], and does everything else as the one below it.
#[derive(Clone, Debug)]
struct GuardedFileIo {
    inner: FileIoRef,
    publisher: Arc<dyn Publisher>,
}

/// Directories with a publisher, the ones registered last first.
static WATCHED: RwLock<Vec<(String, Arc<dyn Publisher>)>> = RwLock::new(Vec::new());

/// From now on handles of tables below the directory, in this process, publish through `publisher`; it takes the place of the
/// one that the directory has had.
pub fn watch(directory: &str, publisher: Arc<dyn Publisher>) {
    let directory = format!("{}/", directory.trim_end_matches('/'));
    let mut watched = WATCHED.write().unwrap_or_else(PoisonError::into_inner);
    watched.retain(|(other, _)| *other != directory);
    watched.insert(0, (directory, publisher));
}

/// The storage as a handle of the table at `location` uses it.
pub fn watched(fs: FileIoRef, location: &str) -> FileIoRef {
    let watched = WATCHED.read().unwrap_or_else(PoisonError::into_inner);
    let own = format!("{}/", location.trim_end_matches('/'));
    let below = watched.iter().filter(|(directory, _)| own.starts_with(directory.as_str()));
    match below.max_by_key(|(directory, _)| directory.len()) {
        Some((_, publisher)) => guarded(fs, Arc::clone(publisher)),
        None => fs,
    }
}

/// The storage with a publisher.
pub fn guarded(fs: FileIoRef, publisher: Arc<dyn Publisher>) -> FileIoRef {
    Arc::new(GuardedFileIo { inner: fs, publisher })
}

impl FileIo for GuardedFileIo {
    fn read_at_most(&self, path: &str, most: u64) -> Result<Bytes> {
        self.inner.read_at_most(path, most)
    }

    fn open(&self, path: &str) -> Result<Arc<dyn InputFile>> {
        self.inner.open(path)
    }

    fn create(&self, path: &str) -> Result<Box<dyn OutputFile>> {
        self.inner.create(path)
    }

    fn write_new(&self, path: &str, data: &[u8], sync: bool) -> Result<()> {
        self.inner.write_new(path, data, sync)
    }

    fn create_unsynced(&self, path: &str) -> Result<Box<dyn OutputFile>> {
        self.inner.create_unsynced(path)
    }

    fn write_new_unsynced(&self, path: &str, data: &[u8], sync: bool) -> Result<()> {
        self.inner.write_new_unsynced(path, data, sync)
    }

    fn sync_files(&self, paths: &[String]) -> Result<()> {
        self.inner.sync_files(paths)
    }

    fn publish_if(&self, path: &str, data: &[u8], sync: bool, still: &dyn Fn() -> Result<()>) -> Result<()> {
        let what = Publication { path, data, still, statistics: &|| Ok("[]".to_owned()) };
        self.publisher.publish(&what, &|| self.inner.publish_if(path, data, sync, still))
    }

    fn publish_snapshot(
        &self,
        path: &str,
        data: &[u8],
        sync: bool,
        still: &dyn Fn() -> Result<()>,
        statistics: Statistics<'_>,
    ) -> Result<()> {
        let what = Publication { path, data, still, statistics };
        self.publisher.publish(&what, &|| self.inner.publish_if(path, data, sync, still))
    }

    fn is_served(&self) -> bool {
        self.publisher.is_server()
    }

    fn overwrite(&self, path: &str, data: &[u8]) -> Result<()> {
        self.inner.overwrite(path, data)
    }

    fn version(&self, path: &str) -> Result<Option<String>> {
        self.inner.version(path)
    }

    fn overwrite_version(&self, path: &str, data: &[u8], version: Option<&str>) -> Result<()> {
        self.inner.overwrite_version(path, data, version)
    }

    fn sync_dir(&self, path: &str) -> Result<()> {
        self.inner.sync_dir(path)
    }

    fn sync_dirs(&self, paths: &[String]) -> Result<()> {
        self.inner.sync_dirs(paths)
    }

    fn list(&self, path: &str) -> Result<Vec<FileStatus>> {
        self.inner.list(path)
    }

    fn exists(&self, path: &str) -> Result<bool> {
        self.inner.exists(path)
    }

    fn is_file(&self, path: &str) -> Result<bool> {
        self.inner.is_file(path)
    }

    fn status(&self, path: &str) -> Result<Option<FileStatus>> {
        self.inner.status(path)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.inner.delete(path)
    }

    fn delete_all(&self, paths: &[&str]) -> Result<()> {
        self.inner.delete_all(paths)
    }

    fn delete_empty_dir(&self, path: &str) -> Result<bool> {
        self.inner.delete_empty_dir(path)
    }

    fn delete_dir(&self, path: &str) -> Result<()> {
        self.inner.delete_dir(path)
    }

    fn create_dir(&self, path: &str) -> Result<()> {
        self.inner.create_dir(path)
    }

    fn rename_dir(&self, from: &str, to: &str) -> Result<()> {
        self.inner.rename_dir(from, to)
    }

    fn try_lock(&self, path: &str) -> Result<Option<Box<dyn HeldLock>>> {
        self.inner.try_lock(path)
    }

    fn has_directories(&self) -> bool {
        self.inner.has_directories()
    }

    fn check_deletable(&self, path: &str) -> Result<()> {
        self.inner.check_deletable(path)
    }

    fn check_no_links(&self, root: &str, path: &str) -> Result<()> {
        self.inner.check_no_links(root, path)
    }

    fn within(&self, location: &str) -> Option<FileIoRef> {
        let inner = self.inner.within(location)?;
        Some(Arc::new(Self { inner, publisher: Arc::clone(&self.publisher) }))
    }

    fn unconfined(&self) -> Option<&FileIoRef> {
        self.inner.unconfined()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::fs::FaultFileIo;

    #[derive(Debug, Default)]
    struct Counting(AtomicUsize);

    impl Publisher for Counting {
        fn publish(&self, _: &Publication<'_>, publish: &dyn Fn() -> Result<()>) -> Result<()> {
            self.0.fetch_add(1, Ordering::Relaxed);
            publish()
        }
    }

    #[test]
    fn tables_below_a_watched_directory_publish_through_its_publisher() {
        let (lake, shop) = (Arc::new(Counting::default()), Arc::new(Counting::default()));
        watch("/guarded/lake", Arc::clone(&lake) as Arc<dyn Publisher>);
        watch("/guarded/lake/shop.db/", Arc::clone(&shop) as Arc<dyn Publisher>);
        let io = FaultFileIo::new();
        for location in ["/guarded/lake/shop.db/t", "/guarded/lake/other.db/t", "/guarded/lakes/a.db/t"] {
            io.create_dir(location).expect("a directory");
            let fs = watched(Arc::new(io.clone()), location);
            let fs = fs.within(location).unwrap_or(fs);
            fs.publish(&format!("{location}/a"), b"x", false).expect("published");
        }
        assert_eq!(lake.0.load(Ordering::Relaxed), 1, "the nearest directory counts, as a whole name");
        assert_eq!(shop.0.load(Ordering::Relaxed), 1);
        assert!(io.paths().contains(&"/guarded/lakes/a.db/t/a".to_owned()));
    }
}
