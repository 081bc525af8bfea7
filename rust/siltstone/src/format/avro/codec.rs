//! Block compression of Avro container files.
//!
//! `null`: plain. `deflate`: raw deflate (RFC 1951). `snappy`: raw snappy, then the CRC-32 of the plain
//! bytes, 4 bytes big-endian. `zstandard`: one zstd frame.

use std::{
    borrow::Cow,
    cell::RefCell,
    collections::TryReserveError,
    io::{self, Read, Write},
};

use zstd::zstd_safe::{self, CCtx, CParameter, DCtx, InBuffer, OutBuffer, zstd_sys::ZSTD_EndDirective};

use crate::{
    error::{Error, ErrorKind, Result},
    limits::is_out_of_memory,
};

/// A block may decompress to this many bytes whatever its size...
const FREE_BYTES: usize = 16 << 20;
/// ...or to this many for each of its bytes; beyond is no metadata but a bomb.
const MAX_RATIO: usize = 1100;
/// A copy of snappy takes 3 bytes and makes 64.
const MAX_SNAPPY_RATIO: usize = 22;

/// How the blocks of a container file are compressed (option `manifest.compression`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// `null`
    None,
    /// `deflate`
    Deflate,
    /// `snappy`
    Snappy,
    /// `zstandard` at this level
    Zstd(i32),
}

impl Compression {
    /// From the value of `manifest.compression` and the zstd level.
    pub fn parse(name: &str, zstd_level: i32) -> Result<Self> {
        Self::from_name(name, zstd_level).ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidOption,
                format!("manifest compression '{name}' is not one that siltstone writes"),
            )
            .with("option", "manifest.compression")
            .hint("use zstd, snappy, deflate or null")
        })
    }

    /// The codec of a file's `avro.codec`; an absent one is `null`.
    pub(super) fn of_file(file: &str, name: &[u8]) -> Result<Self> {
        let name = String::from_utf8_lossy(name);
        Self::from_name(&name, 1)
            .ok_or_else(|| Error::unsupported(format!("the Avro codec '{name}'")).with("file", file))
    }

    fn from_name(name: &str, zstd_level: i32) -> Option<Self> {
        Some(match name.trim().to_ascii_lowercase().as_str() {
            "null" | "none" | "" => Self::None,
            "deflate" => Self::Deflate,
            "snappy" => Self::Snappy,
            "zstd" | "zstandard" => Self::Zstd(zstd_level),
            _ => return None,
        })
    }

    /// The value of `avro.codec`.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "null",
            Self::Deflate => "deflate",
            Self::Snappy => "snappy",
            Self::Zstd(_) => "zstandard",
        }
    }

    /// A block of metadata. One that becomes so small that [`Self::decompress`] would take it for a bomb is stored as it is.
    pub(super) fn compress(self, plain: &[u8]) -> Result<Cow<'_, [u8]>> {
        self.compress_as(plain, zstd_frame)
    }

    /// A block of rows: as [`Self::compress`], but zstd knows how much there is, which takes it less time and makes fewer bytes.
    pub(super) fn compress_rows(self, plain: &[u8]) -> Result<Cow<'_, [u8]>> {
        self.compress_as(plain, sized_zstd_frame)
    }

    fn compress_as(self, plain: &[u8], zstd: Framing) -> Result<Cow<'_, [u8]>> {
        let packed = self.packed(plain, zstd)?;
        match self {
            // others make no block so small
            Self::Zstd(_) if plain.len() > most_plain(packed.len()) => Ok(Cow::Owned(raw_frame(plain))),
            _ => Ok(packed),
        }
    }

    fn packed(self, plain: &[u8], zstd: Framing) -> Result<Cow<'_, [u8]>> {
        let packed = match self {
            Self::None => return Ok(Cow::Borrowed(plain)),
            Self::Deflate => {
                let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(plain).and_then(|()| encoder.finish()).map_err(|e| not_compressed(self, e))?
            }
            Self::Snappy => {
                let mut packed = snap::raw::Encoder::new().compress_vec(plain).map_err(|e| not_compressed(self, e))?;
                packed.extend_from_slice(&crc32fast::hash(plain).to_be_bytes());
                packed
            }
            Self::Zstd(level) => zstd(plain, level).map_err(|e| not_compressed(self, e))?,
        };
        Ok(Cow::Owned(packed))
    }

    /// The plain bytes of a block that starts at `offset` of `file`; `most` are allowed of any block now.
    pub(super) fn decompress<'a>(
        self,
        file: &str,
        offset: u64,
        packed: &'a [u8],
        most: usize,
    ) -> Result<Cow<'a, [u8]>> {
        let limit = most_plain(packed.len()).min(most);
        let corrupt = |found: String| Error::corrupt(file, offset, format!("a block of codec {}", self.name()), found);
        let broken = |e: io::Error| {
            // it says nothing about the file
            no_memory(e).map_or_else(|e| corrupt(e.to_string()), |e| e.with("file", file))
        };
        let plain = match self {
            Self::None => return Ok(Cow::Borrowed(packed)),
            Self::Deflate => read_limited(flate2::read::DeflateDecoder::new(packed), limit).map_err(broken)?,
            Self::Snappy => snappy(packed, limit).map_err(broken)?,
            Self::Zstd(_) => zstd_content(packed, limit).map_err(broken)?,
        };
        Ok(Cow::Owned(plain))
    }
}

