//! FLOAT and DOUBLE values as text, with the digits of Java up to 18.
//!
//! Directories of partitions are named by them. They read back as the same value, but are not always the fewest that do:
//! `4.9E-324`, `1.9999999999999998E23` for 2e23, `1.17549435E-38` of a FLOAT. (Java 19 and later writes the fewest, at least two.)
//!
//! A whole number below 2^63 is written in full, up to the decimal places that the binary digits of the type do not reach.
//! Of all others the digits are made one by one by division: the rest, ten times as large, is divided again, until it is so near
//! to nothing or to one more of the last digit that the digits mean this value and none of its neighbours.

use std::{cmp::Ordering, f64::consts::LOG10_2};

use division::Division;

mod division;
mod natural;

/// Explicit bits of a DOUBLE.
const FRACTION_BITS: u32 = 52;
const DOUBLE_PRECISION: u32 = 53;
const FLOAT_PRECISION: u32 = 24;

/// Java's `Double.toString`.
pub fn double_text(value: f64) -> String {
    let subnormal = value.is_subnormal();
    // they have as many digits as there are behind the leading zeros
    let precision = if subnormal { 64 - value.abs().to_bits().leading_zeros() } else { DOUBLE_PRECISION };
    text(value, precision)
}

/// Java's `Float.toString`.
pub fn float_text(value: f32) -> String {
    let subnormal = value.is_subnormal();
    let precision = if subnormal { 32 - value.abs().to_bits().leading_zeros() } else { FLOAT_PRECISION };
    text(f64::from(value), precision)
}

fn text(value: f64, precision: u32) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_infinite() {
        return format!("{sign}Infinity");
    }
    if value == 0.0 {
        return format!("{sign}0.0");
    }
    let parts = Parts::of(value, precision.cast_signed());
    let digits = match parts.whole() {
        Some(whole) => whole_digits(whole, &parts),
        None => divided_digits(&parts),
    };
    format!("{sign}{}", digits.placed())
}

/// A number above zero: `odd * 2^(exponent - width + 1)`, thus from `2^exponent` to twice that.
struct Parts {
    odd: u64,
    /// Binary digits of `odd`.
    width: i32,
    exponent: i32,
    /// Binary digits that the type holds of this value.
    precision: i32,
}

impl Parts {
    fn of(value: f64, precision: i32) -> Self {
        let bits = value.abs().to_bits();
        let (biased, fraction) = (bits >> FRACTION_BITS, bits & ((1 << FRACTION_BITS) - 1));
        let significand = if biased == 0 { fraction } else { fraction | 1 << FRACTION_BITS };
        let binary_digits = |number: u64| (u64::BITS - number.leading_zeros()).cast_signed();
        let lost = DOUBLE_PRECISION.cast_signed() - binary_digits(significand);
        let odd = significand >> significand.trailing_zeros().min(FRACTION_BITS);
        let exponent = i32::try_from(biased.max(1)).unwrap_or(0) - 1023 - lost;
        Self { odd, width: binary_digits(odd), exponent, precision }
    }

    /// The value, when it is a whole number below 2^63.
    fn whole(&self) -> Option<u64> {
        let shift = self.exponent + 1 - self.width;
        (shift >= 0 && self.exponent < 63).then(|| self.odd << shift)
    }
}

/// Decimal digits from 0 to 9, the first of which counts `10^exponent`.
struct Digits {
    all: Vec<u8>,
    exponent: i32,
}

impl Digits {
    /// Plain between 1e-3 and 1e7, scientific outside, always with a digit behind the point.
    fn placed(&self) -> String {
        let text: String = self.all.iter().map(|digit| char::from(b'0' + digit)).collect();
        let or_zero = |fraction: &str| if fraction.is_empty() { "0".to_owned() } else { fraction.to_owned() };
        let zeros = |count: u32| "0".repeat(usize::try_from(count).unwrap_or(0));
        match usize::try_from(self.exponent) {
            Ok(places) if places < 7 => {
                let padded = format!("{text:0<width$}", width = places + 1);
                let (whole, fraction) = padded.split_at(places + 1);
                format!("{whole}.{}", or_zero(fraction))
            }
            Err(_) if self.exponent >= -3 => format!("0.{}{text}", zeros(self.exponent.unsigned_abs() - 1)),
            _ => {
                let (first, rest) = text.split_at(1.min(text.len()));
                format!("{first}.{}E{}", or_zero(rest), self.exponent)
            }
        }
    }

    /// One more of the last digit. Places that become zero stay.
    fn round_up(&mut self) {
        for digit in self.all.iter_mut().rev() {
            if *digit < 9 {
                *digit += 1;
                return;
            }
            *digit = 0;
        }
        self.exponent += 1;
        if let Some(first) = self.all.first_mut() {
            *first = 1;
        }
    }

    fn last_is_odd(&self) -> bool {
        self.all.last().is_some_and(|digit| digit % 2 == 1)
    }
}

/// All digits but those below half of the last binary digit, which are rounded away.
fn whole_digits(whole: u64, parts: &Parts) -> Digits {
    let beyond = parts.exponent - parts.precision - 1;
    let cut = if beyond > 1 { (1_u64 << beyond).ilog10() } else { 0 };
    let unit = 10_u64.pow(cut);
    let up = cut > 0 && whole % unit >= unit / 2;
    let text = (whole / unit + u64::from(up)).to_string();
    let all = text.trim_end_matches('0').bytes().map(|byte| byte - b'0').collect();
    Digits { all, exponent: i32::try_from(text.len()).unwrap_or(0) + cut.cast_signed() - 1 }
}

fn divided_digits(parts: &Parts) -> Digits {
    let mut exponent = estimated_exponent(parts);
    let mut division = Division::new(parts, exponent);
    let mut step = division.next_digit();
    let mut all = Vec::new();
    if step.digit == 0 && !step.high {
        exponent -= 1;
    } else {
        all.push(step.digit);
    }
    // the scientific form has at least two digits
    let mut end = (-3..8).contains(&exponent) && (step.low || step.high);
    while !end {
        step = division.next_digit();
        all.push(step.digit);
        end = step.low || step.high;
    }
    let mut digits = Digits { all, exponent };
    // near to both the lower and the higher digit: the nearest, of two equally near the even one
    let is_higher = match division.rest_against_half() {
        _ if !step.low => true,
        Ordering::Less => false,
        Ordering::Equal => digits.last_is_odd(),
        Ordering::Greater => true,
    };
    if step.high && is_higher {
        digits.round_up();
    }
    digits
}

/// The decimal exponent by the tangent of the logarithm at 1.5: the right one, or one more.
fn estimated_exponent(parts: &Parts) -> i32 {
    let fraction = (parts.odd << (64 - parts.width) << 1) >> (64 - FRACTION_BITS);
    let significand = f64::from_bits(1023 << FRACTION_BITS | fraction);
    let log = (significand - 1.5) * 0.289_529_654 + 0.176_091_259 + f64::from(parts.exponent) * LOG10_2;
    #[expect(clippy::cast_possible_truncation, reason = "the exponent of a DOUBLE has three digits")]
    let exponent = log.floor() as i32;
    exponent
}

#[cfg(test)]
mod tests;
