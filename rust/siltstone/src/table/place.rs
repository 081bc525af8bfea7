//! Where a table or warehouse is: the storage of its location, and its path there.

use std::{collections::BTreeMap, sync::Arc};

use super::local_path;
use crate::{
    Result,
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
