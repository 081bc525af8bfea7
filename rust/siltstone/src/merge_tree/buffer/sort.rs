//! Sorting and merging key-value batches in memory: key, user sequence fields, arrival.
//!
//! Rows are sorted as (prefix, batch, row) triples, so that most comparisons look at one number. One integer key
//! is sorted by its bytes, without comparing at all. The winners of equal keys are gathered once, batch by batch, when
//! they are asked for.
#![allow(clippy::indexing_slicing, reason = "the triples are made from the batches they point into")]

use std::{cmp::Ordering, sync::Arc};

use arrow_array::RecordBatch;
use rayon::slice::ParallelSliceMut;

use super::ranges::{Ranges, key_ranges};
use crate::{
    Error, ErrorKind, Result, cancel,
    io::{BatchStream, KvLayout},
    merge_tree::{
        merge::{
            batch_builder::BatchBuilder,
            key::{KeyCodec, KeyShape, with_codec},
            source_batch::{SourceBatch, SourceBatchFactory, tie_order},
        },
        merge_function::{Choice, MergeFunction},
    },
    threads::in_pool,
};

/// From this many rows on, comparisons are shared among cores.
const PARALLEL_ROWS: usize = 1 << 15;

/// One of so many rows asks while it is compared whether the sort is to stop.
const ASK_ROWS: u32 = 256;

/// Rows of a result batch, how many are gathered at once, and how many are sorted at once. Columns are gathered one after another: of many rows, which lie
/// anywhere, those of one column come from the processor's cache when its lines are asked for again.
#[derive(Clone, Copy)]
pub(super) struct ResultRows {
    pub(super) batch: usize,
    pub(super) gathered: usize,
    pub(super) range: usize,
}

/// Where a row is, and a number that orders like its key as far as it goes.
#[derive(Clone, Copy)]
struct RowRef {
    prefix: u64,
    batch: u32,
    row: u32,
}

/// The rows of some batches in merge order, merged by an engine. Sequence numbers must rise with arrival.
pub(super) fn merged(
    batches: Vec<RecordBatch>,
    layout: &KvLayout,
    function: Arc<dyn MergeFunction>,
    rows: ResultRows,
) -> Result<BatchStream> {
    let shape = KeyShape::of(layout)?;
    let ranges = with_codec!(shape, layout, |codec| key_ranges(&codec, &batches, rows.range)?);
    let Some(ranges) = ranges else { return sorted(batches, layout, function, rows) };
    let layout = layout.clone();
    Ok(Box::new(Ranges::new(batches, ranges, move |range| sorted(vec![range], &layout, Arc::clone(&function), rows))))
}

/// The rows of some batches in merge order.
fn sorted(
    batches: Vec<RecordBatch>,
    layout: &KvLayout,
    function: Arc<dyn MergeFunction>,
    rows: ResultRows,
) -> Result<BatchStream> {
    let factory = SourceBatchFactory::new(layout)?;
    // rows that an engine computes come in small batches, whose memory is counted
    let gathered = if function.choice() == Choice::Computed { rows.batch } else { rows.gathered.max(rows.batch) };
    let rows = ResultRows { gathered, ..rows };
    let mut assembler = BatchBuilder::new(layout.arrow_schema()?, function, false, rows.batch);
    assembler.slots = batches.into_iter().map(|b| factory.slot(b, 0)).collect::<Result<Vec<_>>>()?;
    let by_user = !layout.sequence.is_empty();
    let shape = KeyShape::of(layout)?;
    Ok(with_codec!(shape, layout, |codec| {
        let (keys, order) = sort(&codec, &assembler.slots, by_user)?;
        rows_of(&codec, assembler, keys, order, rows)
    }))
}

fn sort<C: KeyCodec>(codec: &C, slots: &[SourceBatch], by_user: bool) -> Result<(Vec<C::Keys>, Vec<RowRef>)>
where
    C::Keys: Sync,
{
    let keys = slots.iter().map(|slot| codec.encode(&slot.batch)).collect::<Result<Vec<_>>>()?;
    let mut order = places::<C>(slots, &keys)?;
    if C::EXACT && !by_user {
        return Ok((keys, sort_by_bytes(order)?));
    }
    let compare = |a: &RowRef, b: &RowRef| {
        let (i, j) = (a.batch as usize, b.batch as usize);
        let (x, y) = (a.row as usize, b.row as usize);
        a.prefix
            .cmp(&b.prefix)
            .then_with(|| if C::EXACT { Ordering::Equal } else { C::compare(&keys[i], x, &keys[j], y) })
            .then_with(|| if by_user { tie_order(&slots[i], x, &slots[j], y) } else { Ordering::Equal })
            .then_with(|| (i, x).cmp(&(j, y)))
    };
    if order.len() < PARALLEL_ROWS {
        order.sort_unstable_by(compare);
        return Ok((keys, order));
    }
    let parallel = |ask: &(dyn Fn(&RowRef) + Sync)| {
        in_pool(|| {
            order.par_sort_unstable_by(|a, b| {
                ask(a);
                compare(a, b)
            });
        });
    };
    cancel::stoppable(parallel, |place| place.row % ASK_ROWS == 0)?;
    Ok((keys, order))
}

