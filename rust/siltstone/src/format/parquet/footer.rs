//! A look at a footer before the parquet crate decodes it.
//!
//! The crate asks for memory for all elements that a list claims to have, and for all children that a group of the schema
//! claims; asking for too much ends the process, and so do groups in groups without end. So every length in the footer is
//! checked against the bytes that are left, and the schema's tree against its elements (Thrift's compact protocol):
//!
//! ```text
//! struct: fields until 00; a field: [id step << 4 | type] (step 0: the id follows as a varint), value
//! list:   [size << 4 | type] (size 15: it follows as a varint), elements
//! map:    size, [key type << 4 | value type] unless it is empty, keys and values
//! binary: size, bytes
//! ```

use crate::error::{Error, Result};

/// Structs, lists and maps in one another; `FileMetaData` has about six.
const MAX_DEPTH: usize = 32;

/// Groups in one another in a schema; each level of a Paimon type takes three at most.
const MAX_GROUPS: usize = 128;

/// Of `FileMetaData`: the schema, its elements in preorder.
const SCHEMA: i64 = 2;

/// Of an element of the schema: how many children it has.
const CHILDREN: i64 = 5;

/// An error unless every length in a footer can be true; `offset` is where it starts in the file.
pub(super) fn check(file: &str, offset: u64, bytes: &[u8]) -> Result<()> {
    let mut at = Compact { file, offset, bytes, at: 0 };
    at.fields(&mut |at, field, kind| match (field, kind) {
        (SCHEMA, 9 | 10) => at.schema(),
        _ => at.value(kind, MAX_DEPTH),
    })
}

struct Compact<'a> {
    file: &'a str,
    offset: u64,
    bytes: &'a [u8],
    at: usize,
}

