//! The files that are alive at a snapshot.
//!
//! Manifests are dropped by the bounds of their partitions, buckets and levels before they are read; entries by their
//! head before they are decoded. A DELETE entry has the partition, bucket and level of its ADD, so either both are
//! read or none.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{bounds::may_hide_nan, buckets::BucketSelector};
use crate::{
    env::local_to_instant,
    error::{Error, Result},
    io::TableContext,
    limits,
    manifest::{self, DataFileFields, EntryHead, EntryKind, KeepFile, ManifestEntry, ManifestFileMeta, ManifestStore},
    predicate::{ColumnBounds, Predicate, matches_datums, may_match},
    row::{BinaryRow, Datum, as_read, bounds_as_read},
    snapshot::{NamedList, Snapshot},
    stats::StatsReader,
};

/// Which entries are wanted; the default wants all of them.
#[derive(Clone, Debug, Default)]
pub struct EntryFilter {
    /// Only these partitions (serialized rows).
    pub partitions: Option<HashSet<Vec<u8>>>,
    /// None of these partitions (serialized rows).
    pub not_partitions: Option<Arc<HashSet<Vec<u8>>>>,
    /// A condition over partition columns; parts over other columns are ignored.
    pub partition_predicate: Option<Predicate>,
    /// Only this bucket.
    pub bucket: Option<i32>,
    /// Only levels from this one on.
    pub min_level: Option<i32>,
    /// Only files made at these epoch milliseconds or later.
    pub created_since: Option<i64>,
    /// Only buckets that rows satisfying this condition can be in.
    pub bucket_predicate: Option<Predicate>,
    /// Nobody looks at the statistics of columns, or writes the entries again: they come as those of files without statistics.
    pub no_statistics: bool,
}

impl EntryFilter {
    /// All entries, without the statistics of their columns.
    pub fn without_statistics() -> Self {
        Self { no_statistics: true, ..Self::default() }
    }
}

/// Every ADD entry of the snapshot that no DELETE cancels and that the filter wants, in manifest order.
pub fn live_entries(ctx: &TableContext, snapshot: &Snapshot, filter: &EntryFilter) -> Result<Vec<ManifestEntry>> {
    live_among(all_entries(ctx, snapshot, filter)?, filter)
}

/// Every entry that the manifests of the snapshot hold for the partitions and buckets of a filter, also of files that are
/// deleted since then.
pub(super) fn all_entries(ctx: &TableContext, snapshot: &Snapshot, filter: &EntryFilter) -> Result<Vec<ManifestEntry>> {
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?;
    let store = if filter.no_statistics { store.without_statistics() } else { store };
    let heads = HeadFilter::new(ctx, filter)?;
    let mut manifests = store.read_lists(snapshot).map_err(|e| e.in_table(&ctx.name))?;
    manifests.retain(|m| heads.wants_manifest(m));
    ask_for_memory(ctx, &manifests, filter.no_statistics)?;
    store.read_all(&manifests, &|head| heads.wants(head))
}

/// Those of all entries that no DELETE cancels and that the filter wants.
pub(super) fn live_among(entries: Vec<ManifestEntry>, filter: &EntryFilter) -> Result<Vec<ManifestEntry>> {
    let mut live = manifest::live_entries(entries)?;
    filter.keep_files(&mut live)?;
    Ok(live)
}

impl EntryFilter {
    /// Whether [`Self::keep_files`] keeps the file of an entry.
    fn takes(&self, entry: &ManifestEntry) -> bool {
        self.min_level.is_none_or(|level| entry.file.level >= level)
            && self
                .created_since
                .is_none_or(|since| entry.file.creation_time.is_none_or(|created| created_instant(created) >= since))
    }

    /// Takes out the files of other levels, and those that are too old.
    pub(super) fn keep_files(&self, live: &mut Vec<ManifestEntry>) -> Result<()> {
        if let Some(level) = self.min_level {
            live.retain(|e| e.file.level >= level);
        }
        self.created_since.map_or(Ok(()), |since| keep_created_since(live, since))
    }
}

/// The entries of a plan: those of the live files that may hold rows of interest.
pub(super) struct Considered {
    pub(super) entries: Vec<ManifestEntry>,
    /// How many live files there are, those among them that hold no row of interest too.
    pub(super) files: usize,
}

