//! Values from text without rounding: where a text names what is deleted, its nearest neighbour is another value.

use super::{
    Datum,
    java_float::{double_text, float_text},
    parse::{datum_from_text, held_digits, is_whole_number, parse_decimal, rescale_half_up, truncate_timestamp},
    text::datum_to_text,
};
use crate::{
    error::{Error, ErrorKind, Result},
    types::{DataType, TypeKind},
};

const DAY_MILLIS: i64 = 86_400_000;

/// [`datum_from_text`], but a text that means a value between those of the type is an error.
///
/// A floating-point number is meant by its shortest text, as FLOAT or as DOUBLE, by the text that it is given, and by all of its
/// digits.
///
/// # Errors
/// `InvalidArgument`: no text of the type, or one that would be rounded or cut.
pub fn exact_datum_from_text(text: &str, data_type: &DataType) -> Result<Datum> {
    let rounded = datum_from_text(text, data_type)?;
    exact(text.trim(), &rounded, &data_type.kind).ok_or_else(|| {
        let nearest = datum_to_text(&rounded, data_type);
        Error::new(ErrorKind::InvalidArgument, format!("'{text}' is not a value of the type {}", data_type.kind))
            .hint(format!("the nearest value is {nearest}"))
    })
}

fn exact(text: &str, rounded: &Datum, kind: &TypeKind) -> Option<Datum> {
    match kind {
        TypeKind::Timestamp(precision) => exact_moment(text, *precision, TypeKind::Timestamp(9)),
        TypeKind::LocalZonedTimestamp(precision) => exact_moment(text, *precision, TypeKind::LocalZonedTimestamp(9)),
        _ => is_exact(text, rounded, kind).then(|| rounded.clone()),
    }
}

fn is_exact(text: &str, value: &Datum, kind: &TypeKind) -> bool {
    match (value, kind) {
        (Datum::Decimal(value), TypeKind::Decimal { scale, .. }) => is_exact_decimal(text, *value, i32::from(*scale)),
        (Datum::Float(value), _) => {
            let wide = f64::from(*value);
            is_number_of(text, wide, &[float_text(*value), format!("{value:e}"), format!("{wide:e}")])
        }
        (Datum::Double(value), _) => is_number_of(text, *value, &[double_text(*value), format!("{value:e}")]),
        (Datum::Date(days), _) => {
            let midnight = i64::from(*days).checked_mul(DAY_MILLIS);
            is_whole_number(text) || moment(text).is_some_and(|(millis, nanos)| Some(millis) == midnight && nanos == 0)
        }
        (Datum::Time(millis), _) => is_exact_time(text, i64::from(*millis)),
        _ => true,
    }
}

fn is_exact_decimal(text: &str, value: i128, scale: i32) -> bool {
    parse_decimal(text).is_some_and(|(unscaled, found)| rescale_half_up(value, scale, found) == Some(unscaled))
}

/// TIME holds milliseconds of the day, whatever its precision.
fn is_exact_time(text: &str, millis: i64) -> bool {
    if is_whole_number(text) {
        return (0..DAY_MILLIS).contains(&millis);
    }
    moment(&format!("1970-01-01 {text}")) == Some((millis, 0))
}

/// With all digits that are stored for a precision: those of a TIMESTAMP(1) are three.
fn exact_moment(text: &str, precision: u8, all_digits: TypeKind) -> Option<Datum> {
    let value = datum_from_text(text, &DataType::new(all_digits)).ok()?;
    let Datum::Timestamp { millis, nanos_of_milli } = value else { return None };
    (truncate_timestamp(millis, nanos_of_milli, held_digits(precision)) == value).then_some(value)
}

/// Milliseconds since 1970 and the nanoseconds on top, with all digits.
fn moment(text: &str) -> Option<(i64, i32)> {
    match datum_from_text(text, &DataType::new(TypeKind::Timestamp(9))) {
        Ok(Datum::Timestamp { millis, nanos_of_milli }) => Some((millis, nanos_of_milli)),
        _ => None,
    }
}

/// Whether a text is one of a number's own texts, in whatever form, or has all of its digits.
fn is_number_of(text: &str, value: f64, own: &[String]) -> bool {
    /// More digits than any number of 64 bits has.
    const ALL: usize = 800;
    if !value.is_finite() {
        // infinity and NaN have words; digits without end are a number that is too large
        return !text.bytes().any(|byte| byte.is_ascii_digit());
    }
    let Some(given) = digits_of(text) else { return false };
    let same = |own: &str| digits_of(own).as_ref() == Some(&given);
    own.iter().any(|own| same(own)) || same(&format!("{value:.ALL$e}"))
}

