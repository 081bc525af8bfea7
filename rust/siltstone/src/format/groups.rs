//! Reading files that are groups of rows which are decoded from their beginning: stripes of ORC, blocks of Avro.
//!
//! A format gives arrays of a group's next rows; what a reader asks for besides is here, once: groups and rows that are left
//! out, row tests, positions.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array};
use arrow_select::filter::FilterBuilder;

use super::{
    FileRead, Rows, RowsStream,
    prune::{Block, Prune, PruneColumn},
};
use crate::{
    cancel,
    error::Result,
    predicate::{ColumnBounds, may_match},
    row::Datum,
    types::DataField,
};

/// A file of such groups.
pub(super) trait Groups: Send + Sync {
    /// Rows of each group.
    fn group_rows(&self) -> &[i64];
    /// What is known of the values of a column in a group.
    fn bounds(&self, _group: usize, _column: &DataField) -> Option<ColumnBounds> {
        None
    }
    /// Starts decoding a group. Columns that the file does not have are null.
    fn open(&self, group: usize, columns: &[DataField]) -> Result<Box<dyn GroupRows>>;
}

/// A group that is being decoded.
pub(super) trait GroupRows: Send {
    /// The next rows, `most` or fewer, but not none: their number, and an array of each column.
    fn next(&mut self, most: usize) -> Result<(usize, Vec<ArrayRef>)>;
    /// Passes over rows.
    fn skip(&mut self, mut rows: usize) -> Result<()> {
        while rows > 0 {
            let (passed, _) = self.next(rows.min(SKIPPED_AT_ONCE))?;
            rows = rows.saturating_sub(passed);
        }
        Ok(())
    }
}

/// Rows that are decoded at once to be passed over.
const SKIPPED_AT_ONCE: usize = 1024;

/// Starts reading.
pub(super) fn read(file: Arc<dyn Groups>, request: FileRead) -> RowsStream {
    let mut parts = VecDeque::new();
    let mut start = 0_i64;
    for (group, rows) in file.group_rows().iter().enumerate() {
        let all = start..start.saturating_add(*rows);
        start = all.end;
        if all.is_empty() || request.prune.as_ref().is_some_and(|prune| !group_may_match(&*file, group, *rows, prune)) {
            continue;
        }
        let wanted = wanted_rows(&all, request.rows.as_deref());
        if !wanted.is_empty() {
            parts.push_back(Part { group, start: all.start, wanted: wanted.into() });
        }
    }
    let mut columns = request.columns.clone();
    let tested = request.row_test.as_ref().map(|test| {
        let place = |column: &DataField| {
            columns.iter().position(|c| c == column).unwrap_or_else(|| {
                columns.push(column.clone());
                columns.len() - 1
            })
        };
        test.columns.iter().map(place).collect()
    });
    Box::new(Reader { file, request, columns, tested: tested.unwrap_or_default(), parts, open: None })
}

/// The groups as blocks.
pub(super) fn blocks(file: &dyn Groups, columns: &[Option<DataField>]) -> Vec<Block> {
    let mut start = 0_i64;
    let block = |(group, rows): (usize, &i64)| {
        let rows = start..start.saturating_add(*rows);
        start = rows.end;
        let of_column = |column: &Option<DataField>| {
            let bounds = column.as_ref().and_then(|column| file.bounds(group, column));
            bounds.map_or((Datum::Null, Datum::Null), |bounds| (bounds.min, bounds.max))
        };
        Block { rows, bounds: columns.iter().map(of_column).collect() }
    };
    file.group_rows().iter().enumerate().map(block).collect()
}

fn group_may_match(file: &dyn Groups, group: usize, rows: i64, prune: &Prune) -> bool {
    let bounds = |name: &str| match prune.columns.get(name)? {
        PruneColumn::Missing => Some(ColumnBounds { min: Datum::Null, max: Datum::Null, null_count: Some(rows) }),
        PruneColumn::Stored(field) => file.bounds(group, field),
    };
    may_match(&prune.predicate, &bounds, rows)
}

