//! Open files and decoded key pages, up to a number of bytes (option `lookup.cache-max-memory-size`).

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use arrow_row::Rows;

use super::file::KeyFile;
use crate::{Result, manifest::DataFileMeta};

/// Shared by the bucket writers of one table writer; least recently used entries go first. Cheap to clone.
#[derive(Clone)]
pub struct LookupCache(Arc<Mutex<Entries>>);

struct Entries {
    capacity: usize,
    used: usize,
    clock: u64,
    files: HashMap<String, Cached>,
}

/// What is known of one file.
struct Cached {
    file: Arc<KeyFile>,
    /// decoded keys by the number of their block
    blocks: HashMap<usize, (Arc<Rows>, u64)>,
    last_used: u64,
    bytes: usize,
}

impl LookupCache {
    /// A cache of so many bytes.
    pub fn new(capacity: u64) -> Self {
        let capacity = usize::try_from(capacity).unwrap_or(usize::MAX);
        Self(Arc::new(Mutex::new(Entries { capacity, used: 0, clock: 0, files: HashMap::new() })))
    }

    /// Bytes held.
    pub fn memory_used(&self) -> usize {
        self.entries().used
    }

    /// Forgets files that left the tree.
    pub fn forget<'a>(&self, files: impl Iterator<Item = &'a DataFileMeta>) {
        let mut entries = self.entries();
        for file in files {
            entries.remove(&file.file_name);
        }
    }

    /// The open file; opened by the first who asks.
    pub(super) fn file(&self, name: &str, open: impl FnOnce() -> Result<KeyFile>) -> Result<Arc<KeyFile>> {
        {
            let mut entries = self.entries();
            let now = entries.tick();
            if let Some(cached) = entries.files.get_mut(name) {
                cached.last_used = now;
                return Ok(Arc::clone(&cached.file));
            }
        }
        let file = Arc::new(open()?);
        let mut entries = self.entries();
        let (bytes, last_used) = (file.bytes(), entries.tick());
        entries.remove(name);
        entries.used += bytes;
        let cached = Cached { file: Arc::clone(&file), blocks: HashMap::new(), last_used, bytes };
        entries.files.insert(name.to_owned(), cached);
        entries.shrink(name);
        Ok(file)
    }

    /// Decoded keys of a block.
    pub(super) fn block(&self, name: &str, block: usize) -> Option<Arc<Rows>> {
        let mut entries = self.entries();
        let now = entries.tick();
        let cached = entries.files.get_mut(name)?;
        let (rows, last_used) = cached.blocks.get_mut(&block)?;
        (*last_used, cached.last_used) = (now, now);
        Some(Arc::clone(rows))
    }

    /// Keeps decoded keys; does nothing when they alone would fill a quarter of the cache.
    pub(super) fn keep(&self, name: &str, block: usize, rows: Arc<Rows>) {
        let bytes = rows.size();
        let mut entries = self.entries();
        if bytes > entries.capacity / 4 {
            return;
        }
        let now = entries.tick();
        let Some(cached) = entries.files.get_mut(name) else { return };
        let old = cached.blocks.insert(block, (rows, now));
        let old = old.map_or(0, |(rows, _)| rows.size());
        cached.bytes = cached.bytes + bytes - old.min(cached.bytes);
        entries.used = (entries.used + bytes).saturating_sub(old);
        entries.shrink(name);
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn remove(&mut self, name: &str) {
        if let Some(cached) = self.files.remove(name) {
            self.used = self.used.saturating_sub(cached.bytes);
        }
    }

    /// Makes room: old blocks first, down to three quarters; then files that were not used for long, `current` last.
    fn shrink(&mut self, current: &str) {
        if self.used <= self.capacity {
            return;
        }
        let target = self.capacity / 4 * 3;
        let mut blocks: Vec<(u64, String, usize)> = self
            .files
            .iter()
            .flat_map(|(name, file)| file.blocks.iter().map(|(at, (_, used))| (*used, name.clone(), *at)))
            .collect();
        blocks.sort_unstable();
        for (_, name, at) in blocks {
            if self.used <= target {
                return;
            }
            if let Some(file) = self.files.get_mut(&name)
                && let Some((rows, _)) = file.blocks.remove(&at)
            {
                let bytes = rows.size();
                file.bytes = file.bytes.saturating_sub(bytes);
                self.used = self.used.saturating_sub(bytes);
            }
        }
        let mut files: Vec<(u64, String)> = self.files.iter().map(|(n, f)| (f.last_used, n.clone())).collect();
        files.sort_unstable();
        for (_, name) in files.into_iter().filter(|(_, name)| name != current) {
            if self.used <= target {
                return;
            }
            self.remove(&name);
        }
    }
}

impl fmt::Debug for LookupCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.entries();
        f.debug_struct("LookupCache").field("capacity", &entries.capacity).field("used", &entries.used).finish()
    }
}
