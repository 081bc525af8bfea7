//! Manifests, index files and statistics that no version needs any more (semantics g.2, step 4).

use std::{collections::HashSet, sync::Arc};

use rayon::prelude::*;

use crate::{
    cleanup::{MetaFile, MetaParts, PlannedFile, References, Tagged, metadata_files, metadata_names},
    error::Result,
    io::TableContext,
    manifest::ManifestStore,
    snapshot::Snapshot,
    threads::in_pool,
};

/// What stays although its snapshot goes, because a long-lived changelog needs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Skip {
    /// Base and delta manifests.
    pub(super) data_lists: bool,
    /// Changelog manifests.
    pub(super) changelog: bool,
}

/// Metadata of `going` that neither `end`, nor a tag among them, nor another branch needs.
pub(super) fn unused_metadata(
    ctx: &TableContext,
    store: &ManifestStore,
    going: &[Snapshot],
    end: &Snapshot,
    tags: &Tagged,
    elsewhere: Option<&References>,
    skip: Skip,
) -> Result<Vec<PlannedFile>> {
    let first = going.first().map_or(end.id, |s| s.id);
    let kept: Vec<&Snapshot> = tags.between(first, end.id).into_iter().chain([end]).collect();
    let parts = MetaParts { changelog: false, ..MetaParts::ALL };
    let mut used = names_of(ctx, store, &kept, parts)?;
    let parts = MetaParts { data: !skip.data_lists, changelog: !skip.changelog, index: true, tolerant: true };
    let metadata: Vec<(i64, Vec<MetaFile>)> =
        in_pool(|| going.par_iter().map(|s| Ok((s.id, metadata_files(ctx, store, s, parts)?))).collect::<Result<_>>())?;
    let mut unused = Vec::new();
    for (id, files) in metadata {
        let reason: Arc<str> = Arc::from(format!("only versions up to snapshot {id} need it"));
        for file in files {
            let needed = elsewhere.is_some_and(|other| other.meta.contains(&file.name));
            if needed || !used.insert(file.name) {
                continue;
            }
            let MetaFile { path, bytes, kind, .. } = file;
            unused.push(PlannedFile { path, kind, bytes, reason: Arc::clone(&reason) });
        }
    }
    Ok(unused)
}

/// Names that these versions need.
pub(super) fn names_of(
    ctx: &TableContext,
    store: &ManifestStore,
    versions: &[&Snapshot],
    parts: MetaParts,
) -> Result<HashSet<String>> {
    let sets: Vec<HashSet<String>> = in_pool(|| {
        versions.par_iter().map(|version| metadata_names(ctx, store, version, parts)).collect::<Result<_>>()
    })?;
    Ok(sets.into_iter().flatten().collect())
}
