//! The vectors of one bucket while its files change.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use arrow_buffer::BooleanBuffer;

use super::{DELETION_VECTORS, DeletedRows, DeletionVector, DeletionVectorsIndexFile, Position, index_file::Held};
use crate::{
    error::Result,
    manifest::{BucketId, DataFileMeta, IndexManifestEntry},
};

/// All vectors of one bucket of a table with buckets; a change writes its index file anew.
///
/// Source: requirement DV-19, semantics d.2; `BucketedDvMaintainer`.
#[derive(Debug)]
pub struct DeletionVectorsMaintainer {
    files: DeletionVectorsIndexFile,
    bucket: BucketId,
    vectors: BTreeMap<String, Held>,
    modified: bool,
}

impl DeletionVectorsMaintainer {
    /// The vectors that the bucket's index files hold (normally one; other types are passed over).
    pub fn restore(files: DeletionVectorsIndexFile, bucket: BucketId, entries: &[IndexManifestEntry]) -> Result<Self> {
        let mut vectors = BTreeMap::new();
        for entry in entries.iter().filter(|entry| entry.index_type == DELETION_VECTORS) {
            let read = files.read_all(entry)?;
            vectors.extend(read.into_iter().map(|(name, rows)| (name, Held::Stored(Arc::new(rows)))));
        }
        Ok(Self { files, bucket, vectors, modified: false })
    }

    /// Forgets vectors that are for none of these files, the bucket's: full compactions of Java 1.4 leave those of the files that
    /// they replace. An error when one as it was read is for rows that its file does not have.
    pub fn keep_files(&mut self, files: &[DataFileMeta]) -> Result<()> {
        let rows: HashMap<&str, i64> = files.iter().map(|file| (file.file_name.as_str(), file.row_count)).collect();
        self.vectors.retain(|name, _| rows.contains_key(name.as_str()));
        self.vectors.iter().try_for_each(|(name, held)| match (held, rows.get(name.as_str())) {
            (Held::Stored(vector), Some(rows)) => vector.check_rows(name, *rows),
            _ => Ok(()),
        })
    }

    /// Marks one row of a data file.
    pub fn notify_new_deletion(&mut self, data_file: &str, position: u64) -> Result<()> {
        let marked = self.vector(data_file)?.checked_delete(position)?;
        self.modified |= marked;
        Ok(())
    }

    /// Marks many rows of a data file, ascending ones fastest, and says which of them were not marked before; `None`
    /// when none was.
    pub fn notify_new_deletions<P: Position>(
        &mut self,
        data_file: &str,
        positions: &[P],
    ) -> Result<Option<BooleanBuffer>> {
        if positions.is_empty() {
            return Ok(None);
        }
        let fresh = self.vector(data_file)?.checked_delete_all(positions)?;
        self.modified |= fresh.as_ref().is_none_or(|fresh| fresh.count_set_bits() > 0);
        Ok(fresh)
    }

    /// Marks the rows of a vector, which may have another encoding than the file's.
    pub fn merge_new_deletion(&mut self, data_file: &str, vector: &DeletionVector) -> Result<()> {
        self.vector(data_file)?.merge(vector)?;
        self.modified = true;
        Ok(())
    }

    /// Forgets the vector of a data file that was compacted away.
    pub fn remove_deletion_vector_of(&mut self, data_file: &str) {
        self.modified |= self.vectors.remove(data_file).is_some();
    }

    /// The vector of a data file, if any of its rows is deleted.
    pub fn deletion_vector_of(&mut self, data_file: &str) -> Result<Option<Arc<DeletedRows>>> {
        match self.vectors.get_mut(data_file) {
            Some(held) if !held.is_empty() => held.rows().map(Some),
            _ => Ok(None),
        }
    }

    /// The vectors of all files that have one.
    pub fn deletion_vectors(&mut self) -> Result<BTreeMap<String, Arc<DeletedRows>>> {
        let held = self.vectors.iter_mut().filter(|(_, held)| !held.is_empty());
        held.map(|(name, held)| Ok((name.clone(), held.rows()?))).collect()
    }

    /// Whether a row of a data file is deleted.
    pub fn is_deleted(&self, data_file: &str, position: u64) -> bool {
        self.vectors.get(data_file).is_some_and(|held| held.is_deleted(position))
    }

    /// How many rows of a data file are deleted.
    pub fn deleted_rows_of(&self, data_file: &str) -> u64 {
        self.vectors.get(data_file).map_or(0, Held::cardinality)
    }

    /// The bucket's new index file when anything changed since the last call; an empty one when no vector is left, which
    /// replaces the old one.
    pub fn prepare_commit(&mut self) -> Result<Option<IndexManifestEntry>> {
        if !self.modified {
            return Ok(None);
        }
        let entry = self.files.write(&self.bucket, &mut self.vectors)?;
        self.modified = false;
        Ok(Some(entry))
    }

    /// Reads and writes the bucket's index files.
    pub fn index_file(&self) -> &DeletionVectorsIndexFile {
        &self.files
    }

    fn vector(&mut self, data_file: &str) -> Result<&mut DeletionVector> {
        let kind = self.files.kind();
        let held = self.vectors.entry(data_file.to_owned());
        held.or_insert_with(|| Held::Changed(DeletionVector::new(kind))).change()
    }
}
