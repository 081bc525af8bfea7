//! Where the values of a file lie.

use crate::{
    cancel,
    error::{Error, Result},
    fs::InputFile,
    limits,
};

use super::AROUND;

/// The only version of the format.
pub(super) const VERSION: u8 = 1;
/// The length of the index and the version.
const FOOTER: u64 = 5;

/// Length of what is no value: an older file has that of the row.
const OLDER_VALUE: i64 = -2;

/// A value with what is around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) start: u64,
    pub(super) length: u64,
}

/// The places of all values of a file of so many bytes; `None` for a null.
pub(super) fn read_index(input: &dyn InputFile, size: u64) -> Result<Vec<Option<Place>>> {
    let path = input.path();
    let footer_at =
        size.checked_sub(FOOTER).ok_or_else(|| Error::corrupt(path, 0, "a file of 5 bytes or more", size))?;
    let footer = input.read_range(footer_at, FOOTER)?;
    let (Some((length, [version])), true) = (footer.split_first_chunk::<4>(), footer.len() == 5) else {
        return Err(Error::corrupt(path, footer_at, "the end of a BLOB file", footer.len()));
    };
    if *version != VERSION {
        return Err(Error::unsupported(format!("version {version} of BLOB files")).with("file", path));
    }
    let length = i32::from_le_bytes(*length);
    let start = u64::try_from(length).ok().and_then(|length| footer_at.checked_sub(length));
    let Some(start) = start else {
        return Err(Error::corrupt(path, footer_at, "the length of an index in the file", length));
    };
    let index = input.read_range(start, footer_at - start)?;
    places(path, start, &index)
}

/// `start`: where the index begins, which is where the last value ends.
fn places(path: &str, start: u64, index: &[u8]) -> Result<Vec<Option<Place>>> {
    let (mut places, mut rest, mut length, mut end) = (Vec::new(), index, 0_i64, 0_u64);
    // the list has just as many places as it needs: one that grows takes twice as much, and once more while it does
    limits::reserve(&mut places, numbers(index)?, "the index of a BLOB file").map_err(|e| e.with("file", path))?;
    while !rest.is_empty() {
        if places.len() % 4096 == 0 {
            cancel::check()?;
        }
        let at = start.saturating_add((index.len() - rest.len()) as u64);
        let difference = varint(&mut rest).ok_or_else(|| Error::corrupt(path, at, "a varint", "other bytes"))?;
        length = length.checked_add(difference).ok_or_else(|| Error::corrupt(path, at, "a length", difference))?;
        if length == -1 {
            places.push(None);
            continue;
        }
        if length == OLDER_VALUE {
            let error = Error::unsupported("a BLOB column of which some rows were updated (Paimon 2)");
            return Err(error.with("file", path).with("offset", at));
        }
        let fits = |length: &u64| *length >= AROUND && end.checked_add(*length).is_some_and(|end| end <= start);
        let Some(taken) = u64::try_from(length).ok().filter(fits) else {
            return Err(Error::corrupt(path, at, format!("a BLOB between {end} and {start}"), length));
        };
        places.push(Some(Place { start: end, length: taken }));
        end += taken;
    }
    Ok(places)
}

/// How many varints there are: the last byte of each has no bit that says that more follow.
fn numbers(index: &[u8]) -> Result<usize> {
    let mut count = 0;
    for some in index.chunks(1 << 20) {
        cancel::check()?;
        count += some.iter().filter(|byte| **byte & 0x80 == 0).count();
    }
    Ok(count)
}

/// Seven bits a byte, the lowest first; even numbers are positive ones doubled.
fn varint(bytes: &mut &[u8]) -> Option<i64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(first & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if first & 0x80 == 0 {
            let half = (value >> 1).cast_signed();
            return Some(if value & 1 == 1 { !half } else { half });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn lengths_are_differences() {
        // 19, null, 16, 16
        let index = [38, 39, 34, 0];
        let place = |start, length| Some(Place { start, length });
        assert_eq!(places("f", 51, &index).unwrap(), [place(0, 19), None, place(19, 16), place(35, 16)]);
        assert_eq!(places("f", 0, &[1]).unwrap(), [None]);
        assert_eq!(places("f", 9, &[]).unwrap(), []);
    }

    /// A list that grew to twice its size was asked for once, and copied where it was shared.
    #[test]
    fn the_list_has_no_more_room_than_places() {
        let index: Vec<u8> = [1, 0x80].into_iter().chain(std::iter::repeat_n(0, 5000)).collect();
        assert_eq!(numbers(&index).unwrap(), 5001);
        let places = places("f", 9, &index).unwrap();
        assert_eq!((places.len(), places.capacity()), (5001, 5001));
        let token = cancel::Cancellation::default();
        token.cancel();
        token.run(|| assert_eq!(numbers(&index).unwrap_err().kind(), ErrorKind::Cancelled));
    }

    #[test]
    fn values_that_no_file_has_are_damage() {
        for (start, index) in [
            (50, &[38, 39, 34, 0][..]),
            (15, &[32]),
            (15, &[30]),
            (99, &[5]),
            (99, &[0x80]),
            (99, &[0xff; 11]),
            (u64::MAX, &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 2]),
        ] {
            assert_eq!(places("f", start, index).unwrap_err().kind(), ErrorKind::CorruptFile, "{index:?}");
        }
    }
}
