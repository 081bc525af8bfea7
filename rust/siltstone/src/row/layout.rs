//! Where things are inside a row and an array (format chapters 5.1 and 5.4). All little-endian.
//!
//! ```text
//! row    [ header byte + null bits: ((arity + 71) / 64) * 8 ][ 8 bytes per field ][ variable part ]
//! array  [ i32 size ][ null bits: ((size + 31) / 32) * 4 ][ elements, padded to 8 ][ variable part ]
//! map    [ i32 length of the key array ][ key array ][ value array ]
//!
//! slot of a text of <= 7 bytes     [ text ........ ][ 0x80 | length ]
//! slot of a longer one, of nested  [ i32 length ][ i32 offset from the start of the row or array ]
//! slot of DECIMAL(p > 18)          the same; 16 bytes at offset: big-endian two's complement, rest zero
//! slot of TIMESTAMP(p > 3)         [ i32 nanos of milli ][ i32 offset ]; 8 bytes at offset: i64 millis
//! ```
//!
//! A null keeps its slot zero. In a row (not in an array) a null DECIMAL(p > 18) or TIMESTAMP(p > 3) still owns its
//! place in the variable part, and its slot holds the offset: hashes depend on it.

use crate::types::{DataType, TypeKind};

/// Largest precision of a decimal in an i64 slot.
pub(super) const MAX_COMPACT_DECIMAL: u8 = 18;
/// Largest precision of a timestamp in an i64 slot.
pub(super) const MAX_COMPACT_TIMESTAMP: u8 = 3;
/// Bytes that a wide decimal owns in the variable part.
pub(super) const WIDE_DECIMAL_BYTES: usize = 16;
/// Longest text inside a slot.
pub(super) const MAX_INLINE: usize = 7;

/// How a type uses its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// A value of this many bytes.
    Fixed(usize),
    /// Text or bytes: inside, or behind.
    Bytes,
    /// DECIMAL(p > 18)
    WideDecimal,
    /// TIMESTAMP(p > 3), either kind
    WideTimestamp,
    /// Always behind.
    Nested,
}

impl Slot {
    /// Of a type.
    pub(super) fn of(t: &DataType) -> Self {
        match &t.kind {
            TypeKind::Boolean | TypeKind::TinyInt => Self::Fixed(1),
            TypeKind::SmallInt => Self::Fixed(2),
            TypeKind::Int | TypeKind::Float | TypeKind::Date | TypeKind::Time(_) => Self::Fixed(4),
            TypeKind::BigInt | TypeKind::Double => Self::Fixed(8),
            TypeKind::Decimal { precision, .. } if *precision <= MAX_COMPACT_DECIMAL => Self::Fixed(8),
            TypeKind::Decimal { .. } => Self::WideDecimal,
            TypeKind::Timestamp(p) | TypeKind::LocalZonedTimestamp(p) if *p <= MAX_COMPACT_TIMESTAMP => Self::Fixed(8),
            TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => Self::WideTimestamp,
            TypeKind::Char(_)
            | TypeKind::VarChar(_)
            | TypeKind::Binary(_)
            | TypeKind::VarBinary(_)
            | TypeKind::Blob => Self::Bytes,
            TypeKind::Variant
            | TypeKind::Array(_)
            | TypeKind::Multiset(_)
            | TypeKind::Map(..)
            | TypeKind::Row(_)
            | TypeKind::Vector(..) => Self::Nested,
        }
    }

    /// Bytes per element in an array; in a row every slot has 8.
    pub(super) fn element_width(self) -> usize {
        match self {
            Self::Fixed(n) => n,
            _ => 8,
        }
    }

    /// Bytes that even a null owns in the variable part of a row.
    pub(super) fn reserved(self) -> usize {
        match self {
            Self::WideDecimal => WIDE_DECIMAL_BYTES,
            Self::WideTimestamp => 8,
            _ => 0,
        }
    }
}

/// Bytes of header and null bits of a row.
pub(super) fn row_null_bytes(arity: usize) -> usize {
    (arity + 63 + 8) / 64 * 8
}

/// Bytes of a row before the variable part.
pub(super) fn row_fixed_bytes(arity: usize) -> usize {
    row_null_bytes(arity) + 8 * arity
}

/// Bytes of an array before the first element.
pub(super) fn array_header_bytes(size: usize) -> usize {
    4 + size.div_ceil(32) * 4
}

/// The next multiple of 8.
pub(super) fn round8(n: usize) -> usize {
    n.div_ceil(8) * 8
}

/// Big-endian two's complement without superfluous sign bytes, as Java's `BigInteger` gives it: the bytes of `.0`
/// from index `.1` on.
pub(super) fn minimal_big_endian(value: i128) -> ([u8; 16], usize) {
    let sign_bits = if value < 0 { value.leading_ones() } else { value.leading_zeros() };
    // one sign bit stays
    let spare = (sign_bits - 1) / 8;
    (value.to_be_bytes(), spare.min(15) as usize)
}

/// The value of such bytes; `None` when there are none or more than 16.
pub(super) fn from_big_endian(bytes: &[u8]) -> Option<i128> {
    let first = *bytes.first()?;
    let start = 16usize.checked_sub(bytes.len())?;
    let mut wide = [if first & 0x80 == 0 { 0 } else { 0xff }; 16];
    wide.get_mut(start..)?.copy_from_slice(bytes);
    Some(i128::from_be_bytes(wide))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn big_endian_numbers_carry_no_superfluous_sign_bytes() {
        for (value, expected) in [
            (0, &[0u8][..]),
            (-1, &[0xff]),
            (127, &[0x7f]),
            (128, &[0, 0x80]),
            (-128, &[0x80]),
            (-129, &[0xff, 0x7f]),
            (12345, &[0x30, 0x39]),
        ] {
            let (bytes, from) = minimal_big_endian(value);
            assert_eq!(&bytes[from..], expected, "{value}");
            assert_eq!(from_big_endian(expected), Some(value));
        }
        for value in [i128::MIN, i128::MAX] {
            let (bytes, from) = minimal_big_endian(value);
            assert_eq!((from, from_big_endian(&bytes)), (0, Some(value)));
        }
        assert_eq!(from_big_endian(&[]), None);
        assert_eq!(from_big_endian(&[0; 17]), None);
    }

    #[test]
    fn the_null_bits_of_a_row_grow_after_56_columns() {
        assert_eq!([0, 1, 56, 57, 120, 121].map(row_null_bytes), [8, 8, 8, 16, 16, 24]);
    }
}
