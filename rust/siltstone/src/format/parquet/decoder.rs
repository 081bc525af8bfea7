//! The decoders of one row group after another. Each has its own: decoders of several would make up for a column that ends early
//! with rows of the next one.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use arrow_array::Int64Array;
use arrow_buffer::BooleanBuffer;
use parquet::{
    arrow::{
        ProjectionMask,
        arrow_reader::{
            ArrowPredicateFn, ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
            RowFilter, RowSelectionPolicy,
        },
    },
    file::metadata::RowGroupMetaData,
};

use super::{
    chunks::Chunks,
    counted::{Counted, row_filter},
    guard::guarded,
    measure::{Measured, measure},
    part::Part,
    shape::Shape,
    views::Slices,
};
use crate::{
    error::{Error, ErrorKind, Result},
    format::TestRows,
    limits,
};

/// Bytes of rows of which some are taken out.
const AT_ONCE: u64 = 32 << 20;
/// So few rows follow one another, passed or not, on average.
const FEW_TOGETHER: usize = 8;

/// Row numbers of the rows to come.
#[derive(Clone)]
pub(super) struct Positions {
    ranges: VecDeque<Range<i64>>,
    /// Which of them come, and how many were asked about; `None`: all.
    passed: Option<(BooleanBuffer, usize)>,
}

impl Positions {
    pub(super) fn new(part: &Part) -> Self {
        let Some(selection) = &part.selection else {
            return Self { ranges: [part.rows.clone()].into(), passed: None };
        };
        let (mut ranges, mut start) = (VecDeque::new(), part.rows.start);
        for selector in selection.iter() {
            let count = i64::try_from(selector.row_count).unwrap_or(i64::MAX);
            let end = start.saturating_add(count).min(part.rows.end);
            if !selector.skip {
                ranges.push_back(start..end);
            }
            start = end;
        }
        Self { ranges, passed: None }
    }

    /// Of these rows only those come that have passed a condition.
    fn after_test(self, passed: BooleanBuffer) -> Self {
        Self { passed: Some((passed, 0)), ..self }
    }

    /// The numbers of the next rows; fewer where there are no more.
    pub(super) fn take_numbers(&mut self, count: usize) -> Int64Array {
        let mut numbers = Vec::with_capacity(count);
        while numbers.len() < count {
            let Some(range) = self.ranges.front_mut() else { break };
            match &mut self.passed {
                None => {
                    let wanted = i64::try_from(count - numbers.len()).unwrap_or(i64::MAX);
                    let end = range.end.min(range.start.saturating_add(wanted));
                    numbers.extend(range.start..end);
                    range.start = end;
                }
                Some((passed, at)) => {
                    if *at < passed.len() && passed.value(*at) {
                        numbers.push(range.start);
                    }
                    *at += 1;
                    range.start += 1;
                }
            }
            if range.start >= range.end {
                self.ranges.pop_front();
            }
        }
        Int64Array::from(numbers)
    }
}

/// A condition and the columns that it asks for.
pub(super) struct Tested {
    pub(super) test: TestRows,
    pub(super) shape: Arc<Shape>,
    pub(super) mask: ProjectionMask,
}

/// What is the same for all row groups of a read.
pub(super) struct Decoder {
    pub(super) described: ArrowReaderMetadata,
    pub(super) mask: ProjectionMask,
    pub(super) tested: Option<Tested>,
    /// All columns that are decoded.
    pub(super) leaves: Vec<usize>,
    pub(super) batch_rows: usize,
    /// Whether to say where in the file each row is.
    pub(super) position: bool,
}

/// The decoders of a row group.
pub(super) struct Open {
    pub(super) reader: ParquetRecordBatchReader,
    /// How many rows must come.
    pub(super) rows: usize,
    pub(super) read: usize,
    pub(super) positions: Option<Positions>,
    /// What values of a batch may need beside its pages.
    pub(super) batch_bytes: u64,
    /// Rows that were decoded, and have not come yet.
    pub(super) slices: Slices,
    /// Where the first of its columns begins in the file.
    offset: u64,
}

impl Open {
    /// An error of its bytes, which says where they are.
    pub(super) fn located(&self, error: Error) -> Error {
        located(error, self.offset)
    }
}

/// Decoders do not say in which page they have found something: where the row group begins is known.
fn located(error: Error, offset: u64) -> Error {
    let unknown = error.kind() == ErrorKind::CorruptFile && error.context_value("offset").is_none();
    if unknown { error.with("offset", offset) } else { error }
}

impl Decoder {
    /// Begins with these rows; a condition is asked about all of them.
    pub(super) fn open(&self, chunks: &Chunks, part: Part) -> Result<Open> {
        let offset = self.offset(part.group);
        self.opened(chunks, part, offset).map_err(|e| located(e, offset))
    }

