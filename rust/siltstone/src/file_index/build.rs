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
    /// There can be no index: a value has no key, or there are too many of them.
    without_key: bool,
    taken: Taken,
}

#[derive(Debug)]
enum Taken {
    Hashed(BloomFilter),
    Numbers(Vec<Option<i64>>),
    Rows {
        nulls: RoaringBitmap,
        values: BTreeMap<Key, RoaringBitmap>,
        /// Bytes of texts among the values.
        texts: usize,
    },
}

impl Taken {
    fn nothing() -> Self {
        Self::Rows { nulls: RoaringBitmap::new(), values: BTreeMap::new(), texts: 0 }
    }
}

impl IndexBuilder {
    /// An index that may take so many bytes; one that takes more from the beginning is given up.
    ///
    /// # Errors
    /// `UnsupportedFeature`: columns of this type cannot have such an index.
    pub fn new(kind: IndexKind, data_type: &DataType, settings: &IndexSettings, room: usize) -> Result<Self> {
        let keys = kind
            .key_type(data_type)
            .ok_or_else(|| Error::unsupported(format!("a '{}' index of a column of type {data_type}", kind.name())))?;
        let mut made = Self {
            kind,
            keys,
            settings: settings.clone(),
            rows: 0,
            has_value: false,
            without_key: false,
            taken: Taken::nothing(),
        };
        match settings {
            // before its memory is asked for
            IndexSettings::BloomFilter { items, fpp } if BloomFilter::size_for(*items, *fpp) > room => made.give_up(),
            IndexSettings::BloomFilter { items, fpp } => made.taken = Taken::Hashed(BloomFilter::new(*items, *fpp)),
            IndexSettings::BitSliced => made.taken = Taken::Numbers(Vec::new()),
            _ => {}
        }
        Ok(made)
    }

    /// Its kind.
    pub fn kind(&self) -> IndexKind {
        self.kind
    }

    /// The value of the next row.
    pub fn add(&mut self, value: &Datum) {
        if self.without_key {
            self.has_value |= !value.is_null();
            return;
        }
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
            (Taken::Rows { values, texts, .. }, Some(key)) => match values.entry(key) {
                Entry::Occupied(mut rows) => _ = rows.get_mut().insert(row),
                Entry::Vacant(place) => {
                    *texts += place.key().text_length();
                    place.insert(RoaringBitmap::from_iter([row]));
                }
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
            (Taken::Rows { nulls, values, .. }, settings) => {
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

    /// Lets go of what was taken in: there will be no index.
    pub fn give_up(&mut self) {
        self.without_key = true;
        self.taken = Taken::nothing();
    }

    /// Whether there can be no index of the values.
    pub fn is_given_up(&self) -> bool {
        self.without_key
    }

    /// Memory that is held.
    pub fn memory_used(&self) -> usize {
        match &self.taken {
            Taken::Hashed(filter) => filter.size(),
            Taken::Numbers(numbers) => numbers.capacity() * size_of::<Option<i64>>(),
            // a bitmap of few rows takes about 100 bytes, and 2 for each row; texts are there several times at the end
            Taken::Rows { values, texts, .. } => values.len() * 128 + self.rows as usize * 2 + texts * 4,
        }
    }
}
