//! Open files and decoded keys of their blocks, up to a number of bytes (option `lookup.cache-max-memory-size`).

use std::{collections::HashSet, fmt, sync::Arc};

use arrow_row::Rows;
use quick_cache::{
    DefaultHashBuilder, Equivalent, OptionsBuilder, Weighter,
    sync::{Cache, DefaultLifecycle},
};

use super::file::KeyFile;
use crate::{Result, manifest::DataFileMeta};

/// About how many bytes an entry has: how many of them are expected.
const ENTRY_BYTES: u64 = 64 << 10;

/// Shared by the bucket writers of one table writer. Cheap to clone.
#[derive(Clone)]
pub struct LookupCache(Arc<Cache<Key, Cached, Bytes>>);

/// A file, or one of its blocks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    file: Arc<str>,
    block: Option<usize>,
}

/// The same, of a name that is only borrowed; its fields are hashed as those of [`Key`].
#[derive(Hash)]
struct Asked<'a> {
    file: &'a str,
    block: Option<usize>,
}

impl Equivalent<Key> for Asked<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        (self.file, self.block) == (&*key.file, key.block)
    }
}

#[derive(Clone)]
enum Cached {
    File(Arc<KeyFile>),
    Keys(Arc<Rows>),
}

#[derive(Clone)]
struct Bytes;

impl Weighter<Key, Cached> for Bytes {
    fn weight(&self, key: &Key, cached: &Cached) -> u64 {
        let bytes = match cached {
            Cached::File(file) => file.bytes(),
            Cached::Keys(rows) => rows.size(),
        };
        (key.file.len() + bytes) as u64
    }
}

impl LookupCache {
    /// A cache of so many bytes.
    pub fn new(capacity: u64) -> Self {
        let entries = usize::try_from(capacity / ENTRY_BYTES).unwrap_or(usize::MAX).clamp(16, 1 << 16);
        let mut options = OptionsBuilder::new();
        options.shards(1).estimated_items_capacity(entries).weight_capacity(capacity);
        let cache = match options.build() {
            Ok(options) => {
                Cache::with_options(options, Bytes, DefaultHashBuilder::default(), DefaultLifecycle::default())
            }
            // all that it wants is there
            Err(_) => Cache::with_weighter(entries, capacity, Bytes),
        };
        Self(Arc::new(cache))
    }

    /// Bytes held.
    pub fn memory_used(&self) -> u64 {
        self.0.weight()
    }

    /// Forgets files that left the tree.
    pub fn forget<'a>(&self, files: impl Iterator<Item = &'a DataFileMeta>) {
        let left: HashSet<&str> = files.map(|file| file.file_name.as_str()).collect();
        if !left.is_empty() {
            self.0.retain(|key, _| !left.contains(&*key.file));
        }
    }

    /// The open file; opened by the first who asks.
    pub(super) fn file(&self, name: &str, open: impl FnOnce() -> Result<KeyFile>) -> Result<Arc<KeyFile>> {
        if let Some(Cached::File(file)) = self.0.get(&Asked { file: name, block: None }) {
            return Ok(file);
        }
        let file = Arc::new(open()?);
        self.0.insert(Key { file: name.into(), block: None }, Cached::File(Arc::clone(&file)));
        Ok(file)
    }

    /// Decoded keys of a block.
    pub(super) fn block(&self, name: &str, block: usize) -> Option<Arc<Rows>> {
        match self.0.get(&Asked { file: name, block: Some(block) })? {
            Cached::Keys(rows) => Some(rows),
            Cached::File(_) => None,
        }
    }

    /// Keeps decoded keys; does nothing when they alone would fill a quarter of the cache.
    pub(super) fn keep(&self, name: &str, block: usize, rows: Arc<Rows>) {
        if rows.size() as u64 <= self.0.capacity() / 4 {
            self.0.insert(Key { file: name.into(), block: Some(block) }, Cached::Keys(rows));
        }
    }
}

impl fmt::Debug for LookupCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (capacity, used) = (self.0.capacity(), self.0.weight());
        f.debug_struct("LookupCache").field("capacity", &capacity).field("used", &used).finish()
    }
}
