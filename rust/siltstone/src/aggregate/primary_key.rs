//! `primary-key`: what key columns use; every record of a group has the same key (semantics b.7).

use std::sync::Arc;

use arrow_array::ArrayRef;

use super::{
    Added, AggregateFunction, FieldOptions,
    select::{Pick, Picking, Place},
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
    const LAST_DECIDES: bool = true;
    const ADDED: Added = Added::Last;

    fn values(&self, _: &[ArrayRef]) -> Result<()> {
        Ok(())
    }

    fn agg((): &(), (): &mut (), _: Place, input: Place) -> Place {
        input
    }

    fn settled(input: Place, _: bool) -> Option<Place> {
        Some(input)
    }

    fn retract(_: Place, input: Place) -> Result<Place> {
        Ok(input)
    }
}
