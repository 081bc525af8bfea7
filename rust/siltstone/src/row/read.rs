//! Reading rows and arrays in place. The bytes are somebody else's: every offset is checked.

use super::{
    Datum,
    layout::{Slot, WIDE_DECIMAL_BYTES, array_header_bytes, from_big_endian, row_fixed_bytes, row_null_bytes},
};
use crate::{
    error::{Error, ErrorKind, Result},
    types::{DataType, TypeKind},
};

const WHAT: &str = "binary row";

/// A row's or an array's bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    bytes: &'a [u8],
    size: usize,
    null_bit: usize,
    slots: usize,
    is_row: bool,
}

impl<'a> View<'a> {
    /// A row of `arity` fields.
    pub(super) fn row(arity: usize, bytes: &'a [u8]) -> Result<Self> {
        // a field needs 8 bytes, so no arity that fits can overflow here
        let fixed = if arity > bytes.len() / 8 { usize::MAX } else { row_fixed_bytes(arity) };
        if bytes.len() < fixed {
            let expected = format!("a row of {arity} columns");
            return Err(Error::corrupt(WHAT, 0, expected, format!("{} bytes", bytes.len())));
        }
        Ok(Self { bytes, size: arity, null_bit: 8, slots: row_null_bytes(arity), is_row: true })
    }

    /// An array whose elements use `slot`.
    pub(super) fn array(bytes: &'a [u8], slot: Slot) -> Result<Self> {
        let size = i32_at(bytes, 0)?;
        let fits = usize::try_from(size).ok().filter(|n| {
            let elements = n.saturating_mul(slot.element_width());
            array_header_bytes(*n).saturating_add(elements) <= bytes.len()
        });
        let size = fits
            .ok_or_else(|| Error::corrupt(WHAT, 0, format!("the size of an array of {} bytes", bytes.len()), size))?;
        Ok(Self { bytes, size, null_bit: 32, slots: array_header_bytes(size), is_row: false })
    }

    /// The key and value arrays of a map.
    pub(super) fn map(bytes: &'a [u8], key: Slot, value: Slot) -> Result<(Self, Self)> {
        let length = i32_at(bytes, 0)?;
        let split = usize::try_from(length).ok().and_then(|n| bytes.get(4..)?.split_at_checked(n));
        let (keys, values) =
            split.ok_or_else(|| Error::corrupt(WHAT, 0, format!("at most {} key bytes", bytes.len()), length))?;
        let (keys, values) = (Self::array(keys, key)?, Self::array(values, value)?);
        if keys.size != values.size {
            return Err(Error::corrupt(WHAT, 4, format!("{} map values", keys.size), values.size));
        }
        Ok((keys, values))
    }

    /// Whether field or element `i` is null.
    pub(super) fn is_null(&self, i: usize) -> bool {
        let bit = self.null_bit + i;
        self.bytes.get(bit / 8).is_none_or(|byte| byte & (1 << (bit % 8)) != 0)
    }

    /// Field or element `i`.
    pub(super) fn get(&self, i: usize, data_type: &DataType) -> Result<Datum> {
        if i >= self.size {
            let message = format!("column {i} of a row of {} columns", self.size);
            return Err(Error::new(ErrorKind::CorruptFile, message));
        }
        if self.is_null(i) {
            return Ok(Datum::Null);
        }
        let slot = Slot::of(data_type);
        let at = self.slots + i * if self.is_row { 8 } else { slot.element_width() };
        Ok(match slot {
            Slot::Fixed(_) => self.fixed(at, data_type)?,
            Slot::Bytes => bytes_datum(self.text(at)?, data_type, at)?,
            Slot::Nested => Datum::Nested(self.behind(at)?.to_vec()),
            Slot::WideDecimal => {
                let bytes = self.behind(at)?;
                let value = from_big_endian(bytes).ok_or_else(|| {
                    let expected = format!("a decimal of 1 to {WIDE_DECIMAL_BYTES} bytes");
                    Error::corrupt(WHAT, at as u64, expected, format!("{} bytes", bytes.len()))
                })?;
                Datum::Decimal(value)
            }
            Slot::WideTimestamp => {
                let nanos_of_milli = i32_at(self.bytes, at)?;
                if !(0..1_000_000).contains(&nanos_of_milli) {
                    return Err(Error::corrupt(WHAT, at as u64, "nanoseconds of a millisecond", nanos_of_milli));
                }
                let offset = self.offset(at)?;
                Datum::Timestamp { millis: i64::from_le_bytes(array_at(self.bytes, offset)?), nanos_of_milli }
            }
        })
    }

