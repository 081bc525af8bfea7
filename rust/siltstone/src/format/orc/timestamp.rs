//! Timestamps: seconds since 2015 on the writer's clock and nanoseconds, as Java's reader understands them.

use super::zone::Zone;

const DAY: i64 = 86_400;
/// 1582-10-15: days before are dates of the Julian calendar in Java's `java.sql.Timestamp`.
const GREGORIAN: i64 = -141_427;

/// How the numbers of a column become times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    zone: Zone,
    /// Seconds from 1970 to where the numbers count from.
    base: i64,
    /// Values went through `java.sql.Timestamp` and show its calendar.
    hybrid: bool,
}

impl Clock {
    /// Of a column of wall clocks.
    pub(super) fn wall(zone: Zone) -> Self {
        Self { zone, base: zone.epoch(), hybrid: true }
    }

    /// Of a column of instants, whose wall clock in the writer's zone is the one in UTC of the value
    /// (`orc.timestamp-ltz.legacy.type`).
    pub(super) fn wall_of_instants(zone: Zone) -> Self {
        Self { zone, base: Zone::UTC.epoch(), hybrid: true }
    }

    /// Of a column of instants.
    pub(super) fn instants() -> Self {
        Self { zone: Zone::UTC, base: Zone::UTC.epoch(), hybrid: false }
    }

    /// Seconds since 1970 and nanoseconds of them; `None`: out of range.
    #[inline]
    pub(super) fn time(&self, seconds: i64, nanos: i64) -> Option<(i64, i64)> {
        let nanos = expand(nanos.cast_unsigned())?;
        let mut seconds = seconds.checked_add(self.base)?;
        // Java's reader knows the sign by the milliseconds of both together
        if nanos > 999_999 && seconds.checked_mul(1000)?.checked_add(nanos / 1_000_000)? < 0 {
            seconds -= 1;
        }
        if self.zone != Zone::UTC {
            seconds = seconds.checked_add(self.zone.offset(seconds))?;
        }
        if self.hybrid && seconds < GREGORIAN * DAY {
            let days = from_julian(seconds.div_euclid(DAY))?;
            seconds = days.checked_mul(DAY)?.checked_add(seconds.rem_euclid(DAY))?;
        }
        Some((seconds, nanos))
    }
}

/// The lower three bits say how many zeros are left out, less one.
fn expand(encoded: u64) -> Option<i64> {
    let (digits, zeros) = (encoded >> 3, u32::try_from(encoded & 7).ok()?);
    let scale = if zeros == 0 { 1 } else { 10_u64.pow(zeros + 1) };
    let nanos = digits.checked_mul(scale)?;
    i64::try_from(nanos).ok().filter(|nanos| *nanos < 1_000_000_000)
}

#[cfg(test)]
/// Nanoseconds with their zeros left out.
pub(super) fn shorten(nanos: u32) -> u64 {
    let mut digits = u64::from(nanos);
    if digits == 0 || !digits.is_multiple_of(100) {
        return digits << 3;
    }
    digits /= 100;
    let mut zeros = 1;
    while digits.is_multiple_of(10) && zeros < 7 {
        digits /= 10;
        zeros += 1;
    }
    digits << 3 | zeros
}

/// The day with the same date in the calendar that knows only Gregorian dates, of a day before 1582-10-15.
fn from_julian(day: i64) -> Option<i64> {
    let (year, month, date) = julian_date(day)?;
    Some(gregorian_day(year, month, date))
}

#[cfg(test)]
/// And back: the day that Java's old classes take for this date.
pub(super) fn to_julian(day: i64) -> i64 {
    if day >= GREGORIAN {
        return day;
    }
    // the calendars differ by a few days, which the date tells
    let guess = (-12..=12).map(|shift| day + shift).find(|other| from_julian(*other) == Some(day));
    guess.unwrap_or(day)
}

/// Year, month and day of the Julian calendar; algorithm of days from March on, in periods of four years.
fn julian_date(day: i64) -> Option<(i64, i64, i64)> {
    // 0000-03-01 of the Julian calendar is two days before that of the Gregorian one
    let days = day.checked_add(719_470)?;
    let (period, of_period) = (days.div_euclid(1461), days.rem_euclid(1461));
    let year_of_period = (of_period - of_period / 1460) / 365;
    let of_year = of_period - year_of_period * 365;
    let months = (5 * of_year + 2) / 153;
    let date = of_year - (153 * months + 2) / 5 + 1;
    let month = if months < 10 { months + 3 } else { months - 9 };
    Some((period * 4 + year_of_period + i64::from(month <= 2), month, date))
}

/// Days since 1970 of a Gregorian date.
fn gregorian_day(year: i64, month: i64, date: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let months = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * months + 2) / 5 + date - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_lose_their_zeros_and_get_them_back() {
        for nanos in [0, 1, 10, 100, 1000, 123_000, 999_999_999, 500_000_000, 100_000_000, 12_300_000] {
            assert_eq!(expand(shorten(nanos)), Some(i64::from(nanos)), "{nanos}");
        }
        assert_eq!((shorten(1000), shorten(100)), (1 << 3 | 2, 1 << 3 | 1));
        assert_eq!(expand(u64::MAX), None);
    }

    #[test]
    fn fractions_before_1970_count_from_the_second_above() {
        let clock = Clock::instants();
        let at = |seconds: i64, nanos| clock.time(seconds - Zone::UTC.epoch(), shorten(nanos).cast_signed());
        assert_eq!(at(-1, 500_000_000), Some((-2, 500_000_000)));
        assert_eq!(at(-2, 500), Some((-2, 500)));
        assert_eq!(at(0, 500_000_000), Some((0, 500_000_000)));
    }

    /// 1582-10-04 was followed by 1582-10-15.
    #[test]
    fn old_dates_keep_their_date() {
        assert_eq!(from_julian(GREGORIAN - 1), Some(gregorian_day(1582, 10, 4)));
        assert_eq!(gregorian_day(1970, 1, 1), 0);
        assert_eq!(gregorian_day(1582, 10, 15), GREGORIAN);
        assert_eq!(from_julian(-719_164), Some(gregorian_day(1, 1, 1)), "java.sql.Timestamp of year 1");
        for day in [GREGORIAN - 1, GREGORIAN - 11, -500_000, -719_162] {
            assert_eq!(from_julian(to_julian(day)).unwrap_or(day), day, "{day}");
        }
    }
}
