//! Byte primitives: bounds-checked reading and the Murmur hash. Knows nothing about tables.

mod java_json;
mod murmur;
mod reader;
mod utf16;

pub use java_json::to_java_json;
pub use murmur::{hash_bytes, hash_words};
pub use reader::ByteReader;
pub use utf16::compare_utf16;

/// Lower-case hexadecimal text of some bytes, for messages and tests.
pub fn to_hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes of a hexadecimal text; `None` when it is not one.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits
        .chunks_exact(2)
        .map(|pair| {
            let pair = std::str::from_utf8(pair).ok().filter(|p| !p.starts_with('+'))?;
            u8::from_str_radix(pair, 16).ok()
        })
        .collect()
}
