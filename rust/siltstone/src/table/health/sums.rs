//! Sums over the live files of a version: of levels, buckets and classes of sizes.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};

use super::super::{
    Table,
    system::{partitions::types, text},
};
use crate::{
    Result, cancel,
    deletion_vectors::DELETION_VECTORS,
    limits::sum,
    manifest::{IndexManifestEntry, ManifestEntry},
};

/// After so many entries there is a look at whether to stop.
const ASK_ENTRIES: usize = 4096;

/// All files together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "counts and sums by their names")]
pub struct TotalFigures {
    pub files: usize,
    pub rows: i64,
    pub bytes: i64,
    pub retractions: i64,
    /// Rows that deletion vectors delete.
    pub deleted_rows: i64,
    /// Rows that no batch read shows before a compaction.
    pub waiting_rows: i64,
    pub buckets: usize,
    pub partitions: usize,
}

/// Files of one level of all buckets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "counts and sums by their names")]
pub struct LevelFigures {
    pub level: i32,
    pub files: usize,
    pub rows: i64,
    pub bytes: i64,
    /// Sorted runs; 0 without a primary key.
    pub runs: usize,
}

/// One bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "counts and sums by their names")]
pub struct BucketFigures {
    /// As `$files` shows it.
    pub partition: String,
    pub bucket: i32,
    pub files: usize,
    pub rows: i64,
    pub bytes: i64,
    pub runs: usize,
    pub deleted_rows: i64,
    /// Bytes of each level.
    pub levels: BTreeMap<i32, i64>,
}

/// Files whose sizes lie between two powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeClass {
    /// The smallest size of the class.
    pub least_bytes: i64,
    /// Files above level 0, or of a table without a primary key.
    pub files: usize,
    /// Files of level 0.
    pub fresh: usize,
}

/// The whole part of the binary logarithm of a size; of 0 it is 0.
pub(super) fn power(size: i64) -> u32 {
    size.max(1).ilog2()
}

/// A partition's bytes and a bucket.
type Place<'a> = (&'a [u8], i32);

/// Files of one level of a bucket, or of all its levels.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    files: usize,
    rows: i64,
    bytes: i64,
    runs: usize,
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.rows = self.rows.saturating_add(other.rows);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.runs += other.runs;
    }
}

/// What a bucket has on each of its levels, of which there are few.
#[derive(Debug, Default)]
struct Levels(Vec<(i32, Sum)>);

impl Levels {
    fn add(&mut self, level: i32, one: Sum) {
        match self.0.iter_mut().find(|(known, _)| *known == level) {
            Some((_, sum)) => sum.add(one),
            None => self.0.push((level, one)),
        }
    }

    fn whole(&self) -> Sum {
        let mut whole = Sum::default();
        self.0.iter().for_each(|(_, sum)| whole.add(*sum));
        whole
    }
}

/// The sums, which refer to the entries.
#[derive(Debug)]
pub(super) struct Sums<'a> {
    table: &'a Table,
    buckets: HashMap<Place<'a>, Levels>,
    deleted: HashMap<Place<'a>, i64>,
    /// By power of two: files, and those of level 0 of trees.
    sizes: BTreeMap<u32, (usize, usize)>,
    retractions: i64,
    waiting_rows: i64,
}

