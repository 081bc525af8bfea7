//! Open files and locks of the storage in memory. Each of their calls counts as one of the storage.

use std::io::{self, Write};

use bytes::Bytes;

use super::{
    FaultFileIo,
    state::{FileId, State},
};
use crate::{
    error::Result,
    fs::{HeldLock, InputFile, OutputFile, checked_range},
};

#[derive(Debug)]
pub(super) struct FaultLock {
    pub(super) io: FaultFileIo,
    pub(super) path: String,
    pub(super) id: u64,
}

impl HeldLock for FaultLock {
    fn is_in_place(&self) -> Result<bool> {
        self.io.call("status", &self.path, |s| Ok(s.locks.get(&self.id) == Some(&self.path)))
    }
}

impl Drop for FaultLock {
    fn drop(&mut self) {
        self.io.state().locks.remove(&self.id);
        if let Some(gate) = &self.io.gate {
            gate.unlocked(&self.path);
        }
    }
}

pub(super) struct FaultInput {
    pub(super) io: FaultFileIo,
    pub(super) path: String,
    pub(super) data: Bytes,
}

impl InputFile for FaultInput {
    fn path(&self) -> &str {
        &self.path
    }

    fn size(&self) -> Result<u64> {
        Ok(self.data.len() as u64)
    }

    fn read_range(&self, start: u64, length: u64) -> Result<Bytes> {
        let range = checked_range(&self.path, self.data.len() as u64, start, length)?;
        self.io.call("read_range", &self.path, |state| {
            state.bytes_read += length;
            Ok(self.data.slice(range))
        })
    }
}

pub(super) struct FaultOutput {
    pub(super) io: FaultFileIo,
    pub(super) path: String,
    pub(super) id: FileId,
    pub(super) position: u64,
}

impl Write for FaultOutput {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let append = |s: &mut State| {
            if let Some(content) = s.contents.get_mut(&self.id) {
                content.data.extend_from_slice(data);
            }
            Ok(())
        };
        self.io.call("write", &self.path, append).map_err(io::Error::other)?;
        self.position += data.len() as u64;
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl OutputFile for FaultOutput {
    fn position(&self) -> u64 {
        self.position
    }

    fn close(self: Box<Self>, sync: bool) -> Result<u64> {
        self.io.call("close", &self.path, |s| {
            if sync {
                s.sync_content(self.id);
            }
            Ok(self.position)
        })
    }

    fn close_unsynced(self: Box<Self>) -> Result<u64> {
        self.close(false)
    }
}
