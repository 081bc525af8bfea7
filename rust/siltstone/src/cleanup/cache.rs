//! Manifests read once, without the statistics that nobody needs for deleting.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    cancel,
    error::{ErrorKind, Result},
    io::TableContext,
    manifest::{ManifestEntry, ManifestFileMeta, ManifestStore, live_refs},
    snapshot::{NamedList, Snapshot},
    threads::try_map,
};

type Entries = Arc<Vec<ManifestEntry>>;

/// Entries by manifest name.
#[derive(Debug)]
pub struct ManifestCache {
    store: ManifestStore,
    known: Mutex<HashMap<String, Entries>>,
}

impl ManifestCache {
    /// An empty cache for a table.
    pub fn new(ctx: &TableContext) -> Result<Self> {
        let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?.without_statistics();
        Ok(Self { store, known: Mutex::default() })
    }

    /// Where manifests are read.
    pub fn store(&self) -> &ManifestStore {
        &self.store
    }

    /// The manifests of a snapshot: of the base list, then of the delta list.
    pub fn manifests(&self, snapshot: &Snapshot) -> Result<Vec<ManifestFileMeta>> {
        self.store.read_lists(snapshot)
    }

    /// Entries of manifests, in their order, remembered.
    pub fn entries(&self, manifests: &[ManifestFileMeta]) -> Result<Vec<Entries>> {
        try_map(manifests, |manifest| self.of(manifest))
    }

    /// Entries of a manifest list, not remembered; a list or manifest that is gone has none.
    pub fn entries_of_list(&self, list: NamedList<'_>) -> Result<Vec<ManifestEntry>> {
        self.entries_where(list, |_| true)
    }

    /// As [`ManifestCache::entries_of_list`]; none when no manifest of the list deletes anything.
    pub fn entries_of_deleting_list(&self, list: NamedList<'_>) -> Result<Vec<ManifestEntry>> {
        self.entries_where(list, |manifests| manifests.iter().any(|manifest| manifest.num_deleted_files != 0))
    }

    fn entries_where(
        &self,
        list: NamedList<'_>,
        wanted: fn(&[ManifestFileMeta]) -> bool,
    ) -> Result<Vec<ManifestEntry>> {
        let manifests = match self.store.read_list(list) {
            Err(e) if e.kind() == ErrorKind::FileNotFound => return Ok(Vec::new()),
            other => other?,
        };
        let mut all = Vec::new();
        if !wanted(&manifests) {
            return Ok(all);
        }
        for manifest in &manifests {
            match self.store.read(manifest) {
                Err(e) if e.kind() == ErrorKind::FileNotFound => {}
                other => all.extend(other?.into_iter().map(slim)),
            }
        }
        Ok(all)
    }

    /// Calls `visit` with every live entry of a snapshot.
    pub fn visit_live(&self, snapshot: &Snapshot, visit: &mut dyn FnMut(&ManifestEntry)) -> Result<()> {
        let parts = self.entries(&self.manifests(snapshot)?)?;
        for entry in live_refs(parts.iter().flat_map(|part| part.iter())) {
            visit(entry);
        }
        Ok(())
    }

    fn of(&self, manifest: &ManifestFileMeta) -> Result<Entries> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entries) = known().get(&manifest.file_name) {
            return Ok(Arc::clone(entries));
        }
        cancel::check()?;
        let entries: Entries = Arc::new(self.store.read(manifest)?.into_iter().map(slim).collect());
        known().insert(manifest.file_name.clone(), Arc::clone(&entries));
        Ok(entries)
    }
}

/// An entry without the keys, either.
fn slim(mut entry: ManifestEntry) -> ManifestEntry {
    let file = &mut entry.file;
    file.min_key = Vec::new();
    file.max_key = Vec::new();
    entry
}
