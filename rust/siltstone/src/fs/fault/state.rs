//! What the storage in memory holds, and what of it is durable.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::FailWhen;
use crate::{
    error::Result,
    fs::{
        FileStatus,
        local::{directory_instead, exists_already, not_found},
    },
};

pub(super) type FileId = u64;

#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) calls: u64,
    pub(super) fail_at: Option<(u64, FailWhen)>,
    pub(super) clock_millis: i64,
    pub(super) next_id: FileId,
    pub(super) contents: BTreeMap<FileId, Content>,
    pub(super) names: BTreeMap<String, FileId>,
    pub(super) durable_names: BTreeMap<String, FileId>,
    pub(super) dirs: BTreeSet<String>,
    /// Held ones: where their files are now, when these were not deleted with a directory.
    pub(super) locks: BTreeMap<u64, String>,
    pub(super) trace: Vec<String>,
    pub(super) bytes_read: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    pub(super) data: Vec<u8>,
    pub(super) durable: Bytes,
    pub(super) modified_millis: i64,
}

impl State {
    pub(super) fn tick(&mut self) -> i64 {
        self.clock_millis += 1;
        self.clock_millis
    }

    pub(super) fn add(&mut self, path: &str, data: Vec<u8>) -> FileId {
        let id = self.next_id;
        self.next_id += 1;
        let modified_millis = self.tick();
        self.contents.insert(id, Content { data, durable: Bytes::new(), modified_millis });
        self.names.insert(path.to_owned(), id);
        self.add_dirs(parent(path));
        id
    }

    pub(super) fn add_new(&mut self, path: &str, data: Vec<u8>) -> Result<FileId> {
        if self.names.contains_key(path) {
            return Err(exists_already(path));
        }
        Ok(self.add(path, data))
    }

    pub(super) fn add_dirs(&mut self, directory: &str) {
        let mut at = directory;
        while !at.is_empty() && self.dirs.insert(at.to_owned()) {
            at = parent(at);
        }
    }

    pub(super) fn sync_content(&mut self, id: FileId) {
        if let Some(content) = self.contents.get_mut(&id) {
            content.durable = Bytes::copy_from_slice(&content.data);
        }
    }

    pub(super) fn sync_names(&mut self, directory: &str) {
        let inside = |path: &str| parent(path) == directory;
        // a directory whose name is gone takes along what was in it
        let dirs = &self.dirs;
        let cut_off = |path: &str| {
            let child = path.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/')?.split_once('/'));
            child.is_some_and(|(child, _)| !dirs.contains(&format!("{directory}/{child}")))
        };
        self.durable_names.retain(|path, _| !inside(path) && !cut_off(path));
        let now = self.names.iter().filter(|(path, _)| inside(path));
        self.durable_names.extend(now.map(|(path, id)| (path.clone(), *id)));
    }

    pub(super) fn forget_unsynced(&mut self) {
        let named: BTreeSet<FileId> = self.names.values().copied().collect();
        self.contents.retain(|id, _| named.contains(id));
        for content in self.contents.values_mut() {
            content.data = content.durable.to_vec();
        }
        let parents: Vec<String> = self.names.keys().map(|path| parent(path).to_owned()).collect();
        self.dirs.clear();
        for directory in parents {
            self.add_dirs(&directory);
        }
    }

    pub(super) fn content(&self, path: &str) -> Result<&Content> {
        let missing = || if self.dirs.contains(path) { directory_instead(path) } else { not_found(path) };
        self.names.get(path).and_then(|id| self.contents.get(id)).ok_or_else(missing)
    }

    pub(super) fn status(&self, path: &str) -> Option<FileStatus> {
        if let Ok(content) = self.content(path) {
            return Some(FileStatus {
                path: path.to_owned(),
                size: content.data.len() as u64,
                is_dir: false,
                is_plain: true,
                modified_millis: content.modified_millis,
            });
        }
        let is_dir = self.dirs.contains(path);
        is_dir.then(|| FileStatus { path: path.to_owned(), size: 0, is_dir, is_plain: true, modified_millis: 0 })
    }
}

pub(super) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

pub(super) fn below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}
