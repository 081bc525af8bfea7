//! Ids of rows (row tracking): each is given once, and the next one is above all of them.

use std::ops::Range;

use super::{Check, RESTORE};
use crate::{
    io::{TableContext, row_ids},
    manifest::ManifestEntry,
    path::format_of,
    snapshot::Snapshot,
};

impl Check<'_> {
    /// The ids that the entries of live files say. Rows that were written again have theirs in the file.
    pub(super) fn row_ids(&mut self, ctx: &TableContext, place: &str, version: &Snapshot, live: &[ManifestEntry]) {
        // values of large columns lie apart, in files of other lengths
        let has_rows = |entry: &&ManifestEntry| format_of(&entry.file.file_name) != Some("blob");
        let mut files: Vec<(Range<i64>, &str)> = live
            .iter()
            .filter(has_rows)
            .filter_map(|entry| Some((row_ids(&entry.file)?, entry.file.file_name.as_str())))
            .collect();
        let next = version.next_row_id.unwrap_or(0);
        if let Some((ids, name)) = files.iter().find(|(ids, _)| ids.end > next) {
            let message = format!("{name} has rows up to id {}, the next one is said to be {next}", ids.end - 1);
            self.verdict.problem("wrong-next-row-id", place, message, RESTORE);
        }
        files.sort_by_key(|(ids, _)| (ids.start, ids.end));
        for pair in files.windows(2) {
            let [(before, first), (ids, second)] = pair else { continue };
            let same = ctx.options.data_evolution_enabled && before == ids;
            if ids.start < before.end && !same {
                let message = format!("row id {} is in {first} and in {second}", ids.start);
                self.verdict.problem("row-id-twice", place, message, RESTORE);
            }
        }
    }
}
