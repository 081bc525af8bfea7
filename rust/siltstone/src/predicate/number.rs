//! Numbers in predicates, exactly: decimal text to an integer at some scale.

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

/// Sign, digits without the point, and the power of ten of the last digit.
fn split(text: &str) -> Option<(bool, String, i64)> {
    let (negative, body) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
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
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
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
    use super::{Scaled, scaled};

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
}