impl<'a> Sums<'a> {
    /// One pass over the files, and one over the index files.
    pub(super) fn of(table: &'a Table, live: &'a [ManifestEntry], index: &'a [IndexManifestEntry]) -> Result<Self> {
        let keyed = table.context().schema.has_primary_key();
        let skips_level_0 = table.skips_level_0();
        let (mut buckets, mut sizes) = (HashMap::<Place<'a>, Levels>::new(), BTreeMap::<u32, (usize, usize)>::new());
        let (mut retractions, mut waiting_rows) = (0_i64, 0_i64);
        for (at, ManifestEntry { partition, bucket, file, .. }) in live.iter().enumerate() {
            if at % ASK_ENTRIES == 0 {
                cancel::check()?;
            }
            let levels = buckets.entry((partition, *bucket)).or_default();
            levels.add(file.level, Sum { files: 1, rows: file.row_count, bytes: file.file_size, runs: 0 });
            let (files, fresh) = sizes.entry(power(file.file_size)).or_default();
            *(if keyed && file.level == 0 { fresh } else { files }) += 1;
            retractions = retractions.saturating_add(file.delete_row_count.unwrap_or(0));
            if *bucket < 0 || (skips_level_0 && file.level == 0) {
                waiting_rows = waiting_rows.saturating_add(file.row_count);
            }
        }
        if keyed {
            // each file of level 0 is a run
            let sums = buckets.values_mut().flat_map(|levels| &mut levels.0);
            sums.for_each(|(level, sum)| sum.runs = if *level == 0 { sum.files } else { 1 });
        }
        let mut deleted = HashMap::<Place<'a>, i64>::new();
        for entry in index.iter().filter(|entry| entry.index_type == DELETION_VECTORS) {
            let rows = sum(entry.deletion_vectors.iter().flatten().filter_map(|range| range.cardinality));
            let known = deleted.entry((&entry.partition, entry.bucket)).or_default();
            *known = known.saturating_add(rows);
        }
        Ok(Self { table, buckets, deleted, sizes, retractions, waiting_rows })
    }

    /// All files together; partitions are counted elsewhere.
    pub(super) fn totals(&self) -> TotalFigures {
        let mut whole = Sum::default();
        self.buckets.values().for_each(|levels| whole.add(levels.whole()));
        TotalFigures {
            files: whole.files,
            rows: whole.rows,
            bytes: whole.bytes,
            retractions: self.retractions,
            deleted_rows: sum(self.deleted.values().copied()),
            waiting_rows: self.waiting_rows,
            buckets: self.buckets.len(),
            partitions: 0,
        }
    }

    /// Sums of each level.
    pub(super) fn levels(&self) -> Vec<LevelFigures> {
        let mut levels = BTreeMap::<i32, Sum>::new();
        for (level, sum) in self.buckets.values().flat_map(|levels| &levels.0) {
            levels.entry(*level).or_default().add(*sum);
        }
        let figures = |(level, Sum { files, rows, bytes, runs })| LevelFigures { level, files, rows, bytes, runs };
        levels.into_iter().map(figures).collect()
    }

    /// Classes of sizes that have files.
    pub(super) fn sizes(&self) -> Vec<SizeClass> {
        let class = |(power, (files, fresh)): (&u32, &(usize, usize))| SizeClass {
            least_bytes: 1 << power,
            files: *files,
            fresh: *fresh,
        };
        self.sizes.iter().map(class).collect()
    }

    /// Some buckets: those with the most runs, and then bytes; of equal ones the first by their names.
    pub(super) fn largest(&self, shown: usize) -> Result<Vec<BucketFigures>> {
        let types = types(self.table);
        let sized = self.buckets.iter().map(|(place, levels)| (*place, levels, levels.whole()));
        let largest = largest(sized, shown, |(_, _, whole)| (whole.runs, whole.bytes));
        let mut named = Vec::with_capacity(largest.len());
        for ((partition, bucket), levels, Sum { files, rows, bytes, runs }) in largest {
            let deleted_rows = self.deleted.get(&(partition, bucket)).copied().unwrap_or(0);
            let levels = levels.0.iter().map(|(level, sum)| (*level, sum.bytes)).collect();
            let partition = text::partition(partition, &types)?;
            named.push(BucketFigures { partition, bucket, files, rows, bytes, runs, deleted_rows, levels });
        }
        let order = |b: &BucketFigures| (Reverse((b.runs, b.bytes)), b.partition.clone(), b.bucket);
        named.sort_by_cached_key(order);
        named.truncate(shown);
        Ok(named)
    }
}

/// The largest so many of some things, and all that are as large as the smallest of these: they have an order among them only
/// when they have names.
pub(super) fn largest<T, K: Ord + Copy>(
    things: impl Iterator<Item = T>,
    shown: usize,
    size: impl Fn(&T) -> K,
) -> Vec<T> {
    let mut all: Vec<T> = things.collect();
    if let Some(last) = shown.checked_sub(1).filter(|last| *last < all.len()) {
        let least = size(all.select_nth_unstable_by_key(last, |thing| Reverse(size(thing))).1);
        all.retain(|thing| size(thing) >= least);
    }
    all
}
