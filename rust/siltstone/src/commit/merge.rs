//! Fewer and smaller manifests for the base list: the same files, differently packed.
//!
//! ```text
//! full   the manifests that are small or hold deletions reach `manifest.full-compaction-threshold-size` together:
//!        all deletions are applied, the result holds ADD entries only; big manifests without a hit stay, and entries of
//!        level 0 keep their places among them: which rows were committed first decides between equal ones
//! minor  runs of manifests that reach `manifest.target-file-size` become one; the rest only if it has
//!        `manifest.merge-min-count`; order and unmatched deletions are kept
//! ```
//!
//! Source: semantics e.5; `ManifestFileMerger` of release 1.4.2.

use std::{
    cmp::Ordering,
    collections::{HashMap, HashSet},
};

use crate::{
    error::Result,
    manifest::{EntryId, EntryKind, ManifestEntry, ManifestFileMeta, ManifestStore, merge_entries},
    options::CoreOptions,
    row::{BinaryRow, Datum, compare_datums},
    types::DataType,
};

/// When manifests are merged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thresholds {
    pub(super) target_size: i64,
    pub(super) min_count: usize,
    pub(super) full_size: i64,
    /// The order of the files in level 0 tells who has committed first: on tables with a primary key.
    pub(super) ordered: bool,
}

impl Thresholds {
    pub(super) fn from(options: &CoreOptions, has_primary_key: bool) -> Self {
        let size = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        Self {
            target_size: size(options.manifest_target_file_size),
            min_count: options.manifest_merge_min_count,
            full_size: size(options.manifest_full_compaction_threshold_size),
            ordered: has_primary_key,
        }
    }

    fn must_change(&self, manifest: &ManifestFileMeta) -> bool {
        manifest.num_deleted_files > 0 || manifest.file_size < self.target_size
    }
}

/// The merged manifests, and the names of those that were written for it.
#[derive(Debug, Default)]
pub(super) struct Merged {
    pub(super) manifests: Vec<ManifestFileMeta>,
    pub(super) written: Vec<String>,
}

impl Merged {
    fn write(&mut self, store: &ManifestStore, entries: &[ManifestEntry]) -> Result<()> {
        if !entries.is_empty() {
            let written = store.write(entries)?;
            self.written.extend(written.iter().map(|manifest| manifest.file_name.clone()));
            self.manifests.extend(written);
        }
        Ok(())
    }
}

/// Merges manifests; on an error the files written so far are deleted.
pub(super) fn merge_manifests(
    store: &ManifestStore,
    input: &[ManifestFileMeta],
    thresholds: Thresholds,
    partition_types: &[DataType],
) -> Result<Merged> {
    let mut merged = Merged::default();
    let done = match full(store, input, thresholds, partition_types, &mut merged) {
        Ok(true) => Ok(()),
        Ok(false) => minor(store, input, thresholds, &mut merged),
        Err(error) => Err(error),
    };
    if let Err(error) = done {
        for name in &merged.written {
            let _ = store.delete(name);
        }
        return Err(error);
    }
    Ok(merged)
}

fn minor(store: &ManifestStore, input: &[ManifestFileMeta], thresholds: Thresholds, merged: &mut Merged) -> Result<()> {
    let mut group: Vec<ManifestFileMeta> = Vec::new();
    let mut size = 0_i64;
    for manifest in input {
        size = size.saturating_add(manifest.file_size);
        group.push(manifest.clone());
        if size >= thresholds.target_size {
            merge_group(store, std::mem::take(&mut group), merged)?;
            size = 0;
        }
    }
    if group.len() >= thresholds.min_count {
        merge_group(store, group, merged)
    } else {
        merged.manifests.extend(group);
        Ok(())
    }
}

fn merge_group(store: &ManifestStore, group: Vec<ManifestFileMeta>, merged: &mut Merged) -> Result<()> {
    if group.len() <= 1 {
        merged.manifests.extend(group);
        return Ok(());
    }
    let entries = merge_entries(store.read_all(&group, &|_| true)?)?;
    merged.write(store, &entries)
}

