//! Values from text: predicate literals, partition specifications, default values.

use super::{Datum, calendar::days_from_civil};
use crate::{
    error::{Error, ErrorKind, Result},
    types::{DataType, MAX_LENGTH, TypeKind},
};

const DAY_MILLIS: i64 = 86_400_000;

/// The value that a text means, by Java's rules for casting from text: `t`, `yes`, `1` are true; whole numbers are
/// days (DATE), milliseconds of the day (TIME) or milliseconds since 1970 (TIMESTAMP); a decimal is rounded half up
/// to its scale. A text that Java would turn into null (a decimal with too many digits) is an error.
pub fn datum_from_text(text: &str, data_type: &DataType) -> Result<Datum> {
    parse(text, data_type).map_err(|problem| match problem {
        Problem::Form(expected) => {
            let message = format!("'{text}' is not {expected}");
            Error::new(ErrorKind::InvalidArgument, message)
        }
        Problem::Other(error) => error,
    })
}

enum Problem {
    /// The text is not of this form.
    Form(&'static str),
    Other(Error),
}

fn parse(text: &str, data_type: &DataType) -> std::result::Result<Datum, Problem> {
    let trimmed = text.trim();
    Ok(match &data_type.kind {
        TypeKind::Char(n) | TypeKind::VarChar(n) => {
            check_length(text.chars().count(), *n, "characters").map_err(Problem::Other)?;
            Datum::String(text.to_owned())
        }
        TypeKind::Binary(n) | TypeKind::VarBinary(n) => {
            check_length(text.len(), *n, "bytes").map_err(Problem::Other)?;
            Datum::Bytes(text.as_bytes().to_vec())
        }
        TypeKind::Boolean => Datum::Boolean(parse_boolean(trimmed).ok_or(Problem::Form("true or false"))?),
        TypeKind::TinyInt => Datum::TinyInt(trimmed.parse().map_err(|_| Problem::Form("a TINYINT (-128 to 127)"))?),
        TypeKind::SmallInt => {
            Datum::SmallInt(trimmed.parse().map_err(|_| Problem::Form("a SMALLINT (-32768 to 32767)"))?)
        }
        TypeKind::Int => Datum::Int(trimmed.parse().map_err(|_| Problem::Form("an INT (whole number of 32 bits)"))?),
        TypeKind::BigInt => {
            Datum::BigInt(trimmed.parse().map_err(|_| Problem::Form("a BIGINT (whole number of 64 bits)"))?)
        }
        TypeKind::Float => Datum::Float(trimmed.parse().map_err(|_| Problem::Form("a number"))?),
        TypeKind::Double => Datum::Double(trimmed.parse().map_err(|_| Problem::Form("a number"))?),
        TypeKind::Decimal { precision, scale } => {
            let rescaled = rounded_decimal(trimmed, i32::from(*scale)).ok_or(Problem::Form("a decimal number"))?;
            let fits = rescaled.filter(|v| v.unsigned_abs() < 10u128.pow(u32::from(*precision).min(38)));
            Datum::Decimal(fits.ok_or_else(|| {
                let message = format!("'{text}' does not fit DECIMAL({precision}, {scale})");
                Problem::Other(Error::new(ErrorKind::InvalidArgument, message))
            })?)
        }
        TypeKind::Date => Datum::Date(parse_date(trimmed).ok_or(Problem::Form("a date (yyyy-MM-dd)"))?),
        TypeKind::Time(_) => Datum::Time(parse_time(trimmed).ok_or(Problem::Form("a time (HH:mm:ss[.fff])"))?),
        TypeKind::Timestamp(p) => {
            let form = Problem::Form("a timestamp (yyyy-MM-dd HH:mm:ss[.fraction], without zone)");
            parse_timestamp(trimmed, *p, false).ok_or(form)?
        }
        TypeKind::LocalZonedTimestamp(p) => {
            let form = Problem::Form("a timestamp (yyyy-MM-dd HH:mm:ss[.fraction][Z or +hh:mm]; UTC without zone)");
            parse_timestamp(trimmed, *p, true).ok_or(form)?
        }
        kind => return Err(Problem::Other(Error::unsupported(format!("a literal of the type {kind:?}")))),
    })
}

fn check_length(found: usize, limit: u32, unit: &str) -> Result<()> {
    if limit == MAX_LENGTH || found <= limit as usize {
        return Ok(());
    }
    let message = format!("a value of {found} {unit} is longer than the {limit} {unit} of its type");
    Err(Error::new(ErrorKind::LengthExceeded, message))
}

fn parse_boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "t" | "true" | "y" | "yes" | "1" => Some(true),
        "f" | "false" | "n" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// The parts of a decimal text, with or without exponent.
struct DecimalText<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    exponent: i32,
}

