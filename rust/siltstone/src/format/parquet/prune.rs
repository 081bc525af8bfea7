//! Row groups and pages that a predicate rules out by their statistics.

use std::{
    cmp::Ordering,
    collections::{HashMap, HashSet},
    ops::Range,
};

use parquet::{
    arrow::arrow_reader::RowSelection,
    data_type::{ByteArray, FixedLenByteArray},
    file::{
        metadata::{ParquetMetaData, RowGroupMetaData},
        page_index::{column_index::ColumnIndexMetaData, offset_index::PageLocation},
        statistics::{Statistics, ValueStatistics},
    },
    schema::types::SchemaDescriptor,
};

use super::{
    super::prune::{Block, Prune, PruneColumn},
    bounds::from_statistics,
    schema::{Int96As, schema_with},
};
use crate::{
    cancel,
    error::Result,
    predicate::{ColumnBounds, Predicate, may_match},
    row::{Datum, compare_datums},
    types::{DataField, DataType, TypeKind},
};

/// Prunes one file.
pub(crate) struct Pruner<'a> {
    prune: &'a Prune,
    metadata: &'a ParquetMetaData,
    /// Column name of the predicate to leaf, for stored columns whose leaf has the expected form.
    leaves: HashMap<&'a str, (usize, &'a DataType)>,
    /// The writer keeps NaN out of bounds, or rather: leaves no bounds where there is NaN.
    float_bounds: bool,
}

impl<'a> Pruner<'a> {
    pub(crate) fn new(prune: &'a Prune, metadata: &'a ParquetMetaData) -> Self {
        let schema = metadata.file_metadata().schema_descr();
        let wanted: HashSet<&str> = prune.columns.values().filter_map(stored_name).collect();
        let mut named: HashMap<&str, Vec<usize>> = HashMap::new();
        for (leaf, column) in schema.columns().iter().enumerate() {
            if let [name] = column.path().parts()
                && wanted.contains(name.as_str())
            {
                named.entry(name).or_default().push(leaf);
            }
        }
        let leaves = prune.columns.iter().filter_map(|(name, column)| match column {
            PruneColumn::Stored(field) => {
                let leaf = leaf_of(schema, named.get(field.name.as_str())?, field)?;
                Some((name.as_str(), (leaf, &field.data_type)))
            }
            PruneColumn::Missing => None,
        });
        let writer = metadata.file_metadata().created_by().unwrap_or_default();
        let float_bounds = writer.starts_with("parquet-mr") || writer.starts_with("siltstone");
        Self { prune, metadata, leaves: leaves.collect(), float_bounds }
    }

    /// Row groups that may have matching rows.
    pub(crate) fn row_groups(&self) -> Result<Vec<usize>> {
        let mut left = Vec::new();
        for (i, group) in self.metadata.row_groups().iter().enumerate() {
            cancel::check()?;
            if self.group_may_match(group) {
                left.push(i);
            }
        }
        Ok(left)
    }

    fn group_may_match(&self, group: &RowGroupMetaData) -> bool {
        let rows = group.num_rows();
        let bounds = |name: &str| match self.prune.columns.get(name)? {
            PruneColumn::Missing => Some(all_null(rows)),
            PruneColumn::Stored(_) => {
                let (leaf, t) = self.leaves.get(name)?;
                let statistics = group.columns().get(*leaf)?.statistics()?;
                Some(self.bounds(statistics, t))
            }
        };
        may_match(&self.prune.predicate, &bounds, rows)
    }

    /// The leaf of a stored column, and its type.
    pub(super) fn leaf(&self, name: &str) -> Option<(usize, &'a DataType)> {
        self.leaves.get(name).copied()
    }

    pub(super) fn bounds(&self, statistics: &Statistics, t: &DataType) -> ColumnBounds {
        let mut bounds = from_statistics(statistics, t);
        if !self.float_bounds && matches!(t.kind, TypeKind::Float | TypeKind::Double) {
            // NaN is the greatest value and may be there unseen
            bounds.max = Datum::Null;
        }
        bounds
    }

