//! The memory that one file may become.
//!
//! Blocks grow when they are decompressed, and values when they are decoded: a null takes a byte in a file and 16 in a list of
//! numbers. What all blocks of a file and their values take together is counted, stays in proportion to the file, and is
//! asked for before it is taken.

use crate::{
    error::{Error, Result},
    limits::{Taken, ask_on_the_way, most_metadata},
};

/// What the decoders of a file have taken.
#[derive(Debug)]
pub(super) struct Memory<'a> {
    file: &'a str,
    what: &'static str,
    most: usize,
    taken: Taken,
}

impl<'a> Memory<'a> {
    /// For a metadata file of so many bytes.
    pub(super) fn new(file: &'a str, file_bytes: usize) -> Self {
        Self { file, what: "a metadata file", most: most_metadata(file_bytes), taken: Taken::default() }
    }

    /// For rows of a data file: there may be as many as there is memory for.
    pub(super) fn of_rows(file: &'a str) -> Self {
        Self { file, what: "the rows of an Avro file", most: usize::MAX, taken: Taken::default() }
    }

    /// What has been taken.
    pub(super) fn taken(&self) -> usize {
        self.taken.bytes()
    }

    /// What may still be taken.
    pub(super) fn left(&self) -> usize {
        self.most.saturating_sub(self.taken())
    }

    /// Takes some.
    ///
    /// # Errors
    /// `CorruptFile` when the file has become too much; `MemoryLimitExceeded` when there is no memory.
    pub(super) fn take(&self, bytes: usize) -> Result<()> {
        let taken = self.taken.count(bytes);
        if taken > self.most {
            let expected = format!("a file that becomes at most {} bytes", self.most);
            return Err(Error::corrupt(self.file, 0, expected, "one that becomes more"));
        }
        ask_on_the_way(taken, bytes, self.what).map_err(|e| e.with("file", self.file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_file_becomes_no_more_than_its_size_allows() {
        let memory = Memory::new("m", 100);
        let most = most_metadata(100);
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
