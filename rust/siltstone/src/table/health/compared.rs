//! The files of several versions, whose manifests are decoded once: what a manifest adds and deletes is remembered as numbers.
//!
//! Entries and paths are known by hashes of 128 bits with keys of this process, which take less memory than their texts; two
//! different ones have the same hash by chance only, and nobody can look for such a pair.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::{BuildHasher, Hash},
    sync::Arc,
};

use crate::{
    Error, ErrorKind, Result, cancel,
    io::TableContext,
    limits::{self, Taken},
    manifest::{DataFileFields, EntryKind, ManifestEntry, ManifestFileMeta, ManifestStore},
    path::PathFactory,
    scan::ask_for_memory,
    snapshot::Snapshot,
    threads::try_map,
};

/// What memory is asked for.
const WHAT: &str = "the files of several versions";
/// Manifests that are decoded at once, unless all their entries are wanted.
const AT_ONCE: usize = 8;

/// An entry of a manifest.
#[derive(Clone, Copy, Debug)]
struct Change {
    /// Its identity.
    entry: u32,
    adds: bool,
    bytes: i64,
}

/// What a version knows of an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unknown,
    Added(i64),
    Deleted,
}

/// Makes hashes of 128 bits.
#[derive(Debug, Default)]
struct Hashes([RandomState; 2]);

impl Hashes {
    fn of(&self, value: impl Hash) -> u128 {
        let [a, b] = &self.0;
        u128::from(a.hash_one(&value)) << 64 | u128::from(b.hash_one(&value))
    }
}

/// The files that were seen so far.
#[derive(Debug, Default)]
pub(super) struct Compared {
    hashes: Hashes,
    /// Those of the versions: branches may have others.
    paths: Vec<Arc<PathFactory>>,
    /// By number of its paths, and name.
    manifests: HashMap<(usize, String), Arc<[Change]>>,
    /// Those of the newest version, which is read first.
    newest: Vec<(usize, String)>,
    /// Hashes of paths of buckets, by number of paths, partition and bucket.
    buckets: HashMap<u128, u128>,
    /// Numbers of files by their paths.
    files: HashMap<u128, u32>,
    /// Numbers of identities.
    entries: HashMap<u128, u32>,
    /// The file of each identity.
    file_of: Vec<u32>,
    taken: Taken,
}

impl Compared {
    /// How many files there are.
    pub(super) fn count(&self) -> usize {
        self.files.len()
    }

    /// All entries of the newest version, with or without statistics of columns.
    pub(super) fn entries(
        &mut self,
        ctx: &TableContext,
        snapshot: &Snapshot,
        statistics: bool,
    ) -> Result<Vec<ManifestEntry>> {
        let (store, manifests) = listed(ctx, snapshot, statistics)?;
        ask_for_memory(ctx, &manifests, !statistics)?;
        let parts = try_map(&manifests, |manifest| store.read(manifest))?;
        let paths = self.paths_of(ctx);
        for (manifest, entries) in manifests.iter().zip(&parts) {
            self.remember(ctx, paths, manifest, entries)?;
            self.newest.push((paths, manifest.file_name.clone()));
        }
        limits::joined(parts, "the entries of all manifests")
    }

    /// The live files of the newest version: their numbers and sizes.
    pub(super) fn newest(&self) -> Result<Vec<(usize, i64)>> {
        let changes = self.newest.iter().filter_map(|name| self.manifests.get(name));
        merged(changes.flat_map(|changes| changes.iter()), &self.file_of)
    }

    /// The same of another version.
    pub(super) fn live(&mut self, ctx: &TableContext, snapshot: &Snapshot) -> Result<Vec<(usize, i64)>> {
        let (store, manifests) = listed(ctx, snapshot, false)?;
        let paths = self.paths_of(ctx);
        let known = |m: &&ManifestFileMeta| self.manifests.contains_key(&(paths, m.file_name.clone()));
        let (_, new): (Vec<_>, Vec<_>) = manifests.iter().partition(known);
        for some in new.chunks(AT_ONCE) {
            let some: Vec<ManifestFileMeta> = some.iter().map(|m| (*m).clone()).collect();
            ask_for_memory(ctx, &some, true)?;
            let parts = try_map(&some, |manifest| store.read(manifest))?;
            for (manifest, entries) in some.iter().zip(&parts) {
                self.remember(ctx, paths, manifest, entries)?;
            }
        }
        let changes = manifests.into_iter().filter_map(|m| self.manifests.get(&(paths, m.file_name)));
        merged(changes.flat_map(|changes| changes.iter()), &self.file_of)
    }

