//! Leaving out files by their statistics, as far as merging allows it (semantics f.2).
//!
//! A file whose rows cannot satisfy a condition on the *key* may always go: its keys are of no interest. By *other*
//! columns a file may go only when no other file has its keys, because without it an older row of the same key would
//! come back. Otherwise the files that share keys go together or stay together, and go only under an engine that
//! returns rows as they were written.

use std::collections::BTreeMap;

use super::{
    bounds::FileTester,
    sections::{Section, sections_of},
    split::BucketFiles,
};
use crate::{
    cancel,
    error::Result,
    io::{TableContext, row_groups},
    manifest::{BucketId, ManifestEntry},
    predicate::Predicate,
    threads::try_map,
};

/// So many entries are looked at by one thread: waking others takes longer.
const FEW: usize = 64;

/// Tells of a file by itself whether it may hold rows of interest.
pub(super) struct EntryTester<'a> {
    files: FileTester<'a>,
    condition: &'a Predicate,
    of_keys: Predicate,
    /// Other files may have the keys of this one.
    merged: bool,
}

impl<'a> EntryTester<'a> {
    /// `disjoint_levels`: no two files share keys.
    pub(super) fn new(ctx: &'a TableContext, condition: &'a Predicate, disjoint_levels: bool) -> Self {
        let keys = ctx.schema.trimmed_primary_keys();
        let merged = !keys.is_empty() && !disjoint_levels;
        Self { files: FileTester::new(ctx), condition, of_keys: condition.relaxed(&|c| keys.contains(&c)), merged }
    }

    pub(super) fn may_match(&self, entry: &ManifestEntry) -> Result<bool> {
        Ok((self.of_keys.is_always_true() || self.files.may_match_key(entry, &self.of_keys)?)
            && (self.merged || self.condition.is_always_true() || self.files.may_match_value(entry, self.condition)?))
    }
}

/// Groups entries by bucket, without those that hold no row of interest. `disjoint_levels`: no two files share keys.
pub(super) fn buckets_of_interest(
    ctx: &TableContext,
    entries: Vec<ManifestEntry>,
    condition: &Predicate,
    disjoint_levels: bool,
) -> Result<Vec<BucketFiles>> {
    if ctx.options.data_evolution_enabled {
        return row_groups_of_interest(ctx, entries, condition);
    }
    let tester = EntryTester::new(ctx, condition, disjoint_levels);
    let kept = retain(entries, |entry| tester.may_match(entry))?;
    let buckets = by_bucket(kept);
    let by_value = tester.merged && !condition.is_always_true();
    let pruned = buckets.into_iter().map(|(id, entries)| {
        cancel::check()?;
        let total_buckets = entries.first().map_or(-1, |e| e.total_buckets);
        let entries = if by_value { prune_sections(ctx, &tester.files, entries, condition)? } else { entries };
        Ok(BucketFiles { id, total_buckets, files: entries.into_iter().map(|e| e.file).collect() })
    });
    let pruned: Vec<BucketFiles> = pruned.collect::<Result<_>>()?;
    Ok(pruned.into_iter().filter(|b| !b.files.is_empty()).collect())
}

/// Entries by bucket; those of a table with one are not copied.
fn by_bucket(entries: Vec<ManifestEntry>) -> BTreeMap<BucketId, Vec<ManifestEntry>> {
    let id = |entry: &ManifestEntry| BucketId { partition: entry.partition.clone(), bucket: entry.bucket };
    let is_of = |first: &ManifestEntry, entry: &ManifestEntry| {
        (first.bucket, &first.partition) == (entry.bucket, &entry.partition)
    };
    if let Some(first) = entries.first()
        && entries.iter().all(|entry| is_of(first, entry))
    {
        return BTreeMap::from([(id(first), entries)]);
    }
    let mut buckets: BTreeMap<BucketId, Vec<ManifestEntry>> = BTreeMap::new();
    for entry in entries {
        buckets.entry(id(&entry)).or_default().push(entry);
    }
    buckets
}

/// As [`buckets_of_interest`], where columns of the same rows are in several files, which go or stay together.
fn row_groups_of_interest(
    ctx: &TableContext,
    entries: Vec<ManifestEntry>,
    condition: &Predicate,
) -> Result<Vec<BucketFiles>> {
    let tester = FileTester::new(ctx);
    let mut buckets: BTreeMap<BucketId, BucketFiles> = BTreeMap::new();
    for entry in entries {
        let id = BucketId { partition: entry.partition, bucket: entry.bucket };
        let of_bucket = || BucketFiles { id: id.clone(), total_buckets: entry.total_buckets, files: Vec::new() };
        buckets.entry(id.clone()).or_insert_with(of_bucket).files.push(entry.file);
    }
    let mut kept = Vec::new();
    for bucket in buckets.into_values() {
        cancel::check()?;
        let mut files = Vec::new();
        for group in row_groups(ctx, bucket.files)? {
            if condition.is_always_true() || tester.may_match_group(&group, condition)? {
                files.extend(group.into_files());
            }
        }
        kept.push(BucketFiles { files, ..bucket });
    }
    kept.retain(|bucket| !bucket.files.is_empty());
    Ok(kept)
}

fn retain(
    mut entries: Vec<ManifestEntry>,
    keep: impl Fn(&ManifestEntry) -> Result<bool> + Sync + Send,
) -> Result<Vec<ManifestEntry>> {
    let verdicts = if entries.len() < FEW { entries.iter().map(keep).collect() } else { try_map(&entries, keep) };
    let mut verdicts = verdicts?.into_iter();
    entries.retain(|_| verdicts.next().unwrap_or(true));
    Ok(entries)
}

fn prune_sections(
    ctx: &TableContext,
    tester: &FileTester<'_>,
    entries: Vec<ManifestEntry>,
    condition: &Predicate,
) -> Result<Vec<ManifestEntry>> {
    let mut matching = Vec::new();
    for entry in &entries {
        if tester.may_match_value(entry, condition)? {
            matching.push(entry.file.file_name.clone());
        }
    }
    if matching.len() == entries.len() {
        return Ok(entries);
    }
    let rows_as_written = ctx.options.merge_engine.chooses_rows();
    let files: Vec<_> = entries.iter().map(|e| e.file.clone()).collect();
    let mut kept: Vec<String> = Vec::new();
    for section in sections_of(ctx, &files)? {
        kept.extend(kept_of(&section, &matching, rows_as_written));
    }
    Ok(entries.into_iter().filter(|e| kept.contains(&e.file.file_name)).collect())
}

/// Names of the section's files that must be read.
fn kept_of(section: &Section, matching: &[String], rows_as_written: bool) -> Vec<String> {
    let names = section.files().map(|f| f.file_name.clone());
    if section.needs_no_merge() {
        return names.filter(|n| matching.contains(n)).collect();
    }
    let names: Vec<String> = names.collect();
    if rows_as_written && !names.iter().any(|n| matching.contains(n)) { Vec::new() } else { names }
}
