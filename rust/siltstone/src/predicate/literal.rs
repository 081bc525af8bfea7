//! A literal bound to the column it is compared with.
//!
//! A literal need not be a value of the column's type: `tinyint_column > 1000`, `int_column < 1.5`. Binding says
//! where it lies among the values of the type, and the comparison is rewritten so that it stays exact. Only fractions
//! beside FLOAT and DOUBLE columns are rounded first, as they are in a write.

use std::cmp::Ordering;

use arrow_schema::TimeUnit;

use super::{
    CompareOp, Predicate,
    moment::{Moment, parse_date, parse_time},
    number::{Scaled, rounded, scaled},
};
use crate::{
    cancel::Work,
    error::{Error, ErrorKind, Result},
    limits,
    row::{Datum, ticks},
    types::{DataField, DataType, TypeKind},
};

/// A literal as it was written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    /// NULL
    Null,
    /// TRUE, FALSE
    Boolean(bool),
    /// digits with sign, point and exponent
    Number(String),
    /// 'text'
    Text(String),
    /// X'0a1b'
    Bytes(Vec<u8>),
    /// DATE '...'
    Date(String),
    /// TIME '...'
    Time(String),
    /// TIMESTAMP '...'
    Timestamp(String),
}

/// Where a literal lies among the values of a type.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LiteralPosition {
    /// It is this value.
    At(Datum),
    /// It lies between this value and the next one.
    After(Datum),
    /// Above every value.
    Above,
    /// Below every value.
    Below,
}

/// The value of the column's type that a literal is; `None`: it is none.
pub(super) fn exact(field: &DataField, literal: &Literal) -> Result<Option<Datum>> {
    check_comparable(field)?;
    if *literal == Literal::Null {
        return Ok(None);
    }
    Ok(match place(literal, field)? {
        LiteralPosition::At(value) => Some(value),
        _ => None,
    })
}

/// `column op literal`, as a condition on rows (unknown counts as false).
pub(super) fn compare(field: &DataField, op: CompareOp, literal: &Literal) -> Result<Predicate> {
    check_comparable(field)?;
    if *literal == Literal::Null {
        return Ok(Predicate::Constant(false));
    }
    let column = field.name.clone();
    let place = place(literal, field)?;
    Ok(match (place, op) {
        (LiteralPosition::At(value), op) => Predicate::Compare { column, op, value },
        (_, CompareOp::Eq) => Predicate::Constant(false),
        (_, CompareOp::NotEq)
        | (LiteralPosition::Above, CompareOp::Lt | CompareOp::LtEq)
        | (LiteralPosition::Below, CompareOp::Gt | CompareOp::GtEq) => Predicate::IsNotNull(column),
        (LiteralPosition::After(value), CompareOp::Lt | CompareOp::LtEq) => {
            Predicate::Compare { column, op: CompareOp::LtEq, value }
        }
        (LiteralPosition::After(value), _) => Predicate::Compare { column, op: CompareOp::Gt, value },
        (LiteralPosition::Above | LiteralPosition::Below, _) => Predicate::Constant(false),
    })
}

/// `column [NOT] IN (literals)`, as a condition on rows.
pub(super) fn is_in(field: &DataField, literals: &[Literal], negated: bool) -> Result<Predicate> {
    check_comparable(field)?;
    if negated && literals.contains(&Literal::Null) {
        return Ok(Predicate::Constant(false));
    }
    let mut values = Vec::new();
    limits::ask(literals.len().saturating_mul(size_of::<Datum>()), "a list of values in a condition")?;
    limits::reserve(&mut values, literals.len(), "a list of values in a condition")?;
    let mut work = Work::default();
    for literal in literals.iter().filter(|l| **l != Literal::Null) {
        work.done(1)?;
        if let LiteralPosition::At(value) = place(literal, field)? {
            values.push(value);
        }
    }
    let column = field.name.clone();
    Ok(match (values.len(), negated) {
        (0, false) => Predicate::Constant(false),
        (0, true) => Predicate::IsNotNull(column),
        (1, _) => {
            let op = if negated { CompareOp::NotEq } else { CompareOp::Eq };
            Predicate::Compare { column, op, value: values.remove(0) }
        }
        _ => Predicate::In { column, values: values.into(), negated },
    })
}

/// `column [NOT] LIKE pattern`.
pub(super) fn like(field: &DataField, pattern: &Literal, escape: Option<char>, negated: bool) -> Result<Predicate> {
    if !matches!(field.data_type.kind, TypeKind::Char(_) | TypeKind::VarChar(_)) {
        return Err(mismatch(field, "LIKE works on CHAR, VARCHAR and STRING columns only"));
    }
    match pattern {
        Literal::Null => Ok(Predicate::Constant(false)),
        Literal::Text(text) => {
            Ok(Predicate::Like { column: field.name.clone(), pattern: text.clone(), escape, negated })
        }
        _ => Err(mismatch(field, "the pattern of LIKE must be a quoted text")),
    }
}

