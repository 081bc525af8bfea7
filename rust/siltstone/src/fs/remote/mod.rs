//! Object stores: keys and bytes, without directories, links or renames, reached by requests whose answers may be lost.
//!
//! ```text
//! file system                        object store
//! hard link of a finished file       put on the condition that the key is free (`publish`)
//! lock of the operating system       lease: an object that its holder renews (`lease`)
//! fsync of files and directories     nothing: what the store has answered is durable
//! directory                          the keys that begin with it (`tree`); a database is a marker, as Hadoop's (`folders`)
//! rename of a directory              none: copies, where nobody else can be at work (`tree`)
//! ```
//!
//! What is asynchronous stays in this folder: a call starts a task of the runtime and waits for it, asking meanwhile whether to
//! stop (`runtime`).

mod address;
mod azure;
mod client;
mod errors;
mod folders;
mod held;
mod holds;
mod input;
mod kind;
mod known;
mod lease;
mod leased;
mod output;
mod publish;
mod replace;
mod runtime;
mod sends;
mod services;
mod settings;
mod storages;
mod transport;
mod tree;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use opendal::options;

use self::{address::key_of, client::Store, input::RemoteInput, kind::Kind, output::RemoteOutput};
pub use self::{
    client::StorageTokens,
    known::is_storage_option,
    storages::{Opened, is_store, lend, open_storage},
};
use super::{
    FileIo, FileIoRef, FileStatus, HeldLock, InputFile, OutputFile, check_size,
    home::Home,
    local::{exists_already, not_found},
};
use crate::error::{Error, Result};

/// How long a request for a listing, a status or a small object may take, with its retries.
const ANSWER: Duration = Duration::from_secs(180);

/// Objects of one bucket.
#[derive(Clone, Debug)]
pub(super) struct RemoteFileIo {
    store: Arc<Store>,
    /// The directory of the table that this handle is for.
    home: Option<Home>,
}

impl RemoteFileIo {
    fn new(store: Arc<Store>) -> Self {
        Self { store, home: None }
    }

    fn key(&self, path: &str) -> Result<String> {
        key_of(&self.store.bucket, path)
    }

    /// An error when the table of this handle is gone: without directories nothing else says so.
    fn need_home(&self, path: &str) -> Result<()> {
        let directory = path.rsplit_once('/').map_or(path, |(directory, _)| directory);
        let Some((home, needed)) = self.home.as_ref().and_then(|home| Some((home, home.of(directory)?))) else {
            return Ok(());
        };
        if tree::has_any(&self.store, &format!("{needed}/schema"))? { Ok(()) } else { Err(home.gone(needed)) }
    }
}

impl FileIo for RemoteFileIo {
    fn read_at_most(&self, path: &str, most: u64) -> Result<Bytes> {
        let key = self.key(path)?;
        let operators = self.store.operators()?;
        let read = async move {
            use futures::TryStreamExt as _;
            let mut stream = operators.retried.reader(&key).await?.into_stream(..).await?;
            let size = stream.metadata().await?.content_length();
            // a larger one is refused before its bytes come
            let (mut content, mut length) = (Vec::new(), 0_u64);
            while size <= most
                && length <= most
                && let Some(part) = stream.try_next().await?
            {
                length = length.saturating_add(u64::try_from(part.len()).unwrap_or(u64::MAX));
                content.extend(part);
            }
            Ok::<_, opendal::Error>((size.max(length), content))
        };
        let (size, content) =
            runtime::answered(ANSWER, read)?.map_err(|e| self.store.failed("read the object", path, &e))?;
        check_size(path, size, most)?;
        Ok(input::joined(content))
    }

    fn open(&self, path: &str) -> Result<Arc<dyn InputFile>> {
        Ok(Arc::new(RemoteInput::open(&self.store, path, self.key(path)?)?))
    }

    fn create(&self, path: &str) -> Result<Box<dyn OutputFile>> {
        Ok(Box::new(RemoteOutput::create(&self.store, path, self.key(path)?)?))
    }

    fn write_new(&self, path: &str, data: &[u8], _sync: bool) -> Result<()> {
        publish::put_if_absent(&self.store, path, &self.key(path)?, data, &[])
    }

