//! Footer statistics as bounds of Paimon values.

use std::cmp::Ordering;

use parquet::file::statistics::Statistics;

use crate::{
    predicate::ColumnBounds,
    row::{Datum, as_read, compare_datums},
    types::{DataType, TypeKind},
};

/// What the statistics of a column chunk say about a column of type `t`. Values that the type cannot have, NaN and
/// the ill-defined old form of text bounds give unknown bounds.
pub(crate) fn from_statistics(stats: &Statistics, t: &DataType) -> ColumnBounds {
    let null_count = stats.null_count_opt().and_then(|n| i64::try_from(n).ok());
    let old_text = stats.is_min_max_deprecated()
        && matches!(stats, Statistics::ByteArray(_) | Statistics::FixedLenByteArray(_) | Statistics::Int96(_));
    let bounds = if old_text { None } else { datums(stats, &t.kind) };
    let (min, max) = bounds.unwrap_or((Datum::Null, Datum::Null));
    ColumnBounds { min, max, null_count }
}

fn datums(stats: &Statistics, kind: &TypeKind) -> Option<(Datum, Datum)> {
    match stats {
        Statistics::Boolean(s) => Some((Datum::Boolean(*s.min_opt()?), Datum::Boolean(*s.max_opt()?))),
        Statistics::Int32(s) => Some((from_i32(*s.min_opt()?, kind)?, from_i32(*s.max_opt()?, kind)?)),
        Statistics::Int64(s) => Some((from_i64(*s.min_opt()?, kind)?, from_i64(*s.max_opt()?, kind)?)),
        Statistics::Float(s) => {
            float_bounds(f64::from(*s.min_opt()?), f64::from(*s.max_opt()?)).and_then(|(zero_min, zero_max)| {
                let min = if zero_min { -0.0 } else { *s.min_opt()? };
                let max = if zero_max { 0.0 } else { *s.max_opt()? };
                matches!(kind, TypeKind::Float).then_some((Datum::Float(min), Datum::Float(max)))
            })
        }
        Statistics::Double(s) => float_bounds(*s.min_opt()?, *s.max_opt()?).and_then(|(zero_min, zero_max)| {
            let min = if zero_min { -0.0 } else { *s.min_opt()? };
            let max = if zero_max { 0.0 } else { *s.max_opt()? };
            matches!(kind, TypeKind::Double).then_some((Datum::Double(min), Datum::Double(max)))
        }),
        Statistics::ByteArray(_) | Statistics::FixedLenByteArray(_) => {
            Some((from_bytes(stats.min_bytes_opt()?, kind)?, from_bytes(stats.max_bytes_opt()?, kind)?))
        }
        Statistics::Int96(_) => None,
    }
}

/// `None` when a bound is NaN; else whether min and max are zeros, whose signs writers do not agree on.
fn float_bounds(min: f64, max: f64) -> Option<(bool, bool)> {
    (!min.is_nan() && !max.is_nan()).then_some((min == 0.0, max == 0.0))
}

fn from_i32(v: i32, kind: &TypeKind) -> Option<Datum> {
    Some(match kind {
        TypeKind::TinyInt => Datum::TinyInt(i8::try_from(v).ok()?),
        TypeKind::SmallInt => Datum::SmallInt(i16::try_from(v).ok()?),
        TypeKind::Int => Datum::Int(v),
        TypeKind::Date => Datum::Date(v),
        TypeKind::Time(_) => Datum::Time(v),
        TypeKind::Decimal { .. } => Datum::Decimal(i128::from(v)),
        _ => return None,
    })
}

fn from_i64(v: i64, kind: &TypeKind) -> Option<Datum> {
    Some(match kind {
        TypeKind::BigInt => Datum::BigInt(v),
        TypeKind::Decimal { .. } => Datum::Decimal(i128::from(v)),
        TypeKind::Timestamp(0..=3) | TypeKind::LocalZonedTimestamp(0..=3) => {
            as_read(Datum::Timestamp { millis: v, nanos_of_milli: 0 }, kind)
        }
        TypeKind::Timestamp(4..=6) | TypeKind::LocalZonedTimestamp(4..=6) => Datum::Timestamp {
            millis: v.div_euclid(1000),
            nanos_of_milli: i32::try_from(v.rem_euclid(1000) * 1000).ok()?,
        },
        _ => return None,
    })
}

fn from_bytes(bytes: &[u8], kind: &TypeKind) -> Option<Datum> {
    Some(match kind {
        TypeKind::Char(_) | TypeKind::VarChar(_) => Datum::String(String::from_utf8(bytes.to_vec()).ok()?),
        TypeKind::Binary(_) | TypeKind::VarBinary(_) => Datum::Bytes(bytes.to_vec()),
        TypeKind::Decimal { .. } => Datum::Decimal(big_endian(bytes)?),
        _ => return None,
    })
}

