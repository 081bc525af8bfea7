//! Which rows of the table may belong to a row of the source: most others are told by a hash of their keys, before the keys are
//! put together and compared.

use std::hash::{BuildHasher, Hasher};

use arrow_array::{Array, ArrayRef, cast::AsArray};
use arrow_schema::DataType as Arrow;
use foldhash::fast::RandomState;

use crate::{error::Result, predicate::plain_floats};

/// Bits for each row of the source: of rows with other keys, about one in a thousand passes by chance.
const BITS: usize = 32;
/// Most bits: 16 MiB.
const MOST: usize = 1 << 27;

/// A set of hashes of keys.
pub(super) struct Sieve {
    bits: Vec<u64>,
    seed: RandomState,
}

impl Sieve {
    /// Of the rows of these columns; `None` where a column's type has no hash.
    pub(super) fn of(columns: &[ArrayRef]) -> Option<Self> {
        let rows = columns.first().map_or(0, Array::len);
        let bits = rows.saturating_mul(BITS).clamp(1 << 10, MOST).next_power_of_two().min(MOST);
        let mut sieve = Self { bits: vec![0; bits / 64], seed: RandomState::default() };
        for hash in sieve.hashes(columns)? {
            let (word, bits) = sieve.place(hash);
            if let Some(word) = sieve.bits.get_mut(word) {
                *word |= bits;
            }
        }
        Some(sieve)
    }

    /// The rows of these columns whose keys may be in the set; `None`: any of them.
    pub(super) fn rows(&self, columns: &[ArrayRef]) -> Result<Option<Vec<u32>>> {
        crate::cancel::check()?;
        let Some(hashes) = self.hashes(columns) else { return Ok(None) };
        let passes = |hash: u64| {
            let (word, bits) = self.place(hash);
            self.bits.get(word).is_some_and(|word| word & bits == bits)
        };
        Ok(Some((0_u32..).zip(hashes).filter(|(_, hash)| passes(*hash)).map(|(row, _)| row).collect()))
    }

    /// The word of a hash, and the four bits of it that are set for the hash.
    fn place(&self, hash: u64) -> (usize, u64) {
        let words = u64::try_from(self.bits.len()).unwrap_or(1);
        let word = usize::try_from((hash >> 24) & (words - 1)).unwrap_or(0);
        let bit = |at: u32| 1_u64 << ((hash >> at) & 63);
        (word, bit(0) | bit(6) | bit(12) | bit(18))
    }

    /// A hash of each row. A null has that of whatever its place holds: it equals nothing anyway.
    fn hashes(&self, columns: &[ArrayRef]) -> Option<Vec<u64>> {
        let mut hashes = vec![0; columns.first().map_or(0, Array::len)];
        for column in columns.iter().map(plain_floats) {
            match column.data_type() {
                Arrow::Utf8 => {
                    let values = column.as_string_opt::<i32>()?;
                    self.add(&mut hashes, (0..values.len()).map(|row| values.value(row).as_bytes()));
                }
                Arrow::Binary => {
                    let values = column.as_binary_opt::<i32>()?;
                    self.add(&mut hashes, (0..values.len()).map(|row| values.value(row)));
                }
                primitive => {
                    let width = primitive.primitive_width()?;
                    let data = column.to_data();
                    let values = data.buffers().first()?.as_slice().get(data.offset().checked_mul(width)?..)?;
                    match width {
                        4 => self
                            .add_words(&mut hashes, values.as_chunks().0.iter().map(|v| u32::from_le_bytes(*v).into())),
                        8 => self.add_words(&mut hashes, values.as_chunks().0.iter().map(|v| u64::from_le_bytes(*v))),
                        _ => self.add(&mut hashes, values.chunks_exact(width)),
                    }
                }
            }
        }
        Some(hashes)
    }

    fn add_words(&self, hashes: &mut [u64], values: impl Iterator<Item = u64>) {
        for (hash, value) in hashes.iter_mut().zip(values) {
            let mut hasher = self.seed.build_hasher();
            hasher.write_u64(*hash);
            hasher.write_u64(value);
            *hash = hasher.finish();
        }
    }

    fn add<'a>(&self, hashes: &mut [u64], values: impl Iterator<Item = &'a [u8]>) {
        for (hash, value) in hashes.iter_mut().zip(values) {
            let mut hasher = self.seed.build_hasher();
            hasher.write_u64(*hash);
            hasher.write(value);
            *hash = hasher.finish();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int32Array, Int64Array, ListArray, StringArray, types::Int32Type};

    use super::*;

    fn ids(ids: impl IntoIterator<Item = i64>) -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(ids))
    }

    #[test]
    fn rows_with_a_key_of_the_source_pass_and_few_others_do() {
        let passing = || {
            let sieve = Sieve::of(&[ids((0..1000).map(|id| 7 * id))]).unwrap();
            let rows = sieve.rows(&[ids(0..70_000)]).unwrap().unwrap();
            let with_key = rows.iter().filter(|row| *row % 7 == 0 && **row < 7000).count();
            assert!(with_key == 1000 && rows.len() < 7_000, "{with_key} of {}", rows.len());
            rows.len()
        };
        // the hash has another seed each time, and a fast one has worse seeds for numbers with equal gaps
        let counts = [passing(), passing(), passing(), passing(), passing()];
        assert!(counts.iter().any(|count| *count < 1_300), "{counts:?}");
    }

    #[test]
    fn keys_of_several_columns_pass_together() {
        let names = |names: &[&str]| -> ArrayRef { Arc::new(StringArray::from(names.to_vec())) };
        let days = |days: &[i32]| -> ArrayRef { Arc::new(Int32Array::from(days.to_vec())) };
        let sieve = Sieve::of(&[names(&["a", "b"]), days(&[1, 2])]).unwrap();
        let (table_names, table_days) = (names(&["x", "b", "a", "a", "b"]), days(&[0, 2, 1, 2, 1]));
        let rows = sieve.rows(&[table_names.slice(1, 4), table_days.slice(1, 4)]).unwrap().unwrap();
        assert_eq!(rows, [0, 1]);
    }

    #[test]
    fn types_without_a_hash_have_no_sieve() {
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)])]);
        assert!(Sieve::of(&[Arc::new(lists)]).is_none());
    }
}
