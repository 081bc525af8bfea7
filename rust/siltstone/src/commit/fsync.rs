//! What must survive a power loss before a snapshot refers to it: the names of new files.
//!
//! The contents of data and index files are made durable by their writers when they close them, those of manifests
//! by the manifest store. A name is durable when its directory, and each directory above it up to the table, is.
//! Option `siltstone.commit.fsync=false` turns all of it off.

use std::collections::BTreeSet;

use crate::{
    error::Result,
    io::TableContext,
    manifest::{EntryKind, IndexManifestEntry, ManifestEntry},
    threads::try_map,
};

/// Makes the names of all added files durable.
pub(super) fn sync_names<'a>(
    ctx: &TableContext,
    files: impl Iterator<Item = &'a ManifestEntry>,
    index: impl Iterator<Item = &'a IndexManifestEntry>,
) -> Result<()> {
    if !ctx.options.sync {
        return Ok(());
    }
    let mut directories = BTreeSet::new();
    for entry in files.filter(|entry| entry.kind == EntryKind::Add) {
        add_with_parents(&mut directories, ctx, &ctx.paths.data_file(&entry.partition, entry.bucket, &entry.file)?);
    }
    for entry in index.filter(|entry| entry.kind == EntryKind::Add) {
        add_with_parents(&mut directories, ctx, &ctx.paths.index_file_of(entry)?);
    }
    let directories: Vec<String> = directories.into_iter().collect();
    try_map(&directories, |directory| ctx.fs.sync_dir(directory)).map(drop)
}

/// The directory of a file and those above it, up to the table; outside of the table the directory alone.
fn add_with_parents(directories: &mut BTreeSet<String>, ctx: &TableContext, file: &str) {
    let root = ctx.paths.location();
    let mut at = file;
    while let Some((directory, _)) = at.rsplit_once('/') {
        if directory.is_empty() || !directories.insert(directory.to_owned()) {
            return;
        }
        let inside = directory.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'));
        if !inside {
            return;
        }
        at = directory;
    }
}
