//! Keys that order rows along a curve through all columns of a sort compaction, so that files are narrow in each of them.
//!
//! A value is bytes that order as the values do, null first; a number has eight of them. `zorder` takes the bits of the columns
//! in turn, `hilbert` does so with the coordinates of the curve that goes through the first eight bytes (Skilling, "Programming
//! the Hilbert curve", 2004). Source: `ZIndexer`, `HilbertIndexer`.
#![allow(clippy::indexing_slicing, reason = "coordinates are one for each column, and there is one at least")]

use arrow_array::{
    Array, ArrayRef, BinaryArray,
    builder::BinaryBuilder,
    cast::AsArray,
    types::{
        Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        Time32MillisecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
        TimestampSecondType,
    },
};
use arrow_schema::{DataType as Arrow, TimeUnit};

use crate::{
    error::{Error, ErrorKind, Result},
    types::TypeKind,
    wire::SortStrategy,
};

/// Bytes of a value that is no text and no bytes.
const WIDTH: usize = 8;

/// Whether values of a type have a place on a curve.
pub(super) fn has_place(kind: &TypeKind) -> bool {
    use TypeKind as T;
    !matches!(kind, T::Array(_) | T::Map(..) | T::Multiset(_) | T::Row(_) | T::Variant | T::Blob | T::Vector(..))
}

/// The keys of rows. Of texts and bytes `contribution` bytes count on a Z-order curve.
pub(super) fn keys(columns: &[ArrayRef], strategy: SortStrategy, contribution: usize) -> Result<BinaryArray> {
    let columns = columns.iter().map(Places::of).collect::<Result<Vec<_>>>()?;
    let rows = columns.first().map_or(0, |column| column.rows);
    let mut keys = BinaryBuilder::with_capacity(rows, rows.saturating_mul(columns.len()).saturating_mul(WIDTH));
    let mut coordinates = vec![0; columns.len()];
    let mut key = Vec::new();
    for row in 0..rows {
        if strategy == SortStrategy::Hilbert {
            for (at, column) in coordinates.iter_mut().zip(&columns) {
                *at = column.number(row);
            }
            to_curve(&mut coordinates);
            let bytes: Vec<[u8; WIDTH]> = coordinates.iter().map(|at| at.to_be_bytes()).collect();
            interleave(&bytes.iter().map(<[u8; WIDTH]>::as_slice).collect::<Vec<_>>(), &mut key);
        } else {
            interleave(&columns.iter().map(|c| c.bytes(row, contribution)).collect::<Vec<_>>(), &mut key);
        }
        keys.append_value(&key);
    }
    Ok(keys.finish())
}

/// Values of a column as bytes that order as they do.
struct Places {
    rows: usize,
    values: Values,
}

enum Values {
    Numbers(Vec<[u8; WIDTH]>),
    Bytes(BinaryArray),
}

impl Places {
    fn of(column: &ArrayRef) -> Result<Self> {
        let values = match column.data_type() {
            Arrow::Utf8 => Values::Bytes(BinaryArray::from(column.as_string::<i32>().clone())),
            Arrow::Binary => Values::Bytes(column.as_binary::<i32>().clone()),
            _ => Values::Numbers(numbers(column)?),
        };
        Ok(Self { rows: column.len(), values })
    }

    /// The first bytes of a value; none of null.
    fn bytes(&self, row: usize, most: usize) -> &[u8] {
        match &self.values {
            Values::Numbers(values) => values.get(row).map_or(&[], <[u8; WIDTH]>::as_slice),
            Values::Bytes(values) if values.is_null(row) => &[],
            Values::Bytes(values) => {
                let value = values.value(row);
                value.get(..most).unwrap_or(value)
            }
        }
    }

    fn number(&self, row: usize) -> u64 {
        let mut all = [0; WIDTH];
        for (to, from) in all.iter_mut().zip(self.bytes(row, WIDTH)) {
            *to = *from;
        }
        u64::from_be_bytes(all)
    }
}

