//! Deletion vectors in conflict checks: on tables without buckets a vector belongs to the identity of its data file.
//!
//! A commit that replaces the vector of a file must name the vector the file has now; one that creates the first
//! vector must find the file without. So each change of a vector is checked as DELETE (file, old vector) and
//! ADD (file, new vector). Semantics e.3, check 1.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::changes::{DELETION_VECTORS, FileChanges};

use crate::{
    error::{Error, ErrorKind, Result},
    manifest::{EntryId, EntryKind, IndexManifestEntry, ManifestEntry},
};

/// An entry as the checks see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checked<'a> {
    pub(super) kind: EntryKind,
    pub(super) entry: &'a ManifestEntry,
    /// Name of the index file that holds the file's vector.
    pub(super) vector: Option<&'a str>,
}

impl<'a> From<&'a ManifestEntry> for Checked<'a> {
    fn from(entry: &'a ManifestEntry) -> Self {
        Self { kind: entry.kind, entry, vector: None }
    }
}

impl<'a> Checked<'a> {
    pub(super) fn identity(&self) -> (EntryId, Option<&'a str>) {
        (self.entry.id(), self.vector)
    }
}

type Both<'a> = (Vec<Checked<'a>>, Vec<Checked<'a>>);

/// Base and delta with the vectors of their files.
pub(super) fn with_vectors<'a>(
    base: &'a [ManifestEntry],
    delta: &'a [ManifestEntry],
    live_index: &'a [IndexManifestEntry],
    changed_index: &'a [IndexManifestEntry],
) -> Result<Both<'a>> {
    let mut current: HashMap<&str, &str> = HashMap::new();
    for (file, index) in vectors_of(live_index) {
        if current.insert(file, &index.file_name).is_some() {
            return Err(wrong("One file should correspond to only one dv entry.").with("file", file));
        }
    }
    let vector = |entry: &ManifestEntry| current.get(entry.file.file_name.as_str()).copied();
    let base: Vec<Checked<'a>> =
        base.iter().map(|entry| Checked { kind: entry.kind, entry, vector: vector(entry) }).collect();
    let delta = delta_with_vectors(&base, delta, changed_index)?;
    Ok((base, delta))
}

fn delta_with_vectors<'a>(
    base: &[Checked<'a>],
    delta: &'a [ManifestEntry],
    changed_index: &'a [IndexManifestEntry],
) -> Result<Vec<Checked<'a>>> {
    // a file may lose one vector and get another
    let mut changed: BTreeMap<&str, Vec<&'a IndexManifestEntry>> = BTreeMap::new();
    for (file, index) in vectors_of(changed_index) {
        changed.entry(file).or_default().push(index);
    }
    let mut result = Vec::with_capacity(delta.len());
    let mut seen = HashSet::new();
    for entry in delta {
        let name = entry.file.file_name.as_str();
        let vector = match changed.get(name).map(Vec::as_slice) {
            None => None,
            Some([index]) => Some(index.file_name.as_str()),
            Some(_) => return Err(wrong("Delta entry only can have one dv file").with("file", name)),
        };
        seen.insert(name);
        result.push(Checked { kind: entry.kind, entry, vector });
    }
    let live: HashMap<&str, Checked<'a>> = base
        .iter()
        .filter(|checked| checked.kind == EntryKind::Add)
        .map(|checked| (checked.entry.file.file_name.as_str(), *checked))
        .collect();
    for (name, indexes) in changed.iter().filter(|(name, _)| !seen.contains(**name)) {
        let Some(file) = live.get(name) else {
            let text = format!("Trying to create deletion vector on file {name} which is not previously added.");
            return Err(wrong(&text));
        };
        for index in indexes {
            result.push(Checked { kind: index.kind, entry: file.entry, vector: Some(&index.file_name) });
        }
        if let [index] = indexes.as_slice()
            && index.kind == EntryKind::Add
        {
            result.push(Checked { kind: EntryKind::Delete, entry: file.entry, vector: None });
        }
    }
    Ok(result)
}

