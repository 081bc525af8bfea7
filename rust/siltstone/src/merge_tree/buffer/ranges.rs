//! Many rows in ranges of their keys, each of which is sorted by itself.
//!
//! Sorted rows are copied from wherever they lie. Where they lie in more memory than the processor's caches hold, each value
//! is waited for. So the rows of a range are put next to each other first, in the order in which they came: that reads memory
//! from one end to the other. Each range is then sorted, and copied again, within the caches, and while it is encoded the
//! next one is made.
#![allow(clippy::indexing_slicing, reason = "places are made from the batches they point into")]

use std::vec::IntoIter;

use arrow_array::RecordBatch;

use super::sort::too_many;
use crate::{
    Result, cancel,
    io::BatchStream,
    merge_tree::merge::{
        batch_builder::{Place, gathered},
        key::KeyCodec,
    },
};

/// Ranges at most: each is looked for in all rows.
const MOST_RANGES: usize = 32;

/// A range may have so many times the rows that it should have: more are not copied once more, and the rows are sorted at once.
const LARGEST: usize = 4;

/// Keys of a sample for each range.
const SAMPLED: usize = 64;

/// The places of the rows in each range, ranges in order of keys and rows in order of arrival, if there are more than `most` rows
/// in no order. Rows of equal keys are in one range. Where keys begin alike there may be fewer ranges, or none.
pub(super) fn key_ranges<C: KeyCodec>(
    codec: &C,
    batches: &[RecordBatch],
    most: usize,
) -> Result<Option<Vec<Vec<Place>>>> {
    let rows = batches.iter().map(RecordBatch::num_rows).fold(0, usize::saturating_add);
    let ranges = rows.div_ceil(most.max(1)).min(MOST_RANGES);
    if ranges < 2 {
        return Ok(None);
    }
    let mut prefixes = Vec::with_capacity(rows);
    for batch in batches {
        cancel::check()?;
        let keys = codec.encode(batch)?;
        prefixes.extend((0..batch.num_rows()).map(|row| C::prefix(&keys, row)));
    }
    let bounds = bounds(&prefixes, ranges);
    if bounds.is_empty() || prefixes.is_sorted() {
        return Ok(None);
    }
    let mut places: Vec<Vec<Place>> = (0..=bounds.len()).map(|_| Vec::with_capacity(rows / ranges)).collect();
    let mut prefixes = prefixes.into_iter();
    for (number, batch) in batches.iter().enumerate() {
        cancel::check()?;
        let (number, rows) = (fits(number)?, fits(batch.num_rows())?);
        for (row, prefix) in (0..rows).zip(prefixes.by_ref()) {
            let range = bounds.iter().map(|bound| usize::from(*bound <= prefix)).sum::<usize>();
            places[range].push((number, row));
        }
    }
    let is_large = |range: &Vec<Place>| range.len() / LARGEST > most;
    Ok((!places.iter().any(is_large)).then_some(places))
}

/// The sorted rows of one range after the other.
pub(super) struct Ranges<F> {
    batches: Vec<RecordBatch>,
    left: IntoIter<Vec<Place>>,
    sorted: F,
    current: Option<BatchStream>,
}

impl<F: FnMut(RecordBatch) -> Result<BatchStream>> Ranges<F> {
    pub(super) fn new(batches: Vec<RecordBatch>, ranges: Vec<Vec<Place>>, sorted: F) -> Self {
        Self { batches, left: ranges.into_iter(), sorted, current: None }
    }

    fn open(&mut self, places: &[Place]) -> Result<BatchStream> {
        cancel::check()?;
        (self.sorted)(gathered(&self.batches, places)?)
    }
}

