//! The files that one snapshot names, as paths.

use std::collections::HashSet;

use super::FileKind;
use crate::{
    error::{ErrorKind, Result},
    io::TableContext,
    manifest::ManifestStore,
    snapshot::Snapshot,
};

/// A file of metadata that a snapshot names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaFile {
    /// Unique in the table.
    pub name: String,
    /// Full path.
    pub path: String,
    /// Size, when the metadata says it.
    pub bytes: u64,
    /// What it is.
    pub kind: FileKind,
}

/// Which parts of a snapshot's metadata are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "four independent parts")]
pub struct MetaParts {
    /// Base and delta manifest lists with their manifests.
    pub data: bool,
    /// The changelog manifest list with its manifests.
    pub changelog: bool,
    /// The index manifest with its index files, and statistics.
    pub index: bool,
    /// Files that cannot be found are skipped: an earlier run deleted them. Those of changelogs always are.
    pub tolerant: bool,
}

impl MetaParts {
    /// Everything, and everything must be there.
    pub const ALL: Self = Self { data: true, changelog: true, index: true, tolerant: false };
}

/// The files of metadata that a snapshot names.
///
/// # Errors
/// Lists and index manifests that cannot be read; those that are gone only when `parts.tolerant` is false.
pub fn metadata_files(
    ctx: &TableContext,
    store: &ManifestStore,
    snapshot: &Snapshot,
    parts: MetaParts,
) -> Result<Vec<MetaFile>> {
    let mut found = Vec::new();
    let manifest = |name: &str, bytes: Option<i64>| -> Result<MetaFile> {
        let path = ctx.paths.manifest(name)?;
        Ok(MetaFile { name: name.to_owned(), path, bytes: size(bytes.unwrap_or(0)), kind: FileKind::Manifest })
    };
    let mut lists = Vec::new();
    if parts.data {
        lists.push((snapshot.base_list(), parts.tolerant));
        lists.push((snapshot.delta_list(), parts.tolerant));
    }
    if let (true, Some(list)) = (parts.changelog, snapshot.changelog_list()) {
        // a snapshot that Java restored from a tag names a changelog that is gone
        lists.push((list, true));
    }
    for (list, tolerant) in lists {
        for meta in absent_is_empty(store.read_list(list), tolerant)? {
            found.push(manifest(&meta.file_name, Some(meta.file_size))?);
        }
        found.push(manifest(list.name, list.size)?);
    }
    if let (true, Some(index)) = (parts.index, &snapshot.index_manifest) {
        for entry in absent_is_empty(store.read_index(index), parts.tolerant)? {
            let path = ctx.paths.index_file_of(&entry)?;
            found.push(MetaFile { name: entry.file_name, path, bytes: size(entry.file_size), kind: FileKind::Index });
        }
        found.push(manifest(index, None)?);
    }
    if let (true, Some(name)) = (parts.index, &snapshot.statistics) {
        let path = ctx.paths.statistics(name)?;
        found.push(MetaFile { name: name.clone(), path, bytes: 0, kind: FileKind::Statistics });
    }
    Ok(found)
}

/// Names of the files of metadata that a snapshot needs.
pub fn metadata_names(
    ctx: &TableContext,
    store: &ManifestStore,
    snapshot: &Snapshot,
    parts: MetaParts,
) -> Result<HashSet<String>> {
    Ok(metadata_files(ctx, store, snapshot, parts)?.into_iter().map(|file| file.name).collect())
}

fn absent_is_empty<T>(read: Result<Vec<T>>, tolerant: bool) -> Result<Vec<T>> {
    match read {
        Err(e) if tolerant && e.kind() == ErrorKind::FileNotFound => Ok(Vec::new()),
        other => other,
    }
}

fn size(bytes: i64) -> u64 {
    u64::try_from(bytes).unwrap_or(0)
}
