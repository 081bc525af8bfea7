//! Statistics of columns, as bounds of Paimon values.

use super::proto::Message;
use crate::{
    error::Result,
    predicate::ColumnBounds,
    row::Datum,
    types::{DataType, TypeKind},
};

/// What a file says of a column in a stripe.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ColumnStatistics {
    /// Values that are not null.
    pub(super) values: Option<u64>,
    pub(super) bounds: Bounds,
    /// Plain bytes of all texts.
    pub(super) text_bytes: u64,
}

/// Least and greatest value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Bounds {
    #[default]
    Unknown,
    Integers(i64, i64),
    Doubles(f64, f64),
    Texts(String, String),
    /// How many are true.
    Booleans(u64),
    Decimals(String, String),
    Days(i64, i64),
    /// Milliseconds of wall clocks.
    Times(i64, i64),
}

impl ColumnStatistics {
    pub(super) fn read(message: Message<'_>) -> Result<Self> {
        let mut read = Self::default();
        message.fields(|field, value| {
            match field {
                1 => read.values = Some(value.number()?),
                2 => read.bounds = pair(value.message()?, [1, 2], |v| v.signed(), Bounds::Integers)?,
                3 => read.bounds = pair(value.message()?, [1, 2], |v| v.double(), Bounds::Doubles)?,
                4 => {
                    let text = value.message()?;
                    let owned = |v: super::proto::Field<'_>| v.text().map(str::to_owned);
                    read.bounds = pair(text, [1, 2], owned, Bounds::Texts)?;
                    text.fields(|field, value| {
                        if field == 3 {
                            read.text_bytes = u64::try_from(value.signed()?).unwrap_or(0);
                        }
                        Ok(())
                    })?;
                }
                5 => {
                    let mut counts = Vec::new();
                    value
                        .message()?
                        .fields(|field, value| if field == 1 { value.numbers(&mut counts) } else { Ok(()) })?;
                    read.bounds = counts.first().map_or(Bounds::Unknown, |n| Bounds::Booleans(*n));
                }
                6 => {
                    let owned = |v: super::proto::Field<'_>| v.text().map(str::to_owned);
                    read.bounds = pair(value.message()?, [1, 2], owned, Bounds::Decimals)?;
                }
                7 => read.bounds = pair(value.message()?, [1, 2], |v| v.signed(), Bounds::Days)?,
                8 => value.message()?.fields(|field, value| {
                    if field == 1 {
                        read.text_bytes = u64::try_from(value.signed()?).unwrap_or(0);
                    }
                    Ok(())
                })?,
                9 => read.bounds = pair(value.message()?, [3, 4], |v| v.signed(), Bounds::Times)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(read)
    }

    /// Bounds of values of a type among so many rows.
    pub(super) fn column_bounds(&self, t: &DataType, rows: i64) -> ColumnBounds {
        let values = self.values.and_then(|values| i64::try_from(values).ok());
        let null_count = values.and_then(|values| rows.checked_sub(values)).filter(|nulls| *nulls >= 0);
        let (min, max) = self.datums(t, values).unwrap_or((Datum::Null, Datum::Null));
        ColumnBounds { min, max, null_count }
    }

    fn datums(&self, t: &DataType, values: Option<i64>) -> Option<(Datum, Datum)> {
        match &self.bounds {
            Bounds::Integers(min, max) => Some((integer(*min, &t.kind)?, integer(*max, &t.kind)?)),
            Bounds::Days(min, max) => match t.kind {
                TypeKind::Date => {
                    Some((Datum::Date(i32::try_from(*min).ok()?), Datum::Date(i32::try_from(*max).ok()?)))
                }
                _ => None,
            },
            // NaN is the greatest value, and may be there unseen
            Bounds::Doubles(min, max) if !min.is_nan() && !max.is_nan() => {
                let min = if *min == 0.0 { -0.0 } else { *min };
                match t.kind {
                    TypeKind::Double => Some((Datum::Double(min), Datum::Null)),
                    #[allow(clippy::cast_possible_truncation, reason = "a FLOAT that was widened")]
                    TypeKind::Float => Some((Datum::Float(min as f32), Datum::Null)),
                    _ => None,
                }
            }
            // bounds of CHAR are filled up with spaces
            Bounds::Texts(min, max) => match t.kind {
                TypeKind::VarChar(_) => Some((Datum::String(min.clone()), Datum::String(max.clone()))),
                _ => None,
            },
            Bounds::Booleans(trues) => {
                let trues = i64::try_from(*trues).ok()?;
                let values = values.filter(|values| *values > 0)?;
                matches!(t.kind, TypeKind::Boolean)
                    .then_some((Datum::Boolean(trues == values), Datum::Boolean(trues > 0)))
            }
            Bounds::Decimals(min, max) => match t.kind {
                TypeKind::Decimal { scale, .. } => {
                    Some((Datum::Decimal(unscaled(min, scale)?), Datum::Decimal(unscaled(max, scale)?)))
                }
                _ => None,
            },
            Bounds::Times(min, max) => match t.kind {
                // before, Java's calendar is another one
                TypeKind::Timestamp(_) if *min > -12_000_000_000_000 => Some((
                    Datum::Timestamp { millis: min.checked_sub(1000)?, nanos_of_milli: 0 },
                    Datum::Timestamp { millis: max.checked_add(1000)?, nanos_of_milli: 0 },
                )),
                _ => None,
            },
            Bounds::Unknown | Bounds::Doubles(..) => None,
        }
    }
}

fn pair<'a, T>(
    message: Message<'a>,
    places: [u64; 2],
    read: impl Fn(super::proto::Field<'a>) -> Result<T>,
    make: impl FnOnce(T, T) -> Bounds,
) -> Result<Bounds> {
    let (mut min, mut max) = (None, None);
    message.fields(|field, value| {
        if field == places[0] {
            min = Some(read(value)?);
        } else if field == places[1] {
            max = Some(read(value)?);
        }
        Ok(())
    })?;
    Ok(match (min, max) {
        (Some(min), Some(max)) => make(min, max),
        _ => Bounds::Unknown,
    })
}

fn integer(value: i64, kind: &TypeKind) -> Option<Datum> {
    Some(match kind {
        TypeKind::TinyInt => Datum::TinyInt(i8::try_from(value).ok()?),
        TypeKind::SmallInt => Datum::SmallInt(i16::try_from(value).ok()?),
        TypeKind::Int => Datum::Int(i32::try_from(value).ok()?),
        TypeKind::BigInt => Datum::BigInt(value),
        TypeKind::Time(_) => Datum::Time(i32::try_from(value).ok()?),
        _ => return None,
    })
}

/// `-12.5` at scale 2 is -1250; `None` when it is no such number.
fn unscaled(text: &str, scale: u8) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let zeros = usize::from(scale).checked_sub(fraction.len())?;
    format!("{whole}{fraction}{}", "0".repeat(zeros)).parse().ok()
}
