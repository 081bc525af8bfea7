//! A storage that changes nothing outside of one table.
//!
//! Every operation of a table works through such a handle, so whatever a name, an option or a path in somebody's metadata
//! says, what is written, replaced, renamed or deleted lies below the table: no `..`, and no link on the way. Files at
//! external paths may be deleted when the table declares these (option `data-file.external-paths`). Reading is free.

use std::sync::Arc;

use bytes::Bytes;

use super::{FileIo, FileIoRef, FileStatus, HeldLock, InputFile, OutputFile, Statistics, name_fault};
use crate::error::{Error, ErrorKind, Result};

/// A storage with the territory of one table.
#[derive(Clone, Debug)]
pub struct ConfinedFileIo {
    inner: FileIoRef,
    table: String,
    external: Arc<[String]>,
}

impl ConfinedFileIo {
    /// Changes only below the table at `location`, whose directory must be there: it is never made, nor that of a branch.
    pub fn new(inner: FileIoRef, location: &str) -> Self {
        Self::founding(inner.within(location).unwrap_or(inner), location)
    }

    /// The same for who creates the table: its directory is made, too.
    pub fn founding(inner: FileIoRef, location: &str) -> Self {
        Self { inner, table: location.trim_end_matches('/').to_owned(), external: Arc::from([]) }
    }

    /// Data files below these directories may be deleted, too. `/` and what is no absolute path or URI does not count.
    #[must_use]
    pub fn with_external(self, directories: &[String]) -> Self {
        let usable = directories.iter().map(|directory| directory.trim_end_matches('/'));
        let usable = usable.filter(|directory| {
            let parts = directory.strip_prefix('/').or_else(|| Some(directory.split_once("://")?.1));
            let parts = parts.filter(|rest| !rest.is_empty());
            parts.is_some_and(|rest| rest.split('/').all(|part| name_fault(part).is_none()))
        });
        Self { external: usable.map(str::to_owned).collect(), ..self }
    }

    /// An error unless `path` lies below the table, with no link on the way.
    fn own(&self, path: &str) -> Result<()> {
        match plain_rest(path, &self.table) {
            Some(_) => self.inner.check_no_links(&self.table, path).map_err(Error::without_effect),
            None => Err(outside(path, &self.table).without_effect()),
        }
    }

    /// As [`Self::own`], or the path is that of a data file below a declared external directory.
    fn deletable(&self, path: &str) -> Result<()> {
        if plain_rest(path, &self.table).is_some() {
            return self.own(path);
        }
        for directory in self.external.iter() {
            // external files lie as those of the table do: <directory>/<partition>/bucket-<n>/<name>
            let in_bucket = |rest: &str| rest.split('/').rev().skip(1).any(|part| part.starts_with("bucket-"));
            if plain_rest(path, directory).is_some_and(in_bucket) {
                self.no_table_above(path)?;
                return self.inner.check_no_links(directory, path);
            }
        }
        Err(outside(path, &self.table))
    }

    /// Files of another table are not ours, whatever this table declares.
    fn no_table_above(&self, path: &str) -> Result<()> {
        let mut at = path;
        while let Some((directory, _)) =
            at.rsplit_once('/').filter(|(above, _)| !above.is_empty() && !above.ends_with('/'))
        {
            if self.inner.exists(&format!("{directory}/schema/schema-0"))? {
                return Err(Error::new(ErrorKind::CorruptFile, "an external path lies in another table")
                    .with("file", path)
                    .with("path", directory)
                    .hint("nothing is deleted there"));
            }
            at = directory;
        }
        Ok(())
    }
}

/// What follows the directory, when it is made of plain names only.
fn plain_rest<'p>(path: &'p str, directory: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(directory)?.strip_prefix('/')?;
    rest.split('/').all(is_plain).then_some(rest)
}

fn directory_of(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(directory, _)| directory)
}

/// Existing branches and tags may have names that new files do not get.
fn is_plain(part: &str) -> bool {
    !part.is_empty() && part != "." && part != ".." && !part.contains('\0')
}

