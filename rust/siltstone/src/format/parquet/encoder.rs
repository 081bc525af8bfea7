//! The columns of a row group being encoded, on the calling thread or with one helper beside it.
//!
//! Columns are dealt to lanes. Each lane has a queue of column slices and is encoded in order by whoever gets to it:
//! the helper thread, or the caller when the queues are full. So merging and encoding share two cores whatever
//! their relative cost is.

use std::{
    collections::VecDeque,
    mem,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering},
    },
    thread::JoinHandle,
};

use arrow_array::ArrayRef;
use arrow_schema::FieldRef;
use crossbeam_channel::{Receiver, Sender, unbounded};
use parquet::{
    arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, compute_leaves},
    errors::ParquetError,
};

use super::{error::writing, parts::parts};
use crate::{
    cancel::{self, Cancellation},
    error::{Error, ErrorKind, Result},
};

/// Lanes of a writer with a helper.
const LANES: usize = 6;
/// Slices that may wait per lane before the caller helps.
const WAITING: usize = 3;
/// Encoded bytes after which a helper is started: small files do not pay for a thread, and with one the size of a file
/// is known only up to what waits.
const HELP_AFTER_BYTES: usize = 256 * 1024;

/// One top-level column and the writers of its leaves.
pub(crate) struct ColumnEncoder {
    field: FieldRef,
    writers: Vec<ArrowColumnWriter>,
    page_rows: usize,
    /// Rows of the page that is not full yet, were it not for its bytes.
    rows: usize,
}

impl ColumnEncoder {
    /// Rows of a page are at most so many.
    pub(crate) fn new(field: FieldRef, writers: Vec<ArrowColumnWriter>, page_rows: usize) -> Self {
        Self { field, writers, page_rows: page_rows.max(1), rows: 0 }
    }

    /// A writer looks at its limits behind each call. It is called for the rows of one page: so the pages of all columns that are
    /// not large begin with the same rows, which can be copied then.
    fn write(&mut self, array: &ArrayRef) -> std::result::Result<(), ParquetError> {
        let mut start = 0;
        while start < array.len() {
            let count = (self.page_rows - self.rows).min(array.len() - start);
            for part in parts(&array.slice(start, count)) {
                cancel::check().map_err(|e| ParquetError::External(Box::new(e)))?;
                self.write_part(&part)?;
            }
            self.rows = (self.rows + count) % self.page_rows;
            start += count;
        }
        Ok(())
    }

    fn write_part(&mut self, array: &ArrayRef) -> std::result::Result<(), ParquetError> {
        let leaves = compute_leaves(&self.field, array)?;
        if leaves.len() != self.writers.len() {
            return Err(ParquetError::General(format!("column {} has other leaves", self.field.name())));
        }
        self.writers.iter_mut().zip(&leaves).try_for_each(|(writer, leaf)| writer.write(leaf))
    }
}

#[derive(Default)]
struct Encoding {
    columns: Vec<ColumnEncoder>,
    failed: Option<ParquetError>,
}

#[derive(Default)]
struct Lane {
    queue: Mutex<VecDeque<Vec<ArrayRef>>>,
    encoding: Mutex<Encoding>,
    encoded_bytes: AtomicUsize,
    memory: AtomicUsize,
}

impl Lane {
    /// Encodes what waits first. `false` when nothing waits.
    fn step(&self, encoding: &mut Encoding) -> bool {
        let Some(arrays) = lock(&self.queue).pop_front() else {
            return false;
        };
        if encoding.failed.is_none() {
            let mut pairs = encoding.columns.iter_mut().zip(&arrays);
            encoding.failed = pairs.try_for_each(|(column, array)| column.write(array)).err();
            self.measure(encoding);
        }
        true
    }

    fn measure(&self, encoding: &Encoding) {
        let writers = || encoding.columns.iter().flat_map(|c| &c.writers);
        let encoded = writers().map(ArrowColumnWriter::get_estimated_total_bytes).sum();
        let memory = writers().map(ArrowColumnWriter::memory_size).sum();
        self.encoded_bytes.store(encoded, Ordering::Relaxed);
        self.memory.store(memory, Ordering::Relaxed);
    }

    /// One step if nobody else works on this lane.
    fn try_step(&self) -> bool {
        match self.encoding.try_lock() {
            Ok(mut encoding) => self.step(&mut encoding),
            Err(_) => false,
        }
    }

    fn waiting(&self) -> usize {
        lock(&self.queue).len()
    }
}

/// A poisoned lock means that an encoder panicked; its state is then never used again but for the error.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

struct Helper {
    wake: Sender<()>,
    token: Cancellation,
    thread: JoinHandle<()>,
}

/// Helpers of all writers of this process: more than cores would only cost memory.
static HELPERS: AtomicUsize = AtomicUsize::new(0);

/// Takes one of the process's helpers; `false` when all are taken.
fn take_helper() -> bool {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let more = |taken: usize| (cores > 1 && taken < cores).then_some(taken + 1);
    HELPERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
}

fn return_helper() {
    HELPERS.fetch_sub(1, Ordering::Relaxed);
}

/// Encodes row groups.
pub(crate) struct Encoder {
    path: String,
    lanes: Arc<Vec<Lane>>,
    /// Columns of each lane.
    widths: Vec<usize>,
    helper: Option<Helper>,
    threads: usize,
    /// Size of the row groups that are finished.
    finished_bytes: usize,
}

