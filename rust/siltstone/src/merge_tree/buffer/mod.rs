//! The write buffer: rows in arrival order in, sorted and merged rows out, spilling to local disk in between.

mod ranges;
mod sort;

use std::sync::Arc;

use arrow_array::RecordBatch;

use super::{
    merge::{MergeOptions, SpillOptions, intermediate, merge, read_ahead, spill::SpilledRun},
    merge_function::MergeFunction,
};
use crate::{
    Result,
    io::{BatchStream, KvLayout, batch_bytes, joined_rows},
    row::array_bytes,
};

/// Batches with fewer rows are put together before they are sorted.
const SMALL_ROWS: usize = 1024;

/// Rows of a batch made of small ones.
const JOINED_ROWS: usize = 8 * SMALL_ROWS;

/// Bytes of small ones that are put together at most.
const JOINED_BYTES: usize = 64 << 20;

/// Bytes that sorting needs for a row: two places, and a key that is a number. Of other keys it makes copies.
const SORT_BYTES: usize = 40;

/// A result batch is at most this part of the budget, or so many bytes.
const BATCH_SHARE: usize = 32;
const LEAST_BATCH_BYTES: usize = 256 << 10;

/// Rows of a range of keys that is sorted by itself where no memory limit is set. Fewer make reading all rows for each range more
/// work than it saves, more do not stay in the processor's caches (measured on rows of ten columns: 65,536 to 1,048,576).
const RANGE_ROWS: usize = 1 << 18;
/// Bytes of a value, on an average, from which on rows are not copied into ranges first: a line of the processor's cache has no
/// other value then, and copying long ones twice is no less work (reckoned, not measured).
const LONG_VALUE: usize = 64;

/// Rows that are gathered at once where no memory limit is set, and their bytes.
const GATHERED_ROWS: usize = 1 << 20;
const GATHERED_BYTES: usize = 64 << 20;
/// The same of rows of so many bytes: copying them is most of the work, and is faster into memory that was in use before.
const GATHERED_WIDE_BYTES: usize = 8 << 20;
const WIDE: usize = 512;

/// Result batches that may wait at least.
const LEAST_AHEAD: usize = 4;

/// Runs that are merged at once, however much each of them holds.
const LEAST_RUNS: usize = 8;

/// Limits of a write buffer.
#[derive(Clone, Debug)]
pub struct WriteBufferOptions {
    /// Bytes of buffered rows before the buffer spills or asks to be flushed.
    pub budget: usize,
    /// Where to spill; `None` never spills.
    pub spill: Option<SpillOptions>,
    /// Bytes on disk before the buffer asks to be flushed.
    pub max_disk_size: u64,
    /// The budget covers what sorting and merging need as well, not only the rows.
    pub strict: bool,
    /// Rows of a result batch.
    pub batch_rows: usize,
    /// Gather rows on another thread while they are spilled.
    pub ahead: bool,
}

/// Collects key-value batches and gives them back sorted and merged.
pub struct WriteBuffer {
    layout: Arc<KvLayout>,
    function: Arc<dyn MergeFunction>,
    options: WriteBufferOptions,
    batches: Vec<RecordBatch>,
    /// small batches, to be joined
    small: Vec<RecordBatch>,
    small_rows: usize,
    small_bytes: usize,
    bytes: usize,
    rows: usize,
    /// most bytes of a row, on an average of a batch
    widest: usize,
    spilled: Vec<SpilledRun>,
    disk_bytes: u64,
}

impl WriteBuffer {
    /// An empty buffer.
    pub fn new(layout: Arc<KvLayout>, function: Arc<dyn MergeFunction>, options: WriteBufferOptions) -> Result<Self> {
        Ok(Self {
            layout,
            function,
            options,
            batches: Vec::new(),
            small: Vec::new(),
            small_rows: 0,
            small_bytes: 0,
            bytes: 0,
            rows: 0,
            widest: 0,
            spilled: Vec::new(),
            disk_bytes: 0,
        })
    }

    /// Adds rows, their sequence numbers above those of all rows before. True when the buffer is full and must be
    /// drained before more is added.
    pub fn write(&mut self, batch: RecordBatch) -> Result<bool> {
        self.write_held(batch, 0)
    }

