//! Numbers in predicates, exactly: decimal text to an integer at some scale, and beside a floating-point number.

use std::cmp::Ordering;

/// Decimal text at a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scaled {
    /// The value is exactly this many units.
    Exact(i128),
    /// The value lies strictly between this many units and one more.
    Between(i128),
    /// Above what an `i128` holds.
    TooLarge,
    /// Below what an `i128` holds.
    TooSmall,
}

/// `text` is `[+-]digits[.digits][e[+-]digits]`; `None` when it is not.
pub(super) fn scaled(text: &str, scale: u8) -> Option<Scaled> {
    let (negative, digits, exponent) = split(text.trim())?;
    let significant = digits.trim_start_matches('0');
    let shift = exponent.saturating_add(i64::from(scale));
    let (kept, dropped) = cut(significant, shift);
    let inexact = dropped.bytes().any(|d| d != b'0');
    let Some(units) = units(kept, shift) else {
        return Some(if negative { Scaled::TooSmall } else { Scaled::TooLarge });
    };
    let signed = if negative { -units } else { units };
    Some(match (inexact, negative) {
        (false, _) => Scaled::Exact(signed),
        (true, false) => Scaled::Between(signed),
        (true, true) => Scaled::Between(signed.saturating_sub(1)),
    })
}

/// The order of two numbers as they are written; `None` where one of them is none.
pub(super) fn order(a: &str, b: &str) -> Option<Ordering> {
    let (a, b) = (normal(a)?, normal(b)?);
    let size = (a.1, &a.2).cmp(&(b.1, &b.2));
    Some(a.0.cmp(&b.0).then(if a.0 < 0 { size.reverse() } else { size }))
}

/// -1, 0 or 1, and the power of ten and the digits of `0.digits`, which begin and end with another digit than zero.
fn normal(text: &str) -> Option<(i8, i64, String)> {
    let (negative, digits, last) = split(text.trim())?;
    let digits = digits.trim_start_matches('0');
    let power = last.saturating_add(i64::try_from(digits.len()).ok()?);
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() {
        return Some((0, 0, String::new()));
    }
    Some((if negative { -1 } else { 1 }, power, digits.to_owned()))
}

/// On which side of the number in `text` a FLOAT or DOUBLE lies that was parsed from it. Fractions may be rounded to
/// the nearest value, which is equal then, as in a write. What a write refuses lies beside: a whole number that became
/// another one, a number that became infinite or zero.
pub(crate) fn rounded(text: &str, value: f64) -> Ordering {
    let (negative, number) = sign(text.trim());
    let size = rounded_size(number, value.abs());
    if negative { size.reverse() } else { size }
}

fn rounded_size(number: &str, value: f64) -> Ordering {
    if value.is_infinite() {
        let is_finite = number.bytes().any(|b| b.is_ascii_digit());
        return if is_finite { Ordering::Greater } else { Ordering::Equal };
    }
    if value == 0.0 {
        let mantissa = number.split(['e', 'E']).next().unwrap_or(number);
        let is_zero = mantissa.bytes().all(|b| !matches!(b, b'1'..=b'9'));
        return if is_zero { Ordering::Equal } else { Ordering::Less };
    }
    if !number.bytes().all(|b| b.is_ascii_digit()) {
        return Ordering::Equal;
    }
    // all digits of the value, which is a whole number
    let (found, written) = (format!("{value:.0}"), number.trim_start_matches('0'));
    found.len().cmp(&written.len()).then_with(|| found.as_str().cmp(written))
}

