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

/// One index file for a bucket, or several for a partition without buckets. Its errors name the table.
#[derive(Debug)]
pub struct AppendVectors {
    table: String,
    vectors: Vectors,
}

#[derive(Debug)]
enum Vectors {
    /// Fixed buckets: the maintainer, and the index files that its next one replaces.
    Bucket(DeletionVectorsMaintainer, Vec<IndexManifestEntry>),
    /// No buckets.
    Unaware(AppendDeleteMaintainer),
}

impl AppendVectors {
    /// Over the index files that a snapshot has for the bucket.
    pub fn new(ctx: &TableContext, bucket: &BucketId, entries: &[IndexManifestEntry]) -> Result<Self> {
        let files = DeletionVectorsIndexFile::new(&ctx.fs, &ctx.paths, &ctx.options);
        let vectors = if ctx.options.bucket == -1 {
            AppendDeleteMaintainer::new(files, bucket.clone(), entries).map(Vectors::Unaware)
        } else {
            DeletionVectorsMaintainer::restore(files, bucket.clone(), entries)
                .map(|maintainer| Vectors::Bucket(maintainer, entries.to_vec()))
        };
        let vectors = vectors.map_err(|e| e.in_table(&ctx.name))?;
        Ok(Self { table: ctx.name.clone(), vectors })
    }

    /// As [`AppendVectors::new`], where `live` are all files of the bucket: vectors for others are forgotten, one for rows that
    /// its file does not have is an error.
    pub fn restore(
        ctx: &TableContext,
        bucket: &BucketId,
        entries: &[IndexManifestEntry],
        live: &[DataFileMeta],
    ) -> Result<Self> {
        let mut vectors = Self::new(ctx, bucket, entries)?;
        if let Vectors::Bucket(maintainer, _) = &mut vectors.vectors {
            maintainer.keep_files(live).map_err(|e| e.in_table(&ctx.name))?;
        }
        Ok(vectors)
    }

    /// Deletes more rows of a file.
    pub fn add(&mut self, file: &str, vector: &DeletionVector) -> Result<()> {
        let added = match &mut self.vectors {
            Vectors::Bucket(maintainer, _) => maintainer.merge_new_deletion(file, vector),
            Vectors::Unaware(maintainer) => maintainer.notify_new_deletions(file, vector),
        };
        added.map_err(|e| e.in_table(&self.table))
    }

    /// Forgets the vector of a file that goes.
    pub fn remove(&mut self, file: &str) {
        match &mut self.vectors {
            Vectors::Bucket(maintainer, _) => maintainer.remove_deletion_vector_of(file),
            Vectors::Unaware(maintainer) => maintainer.remove_deletion_vector_of(file),
        }
    }

    /// The vectors of these files.
    pub fn of(&mut self, files: &[DataFileMeta]) -> Result<DeletionMap> {
        let mut found = BTreeMap::new();
        for file in files {
            let vector = match &mut self.vectors {
                Vectors::Bucket(maintainer, _) => maintainer.deletion_vector_of(&file.file_name),
                Vectors::Unaware(maintainer) => maintainer.deletion_vector_of(&file.file_name),
            };
            let vector = vector.map_err(|e| e.in_table(&self.table))?;
            found.extend(vector.map(|vector| (file.file_name.clone(), vector)));
        }
        Ok(Arc::new(found))
    }

    /// DELETE for the index files that go, ADD for those that take their place; nothing when nothing changed.
    pub fn persist(&mut self) -> Result<Vec<IndexManifestEntry>> {
        self.vectors.persist().map_err(|e| e.in_table(&self.table))
    }
}

impl Vectors {
    fn persist(&mut self) -> Result<Vec<IndexManifestEntry>> {
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
