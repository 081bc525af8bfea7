//! Bounds of the partitions of a manifest, which let readers skip it.

use super::Check;
use crate::{
    error::Result,
    manifest::{ManifestEntry, ManifestFileMeta},
    row::{BinaryRow, compare_datums, datum_to_text},
    stats::StatsReader,
};

impl Check<'_> {
    /// In words, the partition values that lie outside of the bounds that the manifest list says.
    pub(super) fn outside_partitions(
        &self,
        meta: &ManifestFileMeta,
        entries: &[ManifestEntry],
    ) -> Result<Option<String>> {
        let (names, types) = (self.ctx.paths.partition_names(), self.ctx.paths.partition_types());
        let bounds = StatsReader::new(&meta.partition_stats)?;
        let stats = types.iter().enumerate().map(|(at, kind)| bounds.column(at, kind)).collect::<Result<Vec<_>>>()?;
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
                if !value.is_null() && (below || above) {
                    let text = datum_to_text(value, kind);
                    return Ok(Some(format!("the partition {name} = {text} is outside of what the list says")));
                }
            }
        }
        Ok(None)
    }
}
