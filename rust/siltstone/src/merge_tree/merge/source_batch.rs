//! One batch under merge, and the order of records with equal keys.
#![allow(clippy::indexing_slicing, reason = "row numbers come from the merge loop and are below the batch's length")]

use std::{cmp::Ordering, ops::Range};

use arrow_array::{
    Array, RecordBatch,
    cast::AsArray,
    types::{Int8Type, Int64Type},
};
use arrow_buffer::ScalarBuffer;
use arrow_row::Rows;

use super::key::RowColumns;
use crate::{
    Error, ErrorKind, Result,
    io::{Failures, KvLayout, failure_in},
    merge_tree::records::{column, is_retract},
    row::RowKind,
};

/// A batch with its system columns at hand.
pub(crate) struct SourceBatch {
    /// the batch
    pub(crate) batch: RecordBatch,
    /// which input it came from
    pub(crate) input: usize,
    sequence: ScalarBuffer<i64>,
    kinds: ScalarBuffer<i8>,
    user: Option<Rows>,
    /// whether any row is -U or -D
    pub(crate) has_retracts: bool,
    /// bytes of a row, on an average; 0 where nobody asks
    pub(crate) row_bytes: usize,
    /// which rows have values that could not be cast
    pub(crate) failures: Option<Failures>,
}

impl SourceBatch {
    /// Whether a row is -U or -D.
    #[inline]
    pub(crate) fn is_retract(&self, row: usize) -> bool {
        self.has_retracts && is_retract(self.kinds[row])
    }

    /// The error of the first of these rows that has a value which could not be cast.
    pub(crate) fn cast_failure(&self, rows: Range<usize>) -> Option<Error> {
        failure_in(self.failures.as_ref()?, rows)
    }

    /// The row kind as it is stored.
    #[inline]
    pub(crate) fn kind_byte(&self, row: usize) -> i8 {
        self.kinds[row]
    }

    /// The row kind.
    pub(crate) fn kind(&self, row: usize) -> Result<RowKind> {
        RowKind::from_byte(self.kinds[row])
    }
}

/// Makes slots, and orders records with equal keys: user sequence fields, sequence number, retract before add.
pub(crate) struct SourceBatchFactory {
    sequence: usize,
    kind: usize,
    user: Option<RowColumns>,
}

impl SourceBatchFactory {
    pub(crate) fn new(layout: &KvLayout) -> Result<Self> {
        let user = match layout.sequence.as_slice() {
            [] => None,
            columns => Some(RowColumns::new(layout, columns, layout.sequence_descending)?),
        };
        Ok(Self { sequence: layout.sequence_index(), kind: layout.kind_index(), user })
    }

    pub(crate) fn slot(&self, batch: RecordBatch, input: usize) -> Result<SourceBatch> {
        let sequence =
            column(&batch, self.sequence)?.as_primitive_opt::<Int64Type>().ok_or_else(|| wrong("_SEQUENCE_NUMBER"))?;
        let kinds = column(&batch, self.kind)?.as_primitive_opt::<Int8Type>().ok_or_else(|| wrong("_VALUE_KIND"))?;
        if sequence.null_count() > 0 || kinds.null_count() > 0 {
            return Err(Error::new(ErrorKind::CorruptFile, "a system column of a key-value batch holds null"));
        }
        let (sequence, kinds) = (sequence.values().clone(), kinds.values().clone());
        let has_retracts = kinds.iter().fold(0, |all, kind| all | kind) & 1 == 1;
        let user = self.user.as_ref().map(|user| user.encode(&batch)).transpose()?;
        Ok(SourceBatch { batch, input, sequence, kinds, user, has_retracts, row_bytes: 0, failures: None })
    }
}

/// The order of two records with equal keys; the input number last, so that no two records are equal (which input comes
/// last: [`ties`](crate::merge_tree::ties)). What was found elsewhere or computed counts as the last input.
pub(crate) fn tie_order(a: &SourceBatch, i: usize, b: &SourceBatch, j: usize) -> Ordering {
    let user = match (&a.user, &b.user) {
        (Some(a), Some(b)) => a.row(i).cmp(&b.row(j)),
        _ => Ordering::Equal,
    };
    user.then_with(|| a.sequence[i].cmp(&b.sequence[j]))
        .then_with(|| is_retract(b.kinds[j]).cmp(&is_retract(a.kinds[i])))
        .then_with(|| a.input.cmp(&b.input))
}

fn wrong(name: &str) -> Error {
    Error::new(ErrorKind::Internal, format!("the column {name} of a key-value batch is missing or has a wrong type"))
}