/// [`live_entries`] without the files that `wanted` leaves out, which take no memory; or, where no manifest deletes any, those of
/// the first manifests that have so many rows (`enough`).
///
/// `wanted` is asked of files that were deleted later, too: what it finds wrong with them does not count.
pub(super) fn live_entries_if(
    ctx: &TableContext,
    snapshot: &Snapshot,
    filter: &EntryFilter,
    wanted: KeepFile<'_>,
    enough: Option<i64>,
) -> Result<Considered> {
    let (taken, left_out) = (limits::Taken::default(), AtomicUsize::new(0));
    let test = |entry: &ManifestEntry| {
        // who leaves out a DELETE keeps its file
        if entry.kind == EntryKind::Delete || wanted(entry).unwrap_or(true) {
            taken.more(entry_bytes(entry), "the plan of so many files").map_err(|e| of_plan(ctx, e))?;
            return Ok(true);
        }
        left_out.fetch_add(usize::from(filter.takes(entry)), Ordering::Relaxed);
        Ok(false)
    };
    let mut entries = manifest::merge_entries(entries_if(ctx, snapshot, filter, &test, enough)?)?;
    // those of files that were left out
    let deleted = entries.iter().filter(|entry| entry.kind == EntryKind::Delete && filter.takes(entry)).count();
    entries.retain(|entry| entry.kind == EntryKind::Add);
    filter.keep_files(&mut entries)?;
    let files = entries.len() + left_out.into_inner().saturating_sub(deleted);
    Ok(Considered { entries, files })
}

/// Entries whose head passes the filter and that `wanted` keeps.
pub(super) fn entries_if(
    ctx: &TableContext,
    snapshot: &Snapshot,
    filter: &EntryFilter,
    wanted: KeepFile<'_>,
    enough: Option<i64>,
) -> Result<Vec<ManifestEntry>> {
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?;
    let store = if filter.no_statistics { store.without_statistics() } else { store };
    let heads = HeadFilter::new(ctx, filter)?;
    let mut manifests = store.read_lists(snapshot).map_err(|e| e.in_table(&ctx.name))?;
    manifests.retain(|m| heads.wants_manifest(m));
    match enough.filter(|_| manifests.iter().all(|manifest| manifest.num_deleted_files == 0)) {
        None => store.read_all_if(&manifests, &|head| heads.wants(head), wanted),
        Some(enough) => {
            let (mut found, mut rows) = (Vec::new(), 0_i64);
            for manifest in &manifests {
                if rows >= enough {
                    break;
                }
                let entries = store.read_if(manifest, &|head| heads.wants(head), wanted)?;
                rows = rows.saturating_add(limits::sum(entries.iter().map(|entry| entry.file.row_count)));
                found.extend(entries);
            }
            Ok(found)
        }
    }
}

/// What an entry takes, and the split that it becomes a part of.
fn entry_bytes(entry: &ManifestEntry) -> usize {
    let file = &entry.file;
    let stats = [&file.key_stats, &file.value_stats].map(|stats| {
        stats.min_values.len() + stats.max_values.len() + stats.null_counts.len() * size_of::<Option<i64>>()
    });
    let [of_keys, of_values] = stats;
    let own = file.file_name.len() + file.min_key.len() + file.max_key.len() + entry.partition.len();
    2 * size_of::<ManifestEntry>() + size_of::<DataFileFields>() + own + of_keys + of_values
}

fn of_plan(ctx: &TableContext, error: Error) -> Error {
    error.with("table", &ctx.name).hint("read fewer partitions or buckets at once, or compact the table's small files")
}

/// Planning holds all entries at once: where there is no room for them, that is an error and not the process's end.
pub(crate) fn ask_for_memory(ctx: &TableContext, manifests: &[ManifestFileMeta], no_statistics: bool) -> Result<()> {
    /// An entry with its statistics, and what a caller makes of it: the lists of Python that `files()` gives hold more.
    const ENTRY_BYTES: u64 = 2560;
    /// The same without statistics.
    const BARE_BYTES: u64 = 1280;
    /// The least that an entry takes in a manifest, compressed: what a list says is only believed so far.
    const LEAST_BYTES: u64 = 4;
    let number = |n: i64| u64::try_from(n).unwrap_or(0);
    let entries = manifests.iter().map(|m| {
        let said = number(m.num_added_files).saturating_add(number(m.num_deleted_files));
        said.min(number(m.file_size) / LEAST_BYTES)
    });
    let entries = entries.fold(0, u64::saturating_add);
    let each = if no_statistics { BARE_BYTES } else { ENTRY_BYTES };
    let bytes = usize::try_from(entries.saturating_mul(each)).unwrap_or(usize::MAX);
    limits::ask(bytes, format_args!("the plan of {entries} files")).map_err(|e| of_plan(ctx, e))
}

/// Source: `DataFileMeta.creationTimeEpochMillis`; the stored time is a local one.
fn keep_created_since(live: &mut Vec<ManifestEntry>, since: i64) -> Result<()> {
    if let Some(entry) = live.iter().find(|e| e.file.creation_time.is_none()) {
        return Err(Error::unsupported("choosing files by a creation time that their manifest does not have")
            .with("file", &entry.file.file_name)
            .with("option", "scan.mode"));
    }
    live.retain(|e| e.file.creation_time.is_none_or(|created| created_instant(created) >= since));
    Ok(())
}

