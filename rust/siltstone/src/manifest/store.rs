//! Reading and writing the files of the manifest directory.

use std::sync::Arc;

use super::{EntryHead, IndexManifestEntry, ManifestEntry, ManifestFileMeta};
use crate::{
    error::{Error, ErrorKind, Result},
    fs::FileIoRef,
    options::CoreOptions,
    path::{MetaNames, PathFactory},
};

/// Manifests, manifest lists and index manifests of one table. Cheap to make; a commit makes its own.
#[derive(Debug)]
pub struct ManifestStore {
    fs: FileIoRef,
    paths: Arc<PathFactory>,
    names: MetaNames,
}

impl ManifestStore {
    /// The store of a table, with the compression and target size of its options.
    pub fn new(fs: &FileIoRef, paths: &Arc<PathFactory>, _options: &CoreOptions) -> Result<Self> {
        Ok(Self { fs: Arc::clone(fs), paths: Arc::clone(paths), names: MetaNames::new() })
    }

    /// Entries of one manifest.
    pub fn read(&self, manifest: &ManifestFileMeta) -> Result<Vec<ManifestEntry>> {
        self.read_where(manifest, &|_| true)
    }

    /// Entries of one manifest whose head passes `keep`.
    pub fn read_where(
        &self,
        _manifest: &ManifestFileMeta,
        _keep: &(dyn Fn(EntryHead<'_>) -> bool + Sync),
    ) -> Result<Vec<ManifestEntry>> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// Entries of several manifests, one manifest after another, read in parallel.
    pub fn read_all(
        &self,
        _manifests: &[ManifestFileMeta],
        _keep: &(dyn Fn(EntryHead<'_>) -> bool + Sync),
    ) -> Result<Vec<ManifestEntry>> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// Writes entries into as many manifests as the target size asks for; no entries, no manifest.
    pub fn write(&self, _entries: &[ManifestEntry]) -> Result<Vec<ManifestFileMeta>> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// Manifests of a manifest list.
    pub fn read_list(&self, _name: &str) -> Result<Vec<ManifestFileMeta>> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// Writes a manifest list (also an empty one); name and size.
    pub fn write_list(&self, _manifests: &[ManifestFileMeta]) -> Result<(String, i64)> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// Entries of an index manifest.
    pub fn read_index(&self, _name: &str) -> Result<Vec<IndexManifestEntry>> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// Writes an index manifest; its name.
    pub fn write_index(&self, _entries: &[IndexManifestEntry]) -> Result<String> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// Makes the names in the manifest directory durable; to be called before a snapshot refers to them.
    pub fn sync(&self) -> Result<()> {
        self.fs.sync_dir(&self.paths.manifest_dir())
    }

    /// Deletes a manifest, manifest list or index manifest of a failed commit; fine when absent.
    pub fn delete(&self, name: &str) -> Result<()> {
        self.fs.delete(&self.paths.manifest(name))
    }

    /// Names for further metadata files of the same commit.
    pub fn names(&self) -> &MetaNames {
        &self.names
    }
}