/// How zstd makes a frame of a block, at a level.
type Framing = fn(&[u8], i32) -> io::Result<Vec<u8>>;

/// Of a context that is kept for the next block.
const MOST_CONTEXT_BYTES: usize = 8 << 20;

thread_local! {
    /// What compresses the blocks of this thread: to make one takes longer than to compress a block with it.
    static COMPRESSING: RefCell<Option<CCtx<'static>>> = const { RefCell::new(None) };
    /// What decompresses them.
    static DECOMPRESSING: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

/// One frame with Java's bytes: it does not say how long its content is, as one that is written piece by piece.
fn zstd_frame(plain: &[u8], level: i32) -> io::Result<Vec<u8>> {
    framed(plain, level, |context, frame| {
        let mut content = InBuffer::around(plain);
        loop {
            // all of the content first: at the end zstd would look how much there is
            let all = content.pos == plain.len();
            let then = if all { ZSTD_EndDirective::ZSTD_e_end } else { ZSTD_EndDirective::ZSTD_e_continue };
            let before = frame.len();
            let mut out = OutBuffer::around_pos(frame, before);
            let left = context.compress_stream2(&mut out, &mut content, then).map_err(zstd_failed)?;
            if all && left == 0 {
                return Ok(());
            }
            if frame.len() == frame.capacity() {
                frame.try_reserve(frame.len().max(1024)).map_err(out_of_memory)?;
            }
        }
    })
}

/// One frame that says how long its content is.
fn sized_zstd_frame(plain: &[u8], level: i32) -> io::Result<Vec<u8>> {
    framed(plain, level, |context, frame| context.compress2(frame, plain).map(drop).map_err(zstd_failed))
}

/// What `write` puts into an empty frame that has room for all of the content.
fn framed(
    plain: &[u8],
    level: i32,
    write: impl FnOnce(&mut CCtx<'static>, &mut Vec<u8>) -> io::Result<()>,
) -> io::Result<Vec<u8>> {
    let mut frame = Vec::new();
    frame.try_reserve_exact(zstd_safe::compress_bound(plain.len())).map_err(out_of_memory)?;
    COMPRESSING.with_borrow_mut(|kept| {
        let mut context = match kept.take() {
            Some(context) => context,
            None => CCtx::try_create().ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?,
        };
        context.set_parameter(CParameter::CompressionLevel(level)).map_err(zstd_failed)?;
        write(&mut context, &mut frame)?;
        // one for a large block is large
        *kept = Some(context).filter(|context| context.sizeof() <= MOST_CONTEXT_BYTES);
        Ok(frame)
    })
}

/// The content of frames, one after another.
fn zstd_content(packed: &[u8], limit: usize) -> io::Result<Vec<u8>> {
    let too_many = || io::Error::other(format!("more than {limit} bytes in it"));
    let told = zstd_safe::get_frame_content_size(packed).ok().flatten().and_then(|size| usize::try_from(size).ok());
    let mut plain = Vec::new();
    // a byte more than there may be
    let room = told.unwrap_or(packed.len().saturating_mul(4)).max(1024).min(limit.saturating_add(1));
    plain.try_reserve_exact(room).map_err(out_of_memory)?;
    DECOMPRESSING.with_borrow_mut(|kept| {
        let mut context = match kept.take() {
            Some(context) => context,
            None => DCtx::try_create().ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?,
        };
        let mut frames = InBuffer::around(packed);
        loop {
            let before = plain.len();
            let mut out = OutBuffer::around_pos(&mut plain, before);
            let left = context.decompress_stream(&mut out, &mut frames).map_err(zstd_failed)?;
            if plain.len() > limit {
                return Err(too_many());
            }
            let all = frames.pos == packed.len();
            // one that was kept takes nothing for no frame at all
            if all && left == 0 && !packed.is_empty() {
                break;
            }
            if plain.len() < plain.capacity() && all {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "incomplete frame"));
            }
            if plain.len() == plain.capacity() {
                let more = plain.len().min(limit.saturating_add(1).saturating_sub(plain.len()));
                plain.try_reserve_exact(more.max(1)).map_err(out_of_memory)?;
            }
        }
        // after an error none is kept: it would go on with the broken frame
        *kept = Some(context).filter(|context| context.sizeof() <= MOST_CONTEXT_BYTES);
        Ok(plain)
    })
}