    /// As [`Self::write`]; so many bytes of the rows are `held` by somebody else until they are drained, and take no memory here
    /// but for what sorting needs. Small batches are copied.
    pub fn write_held(&mut self, batch: RecordBatch, held: usize) -> Result<bool> {
        self.rows = self.rows.saturating_add(batch.num_rows());
        let bytes = batch_bytes(&batch);
        let is_small = batch.num_rows() < SMALL_ROWS;
        let held = if is_small { 0 } else { held };
        let sorting = if self.options.strict || held > 0 { self.sorting_bytes(&batch) } else { 0 };
        self.bytes = self.bytes.saturating_add(bytes.saturating_sub(held)).saturating_add(sorting);
        self.widest = self.widest.max(bytes.div_ceil(batch.num_rows().max(1)));
        if is_small {
            // what came before goes together while it has less than that
            if self.small_bytes.saturating_add(bytes) > JOINED_BYTES {
                self.join_small()?;
            }
            self.small_rows += batch.num_rows();
            self.small_bytes = self.small_bytes.saturating_add(bytes);
            self.small.push(batch);
            if self.small_rows >= JOINED_ROWS {
                self.join_small()?;
            }
        } else {
            // arrival order decides between rows of equal keys
            self.join_small()?;
            self.batches.push(batch);
        }
        if self.bytes < self.options.budget {
            return Ok(false);
        }
        Ok(!self.spill()?)
    }

    /// Bytes that sorting needs for some rows.
    fn sorting_bytes(&self, batch: &RecordBatch) -> usize {
        let keys = self.layout.key.iter().map(|at| batch.column(*at));
        let copied = keys.filter(|key| !key.data_type().is_primitive()).map(array_bytes);
        batch.num_rows().saturating_mul(SORT_BYTES).saturating_add(copied.fold(0, usize::saturating_add))
    }

    /// Bytes held in memory.
    pub fn memory_used(&self) -> usize {
        self.bytes
    }

    /// Rows added since the last drain.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Frees memory by spilling; false when this buffer cannot spill (any more).
    pub fn spill(&mut self) -> Result<bool> {
        let Some(spill) = self.options.spill.clone() else { return Ok(false) };
        if self.disk_bytes >= self.options.max_disk_size {
            return Ok(false);
        }
        if self.is_memory_empty() {
            return Ok(true);
        }
        if self.spilled.len() >= spill.max_fan_in || self.runs_hold_much() {
            self.join_spilled(&spill)?;
        }
        // an engine whose partial results must not be merged again keeps its records
        let merged = self.merge_memory(intermediate(&self.function))?;
        let merged = if self.options.ahead { read_ahead(merged, 2) } else { merged };
        let run = SpilledRun::write(merged, &self.layout.arrow_schema()?, &spill)?;
        self.disk_bytes = self.disk_bytes.saturating_add(run.bytes);
        self.spilled.push(run);
        Ok(true)
    }

    /// Empties the buffer: all rows since the last drain, sorted and merged.
    pub fn drain(&mut self) -> Result<BatchStream> {
        self.rows = 0;
        if self.spilled.is_empty() {
            self.disk_bytes = 0;
            return self.merge_memory(Arc::clone(&self.function));
        }
        if self.options.strict {
            // what is in memory makes room for the runs
            self.spill()?;
        }
        let spilled = std::mem::take(&mut self.spilled);
        self.disk_bytes = 0;
        let mut runs = spilled.iter().map(SpilledRun::read).collect::<Result<Vec<_>>>()?;
        if !self.is_memory_empty() {
            runs.push(self.merge_memory(intermediate(&self.function))?);
        }
        let options = MergeOptions {
            batch_rows: self.batch_rows(),
            unique_inputs: self.function.associative(),
            spill: self.options.spill.clone(),
            ..MergeOptions::default()
        };
        merge(runs, &self.layout, Arc::clone(&self.function), options)
    }

    /// Whether merging the runs would hold more than the budget.
    fn runs_hold_much(&self) -> bool {
        let memory = self.spilled.iter().map(|run| run.memory).fold(0, usize::saturating_add);
        self.options.strict && self.spilled.len() >= LEAST_RUNS && memory >= self.options.budget
    }

