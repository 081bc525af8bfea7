//! Sorted runs on local disk: Arrow IPC streams, compressed with zstd, deleted when nobody reads them any more.

use std::{
    io::{self, Read},
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
    Error, ErrorKind, Result,
    fs::{FileIoRef, InputFile, LocalFileIo, OutputFile},
    io::BatchStream,
};

/// Bytes asked of the file at once while a run is read.
const READ_BYTES: u64 = 256 * 1024;

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
    file: Arc<SpillFile>,
    /// bytes on disk
    pub(crate) bytes: u64,
}

#[derive(Debug)]
struct SpillFile {
    fs: FileIoRef,
    path: String,
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        if let Err(error) = self.fs.delete(&self.path) {
            tracing::warn!(path = self.path, %error, "a spill file could not be deleted");
        }
    }
}

impl SpilledRun {
    /// Writes a whole stream. An error leaves no file.
    pub(crate) fn write(stream: BatchStream, schema: &SchemaRef, options: &SpillOptions) -> Result<Self> {
        let fs: FileIoRef = Arc::new(LocalFileIo::new());
        let name = format!("siltstone-spill-{}.arrow", uuid::Uuid::new_v4());
        let path = options.dir.join(name).to_string_lossy().into_owned();
        let output = fs.create(&path)?;
        let file = Arc::new(SpillFile { fs, path });
        let bytes = write_all(output, stream, schema, options.compress).map_err(|e| e.with("file", &file.path))?;
        Ok(Self { file, bytes })
    }

    /// Reads the run from its start.
    pub(crate) fn read(&self) -> Result<BatchStream> {
        let file = Arc::clone(&self.file);
        let input = file.fs.open(&file.path)?;
        let source = Sequential { size: input.size()?, input, at: 0, buffer: bytes::Bytes::new() };
        let reader = StreamReader::try_new(source, None).map_err(|e| failed(e).with("file", &file.path))?;
        // the closure keeps the file until the stream is dropped
        Ok(Box::new(reader.map(move |batch| batch.map_err(|e| failed(e).with("file", &file.path)))))
    }
}

fn write_all(output: Box<dyn OutputFile>, stream: BatchStream, schema: &SchemaRef, compress: bool) -> Result<u64> {
    let compression = compress.then_some(CompressionType::ZSTD);
    let options = IpcWriteOptions::default().try_with_compression(compression)?;
    let mut writer = StreamWriter::try_new_with_options(output, schema, options).map_err(failed)?;
    for batch in stream {
        let batch: RecordBatch = batch?;
        writer.write(&batch).map_err(failed)?;
    }
    writer.into_inner().map_err(failed)?.close(false)
}

fn failed(error: arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::Storage, "a sorted run could not be spilled or read back")
        .caused_by(error)
        .hint("check the space left in the spill folder")
}

/// A file read front to back.
struct Sequential {
    input: Arc<dyn InputFile>,
    size: u64,
    at: u64,
    buffer: bytes::Bytes,
}

impl Read for Sequential {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.buffer.is_empty() {
            let length = READ_BYTES.min(self.size - self.at);
            if length == 0 {
                return Ok(0);
            }
            self.buffer = self.input.read_range(self.at, length).map_err(io::Error::other)?;
            self.at += length;
        }
        let count = out.len().min(self.buffer.len());
        let head = self.buffer.split_to(count);
        if let Some(target) = out.get_mut(..count) {
            target.copy_from_slice(&head);
        }
        Ok(count)
    }
}
