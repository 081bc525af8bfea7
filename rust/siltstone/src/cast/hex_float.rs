//! Hexadecimal floating-point numbers of texts, rounded once to the nearest number of the type, as Java's `parseDouble` and
//! `parseFloat` read them: `0x1.8p3` is 12.

/// A type of floating-point numbers.
#[derive(Clone, Copy)]
pub(super) struct Format {
    /// Digits of the significand, in bits.
    bits: i64,
    /// The power of two of the last bit of the smallest numbers.
    least: i64,
    /// The power of two from which on numbers are infinite.
    end: i64,
}

pub(super) const FLOAT: Format = Format { bits: 24, least: -149, end: 128 };
pub(super) const DOUBLE: Format = Format { bits: 53, least: -1074, end: 1024 };

/// Hexadecimal digits that are kept; others only say that there is more.
const KEPT: usize = 15;
/// Exponents beyond it are infinity or zero, however many digits there are.
const FAR: i64 = 1 << 40;

/// `[+-]0x[digits][.digits]p[+-]exponent`; `None` for other texts.
pub(super) fn parse(text: &str, format: Format) -> Option<f64> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let body = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X"))?;
    let (digits, exponent) = body.split_once(['p', 'P'])?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_hex = |digits: &str| digits.bytes().all(|b| b.is_ascii_hexdigit());
    (is_hex(whole) && is_hex(fraction) && whole.len() + fraction.len() > 0).then_some(())?;
    let power = exponent_of(exponent)?.saturating_sub(4 * i64::try_from(fraction.len()).ok()?);
    let size = rounded(&format!("{whole}{fraction}"), power, format)?;
    Some(if text.starts_with('-') { -size } else { size })
}

fn exponent_of(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then_some(())?;
    let size = digits.parse::<i64>().unwrap_or(FAR).min(FAR);
    Some(if text.starts_with('-') { -size } else { size })
}

/// The number nearest to `digits * 2^power`; of two the even one.
fn rounded(digits: &str, power: i64, format: Format) -> Option<f64> {
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(0.0);
    }
    let (kept, more) = digits.split_at(digits.len().min(KEPT));
    let (significand, power) =
        (u64::from_str_radix(kept, 16).ok()?, power.saturating_add(4 * i64::try_from(more.len()).ok()?));
    let is_more = more.bytes().any(|b| b != b'0');
    let length = i64::from(u64::BITS - significand.leading_zeros());
    // the power of two of the last bit that the result has
    let last = power.saturating_add(length - format.bits).max(format.least);
    if power.saturating_add(length) > format.end {
        return Some(f64::INFINITY);
    }
    let cut = last.saturating_sub(power);
    if cut > length {
        return Some(0.0);
    }
    let (value, last) = match u32::try_from(cut) {
        Ok(cut) if cut > 0 => (nearest(significand, cut, is_more), last),
        _ => (significand, power),
    };
    let result = scaled(value, last);
    Some(if result >= scaled(1, format.end) { f64::INFINITY } else { result })
}

/// `value / 2^cut`, rounded; `cut` is at most the number of its bits.
fn nearest(value: u64, cut: u32, is_more: bool) -> u64 {
    let half = 1_u64 << (cut - 1);
    let (kept, rest) = (value >> cut, value & (half | (half - 1)));
    let up = rest > half || (rest == half && (is_more || kept & 1 == 1));
    kept + u64::from(up)
}

/// `value * 2^power`, which a DOUBLE holds exactly, or infinity.
#[allow(clippy::cast_precision_loss, reason = "the value has at most 53 bits")]
fn scaled(value: u64, power: i64) -> f64 {
    const STEP: i64 = 512;
    let two = |power: i64| i32::try_from(power).map_or(f64::INFINITY, |power| 2_f64.powi(power));
    let (mut result, mut left) = (value as f64, power);
    while left.abs() > STEP {
        result *= two(STEP * left.signum());
        left -= STEP * left.signum();
    }
    result * two(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each is what `Double.parseDouble` gives.
    #[test]
    fn a_double_is_the_nearest_to_its_digits() {
        for (text, expected) in [
            ("0x1.8p3", 12.0),
            ("-0X.8P0", -0.5),
            ("+0xA.p+1", 20.0),
            ("0x0p99999999999999999999", 0.0),
            ("0x1p1023", 2_f64.powi(1023)),
            ("0x1p1024", f64::INFINITY),
            ("0x1.fffffffffffff8p1023", f64::INFINITY),
            ("0x1.fffffffffffff7ffp1023", f64::MAX),
            ("0x1p-1074", f64::from_bits(1)),
            ("0x1p-1075", 0.0),
            ("0x1.0000000000000000000000001p-1075", f64::from_bits(1)),
            ("0x3p-1075", f64::from_bits(2)),
            ("0x1p-99999999999999999999", 0.0),
            ("0x1p99999999999999999999", f64::INFINITY),
            ("0x1.00000000000008p0", 1.0),
            ("0x1.000000000000080000000001p0", 1.0 + f64::EPSILON),
            ("0x1.00000000000018p0", 1.0 + 2.0 * f64::EPSILON),
            ("0x0000000000000000000000000000123456789abcdefp0", 81_985_529_216_486_896.0),
        ] {
            assert_eq!(parse(text, DOUBLE), Some(expected), "{text}");
        }
        for text in ["0x1", "0x", "0xp1", "0x.p1", "0x1p", "0x1p+", "1p3", "0x1.1.1p3", "0xgp1", "0x1p1.5", "--0x1p1"] {
            assert_eq!(parse(text, DOUBLE), None, "{text}");
        }
    }

    /// Rounded by way of a DOUBLE it would be another number.
    #[test]
    fn a_float_is_rounded_once() {
        for (text, expected) in [
            ("0x1.000001p0", 1.0),
            ("0x1.0000010000000001p0", 1.0 + f64::from(f32::EPSILON)),
            ("0x1.000003p0", 1.0 + 2.0 * f64::from(f32::EPSILON)),
            ("0x1.fffffep127", f64::from(f32::MAX)),
            ("0x1.ffffffp127", f64::INFINITY),
            ("0x1p-149", f64::from(f32::from_bits(1))),
            ("0x1p-150", 0.0),
            ("0x1.8p-150", f64::from(f32::from_bits(1))),
        ] {
            assert_eq!(parse(text, FLOAT), Some(expected), "{text}");
        }
    }
}
