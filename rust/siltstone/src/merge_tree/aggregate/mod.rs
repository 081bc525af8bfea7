//! Aggregate functions: one file each.
//!
//! A merge engine decides, record by record, what happens to a column ([`Step`]); a function turns the records of many
//! keys into one column of results, so that it can work on whole Arrow arrays.

use std::fmt;

use arrow_array::ArrayRef;

use crate::Result;

/// What a record does to the accumulated value of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    /// Nothing.
    Skip,
    /// The accumulated value becomes the record's value, null included; states beside the value stay.
    Set,
    /// The accumulated value becomes null.
    Clear,
    /// `agg(acc, input)`.
    Add,
    /// The record came out of order: `aggReversed(acc, input)`, which is `agg(input, acc)` unless the function says otherwise.
    AddReversed,
    /// `retract(acc, input)`.
    Retract,
}

/// The records of one column, grouped by key; accumulated values start as null.
#[derive(Clone, Copy, Debug)]
pub struct ColumnGroups<'a> {
    /// The column in each source batch, all of one Arrow type.
    pub arrays: &'a [ArrayRef],
    /// All records of all groups as (source, row), inside a group in merge order.
    pub rows: &'a [(usize, usize)],
    /// Group `g` is `rows[ends[g - 1]..ends[g]]`, the first one starting at 0.
    pub ends: &'a [usize],
    /// What each record does; `None`: all are [`Step::Add`].
    pub steps: Option<&'a [Step]>,
}

/// An aggregate function of one column.
pub trait AggregateFunction: Send + Sync + fmt::Debug {
    /// Its name in the option `fields.<f>.aggregate-function`.
    fn name(&self) -> &'static str;

    /// Whether it takes [`Step::Retract`].
    fn retracts(&self) -> bool {
        false
    }

    /// One value for each group, of the arrays' type.
    fn aggregate(&self, groups: &ColumnGroups<'_>) -> Result<ArrayRef>;
}
