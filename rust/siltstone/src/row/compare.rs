//! The order of keys: nulls first, texts and bytes unsigned, numbers by value.

use std::cmp::Ordering;

use super::{Datum, binary::split_arity, read::View};
use crate::{
    error::{Error, Result},
    types::DataType,
};

/// Key order of two values of one type: null first, strings and binaries as unsigned bytes, numbers by value,
/// floats as Java's `compare` (-0.0 before 0.0, NaN last).
pub fn compare_datums(a: &Datum, b: &Datum) -> Ordering {
    use Datum::{
        BigInt, Boolean, Bytes, Date, Decimal, Double, Float, Int, Nested, SmallInt, String, Time, Timestamp, TinyInt,
    };
    match (a, b) {
        (Boolean(a), Boolean(b)) => a.cmp(b),
        (TinyInt(a), TinyInt(b)) => a.cmp(b),
        (SmallInt(a), SmallInt(b)) => a.cmp(b),
        (Int(a), Int(b)) | (Date(a), Date(b)) | (Time(a), Time(b)) => a.cmp(b),
        (BigInt(a), BigInt(b)) => a.cmp(b),
        (Float(a), Float(b)) => compare_doubles(f64::from(*a), f64::from(*b)),
        (Double(a), Double(b)) => compare_doubles(*a, *b),
        (Decimal(a), Decimal(b)) => a.cmp(b),
        (String(a), String(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Bytes(a), Bytes(b)) | (Nested(a), Nested(b)) => a.cmp(b),
        (Timestamp { millis: a, nanos_of_milli: a_nanos }, Timestamp { millis: b, nanos_of_milli: b_nanos }) => {
            a.cmp(b).then(a_nanos.cmp(b_nanos))
        }
        (a, b) => rank(a).cmp(&rank(b)),
    }
}

/// Key order of two rows, column by column; a row that is the start of the other comes first.
pub fn compare_rows(a: &[Datum], b: &[Datum]) -> Ordering {
    let first = a.iter().zip(b).map(|(a, b)| compare_datums(a, b)).find(|o| o.is_ne());
    first.unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// Key order of two serialized rows.
pub fn compare_serialized(a: &[u8], b: &[u8], types: &[DataType]) -> Result<Ordering> {
    if a == b {
        return Ok(Ordering::Equal);
    }
    let (a, b) = (serialized_view(a, types)?, serialized_view(b, types)?);
    for (i, t) in types.iter().enumerate() {
        let order = compare_datums(&a.get(i, t)?, &b.get(i, t)?);
        if order.is_ne() {
            return Ok(order);
        }
    }
    Ok(Ordering::Equal)
}

fn serialized_view<'a>(serialized: &'a [u8], types: &[DataType]) -> Result<View<'a>> {
    let (arity, row) = split_arity(serialized)?;
    if arity != types.len() {
        let expected = format!("a row of {} columns", types.len());
        return Err(Error::corrupt("binary row", 0, expected, format!("{arity} columns")));
    }
    View::row(arity, row)
}

fn compare_doubles(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).filter(|o| o.is_ne()).unwrap_or_else(|| match (a.is_nan(), b.is_nan()) {
        (false, false) => b.is_sign_negative().cmp(&a.is_sign_negative()),
        (a, b) => a.cmp(&b),
    })
}

/// Order between values of different types, which one column does not hold: null first, the rest is arbitrary but
/// total.
fn rank(datum: &Datum) -> u8 {
    match datum {
        Datum::Null => 0,
        Datum::Boolean(_) => 1,
        Datum::TinyInt(_) => 2,
        Datum::SmallInt(_) => 3,
        Datum::Int(_) => 4,
        Datum::BigInt(_) => 5,
        Datum::Float(_) => 6,
        Datum::Double(_) => 7,
        Datum::Decimal(_) => 8,
        Datum::String(_) => 9,
        Datum::Bytes(_) => 10,
        Datum::Date(_) => 11,
        Datum::Time(_) => 12,
        Datum::Timestamp { .. } => 13,
        Datum::Nested(_) => 14,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_order_as_java_compares_them() {
        let order = [f64::NEG_INFINITY, -1.0, -0.0, 0.0, 1.0, f64::INFINITY, f64::NAN];
        for (i, a) in order.iter().enumerate() {
            for (j, b) in order.iter().enumerate() {
                assert_eq!(compare_datums(&Datum::Double(*a), &Datum::Double(*b)), i.cmp(&j), "{a} {b}");
            }
        }
    }

    #[test]
    fn null_comes_first_and_texts_compare_as_bytes() {
        assert_eq!(compare_datums(&Datum::Null, &Datum::String(String::new())), Ordering::Less);
        let (a, b) = (Datum::String("\u{e000}".into()), Datum::String("\u{10000}".into()));
        assert_eq!(compare_datums(&a, &b), Ordering::Less);
    }
}