    /// All fields or elements, given the type of each.
    pub(super) fn values<'t>(&self, types: impl Iterator<Item = &'t DataType>) -> impl Iterator<Item = Result<Datum>> {
        let mut room = Room::of(self.bytes.len());
        (0..self.size).zip(types).map(move |(i, t)| room.hold(self.get(i, t)?))
    }

    fn fixed(&self, at: usize, data_type: &DataType) -> Result<Datum> {
        let b = self.bytes;
        Ok(match &data_type.kind {
            TypeKind::Boolean => Datum::Boolean(array_at::<1>(b, at)? != [0]),
            TypeKind::TinyInt => Datum::TinyInt(i8::from_le_bytes(array_at(b, at)?)),
            TypeKind::SmallInt => Datum::SmallInt(i16::from_le_bytes(array_at(b, at)?)),
            TypeKind::Int => Datum::Int(i32_at(b, at)?),
            TypeKind::Date => Datum::Date(i32_at(b, at)?),
            TypeKind::Time(_) => Datum::Time(i32_at(b, at)?),
            TypeKind::Float => Datum::Float(f32::from_le_bytes(array_at(b, at)?)),
            TypeKind::Double => Datum::Double(f64::from_le_bytes(array_at(b, at)?)),
            TypeKind::Decimal { .. } => Datum::Decimal(i64::from_le_bytes(array_at(b, at)?).into()),
            TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => {
                Datum::Timestamp { millis: i64::from_le_bytes(array_at(b, at)?), nanos_of_milli: 0 }
            }
            _ => Datum::BigInt(i64::from_le_bytes(array_at(b, at)?)),
        })
    }

    /// Text or bytes: in the slot or behind it.
    fn text(&self, at: usize) -> Result<&'a [u8]> {
        let mark = array_at::<1>(self.bytes, at + 7)?[0];
        if mark & 0x80 == 0 {
            return self.behind(at);
        }
        let end = at + usize::from(mark & 0x7f);
        if end > at + 7 {
            return Err(Error::corrupt(WHAT, at as u64, "a length of at most 7", mark & 0x7f));
        }
        Ok(self.bytes.get(at..end).unwrap_or_default())
    }

    /// The bytes in the variable part that the slot points at.
    fn behind(&self, at: usize) -> Result<&'a [u8]> {
        let length = i32_at(self.bytes, at)?;
        let offset = self.offset(at)?;
        let end = usize::try_from(length).ok().and_then(|n| offset.checked_add(n));
        let bytes = end.and_then(|end| self.bytes.get(offset..end));
        bytes.ok_or_else(|| {
            let expected = format!("a value inside the {} bytes of its row", self.bytes.len());
            Error::corrupt(WHAT, at as u64, expected, format!("offset {offset} and length {length}"))
        })
    }

    fn offset(&self, at: usize) -> Result<usize> {
        let offset = i32_at(self.bytes, at + 4)?;
        usize::try_from(offset).map_err(|_| Error::corrupt(WHAT, at as u64, "an offset", offset))
    }
}

/// What the values of one row or array may hold together: no more than its bytes, or many of them name the same ones
/// and become far larger in memory than the file is.
#[derive(Debug)]
pub(crate) struct Room {
    bytes: usize,
    left: usize,
}

impl Room {
    /// For a row or array of so many bytes.
    pub(crate) fn of(bytes: usize) -> Self {
        Self { bytes, left: bytes }
    }

    /// The value, when there is room for it.
    pub(crate) fn hold(&mut self, value: Datum) -> Result<Datum> {
        let left = self.left.checked_sub(value.owned_bytes());
        self.left = left.ok_or_else(|| {
            let expected = format!("values that are {} bytes together", self.bytes);
            Error::corrupt(WHAT, 0, expected, "more: some name the same bytes")
        })?;
        Ok(value)
    }
}

fn bytes_datum(bytes: &[u8], data_type: &DataType, at: usize) -> Result<Datum> {
    if !matches!(data_type.kind, TypeKind::Char(_) | TypeKind::VarChar(_)) {
        return Ok(Datum::Bytes(bytes.to_vec()));
    }
    let text = std::str::from_utf8(bytes).map_err(|e| {
        Error::corrupt(WHAT, at as u64, "UTF-8 text", crate::codec::to_hex(bytes.get(..16).unwrap_or(bytes)))
            .caused_by(e)
    })?;
    Ok(Datum::String(text.to_owned()))
}

fn i32_at(bytes: &[u8], at: usize) -> Result<i32> {
    array_at(bytes, at).map(i32::from_le_bytes)
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N]> {
    let found = at.checked_add(N).and_then(|end| bytes.get(at..end)).and_then(|b| b.try_into().ok());
    found.ok_or_else(|| {
        let found = format!("the end at {}", bytes.len());
        Error::corrupt(WHAT, at as u64, format!("{N} bytes"), found)
    })
}
