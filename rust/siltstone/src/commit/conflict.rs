//! Whether a commit still fits the table as it is now (semantics e.3).
//!
//! 1. all files of a partition have the same number of buckets, unless the commit is an overwrite;
//! 2. the commit does not add a file twice, nor add and delete the same one;
//! 3. every file that the commit deletes is alive, and no file that it adds is;
//! 4. primary-key tables: on a level above 0 no two files of a bucket overlap.
//!
//! A conflict is never retried with the same files: what they were made from is gone.

use std::{
    borrow::Borrow,
    cmp::Ordering,
    collections::{BTreeMap, HashMap, hash_map::Entry},
};

use super::{
    changes::FileChanges,
    dv_conflict::{Checked, check_buckets, with_vectors},
};
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    manifest::{EntryKind, IndexManifestEntry, ManifestEntry},
    row::compare_serialized,
    snapshot::{CommitKind, Snapshot},
    types::DataType,
    write::other_bucket_count,
};

/// Java's advice, which users know how to search for.
const ADVICE: &str = "Don't panic! Conflicts during commits are normal and this failure is intended to resolve the \
conflicts. Conflicts are mainly caused by the following scenarios: 1. Multiple jobs are writing into the same \
partition at the same time; you'll probably see different base commit user and current commit user. Let one \
dedicated job compact (write-only=true in the others) to support multiple writing. 2. You're recovering from an old \
state of a job, or several jobs recover from the same one: recover from the latest, or roll the table back to the \
snapshot of that state.";

/// How many files a message names.
const NAMED_FILES: usize = 5;

/// One commit against one state of the table.
#[derive(Debug)]
pub(super) struct ConflictCheck<'a> {
    pub(super) ctx: &'a TableContext,
    pub(super) user: &'a str,
    pub(super) latest: Option<&'a Snapshot>,
    pub(super) kind: CommitKind,
}

