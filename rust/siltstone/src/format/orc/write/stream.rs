//! The bytes of a stream, compressed chunk by chunk.

use super::super::compression::Codec;
use crate::{cancel, error::Result};

/// Plain bytes of a chunk.
pub(super) const CHUNK: usize = 256 * 1024;

/// How chunks are compressed.
#[derive(Clone, Copy, Debug)]
pub(in crate::format::orc) struct Packing {
    pub(in crate::format::orc) codec: Codec,
    /// Of zstd.
    pub(in crate::format::orc) level: i32,
}

/// A stream that is being written.
pub(super) struct StreamWriter {
    packing: Packing,
    /// Plain bytes of the open chunk.
    open: Vec<u8>,
    /// Chunks with their heads.
    packed: Vec<u8>,
}

impl StreamWriter {
    pub(super) fn new(packing: Packing) -> Self {
        Self { packing, open: Vec::new(), packed: Vec::new() }
    }

    /// Appends bytes.
    pub(super) fn put(&mut self, mut bytes: &[u8]) -> Result<()> {
        while self.open.len() + bytes.len() >= CHUNK {
            let (now, later) = bytes.split_at_checked(CHUNK - self.open.len()).unwrap_or((bytes, &[]));
            self.open.extend_from_slice(now);
            self.close_chunk()?;
            bytes = later;
        }
        self.open.extend_from_slice(bytes);
        Ok(())
    }

    fn close_chunk(&mut self) -> Result<()> {
        cancel::check()?;
        if self.open.is_empty() {
            return Ok(());
        }
        if self.packing.codec == Codec::None {
            self.packed.append(&mut self.open);
            return Ok(());
        }
        let packed = self.packing.codec.compress(&self.open, self.packing.level)?;
        let (bytes, as_it_is) = if packed.len() < self.open.len() { (&packed, 0) } else { (&self.open, 1) };
        let head = u32::try_from(bytes.len()).unwrap_or_default() << 1 | as_it_is;
        self.packed.extend_from_slice(head.to_le_bytes().get(..3).unwrap_or_default());
        self.packed.extend_from_slice(bytes);
        self.open.clear();
        Ok(())
    }

    /// Bytes that are held.
    pub(super) fn memory(&self) -> usize {
        self.open.capacity() + self.packed.capacity()
    }

    /// Bytes that it is going to have, about.
    pub(super) fn size(&self) -> usize {
        self.packed.len() + self.open.len() / 4
    }

    /// All of its bytes; it begins anew.
    pub(super) fn finish(&mut self) -> Result<Vec<u8>> {
        self.close_chunk()?;
        Ok(std::mem::take(&mut self.packed))
    }
}

/// Some bytes as a stream.
pub(super) fn pack(packing: Packing, plain: &[u8]) -> Result<Vec<u8>> {
    let mut stream = StreamWriter::new(packing);
    stream.put(plain)?;
    stream.finish()
}
