//! Rows of a file in parts that are decoded side by side.
//!
//! ```text
//! rows that the condition leaves   ████████████████████░░░░░░████████████
//! pages of the largest column      ├────┼────┼────┼────┼────┼────┼────┼──┤
//! parts                            └───────────┘└──────────────────────┘
//! ```
//!
//! A part begins with a page of the largest column: that one is decoded once. A page of another column may be decoded for two
//! parts.

use std::ops::Range;

use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};

use super::{
    super::prune::Prune,
    part::selected,
    project::{counting_leaf, project},
    prune::page_locations,
    reader::ParquetFile,
};
use crate::{error::Result, types::DataField};

/// Rows of a part.
const ROWS: usize = 131_072;
/// A part has fewer where it would hold more than this before it is decompressed to arrays.
const BYTES: u64 = 16 << 20;
/// Parts of fewer rows are not worth it.
const FEW: usize = 4096;

impl ParquetFile {
    /// Numbers of the rows that a condition leaves, part by part; `None`: rows cannot be found without those before them, or
    /// are large.
    pub(super) fn parts(&self, columns: &[DataField], prune: Option<&Prune>) -> Result<Option<Vec<Vec<Range<i64>>>>> {
        let (metadata, parts) = self.left_by(prune)?;
        let root = metadata.file_metadata().schema_descr().root_schema();
        let mut leaves = project(root, columns).leaves;
        leaves.extend(counting_leaf(&metadata).filter(|_| leaves.is_empty()));
        let Some(rows) = rows_of_a_part(&metadata, &leaves) else { return Ok(None) };
        let mut divided = Divided { rows, parts: Vec::new(), room: 0 };
        for part in parts {
            match page_starts(&metadata, part.group, &leaves) {
                Some(pages) => selected(&part).for_each(|range| divided.add(range, part.rows.start, &pages)),
                // a row group is read as a whole
                None if part.selection.is_none() => divided.add_whole(part.rows),
                None => return Ok(None),
            }
        }
        Ok(Some(divided.parts))
    }
}

/// How many rows of these columns a part has.
fn rows_of_a_part(metadata: &ParquetMetaData, leaves: &[usize]) -> Option<usize> {
    let groups = metadata.row_groups();
    let bytes = groups.iter().flat_map(|group| leaves.iter().filter_map(|leaf| group.columns().get(*leaf)));
    let bytes = bytes.map(|chunk| u64::try_from(chunk.uncompressed_size()).unwrap_or(0)).fold(0, u64::saturating_add);
    let rows = groups.iter().map(RowGroupMetaData::num_rows).fold(0, i64::saturating_add);
    let fitting = BYTES.saturating_mul(u64::try_from(rows).ok()?).checked_div(bytes).unwrap_or(u64::MAX);
    Some(usize::try_from(fitting).unwrap_or(usize::MAX).min(ROWS)).filter(|rows| *rows >= FEW)
}

/// The first row of each page of the column that has most bytes in a row group, where every column says it.
fn page_starts(metadata: &ParquetMetaData, group: usize, leaves: &[usize]) -> Option<Vec<usize>> {
    let chunks = metadata.row_groups().get(group)?.columns();
    let largest = leaves.iter().max_by_key(|leaf| chunks.get(**leaf).map(ColumnChunkMetaData::compressed_size))?;
    if !leaves.iter().all(|leaf| page_locations(metadata, group, *leaf).is_some()) {
        return None;
    }
    let pages = page_locations(metadata, group, *largest)?;
    let starts: Option<Vec<usize>> = pages.iter().map(|page| usize::try_from(page.first_row_index).ok()).collect();
    starts.filter(|starts| starts.is_sorted())
}

/// Parts so far.
struct Divided {
    rows: usize,
    parts: Vec<Vec<Range<i64>>>,
    /// How many rows the last part still takes.
    room: usize,
}

impl Divided {
    /// Rows of a row group that begins with row `first` of the file.
    fn add(&mut self, mut range: Range<usize>, first: i64, pages: &[usize]) {
        let number = |row: usize| first.saturating_add(i64::try_from(row).unwrap_or(i64::MAX));
        while !range.is_empty() {
            if self.room == 0 {
                self.parts.push(Vec::new());
                self.room = self.rows;
            }
            let full = range.start.saturating_add(self.room);
            let next = pages.get(pages.partition_point(|start| *start < full));
            let end = next.map_or(range.end, |start| range.end.min(*start));
            if let Some(part) = self.parts.last_mut() {
                part.push(number(range.start)..number(end));
            }
            self.room = self.room.saturating_sub(end - range.start);
            range.start = end;
        }
    }

    fn add_whole(&mut self, rows: Range<i64>) {
        self.parts.push(vec![rows]);
        self.room = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First row and end of each range.
    fn divided(rows: usize, ranges: &[(usize, usize)], pages: &[usize]) -> Vec<Vec<(i64, i64)>> {
        let mut divided = Divided { rows, parts: Vec::new(), room: 0 };
        for (start, end) in ranges {
            divided.add(*start..*end, 1000, pages);
        }
        let ends = |part: Vec<Range<i64>>| part.into_iter().map(|range| (range.start, range.end)).collect();
        divided.parts.into_iter().map(ends).collect()
    }

    #[test]
    fn parts_begin_with_a_page_and_have_all_rows() {
        let pages = [0, 10, 20, 30];
        assert_eq!(divided(15, &[(0, 35)], &pages), [[(1000, 1020)], [(1020, 1035)]]);
        let each = [[(1000, 1010)], [(1010, 1020)], [(1020, 1030)], [(1030, 1035)]];
        assert_eq!(divided(10, &[(0, 35)], &pages), each);
        assert_eq!(divided(100, &[(0, 35)], &pages), [[(1000, 1035)]]);
        // what lies between is skipped, and counts for no part
        let some = [(3, 5), (9, 12), (31, 35)];
        assert_eq!(divided(9, &some, &pages), [[(1003, 1005), (1009, 1012), (1031, 1035)]]);
        assert_eq!(divided(5, &some, &pages), [vec![(1003, 1005), (1009, 1012)], vec![(1031, 1035)]]);
    }
}
