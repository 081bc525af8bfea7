//! The bytes of a file as the parquet crate asks for them: many small requests, answered from few large reads.
//!
//! A small file is read at once. Of a larger one first the end is read, which holds the footer; then each wanted
//! column chunk in windows (`InputFile::window`), neighbouring small chunks together.

use std::{
    collections::VecDeque,
    io::Read,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use parquet::{
    errors::ParquetError,
    file::{
        metadata::ParquetMetaData,
        reader::{ChunkReader, Length},
    },
};

use super::{
    column_chunk::chunk_range,
    pages::{MAX_HEAD, PageLimits, endless_head},
    part::Part,
    runs::{GAP, runs},
};
use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
    fs::InputFile,
    limits::Held,
};

/// Files up to this size are read at once.
const WHOLE_FILE: u64 = 1024 * 1024;
/// What is read of a larger file to find the footer.
const TAIL: u64 = 64 * 1024;
/// What is read of the head of a page: one with short bounds fits.
const AHEAD: u64 = 256;

/// What is read together.
#[derive(Clone, Copy)]
pub(super) enum Ahead<'a> {
    /// Column chunks.
    Chunks,
    /// Pages that have some of these rows.
    Pages(&'a VecDeque<Part>),
    /// Dictionaries; the rest as it is asked for.
    Nothing,
}

/// A file's bytes, some of them in memory.
#[derive(Clone)]
pub(crate) struct Chunks(Arc<Shared>);

struct Shared {
    path: String,
    /// The open file; `None` when all that will be asked for is in memory.
    input: Option<Arc<dyn InputFile>>,
    size: u64,
    /// Read once, kept: the whole file or its tail.
    kept: (u64, Bytes),
    /// What the reader will ask for, in file order.
    segments: Vec<Segment>,
    /// What its pages can be.
    pages: PageLimits,
    /// The last storage error: the parquet crate hands on only its text.
    failed: Mutex<Option<Error>>,
    /// What the pages of this batch need; `None` between batches.
    batch: Mutex<Option<Held>>,
}

struct Segment {
    range: Range<u64>,
    row_group: usize,
    /// The column, where it has several.
    leaf: Option<usize>,
    window: Mutex<(u64, Bytes)>,
}

impl Chunks {
    /// Opens a file and reads its end.
    pub(crate) fn open(input: Arc<dyn InputFile>, size: Option<u64>) -> Result<Self> {
        let size = match size {
            Some(size) => size,
            None => input.size()?,
        };
        if size < 12 {
            return Err(Error::corrupt(
                input.path(),
                0,
                "a Parquet file of at least 12 bytes",
                format!("{size} bytes"),
            ));
        }
        let start = if size <= WHOLE_FILE { 0 } else { size - TAIL };
        let tail = input.read_range(start, size - start)?;
        let end = tail.get(tail.len().saturating_sub(4)..).unwrap_or_default();
        if end != b"PAR1" {
            return Err(Error::corrupt(input.path(), size - 4, "the mark PAR1 at the end", format!("{end:02x?}"))
                .hint("the file is no Parquet file, or its end is missing"));
        }
        let (path, input) = (input.path().to_owned(), (start > 0).then_some(input));
        let (segments, pages) = (Vec::new(), PageLimits::default());
        let (failed, batch) = (Mutex::default(), Mutex::default());
        Ok(Self(Arc::new(Shared { path, input, size, kept: (start, tail), segments, pages, failed, batch })))
    }

    /// A file whose end was read before.
    pub(crate) fn known(input: Arc<dyn InputFile>, size: u64) -> Self {
        Self(Arc::new(Shared {
            path: input.path().to_owned(),
            input: Some(input),
            size,
            kept: (size, Bytes::new()),
            segments: Vec::new(),
            pages: PageLimits::default(),
            failed: Mutex::default(),
            batch: Mutex::default(),
        }))
    }

    /// Whether all of it is in memory.
    pub(crate) fn is_whole(&self) -> bool {
        self.0.input.is_none()
    }

    /// Whether many small reads are no worse than few large ones.
    pub(super) fn reads_cheaply(&self) -> bool {
        self.0.window() < WHOLE_FILE
    }

