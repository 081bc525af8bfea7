//! Data and changelog files that nobody needs any more: what a plan keeps of them, and where they are.

use std::{
    collections::{BTreeSet, HashMap, hash_map::Entry},
    iter,
    sync::Arc,
};

use rayon::prelude::*;

use super::{FileKind, PlannedFile};
use crate::{
    error::Result,
    io::TableContext,
    manifest::{ManifestEntry, data_file_in, extra_files_beside},
    threads::in_pool,
};

/// What is kept of a manifest's entry: an old table has hundreds of thousands of them, and statistics are large.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnusedFile {
    /// A serialized `BinaryRow`.
    pub partition: Vec<u8>,
    /// Number of the bucket.
    pub bucket: i32,
    /// Unique in the table.
    pub name: String,
    /// Size.
    pub bytes: i64,
    /// Whether a compaction wrote it.
    pub compacted: bool,
    external_path: Option<String>,
    extra_files: Vec<String>,
}

impl From<ManifestEntry> for UnusedFile {
    fn from(entry: ManifestEntry) -> Self {
        let compacted = entry.is_compacted();
        let file = entry.file.into_inner();
        Self {
            partition: entry.partition,
            bucket: entry.bucket,
            name: file.file_name,
            bytes: file.file_size,
            compacted,
            external_path: file.external_path,
            extra_files: file.extra_files,
        }
    }
}

/// These files with their extra files, each to be deleted for its reason (`reasons` has one a file); folder by folder, so
/// that threads that delete do not wait for each other's folders.
pub fn data_files(
    ctx: &TableContext,
    files: &[UnusedFile],
    reasons: &[Arc<str>],
    kind: FileKind,
) -> Result<Vec<PlannedFile>> {
    ctx.paths.check_data_root()?;
    // the name of a bucket's directory is made once, not once a file
    let mut buckets: HashMap<(&[u8], i32), String> = HashMap::new();
    for file in files {
        if let Entry::Vacant(new) = buckets.entry((&file.partition, file.bucket)) {
            new.insert(ctx.paths.bucket_dir(&file.partition, file.bucket)?);
        }
    }
    let planned = |(file, reason): (&UnusedFile, &Arc<str>)| {
        let bucket = buckets.get(&(file.partition.as_slice(), file.bucket)).map_or("", String::as_str);
        let path = data_file_in(bucket, &file.name, file.external_path.as_deref());
        let extras = extra_files_beside(&path, &file.extra_files);
        let reason = Arc::clone(reason);
        let one = move |path, bytes| PlannedFile { path, kind, bytes, reason: Arc::clone(&reason) };
        let own = one(path, u64::try_from(file.bytes).unwrap_or(0));
        iter::once(own).chain(extras.into_iter().map(move |path| one(path, 0)))
    };
    Ok(in_pool(|| {
        let mut all: Vec<PlannedFile> = files.par_iter().zip(reasons).flat_map_iter(planned).collect();
        all.par_sort_unstable_by(|one, other| one.path.cmp(&other.path));
        all
    }))
}

/// Directories that may be empty once these files are gone: buckets, then partitions, the deepest first.
pub fn bucket_dirs(ctx: &TableContext, files: &[UnusedFile]) -> Result<Vec<String>> {
    ctx.paths.check_data_root()?;
    let buckets: BTreeSet<(&[u8], i32)> = files.iter().map(|file| (file.partition.as_slice(), file.bucket)).collect();
    let mut by_depth: Vec<BTreeSet<String>> = Vec::new();
    for (partition, bucket) in buckets {
        let mut path = ctx.paths.bucket_dir(partition, bucket)?;
        for depth in 0..=ctx.paths.partition_names().len() {
            if by_depth.len() <= depth {
                by_depth.push(BTreeSet::new());
            }
            if let Some(level) = by_depth.get_mut(depth) {
                level.insert(path.clone());
            }
            path = path.rsplit_once('/').map(|(parent, _)| parent.to_owned()).unwrap_or_default();
        }
    }
    Ok(by_depth.into_iter().flatten().collect())
}
