//! `merge-engine=deduplicate`: the last record of a key wins, whatever its kind (semantics b.3).

use super::{Choice, MergeFunction};

/// Keeps the last record of each key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deduplicate {
    ignore_delete: bool,
}

impl Deduplicate {
    /// With `ignore_delete`, retracts among several records of a key are passed over; when nothing else is
    /// left, the key gives no row.
    pub fn new(ignore_delete: bool) -> Self {
        Self { ignore_delete }
    }
}

impl MergeFunction for Deduplicate {
    fn choice(&self) -> Choice {
        Choice::Last { ignore_retracts: self.ignore_delete }
    }
}
