//! The values that an index lists: each is that of a row at least, and their memory is asked for.

use super::key::Key;
use crate::{
    cancel,
    codec::ByteReader,
    error::Result,
    limits::{self, Taken},
};

/// What their memory is asked for.
const WHAT: &str = "the values of a file index";
/// What an allocator has around a text.
const AROUND_TEXT: usize = 32;
/// After so many values of an index there is a look at whether to stop.
const ASK_VALUES: usize = 1024;

/// To be called for each value of an index that is read or written, with its number.
pub(super) fn ask_whether_to_stop(number: usize) -> Result<()> {
    if number.is_multiple_of(ASK_VALUES) { cancel::check() } else { Ok(()) }
}

/// A value with what belongs to it.
pub(super) trait Keyed {
    fn key(&self) -> &Key;
}

impl Keyed for Key {
    fn key(&self) -> &Key {
        self
    }
}

impl<T> Keyed for (Key, T) {
    fn key(&self) -> &Key {
        &self.0
    }
}

/// Values that are being read.
#[derive(Debug)]
pub(super) struct Listed<V> {
    values: Vec<V>,
    told: usize,
    taken: Taken,
}

impl<V: Keyed> Listed<V> {
    /// For as many values as an index tells of a file of so many rows.
    ///
    /// # Errors
    /// `CorruptFile`: values are distinct, so there are no more than rows.
    pub(super) fn new(from: &ByteReader<'_>, told: usize, rows: u32) -> Result<Self> {
        if u32::try_from(told).map_or(true, |told| told > rows) {
            return Err(from.error(format!("at most {rows} values, of {rows} rows"), told));
        }
        Ok(Self { values: Vec::new(), told, taken: Taken::default() })
    }

    /// How many there are so far.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The next value, in any order.
    ///
    /// # Errors
    /// `CorruptFile`: there are more than the index tells; `MemoryLimitExceeded`.
    pub(super) fn push(&mut self, from: &ByteReader<'_>, value: V) -> Result<()> {
        if self.values.len() >= self.told {
            return Err(from.error(format!("{} values", self.told), "more"));
        }
        ask_whether_to_stop(self.values.len())?;
        if let Key::Text(text) = value.key() {
            self.taken.more(text.len().saturating_add(AROUND_TEXT), WHAT)?;
        }
        limits::grow(&mut self.values, 1, WHAT)?;
        self.values.push(value);
        Ok(())
    }

    /// The next value, which is greater than the one before.
    pub(super) fn push_ascending(&mut self, from: &ByteReader<'_>, value: V) -> Result<()> {
        if self.values.last().is_some_and(|last| last.key() >= value.key()) {
            return Err(from.error("values in ascending order", "another order"));
        }
        self.push(from, value)
    }

    /// All of them, which are as many as the index tells.
    pub(super) fn finish(self, from: &ByteReader<'_>) -> Result<Vec<V>> {
        if self.values.len() == self.told {
            return Ok(self.values);
        }
        Err(from.error(format!("{} values", self.told), self.values.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts lie beside the list, where no length of it counts them.
    #[test]
    fn texts_are_counted() {
        let from = ByteReader::new("x", &[]);
        let mut values = Listed::new(&from, 2, 2).unwrap();
        for text in [b'a', b'b'] {
            values.push_ascending(&from, Key::Text(vec![text; 1000])).unwrap();
        }
        assert_eq!(values.taken.bytes(), 2 * (1000 + AROUND_TEXT));
        assert_eq!(values.finish(&from).unwrap().len(), 2);
    }
}
