//! Decimals and integers as DECIMAL(p, s), and decimals as integers, when they fit exactly.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Decimal128Array,
    cast::AsArray,
    types::{Decimal256Type, Int64Type},
};
use arrow_buffer::i256;
use arrow_cast::cast;
use arrow_schema::DataType as Arrow;

use super::{
    convert::{WHOLE, misfit, mismatch},
    place::ColumnPath,
};
use crate::{
    error::{ErrorKind, Result},
    types::DataType,
};

/// Rescales exactly: a digit that would be lost, or one too many before the point, is an error.
pub(super) fn convert_decimal(
    array: &ArrayRef,
    precision: u8,
    scale: u8,
    target: &DataType,
    place: &ColumnPath<'_>,
) -> Result<ArrayRef> {
    let from_scale = match array.data_type() {
        Arrow::Decimal32(_, s) | Arrow::Decimal64(_, s) | Arrow::Decimal128(_, s) | Arrow::Decimal256(_, s) => *s,
        t if t.is_integer() => 0,
        other => return Err(mismatch(place, target, other)),
    };
    let shift = i32::from(scale) - i32::from(from_scale);
    let limit = 10_i128.pow(u32::from(precision));
    let values = rescaled(array, shift, limit)?.map_err(|row| {
        misfit(ErrorKind::LengthExceeded, &widest(array), row, place, target)
            .hint(format!("the column holds {precision} digits, {scale} of them after the point"))
    })?;
    Ok(Arc::new(values.with_precision_and_scale(precision, i8::try_from(scale).unwrap_or_default())?))
}

/// Decimals without a fraction as integers of 64 bits.
pub(super) fn whole_decimals(array: &ArrayRef, target: &DataType, place: &ColumnPath<'_>) -> Result<ArrayRef> {
    let scale = match array.data_type() {
        Arrow::Decimal32(_, s) | Arrow::Decimal64(_, s) | Arrow::Decimal128(_, s) | Arrow::Decimal256(_, s) => *s,
        other => return Err(mismatch(place, target, other)),
    };
    let refused = |row| misfit(ErrorKind::SchemaMismatch, &widest(array), row, place, target).hint(WHOLE);
    let whole = rescaled(array, -i32::from(scale), i128::MAX)?.map_err(refused)?;
    let fits = whole.try_unary::<_, Int64Type, ()>(|v| i64::try_from(v).map_err(drop));
    fits.map(|integers| Arc::new(integers) as ArrayRef).map_err(|()| {
        let beyond = whole.iter().position(|v| v.is_some_and(|v| i64::try_from(v).is_err()));
        refused(beyond.unwrap_or_default())
    })
}

/// The unscaled values with `shift` digits more, below `limit`; else the first row that has another value then.
fn rescaled(array: &ArrayRef, shift: i32, limit: i128) -> Result<std::result::Result<Decimal128Array, usize>> {
    Ok(match array.data_type() {
        Arrow::Decimal256(..) => rescale_wide(array, shift, limit),
        Arrow::Decimal128(..) => rescale(array, shift, limit),
        Arrow::Decimal32(_, s) | Arrow::Decimal64(_, s) => {
            rescale(&cast(array, &Arrow::Decimal128(38, *s))?, shift, limit)
        }
        _ => rescale(&cast(array, &Arrow::Decimal128(38, 0))?, shift, limit),
    })
}

/// With all digits that 128 bits hold: arrow cuts a value with more digits than its type when it writes it as text.
fn widest(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        Arrow::Decimal128(_, scale) => {
            let values = array.as_primitive::<arrow_array::types::Decimal128Type>().clone();
            values.with_precision_and_scale(38, *scale).map_or_else(|_| Arc::clone(array), |wide| Arc::new(wide) as _)
        }
        _ => Arc::clone(array),
    }
}

fn rescale(array: &ArrayRef, shift: i32, limit: i128) -> std::result::Result<Decimal128Array, usize> {
    let array = array.as_primitive::<arrow_array::types::Decimal128Type>();
    let factor = 10_i128.checked_pow(shift.unsigned_abs());
    let convert = |v: i128| -> Option<i128> {
        let scaled = match factor {
            Some(f) if shift >= 0 => v.checked_mul(f)?,
            Some(f) => (v % f == 0).then_some(v / f)?,
            None => (v == 0).then_some(0)?,
        };
        (scaled > -limit && scaled < limit).then_some(scaled)
    };
    let first_bad = || array.iter().position(|v| v.is_some_and(|v| convert(v).is_none())).unwrap_or_default();
    array.try_unary::<_, _, ()>(|v| convert(v).ok_or(())).map_err(|()| first_bad())
}

fn rescale_wide(array: &ArrayRef, shift: i32, limit: i128) -> std::result::Result<Decimal128Array, usize> {
    let array = array.as_primitive::<Decimal256Type>();
    let factor = i256::from_i128(10).checked_pow(shift.unsigned_abs());
    let convert = |v: i256| -> Option<i128> {
        let scaled = match factor {
            Some(f) if shift >= 0 => v.checked_mul(f)?,
            Some(f) => {
                (v.checked_rem(f)? == i256::ZERO).then_some(())?;
                v.checked_div(f)?
            }
            None => (v == i256::ZERO).then_some(i256::ZERO)?,
        };
        scaled.to_i128().filter(|s| *s > -limit && *s < limit)
    };
    let first_bad = || array.iter().position(|v| v.is_some_and(|v| convert(v).is_none())).unwrap_or_default();
    array.try_unary::<_, _, ()>(|v| convert(v).ok_or(())).map_err(|()| first_bad())
}
