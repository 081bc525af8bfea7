//! Avro data files (format chapter 7.7): container files whose records are rows.
//!
//! A file does not say how many rows it has, so the heads of its blocks are read when it is opened; blocks are read when
//! their rows are.

use std::{borrow::Cow, sync::Arc};

use arrow_array::ArrayRef;
use bytes::Bytes;

use super::{
    Compression, Cursor, WriterType,
    columns::Records,
    container::{MAGIC, SYNC_LEN, read_metadata},
    memory::Memory,
};
use crate::{
    cancel,
    error::{Error, Result},
    format::{
        DataFileReader, FileRead, RowsStream,
        groups::{self, GroupRows, Groups},
        prune::{Block, Claim},
    },
    fs::InputFile,
    limits::{self, Taken},
    types::DataField,
};

/// The header is read with so many bytes, and with more if that is too few.
const HEADER_BYTES: u64 = 64 * 1024;
const MOST_HEADER_BYTES: u64 = 64 * 1024 * 1024;
/// The largest head of a block: two numbers.
const HEAD_BYTES: u64 = 20;
/// Blocks are read together until they have so many rows or bytes.
const GROUP_ROWS: i64 = 8192;
const GROUP_BYTES: u64 = 1 << 20;
/// What a group takes in memory beside its place in the list.
const GROUP_MEMORY: usize = 160;
const BLOCKS: &str = "the blocks of an Avro file";
/// No block is larger.
pub(super) const MOST_BLOCK_BYTES: usize = 512 << 20;
/// A batch ends after so many bytes of records...
const BATCH_BYTES: usize = 8 << 20;
/// ...and when its values take as much memory: a null is a byte in the file.
const BATCH_MEMORY: usize = 64 << 20;

/// Opens a file of so many bytes.
pub(super) fn open(input: Arc<dyn InputFile>, size: u64) -> Result<Arc<dyn DataFileReader>> {
    let mut length = size.min(HEADER_BYTES);
    let header = loop {
        let bytes = input.read_range(0, length)?;
        match read_header(input.path(), &bytes) {
            Err(_) if length < size.min(MOST_HEADER_BYTES) => length = length.saturating_mul(16).min(size),
            header => break header?,
        }
    };
    let blocks = find_blocks(&*input, size, &header)?;
    let (mut groups, mut rows): (Vec<Vec<BlockPlace>>, Vec<i64>) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    let taken = Taken::default();
    for block in blocks {
        match (groups.last_mut(), rows.last_mut()) {
            (Some(group), Some(count)) if *count < GROUP_ROWS && bytes < GROUP_BYTES => {
                *count = count.saturating_add(block.rows);
                bytes += block.size;
                group.push(block);
            }
            _ => {
                taken.more(GROUP_MEMORY, BLOCKS)?;
                limits::grow(&mut groups, 1, BLOCKS)?;
                rows.push(block.rows);
                bytes = block.size;
                groups.push(vec![block]);
            }
        }
    }
    Ok(Arc::new(AvroFile(Arc::new(Open { input, header, groups, rows }))))
}

/// An open file.
#[derive(Clone)]
struct AvroFile(Arc<Open>);

struct Open {
    input: Arc<dyn InputFile>,
    header: Header,
    groups: Vec<Vec<BlockPlace>>,
    /// Rows of each group.
    rows: Vec<i64>,
}

struct Header {
    schema: WriterType,
    compression: Compression,
    sync: Vec<u8>,
    /// Where the first block starts.
    end: u64,
}

/// Where a block lies.
#[derive(Clone, Copy, Debug)]
struct BlockPlace {
    rows: i64,
    start: u64,
    size: u64,
}

fn read_header(path: &str, bytes: &[u8]) -> Result<Header> {
    let mut at = Cursor::new(path, 0, bytes);
    let magic = at.take(MAGIC.len()).unwrap_or(bytes);
    if magic != MAGIC {
        return Err(Error::corrupt(path, 0, "the magic number of an Avro file", format!("{magic:02x?}")));
    }
    let (schema, codec) = read_metadata(&mut at)?;
    let schema = schema.ok_or_else(|| at.corrupt("avro.schema in the header", "none"))?;
    let compression = Compression::of_file(path, codec)?;
    let sync = at.take(SYNC_LEN)?.to_vec();
    Ok(Header { schema: WriterType::parse(path, schema)?, compression, sync, end: at.position() as u64 })
}

/// Walks over the blocks of a file.
fn find_blocks(input: &dyn InputFile, size: u64, header: &Header) -> Result<Vec<BlockPlace>> {
    let mut blocks = Vec::new();
    let mut start = header.end;
    let mut head = input.read_range(start, HEAD_BYTES.min(size.saturating_sub(start)))?;
    let mut all = 0_i64;
    while start < size {
        if blocks.len() % 64 == 0 {
            cancel::check()?;
        }
        let mut at = Cursor::new(input.path(), start, &head);
        let (rows, length) = (at.long()?, at.long()?);
        let data = start + at.position() as u64;
        let end = u64::try_from(length).ok().and_then(|length| data.checked_add(length));
        let fits = |end: &u64| end.checked_add(SYNC_LEN as u64).is_some_and(|end| end <= size);
        let end = end.filter(fits).ok_or_else(|| at.corrupt("a block in the file", length))?;
        // a row takes a byte at least, compressed or not
        all = all
            .checked_add(rows)
            .filter(|all| rows >= 0 && *all <= limits::MOST)
            .ok_or_else(|| at.corrupt("a number of rows", rows))?;
        let next = end + SYNC_LEN as u64;
        let bytes = input.read_range(end, SYNC_LEN as u64 + HEAD_BYTES.min(size - next))?;
        if bytes.get(..SYNC_LEN) != Some(&*header.sync) {
            return Err(at.corrupt("the file's sync marker", format!("other bytes after the block at {start}")));
        }
        if rows > 0 {
            limits::grow(&mut blocks, 1, BLOCKS).map_err(|e| e.with("file", input.path()))?;
            blocks.push(BlockPlace { rows, start: data, size: end - data });
        }
        head = bytes.slice(SYNC_LEN..);
        start = next;
    }
    Ok(blocks)
}

