//! `fields.<f>.ignore-retract`: retracts do nothing (semantics b.7; `FieldIgnoreRetractAgg`).
//!
//! In Java this wrapper also hides a function's own `aggReversed`; a function that has one looks at
//! [`FieldOptions::ignore_retract`](super::FieldOptions::ignore_retract) itself.

use std::sync::Arc;

use super::{Added, AggStep, AggregateError, AggregateFunction, Aggregated, BytesCheck, ColumnGroups};

/// A function that passes over retracts.
#[derive(Debug)]
pub(super) struct IgnoreRetract(pub(super) Arc<dyn AggregateFunction>);

impl AggregateFunction for IgnoreRetract {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn retracts(&self) -> bool {
        true
    }

    fn ignores_retracts(&self) -> bool {
        true
    }

    fn adds_ahead(&self) -> bool {
        self.0.adds_ahead()
    }

    fn has_overflowed(&self) -> bool {
        self.0.has_overflowed()
    }

    fn retracts_ahead(&self) -> bool {
        // nothing but retracts come to null, which must add nothing
        self.0.added() != Added::Last
    }

    fn added(&self) -> Added {
        self.0.added()
    }

    fn check(&self) -> Option<BytesCheck> {
        self.0.check()
    }

    fn aggregate(&self, groups: &ColumnGroups<'_>) -> Aggregated {
        let steps = without_retracts(groups);
        self.0.aggregate(&ColumnGroups { steps: steps.as_deref().or(groups.steps), ..*groups })
    }

    fn has_seen(&self, group: &ColumnGroups<'_>) -> Result<bool, AggregateError> {
        let steps = without_retracts(group);
        self.0.has_seen(&ColumnGroups { steps: steps.as_deref().or(group.steps), ..*group })
    }
}

/// The steps with retracts passed over; `None` when there are none.
fn without_retracts(groups: &ColumnGroups<'_>) -> Option<Vec<AggStep>> {
    let skip = |step: &AggStep| if *step == AggStep::Retract { AggStep::Skip } else { *step };
    let steps = groups.steps.filter(|steps| steps.contains(&AggStep::Retract))?;
    Some(steps.iter().map(skip).collect())
}