    /// The number of a version's paths.
    fn paths_of(&mut self, ctx: &TableContext) -> usize {
        self.paths.iter().position(|known| known == &ctx.paths).unwrap_or_else(|| {
            self.paths.push(Arc::clone(&ctx.paths));
            self.paths.len() - 1
        })
    }

    fn remember(
        &mut self,
        ctx: &TableContext,
        paths: usize,
        manifest: &ManifestFileMeta,
        entries: &[ManifestEntry],
    ) -> Result<()> {
        cancel::check()?;
        self.taken.more(entries.len().saturating_mul(size_of::<Change>()), WHAT)?;
        let changes: Result<Vec<Change>> = entries.iter().map(|entry| self.change(ctx, paths, entry)).collect();
        self.manifests.insert((paths, manifest.file_name.clone()), changes?.into());
        Ok(())
    }

    fn change(&mut self, ctx: &TableContext, paths: usize, entry: &ManifestEntry) -> Result<Change> {
        let ManifestEntry { partition, bucket, file, .. } = entry;
        // what makes entries the same, and the paths that their partitions have
        let DataFileFields { level, file_name, extra_files, embedded_file_index, external_path, .. } = &**file;
        let identity = (paths, partition, bucket, level, file_name, extra_files, embedded_file_index, external_path);
        let identity = self.hashes.of(identity);
        let adds = entry.kind == EntryKind::Add;
        if let Some(known) = self.entries.get(&identity) {
            return Ok(Change { entry: *known, adds, bytes: file.file_size });
        }
        self.taken.more(3 * size_of::<(u128, u32)>(), WHAT)?;
        let path = self.path(ctx, paths, entry)?;
        let (files, entries) = (number(self.files.len())?, number(self.entries.len())?);
        self.file_of.push(*self.files.entry(path).or_insert(files));
        self.entries.insert(identity, entries);
        Ok(Change { entry: entries, adds, bytes: file.file_size })
    }

    /// The hash of a file's path: of its directory and name.
    fn path(&mut self, ctx: &TableContext, paths: usize, entry: &ManifestEntry) -> Result<u128> {
        let ManifestEntry { partition, bucket, file, .. } = entry;
        if file.external_path.is_some() {
            let path = ctx.paths.data_file(partition, *bucket, file)?;
            let (directory, name) = path.rsplit_once('/').unwrap_or(("", &path));
            return Ok(self.hashes.of((self.hashes.of(directory), name)));
        }
        let place = self.hashes.of((paths, partition, bucket));
        let directory = if let Some(known) = self.buckets.get(&place) {
            *known
        } else {
            let hash = self.hashes.of(ctx.paths.bucket_dir(partition, *bucket)?.as_str());
            self.buckets.insert(place, hash);
            hash
        };
        Ok(self.hashes.of((directory, file.file_name.as_str())))
    }
}

/// The manifests of a version, and what reads them.
fn listed(ctx: &TableContext, snapshot: &Snapshot, statistics: bool) -> Result<(ManifestStore, Vec<ManifestFileMeta>)> {
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?;
    let store = if statistics { store } else { store.without_statistics() };
    let manifests = store.read_lists(snapshot).map_err(|e| e.in_table(&ctx.name))?;
    Ok((store, manifests))
}

/// Numbers and sizes of the files that are left, by the rules of [`crate::manifest::merge_entries`].
fn merged<'a>(changes: impl Iterator<Item = &'a Change>, file_of: &[u32]) -> Result<Vec<(usize, i64)>> {
    let mut states = vec![State::Unknown; file_of.len()];
    for Change { entry, adds, bytes } in changes {
        let Some(state) = states.get_mut(*entry as usize) else { continue };
        *state = match (*adds, *state) {
            (true, State::Added(_)) => return Err(Error::new(ErrorKind::CorruptFile, "a version adds a file twice")),
            (true, _) => State::Added(*bytes),
            (false, State::Unknown) => State::Deleted,
            (false, _) => State::Unknown,
        };
    }
    let left = states.iter().zip(file_of).filter_map(|(state, file)| match state {
        State::Added(bytes) => Some((*file as usize, *bytes)),
        _ => None,
    });
    Ok(left.collect())
}

fn number(count: usize) -> Result<u32> {
    u32::try_from(count).map_err(|_| Error::new(ErrorKind::MemoryLimitExceeded, "there are too many files to compare"))
}
