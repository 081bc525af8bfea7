//! What stands for directories: keys that begin with them.
//!
//! A directory is there as long as a key begins with it. Only of a database, which may be empty, there is a marker (`folders`). Nothing
//! is renamed: a tree that goes loses its schemas last, so that one which a drop that died has left is still a table, and can be
//! dropped.

use std::sync::Arc;

use opendal::{EntryMode, ErrorKind as StoreError, Metadata, Operator, options::ListOptions};

use super::{
    ANSWER, RemoteFileIo, azure,
    client::{Operators, Store},
    errors, folders, held,
    kind::Kind,
    runtime,
};
use crate::{
    cancel,
    error::{Error, Result},
    fs::{FileStatus, check_renames, local::not_found},
};

/// When the file was changed of which the object is a copy.
pub(super) const MODIFIED: &str = "siltstone-modified";
/// Keys that one request deletes.
const BATCH: usize = 1000;
/// Deletions that are sent at once, where each is a request.
const AT_ONCE: usize = 8;
/// How often a tree is listed again because others have put something into it meanwhile.
const ROUNDS: usize = 5;

/// A file as a status.
fn described(kind: Kind, path: &str, found: &Metadata) -> FileStatus {
    if folders::is_folder(found) {
        return directory(path);
    }
    let copied = kind.metadata_of(found, MODIFIED).and_then(|millis| millis.parse().ok());
    let changed = found.last_modified().map(|at| at.into_inner().as_millisecond());
    FileStatus {
        path: path.to_owned(),
        size: found.content_length(),
        is_dir: false,
        is_plain: true,
        modified_millis: copied.or(changed).unwrap_or(i64::MAX),
    }
}

/// A directory as a status: nobody knows when it was changed.
pub(super) fn directory(path: &str) -> FileStatus {
    FileStatus {
        path: path.trim_end_matches('/').to_owned(),
        size: 0,
        is_dir: true,
        is_plain: true,
        modified_millis: i64::MAX,
    }
}

/// The prefix of what lies in a directory; empty for the bucket.
fn prefix_of(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!("{key}/") }
}

/// An object, or a directory that has one.
pub(super) fn head(store: &Arc<Store>, path: &str) -> Result<Option<FileStatus>> {
    let key = super::address::key_of(&store.bucket, path)?;
    if key.is_empty() {
        return Ok(None);
    }
    let operators = store.operators()?;
    match runtime::answered(ANSWER, async move { operators.retried.stat(&key).await })? {
        Ok(found) => Ok(Some(described(store.bucket.kind, path, &found))),
        Err(e) if e.kind() == StoreError::NotFound => Ok(None),
        Err(e) => Err(refused(store, path, &e)),
    }
}

/// An answer without a body does not say why: the one of a listing does.
fn refused(store: &Arc<Store>, path: &str, error: &opendal::Error) -> Error {
    let own = store.failed("look at the object", path, error);
    if errors::is_unreachable(error) { own } else { has_any(store, path).err().unwrap_or(own) }
}

fn listing(store: &Arc<Store>, path: &str, prefix: String, options: ListOptions) -> Result<Vec<opendal::Entry>> {
    let operators = store.operators()?;
    let own = prefix.clone();
    let listed = runtime::answered(ANSWER * 10, async move { operators.retried.list_options(&prefix, options).await })?;
    let mut listed = listed.map_err(|e| store.failed("list the objects", path, &e))?;
    // the directory itself, or its marker
    listed.retain(|entry| entry.path() != own && entry.path() != "/");
    Ok(listed)
}

/// Children of a directory.
pub(super) fn list(store: &Arc<Store>, path: &str, key: &str) -> Result<Vec<FileStatus>> {
    let listed = listing(store, path, prefix_of(key), ListOptions::default())?;
    let path = path.trim_end_matches('/');
    let child = |entry: opendal::Entry| {
        let name = entry.name().trim_end_matches('/');
        let child = format!("{path}/{name}");
        match entry.metadata().mode() {
            EntryMode::DIR => directory(&child),
            _ => described(store.bucket.kind, &child, entry.metadata()),
        }
    };
    folders::told_apart(store, listed.into_iter().map(child).collect())
}

/// Whether a key begins with the directory, the marker of it included.
pub(super) fn has_any(store: &Arc<Store>, path: &str) -> Result<bool> {
    let key = super::address::key_of(&store.bucket, path)?;
    let (operators, prefix) = (store.operators()?, prefix_of(&key));
    let listed = runtime::answered(ANSWER, async move {
        use futures::TryStreamExt as _;
        let options = ListOptions { limit: Some(1), recursive: true, ..ListOptions::default() };
        let mut lister = operators.retried.lister_options(&prefix, options).await?;
        lister.try_next().await
    })?;
    let any = listed.map_err(|e| store.failed("list the objects", path, &e))?;
    // the bucket itself is there, whether it is empty or not
    Ok(any.is_some() || key.is_empty())
}

/// Deletes objects, many by one request.
pub(super) fn delete_keys(store: &Arc<Store>, keys: Vec<String>) -> Result<()> {
    delete_by(store, keys, |operators| operators.retried.clone())
}

