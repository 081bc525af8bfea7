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

use crate::{Error, ErrorKind, Result, cancel, fs::TemporaryFile, io::BatchStream};

/// Bytes asked of the file at once while a run is read.
const READ_BYTES: u64 = 256 * 1024;
/// Bytes collected before the file is written to.
const WRITE_BYTES: usize = 256 * 1024;

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
}

impl SpilledRun {
    /// Writes a whole stream. An error leaves no file.
    pub(crate) fn write(stream: BatchStream, schema: &SchemaRef, options: &SpillOptions) -> Result<Self> {
        let (file, output) = TemporaryFile::create(&options.dir)?;
        let written = write_all(output, stream, schema, options.compress);
        let bytes = written.map_err(|e| e.with("file", file.path().display()))?;
        Ok(Self { file: Arc::new(file), bytes })
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

fn write_all(output: Arc<File>, stream: BatchStream, schema: &SchemaRef, compress: bool) -> Result<u64> {
    let compression = compress.then_some(CompressionType::ZSTD);
    let options = IpcWriteOptions::default().try_with_compression(compression)?;
    let output = BufWriter::with_capacity(WRITE_BYTES, output);
    let mut writer = StreamWriter::try_new_with_options(output, schema, options).map_err(failed)?;
    for batch in stream {
        cancel::check()?;
        let batch: RecordBatch = batch?;
        writer.write(&batch).map_err(failed)?;
    }
    let flushed = writer.into_inner().map_err(failed)?.into_inner().map_err(|e| failed(e.into_error().into()))?;
    Ok(flushed.metadata().map_err(|e| failed(e.into()))?.len())
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
            let length = READ_BYTES.min(self.size.saturating_sub(self.at));
            self.buffer.resize(usize::try_from(length).map_err(io::Error::other)?, 0);
            self.used = 0;
            TemporaryFile::read_at(&self.file, &mut self.buffer, self.at)?;
            self.at += length;
        }
        let mut left = self.buffer.get(self.used..).unwrap_or_default();
        let count = left.read(out)?;
        self.used += count;
        Ok(count)
    }
}
