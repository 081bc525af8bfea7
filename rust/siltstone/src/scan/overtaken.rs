//! Files that are gone because others were quicker: a newer version has replaced them, and the one that named them has
//! expired.
//!
//! ```text
//! a file is gone, and the newest version does not name it   overtaken: look at the newest version and do it again
//! a file is gone, and the newest version names it           damage: an error
//! ```

use super::{EntryFilter, live_entries};
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    manifest::{BucketId, ManifestStore},
    snapshot::{Snapshot, SnapshotManager},
};

/// How often something is done again because its version has expired meanwhile.
pub const TRIES: usize = 5;

/// What `look` finds in the newest version (`None`: the table is empty). When a file of it is gone and another version is
/// the newest by then, that one is looked at.
///
/// # Errors
/// Those of `look`.
pub fn at_newest<T>(ctx: &TableContext, look: impl Fn(Option<&Snapshot>) -> Result<T>) -> Result<T> {
    let snapshots = snapshots(ctx);
    let mut newest = snapshots.latest()?;
    let mut tries = 1;
    loop {
        let found = look(newest.as_ref());
        if tries == TRIES || found.as_ref().err().is_none_or(|error| error.kind() != ErrorKind::FileNotFound) {
            return found;
        }
        let now = snapshots.latest()?;
        if now == newest {
            return found;
        }
        newest = now;
        tries += 1;
    }
}

/// Runs what begins with the newest version, and again when that version is overtaken while it is read.
///
/// # Errors
/// Those of `run`.
pub fn again_when_overtaken<T>(ctx: &TableContext, mut run: impl FnMut() -> Result<T>) -> Result<T> {
    let mut tries = 1;
    loop {
        match run() {
            Err(error) if tries < TRIES && (is_expired_meanwhile(&error) || overtaken(ctx, None, &error)?) => {
                tracing::info!(table = ctx.name, %error, "the version that was read has expired: begins again");
            }
            done => return done,
        }
        tries += 1;
    }
}

/// Whether an error means that a data, index or manifest file is gone which the newest version does not name: it was
/// replaced, and is no loss. `bucket` says where the file was, if that is known.
///
/// # Errors
/// Those of reading the newest version.
pub fn overtaken(ctx: &TableContext, bucket: Option<&BucketId>, error: &Error) -> Result<bool> {
    let Some((place, name)) = missing_file(error) else {
        return Ok(false);
    };
    at_newest(ctx, |newest| {
        // without any version there is nothing to begin again with
        let Some(newest) = newest else { return Ok(false) };
        Ok(!match place {
            MissingKind::Bucket | MissingKind::Index if names_index(ctx, newest, name)? => true,
            MissingKind::Bucket => names_data(ctx, newest, bucket, name)?,
            MissingKind::Index => false,
            MissingKind::Manifest => names_manifest(ctx, newest, name)?,
        })
    })
}

/// The conflict of a compaction that was [`overtaken`].
pub fn replaced(ctx: &TableContext, error: Error) -> Error {
    Error::new(ErrorKind::CommitConflict, "another commit has replaced files of this compaction")
        .with("table", &ctx.name)
        .hint("plan the compaction again: the files have expired, and the table does not need them any more")
        .caused_by(error)
}

/// The error of reading a file of a version: `SnapshotExpired` when that version has gone meanwhile, and nothing keeps it.
pub fn expired_meanwhile(ctx: &TableContext, version: &Snapshot, error: Error) -> Error {
    version_gone_meanwhile(ctx, version.id, Some(&version.delta_manifest_list), error)
}