/// Whether there is a minus, and what is behind the sign.
fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Sign, digits without the point, and the power of ten of the last digit.
fn split(text: &str) -> Option<(bool, String, i64)> {
    let (negative, body) = sign(text);
    let (mantissa, exponent) = match body.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
        None => (body, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let last = exponent.saturating_sub(i64::try_from(fraction.len()).ok()?);
    Some((negative, digits, last))
}

/// A power of ten; beyond any number that matters it is cut, not refused.
fn parse_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = sign(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let value = digits.parse::<i64>().unwrap_or(i64::MAX).min(1_000_000_000);
    Some(if negative { -value } else { value })
}

/// The digits at or above the unit, and those below it.
fn cut(digits: &str, shift: i64) -> (&str, &str) {
    let below = usize::try_from(shift.saturating_neg()).unwrap_or(0).min(digits.len());
    digits.split_at(digits.len() - below)
}

fn units(kept: &str, shift: i64) -> Option<i128> {
    if kept.is_empty() {
        return Some(0);
    }
    let value = kept.parse::<i128>().ok()?;
    match u32::try_from(shift.max(0)) {
        Ok(up) => value.checked_mul(10_i128.checked_pow(up)?),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering::{Equal, Greater, Less};

    use super::{Scaled, order, rounded, scaled};

    #[test]
    fn a_number_lies_on_a_unit_or_between_two() {
        assert_eq!(scaled("12", 0), Some(Scaled::Exact(12)));
        assert_eq!(scaled("1.50", 1), Some(Scaled::Exact(15)));
        assert_eq!(scaled("1.5", 0), Some(Scaled::Between(1)));
        assert_eq!(scaled("-1.5", 0), Some(Scaled::Between(-2)));
        assert_eq!(scaled("-0.0001", 2), Some(Scaled::Between(-1)));
        assert_eq!(scaled("1e3", 0), Some(Scaled::Exact(1000)));
        assert_eq!(scaled("12.5e-1", 2), Some(Scaled::Exact(125)));
        assert_eq!(scaled(".5", 1), Some(Scaled::Exact(5)));
        assert_eq!(scaled("000", 3), Some(Scaled::Exact(0)));
        assert_eq!(scaled("0e999999999999999999999", 3), Some(Scaled::Exact(0)));
    }

    #[test]
    fn a_number_beyond_every_type_still_compares() {
        assert_eq!(scaled("1e40", 0), Some(Scaled::TooLarge));
        assert_eq!(scaled("-1e999999999999", 0), Some(Scaled::TooSmall));
        assert_eq!(scaled("1e-999999999999", 0), Some(Scaled::Between(0)));
    }

    #[test]
    fn text_that_is_no_number_is_refused() {
        for text in ["", "-", "1.2.3", "abc", "1e", "0x10", "1 2", "e5", "."] {
            assert_eq!(scaled(text, 0), None, "{text}");
        }
    }

    /// A FLOAT column once took 16777217 for 16777216.
    #[test]
    fn a_parsed_float_lies_beside_a_number_that_it_cannot_stand_for() {
        let float = |text: &str| rounded(text, f64::from(text.parse::<f32>().unwrap()));
        let double = |text: &str| rounded(text, text.parse().unwrap());
        for (text, expected) in [
            ("0.1", Equal),
            ("16777216", Equal),
            ("0016777216", Equal),
            ("+1", Equal),
            ("0", Equal),
            ("-0.0e5", Equal),
            ("inf", Equal),
            ("NaN", Equal),
            ("16777217.0", Equal),
            ("16777217", Less),
            ("16777219", Greater),
            ("-16777217", Greater),
            ("1e39", Greater),
            ("-1e39", Less),
            ("1e-60", Less),
            ("-1e-60", Greater),
        ] {
            assert_eq!(float(text), expected, "{text}");
        }
        assert_eq!(double("9007199254740992"), Equal);
        assert_eq!(double("9007199254740993"), Less);
        assert_eq!(double("1e400"), Greater);
        assert_eq!(double("100000000000000000000"), Equal);
    }

    #[test]
    fn numbers_are_ordered_by_all_their_digits() {
        for (a, b, expected) in [
            ("1", "1.0", Some(Equal)),
            ("9007199254740993", "9007199254740992", Some(Greater)),
            ("-2", "-10", Some(Greater)),
            ("-1", "1", Some(Less)),
            ("0", "-0.00", Some(Equal)),
            ("12e1", "1.2E2", Some(Equal)),
            ("0.001", "0.01", Some(Less)),
            ("5", "0", Some(Greater)),
            ("1", "x", None),
        ] {
            assert_eq!(order(a, b), expected, "{a} {b}");
        }
    }
}