    /// The same file, prepared for reading these column chunks.
    pub(super) fn plan(
        &self,
        metadata: &ParquetMetaData,
        row_groups: &[usize],
        leaf: &dyn Fn(usize) -> bool,
        ahead: Ahead<'_>,
    ) -> Self {
        let mut segments: Vec<Segment> = Vec::new();
        let window = self.0.window();
        for index in row_groups {
            let Some(group) = metadata.row_groups().get(*index) else { continue };
            if let Ahead::Pages(parts) = ahead {
                let leaves = (0..group.num_columns()).filter(|i| leaf(*i));
                leaves.for_each(|leaf| self.plan_pages(metadata, parts, (*index, leaf), &mut segments));
                continue;
            }
            let range = if matches!(ahead, Ahead::Chunks) { chunk_range } else { dictionary_range };
            let chunks = group.columns().iter().enumerate().filter(|(i, _)| leaf(*i)).map(|(_, c)| range(c));
            let mut ranges: Vec<Range<u64>> = chunks.flatten().filter(|r| r.end <= self.0.size).collect();
            ranges.sort_by_key(|r| r.start);
            for range in ranges {
                match segments.last_mut().filter(|s| s.row_group == *index) {
                    Some(last)
                        if range.start <= last.range.end.saturating_add(GAP)
                            && range.end.saturating_sub(last.range.start) <= window =>
                    {
                        last.range.end = last.range.end.max(range.end);
                    }
                    _ => segments.push(Segment::new(range, *index, None)),
                }
            }
        }
        segments.sort_by_key(|s| s.range.start);
        Self(Arc::new(Shared {
            path: self.0.path.clone(),
            input: self.0.input.clone(),
            size: self.0.size,
            kept: self.0.kept.clone(),
            segments,
            pages: PageLimits::new(metadata, row_groups, leaf),
            failed: Mutex::default(),
            batch: Mutex::default(),
        }))
    }

    /// The pages of a column that have rows of these parts; where nobody knows which these are, all of them.
    fn plan_pages(
        &self,
        metadata: &ParquetMetaData,
        parts: &VecDeque<Part>,
        (group, leaf): (usize, usize),
        segments: &mut Vec<Segment>,
    ) {
        let Some(chunk) = metadata.row_groups().get(group).and_then(|group| group.columns().get(leaf)) else { return };
        let of_group = || parts.iter().filter(|part| part.group == group);
        let pages: Option<Vec<_>> = of_group().map(|part| runs(metadata, part, leaf)).collect();
        let ranges = match pages {
            Some(pages) => dictionary_range(chunk).into_iter().chain(pages.into_iter().flatten()).collect(),
            None => Vec::from_iter(chunk_range(chunk)),
        };
        let inside = ranges.into_iter().filter(|range| range.end <= self.0.size);
        segments.extend(inside.map(|range| Segment::new(range, group, Some(leaf))));
    }

    /// The same file with these bytes of it in memory, and no others.
    pub(crate) fn keeping(&self, range: Range<u64>) -> Result<Self> {
        let kept = (range.start, self.0.bytes(range)?);
        Ok(Self(Arc::new(Shared {
            path: self.0.path.clone(),
            input: self.0.input.clone(),
            size: self.0.size,
            kept,
            segments: Vec::new(),
            pages: PageLimits::default(),
            failed: Mutex::default(),
            batch: Mutex::default(),
        })))
    }

    /// The pages of a batch come, whose values need so many bytes besides, until [`Self::end_batch`].
    pub(crate) fn begin_batch(&self, bytes: u64) -> Result<()> {
        let mut held = Held::default();
        self.hold(&mut held, bytes, "the values of a batch")?;
        *self.0.batch.lock().unwrap_or_else(PoisonError::into_inner) = Some(held);
        Ok(())
    }

    /// What the batch has needed is there, and no longer to be asked for.
    pub(crate) fn end_batch(&self) {
        *self.0.batch.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn hold(&self, held: &mut Held, bytes: u64, what: &str) -> Result<()> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        held.more(bytes, what).map_err(|e| e.with("file", self.path()))
    }

    /// Some bytes of the file, of which there are as many.
    pub(crate) fn range(&self, range: Range<u64>) -> Result<Bytes> {
        self.0.bytes(range)
    }

    pub(crate) fn size(&self) -> u64 {
        self.0.size
    }

    pub(crate) fn path(&self) -> &str {
        &self.0.path
    }

    /// The file when nothing is read from it any more: its name, for messages.
    pub(crate) fn closed(&self) -> Self {
        Self(Arc::new(Shared {
            path: self.0.path.clone(),
            input: None,
            size: self.0.size,
            kept: (0, Bytes::new()),
            segments: Vec::new(),
            pages: PageLimits::default(),
            failed: Mutex::default(),
            batch: Mutex::default(),
        }))
    }

