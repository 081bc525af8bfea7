//! Literals that name their type: `DATE '2024-05-01'`, `CAST('1.5' AS DECIMAL(3, 1))`. The text must be a value of that type as it
//! is: nothing is cut or rounded.

use sqlparser::ast::{CharacterLength, DataType as SqlType, ExactNumberInfo};

use crate::{
    error::{Error, ErrorKind, Result, shorten},
    row::{datum_from_text, exact_datum_from_text},
    types::{DataType, TypeKind},
};

/// Fraction digits of a time whose type does not say how many.
const MOST_DIGITS: u8 = 9;
/// The DECIMAL that says nothing of its digits.
const PLAIN_DECIMAL: (u8, u8) = (10, 0);

/// What a literal that names its type is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Date,
    Time,
    Timestamp,
    Text,
    Number,
}

/// The family of a type that literals may name.
pub(crate) fn family(named: &SqlType) -> Option<Family> {
    use SqlType as T;
    Some(match named {
        T::Date => Family::Date,
        T::Time(..) => Family::Time,
        T::Timestamp(..) | T::Datetime(_) => Family::Timestamp,
        T::Custom(name, _) => {
            let name = name.to_string().to_ascii_lowercase();
            matches!(name.as_str(), "timestamp_ltz" | "timestamp_ntz").then_some(Family::Timestamp)?
        }
        T::Varchar(_) | T::Char(_) | T::String(_) | T::Text => Family::Text,
        T::TinyInt(_)
        | T::SmallInt(_)
        | T::Int(_)
        | T::Integer(_)
        | T::BigInt(_)
        | T::Float(_)
        | T::Double(_)
        | T::Decimal(_)
        | T::Numeric(_) => Family::Number,
        _ => return None,
    })
}

/// An error when the text has digits, letters or a time that its type does not have.
///
/// # Errors
/// `InvalidArgument`.
pub(crate) fn check_typed(named: &SqlType, text: &str) -> Result<()> {
    let is_one = match named {
        SqlType::Varchar(length) | SqlType::Char(length) => fits(text, length.as_ref()),
        _ => paimon_type(named).is_none_or(|wanted| is_value(text, &wanted)),
    };
    if is_one {
        return Ok(());
    }
    let text = format!("the text '{}' is not a value of the type {named}", shorten(text));
    Err(Error::new(ErrorKind::InvalidArgument, text)
        .hint("write it with the digits that the type has, or leave the type out"))
}

fn fits(text: &str, length: Option<&CharacterLength>) -> bool {
    match length {
        Some(CharacterLength::IntegerLength { length, .. }) => {
            usize::try_from(*length).is_ok_and(|length| text.chars().count() <= length)
        }
        _ => true,
    }
}

/// What is no text of a time at all is refused where its column is known.
fn is_value(text: &str, wanted: &DataType) -> bool {
    let is_exact = exact_datum_from_text(text, wanted).is_ok();
    if !matches!(wanted.kind, TypeKind::Date | TypeKind::Time(_) | TypeKind::Timestamp(_)) {
        return is_exact;
    }
    !text.trim().bytes().all(|b| b.is_ascii_digit()) && (is_exact || datum_from_text(text, wanted).is_err())
}

fn paimon_type(named: &SqlType) -> Option<DataType> {
    let digits = |given: &Option<u64>| given.and_then(|n| u8::try_from(n).ok()).unwrap_or(MOST_DIGITS).min(MOST_DIGITS);
    Some(DataType::new(match named {
        SqlType::Date => TypeKind::Date,
        SqlType::Time(given, _) => TypeKind::Time(digits(given)),
        SqlType::Timestamp(given, _) | SqlType::Datetime(given) => TypeKind::Timestamp(digits(given)),
        SqlType::TinyInt(_) => TypeKind::TinyInt,
        SqlType::SmallInt(_) => TypeKind::SmallInt,
        SqlType::Int(_) | SqlType::Integer(_) => TypeKind::Int,
        SqlType::BigInt(_) => TypeKind::BigInt,
        SqlType::Decimal(info) | SqlType::Numeric(info) => decimal(info)?,
        _ => return None,
    }))
}

fn decimal(info: &ExactNumberInfo) -> Option<TypeKind> {
    let small = |n: u64| u8::try_from(n).ok();
    let (precision, scale) = match info {
        ExactNumberInfo::None => PLAIN_DECIMAL,
        ExactNumberInfo::Precision(precision) => (small(*precision)?, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (small(*precision)?, u8::try_from(*scale).ok()?),
    };
    Some(TypeKind::Decimal { precision, scale })
}

#[cfg(test)]
mod tests {
    use super::super::parse_predicate;
    use crate::types::{DataField, DataType, TypeKind};

    /// `ts < DATE '2024-05-01 12:00:00'` once deleted rows of the morning.
    #[test]
    fn a_typed_literal_is_a_value_of_its_type() {
        let kinds = [TypeKind::Timestamp(3), TypeKind::Decimal { precision: 9, scale: 2 }, TypeKind::VarChar(20)];
        let fields: Vec<DataField> = kinds
            .into_iter()
            .zip(["t", "d", "s"])
            .zip(0..)
            .map(|((k, n), i)| DataField::new(i, n, DataType::new(k)))
            .collect();
        for good in [
            "t < DATE '2024-05-01'",
            "t < TIMESTAMP '2024-05-01 12:00:00.5'",
            "t < TIMESTAMP(1) '2024-05-01 12:00:00.5'",
            "d = CAST('1.5' AS DECIMAL(3, 1))",
            "d = CAST('2' AS INT)",
            "s = CAST('abc' AS VARCHAR(3))",
        ] {
            assert!(parse_predicate(good, &fields).is_ok(), "{good}");
        }
        for bad in [
            "t < DATE '2024-05-01 12:00:00'",
            "t < DATE '19000'",
            "t < TIMESTAMP(0) '2024-05-01 12:00:00.7'",
            "d = CAST('1.26' AS DECIMAL(3, 1))",
            "d = CAST('1.5' AS INT)",
            "s = CAST('abc' AS VARCHAR(2))",
        ] {
            assert!(parse_predicate(bad, &fields).is_err(), "{bad}");
        }
    }
}
