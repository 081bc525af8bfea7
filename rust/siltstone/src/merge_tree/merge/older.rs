//! Records that a merge leaves out: a compaction may take level 0 alone and leave the older records of its keys in the levels
//! above. Additions can be put together without them. What a -U or -D takes back may lie there:
//!
//! ```text
//! level 5 (left out)   +I [a, b]
//! level 0              -D [a], +I [c]     alone: [c], which makes [a, b, c] of level 5; with it: [b, c]
//! ```
//! So it is with additions that hang on what is there, and with numbers that do not fit their column without the older ones. The
//! merge of such a key stops with [`OlderRecordsNeeded`]; who left them out does it again with all records. A single record stays as
//! it is, also a -U or -D, and is no reason.

use std::fmt;

use crate::{
    Error, ErrorKind, Result,
    merge_tree::merge_function::{Bearing, MergeFunction},
};

/// The cause of the error with which a merge stops that would forget what a record takes back.
#[derive(Debug)]
pub(crate) struct OlderRecordsNeeded;

impl OlderRecordsNeeded {
    /// Whether this is why a merge has stopped.
    pub(crate) fn is_cause_of(error: &Error) -> bool {
        std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<Self>)
    }
}

impl fmt::Display for OlderRecordsNeeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what records come to hangs on older ones, and they are left out")
    }
}

impl std::error::Error for OlderRecordsNeeded {}

/// Looks at the records of one key after another.
#[derive(Clone, Copy, Debug)]
pub(super) struct OlderRecords {
    /// By row kind.
    bearings: [Bearing; 4],
    /// Records of the open group.
    records: usize,
    /// Some of them bear on older ones.
    bears: bool,
    /// What came of them would not, and did not replace them either.
    forgets: bool,
}

impl OlderRecords {
    pub(super) fn left_out(function: &dyn MergeFunction) -> Self {
        Self { bearings: [0, 1, 2, 3].map(|kind| function.bearing(kind)), records: 0, bears: false, forgets: false }
    }

    /// The next record of the open group.
    #[inline]
    pub(super) fn add(&mut self, kind: i8) {
        // a kind that does not exist is refused elsewhere
        let bearing = usize::try_from(kind).ok().and_then(|kind| self.bearings.get(kind)).copied();
        let bearing = bearing.unwrap_or(Bearing::TakesBack);
        self.records += 1;
        self.bears |= bearing != Bearing::Adds;
        // after a record that replaces all others it is no matter what these were
        self.forgets = self.bears && bearing != Bearing::Replaces;
    }

    /// The open group has no more records: whether to stop.
    #[inline]
    pub(super) fn end_group(&mut self) -> Option<Error> {
        let stops = self.records > 1 && self.forgets;
        (self.records, self.bears, self.forgets) = (0, false, false);
        stops.then(needed)
    }
}

fn needed() -> Error {
    Error::new(ErrorKind::Internal, "records of a key are merged without the older ones").caused_by(OlderRecordsNeeded)
}

/// What was computed without the older records, where all of it fits its columns.
pub(super) fn fitting<T>(answer: Result<T>, function: &dyn MergeFunction) -> Result<T> {
    match answer {
        Ok(_) if function.has_overflowed() => Err(needed()),
        Err(error) if error.kind() == ErrorKind::LengthExceeded => Err(needed()),
        answer => answer,
    }
}