/// [`expired_meanwhile`], of the version of this id and manifest list of changes: after a rollback, another one may have its
/// id. Without the list any version of that id is taken for it.
pub fn version_gone_meanwhile(ctx: &TableContext, id: i64, list: Option<&str>, error: Error) -> Error {
    let is_it = |found: &Snapshot| found.id == id && list.is_none_or(|list| list == found.delta_manifest_list);
    if missing_file(&error).is_none() || !has_gone(ctx, id, is_it).unwrap_or(false) {
        return error;
    }
    let file = error.context_value("file").unwrap_or_default().to_owned();
    Error::new(ErrorKind::SnapshotExpired, format!("snapshot {id} has expired while it was read, or was rolled back"))
        .with("table", &ctx.name)
        .with("snapshot", id)
        .with("file", file)
        .hint("read the newest version, or keep the one that is read with a tag")
        .caused_by(error)
}

/// Whether an error is of [`expired_meanwhile`]: versions that were gone before name no file.
fn is_expired_meanwhile(error: &Error) -> bool {
    error.kind() == ErrorKind::SnapshotExpired && error.context_value("file").is_some()
}

/// Whether a version has expired or is about to, or was taken back, and no tag and no long-lived changelog keeps it.
fn has_gone(ctx: &TableContext, id: i64, is_it: impl Fn(&Snapshot) -> bool) -> Result<bool> {
    match snapshots(ctx).version(id) {
        Err(e) if matches!(e.kind(), ErrorKind::SnapshotExpired | ErrorKind::SnapshotNotFound) => {}
        Ok(another) if !is_it(&another) => {}
        version => return version.map(|_| false),
    }
    if ctx.tags().list()?.iter().any(|(_, snapshot)| is_it(snapshot)) {
        return Ok(false);
    }
    let changelogs = ctx.changelogs();
    Ok(!changelogs.ids()?.contains(&id) || !is_it(&changelogs.get(id)?))
}

/// What a file is, by its directory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingKind {
    /// A data file, or an index file beside data files.
    Bucket,
    Index,
    Manifest,
}

/// Whether an error says that a data, index or manifest file is gone.
pub fn is_of_missing_file(error: &Error) -> bool {
    missing_file(error).is_some()
}

/// The file that an error says is gone.
fn missing_file(error: &Error) -> Option<(MissingKind, &str)> {
    let path = error.context_value("file").filter(|_| error.kind() == ErrorKind::FileNotFound)?;
    let (directory, name) = path.rsplit_once('/')?;
    let place = match directory.rsplit('/').next()? {
        "index" => MissingKind::Index,
        "manifest" => MissingKind::Manifest,
        bucket if bucket.starts_with("bucket-") => MissingKind::Bucket,
        _ => return None,
    };
    Some((place, name))
}

fn names_data(ctx: &TableContext, newest: &Snapshot, bucket: Option<&BucketId>, name: &str) -> Result<bool> {
    let filter = EntryFilter {
        partitions: bucket.map(|bucket| std::iter::once(bucket.partition.clone()).collect()),
        bucket: bucket.map(|bucket| bucket.bucket),
        ..EntryFilter::without_statistics()
    };
    let entries = live_entries(ctx, newest, &filter)?;
    Ok(entries.iter().any(|e| e.file.file_name == name || e.file.extra_files.iter().any(|extra| extra == name)))
}

fn names_index(ctx: &TableContext, newest: &Snapshot, name: &str) -> Result<bool> {
    let Some(manifest) = &newest.index_manifest else { return Ok(false) };
    let entries = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?.read_index(manifest)?;
    Ok(entries.iter().any(|entry| entry.file_name == name))
}

fn names_manifest(ctx: &TableContext, newest: &Snapshot, name: &str) -> Result<bool> {
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?;
    let lists = [Some(newest.base_list()), Some(newest.delta_list()), newest.changelog_list()];
    if newest.index_manifest.as_deref() == Some(name) || lists.iter().flatten().any(|list| list.name == name) {
        return Ok(true);
    }
    for list in lists.into_iter().flatten() {
        if store.read_list(list)?.iter().any(|manifest| manifest.file_name == name) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn snapshots(ctx: &TableContext) -> SnapshotManager {
    ctx.snapshots()
}
