//! A lease as a lock of a table.

use super::{RemoteFileIo, lease::Lease};
use crate::{error::Result, fs::HeldLock};

/// Freed when it is dropped; when its process dies, after a while.
#[derive(Debug)]
pub(super) struct LeasedLock {
    fs: RemoteFileIo,
    path: String,
    lease: Lease,
}

impl LeasedLock {
    pub(super) fn new(fs: RemoteFileIo, path: &str, lease: Lease) -> Self {
        Self { fs, path: path.to_owned(), lease }
    }
}

impl HeldLock for LeasedLock {
    fn is_in_place(&self) -> Result<bool> {
        // of a table that was dropped since, it is no lock of what is made there again
        Ok(self.lease.is_valid() && self.fs.need_home(&self.path).is_ok())
    }
}