/// Numbers that order as the values do; that of null is 0.
fn numbers(column: &ArrayRef) -> Result<Vec<[u8; WIDTH]>> {
    macro_rules! integers {
        ($type:ty) => {
            collected(column.as_primitive::<$type>().iter().map(|v| v.map(|v| signed(i64::from(v)))))
        };
    }
    Ok(match column.data_type() {
        Arrow::Boolean => collected(column.as_boolean().iter().map(|v| v.map(|v| signed(i64::from(v))))),
        Arrow::Int8 => integers!(Int8Type),
        Arrow::Int16 => integers!(Int16Type),
        Arrow::Int32 => integers!(Int32Type),
        Arrow::Int64 => integers!(Int64Type),
        Arrow::Date32 => integers!(Date32Type),
        Arrow::Time32(TimeUnit::Millisecond) => integers!(Time32MillisecondType),
        Arrow::Timestamp(TimeUnit::Second, _) => integers!(TimestampSecondType),
        Arrow::Timestamp(TimeUnit::Millisecond, _) => integers!(TimestampMillisecondType),
        Arrow::Timestamp(TimeUnit::Microsecond, _) => integers!(TimestampMicrosecondType),
        Arrow::Timestamp(TimeUnit::Nanosecond, _) => integers!(TimestampNanosecondType),
        Arrow::Float32 => collected(column.as_primitive::<Float32Type>().iter().map(|v| v.map(|v| float(v.into())))),
        Arrow::Float64 => collected(column.as_primitive::<Float64Type>().iter().map(|v| v.map(float))),
        Arrow::Decimal128(precision, _) => {
            // of more digits than 64 bits hold the first bits count
            let bits = 10_i128.saturating_pow(u32::from(*precision)).ilog2().saturating_add(2);
            let cut = bits.saturating_sub(i64::BITS);
            let cut = |value: i128| signed(i64::try_from(value >> cut).unwrap_or(i64::MAX));
            collected(column.as_primitive::<Decimal128Type>().iter().map(|v| v.map(cut)))
        }
        other => {
            return Err(Error::new(
                ErrorKind::UnsupportedType,
                format!("values of the type {other} have no order here"),
            ));
        }
    })
}

fn collected(values: impl Iterator<Item = Option<u64>>) -> Vec<[u8; WIDTH]> {
    values.map(|value| value.unwrap_or_default().to_be_bytes()).collect()
}

fn signed(value: i64) -> u64 {
    value.cast_unsigned() ^ (1 << 63)
}

fn float(value: f64) -> u64 {
    let bits = if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() };
    if bits >> 63 == 0 { bits ^ (1 << 63) } else { !bits }
}

/// The bits of all columns in turn, the first ones first; behind their ends there are zeros, which are left out at the end.
fn interleave(columns: &[&[u8]], key: &mut Vec<u8>) {
    key.clear();
    let longest = columns.iter().map(|column| column.len()).max().unwrap_or(0);
    key.resize(longest.saturating_mul(columns.len()), 0);
    for (number, column) in columns.iter().enumerate() {
        for (at, byte) in column.iter().enumerate().filter(|(_, byte)| **byte != 0) {
            for bit in (0..8).filter(|bit| byte & (0x80 >> bit) != 0) {
                let place = (at * 8 + bit) * columns.len() + number;
                key[place / 8] |= 0x80 >> (place % 8);
            }
        }
    }
    let used = key.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    key.truncate(used);
}

