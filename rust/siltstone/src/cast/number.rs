//! Numbers to numbers, whole arrays at a time, as Java's primitive conversions do it.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "Java's narrowing is the definition: integers wrap, floats saturate"
)]

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray,
    cast::AsArray,
    types::{Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type},
};
use arrow_schema::DataType as Arrow;

use crate::types::TypeKind;

/// A number on its way from one primitive type to another.
#[derive(Clone, Copy)]
enum Number {
    Whole(i64),
    Single(f32),
    Real(f64),
}

impl Number {
    fn to_i64(self) -> i64 {
        match self {
            Self::Whole(v) => v,
            Self::Single(v) => v as i64,
            Self::Real(v) => v as i64,
        }
    }

    /// Floats go to the narrow types by way of INT.
    fn to_i32(self) -> i32 {
        match self {
            Self::Whole(v) => v as i32,
            Self::Single(v) => v as i32,
            Self::Real(v) => v as i32,
        }
    }

    fn to_f32(self) -> f32 {
        match self {
            Self::Whole(v) => v as f32,
            Self::Single(v) => v,
            Self::Real(v) => v as f32,
        }
    }

    fn to_f64(self) -> f64 {
        match self {
            Self::Whole(v) => v as f64,
            Self::Single(v) => f64::from(v),
            Self::Real(v) => v,
        }
    }
}

/// The cast array when both types are primitive numbers.
pub(super) fn cast_numbers(array: &ArrayRef, from: &TypeKind, to: &TypeKind) -> Option<ArrayRef> {
    let primitive = |kind: &TypeKind| {
        matches!(
            kind,
            TypeKind::TinyInt
                | TypeKind::SmallInt
                | TypeKind::Int
                | TypeKind::BigInt
                | TypeKind::Float
                | TypeKind::Double
        )
    };
    if !primitive(from) || !primitive(to) {
        return None;
    }
    match array.data_type() {
        Arrow::Int8 => from_numbers(array.as_primitive::<Int8Type>(), to, |v| Number::Whole(i64::from(v))),
        Arrow::Int16 => from_numbers(array.as_primitive::<Int16Type>(), to, |v| Number::Whole(i64::from(v))),
        Arrow::Int32 => from_numbers(array.as_primitive::<Int32Type>(), to, |v| Number::Whole(i64::from(v))),
        Arrow::Int64 => from_numbers(array.as_primitive::<Int64Type>(), to, Number::Whole),
        Arrow::Float32 => from_numbers(array.as_primitive::<Float32Type>(), to, Number::Single),
        Arrow::Float64 => from_numbers(array.as_primitive::<Float64Type>(), to, Number::Real),
        _ => None,
    }
}

fn from_numbers<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    to: &TypeKind,
    number: impl Fn(T::Native) -> Number,
) -> Option<ArrayRef> {
    Some(match to {
        TypeKind::TinyInt => Arc::new(array.unary::<_, Int8Type>(|v| number(v).to_i32() as i8)),
        TypeKind::SmallInt => Arc::new(array.unary::<_, Int16Type>(|v| number(v).to_i32() as i16)),
        TypeKind::Int => Arc::new(array.unary::<_, Int32Type>(|v| number(v).to_i32())),
        TypeKind::BigInt => Arc::new(array.unary::<_, Int64Type>(|v| number(v).to_i64())),
        TypeKind::Float => Arc::new(array.unary::<_, Float32Type>(|v| number(v).to_f32())),
        TypeKind::Double => Arc::new(array.unary::<_, Float64Type>(|v| number(v).to_f64())),
        _ => return None,
    })
}

/// Java's `(byte)`, `(short)`, `(int)` of a long.
pub(super) fn wrap_i8(v: i64) -> i8 {
    v as i8
}

/// See [`wrap_i8`].
pub(super) fn wrap_i16(v: i64) -> i16 {
    v as i16
}

/// See [`wrap_i8`].
pub(super) fn wrap_i32(v: i64) -> i32 {
    v as i32
}

/// Java's `BigInteger.longValue()`.
pub(super) fn wrap_i64(v: i128) -> i64 {
    v as i64
}

/// Java's `(double)` of a long.
pub(super) fn long_to_double(v: i64) -> f64 {
    v as f64
}

/// Java's `(float)` of a double.
pub(super) fn double_to_float(v: f64) -> f32 {
    v as f32
}
