//! Functions that compute numbers: a loop over typed slices for each type.
//!
//! Integers are exact: what does not fit is an error. Floats follow IEEE 754. Decimals are exact and keep the column's
//! precision and scale.
#![allow(clippy::indexing_slicing, reason = "places come from the merge and lie within the arrays")]

use std::{fmt, sync::Arc};

use arrow_array::{
    ArrowPrimitiveType, PrimitiveArray,
    types::{Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type},
};
use arrow_buffer::NullBufferBuilder;

use super::{
    AggStep, AggregateFunction, Aggregated, ColumnGroups, grouped_reduce::reduce, order::slices, select::Nulls,
};
use crate::{
    Error, ErrorKind, Result,
    types::{DataType, TypeKind, arrow_type},
};

/// A function of two numbers of one type; nulls are dealt with by [`Computing`].
pub(super) trait Arithmetic<N>: Send + Sync + fmt::Debug {
    /// `agg(acc, input)`; `None` is null.
    fn agg(&self, acc: N, input: N) -> Result<Option<N>>;

    /// What [`Arithmetic::agg`] gives, and whether it has to be asked nevertheless.
    #[inline]
    fn add(&self, acc: N, _input: N) -> (N, bool) {
        (acc, true)
    }

    /// Whether [`Arithmetic::add`] is written.
    fn adds(&self) -> bool {
        false
    }

    /// [`AggregateFunction::adds_ahead`]
    fn adds_ahead(&self) -> bool {
        true
    }

    /// [`AggregateFunction::has_overflowed`]
    fn has_overflowed(&self) -> bool {
        false
    }

    /// [`AggregateFunction::retracts_ahead`]
    fn retracts_ahead(&self) -> bool {
        false
    }

    /// `retract(acc, input)`; `None` is null.
    fn retract(&self, acc: N, input: N) -> Result<Option<N>>;

    /// `retract(null, input)`; `None` is null.
    fn retract_first(&self, input: N) -> Result<Option<N>>;
}

/// An [`Arithmetic`] as an aggregate function of columns of type `P`.
#[derive(Debug)]
pub(super) struct Computing<P, F> {
    name: &'static str,
    function: F,
    arrow: arrow_schema::DataType,
    _type: std::marker::PhantomData<fn() -> P>,
}

/// A function for a column of `data_type`: `integer` for the whole numbers and floats, `decimal` makes the one for
/// decimals of (precision, scale).
pub(super) fn computing<F, D>(
    name: &'static str,
    data_type: &DataType,
    function: F,
    decimal: impl Fn(u8, u8) -> D,
) -> Result<Arc<dyn AggregateFunction>>
where
    F: Arithmetic<i8> + Arithmetic<i16> + Arithmetic<i32> + Arithmetic<i64> + Arithmetic<f32> + Arithmetic<f64>,
    F: 'static,
    D: Arithmetic<i128> + 'static,
{
    fn made<P, F>(name: &'static str, data_type: &DataType, function: F) -> Result<Arc<dyn AggregateFunction>>
    where
        P: ArrowPrimitiveType + fmt::Debug,
        F: Arithmetic<P::Native> + 'static,
    {
        let arrow = arrow_type(data_type)?;
        Ok(Arc::new(Computing::<P, F> { name, function, arrow, _type: std::marker::PhantomData }))
    }
    match &data_type.kind {
        TypeKind::TinyInt => made::<Int8Type, F>(name, data_type, function),
        TypeKind::SmallInt => made::<Int16Type, F>(name, data_type, function),
        TypeKind::Int => made::<Int32Type, F>(name, data_type, function),
        TypeKind::BigInt => made::<Int64Type, F>(name, data_type, function),
        TypeKind::Float => made::<Float32Type, F>(name, data_type, function),
        TypeKind::Double => made::<Float64Type, F>(name, data_type, function),
        TypeKind::Decimal { precision, scale } => {
            made::<Decimal128Type, D>(name, data_type, decimal(*precision, *scale))
        }
        _ => Err(Error::new(ErrorKind::Internal, format!("'{name}' does not compute with {data_type}"))),
    }
}

/// TINYINT to BIGINT, FLOAT, DOUBLE and DECIMAL.
pub(super) fn is_numeric(data_type: &DataType) -> bool {
    matches!(
        data_type.kind,
        TypeKind::TinyInt
            | TypeKind::SmallInt
            | TypeKind::Int
            | TypeKind::BigInt
            | TypeKind::Float
            | TypeKind::Double
            | TypeKind::Decimal { .. }
    )
}

impl<P, F> AggregateFunction for Computing<P, F>
where
    P: ArrowPrimitiveType + fmt::Debug,
    F: Arithmetic<P::Native>,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn retracts(&self) -> bool {
        true
    }

    fn adds_ahead(&self) -> bool {
        self.function.adds_ahead()
    }

    fn has_overflowed(&self) -> bool {
        self.function.has_overflowed()
    }

    fn retracts_ahead(&self) -> bool {
        self.function.retracts_ahead()
    }

    fn aggregate(&self, groups: &ColumnGroups<'_>) -> Aggregated {
        let values = slices::<P>(groups.arrays)?;
        let nulls = Nulls::new(groups.arrays);
        if groups.steps.is_none()
            && self.function.adds()
            && let Some((results, nulls)) = reduce(
                groups.rows,
                groups.ends,
                &nulls,
                |(source, row)| values[source][row],
                |acc, input| self.function.add(acc, input),
            )
        {
            let results = PrimitiveArray::<P>::try_new(results.into(), nulls)?;
            return Ok(Arc::new(results.with_data_type(self.arrow.clone())));
        }
        let value = |at| nulls.place(at).map(|(source, row)| values[source][row]);
        let mut results = Vec::with_capacity(groups.len());
        let mut valid = NullBufferBuilder::new(groups.len());
        groups.walk(
            || None,
            |acc, step, at| {
                let input = value(at);
                *acc = match (step, *acc, input) {
                    (AggStep::Skip, acc, _) | (AggStep::Retract, acc, None) => acc,
                    (AggStep::Set | AggStep::Resume, ..) => input,
                    (AggStep::Clear, ..) => None,
                    (AggStep::Add, Some(acc), Some(input)) => self.function.agg(acc, input)?,
                    (AggStep::AddReversed, Some(acc), Some(input)) => self.function.agg(input, acc)?,
                    (AggStep::Add | AggStep::AddReversed, acc, input) => acc.or(input),
                    (AggStep::Retract, None, Some(input)) => self.function.retract_first(input)?,
                    (AggStep::Retract, Some(acc), Some(input)) => self.function.retract(acc, input)?,
                };
                Ok(())
            },
            |acc| {
                results.push(acc.unwrap_or_default());
                valid.append(acc.is_some());
                Ok(())
            },
        )?;
        let results = PrimitiveArray::<P>::try_new(results.into(), valid.finish())?;
        Ok(Arc::new(results.with_data_type(self.arrow.clone())))
    }
}

/// The error of a result that its type cannot hold.
pub(super) fn overflow<N: fmt::Display>(left: N, sign: char, right: N) -> Error {
    let name = std::any::type_name::<N>();
    let name = match name {
        "i8" => "TINYINT",
        "i16" => "SMALLINT",
        "i32" => "INT",
        "i64" => "BIGINT",
        other => other,
    };
    Error::new(ErrorKind::LengthExceeded, format!("{left} {sign} {right} does not fit a {name}"))
}