impl Encoder {
    /// For a file at `path` of columns whose sizes in a first batch are `weights`.
    pub(crate) fn new(path: &str, weights: &[usize], threads: usize) -> Self {
        let widths = deal(weights, if threads > 1 { LANES } else { 1 });
        let lanes = widths.iter().map(|_| Lane::default()).collect();
        Self { path: path.to_owned(), lanes: Arc::new(lanes), widths, helper: None, threads, finished_bytes: 0 }
    }

    /// Begins a row group with these writers.
    pub(crate) fn begin(&mut self, columns: Vec<ColumnEncoder>) {
        let mut columns = columns.into_iter();
        for (lane, width) in self.lanes.iter().zip(&self.widths) {
            let encoding = Encoding { columns: columns.by_ref().take(*width).collect(), failed: None };
            lane.measure(&encoding);
            *lock(&lane.encoding) = encoding;
        }
    }

    /// Takes rows in: one array per column.
    pub(crate) fn write(&mut self, columns: Vec<ArrayRef>) {
        let mut columns = columns.into_iter();
        for (lane, width) in self.lanes.iter().zip(&self.widths) {
            lock(&lane.queue).push_back(columns.by_ref().take(*width).collect());
        }
        if self.helper.is_none() && self.threads > 1 && self.finished_bytes + self.encoded_bytes() > HELP_AFTER_BYTES {
            self.helper = start(&self.lanes);
        }
        match &self.helper {
            Some(helper) => {
                for _ in self.lanes.iter() {
                    let _ = helper.wake.send(());
                }
                self.help_until(WAITING * self.lanes.len());
            }
            None => self.help_until(0),
        }
    }

    /// Works beside the helper until few enough slices wait.
    fn help_until(&self, limit: usize) {
        while self.lanes.iter().map(Lane::waiting).sum::<usize>() > limit {
            let progressed = self.lanes.iter().any(Lane::try_step);
            if !progressed && let Some(lane) = self.lanes.iter().max_by_key(|l| l.waiting()) {
                let mut encoding = lock(&lane.encoding);
                lane.step(&mut encoding);
            }
        }
    }

    /// Expected size of the row group so far.
    pub(crate) fn encoded_bytes(&self) -> usize {
        self.lanes.iter().map(|l| l.encoded_bytes.load(Ordering::Relaxed)).sum()
    }

    /// Memory that the encoders hold.
    pub(crate) fn memory(&self) -> usize {
        self.lanes.iter().map(|l| l.memory.load(Ordering::Relaxed)).sum()
    }

    /// Ends the row group: the finished chunks in column order.
    pub(crate) fn finish(&mut self) -> Result<Vec<ArrowColumnChunk>> {
        let mut chunks = Vec::new();
        self.finished_bytes += self.encoded_bytes();
        for lane in self.lanes.iter() {
            if lane.encoding.is_poisoned() {
                return Err(Error::new(ErrorKind::Internal, "an encoder failed").with("file", &self.path));
            }
            let mut encoding = lock(&lane.encoding);
            while lane.step(&mut encoding) {}
            let done = mem::take(&mut *encoding);
            if let Some(e) = done.failed {
                return Err(writing(&self.path, e));
            }
            for writer in done.columns.into_iter().flat_map(|c| c.writers) {
                chunks.push(writer.close().map_err(|e| writing(&self.path, e))?);
            }
        }
        Ok(chunks)
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        for lane in self.lanes.iter() {
            lock(&lane.queue).clear();
        }
        if let Some(Helper { wake, token, thread }) = self.helper.take() {
            token.cancel();
            drop(wake);
            let _ = thread.join();
            return_helper();
        }
    }
}

/// A thread that encodes whenever something waits. Without it (no thread to be had) the caller does all.
fn start(lanes: &Arc<Vec<Lane>>) -> Option<Helper> {
    if !take_helper() {
        return None;
    }
    let (wake, wakened): (Sender<()>, Receiver<()>) = unbounded();
    let lanes = Arc::clone(lanes);
    let token = cancel::current().child();
    let own = token.clone();
    let work = move || {
        while wakened.recv().is_ok() {
            token.run(|| lanes.iter().any(Lane::try_step));
        }
    };
    let thread = std::thread::Builder::new().name("siltstone-encode".to_owned()).spawn(work);
    if thread.is_err() {
        return_helper();
    }
    Some(Helper { wake, token: own, thread: thread.ok()? })
}

/// Numbers of neighbouring columns per lane, of about equal weight.
fn deal(weights: &[usize], lanes: usize) -> Vec<usize> {
    let total: usize = weights.iter().sum();
    let share = total.div_ceil(lanes.max(1)).max(1);
    let (mut widths, mut width, mut weight) = (Vec::new(), 0, 0);
    for w in weights {
        if width > 0 && weight + w / 2 > share && widths.len() + 1 < lanes {
            widths.push(width);
            (width, weight) = (0, 0);
        }
        width += 1;
        weight += w;
    }
    widths.push(width);
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_dealt_by_weight_and_none_is_lost() {
        assert_eq!(deal(&[8; 12], 6), [2, 2, 2, 2, 2, 2]);
        assert_eq!(deal(&[8, 8, 100, 8, 8], 3), [2, 1, 2]);
        assert_eq!(deal(&[8; 13], 1), [13]);
        assert_eq!(deal(&[8, 9], 6), [1, 1]);
        assert_eq!(deal(&[0, 0, 0], 4).iter().sum::<usize>(), 3);
    }
}