/// Tables with buckets: a vector file is replaced as a whole, so a commit must name (by a DELETE entry) the one it knew;
/// and the files that the resulting vectors belong to must be alive after the commit.
pub(super) fn check_buckets(base: &[ManifestEntry], changes: &FileChanges, live: &[IndexManifestEntry]) -> Result<()> {
    let is_vector = |entry: &&IndexManifestEntry| entry.index_type == DELETION_VECTORS;
    let bucket = |entry: &IndexManifestEntry| (entry.partition.clone(), entry.bucket);
    let touched: HashSet<(Vec<u8>, i32)> = changes.index.iter().filter(is_vector).map(bucket).collect();
    for key in &touched {
        let names = |entries: &[IndexManifestEntry], kind: EntryKind| -> BTreeSet<String> {
            let of_bucket = entries.iter().filter(is_vector).filter(|e| e.kind == kind && bucket(e) == *key);
            of_bucket.map(|entry| entry.file_name.clone()).collect()
        };
        // messages of one writer replace what those before them have brought
        let (own, mut known) = (names(&changes.index, EntryKind::Add), names(&changes.index, EntryKind::Delete));
        known.retain(|name| !own.contains(name));
        let now = names(live, EntryKind::Add);
        if now != known {
            let text = "the deletion vectors of a bucket changed while this commit was written";
            return Err(wrong(text)
                .with("bucket", key.1)
                .with("expected", known.into_iter().collect::<Vec<_>>().join(", "))
                .with("found", now.into_iter().collect::<Vec<_>>().join(", ")));
        }
    }
    // a file that is moved up goes and comes
    let mut times: HashMap<&str, i64> = base.iter().map(|entry| (entry.file.file_name.as_str(), 1)).collect();
    for entry in &changes.files {
        *times.entry(&entry.file.file_name).or_default() += if entry.kind == EntryKind::Add { 1 } else { -1 };
    }
    let is_alive = |file: &str| times.get(file).is_some_and(|times| *times > 0);
    let deleted = changes.files.iter().filter(|entry| entry.kind == EntryKind::Delete);
    let gone: HashSet<&str> = deleted.map(|e| e.file.file_name.as_str()).filter(|file| !is_alive(file)).collect();
    let replaced: HashSet<&str> = changes
        .index
        .iter()
        .filter(|entry| entry.kind == EntryKind::Delete)
        .map(|entry| entry.file_name.as_str())
        .collect();
    let added = changes
        .index
        .iter()
        .filter(|entry| entry.kind == EntryKind::Add && !replaced.contains(entry.file_name.as_str()));
    let kept = live.iter().filter(|entry| !touched.contains(&bucket(entry)));
    for (file, entry) in added.filter(is_vector).flat_map(ranges_of) {
        if !is_alive(file) {
            let text = format!("a deletion vector is for the data file {file}, which is not alive");
            return Err(wrong(&text).with("file", &entry.file_name));
        }
    }
    match kept.filter(is_vector).flat_map(ranges_of).find(|(file, _)| gone.contains(file)) {
        None => Ok(()),
        Some((file, entry)) => {
            let text = format!("the data file {file} goes, and rows of it were deleted meanwhile");
            Err(wrong(&text).with("file", &entry.file_name))
        }
    }
}

fn ranges_of(entry: &IndexManifestEntry) -> impl Iterator<Item = (&str, &IndexManifestEntry)> {
    entry.deletion_vectors.iter().flatten().map(move |range| (range.data_file_name.as_str(), entry))
}

fn vectors_of(index: &[IndexManifestEntry]) -> impl Iterator<Item = (&str, &IndexManifestEntry)> {
    index.iter().flat_map(|entry| {
        let ranges = entry.deletion_vectors.iter().flatten();
        ranges.map(move |range| (range.data_file_name.as_str(), entry))
    })
}

fn wrong(text: &str) -> Error {
    Error::new(ErrorKind::CommitConflict, text)
}
