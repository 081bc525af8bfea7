//! Sorting key-value batches in memory: key, user sequence fields, sequence number.
//!
//! Rows are sorted as (prefix, batch, row) triples, so that most comparisons look at one number; the rows themselves are
//! gathered batch by batch when they are asked for.
#![allow(clippy::indexing_slicing, reason = "the triples are made from the batches they point into")]

use std::cmp::Ordering;

use arrow_array::RecordBatch;
use arrow_select::interleave::interleave_record_batch;
use rayon::slice::ParallelSliceMut;

use crate::{
    Error, ErrorKind, Result,
    io::{BatchStream, KvLayout},
    merge_tree::merge::{
        key::{KeyCodec, KeyShape, with_codec},
        slot::{Slot, SlotFactory, tie_order},
    },
    threads::in_pool,
};

/// From this many rows on, both cores sort.
const PARALLEL_ROWS: usize = 1 << 15;

/// Where a row is, and a number that orders like its key as far as it goes.
#[derive(Clone, Copy)]
struct Place {
    prefix: u64,
    batch: u32,
    row: u32,
}

/// The rows of some batches in merge order, equal keys kept.
pub(super) fn sorted(batches: Vec<RecordBatch>, layout: &KvLayout, batch_rows: usize) -> Result<BatchStream> {
    let factory = SlotFactory::new(layout)?;
    let slots = batches.into_iter().map(|b| factory.slot(b, 0)).collect::<Result<Vec<_>>>()?;
    let shape = KeyShape::of(layout)?;
    let order = with_codec!(shape, layout, |codec| sort(&codec, &slots)?);
    let batches: Vec<RecordBatch> = slots.into_iter().map(|slot| slot.batch).collect();
    Ok(gather(batches, order, batch_rows.max(1)))
}

fn sort<C: KeyCodec>(codec: &C, slots: &[Slot]) -> Result<Vec<Place>>
where
    C::Keys: Sync,
{
    let keys = slots.iter().map(|slot| codec.encode(&slot.batch)).collect::<Result<Vec<_>>>()?;
    let mut order = places::<C>(slots, &keys)?;
    let compare = |a: &Place, b: &Place| {
        let (i, j) = (a.batch as usize, b.batch as usize);
        let (x, y) = (a.row as usize, b.row as usize);
        a.prefix
            .cmp(&b.prefix)
            .then_with(|| if C::EXACT { Ordering::Equal } else { C::compare(&keys[i], x, &keys[j], y) })
            .then_with(|| tie_order(&slots[i], x, &slots[j], y))
    };
    if order.len() >= PARALLEL_ROWS {
        in_pool(|| order.par_sort_unstable_by(compare));
    } else {
        order.sort_unstable_by(compare);
    }
    Ok(order)
}

fn places<C: KeyCodec>(slots: &[Slot], keys: &[C::Keys]) -> Result<Vec<Place>> {
    let rows: usize = slots.iter().map(|s| s.batch.num_rows()).sum();
    let mut order = Vec::with_capacity(rows);
    for (batch, (slot, keys)) in slots.iter().zip(keys).enumerate() {
        let batch = u32::try_from(batch).map_err(|_| too_many())?;
        let rows = u32::try_from(slot.batch.num_rows()).map_err(|_| too_many())?;
        order.extend((0..rows).map(|row| Place { prefix: C::prefix(keys, row as usize), batch, row }));
    }
    Ok(order)
}

fn gather(batches: Vec<RecordBatch>, order: Vec<Place>, batch_rows: usize) -> BatchStream {
    let chunks = order.len().div_ceil(batch_rows);
    Box::new((0..chunks).map(move |chunk| {
        let start = chunk * batch_rows;
        let end = (start + batch_rows).min(order.len());
        let rows: Vec<(usize, usize)> = order[start..end].iter().map(|p| (p.batch as usize, p.row as usize)).collect();
        let sources: Vec<&RecordBatch> = batches.iter().collect();
        Ok(interleave_record_batch(&sources, &rows)?)
    }))
}

fn too_many() -> Error {
    Error::new(ErrorKind::MemoryLimitExceeded, "more than 4,294,967,295 rows or batches in one write buffer")
        .hint("lower write-buffer-size")
}
