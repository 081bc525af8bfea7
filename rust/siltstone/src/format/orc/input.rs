//! The bytes of an ORC file, as the `orc-rust` crate asks for them.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::{Buf, Bytes, buf::Reader};
use orc_rust::reader::ChunkReader;

use super::error::broken;
use crate::{
    cancel,
    error::{Error, Result},
    fs::InputFile,
    limits,
};

/// An open file, and why reading it failed: the crate's errors do not say it.
#[derive(Clone)]
pub(super) struct Input {
    file: Arc<dyn InputFile>,
    size: u64,
    failure: Arc<Mutex<Option<Error>>>,
}

impl Input {
    pub(super) fn new(file: Arc<dyn InputFile>, size: u64) -> Self {
        Self { file, size, failure: Arc::default() }
    }

    pub(super) fn path(&self) -> &str {
        self.file.path()
    }

    pub(super) fn take_failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn bytes(&self, start: u64, length: u64) -> Result<Bytes> {
        cancel::check()?;
        if start.checked_add(length).is_none_or(|end| end > self.size) {
            return Err(broken(self.path())
                .with("offset", start)
                .with("length", length)
                .hint(format!("the file has {} bytes", self.size)));
        }
        limits::ask(usize::try_from(length).unwrap_or(usize::MAX), "reading a part of an ORC file")?;
        self.file.read_range(start, length)
    }
}

impl ChunkReader for Input {
    type T = Reader<Bytes>;

    fn len(&self) -> u64 {
        self.size
    }

    fn get_read(&self, start: u64) -> io::Result<Self::T> {
        self.get_bytes(start, self.size.saturating_sub(start)).map(Buf::reader)
    }

    fn get_bytes(&self, start: u64, length: u64) -> io::Result<Bytes> {
        self.bytes(start, length).map_err(|e| {
            let text = e.message().to_owned();
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
            io::Error::other(text)
        })
    }
}
