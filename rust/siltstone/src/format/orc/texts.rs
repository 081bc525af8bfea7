//! Texts and bytes: as they are, or numbers of a dictionary's.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, StringArray};
use arrow_buffer::{BooleanBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType as Arrow;

use super::{
    budget::Budget,
    integers::Integers,
    stream::{MOST_AT_ONCE, Stream},
    values::nulls,
};
use crate::error::{Error, ErrorKind, Result};

/// The texts of a dictionary, one after another.
pub(super) struct Dictionary {
    offsets: Vec<usize>,
    bytes: Vec<u8>,
}

impl Dictionary {
    /// Reads so many texts.
    pub(super) fn read(size: usize, mut lengths: Integers, mut data: Stream, trim: bool) -> Result<Self> {
        let mut budget = Budget::of_one_row();
        let lengths = lengths.read(size)?;
        let (mut offsets, mut bytes) = read_texts(&lengths, &mut data, &mut budget)?;
        if trim {
            (offsets, bytes) = trimmed(&offsets, &bytes, &data)?;
        }
        Ok(Self { offsets, bytes })
    }

    fn text(&self, key: i64) -> Option<&[u8]> {
        let key = usize::try_from(key).ok()?;
        self.bytes.get(*self.offsets.get(key)?..*self.offsets.get(key.checked_add(1)?)?)
    }
}

/// Texts of these lengths: where each starts and the last one ends, and their bytes.
pub(super) fn read_texts(lengths: &[i64], from: &mut Stream, budget: &mut Budget) -> Result<(Vec<usize>, Vec<u8>)> {
    let mut offsets = Vec::new();
    from.room(&mut offsets, lengths.len() + 1)?;
    let mut end = 0_usize;
    offsets.push(end);
    for length in lengths {
        let length = usize::try_from(*length).ok().and_then(|length| end.checked_add(length));
        end = length.ok_or_else(|| from.corrupt("the length of a text", "a negative one"))?;
        offsets.push(end);
    }
    budget.find(end)?;
    let mut bytes = Vec::with_capacity(end.min(MOST_AT_ONCE));
    from.read(&mut bytes, end)?;
    Ok((offsets, bytes))
}

/// Texts without the spaces at their ends, as ORC reads CHAR.
pub(super) fn trimmed(offsets: &[usize], bytes: &[u8], of: &Stream) -> Result<(Vec<usize>, Vec<u8>)> {
    let (mut ends, mut kept) = (Vec::new(), Vec::new());
    of.room(&mut ends, offsets.len())?;
    of.room(&mut kept, bytes.len())?;
    ends.push(0);
    for pair in offsets.windows(2) {
        if let [start, end] = pair {
            kept.extend_from_slice(bytes.get(*start..*end).unwrap_or_default().trim_suffix_spaces());
        }
        ends.push(kept.len());
    }
    Ok((ends, kept))
}

/// Texts that end with spaces.
trait TrimSpaces {
    /// Without them.
    fn trim_suffix_spaces(&self) -> &[u8];
}

impl TrimSpaces for [u8] {
    fn trim_suffix_spaces(&self) -> &[u8] {
        let end = self.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
        self.get(..end).unwrap_or(self)
    }
}

pub(super) fn looked_up(
    keys: &mut Integers,
    entries: &Dictionary,
    count: usize,
    budget: &mut Budget,
) -> Result<(Vec<usize>, Vec<u8>)> {
    let numbers = keys.read(count)?;
    let text = |key: &i64| {
        entries.text(*key).ok_or_else(|| {
            keys.stream().corrupt(format!("one of {} entries of a dictionary", entries.offsets.len() - 1), key)
        })
    };
    let mut total = 0_usize;
    for key in &numbers {
        total = total.saturating_add(text(key)?.len());
    }
    // many keys may be those of one long text
    budget.take(total)?;
    let (mut offsets, mut bytes) = (Vec::new(), Vec::new());
    keys.stream().room(&mut offsets, count + 1)?;
    keys.stream().room(&mut bytes, total)?;
    offsets.push(0);
    for key in &numbers {
        bytes.extend_from_slice(text(key)?);
        offsets.push(bytes.len());
    }
    Ok((offsets, bytes))
}

pub(super) fn texts(
    to: &Arrow,
    offsets: &[usize],
    bytes: Vec<u8>,
    mask: Option<BooleanBuffer>,
    stream: &Stream,
) -> Result<ArrayRef> {
    let too_long = || Error::new(ErrorKind::UnsupportedFeature, "a text of 2 GiB").with("file", stream.path());
    let mut ends: Vec<i32> = Vec::new();
    stream.room(&mut ends, mask.as_ref().map_or(offsets.len(), |mask| mask.len() + 1))?;
    // the last one is the largest
    i32::try_from(offsets.last().copied().unwrap_or_default()).map_err(|_| too_long())?;
    let mut there = offsets.iter().map(|end| i32::try_from(*end).unwrap_or(i32::MAX));
    match &mask {
        None => ends.extend(there),
        Some(mask) => {
            let mut end = there.next().unwrap_or_default();
            ends.push(end);
            ends.extend(mask.iter().map(|is_there| {
                if is_there {
                    end = there.next().unwrap_or(end);
                }
                end
            }));
        }
    }
    let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
    if matches!(to, Arrow::Binary) {
        return Ok(Arc::new(BinaryArray::try_new(offsets, bytes.into(), nulls(mask))?));
    }
    let array = StringArray::try_new(offsets, bytes.into(), nulls(mask));
    Ok(Arc::new(array.map_err(|e| stream.corrupt("UTF-8 text", e))?))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{
        super::{compression::Codec, stream::Source},
        *,
    };
    use crate::format::records::InMemory;

    fn stream(bytes: &'static [u8]) -> Stream {
        let input = Arc::new(InMemory { path: "broken.orc".to_owned(), bytes: Bytes::from_static(bytes) });
        Stream::new(Source { input, codec: Codec::None, chunk_bytes: 0 }, 0, bytes.len() as u64)
    }

    /// The memory was asked for first, so that 11 KB of a broken file took 200 MB of address space, and what was wrong depended on
    /// the machine.
    #[test]
    fn texts_that_claim_more_than_the_file_has_end_with_the_file() {
        for budget in [Budget::of_one_row(), Budget::new(1 << 60)] {
            let error = read_texts(&[2, 1 << 59], &mut stream(b"abcd"), &mut { budget }).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CorruptFile, "{error}");
        }
        let (offsets, bytes) = read_texts(&[2, 0, 1], &mut stream(b"abcd"), &mut Budget::of_one_row()).unwrap();
        assert_eq!((offsets, bytes), (vec![0, 2, 2, 3], b"abc".to_vec()));
    }
}
