//! `count`: the number of values that are not null.
//!
//! Each row has become 1 (or 0 for null) before it enters the write buffer; from there on counts are added up, so that
//! merging in any number of steps gives the same. A retract subtracts. Java from 0.9 on does not know this function.

use std::sync::Arc;

use super::{AggregateFunction, FieldOptions, sum};
use crate::{
    Result,
    types::{DataField, DataType, TypeKind},
};

/// INT and BIGINT.
pub(super) fn accepts(data_type: &DataType) -> bool {
    matches!(data_type.kind, TypeKind::Int | TypeKind::BigInt)
}

pub(super) fn new(field: &DataField, _: &FieldOptions) -> Result<Arc<dyn AggregateFunction>> {
    sum::named("count", field)
}
