//! Texts and binaries of a batch on their way into an array, with memory that is asked for before it is taken: a name that a file
//! has once comes into the dictionary and the text of each row.

use std::fmt::Display;

use arrow_array::{BinaryArray, StringArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};

use crate::{
    error::{Error, ErrorKind, Result},
    limits,
};

/// The most bytes of one array.
const MOST: usize = 1 << 30;

pub(super) struct Collected {
    what: &'static str,
    bytes: Vec<u8>,
    /// Where each value ends, after a first 0.
    ends: Vec<i32>,
}

impl Collected {
    /// So many values, of which `what` is said in errors.
    pub(super) fn new(what: &'static str, values: usize) -> Result<Self> {
        let mut ends = Vec::new();
        limits::reserve(&mut ends, values.saturating_add(1), what)?;
        ends.push(0);
        Ok(Self { what, bytes: Vec::new(), ends })
    }

    /// # Errors
    /// `MemoryLimitExceeded`; `UnsupportedFeature` where the values of the array become too many.
    pub(super) fn add(&mut self, value: &[u8]) -> Result<()> {
        let end = self.bytes.len().saturating_add(value.len());
        if end > MOST {
            let error = Error::unsupported(format!("more than 1 GiB of {} in one batch", self.what));
            return Err(error.hint("give a smaller batch_size"));
        }
        limits::grow(&mut self.bytes, value.len(), self.what)?;
        self.bytes.extend_from_slice(value);
        self.ends.push(i32::try_from(end).map_err(too_many)?);
        Ok(())
    }

    pub(super) fn binaries(self) -> Result<BinaryArray> {
        Ok(BinaryArray::try_new(offsets(self.ends), Buffer::from_vec(self.bytes), None)?)
    }

    /// The values as texts; those that `nulls` names are none.
    pub(super) fn texts(self, nulls: Option<NullBuffer>) -> Result<StringArray> {
        Ok(StringArray::try_new(offsets(self.ends), Buffer::from_vec(self.bytes), nulls)?)
    }
}

fn offsets(ends: Vec<i32>) -> OffsetBuffer<i32> {
    OffsetBuffer::new(ScalarBuffer::from(ends))
}

fn too_many(e: impl Display) -> Error {
    Error::new(ErrorKind::Internal, format!("an array of too many bytes: {e}"))
}

#[cfg(test)]
mod tests {
    use arrow_array::Array as _;

    use super::*;

    #[test]
    fn what_was_added_is_in_the_array() {
        let mut collected = Collected::new("texts", 3).unwrap();
        for text in ["ab", "", "ä"] {
            collected.add(text.as_bytes()).unwrap();
        }
        let texts = collected.texts(Some(NullBuffer::from(vec![true, false, true]))).unwrap();
        assert_eq!(texts.iter().collect::<Vec<_>>(), [Some("ab"), None, Some("ä")]);
        assert_eq!(Collected::new("binaries", 0).unwrap().binaries().unwrap().len(), 0);
    }
}