fn check_comparable(field: &DataField) -> Result<()> {
    if field.data_type.is_nested() || matches!(field.data_type.kind, TypeKind::Blob) {
        return Err(mismatch(field, "a column of a nested type can only be tested with IS NULL and IS NOT NULL"));
    }
    Ok(())
}

fn mismatch(field: &DataField, sentence: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, sentence).with("column", &field.name)
}

/// Where the literal lies among the values of the column's type.
pub(super) fn place(literal: &Literal, field: &DataField) -> Result<LiteralPosition> {
    let found = match &field.data_type.kind {
        TypeKind::Boolean => boolean(literal),
        TypeKind::TinyInt => integer(literal, |v| i8::try_from(v).ok().map(Datum::TinyInt)),
        TypeKind::SmallInt => integer(literal, |v| i16::try_from(v).ok().map(Datum::SmallInt)),
        TypeKind::Int => integer(literal, |v| i32::try_from(v).ok().map(Datum::Int)),
        TypeKind::BigInt => integer(literal, |v| i64::try_from(v).ok().map(Datum::BigInt)),
        TypeKind::Decimal { precision, scale } => decimal(literal, *precision, *scale),
        TypeKind::Float => float(literal),
        TypeKind::Double => double(literal),
        TypeKind::Char(_) | TypeKind::VarChar(_) => match literal {
            Literal::Text(text) => Some(LiteralPosition::At(Datum::String(text.clone()))),
            _ => None,
        },
        TypeKind::Binary(_) | TypeKind::VarBinary(_) => match literal {
            Literal::Bytes(bytes) => Some(LiteralPosition::At(Datum::Bytes(bytes.clone()))),
            _ => None,
        },
        TypeKind::Date => date(literal),
        TypeKind::Time(_) => time(literal),
        TypeKind::Timestamp(p) => timestamp(literal, *p, false),
        TypeKind::LocalZonedTimestamp(p) => timestamp(literal, *p, true),
        _ => None,
    };
    found.ok_or_else(|| does_not_fit(literal, field))
}

fn does_not_fit(literal: &Literal, field: &DataField) -> Error {
    let shown = match literal {
        Literal::Null => "NULL".to_owned(),
        Literal::Boolean(b) => b.to_string(),
        Literal::Number(n) => n.clone(),
        Literal::Text(t) => format!("'{t}'"),
        Literal::Bytes(_) => "a binary literal".to_owned(),
        Literal::Date(t) => format!("DATE '{t}'"),
        Literal::Time(t) => format!("TIME '{t}'"),
        Literal::Timestamp(t) => format!("TIMESTAMP '{t}'"),
    };
    mismatch(field, format!("{shown} cannot be compared with a column of this type")).hint(advice(&field.data_type))
}

fn advice(data_type: &DataType) -> &'static str {
    match &data_type.kind {
        TypeKind::Boolean => "write TRUE or FALSE",
        TypeKind::Char(_) | TypeKind::VarChar(_) => "write text in single quotes: 'abc'",
        TypeKind::Binary(_) | TypeKind::VarBinary(_) => "write bytes in hexadecimal: X'0a1b'",
        TypeKind::Date => "write a date as '2024-05-01'",
        TypeKind::Time(_) => "write a time as '12:30:00'",
        TypeKind::Timestamp(_) => "write a timestamp as '2024-05-01 12:30:00', without a time zone",
        TypeKind::LocalZonedTimestamp(_) => "write an instant as '2024-05-01 12:30:00' (UTC) or with an offset",
        _ => "write a number",
    }
}

fn number_text(literal: &Literal) -> Option<&str> {
    match literal {
        Literal::Number(text) | Literal::Text(text) => Some(text),
        _ => None,
    }
}

fn boolean(literal: &Literal) -> Option<LiteralPosition> {
    match literal {
        Literal::Boolean(value) => Some(LiteralPosition::At(Datum::Boolean(*value))),
        Literal::Text(text) if text.trim().eq_ignore_ascii_case("true") => {
            Some(LiteralPosition::At(Datum::Boolean(true)))
        }
        Literal::Text(text) if text.trim().eq_ignore_ascii_case("false") => {
            Some(LiteralPosition::At(Datum::Boolean(false)))
        }
        _ => None,
    }
}

fn integer(literal: &Literal, fit: impl Fn(i128) -> Option<Datum>) -> Option<LiteralPosition> {
    Some(whole(scaled(number_text(literal)?, 0)?, fit))
}