impl DataFileReader for AvroFile {
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn rows(&self) -> i64 {
        self.0.rows.iter().sum()
    }

    fn read(&self, request: FileRead) -> Result<RowsStream> {
        Ok(groups::read(Arc::new(self.clone()), request))
    }

    fn for_many_reads(&self) -> Result<Arc<dyn DataFileReader>> {
        Ok(Arc::new(self.clone()))
    }

    fn blocks(&self, columns: &[Option<DataField>]) -> Result<Vec<Block>> {
        Ok(groups::blocks(self, columns))
    }

    /// A file says nothing of its values.
    fn claims(&self, columns: &[DataField]) -> Result<Vec<Vec<Claim>>> {
        Ok(vec![Vec::new(); columns.len()])
    }
}

impl Groups for AvroFile {
    fn group_rows(&self) -> &[i64] {
        &self.0.rows
    }

    fn open(&self, group: usize, columns: &[DataField]) -> Result<Box<dyn GroupRows>> {
        let blocks = self.0.groups.get(group).cloned().unwrap_or_default();
        let records = Records::new(self.0.input.path(), &self.0.header.schema, columns)?;
        Ok(Box::new(BlockRows { file: self.clone(), blocks: blocks.into_iter(), records, open: None }))
    }
}

impl std::fmt::Debug for AvroFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AvroFile").field("path", &self.0.input.path()).finish_non_exhaustive()
    }
}

/// The rows of some blocks.
struct BlockRows {
    file: AvroFile,
    blocks: std::vec::IntoIter<BlockPlace>,
    records: Records,
    open: Option<OpenBlock>,
}

/// A block that is read.
struct OpenBlock {
    plain: Bytes,
    start: u64,
    at: usize,
    left: usize,
}

impl BlockRows {
    /// The block with the next row.
    fn block(&mut self) -> Result<&mut OpenBlock> {
        if self.open.as_ref().is_none_or(|open| open.left == 0) {
            cancel::check()?;
            self.check_end()?;
            let path = self.file.0.input.path();
            let place = self.blocks.next().ok_or_else(|| Error::corrupt(path, 0, "more rows", "the last block"))?;
            let packed = self.file.0.input.read_range(place.start, place.size)?;
            let plain = self.file.0.header.compression.decompress(path, place.start, &packed, MOST_BLOCK_BYTES)?;
            let left = usize::try_from(place.rows).unwrap_or(usize::MAX);
            if left > plain.len() {
                return Err(Error::corrupt(
                    path,
                    place.start,
                    format!("{left} rows"),
                    format!("{} bytes", plain.len()),
                ));
            }
            let plain = match plain {
                Cow::Borrowed(_) => packed,
                Cow::Owned(plain) => Bytes::from(plain),
            };
            self.open = Some(OpenBlock { plain, start: place.start, at: 0, left });
        }
        self.open.as_mut().ok_or_else(|| Error::corrupt(self.file.0.input.path(), 0, "a block", "none"))
    }

    /// All bytes of a block must be used.
    fn check_end(&self) -> Result<()> {
        match &self.open {
            Some(open) if open.at < open.plain.len() => {
                let more = format!("{} more bytes", open.plain.len() - open.at);
                Err(Error::corrupt(self.file.0.input.path(), open.start, "the end of the block", more))
            }
            _ => Ok(()),
        }
    }
}

impl GroupRows for BlockRows {
    fn next(&mut self, most: usize) -> Result<(usize, Vec<ArrayRef>)> {
        let file = self.file.clone();
        let memory = Memory::of_rows(file.0.input.path());
        let most = most.min(BATCH_MEMORY / self.records.missing_bytes()?.max(1)).max(1);
        let (mut count, mut bytes) = (0, 0);
        while count < most && bytes < BATCH_BYTES && memory.taken() < BATCH_MEMORY {
            if count > 0 && self.blocks.len() == 0 && self.open.as_ref().is_some_and(|open| open.left == 0) {
                break;
            }
            self.block()?;
            let Some(open) = &mut self.open else { break };
            let mut at = Cursor::new(file.0.input.path(), open.start, open.plain.get(open.at..).unwrap_or_default())
                .counted(&memory);
            let has_room = |at: &Cursor<'_>| bytes + at.position() < BATCH_BYTES && memory.taken() < BATCH_MEMORY;
            while open.left > 0 && count < most && has_room(&at) {
                at.step()?;
                self.records.read(&mut at)?;
                open.left -= 1;
                count += 1;
            }
            bytes += at.position();
            open.at += at.position();
        }
        if self.open.as_ref().is_some_and(|open| open.left == 0) {
            self.check_end()?;
        }
        Ok((count, self.records.finish(&memory)?))
    }
}