/// A decimal text as sign, digits without zeros around them, and the power of ten of the first digit.
fn digits_of(text: &str) -> Option<(bool, String, i64)> {
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent = exponent.parse::<i64>().ok()?;
    let (negative, number) = match number.strip_prefix('-') {
        Some(number) => (true, number),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    let zeros = i64::try_from(all.len() - digits.len()).ok()?;
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() {
        return Some((negative, String::new(), 0));
    }
    let power = exponent.checked_add(i64::try_from(whole.len()).ok()?)?.checked_sub(zeros)?;
    Some((negative, digits.to_owned(), power))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(text: &str, kind: TypeKind) -> Result<Datum> {
        exact_datum_from_text(text, &DataType::new(kind))
    }

    const DECIMAL: TypeKind = TypeKind::Decimal { precision: 5, scale: 2 };

    /// `truncate({"p": Decimal("1.005")})` removed the partition 1.01.
    #[test]
    fn what_would_be_rounded_or_cut_is_refused() {
        for (text, kind) in [
            ("1.005", DECIMAL),
            ("1.0000000000000000000000000000001", DECIMAL),
            ("1e-60", DECIMAL),
            ("16777217", TypeKind::Float),
            ("16777216.0000000001", TypeKind::Float),
            ("0.10000000001", TypeKind::Float),
            ("1e39", TypeKind::Float),
            ("1e-60", TypeKind::Float),
            ("9007199254740993", TypeKind::Double),
            ("1e400", TypeKind::Double),
            ("-1e-400", TypeKind::Double),
            ("2024-01-01 23:00:00", TypeKind::Date),
            ("2024-01-01 00:00:00.000000001", TypeKind::Date),
            ("2024-01-01 noon", TypeKind::Date),
            ("01:00:00.0009", TypeKind::Time(3)),
            ("-1", TypeKind::Time(3)),
            ("86400000", TypeKind::Time(3)),
            ("2024-01-01 00:00:00.0009", TypeKind::Timestamp(3)),
            ("2024-01-01 00:00:00.9", TypeKind::Timestamp(0)),
            ("1500", TypeKind::Timestamp(0)),
            ("2024-01-01 00:00:00.0000009", TypeKind::Timestamp(6)),
            ("2024-01-01 00:00:00.0009Z", TypeKind::LocalZonedTimestamp(3)),
        ] {
            let error = exact(text, kind.clone()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{text} as {kind}: {error}");
        }
    }

    #[test]
    fn every_form_of_a_value_is_that_value() {
        let at = |millis| Datum::Timestamp { millis, nanos_of_milli: 0 };
        for (text, kind, value) in [
            ("1.01", DECIMAL, Datum::Decimal(101)),
            (" 1.5000 ", DECIMAL, Datum::Decimal(150)),
            ("12e1", DECIMAL, Datum::Decimal(12_000)),
            ("1.0100000000000000000000000000000000000000000000", DECIMAL, Datum::Decimal(101)),
            ("-0.0", DECIMAL, Datum::Decimal(0)),
            ("0.1", TypeKind::Float, Datum::Float(0.1)),
            ("0.10000000149011612", TypeKind::Float, Datum::Float(0.1)),
            ("0.100000001490116119384765625", TypeKind::Float, Datum::Float(0.1)),
            ("+16777216.00", TypeKind::Float, Datum::Float(16_777_216.0)),
            ("1.6777216E7", TypeKind::Float, Datum::Float(16_777_216.0)),
            ("-inf", TypeKind::Float, Datum::Float(f32::NEG_INFINITY)),
            ("Infinity", TypeKind::Double, Datum::Double(f64::INFINITY)),
            (".1", TypeKind::Double, Datum::Double(0.1)),
            ("9007199254740992", TypeKind::Double, Datum::Double(9_007_199_254_740_992.0)),
            ("-0.0", TypeKind::Double, Datum::Double(-0.0)),
            ("1970-01-02", TypeKind::Date, Datum::Date(1)),
            ("1970-01-02 00:00:00", TypeKind::Date, Datum::Date(1)),
            ("-1", TypeKind::Date, Datum::Date(-1)),
            ("01:00", TypeKind::Time(0), Datum::Time(3_600_000)),
            ("01:00:00.500000", TypeKind::Time(0), Datum::Time(3_600_500)),
            ("3600500", TypeKind::Time(3), Datum::Time(3_600_500)),
            ("1970-01-01 00:00:00.010000", TypeKind::Timestamp(1), at(10)),
            ("1970-01-01T01:00:00+01:00", TypeKind::LocalZonedTimestamp(3), at(0)),
            ("abc", TypeKind::VarChar(3), Datum::String("abc".to_owned())),
        ] {
            assert_eq!(exact(text, kind.clone()).unwrap(), value, "{text} as {kind}");
        }
        assert!(matches!(exact("nan", TypeKind::Double).unwrap(), Datum::Double(v) if v.is_nan()));
    }

    /// The texts of values name those values.
    #[test]
    fn the_own_text_of_a_number_is_exact() {
        for bits in (0..=u32::MAX).step_by(104_729) {
            let value = f32::from_bits(bits);
            if value.is_finite() {
                for text in [value.to_string(), float_text(value), f64::from(value).to_string()] {
                    assert_eq!(exact(&text, TypeKind::Float).unwrap(), Datum::Float(value), "{text}");
                }
            }
        }
    }
}
