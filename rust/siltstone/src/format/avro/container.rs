//! The container: header and blocks.
//!
//! ```text
//! "Obj" 01                      magic
//! map<bytes>                    avro.schema (JSON), avro.codec (absent = null)
//! 16 bytes                      sync marker
//! then blocks until the end:
//!   long                        records in the block
//!   long                        bytes of the block, compressed
//!   bytes                       records, one after another, compressed by the codec
//!   16 bytes                    the sync marker again
//! ```

use std::borrow::Cow;

use super::{Compression, Cursor, Encoder, WriterType, memory::Memory, parsed};
use crate::{
    cancel,
    error::{Error, Result},
    limits,
};

pub(super) const MAGIC: [u8; 4] = *b"Obj\x01";
pub(super) const SYNC_LEN: usize = 16;
/// Java closes a block when its plain records reach this size.
pub(super) const BLOCK_BYTES: usize = 64_000;
/// What stands around a block, at most.
const BLOCK_HEAD: usize = 64;

/// A container file, its blocks found but not decompressed.
#[derive(Debug)]
pub struct ContainerReader<'a> {
    /// The schema it was written with.
    pub schema: WriterType,
    /// The JSON text of the schema.
    pub schema_json: &'a [u8],
    /// The codec of the blocks.
    pub compression: Compression,
    /// The blocks in file order.
    pub blocks: Vec<Block<'a>>,
    file: &'a str,
    memory: Memory<'a>,
}

/// One block.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Records in it.
    pub count: usize,
    /// Where its compressed bytes start in the file.
    pub offset: u64,
    packed: &'a [u8],
}

impl<'a> ContainerReader<'a> {
    /// Reads the header and walks the blocks; `file` is for messages.
    pub fn open(file: &'a str, bytes: &'a [u8]) -> Result<Self> {
        Self::within(file, bytes, Memory::new(file, bytes.len()))
    }

    /// The same of a container that was made of a file of so many bytes: they are counted, not its own.
    pub fn of_file(file: &'a str, bytes: &'a [u8], file_bytes: usize) -> Result<Self> {
        let memory = Memory::new(file, file_bytes);
        memory.take(bytes.len())?;
        Self::within(file, bytes, memory)
    }

    fn within(file: &'a str, bytes: &'a [u8], memory: Memory<'a>) -> Result<Self> {
        let mut at = Cursor::new(file, 0, bytes);
        let magic = at.take(MAGIC.len()).unwrap_or(bytes);
        if magic != MAGIC {
            return Err(Error::corrupt(file, 0, "the magic number of an Avro file", format!("{magic:02x?}")));
        }
        let (schema_json, codec) = read_metadata(&mut at)?;
        let schema_json = schema_json.ok_or_else(|| at.corrupt("avro.schema in the header", "none"))?;
        let compression = Compression::of_file(file, codec)?;
        let sync = at.take(SYNC_LEN)?;
        let blocks = read_blocks(&mut at, sync)?;
        let schema = parsed::parse(file, schema_json)?;
        Ok(Self { schema, schema_json, compression, blocks, file, memory })
    }

    /// The plain bytes of a block.
    pub fn plain(&self, block: &Block<'a>) -> Result<Cow<'a, [u8]>> {
        cancel::check()?;
        let plain = self.compression.decompress(self.file, block.offset, block.packed, self.memory.left())?;
        if let Cow::Owned(bytes) = &plain {
            self.memory.take(bytes.len())?;
        }
        Ok(plain)
    }

    /// What `read` makes of the records of a block; all its bytes must be used.
    pub fn records<'p, T>(
        &'p self,
        block: &Block<'a>,
        plain: &'p [u8],
        mut read: impl FnMut(&mut Cursor<'p>) -> Result<Option<T>>,
    ) -> Result<Vec<T>> {
        let mut at = Cursor::new(self.file, block.offset, plain).counted(&self.memory);
        // a record takes a byte at least
        if block.count > plain.len() {
            return Err(at.corrupt(format!("{} records", block.count), format!("{} bytes", plain.len())));
        }
        let mut out = Vec::new();
        for _ in 0..block.count {
            at.step()?;
            if let Some(record) = read(&mut at)? {
                at.push(&mut out, record)?;
            }
        }
        match at.remaining() {
            0 => Ok(out),
            more => Err(at.corrupt("the end of the block", format!("{more} more bytes"))),
        }
    }
}

/// `avro.schema` and `avro.codec`.
pub(super) fn read_metadata<'a>(at: &mut Cursor<'a>) -> Result<(Option<&'a [u8]>, &'a [u8])> {
    let (mut schema, mut codec) = (None, &b""[..]);
    loop {
        let count = at.long()?;
        if count == 0 {
            return Ok((schema, codec));
        }
        if count < 0 {
            at.length("block size")?;
        }
        for _ in 0..count.unsigned_abs() {
            // ends with the bytes: each turn takes two at least
            let (key, value) = (at.bytes()?, at.bytes()?);
            match key {
                b"avro.schema" => schema = Some(value),
                b"avro.codec" => codec = value,
                _ => {}
            }
        }
    }
}

