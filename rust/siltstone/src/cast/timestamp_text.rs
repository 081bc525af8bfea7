//! Texts as timestamps, as Java's formatter reads them.
//!
//! ```text
//! yyyy-[MM][M]-[dd][d][ [HH][H]:[mm][m]:[ss][s][.fraction]]
//! 2024-5-2    +10000-01-01 1:2:3.5    2024-02-30 (the last day of the month)    2023-12-31 24:00:00 (the next day)
//! ```
//!
//! Each part is optional, and stands for the first of its kind. A year of more than four digits has a plus sign, others have
//! none. Digits are ASCII.
//!
//! Source: `DateTimeUtils.DEFAULT_TIMESTAMP_FORMATTER`, `java.time.format.DateTimeFormatterBuilder` (resolver style SMART).

use crate::row::{Datum, days_from_civil, truncate_timestamp};

const DAY: i64 = 86_400_000;
/// Most digits of a number.
const WIDEST: usize = 19;

/// A date, perhaps with a time of day, cut to a precision.
pub(super) fn local_timestamp(text: &str, precision: u8) -> Option<Datum> {
    let mut rest = Rest(text);
    let year = rest.year()?;
    rest.literal('-')?;
    let month = rest.part()?.0;
    rest.literal('-')?;
    let day = rest.part()?.0;
    let clock = if rest.0.is_empty() { Clock::default() } else { rest.clock()? };
    rest.0.is_empty().then_some(())?;
    let (millis_of_day, nanos) = clock.of_day()?;
    let next = i64::from(clock.is_next_day() && month.is_some() && day.is_some());
    let days = days(year, month.unwrap_or(1), day.unwrap_or(1))?.checked_add(next)?;
    let millis = days.checked_mul(DAY)?.checked_add(millis_of_day)?.checked_add(nanos / 1_000_000)?;
    Some(truncate_timestamp(millis, i32::try_from(nanos % 1_000_000).ok()?, precision))
}

/// A day that the month does not have is its last one.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    (1..=31).contains(&day).then_some(())?;
    (28..=day).rev().chain([day]).find_map(|day| days_from_civil(year, month, day))
}

/// Parts of a time of day that are there.
#[derive(Default)]
struct Clock {
    hour: Option<i64>,
    minute: Option<i64>,
    second: Option<i64>,
    nanos: Option<i64>,
}

impl Clock {
    /// Milliseconds of the whole seconds, and the nanoseconds on top.
    fn of_day(&self) -> Option<(i64, i64)> {
        let below = |value: Option<i64>, end: i64| Some(value.unwrap_or(0)).filter(|v| *v < end);
        let hour = if self.is_next_day() { 0 } else { below(self.hour, 24)? };
        let (minute, second) = (below(self.minute, 60)?, below(self.second, 60)?);
        Some((((hour * 60 + minute) * 60 + second) * 1000, self.nanos.unwrap_or(0)))
    }

    /// `24:00:00`, of which no part lacks before another one.
    fn is_next_day(&self) -> bool {
        let is_zero = |value: Option<i64>| value.unwrap_or(0) == 0;
        let lacks = (self.minute.is_none() && (self.second.is_some() || self.nanos.is_some()))
            || (self.second.is_none() && self.nanos.is_some());
        self.hour == Some(24) && is_zero(self.minute) && is_zero(self.second) && is_zero(self.nanos) && !lacks
    }
}

/// A part of a date or time, when it is there.
struct Part(Option<i64>);

/// What is not read yet.
struct Rest<'a>(&'a str);

impl Rest<'_> {
    fn literal(&mut self, mark: char) -> Option<()> {
        self.0 = self.0.strip_prefix(mark)?;
        Some(())
    }

    /// Four digits, or more behind a plus sign.
    fn year(&mut self) -> Option<i64> {
        let is_signed = self.literal('+').is_some();
        let digits = self.digits();
        (if is_signed { digits > 4 } else { digits == 4 }).then_some(())?;
        self.number(digits).filter(|year| *year > 0)
    }

    /// Two digits, perhaps with the same number once more behind them, one digit, or none. `None`: a negative number, which no
    /// part is.
    fn part(&mut self) -> Option<Part> {
        if self.digits() >= 2 {
            let value = self.number(2);
            let again = Rest(self.0).number(self.digits());
            if again.is_some() && again == value {
                self.number(self.digits());
            }
            return Some(Part(value));
        }
        if let Some(digits) = self.0.strip_prefix('-') {
            let digits = Rest(digits).digits();
            let is_zero = self.0.get(1..=digits).is_none_or(|digits| digits.bytes().all(|b| b == b'0'));
            return is_zero.then_some(Part(None));
        }
        Some(Part(self.number(self.digits())))
    }

    fn clock(&mut self) -> Option<Clock> {
        self.literal(' ')?;
        let hour = self.part()?.0;
        self.literal(':')?;
        let minute = self.part()?.0;
        self.literal(':')?;
        let second = self.part()?.0;
        let nanos = self.literal('.').map(|()| self.fraction());
        Some(Clock { hour, minute, second, nanos })
    }

    /// Up to nine digits.
    fn fraction(&mut self) -> i64 {
        let digits = self.digits().min(9);
        let value = self.number(digits).unwrap_or(0);
        u32::try_from(9 - digits).ok().and_then(|zeros| value.checked_mul(10_i64.pow(zeros))).unwrap_or(0)
    }

    /// How many digits come next, at most as many as a number has.
    fn digits(&self) -> usize {
        self.0.bytes().take(WIDEST).take_while(u8::is_ascii_digit).count()
    }

    /// The number that so many digits are.
    fn number(&mut self, digits: usize) -> Option<i64> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        let value = number.parse().ok()?;
        self.0 = rest;
        Some(value)
    }
}
