//! `fields.<f>.ignore-retract`: retracts do nothing (semantics b.7; `FieldIgnoreRetractAgg`).
//!
//! In Java this wrapper also hides a function's own `aggReversed`; a function that has one looks at
//! [`FieldOptions::ignore_retract`](super::FieldOptions::ignore_retract) itself.

use std::sync::Arc;

use super::{Added, AggregateFunction, Aggregated, BytesCheck, ColumnGroups, Step};

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

    fn added(&self) -> Added {
        self.0.added()
    }

    fn check(&self) -> Option<BytesCheck> {
        self.0.check()
    }

    fn aggregate(&self, groups: &ColumnGroups<'_>) -> Aggregated {
        match groups.steps {
            Some(steps) if steps.contains(&Step::Retract) => {
                let skip = |step: &Step| if *step == Step::Retract { Step::Skip } else { *step };
                let steps: Vec<Step> = steps.iter().map(skip).collect();
                self.0.aggregate(&ColumnGroups { steps: Some(&steps), ..*groups })
            }
            _ => self.0.aggregate(groups),
        }
    }
}
