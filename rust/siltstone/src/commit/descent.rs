//! Whether a snapshot that follows another one was built on it.
//!
//! Its base manifests are all that was there before it. A file that the first one has added is among their entries, if the other
//! was built on it: only what came later can have deleted it, and those entries are in other lists. It is the entry that tells, not
//! the file: a file that was moved to another level was there before. A snapshot that adds none says it by all of its files.

use std::collections::{BTreeSet, HashSet};

use crate::{
    error::{ErrorKind, Result},
    io::TableContext,
    manifest::{EntryId, EntryKind, ManifestEntry, ManifestFileMeta, ManifestStore, merge_entries},
    snapshot::Snapshot,
};

/// Whether `next` was built on `own`, the snapshot before it; `None`: it cannot be told, because `own` adds no file and `next`
/// begins with the files that it leaves, or because files of one of them are gone.
pub(super) fn was_built_on(ctx: &TableContext, next: &Snapshot, own: &Snapshot) -> Result<Option<bool>> {
    match look(ctx, next, own) {
        Err(e) if e.kind() == ErrorKind::FileNotFound => Ok(None),
        other => other,
    }
}

fn look(ctx: &TableContext, next: &Snapshot, own: &Snapshot) -> Result<Option<bool>> {
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?;
    let delta = store.read_list(own.delta_list())?;
    let base = store.read_list(next.base_list())?;
    if base.iter().any(|known| delta.iter().any(|own| own.file_name == known.file_name)) {
        return Ok(Some(true));
    }
    // without those that messages of one writer bring and take in again
    let entries = store.read_all(&delta, &|_| true)?;
    let gone: HashSet<EntryId> =
        entries.iter().filter(|entry| entry.kind == EntryKind::Delete).map(ManifestEntry::id).collect();
    let added = entries.iter().find(|entry| entry.kind == EntryKind::Add && !gone.contains(&entry.id()));
    let Some(file) = added else {
        let left = store.read_list(own.base_list())?.into_iter().chain(delta).collect::<Vec<_>>();
        return Ok((live_names(&store, &left)? != live_names(&store, &base)?).then_some(false));
    };
    let known = store.read_all(&base, &|head| head.kind == EntryKind::Add && head.partition == file.partition)?;
    let own = file.id();
    Ok(Some(known.iter().any(|entry| entry.id() == own)))
}

/// Names of the files that these manifests leave.
fn live_names(store: &ManifestStore, manifests: &[ManifestFileMeta]) -> Result<BTreeSet<String>> {
    let entries = merge_entries(store.read_all(manifests, &|_| true)?)?;
    let live = entries.into_iter().filter(|entry| entry.kind == EntryKind::Add);
    Ok(live.map(|entry| entry.file.into_inner().file_name).collect())
}