    /// Rows of a result batch: fewer where the budget is strict and rows are wide.
    fn batch_rows(&self) -> usize {
        let few = (self.options.budget / BATCH_SHARE).max(LEAST_BATCH_BYTES) / self.widest.max(1);
        if self.options.strict { self.options.batch_rows.min(few).max(1) } else { self.options.batch_rows }
    }

    /// Rows that are gathered at once, if they are more than those of a batch.
    fn gathered_rows(&self) -> usize {
        let bytes = if self.widest < WIDE { GATHERED_BYTES } else { GATHERED_WIDE_BYTES };
        let rows = if self.options.strict { 0 } else { bytes / self.widest.max(1) };
        rows.min(GATHERED_ROWS)
    }

    /// Rows of a range of keys that is sorted by itself.
    fn range_rows(&self) -> usize {
        let short = self.widest / self.layout.fields.len().max(1) < LONG_VALUE;
        if self.options.strict || !short { usize::MAX } else { RANGE_ROWS.min(GATHERED_BYTES / self.widest.max(1)) }
    }

    /// Result batches that may wait for whoever encodes them: half of what is gathered at once. The next rows are gathered when
    /// the others are being encoded.
    pub fn ahead(&self) -> usize {
        (self.gathered_rows() / self.batch_rows() / 2).max(LEAST_AHEAD)
    }

    /// Makes one run of the smaller half: each holds a file open, and some memory while it is read.
    fn join_spilled(&mut self, spill: &SpillOptions) -> Result<()> {
        self.spilled.sort_by_key(|run| std::cmp::Reverse(run.bytes));
        let runs = self.spilled.split_off(self.spilled.len() / 2);
        let streams = runs.iter().map(SpilledRun::read).collect::<Result<Vec<_>>>()?;
        let options = MergeOptions {
            batch_rows: self.batch_rows(),
            unique_inputs: self.function.associative(),
            ..MergeOptions::default()
        };
        let merged = merge(streams, &self.layout, intermediate(&self.function), options)?;
        let merged = if self.options.ahead { read_ahead(merged, 2) } else { merged };
        let run = SpilledRun::write(merged, &self.layout.arrow_schema()?, spill)?;
        self.spilled.push(run);
        self.disk_bytes = self.spilled.iter().map(|run| run.bytes).fold(0, u64::saturating_add);
        Ok(())
    }

    fn is_memory_empty(&self) -> bool {
        self.batches.is_empty() && self.small.is_empty()
    }

    /// Copies the small batches into one: rows that come one by one must not make sorting slow.
    fn join_small(&mut self) -> Result<()> {
        if let Some(first) = self.small.first() {
            self.batches.push(joined_rows(&first.schema(), &self.small)?);
        }
        self.small.clear();
        self.small_rows = 0;
        self.small_bytes = 0;
        Ok(())
    }

    /// The rows in memory, sorted and merged; memory is counted as free from now on.
    fn merge_memory(&mut self, function: Arc<dyn MergeFunction>) -> Result<BatchStream> {
        self.join_small()?;
        self.bytes = 0;
        let rows =
            sort::ResultRows { batch: self.batch_rows(), gathered: self.gathered_rows(), range: self.range_rows() };
        sort::merged(std::mem::take(&mut self.batches), &self.layout, function, rows)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        merge_tree::{
            merge_function::Deduplicate,
            testing::{self, Record},
        },
        row::Datum,
        types::TypeKind,
    };