fn places<C: KeyCodec>(slots: &[SourceBatch], keys: &[C::Keys]) -> Result<Vec<RowRef>> {
    let rows: usize = slots.iter().map(|s| s.batch.num_rows()).sum();
    let mut order = Vec::with_capacity(rows);
    for (batch, (slot, keys)) in slots.iter().zip(keys).enumerate() {
        let batch = u32::try_from(batch).map_err(|_| too_many())?;
        let rows = u32::try_from(slot.batch.num_rows()).map_err(|_| too_many())?;
        order.extend((0..rows).map(|row| RowRef { prefix: C::prefix(keys, row as usize), batch, row }));
    }
    Ok(order)
}

/// Radix sort by prefix, least byte first; equal prefixes stay in arrival order. Bytes that all rows share are skipped.
fn sort_by_bytes(mut order: Vec<RowRef>) -> Result<Vec<RowRef>> {
    let sorted = order.windows(2).all(|w| w[0].prefix <= w[1].prefix);
    let Some(first) = order.first().copied().filter(|_| !sorted) else { return Ok(order) };
    let differing = order.iter().fold(0, |bits, place| bits | (place.prefix ^ first.prefix));
    let mut target = vec![first; order.len()];
    for shift in (0..u64::BITS).step_by(8).filter(|shift| (differing >> shift) & 0xff != 0) {
        cancel::check()?;
        let digit = |place: &RowRef| usize::from((place.prefix >> shift).to_le_bytes()[0]);
        let mut starts = [0_usize; 256];
        for place in &order {
            starts[digit(place)] += 1;
        }
        let mut next = 0;
        for start in &mut starts {
            (*start, next) = (next, next + *start);
        }
        for place in &order {
            let at = &mut starts[digit(place)];
            target[*at] = *place;
            *at += 1;
        }
        std::mem::swap(&mut order, &mut target);
    }
    Ok(order)
}

/// Only there so that the codec's type is known.
fn rows_of<C: KeyCodec>(
    _: &C,
    assembler: BatchBuilder,
    keys: Vec<C::Keys>,
    order: Vec<RowRef>,
    rows: ResultRows,
) -> BatchStream {
    Box::new(SortedRows::<C> { assembler, keys, done: order.is_empty(), order, at: 0, rows, left: None })
}

/// Gives sorted rows to the engine, a batch at a time.
struct SortedRows<C: KeyCodec> {
    assembler: BatchBuilder,
    keys: Vec<C::Keys>,
    order: Vec<RowRef>,
    at: usize,
    done: bool,
    rows: ResultRows,
    /// Of what was gathered.
    left: Option<RecordBatch>,
}

impl<C: KeyCodec> SortedRows<C> {
    fn fill(&mut self) -> Result<()> {
        cancel::check()?;
        // in equal parts
        let (left, most) = ((self.order.len() - self.at).max(1), self.rows.gathered.max(1));
        self.assembler.set_batch_rows(left.div_ceil(left.div_ceil(most)));
        while self.at < self.order.len() && !self.assembler.is_full() {
            let place = self.order[self.at];
            if self.at > 0 && !self.same_key(self.order[self.at - 1], place) {
                self.assembler.end_group();
            }
            self.assembler.add(place.batch as usize, place.row as usize);
            self.at += 1;
        }
        if self.at == self.order.len() {
            self.assembler.end_group();
            self.done = true;
        }
        self.assembler.flush()
    }

    /// The next batch of what was gathered.
    fn slice(&mut self) -> Option<RecordBatch> {
        let gathered = self.left.take().or_else(|| self.assembler.pop())?;
        let (rows, count) = (gathered.num_rows(), self.rows.batch);
        if rows <= count {
            return Some(gathered);
        }
        self.left = Some(gathered.slice(count, rows - count));
        Some(gathered.slice(0, count))
    }

    #[inline]
    fn same_key(&self, a: RowRef, b: RowRef) -> bool {
        a.prefix == b.prefix
            && (C::EXACT || {
                let (x, y) = (&self.keys[a.batch as usize], &self.keys[b.batch as usize]);
                C::compare(x, a.row as usize, y, b.row as usize) == Ordering::Equal
            })
    }
}

impl<C: KeyCodec> Iterator for SortedRows<C> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.slice() {
                return Some(Ok(batch));
            }
            if self.done {
                return None;
            }
            if let Err(error) = self.fill() {
                self.done = true;
                return Some(Err(error));
            }
        }
    }
}

pub(super) fn too_many() -> Error {
    Error::new(ErrorKind::MemoryLimitExceeded, "more than 4,294,967,295 rows or batches in one write buffer")
        .hint("lower write-buffer-size")
}