/// Makes coordinates those whose bits in turn are the place on the Hilbert curve.
fn to_curve(at: &mut [u64]) {
    for bit in (1..u64::BITS).rev() {
        let (bit, below) = (1_u64 << bit, (1_u64 << bit) - 1);
        for axis in 0..at.len() {
            if at[axis] & bit == 0 {
                let swapped = (at[0] ^ at[axis]) & below;
                at[0] ^= swapped;
                at[axis] ^= swapped;
            } else {
                at[0] ^= below;
            }
        }
    }
    for axis in 1..at.len() {
        at[axis] ^= at[axis - 1];
    }
    let last = at[at.len() - 1];
    let turned = (1..u64::BITS).filter(|bit| last >> bit & 1 == 1).fold(0, |turned, bit| turned ^ ((1_u64 << bit) - 1));
    for coordinate in at.iter_mut() {
        *coordinate ^= turned;
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use arrow_array::{Decimal128Array, Float64Array, Int32Array, Int64Array, StringArray};
    use proptest::prelude::*;

    use super::*;

    fn one(column: impl Array + 'static) -> Vec<Vec<u8>> {
        let found = keys(&[Arc::new(column)], SortStrategy::ZOrder, 8).unwrap();
        found.iter().map(|key| key.unwrap().to_vec()).collect()
    }

    fn assert_rising(keys: &[Vec<u8>]) {
        assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "{keys:x?}");
    }

    #[test]
    fn keys_of_one_column_order_as_its_values_null_first() {
        assert_rising(&one(Int64Array::from(vec![None, Some(-3), Some(-1), Some(0), Some(7), Some(i64::MAX)])));
        assert_rising(&one(Int32Array::from(vec![i32::MIN + 1, -1, 0, 1, i32::MAX])));
        let floats = vec![f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1e-300, 2.0, f64::INFINITY, f64::NAN];
        assert_rising(&one(Float64Array::from(floats)));
        assert_rising(&one(StringArray::from(vec![Some(""), Some("a"), Some("ab"), Some("b")])));
        for precision in [5, 18, 19, 20, 38] {
            let most = 10_i128.pow(u32::from(precision)) - 1;
            let column = Decimal128Array::from(vec![-most, -most / 2, 0, most / 2, most]);
            assert_rising(&one(column.with_precision_and_scale(precision, 2).unwrap()));
        }
    }

    #[test]
    fn z_order_takes_bits_in_turn_and_as_many_bytes_of_texts_as_asked_for() {
        let mut key = Vec::new();
        interleave(&[&[0b1111_0000], &[0b0000_1111, 0b1000_0000]], &mut key);
        assert_eq!(key, [0b1010_1010, 0b0101_0101, 0b0100_0000]);
        let texts: Vec<ArrayRef> = vec![Arc::new(StringArray::from(vec!["abc", "abe"]))];
        let of = |bytes| keys(&texts, SortStrategy::ZOrder, bytes).unwrap();
        assert_eq!(of(2).value(0), of(2).value(1));
        assert!(of(3).value(0) < of(3).value(1));
    }

    #[test]
    fn neighbours_on_the_hilbert_curve_are_neighbours_on_the_plane() {
        // all points of a square of 16 by 16: each step of the curve changes one coordinate by one
        let points: Vec<(i64, i64)> = (0..16).flat_map(|x| (0..16).map(move |y| (x, y))).collect();
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(points.iter().map(|p| p.0))),
            Arc::new(Int64Array::from_iter_values(points.iter().map(|p| p.1))),
        ];
        let found = keys(&columns, SortStrategy::Hilbert, 8).unwrap();
        let ordered: BTreeMap<Vec<u8>, (i64, i64)> =
            found.iter().zip(&points).map(|(key, point)| (key.unwrap().to_vec(), *point)).collect();
        assert_eq!(ordered.len(), 256);
        let ordered: Vec<(i64, i64)> = ordered.into_values().collect();
        assert!(ordered.windows(2).all(|p| (p[0].0 - p[1].0).abs() + (p[0].1 - p[1].1).abs() == 1), "{ordered:?}");
    }

    proptest! {
        #[test]
        fn hilbert_keys_of_different_rows_differ(a in any::<[u64; 3]>(), b in any::<[u64; 3]>()) {
            let (mut x, mut y) = (a, b);
            to_curve(&mut x);
            to_curve(&mut y);
            prop_assert_eq!(a == b, x == y);
        }
    }
}