    /// The encoded metadata at the end of the file, and where it starts.
    pub(crate) fn footer(&self) -> Result<(u64, Bytes)> {
        let tail = &self.0.kept.1;
        let length = tail.len().checked_sub(8).and_then(|at| tail.get(at..)?.first_chunk::<4>());
        let length = u64::from(length.map_or(0, |bytes| u32::from_le_bytes(*bytes)));
        let end = self.0.size.saturating_sub(8);
        if length == 0 {
            return Err(Error::corrupt(self.path(), end, "a footer", "a footer of 0 bytes")
                .hint("the footer of the Parquet file is damaged"));
        }
        let start = end.checked_sub(length).ok_or_else(|| {
            Error::corrupt(self.path(), end, format!("a footer of at most {end} bytes"), format!("{length} bytes"))
        })?;
        Ok((start, self.0.bytes(start..end)?))
    }

    /// The storage error behind a failed read, once.
    pub(crate) fn take_failure(&self) -> Option<Error> {
        self.0.failed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Keeps an error that the parquet crate would only pass on as text.
    pub(crate) fn keep_failure(&self, e: Error) {
        *self.0.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
    }

    fn bytes(&self, start: u64, length: usize) -> std::result::Result<Bytes, ParquetError> {
        let end = u64::try_from(length).ok().and_then(|l| start.checked_add(l)).filter(|end| *end <= self.0.size);
        let Some(end) = end else {
            return Err(ParquetError::EOF(format!(
                "{length} bytes at offset {start} of a file of {} bytes",
                self.0.size
            )));
        };
        self.0.bytes(start..end).map_err(|e| self.kept_failure(e))
    }

    fn kept_failure(&self, e: Error) -> ParquetError {
        let text = e.to_string();
        self.keep_failure(e);
        ParquetError::General(text)
    }

    /// An error unless these bytes at the head of a page can be true; `false`: the head goes on behind them.
    fn check_page(&self, start: u64, bytes: &[u8], whole: bool) -> std::result::Result<bool, ParquetError> {
        // the decoder passes pages without values, of which there may be very many, and asks nobody
        let checked = cancel::check().and_then(|()| {
            let Some(needed) = self.0.pages.check(&self.0.path, start, bytes, whole)? else { return Ok(false) };
            let mut batch = self.0.batch.lock().unwrap_or_else(PoisonError::into_inner);
            self.hold(batch.as_mut().unwrap_or(&mut Held::default()), needed, "a page of a column")?;
            Ok(true)
        });
        checked.map_err(|e| self.kept_failure(e))
    }

    /// Bytes from here on that have the whole head of a page.
    fn head(&self, start: u64) -> std::result::Result<Bytes, ParquetError> {
        let most = self.0.size.saturating_sub(start).min(MAX_HEAD);
        let mut length = AHEAD.min(most);
        loop {
            let bytes = self.bytes(start, usize::try_from(length).unwrap_or(0))?;
            if self.check_page(start, &bytes, false)? {
                return Ok(bytes);
            }
            if length == most {
                return Err(self.kept_failure(endless_head(&self.0.path, start)));
            }
            length = length.saturating_mul(8).min(most);
        }
    }
}

impl Shared {
    fn bytes(&self, wanted: Range<u64>) -> Result<Bytes> {
        if let Some(bytes) = part(&self.kept, &wanted) {
            return Ok(bytes);
        }
        let at = self.segments.partition_point(|s| s.range.end <= wanted.start);
        let segment = self.segments.get(at).filter(|s| s.range.start <= wanted.start && s.range.end >= wanted.end);
        let Some(segment) = segment else {
            return self.read(wanted);
        };
        let mut window = segment.window.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = part(&window, &wanted) {
            return Ok(bytes);
        }
        let most = self.window();
        let whole = segment.range.end - segment.range.start <= most;
        let start = if whole { segment.range.start } else { wanted.start };
        let end = segment.range.end.min(start + most).max(wanted.end);
        *window = (start, self.read(start..end)?);
        let bytes = part(&window, &wanted);
        drop(window);
        self.forget_before(segment.row_group);
        // the pages of a column are read in order, each time that they are; those of some segments may not be asked for at all
        let before = self.segments.get(..at).unwrap_or_default().iter().rev();
        let mut of_column = before.take_while(|before| before.leaf.is_some() && before.leaf == segment.leaf);
        of_column.any(Segment::forget);
        bytes.ok_or_else(|| Error::new(ErrorKind::Internal, "a read was shorter than asked").with("file", &self.path))
    }

