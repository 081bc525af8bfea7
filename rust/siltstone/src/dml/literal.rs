//! Literals of new values, as values of a type: exactly, or refused as a write refuses the same value.

use std::cmp::Ordering;

use arrow_array::{ArrayRef, StringArray, UInt32Array, new_null_array};
use arrow_select::take::take;
use sqlparser::ast::{DataType as SqlType, Value};

use super::invalid;
use crate::{
    error::{Error, ErrorKind, Result, shorten},
    predicate::{Family, check_typed, family, rounded},
    row::{Datum, constant_array, datum_from_text, exact_datum_from_text, parse_decimal, rescale_half_up},
    types::{DataType, TypeKind, arrow_type},
    variant::from_json_texts,
};

/// Most digits of a DECIMAL.
const MAX_DIGITS: u8 = 38;

/// A number or text is kept as it was written.
#[derive(Clone, Debug)]
pub(super) enum Literal {
    Null,
    Text(String),
    Number(String),
    Bytes(Vec<u8>),
    /// DATE, TIMESTAMP
    Moment(String),
    /// TIME
    Time(String),
}

impl Literal {
    pub(super) fn new(value: &Value) -> Result<Self> {
        Ok(match value {
            Value::Null => Self::Null,
            Value::Number(text, _) => Self::Number(text.clone()),
            Value::Boolean(value) => Self::Text(value.to_string()),
            Value::SingleQuotedString(text) => Self::Text(text.clone()),
            Value::HexStringLiteral(hex) => {
                let bytes = crate::codec::from_hex(hex);
                Self::Bytes(bytes.ok_or_else(|| invalid(format!("X'{hex}' is not hexadecimal")))?)
            }
            other => return Err(invalid(format!("{other} is not a value"))),
        })
    }

    /// A literal that names its type, and is no value of others.
    pub(super) fn typed(named: &SqlType, value: &Value) -> Result<Self> {
        let Value::SingleQuotedString(text) = value else {
            return Err(invalid(format!("{value} is not a value of the type {named}")));
        };
        check_typed(named, text)?;
        Ok(match family(named) {
            Some(Family::Date | Family::Timestamp) => Self::Moment(text.clone()),
            Some(Family::Time) => Self::Time(text.clone()),
            Some(Family::Text) => Self::Text(text.clone()),
            Some(Family::Number) => Self::Number(text.clone()),
            None => return Err(invalid(format!("a literal of the type {named} cannot be a new value"))),
        })
    }

    /// `rows` times this value of the type.
    pub(super) fn array(&self, wanted: &DataType, rows: usize) -> Result<ArrayRef> {
        let datum = match self {
            Self::Null => return Ok(new_null_array(&arrow_type(wanted)?, rows)),
            Self::Text(json) | Self::Number(json) if wanted.kind == TypeKind::Variant => {
                let value = from_json_texts(&StringArray::from(vec![json.as_str()]));
                let value = value.map_err(|(_, e)| misfit(ErrorKind::SchemaMismatch, json, wanted).caused_by(e))?;
                return Ok(take(&value, &UInt32Array::from(vec![0; rows]), None)?);
            }
            // as the days since 1970 a number would be one
            Self::Number(text) if is_moment(&wanted.kind) => {
                return Err(misfit(ErrorKind::SchemaMismatch, text, wanted));
            }
            Self::Text(text) | Self::Number(text) => exact(text, wanted)?,
            Self::Moment(text) => match wanted.kind {
                TypeKind::Date | TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => exact(text, wanted)?,
                _ => return Err(invalid(format!("a date or timestamp is not a value of the type {wanted}"))),
            },
            Self::Time(text) => match wanted.kind {
                TypeKind::Time(_) => exact(text, wanted)?,
                _ => return Err(invalid(format!("a time is not a value of the type {wanted}"))),
            },
            Self::Bytes(bytes) => match wanted.kind {
                TypeKind::Binary(limit) | TypeKind::VarBinary(limit) => {
                    if usize::try_from(limit).is_ok_and(|limit| bytes.len() > limit) {
                        let size = format!("{} bytes", bytes.len());
                        return Err(misfit(ErrorKind::LengthExceeded, &size, wanted));
                    }
                    Datum::Bytes(bytes.clone())
                }
                _ => return Err(invalid(format!("bytes are not a value of the type {wanted}"))),
            },
        };
        constant_array(&datum, wanted, rows)
    }

