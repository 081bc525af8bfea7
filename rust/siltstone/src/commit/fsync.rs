//! What must survive a power loss before a snapshot refers to it: new files and their names.
//!
//! Manifests are made durable by their store when they are written. The contents of data and index files may wait for that until
//! the commit is about to name them, or until the message that names them leaves this process: together they cost little
//! ([`FileIo::sync_files`](crate::fs::FileIo::sync_files)). A name is durable when its directory, and each directory above it up to the
//! table, is. Option `siltstone.sync=false` turns all of it off.

use std::collections::BTreeSet;

use crate::{
    error::Result,
    io::TableContext,
    manifest::{BucketId, EntryKind, IndexManifestEntry, ManifestEntry},
    wire::CommitMessage,
};

/// Makes all added files and their names durable.
pub(super) fn sync_added<'a>(
    ctx: &TableContext,
    files: impl Iterator<Item = &'a ManifestEntry>,
    index: impl Iterator<Item = &'a IndexManifestEntry>,
) -> Result<()> {
    if !ctx.options.sync {
        return Ok(());
    }
    let (mut added, mut directories) = (Vec::new(), BTreeSet::new());
    for entry in files.filter(|entry| entry.kind == EntryKind::Add) {
        let file = ctx.paths.data_file(&entry.partition, entry.bucket, &entry.file)?;
        add_with_parents(&mut directories, ctx, &file);
        added.push(file);
        added.extend(ctx.paths.extra_files(&entry.partition, entry.bucket, &entry.file)?);
    }
    for entry in index.filter(|entry| entry.kind == EntryKind::Add) {
        let file = ctx.paths.index_file_of(entry)?;
        add_with_parents(&mut directories, ctx, &file);
        added.push(file);
    }
    ctx.fs.sync_files(&added)?;
    let directories: Vec<String> = directories.into_iter().collect();
    ctx.fs.sync_dirs(&directories)
}

/// Makes the contents of the files that messages add durable: another process commits them, and can do so for none that this one
/// has not finished.
pub(crate) fn sync_contents<'a>(
    ctx: &TableContext,
    messages: impl IntoIterator<Item = &'a CommitMessage>,
) -> Result<()> {
    if !ctx.options.sync {
        return Ok(());
    }
    let mut added = Vec::new();
    for CommitMessage { bucket: BucketId { partition, bucket }, data, compact, .. } in messages {
        for file in data.made().chain(compact.made()) {
            added.push(ctx.paths.data_file(partition, *bucket, file)?);
            added.extend(ctx.paths.extra_files(partition, *bucket, file)?);
        }
        for entry in data.made_indexes().chain(compact.made_indexes()) {
            added.push(ctx.paths.index_file_of(entry)?);
        }
    }
    ctx.fs.sync_files(&added)
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