    /// Bytes read ahead in a column chunk.
    fn window(&self) -> u64 {
        self.input.as_ref().map_or(0, |input| input.window())
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let nothing = || Error::new(ErrorKind::Internal, "a closed file is read").with("file", &self.path);
        self.input.as_ref().ok_or_else(nothing)?.read_range(range.start, range.end - range.start)
    }

    /// Row groups are read in order: earlier ones are not needed again.
    fn forget_before(&self, row_group: usize) {
        for segment in self.segments.iter().filter(|s| s.row_group < row_group) {
            segment.forget();
        }
    }
}

impl Segment {
    fn new(range: Range<u64>, row_group: usize, leaf: Option<usize>) -> Self {
        Self { range, row_group, leaf, window: Mutex::default() }
    }

    /// Whether there was something.
    fn forget(&self) -> bool {
        self.window.try_lock().is_ok_and(|mut window| !std::mem::take(&mut window.1).is_empty())
    }
}

/// Where its dictionary lies, which is looked at before it is decoded.
fn dictionary_range(chunk: &parquet::file::metadata::ColumnChunkMetaData) -> Option<Range<u64>> {
    let chunk = chunk_range(chunk)?.start..u64::try_from(chunk.data_page_offset()).ok()?;
    (chunk.start < chunk.end).then(|| chunk.start..chunk.end.max(chunk.start.saturating_add(AHEAD)))
}

fn part(held: &(u64, Bytes), wanted: &Range<u64>) -> Option<Bytes> {
    let from = usize::try_from(wanted.start.checked_sub(held.0)?).ok()?;
    let to = usize::try_from(wanted.end.checked_sub(held.0)?).ok()?;
    (to <= held.1.len() && from < to).then(|| held.1.slice(from..to))
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.0.size
    }
}

impl ChunkReader for Chunks {
    type T = Reading;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Reading> {
        Ok(Reading { chunks: self.clone(), at: start, ready: Bytes::new(), begun: false })
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        if length == 0 {
            return Ok(Bytes::new());
        }
        let bytes = self.bytes(start, length)?;
        self.check_page(start, &bytes, true)?;
        Ok(bytes)
    }
}

/// Sequential reading, for page headers.
pub(crate) struct Reading {
    chunks: Chunks,
    at: u64,
    ready: Bytes,
    begun: bool,
}

impl Read for Reading {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.ready.is_empty() {
            let left = self.chunks.0.size.saturating_sub(self.at);
            let length = usize::try_from(left.min(AHEAD)).unwrap_or(0);
            if length == 0 || buffer.is_empty() {
                return Ok(0);
            }
            let bytes = if self.begun { self.chunks.bytes(self.at, length) } else { self.chunks.head(self.at) };
            self.ready = bytes.map_err(std::io::Error::other)?;
            self.begun = true;
            self.at += u64::try_from(self.ready.len()).unwrap_or(0);
        }
        let length = buffer.len().min(self.ready.len());
        let taken = self.ready.split_to(length);
        buffer.iter_mut().zip(taken.iter()).for_each(|(to, from)| *to = *from);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::cancel::Cancellation;

    struct Memory(Bytes, AtomicUsize);

