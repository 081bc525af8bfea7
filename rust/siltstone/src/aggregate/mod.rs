//! Aggregate functions: one file each, and one line each in [`registry`].
//!
//! A merge engine decides, record by record, what happens to a column ([`AggStep`]); a function turns the records of many
//! keys into one column of results, so that it can work on whole Arrow arrays.
//!
//! ```text
//! picking functions    last_value, max, ...   the result is one of the inputs: [`select`] finds it, one [`gather`] copies
//!                                              [`last_non_null`] and [`min_max`]: the same for records that are all added
//! computing functions  sum, product           [`arithmetic`] over typed slices
//! nested functions     collect, merge_map ...  [`elements`]: numbers of elements, copied once
//! listagg                                      over string slices
//! the others           rbm32, hll_sketch, ...  [`fold`], one value at a time
//! ```
//! Source: semantics b.7; `org.apache.paimon.mergetree.compact.aggregate`.
#![allow(clippy::unnecessary_wraps, reason = "functions are made by one signature; some refuse options")]

#[cfg(test)]
mod added_tests;
mod arithmetic;
mod bitmap;
mod bool_and;
mod bool_or;
mod collect;
mod count;
mod element_keys;
mod elements;
mod error;
mod first_non_null_value;
mod first_value;
pub mod fold;
pub(crate) mod gather;
mod grouped_reduce;
mod hash_order;
mod hll_sketch;
mod ignore_retract;
pub(crate) mod last_non_null;
mod last_non_null_value;
mod last_value;
mod listagg;
#[cfg(test)]
mod listagg_tests;
mod max;
mod merge_map;
mod merge_map_with_keytime;
mod min;
mod min_max;
mod nested_key;
mod nested_partial_update;
#[cfg(test)]
mod nested_tests;
mod nested_update;
mod options;
pub(crate) mod order;
mod primary_key;
mod product;
mod rbm32;
mod rbm64;
mod registry;
pub(crate) mod select;
mod set_union;
mod sum;
#[cfg(test)]
pub(crate) mod testing;
mod theta_sketch;
#[cfg(test)]
mod union_tests;

use std::fmt;

use arrow_array::ArrayRef;

pub(crate) use error::no_retract;
pub use error::{AggregateError, Aggregated};
pub use options::{DEFAULT_FUNCTION, FieldOptions, NullKeyStrategy};
pub use registry::{aggregate_function, function_names, is_function};

use crate::cancel::Work;

/// What a record does to the accumulated value of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum AggStep {
    /// Nothing.
    Skip,
    /// The accumulated value becomes the record's value, null included; states beside the value stay.
    Set,
    /// [`AggStep::Set`] of a record that stands for others: states beside the value are as after these
    /// ([`AggregateFunction::has_seen`]).
    Resume,
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
    /// What each record does; `None`: all are [`AggStep::Add`].
    pub steps: Option<&'a [AggStep]>,
    /// The only record of a group of one is [`AggStep::Set`], whatever `steps` says: it passes through.
    pub pass_single: bool,
}

impl ColumnGroups<'_> {
    /// Number of groups.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no group.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Goes through all records: `start` makes the state of a group, `step` changes it for each record that does
    /// something (never called with [`AggStep::Skip`]), `finish` takes it. An error of `step` or `finish` names its group.
    #[inline]
    pub fn walk<A>(
        &self,
        start: impl Fn() -> A,
        mut step: impl FnMut(&mut A, AggStep, (usize, usize)) -> crate::Result<()>,
        mut finish: impl FnMut(A) -> crate::Result<()>,
    ) -> Result<(), AggregateError> {
        let mut from = 0;
        let mut work = Work::default();
        for (group, &end) in self.ends.iter().enumerate() {
            let named = |error| AggregateError { group: Some(group), error };
            let rows = self.rows.get(from..end).unwrap_or_default();
            let mut state = start();
            work.done(rows.len()).map_err(named)?;
            match (self.steps.and_then(|steps| steps.get(from..end)), rows) {
                (_, [one]) if self.pass_single => step(&mut state, AggStep::Set, *one).map_err(named)?,
                (None, rows) => {
                    for &row in rows {
                        step(&mut state, AggStep::Add, row).map_err(named)?;
                    }
                }
                (Some(steps), rows) => {
                    for (&row, &what) in rows.iter().zip(steps).filter(|(_, what)| **what != AggStep::Skip) {
                        step(&mut state, what, row).map_err(named)?;
                    }
                }
            }
            finish(state).map_err(named)?;
            from = end;
        }
        Ok(())
    }
}

/// The result of records that are all [`AggStep::Add`], when it is known without asking the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// The value of the last record, null included.
    Last,
    /// The last value that is not null.
    LastPresent,
    /// Something else.
    Other,
}

/// Which bytes are values of a function.
#[derive(Clone, Copy, Debug)]
pub struct BytesCheck {
    /// What they are, for messages.
    pub wants: &'static str,
    /// An error for bytes that are none.
    pub check: fn(&[u8]) -> crate::Result<()>,
}

/// An aggregate function of one column.
pub trait AggregateFunction: Send + Sync + fmt::Debug {
    /// Its name in the option `fields.<f>.aggregate-function`.
    fn name(&self) -> &'static str;

    /// Whether it takes [`AggStep::Retract`]; the engine refuses the step for functions that do not.
    fn retracts(&self) -> bool {
        false
    }

    /// Whether retracts leave its value as it is.
    fn ignores_retracts(&self) -> bool {
        false
    }

    /// Whether records that are added can be put together before older ones are there: what comes of them, added to these later,
    /// gives the same.
    fn adds_ahead(&self) -> bool {
        true
    }

    /// Whether something that it has put together so far did not fit the column, and is null: with older records it might have.
    fn has_overflowed(&self) -> bool {
        false
    }

    /// Whether retracts can be put together with other records before older ones are there: what comes of them, added to these
    /// later, gives the same.
    fn retracts_ahead(&self) -> bool {
        false
    }

    /// What it makes of records that are all added.
    fn added(&self) -> Added {
        Added::Other
    }

    /// What a value must pass so that it can be merged with others, where its type does not say so; the error says what
    /// is wrong with the bytes. It is looked at before a row is written.
    fn check(&self) -> Option<BytesCheck> {
        None
    }

    /// One value for each group, of the arrays' type. An error names the group; the engine adds table, column, key
    /// and function.
    fn aggregate(&self, groups: &ColumnGroups<'_>) -> Aggregated;

    /// Whether, after the records of one group, its state beside the value says that it has seen one. With it and the
    /// value the group can go on: [`AggStep::Resume`], otherwise [`AggStep::Set`].
    fn has_seen(&self, _group: &ColumnGroups<'_>) -> Result<bool, AggregateError> {
        Ok(false)
    }
}