    /// `rows` times this number, in the type that it has by itself.
    pub(super) fn number(&self, rows: usize) -> Result<ArrayRef> {
        match self {
            Self::Null => Ok(new_null_array(&arrow_type(&DataType::new(TypeKind::Int))?, rows)),
            Self::Text(text) | Self::Number(text) => self.array(&self.number_type(text)?, rows),
            Self::Bytes(_) | Self::Moment(_) | Self::Time(_) => {
                Err(invalid("bytes, dates and times cannot be computed with"))
            }
        }
    }

    /// As Spark SQL has it: INT or BIGINT, DECIMAL for a fraction and for more digits, DOUBLE for an exponent.
    fn number_type(&self, text: &str) -> Result<DataType> {
        let text = text.trim();
        let kind = if text.parse::<i32>().is_ok() {
            TypeKind::Int
        } else if text.parse::<i64>().is_ok() {
            TypeKind::BigInt
        } else if text.parse::<f64>().is_err() {
            return Err(invalid(format!("'{}' is not a number", shorten(text))));
        } else if text.bytes().any(|b| b.is_ascii_alphabetic()) {
            TypeKind::Double
        } else {
            let too_long = || {
                invalid(format!("the number {} has more than {MAX_DIGITS} digits", shorten(text)))
                    .hint("write it with an exponent to compute with a DOUBLE: 1.5e0")
            };
            return self.decimal_type().ok_or_else(too_long);
        };
        Ok(DataType::new(kind))
    }

    /// The DECIMAL that has just the digits of this number.
    fn decimal_type(&self) -> Option<DataType> {
        let (Self::Number(text) | Self::Text(text)) = self else {
            return None;
        };
        let (unscaled, found) = parse_decimal(text.trim())?;
        let scale = u8::try_from(found.max(0)).ok()?;
        let value = rescale_half_up(unscaled, found, i32::from(scale))?;
        let digits = value.unsigned_abs().checked_ilog10().map_or(1, |log| log + 1);
        let precision = u8::try_from(digits).ok()?.max(scale);
        (precision <= MAX_DIGITS).then(|| DataType::new(TypeKind::Decimal { precision, scale }))
    }
}

/// As a write says it: [`ErrorKind::SchemaMismatch`], or [`ErrorKind::LengthExceeded`] for DECIMAL, texts and bytes.
fn is_moment(kind: &TypeKind) -> bool {
    use TypeKind::{Date, LocalZonedTimestamp, Time, Timestamp};
    matches!(kind, Date | Time(_) | Timestamp(_) | LocalZonedTimestamp(_))
}

fn misfit(kind: ErrorKind, value: &str, wanted: &DataType) -> Error {
    Error::new(kind, format!("the value {} does not fit the type {wanted}", shorten(value)))
}

/// A text as a value of the type, which must have all of its digits. Only a fraction in FLOAT and DOUBLE is rounded.
fn exact(text: &str, wanted: &DataType) -> Result<Datum> {
    if !matches!(wanted.kind, TypeKind::Float | TypeKind::Double) {
        return exact_datum_from_text(text, wanted).map_err(|error| refused(error, text, wanted));
    }
    let value = datum_from_text(text, wanted)?;
    let side = match &value {
        Datum::Float(v) => rounded(text, f64::from(*v)),
        Datum::Double(v) => rounded(text, *v),
        _ => Ordering::Equal,
    };
    if side.is_eq() { Ok(value) } else { Err(misfit(ErrorKind::SchemaMismatch, text, wanted)) }
}

/// The error of a write where the text is a number or a time, but none of the type.
fn refused(error: Error, text: &str, wanted: &DataType) -> Error {
    match wanted.kind {
        TypeKind::Decimal { precision, scale } if is_number(text) => misfit(ErrorKind::LengthExceeded, text, wanted)
            .hint(format!("the column holds {precision} digits, {scale} of them after the point")),
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::Int | TypeKind::BigInt if is_number(text) => {
            Error::new(ErrorKind::SchemaMismatch, error.message())
        }
        TypeKind::Date | TypeKind::Time(_) | TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_)
            if datum_from_text(text, wanted).is_ok() =>
        {
            misfit(ErrorKind::SchemaMismatch, text, wanted)
        }
        _ => error,
    }
}