impl Compact<'_> {
    fn corrupt(&self, expected: impl std::fmt::Display, found: impl std::fmt::Display) -> Error {
        Error::corrupt(self.file, self.offset.saturating_add(self.at as u64), expected, found)
            .hint("the footer of the Parquet file is damaged")
    }

    fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    fn byte(&mut self) -> Result<u8> {
        let byte = self.bytes.get(self.at).copied().ok_or_else(|| self.corrupt("a byte", "the end of the footer"))?;
        self.at += 1;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0_u64;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.corrupt("a variable-length number", "too many bytes"))
    }

    /// A number that may be negative.
    fn signed(&mut self) -> Result<i64> {
        let zigzag = self.varint()?;
        Ok((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
    }

    /// A number of things of at least a byte each, which are still to come.
    fn count(&mut self) -> Result<usize> {
        let count = self.varint()?;
        self.fits(count)
    }

    fn fits(&self, count: u64) -> Result<usize> {
        let fits = usize::try_from(count).ok().filter(|n| *n <= self.left());
        fits.ok_or_else(|| self.corrupt(format!("a length of at most {} bytes", self.left()), count))
    }

    fn skip(&mut self, length: u64) -> Result<()> {
        self.at += self.fits(length)?;
        Ok(())
    }

    fn structure(&mut self, depth: usize) -> Result<()> {
        self.fields(&mut |at, _, kind| at.value(kind, depth))
    }

    /// A struct: `each` gets the id and the type of each field, and passes its value.
    fn fields(&mut self, each: &mut dyn FnMut(&mut Self, i64, u8) -> Result<()>) -> Result<()> {
        let mut field = 0_i64;
        loop {
            let head = self.byte()?;
            let kind = head & 0x0f;
            if kind == 0 {
                return Ok(());
            }
            field = match head >> 4 {
                0 => self.signed()?,
                step => field.saturating_add(step.into()),
            };
            // the value of a boolean field is its type
            if !matches!(kind, 1 | 2) {
                each(self, field, kind)?;
            }
        }
    }

    /// The schema: as many elements as its groups say, and not too many groups in one another.
    fn schema(&mut self) -> Result<()> {
        let (count, kind) = self.list_head()?;
        // children that are still to come, of each group that is open
        let mut open: Vec<u64> = Vec::new();
        for left in (0..count).rev() {
            let mut children = 0;
            if kind == 12 {
                self.fields(&mut |at, field, kind| match (field, kind) {
                    (CHILDREN, 4..=6) => at.signed().map(|number| children = number),
                    _ => at.value(kind, MAX_DEPTH),
                })?;
            } else {
                self.value(kind, MAX_DEPTH)?;
            }
            let children = u64::try_from(children).ok().filter(|n| *n <= left as u64);
            let children =
                children.ok_or_else(|| self.corrupt(format!("at most {left} children"), "another number"))?;
            while open.last() == Some(&0) {
                open.pop();
            }
            if let Some(to_come) = open.last_mut() {
                *to_come -= 1;
            }
            if children > 0 {
                open.push(children);
            }
            if open.len() > MAX_GROUPS {
                return Err(self.corrupt(format!("at most {MAX_GROUPS} groups in one another"), "more"));
            }
        }
        Ok(())
    }

    fn value(&mut self, kind: u8, depth: usize) -> Result<()> {
        let depth = depth.checked_sub(1).ok_or_else(|| self.corrupt("few nested structures", "too many"))?;
        match kind {
            1..=3 => self.skip(1),
            4..=6 => self.varint().map(drop),
            7 => self.skip(8),
            8 => {
                let length = self.varint()?;
                self.skip(length)
            }
            9 | 10 => self.list(depth),
            11 => self.map(depth),
            12 => self.structure(depth),
            13 => self.skip(16),
            other => Err(self.corrupt("a type of the compact protocol", other)),
        }
    }

    fn list(&mut self, depth: usize) -> Result<()> {
        let (count, kind) = self.list_head()?;
        (0..count).try_for_each(|_| self.value(kind, depth))
    }

    /// How many elements a list has, and of which type.
    fn list_head(&mut self) -> Result<(usize, u8)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.count()?,
            few => self.fits(few.into())?,
        };
        Ok((count, head & 0x0f))
    }

    fn map(&mut self, depth: usize) -> Result<()> {
        let count = self.count()?;
        if count == 0 {
            return Ok(());
        }
        let kinds = self.byte()?;
        (0..count).try_for_each(|_| {
            self.value(kinds >> 4, depth)?;
            self.value(kinds & 0x0f, depth)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    /// A struct with one field, a list of structs of `count` elements and no bytes for them.
    fn listing(count: u32) -> Vec<u8> {
        let mut bytes = vec![0x19, 0xfc];
        let mut rest = count;
        while rest >= 0x80 {
            bytes.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
            rest >>= 7;
        }
        bytes.push(u8::try_from(rest).unwrap());
        bytes
    }

    #[test]
    fn a_list_longer_than_the_footer_is_refused_before_anyone_asks_for_memory() {
        for count in [100, 1 << 20, i32::MAX.unsigned_abs(), u32::MAX] {
            let error = check("f", 7, &listing(count)).unwrap_err();
            assert_eq!((error.kind(), error.context_value("file")), (ErrorKind::CorruptFile, Some("f")));
        }
    }

    #[test]
    fn a_footer_of_every_kind_of_value_is_fine() {
        // bool, i32, double, binary, list of two bools, empty map, map of one, struct, end
        let bytes = [
            0x11, 0x15, 0x80, 0x01, 0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0x18, 2, b'h', b'i', 0x19, 0x21, 1, 2, 0x1b, 0, 0x1b,
            1, 0x58, 9, 1, b'x', 0x1c, 0x15, 2, 0, 0,
        ];
        check("f", 0, &bytes).unwrap();
        assert!(check("f", 0, &bytes[..bytes.len() - 1]).is_err());
    }

    /// A footer whose schema has elements with these numbers of children.
    fn schema(children: &[i32]) -> Vec<u8> {
        let varint = |mut rest: u32, bytes: &mut Vec<u8>| {
            while rest >= 0x80 {
                bytes.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
                rest >>= 7;
            }
            bytes.push(u8::try_from(rest).unwrap());
        };
        // field 2, a list of structs
        let mut bytes = vec![0x29, 0xfc];
        varint(u32::try_from(children.len()).unwrap(), &mut bytes);
        for number in children {
            // field 4, a name of a letter; field 5, a number
            bytes.extend([0x48, 1, b'a', 0x15]);
            varint(((number << 1) ^ (number >> 31)).cast_unsigned(), &mut bytes);
            bytes.push(0);
        }
        bytes.push(0);
        bytes
    }

    #[test]
    fn groups_have_no_more_children_than_there_are_elements() {
        check("f", 0, &schema(&[2, 0, 1, 0])).unwrap();
        for children in [&[4, 0, 1, 0], &[2, 0, 2, 0], &[i32::MAX, 0, 0, 0], &[2, -1, 0, 0]] {
            let error = check("f", 0, &schema(children)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CorruptFile, "{children:?}");
        }
    }

    /// The crate, and what converts the schema, call themselves for each level: 800 used up the stack of a thread.
    #[test]
    fn groups_in_groups_have_an_end() {
        let nested = |depth: usize| {
            let mut children = vec![1; depth];
            children.push(0);
            check("f", 0, &schema(&children))
        };
        nested(MAX_GROUPS).unwrap();
        assert!(nested(MAX_GROUPS + 1).is_err());
        assert!(nested(100_000).is_err());
        // many groups beside each other are as they should be
        let mut wide = vec![1000];
        wide.extend([1, 0].repeat(1000));
        check("f", 0, &schema(&wide)).unwrap();
    }

    #[test]
    fn deep_structures_do_not_use_up_the_stack() {
        assert!(check("f", 0, &vec![0x1c; 100_000]).is_err());
    }
}
