//! Places sorted by hash in a local file: entries of 24 bytes, and in memory the first hash of each block of them.

use std::{
    cmp::Ordering,
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
    sync::Arc,
};

use super::{Entry, KeyHash, in_two_places};
use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
    fs::TemporaryFile,
};

/// Bytes of an entry.
const ENTRY: usize = 24;
/// Entries of a block, and their bytes.
const BLOCK: usize = 128;
const BLOCK_BYTES: usize = BLOCK * ENTRY;
/// Bytes that are written at once, and read at once where all is read.
const BUFFER: usize = 64 * BLOCK_BYTES;
/// Entries between two questions whether to stop.
const STRETCH: u64 = 1 << 16;

/// A file of places. It goes with the run.
pub(super) struct Run {
    file: TemporaryFile,
    entries: u64,
    firsts: Vec<KeyHash>,
}

impl Run {
    /// Writes sorted entries; `None` when there are none.
    pub(super) fn write(directory: &Path, entries: impl Iterator<Item = Result<Entry>>) -> Result<Option<Self>> {
        let mut entries = entries.peekable();
        if entries.peek().is_none() {
            return Ok(None);
        }
        let (file, output) = TemporaryFile::create(directory)?;
        let mut run = Self { file, entries: 0, firsts: Vec::new() };
        let mut output = BufWriter::with_capacity(BUFFER, output);
        for entry in entries {
            let Entry { hash: KeyHash(a, b), place } = entry?;
            if run.entries.is_multiple_of(BLOCK as u64) {
                run.firsts.push(KeyHash(a, b));
            }
            if run.entries.is_multiple_of(STRETCH) {
                cancel::check()?;
            }
            let written = [a, b, place].iter().try_for_each(|number| output.write_all(&number.to_le_bytes()));
            written.map_err(|e| run.failed("write", e))?;
            run.entries += 1;
        }
        output.flush().map_err(|e| run.failed("write", e))?;
        run.firsts.shrink_to_fit();
        Ok(Some(run))
    }

    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    pub(super) fn memory(&self) -> usize {
        self.firsts.capacity().saturating_mul(size_of::<KeyHash>())
    }

    /// For hashes that come in order.
    pub(super) fn reader(&self) -> Result<RunReader<'_>> {
        Ok(RunReader { run: self, file: self.file.open()?, block: None, bytes: Vec::new() })
    }

    /// All entries.
    fn all(&self) -> Result<Entries<'_>> {
        Ok(Entries { run: self, file: self.file.open()?, next: 0, bytes: Vec::new(), at: 0 })
    }

    fn read(&self, file: &File, start: u64, bytes: &mut [u8]) -> Result<()> {
        TemporaryFile::read_at(file, bytes, start).map_err(|e| self.failed("read", e))
    }

    fn failed(&self, what: &str, error: io::Error) -> Error {
        let text = format!("the index of the keys of a table on local disk could not be {what}");
        let text = text.replace("be write", "be written");
        Error::new(ErrorKind::Storage, text).with("file", self.file.path().display()).caused_by(error)
    }
}

/// Looks hashes up that come in order: no block is read twice.
pub(super) struct RunReader<'a> {
    run: &'a Run,
    file: Arc<File>,
    /// The block whose bytes are there.
    block: Option<usize>,
    bytes: Vec<u8>,
}

impl RunReader<'_> {
    pub(super) fn find(&mut self, hash: KeyHash) -> Result<Option<u64>> {
        let firsts = &self.run.firsts;
        let from = self.block.unwrap_or_default();
        let rest = firsts.get(from..).unwrap_or_default();
        let Some(block) = (from + from_left(rest, hash)).checked_sub(1) else { return Ok(None) };
        if self.block != Some(block) {
            let start = u64::try_from(block).unwrap_or(u64::MAX).saturating_mul(BLOCK_BYTES as u64);
            let all = self.run.entries.saturating_mul(ENTRY as u64);
            let length = usize::try_from(all.saturating_sub(start)).unwrap_or(usize::MAX).min(BLOCK_BYTES);
            self.bytes.resize(length, 0);
            self.block = Some(block);
            self.run.read(&self.file, start, &mut self.bytes)?;
        }
        let entries = self.bytes.as_chunks::<ENTRY>().0;
        let found = entries.binary_search_by(|entry| decoded(entry).hash.cmp(&hash));
        Ok(found.ok().and_then(|at| entries.get(at)).map(|entry| decoded(entry).place))
    }
}

/// How many of the sorted hashes are not above one, which is near their start.
fn from_left(sorted: &[KeyHash], hash: KeyHash) -> usize {
    let mut end = 1;
    while sorted.get(end).is_some_and(|first| *first <= hash) {
        end *= 2;
    }
    let start = end / 2;
    let part = sorted.get(start..sorted.len().min(end)).unwrap_or_default();
    start + part.partition_point(|first| *first <= hash)
}

fn decoded(bytes: &[u8; ENTRY]) -> Entry {
    let number = |at: usize| {
        let part = bytes.get(at..at + 8).and_then(|part| part.try_into().ok());
        u64::from_le_bytes(part.unwrap_or_default())
    };
    Entry { hash: KeyHash(number(0), number(8)), place: number(16) }
}

/// All entries of a run, in order.
struct Entries<'a> {
    run: &'a Run,
    file: Arc<File>,
    /// Entries before the bytes that are there end.
    next: u64,
    bytes: Vec<u8>,
    at: usize,
}

impl Entries<'_> {
    fn next(&mut self) -> Result<Option<Entry>> {
        if self.at == self.bytes.len() {
            cancel::check()?;
            let left = self.run.entries.saturating_sub(self.next);
            let more = left.min((BUFFER / ENTRY) as u64);
            if more == 0 {
                return Ok(None);
            }
            self.bytes.resize(usize::try_from(more).unwrap_or_default() * ENTRY, 0);
            self.run.read(&self.file, self.next.saturating_mul(ENTRY as u64), &mut self.bytes)?;
            self.next += more;
            self.at = 0;
        }
        let entry = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<ENTRY>());
        self.at += ENTRY;
        Ok(entry.map(decoded))
    }
}

/// One run of several, the newest last: of equal hashes the newest counts.
///
/// # Errors
/// `CorruptFile`, when `unique`, for a hash that has two places.
pub(super) fn merged(runs: &[Run], directory: &Path, unique: bool) -> Result<Option<Run>> {
    let mut inputs = runs.iter().map(Run::all).collect::<Result<Vec<_>>>()?;
    let mut heads = inputs.iter_mut().map(Entries::next).collect::<Result<Vec<_>>>()?;
    let mut next = move || -> Result<Option<Entry>> {
        let mut least: Option<Entry> = None;
        for head in heads.iter().flatten() {
            match least.map_or(Ordering::Greater, |least| least.hash.cmp(&head.hash)) {
                Ordering::Less => {}
                Ordering::Equal if unique && least.is_some_and(|least| least.place != head.place) => {
                    return Err(in_two_places());
                }
                Ordering::Equal | Ordering::Greater => least = Some(*head),
            }
        }
        let Some(least) = least else { return Ok(None) };
        for (head, input) in heads.iter_mut().zip(&mut inputs) {
            if head.is_some_and(|head| head.hash == least.hash) {
                *head = input.next()?;
            }
        }
        Ok(Some(least))
    };
    Run::write(directory, std::iter::from_fn(|| next().transpose()))
}