    impl InputFile for Memory {
        fn path(&self) -> &'static str {
            "memory.parquet"
        }
        fn size(&self) -> Result<u64> {
            Ok(self.0.len() as u64)
        }
        fn read_range(&self, start: u64, length: u64) -> Result<Bytes> {
            self.1.fetch_add(1, Ordering::Relaxed);
            let start = usize::try_from(start).unwrap();
            Ok(self.0.slice(start..start + usize::try_from(length).unwrap()))
        }
    }

    fn file(size: usize) -> Arc<Memory> {
        let mut bytes: Vec<u8> = (0..size).map(|i| u8::try_from(i % 251).unwrap()).collect();
        bytes[size - 4..].copy_from_slice(b"PAR1");
        Arc::new(Memory(Bytes::from(bytes), AtomicUsize::new(0)))
    }

    #[test]
    fn a_small_file_is_read_once() {
        let input = file(500_000);
        let chunks = Chunks::open(Arc::clone(&input) as Arc<dyn InputFile>, None).unwrap();
        assert_eq!(chunks.get_bytes(1000, 3).unwrap()[..], input.0[1000..1003]);
        assert_eq!(chunks.get_bytes(400_000, 3).unwrap()[..], input.0[400_000..400_003]);
        assert_eq!(input.1.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_large_chunk_is_read_in_windows() {
        let input = file(9_000_000);
        let chunks = Chunks::open(Arc::clone(&input) as Arc<dyn InputFile>, None).unwrap();
        let mut shared = Arc::try_unwrap(chunks.0).ok().unwrap();
        shared.segments = vec![Segment::new(0..5_000_000, 0, None)];
        let chunks = Chunks(Arc::new(shared));
        for start in (0..4_900_000).step_by(10_000) {
            let bytes = chunks.get_bytes(start, 9_999).unwrap();
            let start = usize::try_from(start).unwrap();
            assert_eq!(bytes[..], input.0[start..start + 9_999]);
        }
        assert!(input.1.load(Ordering::Relaxed) < 9, "{}", input.1.load(Ordering::Relaxed));
        let mut read = chunks.get_read(77).unwrap();
        let mut buffer = [0; 1000];
        read.read_exact(&mut buffer).unwrap();
        assert_eq!(buffer[..], input.0[77..1077]);
    }

    /// A file with the head of a page at 100: its numbers, what else there is, and its end.
    fn with_head(more: &[u8]) -> (Chunks, usize) {
        let head = [&[0x15, 0, 0x15, 20, 0x15, 20, 0x2c, 0x15, 2, 0][..], more, &[0]].concat();
        let mut bytes = [vec![1; 100], head.clone(), vec![2; 10_000]].concat();
        bytes.extend(b"PAR1");
        let input: Arc<dyn InputFile> = Arc::new(Memory(Bytes::from(bytes), AtomicUsize::new(0)));
        let chunks = Chunks::open(input, None).unwrap();
        let mut shared = Arc::try_unwrap(chunks.0).ok().unwrap();
        shared.pages = PageLimits::for_tests(100..10_000);
        (Chunks(Arc::new(shared)), head.len())
    }

    #[test]
    fn the_whole_head_of_a_page_is_looked_at_before_it_is_decoded() {
        let text = |length: u16| {
            [
                &[0xe8, u8::try_from(length & 0x7f).unwrap() | 0x80][..],
                &[u8::try_from(length >> 7).unwrap()],
                &vec![3; length.into()],
            ]
            .concat()
        };
        for length in [200, 240, 250, 3000] {
            let (chunks, head) = with_head(&text(length));
            let mut buffer = vec![0; head + 5];
            chunks.get_read(100).unwrap().read_exact(&mut buffer).unwrap();
            assert_eq!((buffer[head - 1], &buffer[head..]), (0, &[2; 5][..]), "{length}");
        }
        // lists of lists of booleans, which the crate counts without end, before and behind what is read first
        let lists = [0xe9, 0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x07];
        for more in
            [lists.to_vec(), [&text(3000)[..], &lists].concat(), [&text(3000)[..], &[0x19, 0x19, 0x11, 1]].concat()]
        {
            let (chunks, _) = with_head(&more);
            assert!(chunks.get_read(100).unwrap().read_exact(&mut [0; 8]).is_err());
            assert_eq!(chunks.take_failure().unwrap().kind(), ErrorKind::CorruptFile);
        }
    }

    /// The decoder passes pages without values, and asks nobody.
    #[test]
    fn whoever_reads_pages_may_stop_it() {
        let (chunks, _) = with_head(&[]);
        let token = Cancellation::default();
        token.cancel();
        assert!(token.run(|| chunks.get_read(100).unwrap().read_exact(&mut [0; 8])).is_err());
        assert_eq!(chunks.take_failure().unwrap().kind(), ErrorKind::Cancelled);
    }

    #[test]
    fn a_request_beyond_the_end_is_an_error() {
        let chunks = Chunks::open(file(1000), None).unwrap();
        assert!(chunks.get_bytes(999, 2).is_err());
        assert!(chunks.get_bytes(u64::MAX, 2).is_err());
    }

    #[test]
    fn a_file_without_its_end_is_named_with_the_offset() {
        let input: Arc<dyn InputFile> = Arc::new(Memory(Bytes::from(vec![1; 100]), AtomicUsize::new(0)));
        let e = Chunks::open(input, None).err().unwrap();
        assert_eq!(e.kind(), ErrorKind::CorruptFile);
        assert_eq!((e.context_value("file"), e.context_value("offset")), (Some("memory.parquet"), Some("96")));
    }
}
