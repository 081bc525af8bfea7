//! Casts of single values between the remaining atomic types.

use super::{
    number::{double_to_float, long_to_double, wrap_i8, wrap_i16, wrap_i32, wrap_i64},
    text, time,
};
use crate::{
    error::{Error, ErrorKind, Result},
    row::{Datum, double_text, parse_decimal, rescale_half_up},
    types::{MAX_LENGTH, TypeKind},
};

/// A cast of one value that is not null.
pub(super) type ValueCast = fn(Datum, &TypeKind, &TypeKind) -> Result<Datum>;

/// The cast between two atomic types; `None` when there is none.
pub(super) fn value_cast(from: &TypeKind, to: &TypeKind) -> Option<ValueCast> {
    use TypeKind as K;
    Some(match (from, to) {
        (K::Char(_) | K::VarChar(_), K::Char(_) | K::VarChar(_)) => |v, _, to| Ok(text::fit(string(v)?, to)),
        (
            K::TinyInt | K::SmallInt | K::Int | K::BigInt | K::Float | K::Double | K::Boolean | K::Decimal { .. },
            K::Char(_) | K::VarChar(_),
        ) => |v, from, to| Ok(text::fit(text::of(&v, from), to)),
        (K::Date | K::Time(_) | K::Timestamp(_) | K::LocalZonedTimestamp(_), K::VarChar(MAX_LENGTH)) => {
            |v, from, to| Ok(text::fit(text::of(&time::shown(v, from), from), to))
        }
        (K::Binary(_) | K::VarBinary(_), K::Char(_) | K::VarChar(_)) => |v, _, _| text::from_bytes(v),
        (K::Char(_) | K::VarChar(_), K::Binary(_) | K::VarBinary(_)) => {
            |v, _, to| Ok(fit_bytes(string(v)?.into_bytes(), to))
        }
        (K::Binary(_) | K::VarBinary(_), K::Binary(_) | K::VarBinary(_)) => |v, _, to| match v {
            Datum::Bytes(bytes) => Ok(fit_bytes(bytes, to)),
            other => Err(wrong_value(&other)),
        },
        (
            K::Char(_) | K::VarChar(_),
            K::Boolean
            | K::TinyInt
            | K::SmallInt
            | K::Int
            | K::BigInt
            | K::Float
            | K::Double
            | K::Decimal { .. }
            | K::Date
            | K::Time(_)
            | K::Timestamp(_)
            | K::LocalZonedTimestamp(_),
        ) => |v, _, to| text::parse(&string(v)?, to),
        (K::Boolean, K::TinyInt | K::SmallInt | K::Int | K::BigInt | K::Float | K::Double | K::Decimal { .. }) => {
            |v, _, to| from_whole(i64::from(v == Datum::Boolean(true)), to)
        }
        (K::TinyInt | K::SmallInt | K::Int | K::BigInt, K::Boolean) => |v, _, _| Ok(Datum::Boolean(whole(&v)? != 0)),
        (K::TinyInt | K::SmallInt | K::Int | K::BigInt, K::Decimal { .. }) => |v, _, to| from_whole(whole(&v)?, to),
        (K::Float | K::Double, K::Decimal { .. }) => |v, _, to| real_to_decimal(&v, to),
        (K::Decimal { .. }, K::Decimal { .. }) => decimal_to_decimal,
        (K::Decimal { .. }, K::TinyInt | K::SmallInt | K::Int | K::BigInt | K::Float | K::Double) => decimal_to_number,
        _ => return time::value_cast(from, to),
    })
}

pub(super) fn wrong_value(value: &Datum) -> Error {
    Error::new(ErrorKind::Internal, format!("cannot cast the value {value:?}"))
}

fn string(value: Datum) -> Result<String> {
    match value {
        Datum::String(text) => Ok(text),
        other => Err(wrong_value(&other)),
    }
}

pub(super) fn whole(value: &Datum) -> Result<i64> {
    Ok(match value {
        Datum::TinyInt(v) => i64::from(*v),
        Datum::SmallInt(v) => i64::from(*v),
        Datum::Int(v) => i64::from(*v),
        Datum::BigInt(v) => *v,
        other => return Err(wrong_value(other)),
    })
}

