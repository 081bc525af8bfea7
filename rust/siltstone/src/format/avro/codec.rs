//! Block compression of Avro container files.

use crate::error::{Error, ErrorKind, Result};

/// How the blocks of a container file are compressed (option `manifest.compression`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// `null`
    None,
    /// `deflate`: raw deflate
    Deflate,
    /// `snappy` with a CRC of the plain bytes
    Snappy,
    /// `zstandard` at this level
    Zstd(i32),
}

impl Compression {
    /// From the value of `manifest.compression` and the zstd level.
    pub fn parse(name: &str, zstd_level: i32) -> Result<Self> {
        Ok(match name.trim().to_ascii_lowercase().as_str() {
            "null" | "none" => Self::None,
            "deflate" => Self::Deflate,
            "snappy" => Self::Snappy,
            "zstd" | "zstandard" => Self::Zstd(zstd_level),
            _ => {
                return Err(Error::new(
                    ErrorKind::InvalidOption,
                    format!("manifest compression '{name}' is not one that siltstone writes"),
                )
                .with("option", "manifest.compression")
                .hint("use zstd, snappy, deflate or null"));
            }
        })
    }
}