/// `false`: too little to do, nothing was written.
fn full(
    store: &ManifestStore,
    input: &[ManifestFileMeta],
    thresholds: Thresholds,
    partition_types: &[DataType],
    merged: &mut Merged,
) -> Result<bool> {
    let to_change = input.iter().filter(|manifest| thresholds.must_change(manifest));
    if to_change.map(|manifest| manifest.file_size).fold(0, i64::saturating_add) < thresholds.full_size {
        return Ok(false);
    }
    let mut deleted = deleted_entries(store, input)?;
    let partitions = PartitionBounds::of(deleted.keys().map(|id| id.partition.as_slice()), partition_types)?;
    let mut rewrites = Vec::with_capacity(input.len());
    for manifest in input {
        rewrites.push(thresholds.must_change(manifest) || partitions.may_be_in(manifest)?);
    }
    if rewrites.iter().filter(|rewrite| **rewrite).count() <= 1 {
        return Ok(false);
    }
    let mut entries: Vec<ManifestEntry> = Vec::new();
    for (manifest, rewrite) in input.iter().zip(rewrites) {
        let live = if rewrite { changed(store, manifest, thresholds, &mut deleted)? } else { None };
        if let Some(live) = live {
            entries.extend(live);
            continue;
        }
        let may_have_level0 = manifest.min_level.is_none_or(|level| level <= 0);
        if thresholds.ordered && may_have_level0 && entries.iter().any(|entry| entry.file.level <= 0) {
            merged.write(store, &std::mem::take(&mut entries))?;
        }
        merged.manifests.push(manifest.clone());
    }
    merged.write(store, &entries)?;
    Ok(true)
}

/// What is left of a manifest, after those before it; `None` when it stays as it is. Of additions that are the same, as many
/// go as there are deletions: the first ones, because each deletion stands behind what it deletes.
fn changed(
    store: &ManifestStore,
    manifest: &ManifestFileMeta,
    thresholds: Thresholds,
    deleted: &mut HashMap<EntryId, usize>,
) -> Result<Option<Vec<ManifestEntry>>> {
    let adds = store.read_where(manifest, &|head| head.kind == EntryKind::Add)?;
    let before = adds.len();
    let mut is_live = |entry: &ManifestEntry| match deleted.get_mut(&entry.id()) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    };
    let live: Vec<ManifestEntry> = adds.into_iter().filter(&mut is_live).collect();
    Ok((thresholds.must_change(manifest) || live.len() < before).then_some(live))
}

/// How often each file is deleted.
fn deleted_entries(store: &ManifestStore, input: &[ManifestFileMeta]) -> Result<HashMap<EntryId, usize>> {
    let with_deletions: Vec<ManifestFileMeta> =
        input.iter().filter(|manifest| manifest.num_deleted_files > 0).cloned().collect();
    let entries = store.read_all(&with_deletions, &|head| head.kind == EntryKind::Delete)?;
    let mut deleted = HashMap::new();
    for entry in &entries {
        *deleted.entry(entry.id()).or_default() += 1;
    }
    Ok(deleted)
}

/// Some partitions, to leave manifests alone that hold none of them.
pub(super) struct PartitionBounds<'a> {
    types: &'a [DataType],
    partitions: Vec<Vec<Datum>>,
}

impl<'a> PartitionBounds<'a> {
    pub(super) fn of<'p>(partitions: impl Iterator<Item = &'p [u8]>, types: &'a [DataType]) -> Result<Self> {
        let distinct: HashSet<&[u8]> = partitions.collect();
        let decode = |partition: &[u8]| BinaryRow::from_serialized(partition)?.datums(types);
        Ok(Self { types, partitions: distinct.into_iter().map(decode).collect::<Result<_>>()? })
    }

    /// Whether the manifest's partition statistics leave room for one of the partitions.
    pub(super) fn may_be_in(&self, manifest: &ManifestFileMeta) -> Result<bool> {
        if self.partitions.is_empty() || self.types.is_empty() {
            return Ok(!self.partitions.is_empty());
        }
        let stats = &manifest.partition_stats;
        let min = BinaryRow::from_serialized(&stats.min_values)?.datums(self.types)?;
        let max = BinaryRow::from_serialized(&stats.max_values)?.datums(self.types)?;
        let nulls = |i: usize| stats.null_counts.get(i).copied().flatten();
        let fits = |partition: &Vec<Datum>| {
            let columns = partition.iter().zip(min.iter().zip(&max)).enumerate();
            columns.into_iter().all(|(i, (value, (min, max)))| within(value, min, max, nulls(i)))
        };
        Ok(self.partitions.iter().any(fits))
    }
}

/// Whether a column with these statistics may hold the value; unknown statistics may hold anything.
fn within(value: &Datum, min: &Datum, max: &Datum, nulls: Option<i64>) -> bool {
    if value.is_null() {
        return nulls != Some(0);
    }
    let not_below = min.is_null() || compare_datums(value, min) != Ordering::Less;
    let not_above = max.is_null() || compare_datums(value, max) != Ordering::Greater;
    not_below && not_above
}