#[cold]
fn outside(path: &str, table: &str) -> Error {
    Error::new(ErrorKind::CorruptFile, "a file outside of the table is not changed")
        .with("file", path.escape_debug())
        .with("path", table)
        .hint(
            "somebody has changed this table's metadata, or the table has external paths that its option \
             'data-file.external-paths' does not name",
        )
}

impl FileIo for ConfinedFileIo {
    fn read_at_most(&self, path: &str, most: u64) -> Result<Bytes> {
        self.inner.read_at_most(path, most)
    }

    fn open(&self, path: &str) -> Result<Arc<dyn InputFile>> {
        self.inner.open(path)
    }

    fn create(&self, path: &str) -> Result<Box<dyn OutputFile>> {
        self.own(path)?;
        self.inner.create(path)
    }

    fn write_new(&self, path: &str, data: &[u8], sync: bool) -> Result<()> {
        self.own(path)?;
        self.inner.write_new(path, data, sync)
    }

    fn create_unsynced(&self, path: &str) -> Result<Box<dyn OutputFile>> {
        self.own(path)?;
        self.inner.create_unsynced(path)
    }

    fn write_new_unsynced(&self, path: &str, data: &[u8], sync: bool) -> Result<()> {
        self.own(path)?;
        self.inner.write_new_unsynced(path, data, sync)
    }

    fn sync_files(&self, paths: &[String]) -> Result<()> {
        self.inner.sync_files(paths)
    }

    fn publish_if(&self, path: &str, data: &[u8], sync: bool, still: &dyn Fn() -> Result<()>) -> Result<()> {
        self.own(path)?;
        self.inner.publish_if(path, data, sync, still)
    }

    fn publish_snapshot(
        &self,
        path: &str,
        data: &[u8],
        sync: bool,
        still: &dyn Fn() -> Result<()>,
        statistics: Statistics<'_>,
    ) -> Result<()> {
        self.own(path)?;
        self.inner.publish_snapshot(path, data, sync, still, statistics)
    }

    fn is_served(&self) -> bool {
        self.inner.is_served()
    }

    fn overwrite(&self, path: &str, data: &[u8]) -> Result<()> {
        self.own(path)?;
        self.inner.overwrite(path, data)
    }

    fn version(&self, path: &str) -> Result<Option<String>> {
        self.inner.version(path)
    }

    fn overwrite_version(&self, path: &str, data: &[u8], version: Option<&str>) -> Result<()> {
        self.own(path)?;
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
        self.deletable(path)?;
        self.inner.delete(path)
    }

    /// Whether a directory lies in the table and on the way to it is no link, is asked once for files of it that are deleted
    /// one after another, not once a file. That is as safe: who swaps a directory for a link between check and deletion
    /// gets through either way (`SECURITY.md`), links that were there before are found by the first check, and of a path
    /// only the directory counts, because a last part that is a plain name cannot lead out of it: of a link with this name
    /// the link goes.
    fn delete_all(&self, paths: &[&str]) -> Result<()> {
        for files in paths.chunk_by(|one, next| directory_of(one) == directory_of(next)) {
            if let Some(first) = files.first() {
                self.deletable(first)?;
            }
            if let Some(odd) = files.iter().find(|path| !path.rsplit('/').next().is_some_and(is_plain)) {
                return self.deletable(odd);
            }
            self.inner.delete_all(files)?;
        }
        Ok(())
    }

    fn delete_empty_dir(&self, path: &str) -> Result<bool> {
        self.deletable(path)?;
        self.inner.delete_empty_dir(path)
    }

    fn delete_dir(&self, path: &str) -> Result<()> {
        self.own(path)?;
        self.inner.delete_dir(path)
    }

    fn create_dir(&self, path: &str) -> Result<()> {
        if path.trim_end_matches('/') != self.table {
            self.own(path)?;
        }
        self.inner.create_dir(path)
    }

