//! What stands for a directory that may be empty.
//!
//! ```text
//! most stores   an empty object whose key ends with a slash, as Hadoop's connectors make it
//! Azure         an empty blob whose metadata say that it is a directory: Hadoop's connectors make it, and accounts with a hierarchical
//!               namespace show their directories so, which are there until they are deleted, and cannot be while something lies in them
//! ```

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use opendal::Metadata;

use super::{ANSWER, client::Store, kind::Kind, publish, runtime, tree};
use crate::{error::Result, fs::FileStatus};

/// What the metadata of a blob have that is a directory.
const FOLDER: &str = "hdi_isfolder";

/// Whether an object stands for a directory.
pub(super) fn is_folder(found: &Metadata) -> bool {
    let said = found.user_metadata().and_then(|metadata| metadata.get(FOLDER));
    said.is_some_and(|said| said.eq_ignore_ascii_case("true"))
}

/// Children as they are: of the empty blobs of a listing, which has no metadata, those that are directories.
pub(super) fn told_apart(store: &Arc<Store>, children: Vec<FileStatus>) -> Result<Vec<FileStatus>> {
    if !store.bucket.kind.has_folders() {
        return Ok(children);
    }
    let with_content: HashSet<String> =
        children.iter().filter(|child| child.is_dir).map(|child| child.path.clone()).collect();
    let mut found = Vec::with_capacity(children.len());
    for child in children {
        if child.is_dir || child.size > 0 {
            found.push(child);
        } else if !with_content.contains(&child.path) {
            // one that is not there any more is none
            found.extend(tree::head(store, &child.path)?);
        }
    }
    Ok(found)
}

/// Keys that others lie below, the inner ones first, and the others: a directory can be deleted when nothing lies in it.
pub(super) fn apart(kind: Kind, keys: Vec<String>) -> (Vec<String>, Vec<String>) {
    if !kind.has_folders() {
        return (Vec::new(), keys);
    }
    let all: BTreeSet<String> = keys.iter().cloned().collect();
    let has_content = |key: &String| {
        let below = format!("{key}/");
        all.range(below.clone()..).next().is_some_and(|next| next.starts_with(&below))
    };
    let (mut folders, files): (Vec<String>, Vec<String>) = keys.into_iter().partition(has_content);
    folders.sort_by_key(|key| Reverse(key.len()));
    (folders, files)
}

/// Makes the marker of a directory.
pub(super) fn put(store: &Arc<Store>, path: &str, key: &str) -> Result<()> {
    if key.is_empty() {
        return Ok(());
    }
    if store.bucket.kind.has_folders() {
        let put = publish::put_if_absent(store, path, key, &[], &[(FOLDER, "true".to_owned())]);
        return match put {
            // whoever has made it
            Err(_) if tree::head(store, path)?.is_some_and(|found| found.is_dir) => Ok(()),
            put => put,
        };
    }
    let (operators, marker) = (store.operators()?, format!("{key}/"));
    let put = runtime::answered(ANSWER, async move { operators.retried.create_dir(&marker).await })?;
    put.map_err(|e| store.failed("make the directory", path, &e))
}

/// Deletes the marker of a directory in which nothing lies.
pub(super) fn delete(store: &Arc<Store>, path: &str, key: &str) -> Result<()> {
    if !store.bucket.kind.has_folders() {
        return tree::delete_keys(store, vec![format!("{key}/")]);
    }
    match tree::head(store, path)? {
        Some(found) if found.is_dir => tree::delete_keys(store, vec![key.to_owned()]),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_go_after_what_lies_in_them() {
        let keys = ["t/s", "t/s-1", "t/s/a", "t", "t/e", "t/s/b/c", "t/s/b"].map(str::to_owned);
        let (folders, files) = apart(Kind::Azure, keys.to_vec());
        assert_eq!(folders, ["t/s/b", "t/s", "t"]);
        assert_eq!(files, ["t/s-1", "t/s/a", "t/e", "t/s/b/c"]);
        assert_eq!(apart(Kind::S3, keys.to_vec()), (Vec::new(), keys.to_vec()));
    }
}
