//! Partitions by their age and size.

use std::{cmp::Reverse, collections::BTreeMap};

use super::{
    super::{
        Table,
        system::partitions::{Sum, by_partition, name, with_other_branch},
    },
    HealthArgs, VersionSelector,
    sums::{largest, power},
};
use crate::{Result, manifest::ManifestEntry, scan::LastWrites};

const HOUR: i64 = 3_600_000;

/// Partitions of about the same age and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionClass {
    /// Which class of ages: the first whose end lies behind the time since their last write.
    pub age: usize,
    /// The smallest size of the class, a power of two.
    pub least_bytes: i64,
    /// How many.
    pub partitions: usize,
    /// Their size, together.
    pub bytes: i64,
}

/// One of the largest partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LargePartition {
    /// As `$partitions` shows it.
    pub partition: String,
    /// Data files.
    pub files: i64,
    /// Rows in them.
    pub rows: i64,
    /// Their bytes.
    pub bytes: i64,
    /// When the newest was written, milliseconds of local time.
    pub last_write: Option<i64>,
}

/// Those of a table, of which reads may take some from another branch.
#[derive(Debug, Default)]
pub(super) struct PartitionFigures {
    pub(super) count: usize,
    pub(super) classes: Vec<PartitionClass>,
    pub(super) largest: Vec<LargePartition>,
}

impl PartitionFigures {
    /// Of the live files of a version.
    pub(super) fn of(
        table: &Table,
        args: &HealthArgs,
        version: Option<(&[ManifestEntry], &LastWrites)>,
    ) -> Result<Self> {
        if table.context().schema.partition_keys.is_empty() {
            return Ok(Self::default());
        }
        let selector = args.snapshot.map_or(VersionSelector::Latest, VersionSelector::Snapshot);
        let sums = match (with_other_branch(table, &selector)?, version) {
            (Some(both), _) => both,
            (None, Some((live, writes))) => by_partition(live, writes),
            (None, None) => return Ok(Self::default()),
        };
        let largest = largest(sums.iter(), args.shown, |(_, sum)| sum.bytes);
        let mut named = Vec::with_capacity(largest.len());
        for ((partition, _), Sum { rows, bytes, files, newest }) in largest {
            named.push(LargePartition {
                partition: name(table, partition)?,
                files: *files,
                rows: *rows,
                bytes: *bytes,
                last_write: *newest,
            });
        }
        named.sort_by_cached_key(|p| (Reverse(p.bytes), p.partition.clone()));
        named.truncate(args.shown);
        Ok(Self { count: sums.len(), classes: classes(sums.values(), args), largest: named })
    }
}

fn classes<'a>(sums: impl Iterator<Item = &'a Sum>, args: &HealthArgs) -> Vec<PartitionClass> {
    let mut found = BTreeMap::<(usize, u32), (usize, i64)>::new();
    for sum in sums {
        let (partitions, bytes) = found.entry((age(sum.newest, args), power(sum.bytes))).or_default();
        *partitions += 1;
        *bytes = bytes.saturating_add(sum.bytes);
    }
    let class =
        |((age, power), (partitions, bytes))| PartitionClass { age, least_bytes: 1_i64 << power, partitions, bytes };
    found.into_iter().map(class).collect()
}

/// The class of a last write; of an unknown one it is the last.
fn age(written: Option<i64>, args: &HealthArgs) -> usize {
    let hours = written.map(|written| args.now.saturating_sub(written) / HOUR);
    hours.and_then(|hours| args.ages.iter().position(|end| hours < *end)).unwrap_or(args.ages.len())
}
