//! Hive's hash of one value, as `bucket-function.type=hive` uses it.

use crate::{
    error::{Error, ErrorKind, Result},
    row::Datum,
    types::{DataType, TypeKind},
};

/// The hash; timestamps and nested values have none.
pub(super) fn hive_hash(value: &Datum, data_type: &DataType) -> Result<i32> {
    Ok(match value {
        Datum::Null => 0,
        Datum::Boolean(v) => i32::from(*v),
        Datum::TinyInt(v) => i32::from(*v),
        Datum::SmallInt(v) => i32::from(*v),
        Datum::Int(v) | Datum::Date(v) | Datum::Time(v) => *v,
        Datum::BigInt(v) => fold(*v),
        Datum::Float(v) => java_bits_f32(*v),
        Datum::Double(v) => fold(java_bits_f64(*v)),
        Datum::String(v) => bytes_hash(v.as_bytes()),
        Datum::Bytes(v) => bytes_hash(v),
        Datum::Decimal(v) => match data_type.kind {
            TypeKind::Decimal { scale, .. } => decimal_hash(*v, i32::from(scale)),
            _ => decimal_hash(*v, 0),
        },
        Datum::Timestamp { .. } | Datum::Nested(_) => {
            let message = format!("the bucket function hive has no hash for the type {:?}", data_type.kind);
            return Err(Error::new(ErrorKind::UnsupportedType, message));
        }
    })
}

/// `(int) (v ^ v >>> 32)`
fn fold(v: i64) -> i32 {
    let folded = v ^ (v.cast_unsigned() >> 32).cast_signed();
    // the low half, as Java's cast takes it
    u32::try_from(folded & 0xffff_ffff).unwrap_or(0).cast_signed()
}

/// `Float.floatToIntBits`, negative zero as zero.
fn java_bits_f32(v: f32) -> i32 {
    match v {
        v if v.is_nan() => 0x7fc0_0000,
        0.0 => 0,
        v => v.to_bits().cast_signed(),
    }
}

/// `Double.doubleToLongBits`, negative zero as zero.
fn java_bits_f64(v: f64) -> i64 {
    match v {
        v if v.is_nan() => 0x7ff8_0000_0000_0000,
        0.0 => 0,
        v => v.to_bits().cast_signed(),
    }
}

fn bytes_hash(bytes: &[u8]) -> i32 {
    bytes.iter().fold(0i32, |hash, byte| hash.wrapping_mul(31).wrapping_add(i32::from(byte.cast_signed())))
}

/// `BigDecimal.hashCode` of the value without trailing zeros and without negative scale.
fn decimal_hash(mut unscaled: i128, mut scale: i32) -> i32 {
    while scale > 0 && unscaled % 10 == 0 {
        unscaled /= 10;
        scale -= 1;
    }
    big_integer_hash(unscaled).wrapping_mul(31).wrapping_add(scale)
}

/// `BigInteger.hashCode`: 32-bit words of the magnitude, then the sign.
fn big_integer_hash(v: i128) -> i32 {
    let magnitude = v.unsigned_abs().to_be_bytes();
    let (words, _) = magnitude.as_chunks::<4>();
    let hash = words.iter().fold(0i32, |hash, word| hash.wrapping_mul(31).wrapping_add(i32::from_be_bytes(*word)));
    if v < 0 { hash.wrapping_neg() } else { hash }
}
