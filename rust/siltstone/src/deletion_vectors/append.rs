//! The vectors of one partition of a table without buckets, for a commit that deletes rows.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{DELETION_VECTORS, DeletedRows, DeletionVector, DeletionVectorsIndexFile, index_file::Held};
use crate::{
    error::{Error, ErrorKind, Result},
    manifest::{BucketId, EntryKind, IndexManifestEntry},
};

/// Changes vectors that lie in several index files: a touched index file is replaced as a whole, so that a concurrent
/// change of the same file is a conflict.
///
/// Source: semantics d.3; `AppendDeleteFileMaintainer`.
#[derive(Debug)]
pub struct AppendDeleteMaintainer {
    files: DeletionVectorsIndexFile,
    bucket: BucketId,
    /// Index files of the bucket, by name.
    entries: BTreeMap<String, IndexManifestEntry>,
    /// Which of them has the vector of a data file.
    place: BTreeMap<String, String>,
    touched: BTreeSet<String>,
    changed: BTreeMap<String, Held>,
}

impl AppendDeleteMaintainer {
    /// Over the index files that a snapshot has for the bucket (other types are passed over).
    pub fn new(files: DeletionVectorsIndexFile, bucket: BucketId, entries: &[IndexManifestEntry]) -> Result<Self> {
        let own = entries.iter().filter(|entry| entry.index_type == DELETION_VECTORS);
        let entries: BTreeMap<String, IndexManifestEntry> =
            own.map(|entry| (entry.file_name.clone(), entry.clone())).collect();
        let mut place = BTreeMap::new();
        for entry in entries.values() {
            for range in entry.deletion_vectors.iter().flatten() {
                if place.insert(range.data_file_name.clone(), entry.file_name.clone()).is_some() {
                    let text = "two deletion vectors for one data file";
                    return Err(Error::new(ErrorKind::CorruptFile, text)
                        .with("file", files.path(entry)?)
                        .with("data_file", &range.data_file_name));
                }
            }
        }
        Ok(Self { files, bucket, entries, place, touched: BTreeSet::new(), changed: BTreeMap::new() })
    }

    /// Adds rows to what is deleted of a data file, in the table's encoding.
    pub fn notify_new_deletions(&mut self, data_file: &str, vector: &DeletionVector) -> Result<()> {
        let mut all = DeletionVector::new(self.files.kind());
        if let Some(old) = self.deletion_vector_of(data_file)? {
            all.merge(&old.to_vector()?)?;
        }
        all.merge(vector)?;
        self.touched.extend(self.place.get(data_file).cloned());
        self.changed.insert(data_file.to_owned(), Held::Changed(all));
        Ok(())
    }

    /// Forgets the vector of a data file that was compacted away.
    pub fn remove_deletion_vector_of(&mut self, data_file: &str) {
        if let Some(index) = self.place.get(data_file) {
            self.touched.insert(index.clone());
            self.changed.remove(data_file);
            self.place.remove(data_file);
        }
    }

    /// What is deleted of a data file so far.
    pub fn deletion_vector_of(&mut self, data_file: &str) -> Result<Option<Arc<DeletedRows>>> {
        if let Some(held) = self.changed.get_mut(data_file) {
            return held.rows().map(Some);
        }
        let Some(entry) = self.place.get(data_file).and_then(|index| self.entries.get(index)) else {
            return Ok(None);
        };
        Ok(self.files.read_all(entry)?.remove(data_file).map(Arc::new))
    }

    /// DELETE for every touched index file, ADD for those that take their place.
    pub fn persist(&mut self) -> Result<Vec<IndexManifestEntry>> {
        let mut result = Vec::new();
        let mut untouched: BTreeMap<String, Held> = BTreeMap::new();
        for name in &self.touched {
            let Some(entry) = self.entries.get(name) else { continue };
            let moved = self.files.read_all(entry)?.into_iter();
            let stays = |file: &String| self.place.get(file) == Some(name) && !self.changed.contains_key(file);
            untouched
                .extend(moved.filter(|(file, _)| stays(file)).map(|(file, rows)| (file, Held::Stored(Arc::new(rows)))));
            result.push(IndexManifestEntry { kind: EntryKind::Delete, ..entry.clone() });
        }
        untouched.append(&mut self.changed);
        result.extend(self.files.write_rolling(&self.bucket, &mut untouched)?);
        self.touched.clear();
        Ok(result)
    }
}
