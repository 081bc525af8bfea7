//! Commit messages and splits as Java serializes them, to travel between processes and engines.
//!
//! Source: `CommitMessageSerializer` (version 11), `DataSplit.serialize` (version 8) of release 1.4.2.

use super::{CommitMessage, Split};
use crate::error::{Error, ErrorKind, Result};

impl CommitMessage {
    /// Java's `CommitMessageSerializer.CURRENT_VERSION`; the bytes do not hold it.
    pub const VERSION: i32 = 11;

    /// The bytes that Java's `CommitMessageSerializer` gives.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// From the bytes that Java's `CommitMessageSerializer` gives.
    pub fn from_bytes(_bytes: &[u8]) -> Result<Self> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }
}

impl Split {
    /// The bytes that Java's `DataSplit.serialize` gives.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// From the bytes that Java's `DataSplit.serialize` gives.
    pub fn from_bytes(_bytes: &[u8]) -> Result<Self> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }
}
