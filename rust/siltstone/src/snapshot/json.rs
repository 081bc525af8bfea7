//! Snapshot JSON, with the keys, order and spacing of Java.

use super::Snapshot;
use crate::error::{Error, ErrorKind, Result};

impl Snapshot {
    /// From the content of `snapshot-<n>` or `tag-<name>`; `file` is for messages.
    pub fn from_json(_file: &str, _bytes: &[u8]) -> Result<Self> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// The content of `snapshot-<n>`.
    pub fn to_json(&self) -> Result<String> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }
}