/// Whether the text is a number, not `inf`, `NaN` or a word.
fn is_number(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_digit()) && text.trim().parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(text: &str, kind: TypeKind) -> std::result::Result<Datum, ErrorKind> {
        exact(text, &DataType::new(kind)).map_err(|e| e.kind())
    }

    /// They were once rounded, cut or made infinite, where a write of the same value is refused.
    #[test]
    fn a_literal_that_its_type_does_not_hold_is_refused_as_a_write_refuses_it() {
        let cents = TypeKind::Decimal { precision: 5, scale: 2 };
        for (text, kind) in [("1.005", cents.clone()), ("1000", cents.clone()), ("1e50", cents)] {
            assert_eq!(outcome(text, kind), Err(ErrorKind::LengthExceeded), "{text}");
        }
        for (text, kind) in [
            ("1e39", TypeKind::Float),
            ("1e-60", TypeKind::Float),
            ("16777217", TypeKind::Float),
            ("9007199254740993", TypeKind::Double),
            ("1e400", TypeKind::Double),
            ("2024-01-01 00:00:00.9", TypeKind::Timestamp(0)),
            ("2024-01-01 00:00:00.0009", TypeKind::Timestamp(3)),
            ("2024-01-01 00:00:00.0000009", TypeKind::LocalZonedTimestamp(6)),
            ("12:00:00.0009", TypeKind::Time(3)),
            ("2024-01-01 23:00:00", TypeKind::Date),
            ("2024-01-01 nonsense", TypeKind::Date),
            ("128", TypeKind::TinyInt),
            ("1.5", TypeKind::Int),
        ] {
            assert_eq!(outcome(text, kind), Err(ErrorKind::SchemaMismatch), "{text}");
        }
        for (text, kind) in [("x", TypeKind::Int), ("x", TypeKind::Float), ("x", TypeKind::Date)] {
            assert_eq!(outcome(text, kind), Err(ErrorKind::InvalidArgument), "{text}");
        }
    }

    #[test]
    fn a_literal_that_its_type_holds_is_taken_with_all_its_digits() {
        let cents = TypeKind::Decimal { precision: 5, scale: 2 };
        let at = |millis, nanos_of_milli| Datum::Timestamp { millis, nanos_of_milli };
        for (text, kind, expected) in [
            ("1.2500", cents.clone(), Datum::Decimal(125)),
            ("1e2", cents.clone(), Datum::Decimal(10_000)),
            ("-999.99", cents, Datum::Decimal(-99_999)),
            ("0.1", TypeKind::Float, Datum::Float(0.1)),
            ("16777216", TypeKind::Float, Datum::Float(16_777_216.0)),
            ("0", TypeKind::Double, Datum::Double(0.0)),
            ("inf", TypeKind::Double, Datum::Double(f64::INFINITY)),
            ("1970-01-01 00:00:01", TypeKind::Timestamp(0), at(1000, 0)),
            ("1969-12-31 23:59:59.999999999", TypeKind::Timestamp(9), at(-1, 999_999)),
            ("12:00:00.009", TypeKind::Time(3), Datum::Time(43_200_009)),
            ("5", TypeKind::Time(3), Datum::Time(5)),
            ("1970-01-02 00:00:00", TypeKind::Date, Datum::Date(1)),
            ("19000", TypeKind::Date, Datum::Date(19_000)),
            ("-128", TypeKind::TinyInt, Datum::TinyInt(-128)),
        ] {
            assert_eq!(outcome(text, kind), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_decimal_has_the_digits_of_its_number() {
        let of = |text: &str| Literal::Number(text.to_owned()).decimal_type().map(|t| t.kind);
        let decimal = |precision, scale| Some(TypeKind::Decimal { precision, scale });
        assert_eq!(of("1.105"), decimal(4, 3));
        assert_eq!(of("0.005"), decimal(3, 3));
        assert_eq!(of("0"), decimal(1, 0));
        assert_eq!(of("-1e3"), decimal(4, 0));
        assert_eq!(of("1e-40"), None);
        assert_eq!(of("x"), None);
    }
}
