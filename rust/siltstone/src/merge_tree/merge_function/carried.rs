//! A group whose records are put together in pieces: what the records so far have come to goes on as the first record of
//! the rest.
//!
//! ```text
//!   r1 r2 r3 │ r4 r5 │ r6        fold(r1 r2 r3) = A,  fold(A r4 r5) = B,  merge(B r6): the row of r1 to r6
//! ```
//! The first record sets all columns ([`Step::Set`](crate::aggregate::Step)); what functions and engines remember beside
//! the values is kept here.

use arrow_array::RecordBatch;

/// A record: source and row.
type RowRef = (usize, usize);

/// The row of [`Carried::rows`] with the accumulated values, the kind and the sequence number of the result.
pub(super) const VALUES: usize = 0;
/// The row of the record whose sequence number is the result's.
const LAST: usize = 1;
/// The row of the first record that a sequence group holds.
pub(super) const HELD: usize = 2;

/// What the first records of a group have come to.
#[derive(Debug)]
pub struct Carried {
    /// The accumulated values, and behind them the records that later ones are compared with. NOT NULL columns may be null.
    pub(super) rows: RecordBatch,
    /// Of each column whether its function remembers that it has seen a record.
    pub(super) seen: Vec<bool>,
    /// For each sequence group the row of the record that set its fields.
    pub(super) held: Vec<Option<usize>>,
    /// Whether +I or +U was among the records.
    pub(super) meets_insert: bool,
}

impl Carried {
    /// The batch whose first row is to be the first record of the rest of the group.
    pub(crate) fn batch(&self) -> &RecordBatch {
        &self.rows
    }

    /// The record whose sequence number is the result's, in the batch that is source number `source`.
    pub(super) fn last(source: usize) -> RowRef {
        (source, LAST)
    }
}

/// The last record of a group, of which the first may stand for others.
pub(super) fn last_of(group: &[RowRef], carried: Option<&Carried>) -> Option<RowRef> {
    match (carried, group) {
        (Some(_), [(source, _)]) => Some(Carried::last(*source)),
        _ => group.last().copied(),
    }
}