    fn offset(&self, group: usize) -> u64 {
        let columns = self.described.metadata().row_groups().get(group).map(RowGroupMetaData::columns);
        let first = |leaf: &usize| {
            let column = columns?.get(*leaf)?;
            u64::try_from(column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset())).ok()
        };
        self.leaves.iter().filter_map(first).min().unwrap_or(0)
    }

    fn opened(&self, chunks: &Chunks, part: Part, offset: u64) -> Result<Open> {
        let chosen = part.chosen();
        if self.tested.is_some() {
            // a bit for each row, of the decoder and of the positions
            limits::ask(chosen.div_ceil(4), format_args!("testing {chosen} rows of a row group"))
                .map_err(|e| e.with("file", chunks.path()))?;
        }
        let metadata = self.described.metadata();
        let Measured { rows: batch_rows, bytes: batch_bytes } =
            measure(chunks, metadata, part.group, &self.leaves, self.batch_rows.min(chosen))?;
        chunks.begin_batch(batch_bytes)?;
        let counted = Counted::new(chosen);
        let positions = self.position.then(|| Positions::new(&part));
        let reader = guarded(chunks, || {
            let mut builder =
                ParquetRecordBatchReaderBuilder::new_with_metadata(chunks.clone(), self.described.clone())
                    .with_batch_size(batch_rows)
                    .with_row_groups(vec![part.group])
                    .with_projection(self.mask.clone());
            if let Some(selection) = part.selection {
                builder = builder.with_row_selection(selection);
            }
            if let Some(tested) = &self.tested {
                let counted = counted.clone();
                let predicate = row_filter(tested, positions.clone(), chunks.clone(), counted, batch_bytes);
                let predicate = ArrowPredicateFn::new(tested.mask.clone(), predicate);
                let policy = self.skipping(part.group, chosen, batch_rows, batch_bytes);
                builder = builder
                    .with_row_filter(RowFilter::new(vec![Box::new(predicate)]))
                    .with_row_selection_policy(policy);
            }
            builder.build()
        })?;
        chunks.end_batch();
        let slices = Slices::default();
        if self.tested.is_none() {
            return Ok(Open { reader, rows: chosen, read: 0, positions, batch_bytes, slices, offset });
        }
        let (rows, passed) = counted.passed(chunks.path())?;
        let positions = positions.map(|all| all.after_test(passed));
        Ok(Open { reader, rows, read: 0, positions, batch_bytes, slices, offset })
    }

    /// How rows that do not pass the condition are passed over. Where few rows follow one another, it is faster to decode all of
    /// them and take out those that have passed; but then a batch may take as many rows as there are between its first and its
    /// last one.
    fn skipping(&self, group: usize, chosen: usize, batch_rows: usize, batch_bytes: u64) -> RowSelectionPolicy {
        let of_group = self.described.metadata().row_groups().get(group);
        let columns = of_group.iter().flat_map(|g| self.leaves.iter().filter_map(|leaf| g.columns().get(*leaf)));
        let bytes =
            columns.map(|c| u64::try_from(c.uncompressed_size()).unwrap_or(u64::MAX)).fold(0, u64::saturating_add);
        let rows = of_group.map_or(0, |group| usize::try_from(group.num_rows()).unwrap_or(0)).max(1);
        let of_rows = u128::from(bytes) * wide(chosen) / wide(rows);
        let of_batches = u128::from(batch_bytes) * wide(chosen.div_ceil(batch_rows.max(1)));
        if of_rows.max(of_batches) > u128::from(AT_ONCE) {
            return RowSelectionPolicy::Selectors;
        }
        // what lies before and behind these rows of the row group counts for the average
        RowSelectionPolicy::Auto { threshold: FEW_TOGETHER.saturating_mul(rows.div_ceil(chosen.max(1))) }
    }
}

fn wide(rows: usize) -> u128 {
    u128::try_from(rows).unwrap_or(u128::MAX)
}

#[cfg(test)]
mod tests {
    use parquet::arrow::arrow_reader::RowSelector;

    use super::*;

    #[test]
    fn positions_are_those_of_the_rows_that_come() {
        let part = |selection| Part { group: 1, rows: 100..110, selection };
        let take = |mut positions: Positions, counts: &[usize]| -> Vec<Vec<i64>> {
            counts.iter().map(|count| positions.take_numbers(*count).values().to_vec()).collect()
        };
        assert_eq!(part(None).chosen(), 10);
        assert_eq!(take(Positions::new(&part(None)), &[1, 0, 99]), [vec![100], vec![], (101..110).collect()]);
        let selectors =
            vec![RowSelector::skip(1), RowSelector::select(3), RowSelector::skip(4), RowSelector::select(2)];
        let some = part(Some(selectors.into()));
        assert_eq!(some.chosen(), 5);
        assert_eq!(take(Positions::new(&some), &[2, 2, 2]), [vec![101, 102], vec![103, 108], vec![109]]);
        let passed = BooleanBuffer::from(vec![false, true, true, false, true]);
        let tested = Positions::new(&some).after_test(passed);
        assert_eq!(take(tested, &[1, 2, 1]), [vec![102], vec![103, 109], vec![]]);
    }
}
