//! Index entries: what an index manifest says, compared with itself, the size of its files and the live data files.

use std::collections::{HashMap, HashSet};

use super::{Check, RESTORE, files::Expected};
use crate::{
    deletion_vectors::DELETION_VECTORS,
    error::{ErrorKind, Result},
    index::{HASH, MEND_INDEX},
    io::TableContext,
    manifest::{BucketId, DeletionVectorRange, EntryKind, IndexManifestEntry, ManifestEntry, ManifestFileMeta},
    scan::{EntryFilter, live_entries},
    snapshot::Snapshot,
};

const REBUILD: &str = "roll back to a version without it, or overwrite the bucket: its index files are made anew";

/// A data file, by bucket and name.
type FileKey = (BucketId, String);

fn key(entry: &ManifestEntry) -> FileKey {
    (BucketId { partition: entry.partition.clone(), bucket: entry.bucket }, entry.file.file_name.clone())
}

/// The live data files of the version that is looked at, once somebody asked for them, carried on by what the next
/// version changes.
#[derive(Debug, Default)]
pub(super) struct LiveFiles {
    rows: Option<HashMap<FileKey, i64>>,
    /// The manifests of the version before.
    pub(super) manifests: Option<Vec<ManifestFileMeta>>,
    /// The index manifest of the version before, and the files that have a vector in it.
    index: Option<String>,
    with_vector: HashSet<FileKey>,
}

impl LiveFiles {
    fn apply(&mut self, delta: &[ManifestEntry]) {
        let Some(rows) = &mut self.rows else { return };
        let of = |kind| delta.iter().filter(move |entry| entry.kind == kind);
        for entry in of(EntryKind::Delete) {
            rows.remove(&key(entry));
        }
        rows.extend(of(EntryKind::Add).map(|entry| (key(entry), entry.file.row_count)));
    }

    /// Rows by file; `None` when they cannot be read, which is a finding of its own.
    fn rows(&mut self, ctx: &TableContext, version: &Snapshot) -> Result<Option<&HashMap<FileKey, i64>>> {
        if self.rows.is_none() {
            self.rows = match live_entries(ctx, version, &EntryFilter::default()) {
                Ok(entries) => Some(entries.iter().map(|entry| (key(entry), entry.file.row_count)).collect()),
                Err(e) if e.kind() == ErrorKind::Storage => return Err(e),
                Err(_) => None,
            };
        }
        Ok(self.rows.as_ref())
    }

    /// Files that went with this version and still have a vector.
    fn left_behind<'d>(&self, delta: &'d [ManifestEntry]) -> Vec<&'d str> {
        let gone = delta.iter().filter(|entry| entry.kind == EntryKind::Delete);
        let again: HashSet<FileKey> = delta.iter().filter(|e| e.kind == EntryKind::Add).map(key).collect();
        gone.filter(|entry| self.with_vector.contains(&key(entry)) && !again.contains(&key(entry)))
            .map(|entry| entry.file.file_name.as_str())
            .collect()
    }
}

