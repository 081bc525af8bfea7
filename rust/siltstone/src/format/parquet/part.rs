//! Rows of a row group.

use std::ops::Range;

use parquet::arrow::arrow_reader::RowSelection;

/// Rows of a row group that are read.
pub(super) struct Part {
    /// Which row group.
    pub(super) group: usize,
    /// The numbers of its rows in the file.
    pub(super) rows: Range<i64>,
    /// Some of them; `None`: all.
    pub(super) selection: Option<RowSelection>,
}

impl Part {
    /// How many rows.
    pub(super) fn chosen(&self) -> usize {
        let all = || usize::try_from(self.rows.end.saturating_sub(self.rows.start)).unwrap_or(0);
        self.selection.as_ref().map_or_else(all, RowSelection::row_count)
    }
}

/// The rows of a row group that are left, by their numbers in it.
pub(super) fn selected(part: &Part) -> impl Iterator<Item = Range<usize>> {
    let all = usize::try_from(part.rows.end - part.rows.start).unwrap_or(0);
    let selection =
        part.selection.clone().unwrap_or_else(|| RowSelection::from_consecutive_ranges(std::iter::once(0..all), all));
    let mut start = 0_usize;
    Vec::from(selection).into_iter().filter_map(move |selector| {
        let range = start..start.saturating_add(selector.row_count).min(all);
        start = range.end;
        (!selector.skip && !range.is_empty()).then_some(range)
    })
}
