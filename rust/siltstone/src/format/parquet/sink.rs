//! The file that a Parquet writer writes to, given back when the footer is written: `SerializedFileWriter::into_inner` makes a text
//! of what fails there, and a full disk would be an error of the encoder.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError},
};

use crate::fs::OutputFile;

/// Two handles of one file: one with the encoder, one with who closes it.
#[derive(Clone)]
pub(super) struct Sink(Arc<Mutex<Box<dyn OutputFile>>>);

impl Sink {
    pub(super) fn new(file: Box<dyn OutputFile>) -> Self {
        Self(Arc::new(Mutex::new(file)))
    }

    /// The file, once no other handle is left.
    pub(super) fn into_file(self) -> Option<Box<dyn OutputFile>> {
        Arc::into_inner(self.0).map(|file| file.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(bytes)
    }

    fn write_vectored(&mut self, bytes: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write_vectored(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).flush()
    }
}
