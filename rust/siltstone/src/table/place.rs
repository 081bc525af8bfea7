//! Where a table or warehouse is: the storage of its location, and its path there.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    Error, ErrorKind, Result,
    fs::{FileIoRef, LocalFileIo, is_storage_option, open_storage},
};

/// A location on its storage.
#[derive(Debug)]
pub(super) struct Place {
    /// The storage.
    pub(super) fs: FileIoRef,
    /// An absolute path, or a URI of an object store.
    pub(super) path: String,
    /// The options but secrets of the storage: what may be shown and may travel.
    pub(super) options: BTreeMap<String, String>,
}

impl Place {
    /// Opens the storage of a path of this machine, a `file:` URI or one of an object store, with the options that are for it.
    ///
    /// # Errors
    /// `UnsupportedFeature` for other storages; `UnknownOption` and `InvalidOption` for options of storages; `InvalidArgument` for
    /// what is no location.
    pub(super) fn of(location: &str, options: BTreeMap<String, String>) -> Result<Self> {
        match open_storage(location, &options)? {
            Some(opened) => Ok(Self { fs: opened.fs, path: opened.path, options: opened.options }),
            None => Ok(Self { fs: Arc::new(LocalFileIo::new()), path: local_path(location)?, options }),
        }
    }
}

/// A dynamic option of handles, which says that a catalog's server keeps the table, and where the server is. It travels with them,
/// so that nobody who does not know the server commits without it.
pub(super) const SERVED_BY: &str = "siltstone.catalog.uri";

/// Options without those of storages, and without [`SERVED_BY`].
pub(super) fn of_tables(options: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    options
        .iter()
        .filter(|(key, _)| !is_storage_option(key) && *key != SERVED_BY)
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// A plain absolute path from a path or a `file:` URI.
///
/// # Errors
/// `InvalidArgument` for a URI without an absolute path; `UnsupportedFeature` for other storages and hosts.
pub fn local_path(location: &str) -> Result<String> {
    let plain = match location.split_once(':') {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") => {
            let (host, path) = match rest.strip_prefix("//") {
                Some(after) => after.split_at(after.find('/').unwrap_or(after.len())),
                None => ("", rest),
            };
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Err(Error::unsupported(format!("files of the host '{host}'"))
                    .with("path", location)
                    .hint("a file: URI has three slashes before a path of this machine: file:///data/lake"));
            }
            if !path.starts_with('/') {
                return Err(Error::new(ErrorKind::InvalidArgument, "a file: URI needs an absolute path")
                    .with("path", location)
                    .hint("leave 'file:' out for a path from the working directory"));
            }
            format!("/{}", path.trim_start_matches('/'))
        }
        Some((scheme, rest)) if rest.starts_with("//") => {
            return Err(Error::unsupported(format!("the storage '{scheme}'"))
                .with("path", location)
                .hint("a path of this machine is needed here"));
        }
        _ => location.to_owned(),
    };
    let absolute = std::path::absolute(&plain)
        .map_err(|e| Error::new(ErrorKind::InvalidArgument, "not a path").with("path", location).caused_by(e))?;
    let text = absolute.to_string_lossy();
    Ok(if text.len() > 1 { text.trim_end_matches('/').to_owned() } else { text.into_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_uris_and_relative_paths_become_absolute_paths() {
        assert_eq!(local_path("file:///a/b/").unwrap(), "/a/b");
        assert_eq!(local_path("file:/a/b").unwrap(), "/a/b");
        assert_eq!(local_path("FILE:///a/b").unwrap(), "/a/b");
        assert_eq!(local_path("/a/b").unwrap(), "/a/b");
        assert!(local_path("a/b").unwrap().starts_with('/'));
        assert_eq!(local_path("s3://a/b").unwrap_err().kind(), ErrorKind::UnsupportedFeature);
    }
}
