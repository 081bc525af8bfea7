//! `bool_and`: true when all values are true; nulls do not count (semantics b.7).

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
    types::{DataField, DataType, TypeKind},
};

/// BOOLEAN
pub(super) fn accepts(data_type: &DataType) -> bool {
    data_type.kind == TypeKind::Boolean
}

pub(super) fn new(_: &DataField, _: &FieldOptions) -> Result<Arc<dyn AggregateFunction>> {
    Ok(Arc::new(Picking(BoolAnd)))
}

#[derive(Debug)]
struct BoolAnd;

impl Pick for BoolAnd {
    type Values<'a> = Box<dyn ColumnOrder + 'a>;
    type State = ();

    const NAME: &'static str = "bool_and";
    const EXTREME: Option<Extreme> = Some(Extreme::Least);

    fn values<'a>(&self, arrays: &'a [ArrayRef]) -> Result<Self::Values<'a>> {
        column_order(arrays)
    }

    fn agg(values: &Self::Values<'_>, (): &mut (), acc: RowRef, input: RowRef) -> RowRef {
        let (Some(a), Some(b)) = (acc, input) else { return acc.or(input) };
        // false comes before true
        if values.compare(a, b) == Ordering::Less { acc } else { input }
    }
}
