//! The last value that is not null, for many columns at once.
//!
//! The null bits of 16 columns become one mask for each record; a record then takes part in all of them at once, in
//! lanes: `number of the record where the mask has a bit, else what was there`. No branch depends on the data.
#![allow(clippy::indexing_slicing, reason = "places come from the merge and lie within the arrays")]

use arrow_array::{Array, ArrayRef};
use arrow_buffer::{BooleanBuffer, NullBuffer};

use super::{
    gather::gather_known,
    grouped_reduce::{Record, firsts},
};
use crate::Result;

/// Columns that share a mask.
const LANES: usize = 16;

/// For each group and column 1 + the number of the record that was picked, or 0.
type Picked = Vec<[u16; LANES]>;

/// Eight bits as eight numbers.
const SPREAD: [[u16; 8]; 256] = spread();

const fn spread() -> [[u16; 8]; 256] {
    let mut all = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            all[byte][bit] = if (byte >> bit) & 1 == 1 { 1 } else { 0 };
            bit += 1;
        }
        byte += 1;
    }
    all
}

/// For each column, given as its arrays in all sources, the last value of each group that is not null. `None` when
/// there are too many records, or groups without any, for this way.
pub(crate) fn last_present(
    columns: &[Vec<ArrayRef>],
    rows: &[Record],
    ends: &[usize],
) -> Option<Result<Vec<ArrayRef>>> {
    if rows.len() >= usize::from(u16::MAX) {
        return None;
    }
    let firsts = firsts(rows, ends)?;
    Some(
        columns
            .chunks(LANES)
            .map(|columns| some_columns(columns, rows, &firsts, ends.len()))
            .collect::<Result<Vec<_>>>()
            .map(|c| c.concat()),
    )
}

fn some_columns(columns: &[Vec<ArrayRef>], rows: &[Record], firsts: &[bool], groups: usize) -> Result<Vec<ArrayRef>> {
    let sources = columns.first().map_or(0, Vec::len);
    let masks: Vec<Vec<u16>> = (0..sources).map(|source| masks(columns, source)).collect();
    let picked = pick(&masks, rows, firsts, groups);
    let result = |(lane, arrays): (usize, &Vec<ArrayRef>)| {
        let nulls = NullBuffer::new(BooleanBuffer::collect_bool(groups, |group| picked[group][lane] != 0));
        let place = |group: usize| rows[usize::from(picked[group][lane].saturating_sub(1))];
        gather_known(arrays, groups, place, Some(nulls))
    };
    columns.iter().enumerate().map(result).collect()
}

/// For each row of a source the columns that have a value there.
fn masks(columns: &[Vec<ArrayRef>], source: usize) -> Vec<u16> {
    let arrays: Vec<&ArrayRef> = columns.iter().filter_map(|arrays| arrays.get(source)).collect();
    let rows = arrays.first().map_or(0, Array::len);
    let mut masks = vec![0_u16; rows.next_multiple_of(64)];
    for (lane, array) in arrays.iter().enumerate() {
        let Some(nulls) = array.nulls() else {
            for mask in &mut masks {
                *mask |= 1 << lane;
            }
            continue;
        };
        let bits = nulls.inner().bit_chunks();
        // whole eights, so that the compiler puts them into vectors
        for (word, masks) in bits.iter_padded().zip(masks.as_chunks_mut::<64>().0) {
            for (byte, masks) in word.to_le_bytes().iter().zip(masks.as_chunks_mut::<8>().0) {
                let eight = &SPREAD[usize::from(*byte)];
                for (mask, bit) in masks.iter_mut().zip(eight) {
                    *mask |= bit << lane;
                }
            }
        }
    }
    masks
}

fn pick(masks: &[Vec<u16>], rows: &[Record], firsts: &[bool], groups: usize) -> Picked {
    let mut picked = vec![[0; LANES]; groups];
    let mut current = [0_u16; LANES];
    let mut next = 0;
    for (number, (&(source, row), &first)) in (1_u16..).zip(rows.iter().zip(firsts)) {
        let mask = masks[source][row];
        let keep = if first { 0 } else { u16::MAX };
        for (lane, current) in current.iter_mut().enumerate() {
            let take = if mask & (1 << lane) == 0 { 0 } else { u16::MAX };
            *current = (number & take) | (*current & keep & !take);
        }
        next += usize::from(first);
        picked[next - 1] = current;
    }
    picked
}
