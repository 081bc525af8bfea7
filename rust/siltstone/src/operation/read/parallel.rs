//! Several splits at a time.

use super::ReadRequest;
use crate::{
    error::Result,
    io::{BatchStream, TableContext},
    operation::Split,
};

/// The rows of all splits, in split order, read by `threads` threads ahead of the consumer; what is read ahead is
/// bounded. Dropping the stream stops the threads.
pub fn read_splits(
    _ctx: &TableContext,
    _splits: &[Split],
    _request: &ReadRequest,
    _threads: usize,
) -> Result<BatchStream> {
    Err(crate::Error::new(crate::ErrorKind::Internal, "not yet"))
}
