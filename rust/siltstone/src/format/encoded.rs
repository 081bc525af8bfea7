//! Rows of a file that another file can take as they are encoded.

use std::ops::Range;

/// Consecutive rows that begin and end with a page of every column: alone, or with the next ones of their row group, they are a
/// row group of another file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedRows {
    /// Row numbers in the file.
    pub rows: Range<i64>,
    /// Their row group.
    pub group: usize,
    /// Bytes of their pages.
    pub bytes: u64,
    /// Bytes of the dictionaries that any rows of the row group come with.
    pub dictionaries: u64,
}
