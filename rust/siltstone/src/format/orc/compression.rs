//! Compression of chunks.
//!
//! ```text
//! u24 LE: length << 1 | 1 when the chunk is stored as it is
//! length bytes
//! ```

use std::io::{self, Read, Write};

use super::lzo;
use crate::{
    error::{Error, ErrorKind, Result},
    limits::is_out_of_memory,
};

/// No writer makes larger chunks.
pub(super) const MOST_CHUNK: u64 = 1 << 23;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    None,
    Zlib,
    Snappy,
    Lzo,
    Lz4,
    Zstd,
}

impl Codec {
    /// From the number in the postscript.
    pub(super) fn of(number: u64) -> Option<Self> {
        [Self::None, Self::Zlib, Self::Snappy, Self::Lzo, Self::Lz4, Self::Zstd]
            .into_iter()
            .find(|codec| codec.number() == number)
    }

    pub(super) fn number(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Zlib => 1,
            Self::Snappy => 2,
            Self::Lzo => 3,
            Self::Lz4 => 4,
            Self::Zstd => 5,
        }
    }

    /// Of its name in options, for writing.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "none" => Self::None,
            "zlib" => Self::Zlib,
            "snappy" => Self::Snappy,
            "lz4" => Self::Lz4,
            "zstd" => Self::Zstd,
            _ => return None,
        })
    }

    /// A chunk compressed; `level` is that of zstd.
    pub(super) fn compress(self, plain: &[u8], level: i32) -> Result<Vec<u8>> {
        let packed = match self {
            Self::None | Self::Lzo => Ok(plain.to_vec()),
            Self::Zlib => {
                let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(plain).and_then(|()| encoder.finish())
            }
            Self::Snappy => snap::raw::Encoder::new().compress_vec(plain).map_err(io::Error::other),
            Self::Lz4 => Ok(lz4_flex::block::compress(plain)),
            Self::Zstd => zstd::bulk::compress(plain, level),
        };
        packed.map_err(not_compressed)
    }

    /// The plain bytes of a chunk, at most `most`.
    pub(super) fn decompress(self, packed: &[u8], most: usize) -> io::Result<Vec<u8>> {
        let plain = match self {
            Self::None => packed.to_vec(),
            Self::Zlib => limited(flate2::read::DeflateDecoder::new(packed), most)?,
            Self::Snappy => {
                let length = snap::raw::decompress_len(packed)?;
                let mut plain = vec![0; fits(length, most)?];
                snap::raw::Decoder::new().decompress(packed, &mut plain)?;
                plain
            }
            Self::Lzo => lzo::decompress(packed, most)?,
            Self::Lz4 => {
                let mut plain = vec![0; most];
                let length = lz4_flex::block::decompress_into(packed, &mut plain).map_err(io::Error::other)?;
                plain.truncate(length);
                plain
            }
            Self::Zstd => limited(zstd::stream::read::Decoder::with_buffer(packed)?, most)?,
        };
        Ok(plain)
    }
}

fn fits(length: usize, most: usize) -> io::Result<usize> {
    if length <= most { Ok(length) } else { Err(io::Error::other(format!("{length} bytes in a chunk"))) }
}

fn limited(source: impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut plain = Vec::new();
    source.take(most as u64 + 1).read_to_end(&mut plain)?;
    fits(plain.len(), most)?;
    Ok(plain)
}
fn not_compressed(e: io::Error) -> Error {
    let (kind, text) = if e.kind() == io::ErrorKind::OutOfMemory || is_out_of_memory(&e.to_string()) {
        (ErrorKind::MemoryLimitExceeded, "there is no memory to compress a chunk of a data file")
    } else {
        (ErrorKind::Internal, "a chunk cannot be compressed")
    };
    Error::new(kind, text).caused_by(e)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A write in little memory was an internal error.
    #[test]
    fn a_codec_without_memory_is_no_defect() {
        let error = |text: &str| not_compressed(io::Error::other(text.to_owned()));
        assert_eq!(error("Allocation error : not enough memory").kind(), ErrorKind::MemoryLimitExceeded);
        assert_eq!(error("x").kind(), ErrorKind::Internal);
    }
}
