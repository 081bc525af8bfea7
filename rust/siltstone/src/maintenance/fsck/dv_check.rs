//! Rows, part two: the deletion vectors of each version are read.

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;

use super::{
    Check,
    fault::{Fault, unread},
};
use crate::{
    cancel,
    deletion_vectors::{DELETION_VECTORS, DeletionVectorsIndexFile},
    error::Result,
    io::TableContext,
    manifest::{BucketId, DeletionVectorRange, IndexManifestEntry, ManifestStore},
    scan::{EntryFilter, live_entries},
    snapshot::Snapshot,
    threads::in_pool,
};

const REWRITE: &str = "compact the bucket fully: its deletion vectors are applied and go";

/// A vector, and the file that it is for.
struct Vector {
    place: String,
    path: String,
    range: DeletionVectorRange,
    rows: i64,
}

impl Check<'_> {
    /// Looks at all index files of these versions; each vector is read once.
    pub(super) fn index_files(&mut self, versions: &[(TableContext, Snapshot)]) -> Result<()> {
        let mut known: HashSet<(String, i32, String)> = HashSet::new();
        let mut vectors = Vec::new();
        for (ctx, version) in versions.iter().filter(|(_, version)| version.index_manifest.is_some()) {
            // what cannot be listed is a finding already
            let Ok(found) = index_of(ctx, version) else { continue };
            let place = format!("{}/snapshot-{}", ctx.branch, version.id);
            index_of_version(ctx, &place, version, &found, &mut known, &mut vectors);
        }
        self.verdict.count("deletion vectors read", vectors.len());
        let fault = cancel::carried(|vector: &Vector| Ok((vector.place.clone(), vector.fault(self.ctx)?)));
        let all = || vectors.par_iter().map(fault).collect::<Result<_>>();
        let faults: Vec<(String, Option<Fault>)> = in_pool(all)?;
        for (place, fault) in faults {
            if let Some(fault) = fault {
                self.fault(&place, fault);
            }
        }
        Ok(())
    }
}

fn index_of_version(
    ctx: &TableContext,
    place: &str,
    version: &Snapshot,
    entries: &[IndexManifestEntry],
    known: &mut HashSet<(String, i32, String)>,
    vectors: &mut Vec<Vector>,
) {
    let live: HashMap<(BucketId, String), i64> = live_entries(ctx, version, &EntryFilter::default())
        .unwrap_or_default()
        .into_iter()
        .map(|e| ((BucketId { partition: e.partition, bucket: e.bucket }, e.file.file_name.clone()), e.file.row_count))
        .collect();
    for index in entries {
        let Ok(path) = ctx.paths.index_file_of(index) else { continue };
        if index.index_type != DELETION_VECTORS {
            continue;
        }
        let ranges = index.deletion_vectors.as_deref().unwrap_or_default();
        let bucket = BucketId { partition: index.partition.clone(), bucket: index.bucket };
        for range in ranges {
            // one of a file that is not live is a finding already
            let Some(rows) = live.get(&(bucket.clone(), range.data_file_name.clone())) else { continue };
            if known.insert((path.clone(), range.offset, range.data_file_name.clone())) {
                let (path, range) = (path.clone(), range.clone());
                vectors.push(Vector { place: place.to_owned(), path, range, rows: *rows });
            }
        }
    }
}

fn index_of(ctx: &TableContext, version: &Snapshot) -> Result<Vec<IndexManifestEntry>> {
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?;
    version.index_manifest.as_ref().map_or_else(|| Ok(Vec::new()), |name| store.read_index(name))
}

impl Vector {
    /// Checksum, form and cardinality are checked by reading it.
    fn fault(&self, ctx: &TableContext) -> Result<Option<Fault>> {
        cancel::check()?;
        let rows = match DeletionVectorsIndexFile::read(&ctx.fs, &self.path, &self.range) {
            Ok(rows) => rows,
            Err(e) => return unread("bad-vector", e),
        };
        let Some(most) = rows.max().filter(|most| u64::try_from(self.rows).is_ok_and(|count| *most >= count)) else {
            return Ok(None);
        };
        let name = &self.range.data_file_name;
        let message = format!("{name} has {} rows, and row {most} is deleted from it", self.rows);
        Ok(Some(Fault { code: "vector-beyond-file", message, repair: REWRITE, mild: false }))
    }
}