impl<'a> DecimalText<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (negative, digits) = match number.as_bytes().first()? {
            b'-' => (true, number.get(1..)?),
            b'+' => (false, number.get(1..)?),
            _ => (false, number),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let digits =
            whole.len() + fraction.len() > 0 && whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit());
        let scale = i32::try_from(fraction.len()).ok().and_then(|digits| digits.checked_sub(exponent));
        (digits && scale.is_some()).then_some(Self { negative, whole, fraction, exponent })
    }
}

/// Unscaled value and scale of a decimal text, with or without exponent, exactly; `None` when it is none or has more
/// digits than an `i128`, zeros at the end of its fraction aside.
pub fn parse_decimal(text: &str) -> Option<(i128, i32)> {
    let DecimalText { negative, whole, mut fraction, exponent } = DecimalText::of(text)?;
    if whole.len() + fraction.len() > MAX_DIGITS {
        fraction = fraction.trim_end_matches('0');
    }
    let value = number_of(whole.bytes().chain(fraction.bytes()))?;
    let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    Some((if negative { -value } else { value }, scale))
}

/// Digits of every `i128`.
const MAX_DIGITS: usize = 38;

fn number_of(mut digits: impl Iterator<Item = u8>) -> Option<i128> {
    digits.try_fold(0_i128, |value, digit| value.checked_mul(10)?.checked_add(i128::from(digit.wrapping_sub(b'0'))))
}

/// A decimal text of any number of digits, rounded half away from zero to a scale. `None` when it is no decimal;
/// `Some(None)` when it has more digits than any DECIMAL then.
pub fn rounded_decimal(text: &str, scale: i32) -> Option<Option<i128>> {
    let DecimalText { negative, whole, fraction, exponent } = DecimalText::of(text)?;
    let before = whole.len() + fraction.len();
    let digits = || whole.bytes().chain(fraction.bytes());
    if digits().all(|digit| digit == b'0') {
        return Some(Some(0));
    }
    // how many digits stand before the point of the unscaled value
    let point = i64::try_from(whole.len()).ok()?.saturating_add(i64::from(exponent)).saturating_add(i64::from(scale));
    let kept = usize::try_from(point).unwrap_or(0);
    let value = number_of(digits().take(kept)).and_then(|value| {
        let zeros = u32::try_from(kept.saturating_sub(before)).ok()?;
        let up = point >= 0 && digits().nth(kept).is_some_and(|digit| digit >= b'5');
        let value = if value == 0 { 0 } else { value.checked_mul(10_i128.checked_pow(zeros)?)? };
        value.checked_add(i128::from(up))
    });
    Some(value.map(|value| if negative { -value } else { value }))
}

/// The same number with another scale, rounded half away from zero; `None` on overflow.
pub fn rescale_half_up(unscaled: i128, from: i32, to: i32) -> Option<i128> {
    if unscaled == 0 {
        return Some(0);
    }
    let steps = from.checked_sub(to)?;
    if steps <= 0 {
        return 10i128.checked_pow(steps.unsigned_abs()).and_then(|factor| unscaled.checked_mul(factor));
    }
    let Some(divisor) = 10i128.checked_pow(steps.unsigned_abs()) else {
        return Some(0);
    };
    let (quotient, rest) = (unscaled / divisor, unscaled % divisor);
    let round = i128::from(rest.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2));
    Some(quotient + round * unscaled.signum())
}

/// Days since 1970-01-01: `yyyy-M-d`, also with a time behind it, or the number of days itself.
fn parse_date(text: &str) -> Option<i32> {
    if is_whole_number(text) {
        return text.parse().ok();
    }
    let date = text.split([' ', 'T']).next()?;
    i32::try_from(parse_days(date)?).ok()
}

fn parse_days(date: &str) -> Option<i64> {
    let (negative, date) = date.strip_prefix('-').map_or((false, date), |rest| (true, rest));
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || year.len() < 4 {
        return None;
    }
    let year = small(year, 9)?;
    days_from_civil(if negative { -year } else { year }, small(month, 2)?, small(day, 2)?)
}

/// Milliseconds of the day: `H:m[:s[.fraction]]`, or the number itself.
fn parse_time(text: &str) -> Option<i32> {
    if is_whole_number(text) {
        return text.parse().ok();
    }
    let (millis, _) = parse_clock(text)?;
    i32::try_from(millis).ok()
}

