//! Java's modified UTF-8: U+0000 in two bytes, and each half of a surrogate pair in three.

use crate::{
    codec::ByteReader,
    error::{Error, Result},
};

/// A text behind its length.
pub(super) fn read_utf(from: &mut ByteReader<'_>) -> Result<String> {
    let length = usize::from(from.u16_be()?);
    let bytes = from.take(length)?;
    from_modified_utf8(bytes).ok_or_else(|| from.error("a name in modified UTF-8", "other bytes"))
}

fn from_modified_utf8(bytes: &[u8]) -> Option<String> {
    let mut units: Vec<u16> = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    let tail = |byte: u8| (byte & 0xc0 == 0x80).then_some(u16::from(byte & 0x3f));
    loop {
        let (unit, more) = match rest {
            [] => return String::from_utf16(&units).ok(),
            [a, more @ ..] if *a < 0x80 => (u16::from(*a), more),
            [a, b, more @ ..] if a & 0xe0 == 0xc0 => (u16::from(a & 0x1f) << 6 | tail(*b)?, more),
            [a, b, c, more @ ..] if a & 0xf0 == 0xe0 => (u16::from(a & 0x0f) << 12 | tail(*b)? << 6 | tail(*c)?, more),
            _ => return None,
        };
        units.push(unit);
        rest = more;
    }
}

/// The bytes of a text.
pub(super) fn modified_utf8(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let low = |unit: u16, shift: u32| 0x80 | u8::try_from(unit >> shift & 0x3f).unwrap_or_default();
    let high = |unit: u16, shift: u32| u8::try_from(unit >> shift).unwrap_or_default();
    for unit in text.encode_utf16() {
        match unit {
            1..=0x7f => out.push(high(unit, 0)),
            0 | 0x80..=0x7ff => out.extend([0xc0 | high(unit, 6), low(unit, 0)]),
            _ => out.extend([0xe0 | high(unit, 12), low(unit, 6), low(unit, 0)]),
        }
    }
    out
}

/// Writes a text behind its length.
pub(super) fn put_utf(out: &mut Vec<u8>, text: &str) -> Result<()> {
    let bytes = modified_utf8(text);
    let length = u16::try_from(bytes.len()).map_err(|_| {
        Error::unsupported("a file index of a column whose name takes 64 KiB or more").with("column", text)
    })?;
    out.extend_from_slice(&length.to_be_bytes());
    out.extend(bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{from_hex, to_hex};

    #[test]
    fn names_have_javas_bytes() {
        for (text, hex) in [("a\u{0}é", "61c080c3a9"), ("\u{1F600}", "eda0bdedb880"), ("漢", "e6bca2")] {
            assert_eq!(to_hex(&modified_utf8(text)), hex);
            assert_eq!(from_modified_utf8(&from_hex(hex).unwrap()).as_deref(), Some(text));
        }
        assert_eq!(from_modified_utf8(&[0xed, 0xa0, 0xbd]), None);
        assert_eq!(from_modified_utf8(&[0xc3]), None);
    }
}