    fn rename_dir(&self, from: &str, to: &str) -> Result<()> {
        self.own(from)?;
        self.own(to)?;
        self.inner.rename_dir(from, to)
    }

    fn try_lock(&self, path: &str) -> Result<Option<Box<dyn HeldLock>>> {
        self.own(path)?;
        self.inner.try_lock(path)
    }

    fn has_directories(&self) -> bool {
        self.inner.has_directories()
    }

    fn check_deletable(&self, path: &str) -> Result<()> {
        self.deletable(path)
    }

    fn check_no_links(&self, root: &str, path: &str) -> Result<()> {
        self.inner.check_no_links(root, path)
    }

    fn unconfined(&self) -> Option<&FileIoRef> {
        Some(&self.inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::FaultFileIo;

    fn storage() -> (FaultFileIo, ConfinedFileIo) {
        let io = FaultFileIo::new();
        for path in
            ["/w/db.db/t/a", "/w/db.db/other/a", "/x/bucket-0/a", "/x/a", "/x/t/schema/schema-0", "/x/t/bucket-0/a"]
        {
            io.put(path, b"content");
        }
        let confined = ConfinedFileIo::new(Arc::new(io.clone()), "/w/db.db/t/");
        (io, confined)
    }

    const OUTSIDE: [&str; 9] = [
        "/w/db.db/other/a",
        "/w/db.db/t/../other/a",
        "/w/db.db/t/./../other/a",
        "/w/db.db/t",
        "/w/db.db/t/",
        "/w/db.db/t//a",
        "/w/db.db/tt",
        "a",
        "",
    ];

    #[test]
    fn nothing_outside_of_the_table_is_changed() {
        let (io, confined) = storage();
        let before = io.paths();
        for path in OUTSIDE {
            let inside = "/w/db.db/t/b";
            let all = [
                confined.create(path).map(drop),
                confined.write_new(path, b"", false),
                confined.publish(path, b"", false),
                confined.overwrite(path, b""),
                confined.delete(path),
                confined.delete_empty_dir(path).map(drop),
                confined.delete_dir(path),
                confined.rename_dir(path, inside),
                confined.rename_dir(inside, path),
                confined.check_deletable(path),
                confined.try_lock(path).map(drop),
            ];
            for done in all {
                assert_eq!(done.expect_err(path).kind(), ErrorKind::CorruptFile, "{path}");
            }
            let _ = confined.create_dir(path);
        }
        assert_eq!(io.paths(), before);
        assert_eq!(io.calls(), 2, "the table's own directory may be made, in two spellings: {:?}", io.trace());
    }

    #[test]
    fn everything_is_read_and_the_tables_files_are_changed() {
        let (io, confined) = storage();
        assert_eq!(&confined.read("/w/db.db/other/a").expect("read")[..], b"content");
        confined.write_new("/w/db.db/t/new/b", b"x", true).expect("write");
        confined.overwrite("/w/db.db/t/a", b"y").expect("overwrite");
        confined.delete("/w/db.db/t/new/b").expect("delete");
        assert_eq!(&io.read("/w/db.db/t/a").expect("read")[..], b"y");
    }

    #[test]
    fn at_external_paths_only_files_in_buckets_are_deleted() {
        let (io, confined) = storage();
        let confined = confined.with_external(&["/x/".to_owned(), "/".to_owned(), "y".to_owned(), String::new()]);
        for path in ["/x/a", "/x", "/x/../w/db.db/other/bucket-0/a", "/y/bucket-0/a", "/bucket-0/a", "/x/t/bucket-0/a"]
        {
            assert_eq!(confined.delete(path).expect_err(path).kind(), ErrorKind::CorruptFile, "{path}");
            assert!(confined.write_new("/x/bucket-0/b", b"", false).is_err());
        }
        confined.delete("/x/bucket-0/a").expect("a data file");
        assert!(!io.paths().contains(&"/x/bucket-0/a".to_owned()));
    }
}
