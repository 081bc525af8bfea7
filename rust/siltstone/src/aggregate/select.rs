//! Functions whose result is one of the inputs, or null.
//!
//! A [`Pick`] sees where values are, not what they are: `None` is a null, `Some((source, row))` a value. What it
//! picked is copied once, by one gather of all groups.

use std::fmt;

use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;

use super::{
    Added, AggStep, AggregateError, AggregateFunction, Aggregated, ColumnGroups,
    error::no_retract,
    gather::gather,
    min_max::{Extreme, extremes},
};
use crate::Result;

/// A value of a column as (source, row), or null.
pub(crate) type RowRef = Option<(usize, usize)>;

/// A function that picks.
pub(super) trait Pick: Send + Sync + fmt::Debug {
    /// What it knows of the columns' values.
    type Values<'a>;
    /// What it remembers of a group beside the accumulated value.
    type State: Default;

    /// Its name in options.
    const NAME: &'static str;
    /// Whether [`Pick::retract`] is written.
    const RETRACTS: bool = false;

    /// [`AggregateFunction::retracts_ahead`]
    const RETRACTS_AHEAD: bool = false;

    /// Whether the last records of a group decide, and [`Pick::settled`] is written: then it asks no others.
    const LAST_DECIDES: bool = false;
    /// What it gives for records that are all added.
    const ADDED: Added = Added::Other;
    /// What it gives for values that are all added, when it is the least or the greatest of them.
    const EXTREME: Option<Extreme> = None;

    /// Prepares the values of a column.
    fn values<'a>(&self, arrays: &'a [ArrayRef]) -> Result<Self::Values<'a>>;

    /// `agg(acc, input)`
    fn agg(values: &Self::Values<'_>, state: &mut Self::State, acc: RowRef, input: RowRef) -> RowRef;

    /// What `agg` or, when `retracts`, `retract` gives, when it does not depend on the accumulated value.
    fn settled(_input: RowRef, _retracts: bool) -> Option<RowRef> {
        None
    }

    /// `retract(acc, input)`
    fn retract(_acc: RowRef, _input: RowRef) -> Result<RowRef> {
        Err(no_retract(Self::NAME))
    }

    /// Whether the state says that a record was seen.
    fn has_seen(_state: &Self::State) -> bool {
        false
    }

    /// The state is as after a record was seen.
    fn resume(_state: &mut Self::State) {}
}

/// A [`Pick`] as an aggregate function.
#[derive(Debug)]
pub(super) struct Picking<P>(pub(super) P);

impl<P: Pick> AggregateFunction for Picking<P> {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn retracts(&self) -> bool {
        P::RETRACTS
    }

    fn retracts_ahead(&self) -> bool {
        P::RETRACTS_AHEAD
    }

    fn added(&self) -> Added {
        P::ADDED
    }

    fn aggregate(&self, groups: &ColumnGroups<'_>) -> Aggregated {
        if let (None, Some(which)) = (groups.steps, P::EXTREME)
            && let Some(result) = extremes(groups, which)?
        {
            return Ok(result);
        }
        let reversed = groups.steps.is_some_and(|steps| steps.contains(&AggStep::AddReversed));
        if P::LAST_DECIDES && !reversed {
            return Ok(gather(groups.arrays, &picked_backwards::<P>(groups))?);
        }
        let mut picked = Vec::with_capacity(groups.len());
        let null = (groups.arrays.len(), 0);
        self.walk(groups, |acc, _| picked.push(acc.unwrap_or(null)))?;
        Ok(gather(groups.arrays, &picked)?)
    }

    fn has_seen(&self, group: &ColumnGroups<'_>) -> std::result::Result<bool, AggregateError> {
        if size_of::<P::State>() == 0 {
            return Ok(false);
        }
        let mut seen = false;
        self.walk(group, |_, state| seen |= P::has_seen(&state))?;
        Ok(seen)
    }
}

impl<P: Pick> Picking<P> {
    /// Goes through all records, and gives what is picked of each group, with the state beside it.
    fn walk(
        &self,
        groups: &ColumnGroups<'_>,
        mut finish: impl FnMut(RowRef, P::State),
    ) -> std::result::Result<(), AggregateError> {
        let values = self.0.values(groups.arrays)?;
        let nulls = Nulls::new(groups.arrays);
        groups.walk(
            || (None, P::State::default()),
            |(acc, state), step, at| {
                *acc = match step {
                    AggStep::Skip => *acc,
                    // a null that was set is a null
                    AggStep::Set => nulls.place(at),
                    AggStep::Resume => {
                        P::resume(state);
                        nulls.place(at)
                    }
                    AggStep::Clear => None,
                    AggStep::Add => P::agg(&values, state, *acc, nulls.place(at)),
                    AggStep::AddReversed => P::agg(&values, state, nulls.place(at), *acc),
                    AggStep::Retract => P::retract(*acc, nulls.place(at))?,
                };
                Ok(())
            },
            |(acc, state)| {
                finish(acc, state);
                Ok(())
            },
        )
    }
}

/// What the last records of each group decide.
fn picked_backwards<P: Pick>(groups: &ColumnGroups<'_>) -> Vec<(usize, usize)> {
    let nulls = Nulls::new(groups.arrays);
    let null = (groups.arrays.len(), 0);
    let mut picked = Vec::with_capacity(groups.len());
    let mut start = 0;
    for &end in groups.ends {
        let rows = groups.rows.get(start..end).unwrap_or_default();
        let place = match (groups.steps.and_then(|steps| steps.get(start..end)), rows) {
            (_, [one]) if groups.pass_single => nulls.place(*one),
            (None, rows) => rows.iter().rev().find_map(|row| P::settled(nulls.place(*row), false)).flatten(),
            (Some(steps), rows) => {
                let settled = |(row, step): (&(usize, usize), &AggStep)| match step {
                    AggStep::Skip => None,
                    AggStep::Clear => Some(None),
                    AggStep::Set | AggStep::Resume => Some(nulls.place(*row)),
                    AggStep::Add | AggStep::AddReversed => P::settled(nulls.place(*row), false),
                    AggStep::Retract => P::settled(nulls.place(*row), true),
                };
                rows.iter().zip(steps).rev().find_map(settled).flatten()
            }
        };
        picked.push(place.unwrap_or(null));
        start = end;
    }
    picked
}

/// Where nulls are; sources without any are not asked.
pub(crate) struct Nulls<'a>(Option<Vec<Option<&'a NullBuffer>>>);

impl<'a> Nulls<'a> {
    pub(crate) fn new(arrays: &'a [ArrayRef]) -> Self {
        let any = arrays.iter().any(|array| array.null_count() > 0);
        Self(any.then(|| arrays.iter().map(|array| array.nulls()).collect()))
    }

    #[inline]
    pub(crate) fn place(&self, at: (usize, usize)) -> RowRef {
        self.is_valid(at).then_some(at)
    }

    #[inline]
    pub(crate) fn is_valid(&self, (source, row): (usize, usize)) -> bool {
        match &self.0 {
            None => true,
            Some(nulls) => nulls.get(source).is_none_or(|n| n.is_none_or(|n| n.is_valid(row))),
        }
    }
}