/// The wanted ones of a group's rows.
fn wanted_rows(all: &Range<i64>, wanted: Option<&[Range<i64>]>) -> Vec<Range<i64>> {
    let Some(wanted) = wanted else { return vec![all.clone()] };
    let first = wanted.partition_point(|r| r.end <= all.start);
    let inside = wanted.iter().skip(first).take_while(|r| r.start < all.end);
    inside.map(|r| r.start.max(all.start)..r.end.min(all.end)).filter(|r| !r.is_empty()).collect()
}

/// A group with the rows of it that are wanted.
struct Part {
    group: usize,
    /// Number of the group's first row.
    start: i64,
    wanted: VecDeque<Range<i64>>,
}

/// A group that is read.
struct OpenGroup {
    rows: Box<dyn GroupRows>,
    /// Number of the next row.
    at: i64,
    wanted: VecDeque<Range<i64>>,
}

struct Reader {
    file: Arc<dyn Groups>,
    request: FileRead,
    /// Those of the request, then others that the row test needs.
    columns: Vec<DataField>,
    /// Places of the row test's columns.
    tested: Vec<usize>,
    parts: VecDeque<Part>,
    open: Option<OpenGroup>,
}

impl Reader {
    fn decode(&mut self) -> Result<Option<Rows>> {
        loop {
            cancel::check()?;
            let Some(open) = &mut self.open else {
                let Some(part) = self.parts.pop_front() else { return Ok(None) };
                let rows = self.file.open(part.group, &self.columns)?;
                self.open = Some(OpenGroup { rows, at: part.start, wanted: part.wanted });
                continue;
            };
            let Some(next) = open.wanted.front_mut() else {
                self.open = None;
                continue;
            };
            if open.at < next.start {
                let skipped = usize::try_from(next.start - open.at).unwrap_or(usize::MAX);
                open.rows.skip(skipped)?;
                open.at = next.start;
            }
            let left = usize::try_from(next.end - open.at).unwrap_or(usize::MAX);
            let (count, columns) = open.rows.next(left.min(self.request.batch_rows).max(1))?;
            let first = open.at;
            open.at = open.at.saturating_add(i64::try_from(count).unwrap_or(i64::MAX));
            if open.at >= next.end {
                open.wanted.pop_front();
            }
            // a decoder is not kept until somebody asks for more
            if open.wanted.is_empty() {
                self.open = None;
            }
            let positions = self.request.position.then(|| Int64Array::from_iter_values((first..).take(count)));
            if let Some(rows) = self.tested_rows(Rows { count, columns, positions })? {
                return Ok(Some(rows));
            }
        }
    }

    /// The rows that pass; `None`: no row does.
    fn tested_rows(&self, mut rows: Rows) -> Result<Option<Rows>> {
        let Some(test) = &self.request.row_test else { return Ok(Some(rows)) };
        let columns = self.tested.iter().filter_map(|at| rows.columns.get(*at)).map(Arc::clone).collect();
        let asked = Rows { count: rows.count, columns, positions: rows.positions.clone() };
        let passed = (test.test)(&asked)?;
        rows.columns.truncate(self.request.columns.len());
        let passed = without_nulls(&passed);
        match passed.true_count() {
            0 => Ok(None),
            all if all == rows.count => Ok(Some(rows)),
            count => {
                let filter = FilterBuilder::new(&passed).optimize().build();
                let columns = rows.columns.iter().map(|column| Ok(filter.filter(column)?)).collect::<Result<_>>()?;
                let kept = |positions: &Int64Array| {
                    let kept = passed.values().set_indices().filter_map(|i| positions.values().get(i));
                    Int64Array::from_iter_values(kept.copied())
                };
                Ok(Some(Rows { count, columns, positions: rows.positions.as_ref().map(kept) }))
            }
        }
    }
}

fn without_nulls(passed: &BooleanArray) -> BooleanArray {
    match passed.nulls() {
        None => passed.clone(),
        Some(nulls) => BooleanArray::new(passed.values() & nulls.inner(), None),
    }
}

impl Iterator for Reader {
    type Item = Result<Rows>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = self.decode();
        if rows.is_err() {
            self.open = None;
            self.parts.clear();
        }
        rows.transpose()
    }
}
