//! Indexes of columns that are written.

use std::collections::{BTreeMap, btree_map::Entry};

use roaring::RoaringBitmap;

use super::{
    IndexKind, IndexSettings,
    bitmap::BitmapsToWrite,
    bloom::BloomFilter,
    bsi::BitSliced,
    key::{Key, KeyType},
    range_bitmap,
};
use crate::{
    error::{Error, Result},
    row::Datum,
    types::DataType,
};

/// Takes the values of a column in, one a row.
#[derive(Debug)]
pub struct IndexBuilder {
    kind: IndexKind,
    keys: KeyType,
    settings: IndexSettings,
    rows: u32,
    has_value: bool,
    /// A value has no key: there can be no index.
    without_key: bool,
    taken: Taken,
}

#[derive(Debug)]
enum Taken {
    Hashed(BloomFilter),
    Numbers(Vec<Option<i64>>),
    Rows { nulls: RoaringBitmap, values: BTreeMap<Key, RoaringBitmap> },
}

impl IndexBuilder {
    /// # Errors
    /// `UnsupportedFeature`: columns of this type cannot have such an index.
    pub fn new(kind: IndexKind, data_type: &DataType, settings: &IndexSettings) -> Result<Self> {
        let keys = kind
            .key_type(data_type)
            .ok_or_else(|| Error::unsupported(format!("a '{}' index of a column of type {data_type}", kind.name())))?;
        let taken = match settings {
            IndexSettings::BloomFilter { items, fpp } => Taken::Hashed(BloomFilter::new(*items, *fpp)),
            IndexSettings::BitSliced => Taken::Numbers(Vec::new()),
            _ => Taken::Rows { nulls: RoaringBitmap::new(), values: BTreeMap::new() },
        };
        let settings = settings.clone();
        Ok(Self { kind, keys, settings, rows: 0, has_value: false, without_key: false, taken })
    }

    /// Its kind.
    pub fn kind(&self) -> IndexKind {
        self.kind
    }

    /// The value of the next row.
    pub fn add(&mut self, value: &Datum) {
        let row = self.rows;
        // a file of more rows than a number has place for has no index
        self.rows = row.saturating_add(1);
        let key = self.keys.of_value(value);
        self.has_value |= !value.is_null();
        self.without_key |= (key.is_none() && !value.is_null()) || row >= i32::MAX.cast_unsigned();
        match (&mut self.taken, key) {
            (Taken::Hashed(filter), Some(key)) => filter.add(&key),
            (Taken::Hashed(_), None) => {}
            (Taken::Numbers(numbers), key) => {
                numbers.push(if let Some(Key::Integer(number)) = key { Some(number) } else { None });
            }
            (Taken::Rows { nulls, .. }, None) => _ = nulls.insert(row),
            (Taken::Rows { values, .. }, Some(key)) => match values.entry(key) {
                Entry::Occupied(mut rows) => _ = rows.get_mut().insert(row),
                Entry::Vacant(place) => _ = place.insert(RoaringBitmap::from_iter([row])),
            },
        }
    }

    /// Whether a value came that is not null.
    pub fn has_value(&self) -> bool {
        self.has_value
    }

    /// The index of all rows that came; `None`: there is a value that an index of this kind cannot have.
    pub fn finish(self) -> Result<Option<Vec<u8>>> {
        if self.without_key {
            return Ok(None);
        }
        let form = self.keys.form;
        match (self.taken, &self.settings) {
            (Taken::Hashed(filter), _) => Ok(Some(filter.bytes())),
            (Taken::Numbers(numbers), _) => BitSliced::build(&numbers).map(|index| index.bytes()).transpose(),
            (Taken::Rows { nulls, values }, settings) => {
                let values = BitmapsToWrite { rows: self.rows, nulls, values: values.into_iter().collect() };
                match settings {
                    IndexSettings::Bitmap { version, block_size } => {
                        values.bytes(form, *version, *block_size).map(Some)
                    }
                    IndexSettings::RangeBitmap { chunk_size } => {
                        range_bitmap::bytes(&values, form, *chunk_size).map(Some)
                    }
                    _ => Ok(None),
                }
            }
        }
    }

    /// Memory that is held.
    pub fn memory_used(&self) -> usize {
        match &self.taken {
            Taken::Hashed(filter) => filter.size(),
            Taken::Numbers(numbers) => numbers.capacity() * size_of::<Option<i64>>(),
            // a bitmap of few rows takes about 100 bytes, and 2 for each row
            Taken::Rows { values, .. } => values.len() * 128 + self.rows as usize * 2,
        }
    }
}
