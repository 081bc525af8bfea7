//! Manifest lists and manifests: whatever a version or a list says of a file is compared with it, wherever it is said.
//!
//! Each file is looked at once. Readers go by the lists of one version: what an older list says rightly does not help them.

use std::collections::{HashMap, HashSet};

use super::{Check, RESTORE, partitions::PartitionRange};
use crate::{
    error::Result,
    limits,
    manifest::{EntryKind, ManifestEntry, ManifestFileMeta},
    snapshot::NamedList,
};

const REWRITE: &str = "rewrite the manifests (compact_manifests)";
/// An entry with its statistics, and what is made of it.
const ENTRY_BYTES: usize = 1536;

/// Least and greatest number; `None`: there is none.
type Range = (Option<i32>, Option<i32>);

/// Manifests and lists that were looked at.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// Sizes of lists, and what was said of them.
    lists: HashMap<String, (Option<u64>, HashSet<i64>)>,
    /// `None`: it could not be read.
    manifests: HashMap<String, Option<Facts>>,
}

/// What a manifest holds.
#[derive(Debug)]
struct Facts {
    size: Option<u64>,
    added: i64,
    deleted: i64,
    buckets: Range,
    levels: Range,
    partitions: Vec<PartitionRange>,
    /// What lists said of it, each form once.
    said: Vec<ManifestFileMeta>,
}

impl Facts {
    /// What a list says wrongly.
    fn wrong(&self, says: &ManifestFileMeta) -> Vec<String> {
        let mut wrong: Vec<String> = Vec::new();
        if let Some(size) = self.size.filter(|size| u64::try_from(says.file_size) != Ok(*size)) {
            wrong.push(format!("{size} bytes, the list says {}", says.file_size));
        }
        if (self.added, self.deleted) != (says.num_added_files, says.num_deleted_files) {
            wrong.push(format!(
                "{} added and {} deleted files, the list says {} and {}",
                self.added, self.deleted, says.num_added_files, says.num_deleted_files
            ));
        }
        for (what, says, is) in [
            ("bucket", (says.min_bucket, says.max_bucket), self.buckets),
            ("level", (says.min_level, says.max_level), self.levels),
        ] {
            if (says.0.is_some() || says.1.is_some()) && says != is {
                wrong.push(format!("{what}s {}, the list says {}", range_text(is), range_text(says)));
            }
        }
        wrong
    }
}

fn range_text(range: Range) -> String {
    let text = |end: Option<i32>| end.map_or_else(|| "unknown".to_owned(), |end| end.to_string());
    format!("{} to {}", text(range.0), text(range.1))
}

fn count(entries: &[ManifestEntry], kind: EntryKind) -> i64 {
    i64::try_from(entries.iter().filter(|entry| entry.kind == kind).count()).unwrap_or(i64::MAX)
}

/// An error where there is no room for so many entries.
pub(super) fn ask_for_entries(entries: usize) -> Result<()> {
    limits::ask(entries.saturating_mul(ENTRY_BYTES), format_args!("the check of {entries} manifest entries"))
}

impl Check<'_> {
    /// A manifest list; `None` when it cannot be read. A wrong size is a finding of its own: what the list names is looked at
    /// all the same.
    pub(super) fn list(&mut self, place: &str, list: NamedList<'_>) -> Result<Option<Vec<ManifestFileMeta>>> {
        let NamedList { name, size } = list;
        let path = self.ctx.paths.manifest(name)?;
        if !self.looked.lists.contains_key(name) {
            self.verdict.count("manifest lists", 1);
            let found = self.ctx.fs.status(&path)?.map(|status| status.size);
            self.looked.lists.insert(name.to_owned(), (found, HashSet::new()));
        }
        if let (Some(size), Some((Some(found), said))) = (size, self.looked.lists.get_mut(name))
            && u64::try_from(size) != Ok(*found)
            && said.insert(size)
        {
            let message = format!("{path} has {found} bytes, the snapshot says {size}");
            self.verdict.problem("wrong-size", place, message, RESTORE);
        }
        let read = self.cache.store().read_list(NamedList { size: None, ..list });
        self.told("bad-manifest-list", place, read, RESTORE)
    }

    /// Entries of manifests, which are compared with what the list says of them; those that were looked at before are not
    /// read again unless `read`.
    pub(super) fn entries(
        &mut self,
        place: &str,
        metas: &[ManifestFileMeta],
        read: bool,
    ) -> Result<Option<Vec<ManifestEntry>>> {
        let known = |looked: &Looked, meta: &ManifestFileMeta| looked.manifests.contains_key(&meta.file_name);
        let mut all = Vec::new();
        for meta in metas {
            let first = !known(&self.looked, meta);
            if first || read {
                if first {
                    self.looked.manifests.insert(meta.file_name.clone(), None);
                }
                let read = self.cache.store().read(meta);
                let Some(entries) = self.told("bad-manifest", place, read, RESTORE)? else { return Ok(None) };
                if first {
                    self.look_at(place, meta, &entries)?;
                }
                // by what was read: what a list says of a number is not believed
                ask_for_entries(all.len().saturating_add(entries.len()))?;
                all.extend(entries);
            }
            self.compare(place, meta)?;
        }
        Ok(Some(all))
    }

    fn look_at(&mut self, place: &str, meta: &ManifestFileMeta, entries: &[ManifestEntry]) -> Result<()> {
        self.verdict.count("manifests", 1);
        let path = self.ctx.paths.manifest(&meta.file_name)?;
        let partitions = PartitionRange::of(self.ctx.paths.partition_types(), entries);
        let partitions = self.told("wrong-manifest", place, partitions, REWRITE)?.unwrap_or_default();
        let facts = Facts {
            size: self.ctx.fs.status(&path)?.map(|status| status.size),
            added: count(entries, EntryKind::Add),
            deleted: count(entries, EntryKind::Delete),
            buckets: (entries.iter().map(|e| e.bucket).min(), entries.iter().map(|e| e.bucket).max()),
            levels: (entries.iter().map(|e| e.file.level).min(), entries.iter().map(|e| e.file.level).max()),
            partitions,
            said: Vec::new(),
        };
        self.looked.manifests.insert(meta.file_name.clone(), Some(facts));
        Ok(())
    }

    /// What a list says of a manifest that was looked at.
    fn compare(&mut self, place: &str, says: &ManifestFileMeta) -> Result<()> {
        let Some(Some(facts)) = self.looked.manifests.get_mut(&says.file_name) else { return Ok(()) };
        if facts.said.contains(says) {
            return Ok(());
        }
        facts.said.push(says.clone());
        let mut wrong = facts.wrong(says);
        let outside = PartitionRange::outside(&facts.partitions, facts.added + facts.deleted, &self.ctx.paths, says);
        let path = self.ctx.paths.manifest(&says.file_name)?;
        wrong.extend(self.told("wrong-manifest", place, outside, REWRITE)?.flatten());
        for message in wrong {
            self.verdict.problem("wrong-manifest", place, format!("{path}: {message}"), REWRITE);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn more_entries_than_there_is_room_for_are_an_error() {
        ask_for_entries(1000).unwrap();
        assert_eq!(ask_for_entries(usize::MAX / 2).unwrap_err().kind(), ErrorKind::MemoryLimitExceeded);
    }
}
