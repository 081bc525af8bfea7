//! Dates, times and timestamps to each other and to numbers. Local-zoned values pass through this machine's zone, as
//! Java uses its default zone.

use chrono::DateTime;

use super::{
    number::wrap_i32,
    value::{ValueCast, whole, wrong_value},
};
use crate::{
    env::{self, local_wall_clock},
    error::{Error, ErrorKind, Result},
    row::{Datum, truncate_timestamp},
    types::TypeKind,
};

const DAY: i64 = 86_400_000;

pub(super) fn value_cast(from: &TypeKind, to: &TypeKind) -> Option<ValueCast> {
    use TypeKind as K;
    Some(match (from, to) {
        (K::Timestamp(_) | K::LocalZonedTimestamp(_), K::Timestamp(_) | K::LocalZonedTimestamp(_)) => {
            timestamp_to_timestamp
        }
        // before 1970 Java rounds towards 1970 here: the last second of 1969 is on 1970-01-01
        (K::Timestamp(_), K::Date) => |v, _, _| date(millis(&v)? / DAY),
        (K::LocalZonedTimestamp(_), K::Date) => |v, from, _| date(local_millis(&v, from)?.div_euclid(DAY)),
        (K::Timestamp(_) | K::LocalZonedTimestamp(_), K::Time(_)) => |v, from, _| {
            let of_day = local_millis(&v, from)?.rem_euclid(DAY);
            i32::try_from(of_day).map(Datum::Time).map_err(|_| out_of_range())
        },
        // Java has no other numbers here; seconds, divided toward zero
        (K::Timestamp(_) | K::LocalZonedTimestamp(_), K::BigInt) => |v, _, _| Ok(Datum::BigInt(millis(&v)? / 1000)),
        (K::Timestamp(_) | K::LocalZonedTimestamp(_), K::Int) => |v, _, _| Ok(Datum::Int(wrap_i32(millis(&v)? / 1000))),
        (K::Int | K::BigInt, K::Timestamp(_)) => |v, _, _| Ok(at(whole(&v)?.wrapping_mul(1000))),
        // Java takes the local date and time of the instant as the value
        (K::Int | K::BigInt, K::LocalZonedTimestamp(_)) => {
            |v, _, _| Ok(at(local_wall_clock(whole(&v)?.wrapping_mul(1000))))
        }
        (K::Date, K::Timestamp(_)) => |v, _, _| Ok(at(date_millis(&v)?)),
        (K::Date, K::LocalZonedTimestamp(_)) => {
            |v, _, _| local_to_instant(&at(date_millis(&v)?)).ok_or_else(out_of_range)
        }
        (K::Time(_), K::Timestamp(_)) => |v, _, _| Ok(at(time_millis(&v)?)),
        (K::Time(_), K::LocalZonedTimestamp(_)) => {
            |v, _, _| local_to_instant(&at(time_millis(&v)?)).ok_or_else(out_of_range)
        }
        (K::Time(_), K::Time(_)) => |v, _, _| Ok(v),
        _ => return None,
    })
}

fn date(days: i64) -> Result<Datum> {
    i32::try_from(days).map(Datum::Date).map_err(|_| out_of_range())
}

fn at(millis: i64) -> Datum {
    Datum::Timestamp { millis, nanos_of_milli: 0 }
}

fn out_of_range() -> Error {
    Error::new(ErrorKind::SchemaMismatch, "a timestamp is out of the range of the type that its column became")
}

fn millis(value: &Datum) -> Result<i64> {
    match value {
        Datum::Timestamp { millis, .. } => Ok(*millis),
        other => Err(wrong_value(other)),
    }
}

fn date_millis(value: &Datum) -> Result<i64> {
    match value {
        Datum::Date(days) => Ok(i64::from(*days) * DAY),
        other => Err(wrong_value(other)),
    }
}

fn time_millis(value: &Datum) -> Result<i64> {
    match value {
        Datum::Time(millis) => Ok(i64::from(*millis)),
        other => Err(wrong_value(other)),
    }
}

/// Milliseconds of the date and time that a clock shows: a local-zoned value in this machine's zone.
fn local_millis(value: &Datum, from: &TypeKind) -> Result<i64> {
    let millis = millis(value)?;
    Ok(if matches!(from, TypeKind::LocalZonedTimestamp(_)) { local_wall_clock(millis) } else { millis })
}

/// The value as it is printed: a local-zoned one in this machine's zone.
pub(super) fn shown(value: Datum, from: &TypeKind) -> Datum {
    match value {
        Datum::Timestamp { millis, nanos_of_milli } if matches!(from, TypeKind::LocalZonedTimestamp(_)) => {
            Datum::Timestamp { millis: local_wall_clock(millis), nanos_of_milli }
        }
        other => other,
    }
}

/// The instant at which a clock in this machine's zone shows this date and time.
pub(super) fn local_to_instant(value: &Datum) -> Option<Datum> {
    let Datum::Timestamp { millis, nanos_of_milli } = value else {
        return None;
    };
    let clock = DateTime::from_timestamp_millis(*millis)?.naive_utc();
    Some(Datum::Timestamp { millis: env::local_to_instant(clock), nanos_of_milli: *nanos_of_milli })
}

/// Digits beyond the precision are cut; where that is coarser than milliseconds, Java cuts towards 1970.
fn truncate(millis: i64, nanos_of_milli: i32, precision: u8) -> Datum {
    match 3_u8.checked_sub(precision) {
        Some(digits @ 1..) => {
            let unit = 10_i64.pow(u32::from(digits));
            at(millis / unit * unit)
        }
        _ => truncate_timestamp(millis, nanos_of_milli, precision),
    }
}

/// Digits beyond the target's precision are cut.
fn timestamp_to_timestamp(value: Datum, from: &TypeKind, to: &TypeKind) -> Result<Datum> {
    let (local, zoned) =
        (|k: &TypeKind| matches!(k, TypeKind::Timestamp(_)), |k: &TypeKind| !matches!(k, TypeKind::Timestamp(_)));
    let value = if local(from) && zoned(to) {
        local_to_instant(&value).ok_or_else(out_of_range)?
    } else if zoned(from) && local(to) {
        shown(value, from)
    } else {
        value
    };
    match (value, to) {
        (Datum::Timestamp { millis, nanos_of_milli }, TypeKind::Timestamp(p) | TypeKind::LocalZonedTimestamp(p)) => {
            Ok(truncate(millis, nanos_of_milli, *p))
        }
        (other, _) => Err(wrong_value(&other)),
    }
}