/// Two's complement, most significant byte first.
fn big_endian(bytes: &[u8]) -> Option<i128> {
    let (first, length) = (bytes.first()?, bytes.len());
    let fill = if first & 0x80 == 0 { 0 } else { 0xFF };
    if length > 16 && bytes.iter().take(length - 16).any(|b| *b != fill) {
        return None;
    }
    let mut wide = [fill; 16];
    wide.iter_mut().rev().zip(bytes.iter().rev()).for_each(|(to, from)| *to = *from);
    Some(i128::from_be_bytes(wide))
}

/// Bounds of two row groups together; each comes with its number of rows.
pub(crate) fn merge(a: (ColumnBounds, i64), b: (ColumnBounds, i64)) -> ColumnBounds {
    let null_count = match (a.0.null_count, b.0.null_count) {
        (Some(x), Some(y)) => Some(x + y),
        _ => None,
    };
    let all_null = |(bounds, rows): &(ColumnBounds, i64)| bounds.null_count == Some(*rows);
    if all_null(&a) {
        return ColumnBounds { null_count, ..b.0 };
    }
    if all_null(&b) {
        return ColumnBounds { null_count, ..a.0 };
    }
    let pick = |x: Datum, y: Datum, keep: Ordering| {
        if x.is_null() || y.is_null() {
            Datum::Null
        } else if compare_datums(&x, &y) == keep {
            x
        } else {
            y
        }
    };
    ColumnBounds {
        min: pick(a.0.min, b.0.min, Ordering::Less),
        max: pick(a.0.max, b.0.max, Ordering::Greater),
        null_count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_of_any_width_are_sign_extended() {
        assert_eq!(big_endian(&[0xFF, 0x38]), Some(-200));
        assert_eq!(big_endian(&[0, 0, 1]), Some(1));
        assert_eq!(big_endian(&[0xFF; 20]), Some(-1));
        assert_eq!(big_endian(&[1; 20]), None);
        assert_eq!(big_endian(&[]), None);
    }

    /// Other programs keep fractions of a second in a TIMESTAMP(0); readers show whole seconds, rounded down.
    #[test]
    fn bounds_of_whole_seconds_are_rounded_as_the_values_are() {
        for kind in [TypeKind::Timestamp(0), TypeKind::LocalZonedTimestamp(0)] {
            let stored = Statistics::int64(Some(-1), Some(3_567), None, Some(0), false);
            let bounds = from_statistics(&stored, &DataType::new(kind));
            let at = |millis| Datum::Timestamp { millis, nanos_of_milli: 0 };
            assert_eq!((bounds.min, bounds.max), (at(-1_000), at(3_000)));
        }
        let stored = Statistics::int64(Some(-1), Some(3_567), None, Some(0), false);
        let bounds = from_statistics(&stored, &DataType::new(TypeKind::Timestamp(1)));
        assert_eq!(bounds.max, Datum::Timestamp { millis: 3_567, nanos_of_milli: 0 });
    }

    #[test]
    fn a_row_group_of_nulls_leaves_the_bounds_of_the_others() {
        let some = ColumnBounds { min: Datum::Int(1), max: Datum::Int(5), null_count: Some(0) };
        let nulls = ColumnBounds { min: Datum::Null, max: Datum::Null, null_count: Some(3) };
        let merged = merge((some.clone(), 4), (nulls, 3));
        assert_eq!(merged, ColumnBounds { null_count: Some(3), ..some });
    }

    #[test]
    fn an_unknown_bound_makes_the_whole_unknown() {
        let some = ColumnBounds { min: Datum::Int(1), max: Datum::Int(5), null_count: Some(0) };
        let unknown = ColumnBounds { min: Datum::Null, max: Datum::Null, null_count: Some(0) };
        let merged = merge((some, 4), (unknown, 3));
        assert_eq!((merged.min, merged.max, merged.null_count), (Datum::Null, Datum::Null, Some(0)));
    }

    #[test]
    fn nan_bounds_are_unknown_and_zeros_cover_both_signs() {
        let t = DataType::new(TypeKind::Double);
        let nan = Statistics::double(Some(1.0), Some(f64::NAN), None, Some(0), false);
        assert!(from_statistics(&nan, &t).max.is_null());
        let zeros = from_statistics(&Statistics::double(Some(0.0), Some(-0.0), None, Some(0), false), &t);
        let (Datum::Double(min), Datum::Double(max)) = (zeros.min, zeros.max) else { panic!("doubles") };
        assert!(min.is_sign_negative() && max.is_sign_positive());
    }
}
