//! Bounds of the partitions of a manifest, which let readers skip it.

use std::cmp::Ordering;

use crate::{
    error::Result,
    manifest::{ManifestEntry, ManifestFileMeta},
    path::PathFactory,
    row::{BinaryRow, Datum, compare_datums, datum_to_text},
    stats::decode_stats,
    types::DataType,
};

fn is_out(value: &Datum, bound: &Datum, side: Ordering) -> bool {
    !value.is_null() && !bound.is_null() && compare_datums(value, bound) == side
}

/// The values of one partition column in a manifest.
#[derive(Debug)]
pub(super) struct PartitionRange {
    least: Datum,
    greatest: Datum,
    has_null: bool,
}

impl PartitionRange {
    /// One for each partition column.
    pub(super) fn of(types: &[DataType], entries: &[ManifestEntry]) -> Result<Vec<Self>> {
        let empty = || Self { least: Datum::Null, greatest: Datum::Null, has_null: false };
        let mut ranges: Vec<Self> = types.iter().map(|_| empty()).collect();
        let mut last: Option<&[u8]> = None;
        for entry in entries {
            // most entries are in the partition of the one before
            if last.replace(&entry.partition) == Some(&entry.partition) {
                continue;
            }
            let values = BinaryRow::from_serialized(&entry.partition)?.datums(types)?;
            ranges.iter_mut().zip(values).for_each(|(range, value)| range.add(value));
        }
        Ok(ranges)
    }

    fn add(&mut self, value: Datum) {
        if value.is_null() {
            self.has_null = true;
            return;
        }
        if self.least.is_null() || compare_datums(&value, &self.least).is_lt() {
            self.least = value.clone();
        }
        if self.greatest.is_null() || compare_datums(&value, &self.greatest).is_gt() {
            self.greatest = value;
        }
    }

    /// In words, a partition value that lies outside of what a manifest list says. `entries`: how many the manifest has.
    pub(super) fn outside(
        ranges: &[Self],
        entries: i64,
        paths: &PathFactory,
        says: &ManifestFileMeta,
    ) -> Result<Option<String>> {
        let types = paths.partition_types();
        let stats = decode_stats(&says.partition_stats, types)?;
        for (((range, stats), kind), name) in ranges.iter().zip(&stats).zip(types).zip(paths.partition_names()) {
            let all_null = !range.least.is_null() && stats.null_count.is_some_and(|nulls| nulls >= entries);
            let value = if all_null || is_out(&range.least, &stats.min, Ordering::Less) {
                Some(datum_to_text(&range.least, kind))
            } else if is_out(&range.greatest, &stats.max, Ordering::Greater) {
                Some(datum_to_text(&range.greatest, kind))
            } else {
                (range.has_null && stats.null_count == Some(0)).then(|| "null".to_owned())
            };
            if let Some(value) = value {
                return Ok(Some(format!("the partition {name} = {value} is outside of what the list says")));
            }
        }
        Ok(None)
    }
}