    fn publish_if(&self, path: &str, data: &[u8], _sync: bool, still: &dyn Fn() -> Result<()>) -> Result<()> {
        let key = self.key(path)?;
        // what others would do while they hold the lock that this process has lost
        let needs_lock = key.contains("/siltstone/");
        let holds = || if needs_lock { self.store.leases.of(&key) } else { Ok(Vec::new()) };
        holds().map_err(Error::without_effect)?;
        publish::check_conditions(&self.store, path).map_err(Error::without_effect)?;
        still().map_err(Error::without_effect)?;
        let holds = holds().map_err(Error::without_effect)?;
        publish::put_while(holds, &self.store, path, &key, data, &[])
    }

    fn overwrite(&self, path: &str, data: &[u8]) -> Result<()> {
        replace::overwrite(&self.store, path, &self.key(path)?, data, None)
    }

    fn version(&self, path: &str) -> Result<Option<String>> {
        replace::version(&self.store, path, &self.key(path)?)
    }

    fn overwrite_version(&self, path: &str, data: &[u8], version: Option<&str>) -> Result<()> {
        replace::overwrite(&self.store, path, &self.key(path)?, data, version)
    }

    fn sync_dir(&self, _path: &str) -> Result<()> {
        Ok(())
    }

    fn list(&self, path: &str) -> Result<Vec<FileStatus>> {
        tree::list(&self.store, path, &self.key(path)?)
    }

    fn exists(&self, path: &str) -> Result<bool> {
        Ok(self.status(path)?.is_some())
    }

    fn is_file(&self, path: &str) -> Result<bool> {
        Ok(tree::head(&self.store, path)?.is_some_and(|found| !found.is_dir))
    }

    fn status(&self, path: &str) -> Result<Option<FileStatus>> {
        match tree::head(&self.store, path)? {
            Some(found) => Ok(Some(found)),
            None if tree::has_any(&self.store, path)? => Ok(Some(tree::directory(path))),
            None => Ok(None),
        }
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.delete_all(&[path])
    }

    fn delete_all(&self, paths: &[&str]) -> Result<()> {
        let keys = paths.iter().map(|path| self.key(path)).collect::<Result<Vec<_>>>()?;
        tree::delete_keys(&self.store, keys)
    }

    fn delete_empty_dir(&self, path: &str) -> Result<bool> {
        // what nothing lies in does not exist; only a database has a marker
        if self.home.is_some() { Ok(false) } else { tree::delete_marker(&self.store, path, &self.key(path)?) }
    }

    fn delete_dir(&self, path: &str) -> Result<()> {
        tree::delete_all_below(&self.store, path, &self.key(path)?)
    }

    fn create_dir(&self, path: &str) -> Result<()> {
        match &self.home {
            Some(_) => Ok(()),
            None => folders::put(&self.store, path, &self.key(path)?),
        }
    }

    fn rename_dir(&self, from: &str, to: &str) -> Result<()> {
        let (source, target) = (self.key(from)?, self.key(to)?);
        if self.exists(to)? {
            return Err(exists_already(to));
        }
        match self.status(from)? {
            None => Err(not_found(from)),
            Some(found) if found.is_dir => tree::move_all(self, (from, &source), &target),
            Some(found) => {
                let content = self.read(from)?;
                let modified = [(tree::MODIFIED, found.modified_millis.to_string())];
                publish::put_if_absent(&self.store, to, &target, &content, &modified)?;
                tree::delete_keys(&self.store, vec![source])
            }
        }
    }

    fn try_lock(&self, path: &str) -> Result<Option<Box<dyn HeldLock>>> {
        self.need_home(path)?;
        publish::check_conditions(&self.store, path)?;
        let lease = lease::take(&self.store, path, &self.key(path)?)?;
        Ok(lease.map(|lease| Box::new(leased::LeasedLock::new(self.clone(), path, lease)) as Box<dyn HeldLock>))
    }

    fn has_directories(&self) -> bool {
        false
    }

    fn within(&self, location: &str) -> Option<FileIoRef> {
        Some(Arc::new(Self { store: Arc::clone(&self.store), home: Some(Home::new(location)) }))
    }
}

/// A put of nothing but these conditions.
fn write_options(kind: Kind, if_absent: bool, metadata: &[(&str, String)]) -> options::WriteOptions {
    let metadata: std::collections::HashMap<String, String> =
        metadata.iter().map(|(key, value)| (kind.metadata(key).into_owned(), value.clone())).collect();
    options::WriteOptions {
        if_not_exists: if_absent,
        user_metadata: (!metadata.is_empty()).then_some(metadata),
        ..options::WriteOptions::default()
    }
}
