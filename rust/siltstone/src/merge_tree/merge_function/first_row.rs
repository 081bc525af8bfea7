//! `merge-engine=first-row`: the first row of a key wins (semantics b.6).

use arrow_array::RecordBatch;

use super::{Choice, MergeFunction, record_names::RecordNames};
use crate::{Error, ErrorKind, io::KvLayout};

/// Keeps the first insert of each key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstRow {
    ignore_delete: bool,
    names: RecordNames,
    layout: KvLayout,
}

impl FirstRow {
    /// With `ignore_delete`, retracts are passed over; otherwise a retract that meets other records of its key is an
    /// error.
    pub(super) fn new(ignore_delete: bool, names: RecordNames, layout: &KvLayout) -> Self {
        Self { ignore_delete, names, layout: layout.clone() }
    }
}

impl MergeFunction for FirstRow {
    fn choice(&self) -> Choice {
        Choice::First { ignore_retracts: self.ignore_delete }
    }

    fn refusal(&self, batch: &RecordBatch, row: usize) -> Option<Error> {
        let message = "the merge engine 'first-row' cannot take -U and -D records";
        let error = Error::new(ErrorKind::DeleteNotAllowed, message);
        let error = self
            .names
            .named(error, &self.layout, Some(batch), row)
            .with("option", "merge-engine")
            .hint("set 'ignore-delete' = 'true' to drop such records");
        (!self.ignore_delete).then_some(error)
    }
}
