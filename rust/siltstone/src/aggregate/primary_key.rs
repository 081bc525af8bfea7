//! `primary-key`: what key columns use; every record of a group has the same key (semantics b.7).

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
    Ok(Arc::new(Picking(PrimaryKey)))
}

#[derive(Debug)]
struct PrimaryKey;

impl Pick for PrimaryKey {
    type Values<'a> = ();
    type State = ();

    const NAME: &'static str = "primary-key";
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

    fn settled(input: RowRef, _: bool) -> Option<RowRef> {
        Some(input)
    }

    fn retract(_: RowRef, input: RowRef) -> Result<RowRef> {
        Ok(input)
    }
}
