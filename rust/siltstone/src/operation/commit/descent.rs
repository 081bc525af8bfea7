//! Whether a snapshot that follows another one was built on it.
//!
//! Its base manifests are all that was there before it. A file that the first one has added is among their entries, if the other
//! was built on it: only what came later can have deleted it, and those entries are in other lists. It is the entry that tells, not
//! the file: a file that was moved to another level was there before.

use crate::{
    error::{ErrorKind, Result},
    io::TableContext,
    manifest::{EntryKind, ManifestStore},
    snapshot::Snapshot,
};

/// Whether `next` was built on `own`, the snapshot before it; `None`: it cannot be told, because `own` adds no file, or because
/// files of one of them are gone.
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
    let added = store.read_all(&delta, &|head| head.kind == EntryKind::Add)?;
    let Some(file) = added.first() else { return Ok(None) };
    let known = store.read_all(&base, &|head| head.kind == EntryKind::Add && head.partition == file.partition)?;
    let own = file.id();
    Ok(Some(known.iter().any(|entry| entry.id() == own)))
}
