//! Values as conditions compare them.

use std::{cmp::Ordering, sync::Arc};

use arrow_array::{
    ArrayRef, Float32Array, Float64Array,
    cast::AsArray,
    types::{Float32Type, Float64Type},
};
use arrow_schema::DataType as Arrow;

use crate::row::{Datum, ticks};

/// Order of two values of one type as predicates see it: NaN greatest, -0.0 equal to 0.0; `None` for null or
/// values of different types.
pub fn compare_values(a: &Datum, b: &Datum) -> Option<Ordering> {
    Some(match (a, b) {
        (Datum::Boolean(a), Datum::Boolean(b)) => a.cmp(b),
        (Datum::TinyInt(a), Datum::TinyInt(b)) => a.cmp(b),
        (Datum::SmallInt(a), Datum::SmallInt(b)) => a.cmp(b),
        (Datum::Int(a), Datum::Int(b)) | (Datum::Date(a), Datum::Date(b)) | (Datum::Time(a), Datum::Time(b)) => {
            a.cmp(b)
        }
        (Datum::BigInt(a), Datum::BigInt(b)) => a.cmp(b),
        (Datum::Float(a), Datum::Float(b)) => compare_floats(f64::from(*a), f64::from(*b)),
        (Datum::Double(a), Datum::Double(b)) => compare_floats(*a, *b),
        (Datum::Decimal(a), Datum::Decimal(b)) => a.cmp(b),
        (Datum::String(a), Datum::String(b)) => a.cmp(b),
        (Datum::Bytes(a), Datum::Bytes(b)) => a.cmp(b),
        (
            Datum::Timestamp { millis: a, nanos_of_milli: a_nanos },
            Datum::Timestamp { millis: b, nanos_of_milli: b_nanos },
        ) => (a, a_nanos).cmp(&(b, b_nanos)),
        _ => return None,
    })
}

fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Floats with one zero and one NaN, so that Arrow's total order is the order of predicates.
pub(crate) fn plain_floats(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        Arrow::Float32 => {
            let plain: Float32Array =
                array.as_primitive::<Float32Type>().unary(|v| if v.is_nan() { f32::NAN } else { v + 0.0 });
            Arc::new(plain)
        }
        Arrow::Float64 => {
            let plain: Float64Array =
                array.as_primitive::<Float64Type>().unary(|v| if v.is_nan() { f64::NAN } else { v + 0.0 });
            Arc::new(plain)
        }
        _ => Arc::clone(array),
    }
}

/// Values of types that are integers inside.
pub(super) fn as_integer(value: &Datum, data_type: &Arrow) -> Option<i64> {
    Some(match (value, data_type) {
        (Datum::TinyInt(v), Arrow::Int8) => i64::from(*v),
        (Datum::SmallInt(v), Arrow::Int16) => i64::from(*v),
        (Datum::Int(v), Arrow::Int32) | (Datum::Date(v), Arrow::Date32) | (Datum::Time(v), Arrow::Time32(_)) => {
            i64::from(*v)
        }
        (Datum::BigInt(v), Arrow::Int64) => *v,
        (Datum::Timestamp { millis, nanos_of_milli }, Arrow::Timestamp(unit, _)) => {
            ticks(*millis, *nanos_of_milli, *unit)?
        }
        _ => return None,
    })
}
