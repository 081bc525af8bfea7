//! The head of a page, a struct that the parquet crate decodes as it comes: all of it is looked at first.
//!
//! ```text
//! 1 kind   2 bytes decompressed   3 bytes compressed   [4 checksum]
//! 5, 7, 8  what data, dictionaries and data of the second version have besides: 1 values; how data is encoded is 2 of the
//!          first version and 4 of the second, which has 3 rows, too
//! ```

use super::{
    compact::Compact,
    forms::{DATA_PAGE, DATA_PAGE_V2, DICTIONARY_PAGE, PAGE},
};
use crate::error::Result;

/// A data page, a dictionary, a data page of the second version.
pub(super) const DATA: i64 = 0;
pub(super) const DICTIONARY: i64 = 2;
pub(super) const DATA_V2: i64 = 3;

/// What a page says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) kind: i64,
    pub(super) decompressed: u64,
    pub(super) compressed: u64,
    /// Of a dictionary, of a byte at least each; of a data page, nulls and elements of lists included; none of other pages.
    pub(super) values: u64,
    /// Of a data page of the second version.
    pub(super) rows: Option<u64>,
    /// Of a data page: the number of its encoding.
    pub(super) encoding: Option<u64>,
    /// Bytes of the head.
    pub(super) length: u64,
}

impl Head {
    /// Reads a head at `offset` of a file; `None` when it does not end in these bytes.
    pub(super) fn read(file: &str, offset: u64, bytes: &[u8]) -> Result<Option<Self>> {
        let mut at = Compact::new("head of a page", file, offset, bytes);
        match Self::decode(&mut at) {
            Err(_) if at.has_ended() => Ok(None),
            read => read.map(Some),
        }
    }

    fn decode(at: &mut Compact<'_>) -> Result<Self> {
        let mut numbers: [Option<u64>; 4] = [None; 4];
        // of data, dictionaries, data of the second version
        let (mut data, mut dictionary, mut data_v2, mut rows) = (None, None, None, None);
        let (mut encoding, mut encoding_v2) = (None, None);
        at.fields(&mut |at, field, kind| match (field, kind) {
            (1..=3, 4..=6) => {
                let number = number(at)?;
                if let Some(place) = usize::try_from(field).ok().and_then(|field| numbers.get_mut(field)) {
                    *place = Some(number);
                }
                Ok(())
            }
            (5, 12) => at.fields(&mut |at, field, kind| match (field, kind) {
                (1, 4..=6) => number(at).map(|number| data = Some(number)),
                (2, 4..=6) => number(at).map(|number| encoding = Some(number)),
                _ => at.field(DATA_PAGE, field, kind),
            }),
            (7, 12) => at.fields(&mut |at, field, kind| match (field, kind) {
                (1, 4..=6) => number(at).map(|number| dictionary = Some(number)),
                _ => at.field(DICTIONARY_PAGE, field, kind),
            }),
            (8, 12) => at.fields(&mut |at, field, kind| match (field, kind) {
                (1, 4..=6) => number(at).map(|number| data_v2 = Some(number)),
                (3, 4..=6) => number(at).map(|number| rows = Some(number)),
                (4, 4..=6) => number(at).map(|number| encoding_v2 = Some(number)),
                _ => at.field(DATA_PAGE_V2, field, kind),
            }),
            _ => at.field(PAGE, field, kind),
        })?;
        let [_, Some(kind), Some(decompressed), Some(compressed)] = numbers else {
            return Err(at.corrupt("the kind and the sizes of a page", "a head without them"));
        };
        let kind = i64::try_from(kind).unwrap_or(i64::MAX);
        let (values, encoding) = match kind {
            DATA => (data, encoding),
            DICTIONARY => (dictionary, None),
            DATA_V2 => (data_v2, encoding_v2),
            _ => (Some(0), None),
        };
        let values = values.ok_or_else(|| at.corrupt("the number of values of a page", "a head without it"))?;
        let length = u64::try_from(at.passed()).unwrap_or(u64::MAX);
        let rows = rows.filter(|_| kind == DATA_V2);
        Ok(Self { kind, decompressed, compressed, values, rows, encoding, length })
    }
}