    fn drained(
        rows: &[(i32, Option<i64>, i8)],
        budget: usize,
        spill: bool,
        descending: bool,
        strict: bool,
    ) -> (Vec<Record>, Vec<Record>) {
        let mut layout = testing::layout(&[TypeKind::Int, TypeKind::BigInt], &[0], &[1]);
        layout.sequence_descending = descending;
        let all: Vec<Record> = rows
            .iter()
            .zip(0..)
            .map(|((k, user, kind), sequence)| Record {
                fields: vec![Datum::Int(*k), user.map_or(Datum::Null, Datum::BigInt)],
                sequence,
                kind: *kind,
            })
            .collect();
        let dir = std::env::temp_dir().join(format!("siltstone-buffer-{}", uuid::Uuid::new_v4()));
        let spill = spill.then(|| SpillOptions { dir: dir.clone(), compress: true, max_fan_in: 3 });
        let ahead = spill.is_some();
        let options = WriteBufferOptions { budget, spill, max_disk_size: u64::MAX, strict, batch_rows: 5, ahead };
        let layout = Arc::new(layout);
        let mut buffer = WriteBuffer::new(Arc::clone(&layout), Arc::new(Deduplicate::new(false)), options).unwrap();
        for part in all.chunks(4) {
            buffer.write(testing::batch(&layout, part)).unwrap();
        }
        assert_eq!(buffer.rows(), rows.len());
        let found = testing::all_records(&layout, buffer.drain().unwrap());
        assert_eq!((buffer.rows(), buffer.memory_used()), (0, 0));
        let expected = testing::deduplicated(&layout, &all, false);
        let _ = std::fs::remove_dir_all(dir);
        (found, expected)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(150))]

        #[test]
        fn rows_come_back_sorted_and_merged_spilled_or_not(
            rows in prop::collection::vec((-20i32..20, prop::option::of(-2i64..3), 0i8..4), 0..80),
            spill in any::<bool>(), descending in any::<bool>(), strict in any::<bool>(),
        ) {
            let budget = if spill { 2000 } else { usize::MAX };
            let (found, expected) = drained(&rows, budget, spill, descending, strict);
            prop_assert_eq!(found, expected);
        }
    }

    /// A buffer that never spills.
    fn unbounded(layout: &Arc<KvLayout>) -> WriteBuffer {
        let options = WriteBufferOptions {
            budget: usize::MAX,
            spill: None,
            max_disk_size: u64::MAX,
            strict: false,
            batch_rows: 8192,
            ahead: false,
        };
        WriteBuffer::new(Arc::clone(layout), Arc::new(Deduplicate::new(false)), options).unwrap()
    }

    #[test]
    fn rows_that_come_one_by_one_are_joined() {
        let layout = Arc::new(testing::layout(&[TypeKind::Int], &[0], &[]));
        let mut buffer = unbounded(&layout);
        let record = |k: i32| Record { fields: vec![Datum::Int(k)], sequence: i64::from(k), kind: 0 };
        let all: Vec<Record> = (0..20_000).map(record).collect();
        for one in &all {
            assert!(!buffer.write(testing::batch(&layout, std::slice::from_ref(one))).unwrap());
        }
        assert_eq!((buffer.batches.len(), buffer.rows()), (2, 20_000));
        assert_eq!(testing::all_records(&layout, buffer.drain().unwrap()), all);
    }

    /// Copies of a caller's rows counted as the caller's, and were put together whatever they held.
    #[test]
    fn small_batches_are_copies_that_count_and_stay_small() {
        let layout = Arc::new(testing::layout(&[TypeKind::Int, TypeKind::VarChar(1 << 30)], &[0], &[]));
        let mut buffer = unbounded(&layout);
        let long = |k: i32| Record {
            fields: vec![Datum::Int(k), Datum::String("x".repeat(JOINED_BYTES / 2))],
            sequence: i64::from(k),
            kind: 0,
        };
        for k in 0..3 {
            let batch = testing::batch(&layout, &[long(k)]);
            buffer.write_held(batch.clone(), batch_bytes(&batch)).unwrap();
        }
        assert!(buffer.memory_used() >= 3 * (JOINED_BYTES / 2), "{}", buffer.memory_used());
        buffer.join_small().unwrap();
        assert_eq!(buffer.batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [1, 1, 1]);
    }

    #[test]
    fn a_buffer_that_cannot_spill_asks_to_be_drained() {
        let layout = Arc::new(testing::layout(&[TypeKind::Int], &[0], &[]));
        let options = WriteBufferOptions {
            budget: 1,
            spill: None,
            max_disk_size: u64::MAX,
            strict: false,
            batch_rows: 5,
            ahead: false,
        };
        let mut buffer = WriteBuffer::new(Arc::clone(&layout), Arc::new(Deduplicate::new(false)), options).unwrap();
        let record = Record { fields: vec![Datum::Int(1)], sequence: 0, kind: 0 };
        assert!(buffer.write(testing::batch(&layout, &[record])).unwrap());
        assert!(!buffer.spill().unwrap());
    }
}
