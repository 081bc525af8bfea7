//! Where the pages of some rows lie: those beside one another are read together.

use std::ops::Range;

use parquet::file::metadata::ParquetMetaData;

use super::{
    part::{Part, selected},
    prune::page_locations,
};

/// What is this near to each other is read together.
pub(super) const GAP: u64 = 16 * 1024;

/// Bytes of a column chunk that have pages of the rows of a part, ascending; `None`: it is not said where its pages lie.
pub(super) fn runs(metadata: &ParquetMetaData, part: &Part, leaf: usize) -> Option<Vec<Range<u64>>> {
    let pages = page_locations(metadata, part.group, leaf)?;
    let mut runs: Vec<Range<u64>> = Vec::new();
    let mut next = 0;
    for rows in selected(part) {
        let begins = |row: usize| move |page: &_| begins_before(page, row);
        // the page that has the first row begins before it, or with it
        let first = pages.partition_point(begins(rows.start.saturating_add(1))).saturating_sub(1).max(next);
        let end = pages.partition_point(begins(rows.end));
        for page in pages.get(first..end).unwrap_or_default() {
            let start = u64::try_from(page.offset).ok()?;
            let end = start.checked_add(u64::try_from(page.compressed_page_size).ok()?)?;
            match runs.last_mut() {
                Some(last) if start < last.end => return None,
                Some(last) if start - last.end <= GAP => last.end = end,
                _ => runs.push(start..end),
            }
        }
        next = end.max(next);
    }
    Some(runs)
}

fn begins_before(page: &parquet::file::page_index::offset_index::PageLocation, row: usize) -> bool {
    usize::try_from(page.first_row_index).is_ok_and(|first| first < row)
}
