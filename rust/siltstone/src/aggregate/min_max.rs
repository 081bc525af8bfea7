//! The least and the greatest value of groups of records that are all added.
#![allow(clippy::indexing_slicing, reason = "places come from the merge and lie within the arrays")]

use std::sync::Arc;

use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray,
    cast::AsArray,
    types::{
        Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        Time32MillisecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
        TimestampSecondType,
    },
};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType as Arrow, TimeUnit};

use super::{
    ColumnGroups,
    grouped_reduce::reduce,
    order::{JavaOrder, slices},
    select::Nulls,
};
use crate::Result;

/// Which of two values stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extreme {
    /// The smaller one; of equal ones the later.
    Least,
    /// The larger one; of equal ones the earlier.
    Greatest,
}

impl Extreme {
    #[inline]
    fn of<N: JavaOrder>(self, acc: N, input: N) -> N {
        let below = acc.is_below(input);
        if below == (self == Self::Greatest) { input } else { acc }
    }
}

/// The least or greatest value of each group; `None` for types without a fixed width.
pub(super) fn extremes(groups: &ColumnGroups<'_>, which: Extreme) -> Result<Option<ArrayRef>> {
    let Some(first) = groups.arrays.first() else { return Ok(None) };
    match first.data_type() {
        Arrow::Boolean => Ok(booleans(groups, which)),
        Arrow::Int8 => numbers::<Int8Type>(groups, which),
        Arrow::Int16 => numbers::<Int16Type>(groups, which),
        Arrow::Int32 => numbers::<Int32Type>(groups, which),
        Arrow::Int64 => numbers::<Int64Type>(groups, which),
        Arrow::Float32 => numbers::<Float32Type>(groups, which),
        Arrow::Float64 => numbers::<Float64Type>(groups, which),
        Arrow::Decimal128(..) => numbers::<Decimal128Type>(groups, which),
        Arrow::Date32 => numbers::<Date32Type>(groups, which),
        Arrow::Time32(TimeUnit::Millisecond) => numbers::<Time32MillisecondType>(groups, which),
        Arrow::Timestamp(TimeUnit::Second, _) => numbers::<TimestampSecondType>(groups, which),
        Arrow::Timestamp(TimeUnit::Millisecond, _) => numbers::<TimestampMillisecondType>(groups, which),
        Arrow::Timestamp(TimeUnit::Microsecond, _) => numbers::<TimestampMicrosecondType>(groups, which),
        Arrow::Timestamp(TimeUnit::Nanosecond, _) => numbers::<TimestampNanosecondType>(groups, which),
        _ => Ok(None),
    }
}

fn numbers<P>(groups: &ColumnGroups<'_>, which: Extreme) -> Result<Option<ArrayRef>>
where
    P: ArrowPrimitiveType<Native: JavaOrder>,
{
    let values = slices::<P>(groups.arrays)?;
    let nulls = Nulls::new(groups.arrays);
    let value = |(source, row): (usize, usize)| values[source][row];
    let found = match which {
        Extreme::Least => reduce(groups.rows, groups.ends, &nulls, value, |a, b| (Extreme::Least.of(a, b), false)),
        Extreme::Greatest => {
            reduce(groups.rows, groups.ends, &nulls, value, |a, b| (Extreme::Greatest.of(a, b), false))
        }
    };
    let Some((values, nulls)) = found else { return Ok(None) };
    let t = groups.arrays.first().map_or(P::DATA_TYPE, |array| array.data_type().clone());
    Ok(Some(Arc::new(PrimitiveArray::<P>::try_new(values.into(), nulls)?.with_data_type(t))))
}

fn booleans(groups: &ColumnGroups<'_>, which: Extreme) -> Option<ArrayRef> {
    let values: Vec<&BooleanBuffer> =
        groups.arrays.iter().map(|array| array.as_boolean_opt().map(BooleanArray::values)).collect::<Option<_>>()?;
    let nulls = Nulls::new(groups.arrays);
    let value = |(source, row): (usize, usize)| values[source].value(row);
    let add = |a: bool, b: bool| (which.of(a, b), false);
    let (values, nulls) = reduce(groups.rows, groups.ends, &nulls, value, add)?;
    Some(Arc::new(BooleanArray::new(values.into(), nulls)))
}