/// All blocks; an empty one takes 18 bytes of the file, and more than twice as many here.
fn read_blocks<'a>(at: &mut Cursor<'a>, sync: &[u8]) -> Result<Vec<Block<'a>>> {
    let mut blocks = Vec::new();
    while at.remaining() > 0 {
        at.step()?;
        limits::grow(&mut blocks, 1, "the blocks of a metadata file").map_err(|e| e.with("file", at.file()))?;
        blocks.push(read_block(at, sync)?);
    }
    Ok(blocks)
}

fn read_block<'a>(at: &mut Cursor<'a>, sync: &[u8]) -> Result<Block<'a>> {
    let start = at.position();
    let count = at.long()?;
    let size = at.length("block size")?;
    let offset = at.position() as u64;
    let packed = at.take(size)?;
    let count = usize::try_from(count).map_err(|_| at.corrupt("a number of records", count))?;
    let marker = at.take(SYNC_LEN)?;
    if marker != sync {
        let found = format!("{marker:02x?} after the block at {start}");
        return Err(at.corrupt("the file's sync marker", found));
    }
    Ok(Block { count, offset, packed })
}

/// What stands before the blocks.
pub(super) fn file_header(schema: &str, compression: Compression, sync: &[u8; SYNC_LEN]) -> Vec<u8> {
    let mut header = Encoder { out: MAGIC.to_vec() };
    let metadata = [("avro.schema", schema), ("avro.codec", compression.name())];
    header.array(&metadata, |header, (key, value)| {
        header.string(key);
        header.string(value);
    });
    header.out.extend_from_slice(sync);
    header.out
}

/// Writes a container file.
#[derive(Debug)]
pub struct ContainerWriter {
    out: Vec<u8>,
    block: Encoder,
    count: usize,
    compression: Compression,
    sync: [u8; SYNC_LEN],
}

impl ContainerWriter {
    /// With the schema as JSON text, byte for byte as it shall stand in the file.
    pub fn new(schema: &str, compression: Compression) -> Self {
        Self::with_sync(schema, compression, *uuid::Uuid::new_v4().as_bytes())
    }

    /// With a given sync marker, so that the file is the same each time.
    pub fn with_sync(schema: &str, compression: Compression, sync: [u8; SYNC_LEN]) -> Self {
        let out = file_header(schema, compression, &sync);
        Self { out, block: Encoder::default(), count: 0, compression, sync }
    }

    /// Appends the record that `write` writes.
    pub fn append(&mut self, write: impl FnOnce(&mut Encoder)) -> Result<()> {
        write(&mut self.block);
        self.count += 1;
        if self.block.out.len() >= BLOCK_BYTES { self.close_block() } else { Ok(()) }
    }

    /// Bytes of the file so far; the records of the open block are not in it.
    pub fn size(&self) -> usize {
        self.out.len()
    }

    /// The whole file.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        self.close_block()?;
        Ok(self.out)
    }

    fn close_block(&mut self) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let packed = self.compression.compress(&self.block.out)?;
        limits::grow(&mut self.out, packed.len().saturating_add(BLOCK_HEAD), "a metadata file")?;
        let mut head = Encoder { out: std::mem::take(&mut self.out) };
        head.length(self.count);
        head.bytes(&packed);
        head.out.extend_from_slice(&self.sync);
        self.out = head.out;
        self.block.out.clear();
        self.count = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, limits::most_metadata};

    const SCHEMA: &str = r#"{"type":"record","name":"r","fields":[{"name":"f","type":"int"}]}"#;

    /// It was bounded by its own size, which is that of the file many times over.
    #[test]
    fn what_was_made_of_a_file_is_bounded_by_the_size_of_the_file() {
        let container = ContainerWriter::new(SCHEMA, Compression::None).finish().unwrap();
        let reader = ContainerReader::of_file("m", &container, 10).unwrap();
        assert_eq!(reader.memory.left(), most_metadata(10) - container.len());
        let larger = vec![0; most_metadata(10) + 1];
        assert_eq!(ContainerReader::of_file("m", &larger, 10).unwrap_err().kind(), ErrorKind::CorruptFile);
    }

    #[test]
    fn walking_over_blocks_can_be_stopped() {
        let mut container = ContainerWriter::with_sync(SCHEMA, Compression::None, [0; SYNC_LEN]).finish().unwrap();
        container.extend(vec![0; 18 * 3000]);
        assert_eq!(ContainerReader::open("m", &container).unwrap().blocks.len(), 3000);
        let token = cancel::Cancellation::default();
        token.cancel();
        token.run(|| assert_eq!(ContainerReader::open("m", &container).unwrap_err().kind(), ErrorKind::Cancelled));
    }
}
