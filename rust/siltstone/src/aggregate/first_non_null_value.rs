//! `first_non_null_value`, of old `first_not_null_value`: the first value that is not null (semantics b.7).
//!
//! **As in Java**, a null that comes out of order after a value was seen replaces it.

use std::sync::Arc;

use arrow_array::ArrayRef;

use super::{
    AggregateFunction, FieldOptions,
    select::{Pick, Picking, RowRef},
};
use crate::{
    Result,
    types::{DataField, DataType},
};

/// All types.
pub(super) fn accepts(_: &DataType) -> bool {
    true
}

pub(super) fn new(_: &DataField, _: &FieldOptions) -> Result<Arc<dyn AggregateFunction>> {
    Ok(Arc::new(Picking(FirstNonNullValue)))
}

#[derive(Debug)]
struct FirstNonNullValue;

impl Pick for FirstNonNullValue {
    type Values<'a> = ();
    type State = bool;

    const NAME: &'static str = "first_non_null_value";

    fn values(&self, _: &[ArrayRef]) -> Result<()> {
        Ok(())
    }

    fn agg((): &(), seen: &mut bool, acc: RowRef, input: RowRef) -> RowRef {
        if *seen || input.is_none() {
            return acc;
        }
        *seen = true;
        input
    }

    fn has_seen(seen: &bool) -> bool {
        *seen
    }

    fn resume(seen: &mut bool) {
        *seen = true;
    }
}