    /// Rows of the kept row groups that lie in pages which may match; `None` when no page can be skipped.
    pub(crate) fn pages(&self, row_groups: &[usize]) -> Result<Option<RowSelection>> {
        let mut selected: Option<RowSelection> = None;
        for part in conjuncts(&self.prune.predicate) {
            let names = part.columns();
            let mut names = names.iter();
            let (Some(name), None) = (names.next(), names.next()) else { continue };
            let Some((leaf, t)) = self.leaves.get(&**name) else { continue };
            let mut ranges = Vec::new();
            let mut start = 0;
            for group in row_groups {
                let rows = self.metadata.row_groups().get(*group).map_or(0, RowGroupMetaData::num_rows);
                let rows = usize::try_from(rows).unwrap_or(0);
                match self.matching_pages(part, name, *group, *leaf, t, rows)? {
                    Some(pages) => ranges.extend(pages.into_iter().map(|r| r.start + start..r.end + start)),
                    None => ranges.push(start..start + rows),
                }
                start += rows;
            }
            let new = RowSelection::from_consecutive_ranges(ranges.into_iter(), start);
            selected = Some(match selected {
                Some(old) => old.intersection(&new),
                None => new,
            });
        }
        Ok(selected.filter(|s| s.skipped_row_count() > 0))
    }

    /// Row ranges of one column's pages that may match a condition on it; `None` without a page index.
    fn matching_pages(
        &self,
        part: &Predicate,
        name: &str,
        group: usize,
        leaf: usize,
        t: &DataType,
        rows: usize,
    ) -> Result<Option<Vec<Range<usize>>>> {
        let index = self.metadata.column_index().and_then(|groups| groups.get(group)?.get(leaf));
        let (Some(index), Some(locations)) = (index, page_locations(self.metadata, group, leaf)) else {
            return Ok(None);
        };
        let mut ranges = Vec::new();
        for page in 0..locations.len() {
            ask_at(page)?;
            let known = page_rows(locations, page, rows).zip(page_statistics(index, page, locations.len()));
            let Some((range, statistics)) = known else { return Ok(None) };
            let count = i64::try_from(range.len()).unwrap_or(i64::MAX);
            let of_page = self.bounds(&statistics, t);
            let bounds = |column: &str| (column == name).then(|| of_page.clone());
            if may_match(part, &bounds, count) {
                ranges.push(range);
            }
        }
        Ok(Some(ranges))
    }
}

/// How many pages are looked at between two looks at whether to stop.
const ASK_EVERY: usize = 1024;

/// A file may have many pages.
pub(super) fn ask_at(page: usize) -> Result<()> {
    if page.is_multiple_of(ASK_EVERY) { cancel::check() } else { Ok(()) }
}

/// The pages of the first column as blocks; a row group without a page index is one block.
pub(crate) fn blocks(metadata: &ParquetMetaData, columns: &[Option<DataField>]) -> Result<Vec<Block>> {
    let stored = columns.iter().flatten().map(|f| (f.name.clone(), PruneColumn::Stored(f.clone()))).collect();
    let prune = Prune { predicate: Predicate::Constant(true), columns: stored };
    let pruner = Pruner::new(&prune, metadata);
    let mut blocks = Vec::new();
    let mut start = 0;
    for (group, head) in metadata.row_groups().iter().enumerate() {
        let rows = usize::try_from(head.num_rows()).unwrap_or(0);
        let pages = |column: &Option<DataField>| pruner.page_bounds(column.as_ref()?, group, rows);
        let of_columns: Vec<Vec<PageBounds>> = columns
            .iter()
            .map(|column| {
                cancel::check()?;
                Ok(pages(column).unwrap_or_else(|| vec![pruner.group_bounds(column.as_ref(), head, rows)]))
            })
            .collect::<Result<_>>()?;
        for (page, (range, _)) in of_columns.first().into_iter().flatten().enumerate() {
            ask_at(page)?;
            let bounds = of_columns.iter().map(|pages| bounds_within(pages, range)).collect();
            let at = |row: usize| start + i64::try_from(row).unwrap_or(i64::MAX);
            blocks.push(Block { rows: at(range.start)..at(range.end), bounds });
        }
        start += head.num_rows();
    }
    Ok(blocks)
}

