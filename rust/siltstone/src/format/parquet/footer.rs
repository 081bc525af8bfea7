//! A look at a footer before the parquet crate decodes it.
//!
//! The crate asks for memory for all elements that a list claims to have, and for all children that a group of the schema
//! claims; asking for too much ends the process, and so do groups in groups without end. So every length in the footer is
//! checked against the bytes that are left, and the schema's tree against its elements; then the memory is asked for.

use super::{
    compact::Compact,
    forms::{FILE, Form, ROW_GROUP, SCHEMA_ELEMENT},
};
use crate::{
    error::{Error, Result},
    limits,
};

/// Groups in one another in a schema; each level of a Paimon type takes three at most.
const MAX_GROUPS: usize = 128;

/// Of `FileMetaData`: the schema, its elements in preorder.
const SCHEMA: i64 = 2;

/// Of `FileMetaData`: the row groups.
const ROW_GROUPS: i64 = 4;

/// Row groups are numbered by 16 bits.
const MAX_ROW_GROUPS: usize = 1 << 15;

/// Of an element of the schema: how many children it has.
const CHILDREN: i64 = 5;

/// What an element of a list becomes at least.
const ELEMENT_BYTES: usize = 96;

/// What a byte of a footer becomes at most: a column chunk of 19 bytes some 600.
const BYTE_BYTES: usize = 32;

/// An error unless every length in a footer can be true; `offset` is where it starts in the file.
pub(super) fn check(file: &str, offset: u64, bytes: &[u8]) -> Result<()> {
    let mut at = Compact::new("footer", file, offset, bytes);
    at.fields(&mut |at, field, kind| match (field, kind) {
        (SCHEMA, 9 | 10) => schema(at),
        (ROW_GROUPS, 9 | 10) => row_groups(at, file),
        _ => at.field(FILE, field, kind),
    })?;
    let needed = at.elements().saturating_mul(ELEMENT_BYTES).max(bytes.len().saturating_mul(BYTE_BYTES));
    limits::ask(needed, "the footer of a Parquet file").map_err(|e| e.with("file", file))
}

fn row_groups(at: &mut Compact<'_>, file: &str) -> Result<()> {
    let (count, kind) = at.list_head()?;
    if count > MAX_ROW_GROUPS {
        // other readers take them
        return Err(Error::unsupported(format!("more than {MAX_ROW_GROUPS} row groups in a Parquet file"))
            .with("file", file)
            .with("row groups", count));
    }
    at.elements_of(count, |at| at.of_form(&ROW_GROUP, kind))
}

/// The schema: as many elements as its groups say, and not too many groups in one another.
fn schema(at: &mut Compact<'_>) -> Result<()> {
    let (count, kind) = at.list_head()?;
    // children that are still to come, of each group that is open
    let mut open: Vec<u64> = Vec::new();
    for left in (0..count).rev() {
        let mut children = 0;
        if kind == 12 {
            at.fields(&mut |at, field, kind| match (field, kind) {
                (CHILDREN, 4..=6) => at.signed().map(|number| children = number),
                _ => at.field(SCHEMA_ELEMENT, field, kind),
            })?;
        } else {
            at.of_form(&Form::Struct(SCHEMA_ELEMENT), kind)?;
        }
        let children = u64::try_from(children).ok().filter(|n| *n <= left as u64);
        let children = children.ok_or_else(|| at.corrupt(format!("at most {left} children"), "another number"))?;
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
            return Err(at.corrupt(format!("at most {MAX_GROUPS} groups in one another"), "more"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    /// A footer with one field, a list of `count` row groups and no bytes for them.
    fn listing(count: u32) -> Vec<u8> {
        let mut bytes = vec![0x49, 0xfc];
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
        // fields that nobody knows: bool, i32, double, binary, list of two bytes, empty map, map of one, struct, end
        let bytes = [
            0xf1, 0x15, 0x80, 0x01, 0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0x18, 2, b'h', b'i', 0x19, 0x23, 1, 2, 0x1b, 0, 0x1b,
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
    fn row_groups_have_numbers() {
        let groups = |count: u8| {
            let mut bytes = vec![0x49, 0xfc, 0x80, 0x80, count];
            bytes.extend(vec![0; usize::from(count) << 14]);
            bytes.push(0);
            check("f", 0, &bytes)
        };
        groups(2).unwrap();
        let error = groups(3).unwrap_err();
        assert_eq!((error.kind(), error.context_value("file")), (ErrorKind::UnsupportedFeature, Some("f")));
    }

    /// The crate takes a schema for what it is, whatever its type says: groups in it would be looked at by nobody.
    #[test]
    fn a_schema_is_a_list() {
        let mut hidden = schema(&[1, 1, 0]);
        // the same bytes as a text
        hidden[0] = 0x28;
        assert_eq!(check("f", 0, &hidden).unwrap_err().kind(), ErrorKind::CorruptFile);
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
        assert!(check("f", 0, &vec![0xfc; 100_000]).is_err());
    }
}
