//! `last_non_null_value`: the newest value that is not null; the retract of a value leaves null (semantics b.7).

use std::sync::Arc;

use arrow_array::ArrayRef;

use super::{
    Added, AggregateFunction, FieldOptions,
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
    Ok(Arc::new(Picking(LastNonNullValue)))
}

#[derive(Debug)]
struct LastNonNullValue;

impl Pick for LastNonNullValue {
    type Values<'a> = ();
    type State = ();

    const NAME: &'static str = "last_non_null_value";
    const RETRACTS: bool = true;
    const LAST_DECIDES: bool = true;
    const ADDED: Added = Added::LastPresent;

    fn values(&self, _: &[ArrayRef]) -> Result<()> {
        Ok(())
    }

    fn agg((): &(), (): &mut (), acc: RowRef, input: RowRef) -> RowRef {
        input.or(acc)
    }

    fn settled(input: RowRef, retracts: bool) -> Option<RowRef> {
        input.is_some().then_some(if retracts { None } else { input })
    }

    fn retract(acc: RowRef, input: RowRef) -> Result<RowRef> {
        Ok(if input.is_some() { None } else { acc })
    }
}
