//! Sequence groups: is a record new to a group of columns, or older than what they hold?
//!
//! The fields of a group are compared in their order, nulls first (semantics b.4.1). What a row holds in these fields
//! always comes from one record, because they are set all at once.

use std::cmp::Ordering;

use arrow_array::{ArrayRef, RecordBatch};

use super::columns::arrays_of;
use crate::{
    Result,
    aggregate::{
        order::{ColumnOrder, column_order},
        select::Nulls,
    },
    merge_tree::nested_order::comparable,
};

/// A record: source and row.
type RowRef = (usize, usize);

/// How a record stands to what a group holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// All sequence fields of the record are null: the group does not take part.
    Absent,
    /// Not older than what is held.
    New,
    /// Older than what is held.
    Old,
}

/// The sequence fields of one group in all sources.
pub(super) struct SequenceColumns {
    arrays: Vec<Vec<ArrayRef>>,
}

impl SequenceColumns {
    /// The columns at these positions.
    pub(super) fn new(sources: &[RecordBatch], positions: &[usize]) -> Result<Self> {
        let column = |at: &usize| arrays_of(sources, *at).iter().map(comparable).collect::<Result<_>>();
        Ok(Self { arrays: positions.iter().map(column).collect::<Result<_>>()? })
    }

    /// What compares them.
    pub(super) fn order(&self) -> Result<SequenceOrder<'_>> {
        let field = |arrays| -> Result<_> { Ok((column_order(arrays)?, Nulls::new(arrays))) };
        let fields = self.arrays.iter().map(|arrays| field(arrays)).collect::<Result<Vec<_>>>()?;
        Ok(SequenceOrder { fields })
    }
}

/// Compares the sequence fields of records.
pub(super) struct SequenceOrder<'a> {
    fields: Vec<(Box<dyn ColumnOrder + 'a>, Nulls<'a>)>,
}

impl SequenceOrder<'_> {
    /// How `record` stands to `held`, the record that set the group's fields last.
    pub(super) fn standing(&self, record: RowRef, held: Option<RowRef>) -> Standing {
        if self.fields.iter().all(|(_, nulls)| nulls.place(record).is_none()) {
            return Standing::Absent;
        }
        let Some(held) = held else { return Standing::New };
        let fields = self.fields.iter().map(|(order, nulls)| match (nulls.place(record), nulls.place(held)) {
            (Some(a), Some(b)) => order.compare(a, b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        });
        match fields.into_iter().find(|order| order.is_ne()) {
            Some(Ordering::Less) => Standing::Old,
            _ => Standing::New,
        }
    }
}