fn created_instant(wall_clock: i64) -> i64 {
    let local = chrono::DateTime::from_timestamp_millis(wall_clock);
    local.map_or(wall_clock, |local| local_to_instant(local.naive_utc()))
}

/// The entries of a manifest list that the filter wants, in order, as they are: nothing cancels anything.
pub(crate) fn listed_entries(
    ctx: &TableContext,
    list: NamedList<'_>,
    filter: &EntryFilter,
) -> Result<Vec<ManifestEntry>> {
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?;
    let heads = HeadFilter::new(ctx, filter)?;
    let mut manifests = store.read_list(list)?;
    manifests.retain(|m| heads.wants_manifest(m));
    let mut entries = store.read_all(&manifests, &|head| heads.wants(head))?;
    if let Some(level) = filter.min_level {
        entries.retain(|e| e.file.level >= level);
    }
    Ok(entries)
}

/// The partition as values, in the order of the partition keys.
pub(super) fn partition_values(ctx: &TableContext, partition: &[u8]) -> Result<Vec<Datum>> {
    BinaryRow::from_serialized(partition)?.datums(ctx.paths.partition_types())
}

/// The filter, prepared for many entries.
struct HeadFilter<'a> {
    ctx: &'a TableContext,
    filter: &'a EntryFilter,
    predicate: Option<Predicate>,
    selector: Option<BucketSelector>,
    /// Verdicts on partitions seen so far: there are few partitions and many entries.
    known: Mutex<HashMap<Vec<u8>, bool>>,
}

impl<'a> HeadFilter<'a> {
    fn new(ctx: &'a TableContext, filter: &'a EntryFilter) -> Result<Self> {
        let names = ctx.paths.partition_names();
        let predicate = filter.partition_predicate.as_ref().map(|p| p.relaxed(&|c| names.iter().any(|n| n == c)));
        let selector = match &filter.bucket_predicate {
            Some(predicate) => BucketSelector::new(ctx, predicate)?,
            None => None,
        };
        Ok(Self {
            ctx,
            filter,
            predicate: predicate.filter(|p| !p.is_always_true()),
            selector,
            known: Mutex::new(HashMap::new()),
        })
    }

    fn wants_manifest(&self, manifest: &ManifestFileMeta) -> bool {
        let bucket = self.filter.bucket.is_none_or(|bucket| {
            manifest.min_bucket.is_none_or(|min| min <= bucket) && manifest.max_bucket.is_none_or(|max| bucket <= max)
        });
        let level = self.filter.min_level.is_none_or(|level| manifest.max_level.is_none_or(|max| max >= level));
        bucket && level && self.may_hold_partition(manifest)
    }

    /// By the bounds of the manifest's partitions; unreadable bounds exclude nothing.
    fn may_hold_partition(&self, manifest: &ManifestFileMeta) -> bool {
        let Some(predicate) = &self.predicate else {
            return true;
        };
        let Ok(reader) = StatsReader::new(&manifest.partition_stats) else {
            return true;
        };
        let (names, types) = (self.ctx.paths.partition_names(), self.ctx.paths.partition_types());
        let bounds = |column: &str| {
            let at = names.iter().position(|n| n == column)?;
            let data_type = types.get(at)?;
            let stats = reader.column(at, data_type).ok()?;
            let max = if may_hide_nan(data_type) { Datum::Null } else { stats.max };
            let (min, max) = bounds_as_read(stats.min, max, &data_type.kind);
            Some(ColumnBounds { min, max, null_count: stats.null_count })
        };
        may_match(predicate, &bounds, manifest.num_added_files.saturating_add(manifest.num_deleted_files))
    }

    fn wants(&self, head: EntryHead<'_>) -> bool {
        self.filter.bucket.is_none_or(|bucket| bucket == head.bucket)
            && self.filter.partitions.as_ref().is_none_or(|set| set.contains(head.partition))
            && self.filter.not_partitions.as_ref().is_none_or(|set| !set.contains(head.partition))
            && self.wants_partition(head.partition)
            && self.selector.as_ref().is_none_or(|s| s.may_hold(head.bucket, head.total_buckets))
    }

    fn wants_partition(&self, partition: &[u8]) -> bool {
        let Some(predicate) = &self.predicate else {
            return true;
        };
        if let Some(verdict) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(partition) {
            return *verdict;
        }
        let names = self.ctx.paths.partition_names();
        let verdict = match partition_values(self.ctx, partition) {
            // an unreadable partition stays, and fails where its rows are read
            Err(_) => true,
            Ok(values) => {
                let types = self.ctx.paths.partition_types();
                let value = |column: &str| {
                    let at = names.iter().position(|n| n == column)?;
                    Some(as_read(values.get(at)?.clone(), &types.get(at)?.kind))
                };
                matches_datums(predicate, &value) == Some(true)
            }
        };
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(partition.to_vec(), verdict);
        verdict
    }
}