/// Places an integer number of units whose range `fit` knows.
fn whole(value: Scaled, fit: impl Fn(i128) -> Option<Datum>) -> LiteralPosition {
    let outside = |v: i128| if v < 0 { LiteralPosition::Below } else { LiteralPosition::Above };
    match value {
        Scaled::Exact(v) => fit(v).map_or_else(|| outside(v), LiteralPosition::At),
        Scaled::Between(v) => fit(v).map_or_else(|| outside(v), LiteralPosition::After),
        Scaled::TooLarge => LiteralPosition::Above,
        Scaled::TooSmall => LiteralPosition::Below,
    }
}

/// Decimals of so many digits or fewer are stored as 64 bits.
const LONG_DIGITS: u8 = 18;

fn decimal(literal: &Literal, precision: u8, scale: u8) -> Option<LiteralPosition> {
    // sums of up to 18 digits are kept although they have more digits than the column (aggregate `sum`)
    let limit = if precision <= LONG_DIGITS { 1 << 63 } else { 10_u128.checked_pow(u32::from(precision))? };
    let fit = |v: i128| (v.unsigned_abs() < limit).then_some(Datum::Decimal(v));
    Some(whole(scaled(number_text(literal)?, scale)?, fit))
}

/// The value nearest to a fraction stands for it: `f = 0.1` finds what a write makes of 0.1. A number that a write
/// refuses lies beside: see [`rounded`].
fn float(literal: &Literal) -> Option<LiteralPosition> {
    let text = number_text(literal)?.trim();
    let value: f32 = text.parse().ok()?;
    Some(match rounded(text, f64::from(value)) {
        Ordering::Equal => LiteralPosition::At(Datum::Float(value)),
        Ordering::Less => LiteralPosition::After(Datum::Float(value)),
        Ordering::Greater => LiteralPosition::After(Datum::Float(value.next_down())),
    })
}

/// As [`float`].
fn double(literal: &Literal) -> Option<LiteralPosition> {
    let text = number_text(literal)?.trim();
    let value: f64 = text.parse().ok()?;
    Some(match rounded(text, value) {
        Ordering::Equal => LiteralPosition::At(Datum::Double(value)),
        Ordering::Less => LiteralPosition::After(Datum::Double(value)),
        Ordering::Greater => LiteralPosition::After(Datum::Double(value.next_down())),
    })
}

fn date(literal: &Literal) -> Option<LiteralPosition> {
    let (Literal::Date(text) | Literal::Text(text) | Literal::Timestamp(text)) = literal else {
        return None;
    };
    if let Some(days) = parse_date(text) {
        return Some(LiteralPosition::At(Datum::Date(days)));
    }
    let moment = Moment::parse(text).filter(|m| m.offset.is_none())?;
    let days = i32::try_from(moment.seconds.div_euclid(86_400)).ok()?;
    let midnight = moment.seconds.rem_euclid(86_400) == 0 && moment.nanos == 0;
    Some(if midnight { LiteralPosition::At(Datum::Date(days)) } else { LiteralPosition::After(Datum::Date(days)) })
}

fn time(literal: &Literal) -> Option<LiteralPosition> {
    let (Literal::Time(text) | Literal::Text(text)) = literal else {
        return None;
    };
    let (seconds, nanos) = parse_time(text)?;
    let millis = Datum::Time(i32::try_from(seconds * 1000 + nanos / 1_000_000).ok()?);
    Some(if nanos % 1_000_000 == 0 { LiteralPosition::At(millis) } else { LiteralPosition::After(millis) })
}

/// A timestamp column holds whole seconds, milli-, micro- or nanoseconds, by its precision.
fn timestamp(literal: &Literal, precision: u8, zoned: bool) -> Option<LiteralPosition> {
    let (Literal::Timestamp(text) | Literal::Text(text) | Literal::Date(text)) = literal else {
        return None;
    };
    let moment = Moment::parse(text)?;
    if moment.offset.is_some() && !zoned {
        return None;
    }
    let seconds = moment.seconds.checked_sub(moment.offset.unwrap_or(0))?;
    let unit = match precision {
        0 => 1_000_000_000,
        1..=3 => 1_000_000,
        4..=6 => 1_000,
        _ => 1,
    };
    let kept = moment.nanos - moment.nanos % unit;
    let millis = seconds.checked_mul(1000)?.checked_add(kept / 1_000_000)?;
    let nanos_of_milli = i32::try_from(kept % 1_000_000).ok()?;
    if unit == 1 && ticks(millis, nanos_of_milli, TimeUnit::Nanosecond).is_none() {
        return Some(if millis < 0 { LiteralPosition::Below } else { LiteralPosition::Above });
    }
    let value = Datum::Timestamp { millis, nanos_of_milli };
    Some(if kept == moment.nanos { LiteralPosition::At(value) } else { LiteralPosition::After(value) })
}