/// A number of 32 bits that is not negative: the crate takes the last bits of a larger one.
fn number(at: &mut Compact<'_>) -> Result<u64> {
    let number = at.signed()?;
    let small = i32::try_from(number).ok().and_then(|number| u64::try_from(number).ok());
    small.ok_or_else(|| at.corrupt("a number of 31 bits", number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    const NEXT_I32: u8 = 0x15;

    fn sizes(kind: u8) -> Vec<u8> {
        // 2147483647 bytes of 300
        vec![NEXT_I32, kind << 1, NEXT_I32, 0xfe, 0xff, 0xff, 0xff, 0x0f, NEXT_I32, 0xd8, 0x04]
    }

    fn read(kind: u8, more: &[u8]) -> Result<Option<Head>> {
        Head::read("f", 7, &[&sizes(kind), more].concat())
    }

    fn of(kind: i64, values: u64, rows: Option<u64>, length: u64) -> Head {
        let encoding = (kind == DATA || kind == DATA_V2).then_some(0);
        Head { kind, decompressed: 2_147_483_647, compressed: 300, values, rows, encoding, length }
    }

    #[test]
    fn the_numbers_of_a_head_are_read() {
        let data = [0x2c, NEXT_I32, 18, NEXT_I32, 0, NEXT_I32, 6, NEXT_I32, 6, 0x1c, 0x18, 1, b'x', 0, 0, 0];
        assert_eq!(read(0, &data).unwrap(), Some(of(0, 9, None, 27)));
        assert_eq!(
            read(0, &[&[NEXT_I32, 0x81, 1, 0x1c][..], &data[1..], &[99]].concat()).unwrap(),
            Some(of(0, 9, None, 30))
        );
        let second = [0x5c, NEXT_I32, 18, NEXT_I32, 0, NEXT_I32, 8, NEXT_I32, 0, 0, 0];
        assert_eq!(read(3, &second).unwrap(), Some(of(3, 9, Some(4), 22)));
        assert_eq!(read(2, &[0x4c, NEXT_I32, 18, NEXT_I32, 0, 0x11, 0, 0]).unwrap(), Some(of(2, 9, None, 19)));
        assert_eq!(read(1, &[0]).unwrap(), Some(of(1, 0, None, 12)));
    }

    #[test]
    fn a_head_that_goes_on_is_not_there_yet() {
        for more in [&[][..], &[0x2c], &[0x2c, NEXT_I32, 18, 0], &[0xc8, 100, 1]] {
            assert_eq!(read(0, more).unwrap(), None, "{more:02x?}");
        }
    }

    #[test]
    fn what_is_no_head_is_damage() {
        let negative = [NEXT_I32, 0, NEXT_I32, 1, NEXT_I32, 2, 0];
        let large = [NEXT_I32, 0, NEXT_I32, 0x80, 0x80, 0x80, 0x80, 0x20, NEXT_I32, 2, 0];
        for bytes in [&negative[..], &large, &[0], &[0x18, 1, 2, 0], &[&sizes(0)[..], &[0]].concat()] {
            let error = Head::read("f", 7, bytes).unwrap_err();
            assert_eq!(
                (error.kind(), error.context_value("file")),
                (ErrorKind::CorruptFile, Some("f")),
                "{bytes:02x?}"
            );
        }
    }

    /// The crate takes the last of them.
    #[test]
    fn the_last_of_two_equal_fields_counts() {
        let again = [0x2c, NEXT_I32, 18, 0, 0x05, 4, 10, 0];
        assert_eq!(read(0, &again).unwrap().unwrap().decompressed, 5);
    }

    /// The crate counted 2147483647 of them for every six bytes, and asked nobody whether to stop.
    #[test]
    fn lists_of_booleans_that_nobody_knows_are_damage() {
        let data = [0x2c, NEXT_I32, 18, 0];
        let inside = [0xe9, 0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x07];
        for more in [[&data[..3], &inside, &[0, 0]].concat(), [&data[..], &inside, &[0; 9]].concat()] {
            match read(0, &more) {
                // it claims more bytes than there are
                Ok(head) => assert_eq!(head, None),
                Err(error) => assert_eq!(error.kind(), ErrorKind::CorruptFile),
            }
        }
        let few = [&data[..3], &[0xe9, 0x19, 0x11, 1], &[0, 0]].concat();
        assert_eq!(read(0, &few).unwrap_err().kind(), ErrorKind::CorruptFile);
    }
}
