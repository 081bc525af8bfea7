//! What is wrong with single files.

use super::{Check, RESTORE};
use crate::{
    error::{Error, ErrorKind, Result},
    manifest::DataFileMeta,
};

const REWRITE: &str = "compact the bucket fully: rows are written anew with what is true of them";
const WIDER: &str = "nothing: readers skip a little less than they could";

/// What is wrong with a file: code, words, repair; a warning when `mild`.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) repair: &'static str,
    pub(super) mild: bool,
}

impl Check<'_> {
    /// Takes a fault into the verdict.
    pub(super) fn fault(&mut self, place: &str, fault: Fault) {
        if fault.mild {
            self.verdict.warning(fault.code, place, fault.message, fault.repair);
        } else {
            self.verdict.problem(fault.code, place, fault.message, fault.repair);
        }
    }
}

/// A fault for something that could not be read: what siltstone does not have is only said, a file or schema that is
/// missing was found missing before.
///
/// # Errors
/// Memory that could not be had, a check that was stopped: they say nothing about the table.
pub(super) fn unread(code: &'static str, error: Error) -> Result<Option<Fault>> {
    Ok(match error.kind() {
        ErrorKind::MemoryLimitExceeded | ErrorKind::Cancelled => return Err(error),
        ErrorKind::FileNotFound => None,
        ErrorKind::UnsupportedFeature => Some(Fault {
            code: "not-checked",
            message: error.to_string(),
            repair: "check the table with Java Paimon",
            mild: true,
        }),
        _ => Some(Fault { code, message: error.to_string(), repair: RESTORE, mild: false }),
    })
}

/// Faults of one file.
pub(super) struct Found<'a> {
    pub(super) file: &'a DataFileMeta,
    pub(super) faults: Vec<Fault>,
}

impl Found<'_> {
    pub(super) fn add(&mut self, code: &'static str, message: String) {
        let message = format!("{} {message}", self.file.file_name);
        self.faults.push(Fault { code, message, repair: REWRITE, mild: false });
    }

    pub(super) fn warn(&mut self, code: &'static str, message: &str) {
        let message = format!("{} {message}", self.file.file_name);
        self.faults.push(Fault { code, message, repair: WIDER, mild: true });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_cannot_be_had_is_no_fault_of_a_file() {
        let error = |kind| Error::new(kind, "a test");
        let fault = |kind| unread("bad-data-file", error(kind)).unwrap().map(|fault| (fault.code, fault.mild));
        for kind in [ErrorKind::MemoryLimitExceeded, ErrorKind::Cancelled] {
            assert_eq!(unread("x", error(kind)).unwrap_err().kind(), kind);
        }
        assert_eq!(fault(ErrorKind::CorruptFile), Some(("bad-data-file", false)));
        assert_eq!(fault(ErrorKind::UnsupportedFeature), Some(("not-checked", true)));
        assert_eq!(fault(ErrorKind::FileNotFound), None);
    }
}