/// Rows of a row group, and the least and greatest value in them.
type PageBounds = (Range<usize>, (Datum, Datum));

/// The bounds of all pages that have some of these rows. Pages follow one another: there may be very many.
fn bounds_within(pages: &[PageBounds], rows: &Range<usize>) -> (Datum, Datum) {
    let mut all: Option<(Datum, Datum)> = None;
    let first = pages.partition_point(|(page, _)| page.end <= rows.start);
    for (_, (min, max)) in pages.iter().skip(first).take_while(|(page, _)| page.start < rows.end) {
        all = Some(match all {
            None => (min.clone(), max.clone()),
            Some((low, high)) => (outer(low, min, Ordering::Less), outer(high, max, Ordering::Greater)),
        });
    }
    all.unwrap_or((Datum::Null, Datum::Null))
}

/// The one of two bounds that lies further out; unknown when either is.
fn outer(a: Datum, b: &Datum, direction: Ordering) -> Datum {
    match (&a, b) {
        (Datum::Null, _) | (_, Datum::Null) => Datum::Null,
        _ if compare_datums(b, &a) == direction => b.clone(),
        _ => a,
    }
}

impl Pruner<'_> {
    fn page_bounds(&self, column: &DataField, group: usize, rows: usize) -> Option<Vec<PageBounds>> {
        let (leaf, t) = self.leaves.get(column.name.as_str())?;
        let index = self.metadata.column_index()?.get(group)?.get(*leaf)?;
        let locations = page_locations(self.metadata, group, *leaf)?;
        let page = |page: usize| {
            let bounds = self.bounds(&page_statistics(index, page, locations.len())?, t);
            Some((page_rows(locations, page, rows)?, (bounds.min, bounds.max)))
        };
        (0..locations.len()).map(page).collect()
    }

    fn group_bounds(&self, column: Option<&DataField>, group: &RowGroupMetaData, rows: usize) -> PageBounds {
        let bounds = column.and_then(|column| {
            let (leaf, t) = self.leaves.get(column.name.as_str())?;
            let bounds = self.bounds(group.columns().get(*leaf)?.statistics()?, t);
            Some((bounds.min, bounds.max))
        });
        (0..rows, bounds.unwrap_or((Datum::Null, Datum::Null)))
    }
}

fn all_null(rows: i64) -> ColumnBounds {
    ColumnBounds { min: Datum::Null, max: Datum::Null, null_count: Some(rows) }
}

fn conjuncts(predicate: &Predicate) -> Vec<&Predicate> {
    match predicate {
        Predicate::And(parts) => parts.iter().flat_map(conjuncts).collect(),
        other => vec![other],
    }
}

/// The name in the file.
fn stored_name(column: &PruneColumn) -> Option<&str> {
    match column {
        PruneColumn::Stored(field) => Some(&field.name),
        PruneColumn::Missing => None,
    }
}

/// The leaf of a top-level column, when it is stored in the form that its type calls for; `named`: the leaves of its name.
fn leaf_of(schema: &SchemaDescriptor, named: &[usize], field: &DataField) -> Option<usize> {
    if field.data_type.is_nested() {
        return None;
    }
    let expected = schema_with(std::slice::from_ref(field), Int96As::Int96).ok()?;
    let expected = expected.columns().first()?;
    let fits = |leaf: &usize| {
        let Some(column) = schema.columns().get(*leaf) else { return false };
        column.physical_type() == expected.physical_type()
            && column.max_rep_level() == 0
            && match column.logical_type_ref() {
                None => column.converted_type() == expected.converted_type(),
                stored => stored == expected.logical_type_ref(),
            }
    };
    named.iter().copied().find(fits)
}

