//! Sorted runs on local disk: Arrow IPC streams, compressed with zstd, gone when nobody reads them any more, or with the
//! process.

use std::{
    fs::File,
    io::{self, BufWriter, Read},
    path::PathBuf,
    sync::Arc,
};

use arrow_array::RecordBatch;
use arrow_ipc::{
    CompressionType,
    reader::StreamReader,
    writer::{IpcWriteOptions, StreamWriter},
};
use arrow_schema::SchemaRef;

use crate::{
    Error, ErrorKind, Result, cancel,
    fs::TemporaryFile,
    io::{BatchStream, batch_bytes},
};

/// Bytes asked of the file at once while a run is read.
const READ_BYTES: usize = 256 * 1024;
/// Bytes collected before the file is written to.
const WRITE_BYTES: usize = 256 * 1024;
/// Bytes of a batch of a run, about: as much of every run is in memory while runs are merged.
const BATCH_BYTES: usize = 256 * 1024;
/// Bytes of each column of a batch, at least: less costs more to describe than to hold.
const COLUMN_BYTES: usize = 1024;

/// Where sorted runs go when they do not fit in memory or are too many to be open at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpillOptions {
    /// A local folder; it is created when needed, and files in it are deleted after use.
    pub dir: PathBuf,
    /// Compress spilled batches with zstd.
    pub compress: bool,
    /// Runs that one merge reads at once.
    pub max_fan_in: usize,
}

/// A sorted run on disk. The file lives as long as the run and the streams that read it.
#[derive(Debug)]
pub(crate) struct SpilledRun {
    file: Arc<TemporaryFile>,
    /// bytes on disk
    pub(crate) bytes: u64,
    /// bytes that reading it holds
    pub(crate) memory: usize,
}

impl SpilledRun {
    /// Writes a whole stream. An error leaves no file.
    pub(crate) fn write(stream: BatchStream, schema: &SchemaRef, options: &SpillOptions) -> Result<Self> {
        let (file, output) = TemporaryFile::create(&options.dir)?;
        // errors of the stream are not about this file
        let named = |e: arrow_schema::ArrowError| failed(e).with("file", file.path().display());
        let (bytes, largest) = write_all(output, stream, schema, options.compress, &named)?;
        // a batch and the next one, and what was read of the file
        let memory = largest.saturating_mul(2).saturating_add(READ_BYTES);
        Ok(Self { file: Arc::new(file), bytes, memory })
    }

    /// Reads the run from its start.
    pub(crate) fn read(&self) -> Result<BatchStream> {
        let run = Arc::clone(&self.file);
        let source = Sequential { file: run.open()?, size: self.bytes, at: 0, buffer: Vec::new(), used: 0 };
        let named = move |e: Error| e.with("file", run.path().display());
        let reader = StreamReader::try_new(source, None).map_err(|e| named(failed(e)))?;
        // the closure keeps the file until the stream is dropped
        Ok(Box::new(reader.map(move |batch| batch.map_err(|e| named(failed(e))))))
    }
}

/// Bytes on disk, and of the largest batch.
fn write_all(
    output: Arc<File>,
    stream: BatchStream,
    schema: &SchemaRef,
    compress: bool,
    failed: &dyn Fn(arrow_schema::ArrowError) -> Error,
) -> Result<(u64, usize)> {
    let compression = compress.then_some(CompressionType::ZSTD);
    let options = IpcWriteOptions::default().try_with_compression(compression)?;
    let output = BufWriter::with_capacity(WRITE_BYTES, output);
    let mut writer = StreamWriter::try_new_with_options(output, schema, options).map_err(failed)?;
    let mut largest = 0;
    for batch in stream {
        let batch: RecordBatch = batch?;
        let (rows, bytes) = (batch.num_rows().max(1), batch_bytes(&batch));
        let most = BATCH_BYTES.max(COLUMN_BYTES.saturating_mul(batch.num_columns()));
        let step = rows.div_ceil(bytes.div_ceil(most).max(1));
        for start in (0..batch.num_rows()).step_by(step) {
            cancel::check()?;
            let part = batch.slice(start, step.min(batch.num_rows() - start));
            largest = largest.max(if step == rows { bytes } else { batch_bytes(&part) });
            writer.write(&part).map_err(failed)?;
        }
    }
    let flushed = writer.into_inner().map_err(failed)?.into_inner().map_err(|e| failed(e.into_error().into()))?;
    Ok((flushed.metadata().map_err(|e| failed(e.into()))?.len(), largest))
}

fn failed(error: arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::Storage, "a sorted run could not be spilled or read back")
        .caused_by(error)
        .hint("check the space left in the spill folder")
}

/// A file read front to back.
struct Sequential {
    file: Arc<File>,
    size: u64,
    at: u64,
    buffer: Vec<u8>,
    used: usize,
}

impl Read for Sequential {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.used == self.buffer.len() {
            let left = usize::try_from(self.size.saturating_sub(self.at)).unwrap_or(usize::MAX);
            self.buffer.resize(READ_BYTES.min(left), 0);
            self.used = 0;
            TemporaryFile::read_at(&self.file, &mut self.buffer, self.at)?;
            self.at += self.buffer.len() as u64;
        }
        let mut left = self.buffer.get(self.used..).unwrap_or_default();
        let count = left.read(out)?;
        self.used += count;
        Ok(count)
    }
}
