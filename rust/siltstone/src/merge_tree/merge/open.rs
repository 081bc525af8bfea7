//! The group that has not ended, of an engine that computes: when its records get many or large, the engine puts them
//! together ([`MergeFunction::fold`](crate::merge_tree::merge_function::MergeFunction::fold)), and the batches that they
//! come from are let go.
#![allow(clippy::indexing_slicing, reason = "slots were handed out by the merge that asks for them back")]

use super::source_batch::SourceBatch;
use crate::{io::batch_bytes, merge_tree::merge_function::Carried};

/// The slot number of the record that stands for those that are put together.
pub(super) const CARRIED: usize = usize::MAX - 1;

/// Records of an open group, in batches of a result.
const BATCHES: usize = 4;

/// Bytes of the records of an open group.
const BYTES: usize = 16 << 20;

/// A state of more bytes grows with the records: they are put together less often, as it is copied each time.
const LARGE_STATE: usize = 1 << 20;

/// How much of the open group is held, and what its first records have come to.
pub(super) struct OpenGroup {
    /// what the first records have come to
    pub(super) carried: Option<Carried>,
    /// the engine can put records together
    folds: bool,
    least_rows: usize,
    most_rows: usize,
    most_bytes: usize,
    /// records whose bytes are counted
    counted: usize,
    bytes: usize,
}

impl OpenGroup {
    /// For result batches of so many rows.
    pub(super) fn new(batch_rows: usize) -> Self {
        let least_rows = batch_rows.saturating_mul(BATCHES);
        Self { carried: None, folds: true, least_rows, most_rows: least_rows, most_bytes: BYTES, counted: 0, bytes: 0 }
    }

    /// Whether so many records are to be put together.
    #[inline]
    pub(super) fn is_long(&self, rows: usize) -> bool {
        rows >= self.most_rows && self.folds
    }

    /// Whether these records, all of the group so far, are to be put together.
    pub(super) fn is_large(&mut self, rows: &[(usize, usize)], slots: &[SourceBatch]) -> bool {
        let new = rows.get(self.counted..).unwrap_or_default().iter().filter(|(slot, _)| *slot != CARRIED);
        let bytes = new.map(|&(slot, _)| slots[slot].row_bytes).fold(0, usize::saturating_add);
        self.bytes = self.bytes.saturating_add(bytes);
        self.counted = rows.len();
        self.folds && rows.len() > 1 && (self.is_long(rows.len()) || self.bytes >= self.most_bytes)
    }

    /// The records have been put together: the first one stands for them.
    pub(super) fn carry(&mut self, carried: Carried) {
        let state = batch_bytes(carried.batch());
        self.most_rows = if state > LARGE_STATE { self.most_rows.saturating_mul(2) } else { self.least_rows };
        self.most_bytes = BYTES.max(state.saturating_mul(2));
        (self.carried, self.counted, self.bytes) = (Some(carried), 1, 0);
    }

    /// The engine has to see all records at once.
    pub(super) fn keep_all(&mut self) {
        self.folds = false;
    }

    /// Another group is the open one.
    pub(super) fn end(&mut self) {
        (self.carried, self.counted, self.bytes) = (None, 0, 0);
        (self.most_rows, self.most_bytes) = (self.least_rows, BYTES);
    }
}