impl Check<'_> {
    /// The index manifest of a version; `live` is of the version before and becomes this one's.
    pub(super) fn index(
        &mut self,
        ctx: &TableContext,
        place: &str,
        version: &Snapshot,
        delta: &[ManifestEntry],
        live: &mut LiveFiles,
    ) -> Result<()> {
        live.apply(delta);
        let Some(name) = &version.index_manifest else {
            (live.index, live.with_vector) = (None, HashSet::new());
            return Ok(());
        };
        if live.index.as_ref() == Some(name) {
            for file in live.left_behind(delta) {
                self.dangling(place, name, file);
            }
            return Ok(());
        }
        (live.index, live.with_vector) = (Some(name.clone()), HashSet::new());
        let first = self.seen.insert(name.clone());
        let read = self.cache.store().read_index(name);
        let Some(entries) = self.told("bad-index-manifest", place, read, RESTORE)? else { return Ok(()) };
        for entry in entries.iter().filter(|_| first) {
            let path = ctx.paths.index_file_of(entry);
            if let Some(path) = self.told("bad-index-entry", place, path, REBUILD)? {
                let repair = if entry.index_type == HASH { MEND_INDEX } else { RESTORE };
                self.files.entry(path).or_insert_with(|| Expected::new(entry.file_size, place, repair));
            }
            for (code, message) in faults(entry) {
                self.verdict.problem(code, place, format!("{} {message}", entry.file_name), REBUILD);
            }
        }
        self.vectors_of_live_files(ctx, place, version, &entries, live)
    }

    /// Each vector belongs to a live file with at least as many rows, and to no file belong two.
    fn vectors_of_live_files(
        &mut self,
        ctx: &TableContext,
        place: &str,
        version: &Snapshot,
        entries: &[IndexManifestEntry],
        live: &mut LiveFiles,
    ) -> Result<()> {
        let mut with_vector = HashSet::new();
        for entry in entries.iter().filter(|entry| entry.index_type == DELETION_VECTORS) {
            let bucket = BucketId { partition: entry.partition.clone(), bucket: entry.bucket };
            for range in entry.deletion_vectors.iter().flatten() {
                let Some(rows) = live.rows(ctx, version)? else { return Ok(()) };
                let file = (bucket.clone(), range.data_file_name.clone());
                match (rows.get(&file), range.cardinality) {
                    (None, _) => self.dangling(place, &entry.file_name, &range.data_file_name),
                    (Some(rows), Some(deleted)) if deleted > *rows => {
                        let message = format!(
                            "{} deletes {deleted} rows of {}, which has {rows}",
                            entry.file_name, range.data_file_name
                        );
                        self.verdict.problem("bad-index-entry", place, message, REBUILD);
                    }
                    _ => {}
                }
                if !with_vector.insert(file) {
                    let message = format!("{} has two deletion vectors", range.data_file_name);
                    self.verdict.problem("vector-twice", place, message, REBUILD);
                }
            }
        }
        live.with_vector = with_vector;
        Ok(())
    }

    fn dangling(&mut self, place: &str, index: &str, file: &str) {
        // full compactions of Java 1.4 leave the vectors of the files that they replace
        let message = format!("{index} has a deletion vector for {file}, which is not live");
        self.verdict.warning("dangling-vector", place, message, "compact the bucket: its vectors are written anew");
    }
}

/// What is wrong with an entry in itself: code and words.
fn faults(entry: &IndexManifestEntry) -> Vec<(&'static str, String)> {
    let mut wrong = Vec::new();
    if entry.kind != EntryKind::Add {
        wrong.push(("bad-index-entry", "is listed as deleted, where only what is there is listed".to_owned()));
    }
    if entry.file_size < 0 || entry.row_count < 0 {
        wrong.push(("bad-index-entry", format!("has {} bytes and {} rows", entry.file_size, entry.row_count)));
    }
    match entry.index_type.as_str() {
        HASH => {
            let hashes = entry.file_size / 4;
            if entry.file_size % 4 != 0 || hashes != entry.row_count {
                let message = format!("has {hashes} hashes, the manifest says {}", entry.row_count);
                wrong.push(("bad-hash-index", message));
            }
        }
        DELETION_VECTORS => {
            let ranges = entry.deletion_vectors.as_deref().unwrap_or_default();
            if i64::try_from(ranges.len()) != Ok(entry.row_count) {
                let message = format!("has {} deletion vectors, the manifest says {}", ranges.len(), entry.row_count);
                wrong.push(("wrong-vector-count", message));
            }
            let faults = ranges.iter().filter_map(|range| fault_of(range, entry.file_size));
            wrong.extend(faults.map(|message| ("bad-index-entry", message)));
        }
        // global indexes only say where to look
        other if entry.global_index.is_none() => {
            wrong.push(("unknown-index", format!("is of the kind '{other}', which is not known")));
        }
        _ => {}
    }
    wrong
}

/// A vector starts behind the version byte, and ends before the file does.
fn fault_of(range: &DeletionVectorRange, file_size: i64) -> Option<String> {
    let (offset, length) = (i64::from(range.offset), i64::from(range.length));
    let name = &range.data_file_name;
    if offset < 1 || length < 1 || offset + length > file_size {
        return Some(format!("has the vector of {name} at {offset}+{length} in a file of {file_size} bytes"));
    }
    let deleted = range.cardinality.filter(|deleted| *deleted < 0)?;
    Some(format!("deletes {deleted} rows of {name}"))
}
