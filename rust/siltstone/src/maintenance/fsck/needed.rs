//! Which versions need a file that is not what it should be: it was looked at once, and later versions may go on naming it.
//!
//! Manifests are read again only where a file is wrong.

use std::collections::{HashMap, HashSet};

use super::Check;
use crate::{
    cancel,
    error::Result,
    io::TableContext,
    manifest::{EntryKind, ManifestFileMeta},
    snapshot::Snapshot,
};

/// So many runs of versions are named; of more there is the number.
const NAMED: usize = 8;

/// A snapshot or tag, under the name that findings have for it.
#[derive(Debug)]
pub(super) struct Version {
    ctx: TableContext,
    place: String,
    snapshot: Snapshot,
    is_newest: bool,
}

impl Version {
    pub(super) fn new(ctx: &TableContext, place: &str, snapshot: &Snapshot, is_newest: bool) -> Self {
        Self { ctx: ctx.clone(), place: place.to_owned(), snapshot: snapshot.clone(), is_newest }
    }
}

/// The versions that need each of some files.
#[derive(Debug, Default)]
pub(super) struct Needed(HashMap<String, Vec<usize>>);

impl Needed {
    /// Where a finding about the file stands, and the words that name all versions: the newest where it needs the file, else
    /// the one that was first seen to.
    pub(super) fn by(&self, file: &str, seen: &str, versions: &[Version]) -> (String, String) {
        let of = self.0.get(file).map(Vec::as_slice).unwrap_or_default();
        let newest = of.iter().filter_map(|at| versions.get(*at)).find(|version| version.is_newest);
        let place = newest.map_or(seen, |version| version.place.as_str()).to_owned();
        let runs = runs(of, versions);
        let more = runs.len().saturating_sub(NAMED);
        let named = runs.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
        let words = match (named.is_empty(), more) {
            (true, _) => String::new(),
            (_, 0) => format!("; needed by {named}"),
            _ => format!("; needed by {named} and {more} more"),
        };
        let is_newest = if newest.is_some() { ", the newest version among them" } else { "" };
        (place, words + is_newest)
    }
}

/// `main/snapshot-2 to main/snapshot-5`, `main/tag-v1`
fn runs(of: &[usize], versions: &[Version]) -> Vec<String> {
    let mut runs: Vec<(&Version, &Version)> = Vec::new();
    for version in of.iter().filter_map(|at| versions.get(*at)) {
        match runs.last_mut() {
            Some((_, last)) if follows(last, version) => *last = version,
            _ => runs.push((version, version)),
        }
    }
    let text = |(first, last): (&Version, &Version)| {
        if first.place == last.place { first.place.clone() } else { format!("{} to {}", first.place, last.place) }
    };
    runs.into_iter().map(text).collect()
}

fn follows(last: &Version, next: &Version) -> bool {
    let is_snapshot = |version: &Version| version.place.ends_with(&format!("/snapshot-{}", version.snapshot.id));
    last.ctx.branch == next.ctx.branch
        && is_snapshot(last)
        && is_snapshot(next)
        && last.snapshot.id.checked_add(1) == Some(next.snapshot.id)
}

/// What one manifest says of the files that are looked for: how often each is added, less how often it is deleted.
type Balance = HashMap<String, i64>;

impl Check<'_> {
    /// Looks for files in all versions that were looked at. What cannot be read is a finding of its own, and left out here.
    pub(super) fn needed(&self, files: &HashSet<&str>) -> Result<Needed> {
        let mut needed = Needed::default();
        if files.is_empty() {
            return Ok(needed);
        }
        let mut manifests: HashMap<String, Balance> = HashMap::new();
        let mut indexes: HashMap<String, HashSet<String>> = HashMap::new();
        for (at, version) in self.versions.iter().enumerate() {
            cancel::check()?;
            let mut all = Balance::new();
            for meta in self.cache.store().read_lists(&version.snapshot).unwrap_or_default() {
                let name = meta.file_name.clone();
                let found = manifests.entry(name).or_insert_with(|| self.balance(&version.ctx, &meta, files));
                for (file, sum) in found {
                    *all.entry(file.clone()).or_default() += *sum;
                }
            }
            let mut of_index = Vec::new();
            if let Some(name) = &version.snapshot.index_manifest {
                let found = indexes.entry(name.clone()).or_insert_with(|| self.of_index(&version.ctx, name, files));
                of_index.extend(found.iter().cloned());
            }
            let of_data = all.into_iter().filter(|(_, sum)| *sum > 0).map(|(file, _)| file);
            for file in of_data.chain(of_index) {
                needed.0.entry(file).or_default().push(at);
            }
        }
        Ok(needed)
    }

    fn balance(&self, ctx: &TableContext, meta: &ManifestFileMeta, files: &HashSet<&str>) -> Balance {
        let mut found = Balance::new();
        for entry in self.cache.store().read(meta).unwrap_or_default() {
            let by = if entry.kind == EntryKind::Add { 1 } else { -1 };
            let file = ctx.paths.data_file(&entry.partition, entry.bucket, &entry.file).ok();
            let extras = ctx.paths.extra_files(&entry.partition, entry.bucket, &entry.file).unwrap_or_default();
            for file in file.into_iter().chain(extras).filter(|file| files.contains(file.as_str())) {
                *found.entry(file).or_default() += by;
            }
        }
        found
    }

    fn of_index(&self, ctx: &TableContext, name: &str, files: &HashSet<&str>) -> HashSet<String> {
        let entries = self.cache.store().read_index(name).unwrap_or_default();
        let paths = entries.iter().filter_map(|entry| ctx.paths.index_file_of(entry).ok());
        paths.filter(|path| files.contains(path.as_str())).collect()
    }
}
