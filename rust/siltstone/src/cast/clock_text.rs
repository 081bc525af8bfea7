//! Texts as dates and times, as Java's casts read them: not the forms that literals have. Where Java computes with numbers that
//! overflow, the text is refused.
//!
//! Source: `BinaryStringUtils.toDate`, `toTime`, `toTimestamp`; `DateTimeUtils.parseDate`, `parseTime`.

use super::timestamp_text::local_timestamp;
use crate::{
    row::{Datum, datum_from_text, truncate_timestamp},
    types::{DataType, TypeKind},
};

const DAY: i64 = 86_400_000;

/// A number of days, or `y[-M[-d]]` with a year up to 9999; what follows a blank is ignored.
pub(super) fn date(text: &str) -> Option<Datum> {
    if is_whole(text) {
        return Some(Datum::Date(text.parse().ok()?));
    }
    let date = match text.find(' ') {
        Some(at) if at > 0 => text.get(..at)?,
        _ => text,
    };
    let mut parts = date.splitn(3, '-').map(number);
    let (year, month, day) = (parts.next()??, parts.next().unwrap_or(Some(1))?, parts.next().unwrap_or(Some(1))?);
    (year < 10_000).then_some(())?;
    datum_from_text(&format!("{year:04}-{month:02}-{day:02}"), &DataType::new(TypeKind::Date)).ok()
}

/// Milliseconds of a day, or `H[:m[:s[.fraction]]][+h[:m]]`; minutes and seconds may be more than 59.
pub(super) fn time(text: &str) -> Option<Datum> {
    let millis = if is_whole(text) { text.parse::<i64>().ok()? } else { clock_millis(text)? };
    (0..DAY).contains(&millis).then(|| i32::try_from(millis).ok().map(Datum::Time)).flatten()
}

/// What a zone says is added to the time, for `+`, or taken off.
fn clock_millis(text: &str) -> Option<i64> {
    let at = text.find('-').or_else(|| text.find('+'));
    let (clock, zone) = at.and_then(|at| text.split_at_checked(at)).unwrap_or((text, ""));
    let minutes_east = zone_minutes(zone)?;
    let parts: Vec<&str> = clock.splitn(3, ':').collect();
    // the colon of a zone is taken for one that the time lacks
    if parts.len() < 3 && zone.contains(':') {
        return None;
    }
    let part = |at: usize| parts.get(at).map_or(Some(0), |part| number(part));
    let (seconds, fraction) = parts.get(2).map_or(("0", ""), |part| part.split_once('.').unwrap_or((part, "")));
    let (thousandths, is_more) = fraction_of_second(trim(fraction));
    let minutes = part(0)? * 60 + part(1)? + minutes_east;
    let millis = (minutes * 60 + number(seconds)?) * 1000 + thousandths;
    // beyond the last millisecond of the day Java has a time that it cannot show
    Some(millis + i64::from(is_more && millis != DAY - 1))
}

/// Minutes of `+h[:m]` or `-h[:m]`.
fn zone_minutes(zone: &str) -> Option<i64> {
    let Some(east) = zone.get(1..) else { return Some(0) };
    let (hours, minutes) = east.split_once(':').unwrap_or((east, "0"));
    let minutes = number(hours)? * 60 + number(minutes)?;
    Some(if zone.starts_with('-') { -minutes } else { minutes })
}

/// The first three digits, and whether the character behind them rounds them up. Java counts any character as one, 0 when it is no
/// digit, and rounds up for what is not below `5`.
fn fraction_of_second(fraction: &str) -> (i64, bool) {
    let mut units = fraction.encode_utf16();
    let mut digit =
        || units.next().filter(|unit| (0x30..=0x39).contains(unit)).map_or(0, |unit| i64::from(unit) - 0x30);
    let thousandths = digit() * 100 + digit() * 10 + digit();
    (thousandths, units.next().is_some_and(|unit| unit >= 0x35))
}

/// A number in the unit of the precision (Java knows four units), or a date and time.
pub(super) fn timestamp(text: &str, precision: u8) -> Option<Datum> {
    if is_whole(text) { epoch(text.parse().ok()?, precision) } else { local_timestamp(text, precision) }
}

/// Without the blanks that Java takes off: control characters, too, and none beyond ASCII.
fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c <= ' ')
}

fn epoch(v: i64, precision: u8) -> Option<Datum> {
    let (millis, nanos) = match precision {
        0 => (v.checked_mul(1000)?, 0),
        3 => (v, 0),
        6 => (v.div_euclid(1000), v.rem_euclid(1000) * 1000),
        9 => (v.div_euclid(1_000_000), v.rem_euclid(1_000_000)),
        _ => return None,
    };
    Some(truncate_timestamp(millis, i32::try_from(nanos).ok()?, precision))
}

/// Digits, perhaps behind a minus sign.
fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && only_digits(digits)
}

fn only_digits(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

/// A number of 32 bits without a sign, perhaps between blanks.
fn number(text: &str) -> Option<i64> {
    let digits = Some(trim(text)).filter(|digits| !digits.is_empty() && only_digits(digits))?;
    digits.parse::<i32>().ok().map(i64::from)
}
