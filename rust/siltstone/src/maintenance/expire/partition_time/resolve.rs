//! From fields to a date and time (`java.time.format.Parsed`).

use chrono::{Datelike, Days, Duration, Months, NaiveDate, NaiveDateTime};

use super::{formatter::Field, parse::Fields};

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// Values that are no date run over into the next: the style of what is read without a formatter.
pub(super) fn lenient(fields: &Fields) -> Option<NaiveDateTime> {
    let get = |field| fields.get(&field).copied();
    let months = get(Field::Month)?.checked_sub(1)?;
    let first = NaiveDate::from_ymd_opt(i32::try_from(get(Field::Year)?).ok()?, 1, 1)?;
    let by = Months::new(u32::try_from(months.unsigned_abs()).ok()?);
    let month = if months < 0 { first.checked_sub_months(by)? } else { first.checked_add_months(by)? };
    let date = month.checked_add_signed(Duration::try_days(get(Field::Day)?.checked_sub(1)?)?)?.and_hms_opt(0, 0, 0)?;
    let of_time = |field| get(field).unwrap_or(0);
    let hours = of_time(Field::Hour).checked_mul(3600)?;
    let seconds = hours.checked_add(of_time(Field::Minute).checked_mul(60)?)?.checked_add(of_time(Field::Second))?;
    let time = Duration::try_seconds(seconds)? + Duration::nanoseconds(of_time(Field::Nano));
    date.checked_add_signed(time)
}

/// Values are what their field can be, but for a day that its month has not: that is the month's last (`ResolverStyle.SMART`).
/// Without a time of day it is midnight, without a date it is no time.
pub(super) fn smart(fields: &Fields) -> Option<NaiveDateTime> {
    let date = date(fields)?;
    let midnight = date.and_hms_opt(0, 0, 0)?;
    midnight.checked_add_signed(Duration::nanoseconds(nanos_of_day(fields)?))
}

fn date(fields: &Fields) -> Option<NaiveDate> {
    let get = |field| fields.get(&field).copied();
    let era = match get(Field::YearOfEra) {
        Some(year) => Some(within(year, 1, 999_999_999)?),
        None => None,
    };
    let year = get(Field::Year).or(era)?;
    if era.is_some_and(|era| era != year) {
        return None;
    }
    let year = i32::try_from(year).ok()?;
    let first = NaiveDate::from_ymd_opt(year, 1, 1)?;
    let of_year = match get(Field::DayOfYear) {
        Some(day) => Some(first.checked_add_days(Days::new(u64::try_from(within(day, 1, 366)? - 1).ok()?))?),
        None => None,
    };
    let date = match (get(Field::Month), get(Field::Day)) {
        (Some(month), Some(day)) => last_up_to(year, within(month, 1, 12)?, within(day, 1, 31)?)?,
        _ => of_year?,
    };
    let same_day = of_year.is_none_or(|other| other == date) && date.year() == year;
    let weekday = i64::from(date.weekday().number_from_monday());
    (same_day && get(Field::DayOfWeek).is_none_or(|day| day == weekday)).then_some(date)
}

/// This day of the month, or the month's last.
fn last_up_to(year: i32, month: i64, day: i64) -> Option<NaiveDate> {
    let (month, day) = (u32::try_from(month).ok()?, u32::try_from(day).ok()?);
    (28..=day).rev().chain([day]).find_map(|day| NaiveDate::from_ymd_opt(year, month, day))
}

/// Nanoseconds since midnight, a day of them for 24:00; 0 where the fields say no time of day. `None` where one cannot be.
fn nanos_of_day(fields: &Fields) -> Option<i64> {
    let mut time = fields.clone();
    spread(&mut time)?;
    let get = |field| time.get(&field).copied();
    let fraction = get(Field::Nano);
    if let Some(nanos) = fraction {
        within(nanos, 0, NANOS_PER_SECOND - 1)?;
    }
    let (minute, second) = (get(Field::Minute), get(Field::Second));
    if let Some(hour) = get(Field::Hour) {
        let gap = minute.is_none() && (second.is_some() || fraction.is_some());
        if gap || (second.is_none() && fraction.is_some()) {
            return Some(0);
        }
        let (minute, second, fraction) = (minute.unwrap_or(0), second.unwrap_or(0), fraction.unwrap_or(0));
        if (hour, minute, second, fraction) == (24, 0, 0, 0) {
            return Some(SECONDS_PER_DAY * NANOS_PER_SECOND);
        }
        let seconds = within(hour, 0, 23)? * 3600 + within(minute, 0, 59)? * 60 + within(second, 0, 59)?;
        return Some(seconds * NANOS_PER_SECOND + fraction);
    }
    for (field, max) in [(Field::Minute, 59), (Field::Second, 59), (Field::HourOfHalf, 11)] {
        if let Some(value) = get(field) {
            within(value, 0, max)?;
        }
    }
    Some(0)
}

/// Hours of other clocks, and counts since midnight, as hours, minutes and seconds.
fn spread(time: &mut Fields) -> Option<()> {
    let mut said: Vec<(Field, i64)> = Vec::new();
    if let Some(hour) = time.remove(&Field::ClockHour) {
        said.push((Field::Hour, within(hour, 0, 24)? % 24));
    }
    if let Some(hour) = time.remove(&Field::ClockHourOfHalf) {
        said.push((Field::HourOfHalf, within(hour, 0, 12)? % 12));
    }
    if let Some(nanos) = time.remove(&Field::NanoOfDay) {
        let nanos = within(nanos, 0, SECONDS_PER_DAY * NANOS_PER_SECOND - 1)?;
        said.extend(of_day(nanos / NANOS_PER_SECOND));
        said.push((Field::Nano, nanos % NANOS_PER_SECOND));
    }
    if let Some(millis) = time.remove(&Field::MilliOfDay) {
        let millis = within(millis, 0, SECONDS_PER_DAY * 1000 - 1)?;
        said.extend(of_day(millis / 1000));
        said.push((Field::Nano, millis % 1000 * 1_000_000));
    }
    for (field, value) in said {
        agree(time, field, value)?;
    }
    if let (Some(half), Some(hour)) = (time.get(&Field::Half).copied(), time.get(&Field::HourOfHalf).copied()) {
        agree(time, Field::Hour, half * 12 + within(hour, 0, 11)?)?;
    }
    Some(())
}

fn of_day(seconds: i64) -> [(Field, i64); 3] {
    [(Field::Hour, seconds / 3600), (Field::Minute, seconds / 60 % 60), (Field::Second, seconds % 60)]
}

/// Two ways to say a field say the same.
fn agree(time: &mut Fields, field: Field, value: i64) -> Option<()> {
    (*time.entry(field).or_insert(value) == value).then_some(())
}

fn within(value: i64, min: i64, max: i64) -> Option<i64> {
    (min..=max).contains(&value).then_some(value)
}