/// Where the pages of a column chunk lie; `None` without an index, or with one that leaves rows before its first page out.
pub(super) fn page_locations(metadata: &ParquetMetaData, group: usize, leaf: usize) -> Option<&[PageLocation]> {
    let locations = metadata.offset_index()?.get(group)?.get(leaf)?.page_locations();
    locations.first().is_some_and(|page| page.first_row_index == 0).then_some(locations.as_slice())
}

pub(super) fn page_rows(locations: &[PageLocation], page: usize, rows: usize) -> Option<Range<usize>> {
    let start = usize::try_from(locations.get(page)?.first_row_index).ok()?;
    let end = match locations.get(page + 1) {
        Some(next) => usize::try_from(next.first_row_index).ok()?,
        None => rows,
    };
    (start <= end && end <= rows).then_some(start..end)
}

/// The entry of a page in the column index in the form of chunk statistics; `None` where there is none.
pub(super) fn page_statistics(index: &ColumnIndexMetaData, page: usize, pages: usize) -> Option<Statistics> {
    // the parquet crate panics when an absent index is asked for its pages
    if matches!(index, ColumnIndexMetaData::NONE) || usize::try_from(index.num_pages()).ok()? != pages {
        return None;
    }
    let nulls = index.null_count(page).and_then(|n| u64::try_from(n).ok());
    Some(match index {
        ColumnIndexMetaData::NONE => return None,
        ColumnIndexMetaData::INT96(_) => Statistics::int96(None, None, None, nulls, false),
        ColumnIndexMetaData::BOOLEAN(i) => {
            Statistics::boolean(i.min_value(page).copied(), i.max_value(page).copied(), None, nulls, false)
        }
        ColumnIndexMetaData::INT32(i) => {
            Statistics::int32(i.min_value(page).copied(), i.max_value(page).copied(), None, nulls, false)
        }
        ColumnIndexMetaData::INT64(i) => {
            Statistics::int64(i.min_value(page).copied(), i.max_value(page).copied(), None, nulls, false)
        }
        ColumnIndexMetaData::FLOAT(i) => {
            Statistics::float(i.min_value(page).copied(), i.max_value(page).copied(), None, nulls, false)
        }
        ColumnIndexMetaData::DOUBLE(i) => {
            Statistics::double(i.min_value(page).copied(), i.max_value(page).copied(), None, nulls, false)
        }
        ColumnIndexMetaData::BYTE_ARRAY(i) => {
            let (min, max) = (i.min_value(page).map(owned), i.max_value(page).map(owned));
            Statistics::ByteArray(ValueStatistics::new(min, max, None, nulls, false))
        }
        ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(i) => {
            let fixed = |bytes: &[u8]| FixedLenByteArray::from(owned(bytes));
            let (min, max) = (i.min_value(page).map(fixed), i.max_value(page).map(fixed));
            Statistics::FixedLenByteArray(ValueStatistics::new(min, max, None, nulls, false))
        }
    })
}

fn owned(bytes: &[u8]) -> ByteArray {
    ByteArray::from(bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_within_rows_are_those_of_the_pages_that_have_some_of_them() {
        let page = |rows: Range<usize>, min, max| (rows, (Datum::Int(min), Datum::Int(max)));
        let unknown = (5..9, (Datum::Int(1), Datum::Null));
        let pages = [page(0..3, 4, 6), page(3..3, -9, 9), page(3..5, 2, 5), unknown];
        for (rows, min, max) in [
            (0..3, Datum::Int(4), Datum::Int(6)),
            (2..4, Datum::Int(-9), Datum::Int(9)),
            (4..5, Datum::Int(2), Datum::Int(5)),
            (4..6, Datum::Int(1), Datum::Null),
            (9..12, Datum::Null, Datum::Null),
        ] {
            assert_eq!(bounds_within(&pages, &rows), (min, max), "{rows:?}");
        }
    }
}
