//! `last_value`: the newest value, null included; a retract leaves null (semantics b.7).

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
    Ok(Arc::new(Picking(LastValue)))
}

#[derive(Debug)]
struct LastValue;

impl Pick for LastValue {
    type Values<'a> = ();
    type State = ();

    const NAME: &'static str = "last_value";
    const RETRACTS: bool = true;
    const RETRACTS_AHEAD: bool = true;
    const LAST_DECIDES: bool = true;
    const ADDED: Added = Added::Last;

    fn values(&self, _: &[ArrayRef]) -> Result<()> {
        Ok(())
    }

    fn agg((): &(), (): &mut (), _: RowRef, input: RowRef) -> RowRef {
        input
    }

    fn settled(input: RowRef, retracts: bool) -> Option<RowRef> {
        Some(if retracts { None } else { input })
    }

    fn retract(_: RowRef, _: RowRef) -> Result<RowRef> {
        Ok(None)
    }
}