fn zstd_failed(code: usize) -> io::Error {
    io::Error::other(zstd_safe::get_error_name(code))
}

fn out_of_memory(e: TryReserveError) -> io::Error {
    io::Error::new(io::ErrorKind::OutOfMemory, e)
}

/// What a block of so many bytes may become.
fn most_plain(packed: usize) -> usize {
    packed.saturating_mul(MAX_RATIO).max(FREE_BYTES)
}

/// A zstd frame of raw blocks, 128 KiB each, in a window of that size (RFC 8878).
fn raw_frame(plain: &[u8]) -> Vec<u8> {
    const BLOCK: usize = 128 << 10;
    let mut frame = Vec::with_capacity(plain.len() + plain.len() / BLOCK * 3 + 32);
    // a magic number; a frame that tells its content's size in 8 bytes; the window
    frame.extend_from_slice(&[0x28, 0xb5, 0x2f, 0xfd, 0xc0, 7 << 3]);
    frame.extend_from_slice(&(plain.len() as u64).to_le_bytes());
    let last = plain.chunks(BLOCK).count().saturating_sub(1);
    for (number, block) in plain.chunks(BLOCK).enumerate() {
        let size = u32::try_from(block.len()).unwrap_or_default();
        let head = (size << 3 | u32::from(number == last)).to_le_bytes();
        frame.extend_from_slice(head.get(..3).unwrap_or_default());
        frame.extend_from_slice(block);
    }
    frame
}

fn read_limited(source: impl Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut plain = Vec::new();
    source.take(limit as u64 + 1).read_to_end(&mut plain)?;
    if plain.len() > limit { Err(io::Error::other(format!("more than {limit} bytes in it"))) } else { Ok(plain) }
}

fn snappy(packed: &[u8], limit: usize) -> io::Result<Vec<u8>> {
    let Some((body, crc)) = packed.split_last_chunk::<4>() else {
        return Err(io::Error::other(format!("{} bytes", packed.len())));
    };
    let size = snap::raw::decompress_len(body).map_err(io::Error::other)?;
    if size > limit.min(body.len().saturating_mul(MAX_SNAPPY_RATIO)) {
        return Err(io::Error::other(format!("{size} bytes in it")));
    }
    let mut plain = Vec::new();
    plain.try_reserve_exact(size).map_err(out_of_memory)?;
    plain.resize(size, 0);
    let written = snap::raw::Decoder::new().decompress(body, &mut plain).map_err(io::Error::other)?;
    plain.truncate(written);
    let (stored, computed) = (u32::from_be_bytes(*crc), crc32fast::hash(&plain));
    if stored != computed {
        return Err(io::Error::other(format!("checksum {stored:08x} over bytes with {computed:08x}")));
    }
    Ok(plain)
}

fn not_compressed(codec: Compression, e: impl Into<io::Error>) -> Error {
    let failed =
        |e| Error::new(ErrorKind::Internal, format!("a block cannot be compressed with {}", codec.name())).caused_by(e);
    no_memory(e.into()).unwrap_or_else(failed)
}

