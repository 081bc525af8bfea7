//! Bounds of the partitions of a manifest, which let readers skip it.

use super::Check;
use crate::{
    error::Result,
    manifest::{ManifestEntry, ManifestFileMeta},
    row::{BinaryRow, compare_datums, datum_to_text},
    stats::decode_stats,
};

impl Check<'_> {
    /// In words, the partition values that lie outside of the bounds that the manifest list says.
    pub(super) fn outside_partitions(
        &self,
        meta: &ManifestFileMeta,
        entries: &[ManifestEntry],
    ) -> Result<Option<String>> {
        let (names, types) = (self.ctx.paths.partition_names(), self.ctx.paths.partition_types());
        let stats = decode_stats(&meta.partition_stats, types)?;
        let all = i64::try_from(entries.len()).unwrap_or(i64::MAX);
        let mut last: Option<&[u8]> = None;
        for entry in entries {
            // most entries are in the partition of the one before
            if last.replace(&entry.partition) == Some(&entry.partition) {
                continue;
            }
            let values = BinaryRow::from_serialized(&entry.partition)?.datums(types)?;
            for (((value, stats), kind), name) in values.iter().zip(&stats).zip(types).zip(names) {
                let below = !stats.min.is_null() && compare_datums(value, &stats.min).is_lt();
                let above = !stats.max.is_null() && compare_datums(value, &stats.max).is_gt();
                let outside = if value.is_null() {
                    stats.null_count == Some(0)
                } else {
                    below || above || stats.null_count.is_some_and(|nulls| nulls >= all)
                };
                if outside {
                    let text = if value.is_null() { "null".to_owned() } else { datum_to_text(value, kind) };
                    return Ok(Some(format!("the partition {name} = {text} is outside of what the list says")));
                }
            }
        }
        Ok(None)
    }
}