impl ConflictCheck<'_> {
    /// `base`: live files of the partitions that `delta` touches. `vectors`: on tables with deletion vectors and
    /// without buckets, the live and the changed index files.
    pub(super) fn check(
        &self,
        base: &[ManifestEntry],
        delta: &[ManifestEntry],
        vectors: Option<(&[IndexManifestEntry], &[IndexManifestEntry])>,
    ) -> Result<()> {
        self.check_bucket_counts(base, delta)?;
        let (base, delta) = match vectors {
            Some((live, changed)) => with_vectors(base, delta, live, changed).map_err(|e| self.deletion(e))?,
            None => (base.iter().map(Checked::from).collect(), delta.iter().map(Checked::from).collect()),
        };
        self.merge(delta.iter().copied())?;
        let merged = self.merge(base.iter().chain(&delta).copied())?;
        self.check_deletions(&merged)?;
        self.check_key_ranges(&merged)
    }

    fn check_bucket_counts(&self, base: &[ManifestEntry], delta: &[ManifestEntry]) -> Result<()> {
        if self.kind == CommitKind::Overwrite {
            return Ok(());
        }
        let mut counts: HashMap<&[u8], i32> = HashMap::new();
        for entry in base.iter().chain(delta).filter(|entry| entry.total_buckets > 0) {
            let old = *counts.entry(&entry.partition).or_insert(entry.total_buckets);
            if old != entry.total_buckets {
                let text = format!(
                    "Total buckets of partition {} changed from {old} to {} without overwrite. Give up committing.",
                    self.partition(entry),
                    entry.total_buckets
                );
                return Err(self.conflict(text));
            }
        }
        Ok(())
    }

    /// A job that was opened before the number changed, or does not restore the files of its buckets, did not see it.
    pub(super) fn check_new_bucket_counts<'e>(
        &self,
        base: impl Iterator<Item = &'e ManifestEntry>,
        delta: &[ManifestEntry],
    ) -> Result<()> {
        let live = base.filter(|entry| entry.total_buckets > 0);
        let old: HashMap<&[u8], i32> = live.map(|entry| (entry.partition.as_slice(), entry.total_buckets)).collect();
        for entry in delta.iter().filter(|entry| entry.kind == EntryKind::Add && entry.total_buckets > 0) {
            if let Some(old) = old.get(entry.partition.as_slice()).filter(|old| **old != entry.total_buckets) {
                return Err(other_bucket_count(self.ctx, &self.partition(entry), entry.total_buckets, *old));
            }
        }
        Ok(())
    }

    /// Applies ADD and DELETE in order; a file added twice is a conflict. What is left keeps its order.
    fn merge<'e>(&self, entries: impl Iterator<Item = Checked<'e>>) -> Result<Vec<Checked<'e>>> {
        let mut left: Vec<Option<Checked<'e>>> = Vec::new();
        let mut known: HashMap<_, usize> = HashMap::new();
        for entry in entries {
            match (entry.kind, known.entry(entry.identity())) {
                (EntryKind::Add, Entry::Occupied(_)) => {
                    let text = format!("Trying to add file {} which is already added.", self.file(&entry));
                    return Err(self.deletion(Error::new(ErrorKind::CommitConflict, text)));
                }
                (EntryKind::Delete, Entry::Occupied(earlier)) => {
                    // a second DELETE of a file that is not there stays a DELETE of a file that is not there
                    if let Some(slot) = left.get_mut(*earlier.get())
                        && slot.is_none_or(|earlier: Checked<'e>| earlier.kind == EntryKind::Add)
                    {
                        *slot = None;
                        earlier.remove();
                    }
                }
                (_, Entry::Vacant(free)) => {
                    free.insert(left.len());
                    left.push(Some(entry));
                }
            }
        }
        Ok(left.into_iter().flatten().collect())
    }

    fn check_deletions(&self, merged: &[Checked<'_>]) -> Result<()> {
        let missing: Vec<String> =
            merged.iter().filter(|entry| entry.kind == EntryKind::Delete).map(|entry| self.file(entry)).collect();
        let Some(first) = merged.iter().find(|entry| entry.kind == EntryKind::Delete) else {
            return Ok(());
        };
        let text = format!(
            "Trying to delete file {} for table {} which is not previously added.",
            first.entry.file.file_name, self.ctx.name
        );
        let error = self.deletion(Error::new(ErrorKind::CommitConflict, text));
        Err(error.with("files", named(&missing)).with("files_missing", missing.len()))
    }

    fn check_key_ranges(&self, merged: &[Checked<'_>]) -> Result<()> {
        if self.ctx.schema.primary_keys.is_empty() {
            return Ok(());
        }
        let types: Vec<DataType> = self.ctx.schema.key_fields().iter().map(|field| field.data_type.clone()).collect();
        let entries: Vec<&ManifestEntry> = merged.iter().map(|checked| checked.entry).collect();
        match overlap(&entries, &types)? {
            None => Ok(()),
            Some((a, b)) => {
                let files = [self.file(&Checked::from(a)), self.file(&Checked::from(b))];
                let text = "LSM conflicts detected! Give up committing. Conflict files are:";
                Err(self.conflict(format!("{text} {}; {}", files[0], files[1])))
            }
        }
    }

    /// On tables with buckets, which Java does not check: the index file of a bucket that changes is the one that the
    /// writer knew, and no vector is left for a file that is not alive.
    pub(super) fn check_vectors(
        &self,
        base: &[ManifestEntry],
        changes: &FileChanges,
        live: &[IndexManifestEntry],
    ) -> Result<()> {
        check_buckets(base, changes, live).map_err(|e| self.deletion(e))
    }

    fn deletion(&self, cause: Error) -> Error {
        self.conflict("File deletion conflicts detected! Give up committing.".to_owned()).caused_by(cause)
    }

    fn conflict(&self, text: String) -> Error {
        let error = Error::new(ErrorKind::CommitConflict, text).with("table", &self.ctx.name);
        let base = self.latest.map_or("none", |snapshot| snapshot.commit_user.as_str());
        error.with("base_commit_user", base).with("commit_user", self.user).hint(ADVICE)
    }

    fn partition(&self, entry: &ManifestEntry) -> String {
        match self.ctx.paths.partition_shown(&entry.partition) {
            Ok(path) if !path.is_empty() => path,
            _ => "(the whole table)".to_owned(),
        }
    }

    fn file(&self, entry: &Checked<'_>) -> String {
        let path = self.ctx.paths.partition_shown(&entry.entry.partition).unwrap_or_default();
        let (bucket, file) = (entry.entry.bucket, &entry.entry.file);
        let vector = entry.vector.map(|name| format!(", deletion vectors {name}")).unwrap_or_default();
        format!("{path}, bucket {bucket}, level {}, file {}{vector}", file.level, file.file_name)
            .trim_start_matches(", ")
            .to_owned()
    }
}

fn named(files: &[String]) -> String {
    let first: Vec<&str> = files.iter().take(NAMED_FILES).map(String::as_str).collect();
    let more = files.len().saturating_sub(NAMED_FILES);
    if more == 0 { first.join("; ") } else { format!("{}; and {more} more", first.join("; ")) }
}

/// Two files of one bucket and one level above 0 whose key ranges overlap: the invariant of an LSM tree.
pub(super) fn overlap<'e>(
    entries: &[&'e ManifestEntry],
    key_types: &[DataType],
) -> Result<Option<(&'e ManifestEntry, &'e ManifestEntry)>> {
    let mut levels: BTreeMap<(&[u8], i32, i32), Vec<&'e ManifestEntry>> = BTreeMap::new();
    for &entry in entries.iter().filter(|entry| entry.file.level >= 1) {
        levels.entry((&entry.partition, entry.bucket, entry.file.level)).or_default().push(entry);
    }
    for mut files in levels.into_values().filter(|files| files.len() > 1) {
        if let Some((a, b)) = sort_by_keys(&mut files, key_types)? {
            return Ok(Some((a, b)));
        }
    }
    Ok(None)
}

/// Sorts files by their smallest keys; the first two neighbours that have keys in common, if any do.
pub(super) fn sort_by_keys<'f, E: Borrow<ManifestEntry>>(
    files: &'f mut [E],
    key_types: &[DataType],
) -> Result<Option<(&'f E, &'f E)>> {
    let mut failed = None;
    files.sort_by(|a, b| {
        compare_serialized(&a.borrow().file.min_key, &b.borrow().file.min_key, key_types).unwrap_or_else(|error| {
            failed.get_or_insert(error);
            Ordering::Equal
        })
    });
    if let Some(error) = failed {
        return Err(error);
    }
    for (a, b) in files.iter().zip(files.iter().skip(1)) {
        if compare_serialized(&a.borrow().file.max_key, &b.borrow().file.min_key, key_types)? != Ordering::Less {
            return Ok(Some((a, b)));
        }
    }
    Ok(None)
}