/// What a codec says when it has no memory, as ours; any other error as it is.
fn no_memory(e: io::Error) -> std::result::Result<Error, io::Error> {
    if e.kind() != io::ErrorKind::OutOfMemory && !is_out_of_memory(&e.to_string()) {
        return Err(e);
    }
    Ok(Error::new(ErrorKind::MemoryLimitExceeded, "there is no memory for a block of a metadata file").caused_by(e))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A commit in little memory was an internal error.
    #[test]
    fn a_codec_without_memory_is_no_defect() {
        for text in ["Allocation error : not enough memory", "null pointer when creating new context"] {
            let error = not_compressed(Compression::Zstd(1), io::Error::other(text));
            assert_eq!(error.kind(), ErrorKind::MemoryLimitExceeded, "{text}");
        }
        assert_eq!(not_compressed(Compression::Zstd(1), io::Error::other("x")).kind(), ErrorKind::Internal);
    }

    #[test]
    fn blocks_of_any_size_come_one_after_another() {
        let sizes = [0, 1, 64_000, 3 << 20, 100, 64_000];
        let blocks =
            sizes.map(|size| (0..size).map(|at: usize| u8::try_from(at * at % 251).unwrap()).collect::<Vec<u8>>());
        for level in [1, 3, 19, -5] {
            let codec = Compression::Zstd(level);
            let packed: Vec<_> = blocks.iter().map(|plain| codec.compress(plain).expect("packed")).collect();
            for (plain, packed) in blocks.iter().zip(&packed) {
                assert_eq!(*codec.decompress("f", 0, packed, usize::MAX).expect("plain"), plain[..], "{level}");
            }
            for plain in &blocks {
                let packed = codec.compress_rows(plain).expect("packed");
                assert_eq!(*codec.decompress("f", 0, &packed, usize::MAX).expect("plain"), plain[..], "{level}");
            }
            // what was compressed before changes nothing
            let again = codec.compress(&blocks[2]).expect("packed");
            assert_eq!((&again, &packed[5]), (&packed[2], &packed[2]), "{level}");
        }
    }

    #[test]
    fn broken_frames_are_no_blocks_and_the_next_block_is_read() {
        let codec = Compression::Zstd(1);
        let plain: Vec<u8> = (0..200_000_u64).map(|at| u8::try_from(at * at % 251).unwrap()).collect();
        for packed in [codec.compress(&plain).expect("packed"), codec.compress_rows(&plain).expect("packed")] {
            let read = |packed: &[u8], most| codec.decompress("f", 0, packed, most).map(Cow::into_owned);
            let cut = [0, 1, 5, 9, packed.len() / 2, packed.len() - 1].map(|length| packed[..length].to_vec());
            let more = [[&packed, &b"more"[..]].concat(), b"no frame at all".to_vec()];
            for broken in cut.iter().chain(&more) {
                assert!(read(broken, usize::MAX).is_err(), "{} of {} bytes", broken.len(), packed.len());
                assert!(read(&packed, plain.len()).expect("unpacked") == plain, "after {} bytes", broken.len());
            }
            let error = read(&packed, plain.len() - 1).expect_err("a byte less is allowed");
            assert!(error.to_string().contains("more than 199999 bytes in it"), "{error}");
            // one after another, also of none
            let two = [&packed, &codec.compress(&[]).expect("packed")[..], &packed].concat();
            assert!(read(&two, usize::MAX).expect("unpacked") == [&plain[..], &plain].concat());
        }
    }

    /// A row with a key of twenty million equal letters made a manifest that was never read again.
    #[test]
    fn a_block_that_would_be_a_bomb_is_stored_as_it_is() {
        for size in [FREE_BYTES, FREE_BYTES + 1, FREE_BYTES + (5 << 17)] {
            let plain = vec![7; size];
            for codec in [Compression::Deflate, Compression::Snappy, Compression::Zstd(3)] {
                let packed = codec.compress(&plain).expect("packed");
                let read = codec.decompress("m", 0, &packed, usize::MAX).expect("unpacked");
                assert!(*read == plain, "{codec:?} of {size}");
                let stored = codec == Compression::Zstd(3) && size > FREE_BYTES;
                assert_eq!(packed.len() > size, stored, "{codec:?} of {size}");
            }
        }
    }

    #[test]
    fn a_block_of_snappy_that_claims_more_than_copies_can_make_is_refused() {
        let plain = Compression::Snappy.compress(&[7; 1000]).expect("packed");
        let body = plain.len() - 4;
        let mut claims = vec![0x80, 0x80, 0x80, 0x04];
        claims.extend(&plain[2..body]);
        claims.extend(&plain[body..]);
        let read = |packed| Compression::Snappy.decompress("m", 0, packed, usize::MAX).map(Cow::into_owned);
        assert_eq!(read(&plain[..]).expect("unpacked"), [7; 1000]);
        let error = read(&claims[..]).expect_err("8 MiB of a few bytes");
        assert!(error.to_string().contains("8388608 bytes in it"), "{error}");
    }
}
