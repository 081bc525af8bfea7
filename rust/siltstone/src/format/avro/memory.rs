//! The memory that one file may become.
//!
//! Blocks grow when they are decompressed, and values when they are decoded: a null takes a byte in a file and 16 in a list of
//! numbers. What all blocks of a file and their values take together is counted, stays in proportion to the file, and is
//! asked for before it is taken.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{
    error::{Error, Result},
    limits,
};

/// A file may become this many bytes whatever its size...
const FREE_BYTES: usize = 64 << 20;
/// ...and this many more for each of its bytes. Statistics of ten thousand columns that are all null grow half as much.
const MAX_GROWTH: usize = 10_000;
/// What is taken in small parts is asked for in parts of this size.
const ASKED_AT_ONCE: usize = 64 << 20;

/// What the decoders of a file have taken.
#[derive(Debug)]
pub(super) struct Memory<'a> {
    file: &'a str,
    most: usize,
    taken: AtomicUsize,
}

impl<'a> Memory<'a> {
    /// For a file of so many bytes.
    pub(super) fn new(file: &'a str, file_bytes: usize) -> Self {
        let most = file_bytes.saturating_mul(MAX_GROWTH).saturating_add(FREE_BYTES);
        Self { file, most, taken: AtomicUsize::new(0) }
    }

    /// What may still be taken.
    pub(super) fn left(&self) -> usize {
        self.most.saturating_sub(self.taken.load(Ordering::Relaxed))
    }

    /// Takes some.
    ///
    /// # Errors
    /// `CorruptFile` when the file has become too much; `MemoryLimitExceeded` when there is no memory.
    pub(super) fn take(&self, bytes: usize) -> Result<()> {
        let before = self.taken.fetch_add(bytes, Ordering::Relaxed);
        let taken = before.saturating_add(bytes);
        if taken > self.most {
            let expected = format!("a file that becomes at most {} bytes", self.most);
            return Err(Error::corrupt(self.file, 0, expected, "one that becomes more"));
        }
        if before / ASKED_AT_ONCE == taken / ASKED_AT_ONCE {
            return Ok(());
        }
        limits::ask(bytes.max(ASKED_AT_ONCE), "a metadata file").map_err(|e| e.with("file", self.file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_file_becomes_no_more_than_its_size_allows() {
        let memory = Memory::new("m", 100);
        let most = FREE_BYTES + 100 * MAX_GROWTH;
        memory.take(most - 1).unwrap();
        assert_eq!(memory.left(), 1);
        memory.take(1).unwrap();
        let error = memory.take(1).unwrap_err();
        assert_eq!((error.kind(), error.context_value("file")), (ErrorKind::CorruptFile, Some("m")));
        assert_eq!(memory.left(), 0);
    }

    #[test]
    fn what_no_machine_has_is_asked_for_and_refused() {
        let memory = Memory::new("m", usize::MAX);
        assert_eq!(memory.take(usize::MAX / 4).unwrap_err().kind(), ErrorKind::MemoryLimitExceeded);
    }
}
