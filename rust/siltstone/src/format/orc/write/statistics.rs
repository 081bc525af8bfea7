//! What a file says of a column's values.

use super::message::MessageWriter;
use crate::{
    predicate::ColumnBounds,
    row::{Datum, decimal_text},
    types::{DataType, TypeKind},
};

/// Longer texts are no bounds.
pub(super) const LONGEST_TEXT: usize = 1024;
/// 1582-10-15: before, Java's calendar is another one.
const GREGORIAN_MILLIS: i64 = -12_219_292_800_000;

/// The statistics of so many rows.
pub(super) fn message(bounds: &ColumnBounds, t: &DataType, rows: u64) -> MessageWriter {
    let nulls = bounds.null_count.and_then(|nulls| u64::try_from(nulls).ok()).unwrap_or(0);
    let mut out = counts(rows.saturating_sub(nulls), nulls > 0);
    if let Some((field, typed)) = typed(&bounds.min, &bounds.max, &t.kind) {
        out.message(field, &typed);
    }
    out
}

/// Of a column of which nothing else is known.
pub(super) fn counts(values: u64, has_null: bool) -> MessageWriter {
    let mut out = MessageWriter::default();
    out.number(1, values).number(10, u64::from(has_null));
    out
}

fn typed(min: &Datum, max: &Datum, kind: &TypeKind) -> Option<(u64, MessageWriter)> {
    let mut out = MessageWriter::default();
    let field = match (min, max) {
        (Datum::Float(_) | Datum::Double(_), _) => {
            doubles(double(min)?, double(max)?, &mut out);
            3
        }
        (Datum::String(min), Datum::String(max)) if min.len().max(max.len()) <= LONGEST_TEXT => {
            out.bytes(1, min.as_bytes()).bytes(2, max.as_bytes());
            4
        }
        (Datum::Decimal(min), Datum::Decimal(max)) => {
            let TypeKind::Decimal { scale, .. } = kind else { return None };
            out.bytes(1, decimal_text(*min, *scale).as_bytes()).bytes(2, decimal_text(*max, *scale).as_bytes());
            6
        }
        (Datum::Date(min), Datum::Date(max)) => {
            out.signed(1, i64::from(*min)).signed(2, i64::from(*max));
            7
        }
        (Datum::Timestamp { millis: min, .. }, Datum::Timestamp { millis: max, .. }) if *min >= GREGORIAN_MILLIS => {
            // without nanoseconds: a reader takes all of the millisecond in
            out.signed(3, *min).signed(4, *max);
            9
        }
        _ => {
            out.signed(1, integer(min)?).signed(2, integer(max)?);
            2
        }
    };
    Some((field, out))
}

/// A sum that is NaN tells readers to make nothing of the bounds.
fn doubles(min: f64, max: f64, out: &mut MessageWriter) {
    if max.is_nan() {
        out.double(1, max).double(2, max).double(3, max);
    } else {
        out.double(1, min).double(2, max);
    }
}

fn double(value: &Datum) -> Option<f64> {
    match value {
        Datum::Float(value) => Some(f64::from(*value)),
        Datum::Double(value) => Some(*value),
        _ => None,
    }
}

fn integer(value: &Datum) -> Option<i64> {
    match value {
        Datum::TinyInt(value) => Some(i64::from(*value)),
        Datum::SmallInt(value) => Some(i64::from(*value)),
        Datum::Int(value) | Datum::Time(value) => Some(i64::from(*value)),
        Datum::BigInt(value) => Some(*value),
        _ => None,
    }
}
