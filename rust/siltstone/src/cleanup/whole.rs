//! Whether all files of a version are there.

use rayon::prelude::*;

use super::{MetaParts, metadata_files};
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    manifest::ManifestStore,
    scan::{EntryFilter, live_entries},
    snapshot::Snapshot,
    threads::in_pool,
};

/// # Errors
/// `FileNotFound`: a file of the version is gone; other errors say nothing of that.
pub fn check_all_there(ctx: &TableContext, version: &Snapshot) -> Result<()> {
    all_there(ctx, &files_of(ctx, version)?)
}

/// `FileNotFound` when one of the files is gone.
pub fn all_there(ctx: &TableContext, files: &[String]) -> Result<()> {
    let problem: Option<Error> = in_pool(|| {
        files.par_iter().find_map_any(|path| match ctx.fs.is_file(path) {
            Ok(true) => None,
            Ok(false) => Some(Error::new(ErrorKind::FileNotFound, format!("{path} is missing"))),
            Err(e) => Some(e),
        })
    });
    problem.map_or(Ok(()), Err)
}

/// What a version consists of beside the manifests, which are read for it: data files with their extra files, index files
/// (deletion vectors), statistics.
fn files_of(ctx: &TableContext, target: &Snapshot) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in live_entries(ctx, target, &EntryFilter::without_statistics())? {
        files.push(ctx.paths.data_file(&entry.partition, entry.bucket, &entry.file)?);
        files.extend(ctx.paths.extra_files(&entry.partition, entry.bucket, &entry.file)?);
    }
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?;
    let parts = MetaParts { data: false, changelog: false, ..MetaParts::ALL };
    files.extend(metadata_files(ctx, &store, target, parts)?.into_iter().map(|file| file.path));
    Ok(files)
}