impl<F: FnMut(RecordBatch) -> Result<BatchStream>> Iterator for Ranges<F> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.current.as_mut().and_then(Iterator::next) {
                return Some(batch);
            }
            // what was sorted is let go before the next rows are copied
            self.current = None;
            let places = self.left.next()?;
            match self.open(&places) {
                Ok(sorted) => self.current = Some(sorted),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// The least prefix of each range but the first, by a sample.
fn bounds(prefixes: &[u64], ranges: usize) -> Vec<u64> {
    let step = (prefixes.len() / (ranges * SAMPLED)).max(1);
    let mut sample: Vec<u64> = prefixes.iter().step_by(step).copied().collect();
    sample.sort_unstable();
    let least = sample.first().copied();
    let mut bounds: Vec<u64> = (1..ranges).map(|range| sample[range * sample.len() / ranges]).collect();
    bounds.dedup();
    // nothing is below the least
    bounds.retain(|bound| Some(*bound) != least);
    bounds
}

fn fits(number: usize) -> Result<u32> {
    u32::try_from(number).map_err(|_| too_many())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::super::sort::{ResultRows, merged};
    use crate::{
        io::KvLayout,
        merge_tree::{
            merge::KeepAll,
            merge_function::{Deduplicate, MergeFunction},
            testing::{self, Record},
        },
        row::Datum,
        types::TypeKind,
    };

    fn text(k: i32) -> Datum {
        // alike in the first bytes, of which prefixes are made
        Datum::String(if k % 3 == 0 { format!("key {k:03}") } else { format!("{k:03}") })
    }

    fn sorted(
        layout: &KvLayout,
        all: &[Record],
        parts: usize,
        function: Arc<dyn MergeFunction>,
        range: usize,
    ) -> Vec<Record> {
        let batches = all.chunks(parts).map(|part| testing::batch(layout, part)).collect();
        let rows = ResultRows { batch: 4, gathered: 16, range };
        testing::all_records(layout, merged(batches, layout, function, rows).unwrap())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn ranges_one_after_another_are_the_rows_sorted_at_once(
            rows in prop::collection::vec((-40i32..40, prop::option::of(-2i64..3), 0i8..4), 0..150),
            texts in any::<bool>(), by_user in any::<bool>(), parts in 1usize..60, range in 1usize..50,
        ) {
            let key = if texts { TypeKind::VarChar(20) } else { TypeKind::Int };
            let layout = testing::layout(&[key, TypeKind::BigInt], &[0], if by_user { &[1] } else { &[] });
            let record = |((k, user, kind), sequence): (&(i32, Option<i64>, i8), i64)| Record {
                fields: vec![if texts { text(*k) } else { Datum::Int(*k) }, user.map_or(Datum::Null, Datum::BigInt)],
                sequence,
                kind: *kind,
            };
            let all: Vec<Record> = rows.iter().zip(0..).map(record).collect();
            for function in [Arc::new(Deduplicate::new(false)) as Arc<dyn MergeFunction>, Arc::new(KeepAll)] {
                let at_once = sorted(&layout, &all, parts, Arc::clone(&function), usize::MAX);
                prop_assert_eq!(sorted(&layout, &all, parts, function, range), at_once);
            }
        }
    }

    #[test]
    fn keys_that_begin_alike_and_rows_in_order_are_no_ranges() {
        let layout = testing::layout(&[TypeKind::VarChar(40)], &[0], &[]);
        let codec = crate::merge_tree::merge::key::RowKeys::new(&layout).unwrap();
        let batch = |keys: Vec<String>| {
            let record =
                |(sequence, key): (i64, String)| Record { fields: vec![Datum::String(key)], sequence, kind: 0 };
            testing::batch(&layout, &(0..).zip(keys).map(record).collect::<Vec<_>>())
        };
        let alike = batch((0..100).map(|k| format!("the same beginning {}", (k * 37) % 100)).collect());
        assert_eq!(super::key_ranges(&codec, &[alike], 10).unwrap(), None);
        let ordered = batch((0..100).map(|k| format!("{k:03}")).collect());
        assert_eq!(super::key_ranges(&codec, &[ordered], 10).unwrap(), None);
        let skewed =
            batch((0..100).map(|k| if k < 5 { format!("{k:03}") } else { format!("the same {}", 200 - k) }).collect());
        assert_eq!(super::key_ranges(&codec, &[skewed], 10).unwrap(), None);
        let mixed = batch((0..100).map(|k| format!("{:03}", (k * 37) % 100)).collect());
        let ranges = super::key_ranges(&codec, &[mixed], 10).unwrap().unwrap();
        assert_eq!((ranges.len(), ranges.iter().map(Vec::len).sum::<usize>()), (10, 100));
    }
}