/// Milliseconds of the day and the nanoseconds on top.
fn parse_clock(text: &str) -> Option<(i64, i32)> {
    let mut parts = text.splitn(3, ':');
    let (hour, minute) = (small(parts.next()?, 2)?, small(parts.next()?, 2)?);
    let (second, fraction) = match parts.next() {
        Some(seconds) => seconds.split_once('.').map_or((seconds, ""), |(second, fraction)| (second, fraction)),
        None => ("0", ""),
    };
    let second = small(second, 2)?;
    if hour > 23 || minute > 59 || second > 59 || fraction.len() > 9 {
        return None;
    }
    let nanos = small(&format!("{fraction:0<9}"), 9)?;
    let millis = ((hour * 60 + minute) * 60 + second) * 1000 + nanos / 1_000_000;
    Some((millis, i32::try_from(nanos % 1_000_000).ok()?))
}

fn parse_timestamp(text: &str, precision: u8, zoned: bool) -> Option<Datum> {
    if is_whole_number(text) {
        return Some(Datum::Timestamp { millis: text.parse().ok()?, nanos_of_milli: 0 });
    }
    let (text, offset_minutes) = if zoned { split_zone(text)? } else { (text, 0) };
    let (date, clock) = text.split_once([' ', 'T']).map_or((text, None), |(date, clock)| (date, Some(clock)));
    let (of_day, nanos) = clock.map_or(Some((0, 0)), |clock| parse_clock(clock.trim()))?;
    let millis =
        parse_days(date)?.checked_mul(DAY_MILLIS)?.checked_add(of_day)?.checked_sub(offset_minutes * 60_000)?;
    Some(truncate_timestamp(millis, nanos, precision))
}

/// The text without its zone, and the zone's minutes east of UTC.
fn split_zone(text: &str) -> Option<(&str, i64)> {
    if let Some(text) = text.strip_suffix(['Z', 'z']) {
        return Some((text.trim_end(), 0));
    }
    // a sign after the time is a zone, one before it belongs to the date
    let Some(at) = text.rfind(['+', '-']).filter(|at| text.get(..*at).is_some_and(|t| t.contains(':'))) else {
        return Some((text, 0));
    };
    let (local, zone) = (text.get(..at)?, text.get(at + 1..)?);
    let (hours, minutes) = zone.split_once(':').unwrap_or((zone, "0"));
    let minutes = small(hours, 2)? * 60 + small(minutes, 2)?;
    let minutes = if text.get(at..=at)? == "-" { -minutes } else { minutes };
    (minutes.abs() <= 18 * 60).then_some((local.trim_end(), minutes))
}

/// A timestamp with the digits beyond `precision` cut.
pub fn truncate_timestamp(millis: i64, nanos_of_milli: i32, precision: u8) -> Datum {
    if precision <= 3 {
        let unit = 10i64.pow(3 - u32::from(precision));
        return Datum::Timestamp { millis: millis - millis.rem_euclid(unit), nanos_of_milli: 0 };
    }
    let unit = 10i32.pow(9 - u32::from(precision.min(9)));
    Datum::Timestamp { millis, nanos_of_milli: nanos_of_milli - nanos_of_milli.rem_euclid(unit) }
}

/// Digits of a second that columns of timestamps of this precision hold: those of a TIMESTAMP(1) are three.
pub(super) fn held_digits(precision: u8) -> u8 {
    match precision {
        0 => 0,
        1..=3 => 3,
        4..=6 => 6,
        _ => 9,
    }
}

/// A stored value, or a bound of stored values, as a column of its type shows it: other programs keep fractions of a
/// second in a TIMESTAMP(0), which holds whole seconds.
pub fn as_read(value: Datum, kind: &TypeKind) -> Datum {
    match (value, kind) {
        (
            Datum::Timestamp { millis, nanos_of_milli },
            TypeKind::Timestamp(precision) | TypeKind::LocalZonedTimestamp(precision),
        ) => truncate_timestamp(millis, nanos_of_milli, held_digits(*precision)),
        (value, _) => value,
    }
}

/// Bounds of stored values as a column of their type shows them. The least CHAR in the statistics of ORC files is filled up with
/// spaces, which their readers do not see: no text that it stands for is below it without them.
pub fn bounds_as_read(min: Datum, max: Datum, kind: &TypeKind) -> (Datum, Datum) {
    let min = match (min, kind) {
        (Datum::String(text), TypeKind::Char(_)) => Datum::String(text.trim_end_matches(' ').to_owned()),
        (min, _) => as_read(min, kind),
    };
    (min, as_read(max, kind))
}

pub(super) fn is_whole_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// A number of 1 to `digits` digits.
fn small(text: &str, digits: usize) -> Option<i64> {
    let fits = !text.is_empty() && text.len() <= digits && text.bytes().all(|b| b.is_ascii_digit());
    if fits { text.parse().ok() } else { None }
}
