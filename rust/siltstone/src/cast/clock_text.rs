//! Texts as dates, times and timestamps, as Java's casts read them: not the forms that literals have.

use crate::{
    row::{Datum, datum_from_text, truncate_timestamp},
    types::{DataType, TypeKind},
};

const DAY: i64 = 86_400_000;

/// A number of days, or `y[-M[-d]]` with up to four digits of the year; what follows a blank is ignored.
pub(super) fn date(text: &str) -> Option<Datum> {
    if is_whole(text) {
        return Some(Datum::Date(text.parse().ok()?));
    }
    let date = match text.find(' ') {
        Some(at) if at > 0 => text.get(..at)?,
        _ => text,
    };
    let mut parts = trim(date).splitn(3, '-').map(|part| number(trim(part), 9));
    let (year, month, day) = (parts.next()??, parts.next().unwrap_or(Some(1))?, parts.next().unwrap_or(Some(1))?);
    (year < 10_000).then_some(())?;
    datum_from_text(&format!("{year:04}-{month:02}-{day:02}"), &DataType::new(TypeKind::Date)).ok()
}

/// Milliseconds of a day, or `H[:m[:s[.fraction]]]`; the fourth digit of the fraction rounds it (not beyond the day's last
/// millisecond, where Java has a time that it cannot show), and those behind it do not count; minutes and seconds may be more than 59.
pub(super) fn time(text: &str) -> Option<Datum> {
    let millis = if is_whole(text) { text.parse::<i64>().ok()? } else { clock_millis(text)? };
    (0..DAY).contains(&millis).then(|| i32::try_from(millis).ok().map(Datum::Time)).flatten()
}

fn clock_millis(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, ':');
    let mut part = |absent| parts.next().or(absent).map(trim);
    let (hours, minutes, seconds) = (part(None)?, part(Some("0"))?, part(Some("0"))?);
    let (seconds, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let (hours, minutes, seconds) = (number(hours, 9)?, number(minutes, 9)?, number(seconds, 9)?);
    only_digits(fraction).then_some(())?;
    let millis: i64 = format!("{:0<3}", fraction.get(..fraction.len().min(3))?).parse().ok()?;
    let millis = ((hours * 60 + minutes) * 60 + seconds) * 1000 + millis;
    let up = fraction.as_bytes().get(3).is_some_and(|digit| *digit >= b'5') && millis != DAY - 1;
    Some(millis + i64::from(up))
}

/// A number in the unit of the precision (Java knows four units), or a date and time.
pub(super) fn timestamp(text: &str, precision: u8) -> Option<Datum> {
    if is_whole(text) { epoch(text.parse().ok()?, precision) } else { local_timestamp(text, precision) }
}

/// `yyyy-M-d[ H:m:s[.fraction]]`; a day that the month does not have is its last one, and 24:00:00 the next day.
pub(super) fn local_timestamp(text: &str, precision: u8) -> Option<Datum> {
    let (date, clock) = text.split_once(' ').unwrap_or((text, "00:00:00"));
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let [year, month, day] = three(date, '-')?;
    let [hour, minute, second] = three(clock, ':')?;
    let year = Some(number(year, 4)?).filter(|y| year.len() == 4 && *y > 0)?;
    let (month, day) = (number(month, 2)?, number(day, 2).filter(|day| *day <= 31)?);
    let (hour, minute, second) = (number(hour, 2)?, number(minute, 2)?, number(second, 2)?);
    (only_digits(fraction) && fraction.len() <= 9).then_some(())?;
    let midnight = (hour, minute, second) == (24, 0, 0) && fraction.bytes().all(|b| b == b'0');
    let hour = if midnight { 0 } else { hour };
    let t = DataType::new(TypeKind::Timestamp(precision));
    let on_day = |day: i64| {
        let form = format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{fraction:0<9}");
        datum_from_text(&form, &t).ok()
    };
    let found = on_day(day).or_else(|| (28..day).rev().find_map(on_day))?;
    match found {
        Datum::Timestamp { millis, nanos_of_milli } if midnight => {
            Some(Datum::Timestamp { millis: millis.checked_add(DAY)?, nanos_of_milli })
        }
        found => Some(found),
    }
}

/// Without the blanks that Java takes off: control characters, too, and none beyond ASCII.
fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c <= ' ')
}

/// Exactly three parts.
fn three(text: &str, mark: char) -> Option<[&str; 3]> {
    text.split(mark).collect::<Vec<_>>().try_into().ok()
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

fn number(text: &str, longest: usize) -> Option<i64> {
    if text.is_empty() || text.len() > longest || !only_digits(text) { None } else { text.parse().ok() }
}
