//! `min`: the smaller value; the later of two equal ones (semantics b.7).

use std::{cmp::Ordering, sync::Arc};

use arrow_array::ArrayRef;

use super::{
    AggregateFunction, FieldOptions,
    min_max::Extreme,
    order::{ColumnOrder, column_order},
    select::{Pick, Picking, RowRef},
};
use crate::{
    Result,
    types::{DataField, DataType},
};

/// Every type that has an order.
pub(super) fn accepts(data_type: &DataType) -> bool {
    !data_type.is_nested()
}

pub(super) fn new(_: &DataField, _: &FieldOptions) -> Result<Arc<dyn AggregateFunction>> {
    Ok(Arc::new(Picking(Min)))
}

#[derive(Debug)]
struct Min;

impl Pick for Min {
    type Values<'a> = Box<dyn ColumnOrder + 'a>;
    type State = ();

    const NAME: &'static str = "min";
    const EXTREME: Option<Extreme> = Some(Extreme::Least);

    fn values<'a>(&self, arrays: &'a [ArrayRef]) -> Result<Self::Values<'a>> {
        column_order(arrays)
    }

    fn agg(values: &Self::Values<'_>, (): &mut (), acc: RowRef, input: RowRef) -> RowRef {
        let (Some(a), Some(b)) = (acc, input) else { return acc.or(input) };
        if values.compare(a, b) == Ordering::Less { acc } else { input }
    }
}
