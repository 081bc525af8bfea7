//! The deletion vectors of an append table's bucket while its files are compacted or rows of theirs are deleted.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    deletion_vectors::{
        AppendDeleteMaintainer, DeletionMap, DeletionVector, DeletionVectorsIndexFile, DeletionVectorsMaintainer,
    },
    error::Result,
    io::TableContext,
    manifest::{BucketId, DataFileMeta, EntryKind, IndexManifestEntry},
};

/// One index file for a bucket, or several for a partition without buckets.
#[derive(Debug)]
pub enum AppendVectors {
    /// Fixed buckets: the maintainer, and the index files that its next one replaces.
    Bucket(DeletionVectorsMaintainer, Vec<IndexManifestEntry>),
    /// No buckets.
    Unaware(AppendDeleteMaintainer),
}

impl AppendVectors {
    /// Over the index files that a snapshot has for the bucket.
    pub fn new(ctx: &TableContext, bucket: &BucketId, entries: &[IndexManifestEntry]) -> Result<Self> {
        let files = DeletionVectorsIndexFile::new(&ctx.fs, &ctx.paths, &ctx.options);
        Ok(if ctx.options.bucket == -1 {
            Self::Unaware(AppendDeleteMaintainer::new(files, bucket.clone(), entries)?)
        } else {
            let maintainer = DeletionVectorsMaintainer::restore(files, bucket.clone(), entries)?;
            Self::Bucket(maintainer, entries.to_vec())
        })
    }

    /// Deletes more rows of a file.
    pub fn add(&mut self, file: &str, vector: &DeletionVector) -> Result<()> {
        match self {
            Self::Bucket(maintainer, _) => maintainer.merge_new_deletion(file, vector),
            Self::Unaware(maintainer) => maintainer.notify_new_deletions(file, vector),
        }
    }

    /// Forgets the vector of a file that goes.
    pub fn remove(&mut self, file: &str) {
        match self {
            Self::Bucket(maintainer, _) => maintainer.remove_deletion_vector_of(file),
            Self::Unaware(maintainer) => maintainer.remove_deletion_vector_of(file),
        }
    }

    /// The vectors of these files.
    pub fn of(&mut self, files: &[DataFileMeta]) -> Result<DeletionMap> {
        let mut found = BTreeMap::new();
        for file in files {
            let vector = match self {
                Self::Bucket(maintainer, _) => maintainer.deletion_vector_of(&file.file_name)?,
                Self::Unaware(maintainer) => maintainer.deletion_vector_of(&file.file_name)?,
            };
            found.extend(vector.map(|vector| (file.file_name.clone(), vector)));
        }
        Ok(Arc::new(found))
    }

    /// DELETE for the index files that go, ADD for those that take their place; nothing when nothing changed.
    pub fn persist(&mut self) -> Result<Vec<IndexManifestEntry>> {
        match self {
            Self::Unaware(maintainer) => maintainer.persist(),
            Self::Bucket(maintainer, before) => {
                let Some(new) = maintainer.prepare_commit()? else {
                    return Ok(Vec::new());
                };
                let old = std::mem::replace(before, vec![new.clone()]);
                let gone = old.into_iter().map(|old| IndexManifestEntry { kind: EntryKind::Delete, ..old });
                Ok(gone.chain([new]).collect())
            }
        }
    }
}
