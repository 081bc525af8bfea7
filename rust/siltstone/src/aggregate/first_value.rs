//! `first_value`: the first value, null included (semantics b.7).
//!
//! Out of order the value that comes in is the first one, because the state says that one was seen.

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
    Ok(Arc::new(Picking(FirstValue)))
}

#[derive(Debug)]
struct FirstValue;

impl Pick for FirstValue {
    type Values<'a> = ();
    type State = bool;

    const NAME: &'static str = "first_value";

    fn values(&self, _: &[ArrayRef]) -> Result<()> {
        Ok(())
    }

    fn agg((): &(), seen: &mut bool, acc: RowRef, input: RowRef) -> RowRef {
        if std::mem::replace(seen, true) { acc } else { input }
    }

    fn has_seen(seen: &bool) -> bool {
        *seen
    }

    fn resume(seen: &mut bool) {
        *seen = true;
    }
}