/// A whole number as any number; a decimal that is too narrow for it gives null.
fn from_whole(v: i64, to: &TypeKind) -> Result<Datum> {
    Ok(match to {
        TypeKind::TinyInt => Datum::TinyInt(wrap_i8(v)),
        TypeKind::SmallInt => Datum::SmallInt(wrap_i16(v)),
        TypeKind::Int => Datum::Int(wrap_i32(v)),
        TypeKind::BigInt => Datum::BigInt(v),
        TypeKind::Float => Datum::Float(double_to_float(long_to_double(v))),
        TypeKind::Double => Datum::Double(long_to_double(v)),
        TypeKind::Decimal { precision, scale } => fit_decimal(i128::from(v), 0, *precision, *scale),
        _ => return Err(wrong_value(&Datum::BigInt(v))),
    })
}

/// A decimal of another form, rounded half up; null when it has too many digits.
pub(super) fn fit_decimal(unscaled: i128, from_scale: i32, precision: u8, scale: u8) -> Datum {
    let limit = 10_i128.checked_pow(u32::from(precision)).unwrap_or(i128::MAX);
    match rescale_half_up(unscaled, from_scale, i32::from(scale)) {
        Some(v) if v.unsigned_abs() < limit.unsigned_abs() => Datum::Decimal(v),
        _ => Datum::Null,
    }
}

fn decimal_to_decimal(value: Datum, from: &TypeKind, to: &TypeKind) -> Result<Datum> {
    match (value, from, to) {
        (Datum::Decimal(v), TypeKind::Decimal { scale: old, .. }, TypeKind::Decimal { precision, scale }) => {
            Ok(fit_decimal(v, i32::from(*old), *precision, *scale))
        }
        (other, ..) => Err(wrong_value(&other)),
    }
}

/// Java takes the decimal digits of the double, not its exact binary value.
fn real_to_decimal(value: &Datum, to: &TypeKind) -> Result<Datum> {
    let real = match value {
        Datum::Float(v) => f64::from(*v),
        Datum::Double(v) => *v,
        other => return Err(wrong_value(other)),
    };
    let TypeKind::Decimal { precision, scale } = to else {
        return Err(wrong_value(value));
    };
    if !real.is_finite() {
        return Err(Error::new(
            ErrorKind::SchemaMismatch,
            format!("{} has no value as DECIMAL({precision}, {scale})", double_text(real)),
        ));
    }
    // more digits than i128 holds are more than any DECIMAL holds
    Ok(match parse_decimal(&double_text(real)) {
        Some((unscaled, old)) => fit_decimal(unscaled, old, *precision, *scale),
        None => Datum::Null,
    })
}

fn decimal_to_number(value: Datum, from: &TypeKind, to: &TypeKind) -> Result<Datum> {
    let (Datum::Decimal(v), TypeKind::Decimal { precision, scale }) = (&value, from) else {
        return Err(wrong_value(&value));
    };
    let real = || decimal_to_double(*v, *precision, *scale);
    match to {
        TypeKind::Double => Ok(Datum::Double(real())),
        TypeKind::Float => Ok(Datum::Float(double_to_float(real()))),
        _ => {
            let unit = 10_i128.checked_pow(u32::from(*scale)).unwrap_or(i128::MAX);
            from_whole(wrap_i64(v / unit), to)
        }
    }
}

/// Up to 18 digits Java divides doubles; more digits are rounded once.
fn decimal_to_double(unscaled: i128, precision: u8, scale: u8) -> f64 {
    match i64::try_from(unscaled) {
        Ok(v) if precision <= 18 => long_to_double(v) / long_to_double(10_i64.pow(u32::from(scale))),
        _ => format!("{unscaled}e-{scale}").parse().unwrap_or(f64::NAN),
    }
}

/// BINARY(n) is cut or filled up with zeros, VARBINARY(n) cut.
fn fit_bytes(mut bytes: Vec<u8>, to: &TypeKind) -> Datum {
    if let TypeKind::Binary(n) | TypeKind::VarBinary(n) = to {
        let n = usize::try_from(*n).unwrap_or(usize::MAX);
        bytes.truncate(n);
        if matches!(to, TypeKind::Binary(length) if *length != MAX_LENGTH) {
            bytes.resize(n, 0);
        }
    }
    Datum::Bytes(bytes)
}
