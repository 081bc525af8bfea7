//! Whether a column gets a dictionary.
//!
//! `parquet.enable.dictionary=true` allows dictionaries, it does not force them: on a column of many distinct values
//! the attempt costs a hash per value and ends in plain pages anyway. A sample of the first rows of a row group
//! tells the number of distinct values well enough.

use std::hash::{DefaultHasher, Hasher};

use arrow_array::{Array, ArrayRef, cast::AsArray};
use arrow_schema::DataType as Arrow;
use parquet::schema::types::{ColumnPath, SchemaDescriptor};

use super::options::ParquetWriteOptions;

/// Rows looked at.
const SAMPLE_ROWS: usize = 4096;
/// Below this many values a sample says nothing and a dictionary costs nothing.
const SMALL: usize = 256;
/// Columns that have dictionaries for fewer values than that, at most.
const MOST_FOR_FEW_ROWS: usize = 1000;
/// A dictionary that is expected to grow larger does not pay.
const MAX_DICTIONARY_BYTES: usize = 512 * 1024;
/// Nor one of more entries: its indices are wider than what they save.
const MAX_ENTRIES: usize = 65_536;

/// The decision for each leaf of the schema.
pub(crate) fn dictionaries(
    schema: &SchemaDescriptor,
    columns: &[ArrayRef],
    options: &ParquetWriteOptions,
) -> Vec<(ColumnPath, bool)> {
    let mut leaves = Vec::new();
    for column in columns {
        collect_leaves(&column.slice(0, column.len().min(SAMPLE_ROWS)), &mut leaves);
    }
    // an empty dictionary takes 72 KiB of memory, and few values need none
    let too_wide = leaves.len() > MOST_FOR_FEW_ROWS && columns.first().is_some_and(|column| column.len() < SMALL);
    let paths = schema.columns().iter().map(|c| c.path());
    let decisions = paths.enumerate().map(|(i, path)| {
        let chosen = match options.dictionary_columns.get(&path.string()) {
            Some(decided) => *decided,
            None => options.dictionary && !too_wide && leaves.get(i).is_some_and(worthwhile),
        };
        (path.clone(), chosen)
    });
    decisions.collect()
}

/// Leaf values in the order of the schema's leaves.
fn collect_leaves(array: &ArrayRef, leaves: &mut Vec<ArrayRef>) {
    match array.data_type() {
        Arrow::List(_) => {
            let list = array.as_list::<i32>();
            collect_leaves(&visible(list.values(), list.offsets()), leaves);
        }
        Arrow::Map(..) => {
            let map = array.as_map();
            collect_leaves(&visible(map.keys(), map.offsets()), leaves);
            collect_leaves(&visible(map.values(), map.offsets()), leaves);
        }
        Arrow::Struct(_) => array.as_struct().columns().iter().for_each(|child| collect_leaves(child, leaves)),
        _ => leaves.push(std::sync::Arc::clone(array)),
    }
}

fn visible(values: &ArrayRef, offsets: &[i32]) -> ArrayRef {
    let at = |offset: Option<&i32>| offset.and_then(|o| usize::try_from(*o).ok()).unwrap_or(0).min(values.len());
    let (start, end) = (at(offsets.first()), at(offsets.last()));
    values.slice(start, end.saturating_sub(start).min(SAMPLE_ROWS))
}

fn worthwhile(sample: &ArrayRef) -> bool {
    let Some((mut hashes, bytes)) = hash_values(sample) else {
        return false;
    };
    let seen = hashes.len();
    if seen < SMALL {
        return true;
    }
    hashes.sort_unstable();
    hashes.dedup();
    let repeated = seen - hashes.len();
    if repeated == 0 {
        return false;
    }
    // n values drawn from D are expected to collide n²/2D times; what was seen is the floor
    let entries = (seen * seen / (2 * repeated)).max(hashes.len());
    let width = (bytes / seen).max(1);
    entries <= MAX_ENTRIES && entries.saturating_mul(width) <= MAX_DICTIONARY_BYTES
}

/// Hashes of the values that are not null and their size; `None` for types without dictionaries.
fn hash_values(array: &ArrayRef) -> Option<(Vec<u64>, usize)> {
    match array.data_type() {
        Arrow::Utf8 => {
            let values = array.as_string::<i32>();
            Some(hash_all(values.iter().flatten().map(str::as_bytes)))
        }
        Arrow::Binary => Some(hash_all(array.as_binary::<i32>().iter().flatten())),
        Arrow::FixedSizeBinary(_) => Some(hash_all(array.as_fixed_size_binary().iter().flatten())),
        Arrow::Boolean => None,
        t => {
            let width = t.primitive_width()?;
            let data = array.to_data();
            let bytes = data.buffers().first()?.as_slice();
            let values = bytes.chunks_exact(width).skip(data.offset()).take(array.len()).enumerate();
            Some(hash_all(values.filter(|(row, _)| array.is_valid(*row)).map(|(_, value)| value)))
        }
    }
}

fn hash_all<'a>(values: impl Iterator<Item = &'a [u8]>) -> (Vec<u64>, usize) {
    let mut bytes = 0;
    let hashes = values
        .map(|value| {
            bytes += value.len();
            let mut hasher = DefaultHasher::new();
            hasher.write(value);
            hasher.finish()
        })
        .collect();
    (hashes, bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BooleanArray, Int64Array, StringArray};

    use super::*;

    fn scattered(distinct: u64) -> impl Iterator<Item = u64> {
        (0..4096_u64).map(move |i| (i.wrapping_mul(6_364_136_223_846_793_005) >> 20) % distinct)
    }

    #[test]
    fn unique_columns_get_none_and_repeating_ones_do() {
        let unique: ArrayRef = Arc::new(Int64Array::from_iter_values(0..4096));
        let repeating: ArrayRef = Arc::new(StringArray::from_iter_values((0..4096).map(|i| format!("c{}", i % 7))));
        let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true; 4096]));
        assert!(!worthwhile(&unique));
        assert!(worthwhile(&repeating));
        assert!(!worthwhile(&flags));
    }

    #[test]
    fn the_number_of_distinct_values_is_estimated_from_the_repetitions() {
        let some: ArrayRef = Arc::new(StringArray::from_iter_values(scattered(5_000).map(|v| format!("name-{v:08}"))));
        let many: ArrayRef = Arc::new(StringArray::from_iter_values(scattered(9_000_000).map(|v| format!("n-{v:08}"))));
        assert!(worthwhile(&some));
        assert!(!worthwhile(&many));
    }

    #[test]
    fn small_and_sliced_samples_are_fine() {
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..4096));
        assert!(worthwhile(&values.slice(100, 10)));
        assert_eq!(hash_values(&values.slice(100, 10)).unwrap().0.len(), 10);
    }
}
