//! Data and changelog files that no version needs any more (semantics g.2, steps 1 and 2).
//!
//! A file that snapshot `s` deletes was needed up to `s - 1`. The tags that need it have ids from the snapshot that
//! added it to `s - 1`; if there are any, the nearest tag before `s` is one of them. So asking that one tag is enough, and
//! those that a rollback has cut off ([`Tagged`]).

use std::{
    collections::{HashMap, HashSet},
    iter,
    sync::Arc,
};

use rayon::prelude::*;

use super::deltas::Deltas;
use crate::{
    cleanup::{FileKind, ManifestCache, PlannedFile, References, Tagged, UnusedFile, data_files},
    error::{Error, Result},
    io::TableContext,
    manifest::EntryKind,
    snapshot::{NamedList, Snapshot},
    threads::in_pool,
};

/// Files to delete, and the entries they come from.
#[derive(Debug, Default)]
pub(super) struct Unused {
    pub(super) files: Vec<PlannedFile>,
    pub(super) entries: Vec<UnusedFile>,
}

/// Files that these snapshots deleted and that no tag and no other branch needs.
pub(super) fn deleted_data(
    ctx: &TableContext,
    cache: &ManifestCache,
    deltas: &Deltas,
    tags: &Tagged,
    keep_appended: bool,
    elsewhere: Option<&References>,
    notes: &mut Vec<String>,
) -> Result<Unused> {
    notes.extend_from_slice(&deltas.notes);
    let mut tagged: HashMap<String, HashSet<String>> = HashMap::new();
    let (mut entries, mut reasons): (Vec<UnusedFile>, Vec<Arc<str>>) = Default::default();
    for (id, mut deleted) in deltas.deleted() {
        if keep_appended {
            deleted.retain(|file| file.compacted);
        }
        if let Some(elsewhere) = elsewhere {
            deleted.retain(|file| !elsewhere.data.contains(&file.name));
        }
        if deleted.is_empty() {
            continue;
        }
        for tag in tags.near(id) {
            let names = match tagged.entry(tag.delta_manifest_list.clone()) {
                std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::hash_map::Entry::Vacant(new) => new.insert(live_names(cache, tag)?),
            };
            deleted.retain(|file| !names.contains(&file.name));
        }
        let reason: Arc<str> = Arc::from(format!("deleted by snapshot {id}, and no version that is kept reads it"));
        reasons.extend(iter::repeat_n(reason, deleted.len()));
        entries.append(&mut deleted);
    }
    let files = data_files(ctx, &entries, &reasons, FileKind::Data)?;
    Ok(Unused { files, entries })
}

/// Names of the live data files of a version.
pub(super) fn live_names(cache: &ManifestCache, version: &Snapshot) -> Result<HashSet<String>> {
    let mut names = HashSet::new();
    cache
        .visit_live(version, &mut |entry| names.extend([entry.file.file_name.clone()]))
        .map_err(|e: Error| e.with("snapshot", version.id))?;
    Ok(names)
}

/// Changelog files of these snapshots.
pub(super) fn added_changelog(
    ctx: &TableContext,
    cache: &ManifestCache,
    snapshots: &[Snapshot],
    elsewhere: Option<&References>,
) -> Result<(Vec<PlannedFile>, Vec<UnusedFile>)> {
    let with_changelog: Vec<(&Snapshot, NamedList<'_>)> =
        snapshots.iter().filter_map(|s| Some((s, s.changelog_list()?))).collect();
    let added = |list: NamedList<'_>| -> Result<Vec<UnusedFile>> {
        let mut entries = cache.entries_of_list(list)?;
        entries.retain(|entry| {
            entry.kind == EntryKind::Add && elsewhere.is_none_or(|used| !used.data.contains(&entry.file.file_name))
        });
        Ok(entries.into_iter().map(UnusedFile::from).collect())
    };
    let parts: Vec<(i64, Vec<UnusedFile>)> =
        in_pool(|| with_changelog.par_iter().map(|(s, list)| Ok((s.id, added(*list)?))).collect::<Result<_>>())?;
    let (mut reasons, mut all): (Vec<Arc<str>>, Vec<UnusedFile>) = Default::default();
    for (id, mut files) in parts {
        let reason: Arc<str> = Arc::from(format!("changelog of snapshot {id}, which expires"));
        reasons.extend(iter::repeat_n(reason, files.len()));
        all.append(&mut files);
    }
    Ok((data_files(ctx, &all, &reasons, FileKind::Changelog)?, all))
}
