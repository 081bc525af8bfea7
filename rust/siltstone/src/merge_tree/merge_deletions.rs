//! The deletion vectors of one bucket, shared by its writer, its compactions and their lookups (semantics d.2).

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    Result,
    deletion_vectors::{DeletionMap, DeletionVectorsIndexFile, DeletionVectorsMaintainer},
    io::TableContext,
    manifest::{BucketId, DataFileMeta, EntryKind, IndexManifestEntry},
};

/// Marks rows that newer ones replace, and forgets the marks of files that are compacted away. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BucketVectors {
    state: Arc<Mutex<State>>,
    table: Arc<str>,
}

#[derive(Debug)]
struct State {
    maintainer: DeletionVectorsMaintainer,
    /// the index files that the next one replaces
    known: Vec<IndexManifestEntry>,
}

impl BucketVectors {
    /// The vectors that a snapshot has for the bucket of these files; `None` on tables without vectors.
    pub fn restore(
        ctx: &TableContext,
        bucket: &BucketId,
        entries: &[IndexManifestEntry],
        live: &[DataFileMeta],
    ) -> Result<Option<Self>> {
        if !ctx.options.deletion_vectors_enabled && entries.is_empty() {
            return Ok(None);
        }
        let files = DeletionVectorsIndexFile::new(&ctx.fs, &ctx.paths, &ctx.options);
        let maintainer = DeletionVectorsMaintainer::restore(files, bucket.clone(), entries);
        let checked = maintainer.and_then(|mut maintainer| maintainer.keep_files(live).map(|()| maintainer));
        let maintainer = checked.map_err(|e| e.in_table(&ctx.name))?;
        let state = Arc::new(Mutex::new(State { maintainer, known: entries.to_vec() }));
        Ok(Some(Self { state, table: ctx.name.as_str().into() }))
    }

    /// Of rows found in a file (number of the key, position) leaves those that are not deleted, and marks them.
    pub(super) fn claim(&self, file: &str, hits: &mut Vec<(usize, i64)>) -> Result<()> {
        let positions: Vec<i64> = hits.iter().map(|hit| hit.1).collect();
        let marked = self.state().maintainer.notify_new_deletions(file, &positions);
        if let Some(fresh) = marked.map_err(|e| e.in_table(&self.table))? {
            let mut fresh = fresh.iter();
            hits.retain(|_| fresh.next().unwrap_or(false));
        }
        Ok(())
    }

    /// The vectors of these files.
    pub(super) fn of(&self, files: &[DataFileMeta]) -> Result<DeletionMap> {
        let mut state = self.state();
        let mut found = BTreeMap::new();
        for file in files {
            let vector = state.maintainer.deletion_vector_of(&file.file_name).map_err(|e| e.in_table(&self.table))?;
            if let Some(vector) = vector {
                vector.check_rows(&file.file_name, file.row_count).map_err(|e| e.in_table(&self.table))?;
                found.insert(file.file_name.clone(), vector);
            }
        }
        Ok(Arc::new(found))
    }

    /// Forgets the vector of a file that was rewritten.
    pub(super) fn remove(&self, file: &str) {
        self.state().maintainer.remove_deletion_vector_of(file);
    }

    /// How many rows of a file are deleted.
    pub(super) fn deleted_rows_of(&self, file: &str) -> u64 {
        self.state().maintainer.deleted_rows_of(file)
    }

    /// The bucket's new index file, when vectors changed since the last one.
    pub(super) fn write(&self) -> Result<Option<IndexManifestEntry>> {
        self.state().maintainer.prepare_commit().map_err(|e| e.in_table(&self.table))
    }

    /// What a commit says of a new index file: DELETE of the one it replaces, so that somebody else's change is noticed,
    /// and ADD.
    pub fn replacing(&self, new: IndexManifestEntry) -> Vec<IndexManifestEntry> {
        let old = std::mem::replace(&mut self.state().known, vec![new.clone()]);
        let gone = old.into_iter().map(|old| IndexManifestEntry { kind: EntryKind::Delete, ..old });
        gone.chain([new]).collect()
    }

    /// Deletes an index file that will not be committed.
    pub(super) fn delete(&self, entry: &IndexManifestEntry) {
        self.state().maintainer.index_file().delete(entry);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