fn delete_by(store: &Arc<Store>, keys: Vec<String>, operator: impl Fn(&Operators) -> Operator) -> Result<()> {
    let mut left = keys;
    while !left.is_empty() {
        cancel::check()?;
        let rest = left.split_off(left.len().min(BATCH));
        let first = left.first().cloned().unwrap_or_default();
        let operator = operator(&store.operators()?);
        let one_by_one = azure::signs_names(&store.bucket, &store.settings);
        let deleted = held::answered(store, &first, ANSWER, async move {
            use futures::{StreamExt as _, TryStreamExt as _};
            if !one_by_one && left.len() > 1 {
                return operator.delete_iter(left).await;
            }
            let each = left.into_iter().map(|key| {
                let operator = operator.clone();
                async move { operator.delete(&key).await }
            });
            futures::stream::iter(each).buffer_unordered(AT_ONCE).try_collect::<()>().await
        })?;
        deleted.map_err(|e| store.failed("delete objects", &first, &e))?;
        left = rest;
    }
    Ok(())
}

/// Whether it goes last: without hints nothing says that there were snapshots, without schemas there is no table, and while there
/// is one, it has its lock.
fn rank(key: &str, below: &str) -> u8 {
    match below.get(key.len()..).map(|rest| rest.trim_start_matches('/')) {
        Some(rest) if rest.starts_with("siltstone/upkeep.lock") => LOCK,
        Some(rest) if rest.starts_with("schema/") => SCHEMAS,
        Some("snapshot/LATEST" | "snapshot/EARLIEST") => HINTS,
        _ => 0,
    }
}

const HINTS: u8 = 1;
const SCHEMAS: u8 = 2;
const LOCK: u8 = 3;

/// Deletes everything below a directory, and its marker.
pub(super) fn delete_all_below(store: &Arc<Store>, path: &str, key: &str) -> Result<()> {
    if key.is_empty() {
        return Err(Error::unsupported("deleting all of a bucket").with("path", path));
    }
    let (mut directories, mut last) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        // while there are schemas, the lock is renewed
        (directories, last) = folders::apart(store.bucket.kind, all_below(store, path, key)?);
        let mut now: Vec<String> = last.extract_if(.., |below| rank(key, below) < SCHEMAS).collect();
        if now.is_empty() {
            break;
        }
        let hints = now.extract_if(.., |below| rank(key, below) == HINTS).collect();
        delete_keys(store, now)?;
        delete_keys(store, hints)?;
    }
    // without schemas the place is anybody's: what is there from now on is not listed again, and not deleted twice
    let lock = last.extract_if(.., |below| rank(key, below) == LOCK).collect();
    delete_keys(store, last)?;
    store.leases.give_up(key);
    delete_by(store, lock, |operators| operators.once.clone())?;
    delete_one_by_one(store, directories)?;
    folders::delete(store, path, key)
}

fn delete_one_by_one(store: &Arc<Store>, directories: Vec<String>) -> Result<()> {
    directories.into_iter().try_for_each(|key| delete_keys(store, vec![key]))
}

/// Keys that can be asked for, each of this directory.
fn all_below(store: &Arc<Store>, path: &str, key: &str) -> Result<Vec<String>> {
    let (options, prefix) = (ListOptions { recursive: true, ..ListOptions::default() }, prefix_of(key));
    let listed = listing(store, path, prefix.clone(), options)?;
    listed.iter().try_for_each(|entry| super::address::check_listed(path, &prefix, entry.path()))?;
    Ok(listed.into_iter().map(|entry| entry.path().to_owned()).collect())
}

/// Gives what lies in a hidden directory, which only its maker knows, its place: schemas last, without which it is not seen.
///
/// # Errors
/// `UnsupportedFeature`: the directory has a name that others know. They may be at work in it, and what they put there between the
/// copy and the deletion would be lost.
pub(super) fn move_all(fs: &RemoteFileIo, (from, source): (&str, &str), target: &str) -> Result<()> {
    let store = &fs.store;
    if !from.rsplit('/').next().is_some_and(|name| name.starts_with('.')) {
        return check_renames(fs, from);
    }
    let (directories, mut keys) = folders::apart(store.bucket.kind, all_below(store, from, source)?);
    keys.sort_by_key(|below| rank(source, below));
    for below in &keys {
        cancel::check()?;
        let copy = format!("{target}{}", below.get(source.len()..).unwrap_or_default());
        let (operators, key) = (store.operators()?, below.clone());
        let by_store = store.bucket.kind.copies();
        let copied = held::answered(store, below, ANSWER, async move {
            if by_store {
                return operators.retried.copy(&key, &copy).await.map(drop);
            }
            let content = operators.retried.read(&key).await?;
            operators.retried.write(&copy, content).await.map(drop)
        })?;
        copied.map_err(|e| store.failed("copy the object", from, &e))?;
    }
    if keys.is_empty() {
        return Err(not_found(from));
    }
    delete_keys(store, keys)?;
    delete_one_by_one(store, directories)?;
    if store.bucket.kind.has_folders() { folders::delete(store, from, source) } else { Ok(()) }
}

/// Deletes the marker of a directory in which nothing lies; whether the directory is gone.
pub(super) fn delete_marker(store: &Arc<Store>, path: &str, key: &str) -> Result<bool> {
    if key.is_empty() || !list(store, path, key)?.is_empty() {
        return Ok(false);
    }
    folders::delete(store, path, key)?;
    Ok(true)
}
