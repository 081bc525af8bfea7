//! Periods of automatic tags and the names they get (semantics g.5; `TagPeriodHandler`).
//!
//! ```text
//! daily      2024-05-01      20240501      20240501
//! hourly     2024-05-01 12   20240501 12   2024050112
//! two-hours  2024-05-01 12   whatever the formatter
//! duration   202405011200    whatever the formatter
//! ```

use std::time::Duration;

use chrono::{NaiveDate, NaiveDateTime, TimeDelta};

use crate::{
    error::{Error, ErrorKind, Result},
    options::{CoreOptions, TagFormatter, TagPeriod},
};

/// The period with its names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Period {
    length: TimeDelta,
    format: &'static str,
    daily: bool,
    delay: TimeDelta,
}

impl Period {
    /// From the options; the delay must be shorter than the period.
    pub(crate) fn of_options(options: &CoreOptions) -> Result<Self> {
        let delay = options.tag_create_time.unwrap_or(options.tag_creation_delay);
        let delay = delta("tag.creation-delay", delay)?;
        let length = delta("tag.creation-period-duration", options.tag_period())?;
        let (format, daily) = match options.tag_own_period() {
            Some(_) => ("%Y%m%d%H%M", false),
            None => named(options.tag_creation_period, options.tag_period_formatter),
        };
        let period = Self { length, format, daily, delay };
        if period.length.num_milliseconds() < 1 {
            let text = "the period of automatic tags must be one millisecond or longer";
            return Err(Error::new(ErrorKind::InvalidOption, text).with("option", "tag.creation-period-duration"));
        }
        if delay >= period.length {
            return Err(Error::new(
                ErrorKind::InvalidOption,
                "the delay of automatic tags must be shorter than their period",
            )
            .with("option", "tag.creation-delay"));
        }
        Ok(period)
    }

    /// The name of the tag of this time.
    pub(crate) fn name(&self, time: NaiveDateTime) -> String {
        time.format(self.format).to_string()
    }

    /// The time that a name says; `None` when it is not the name of an automatic tag.
    pub(crate) fn time(&self, name: &str) -> Option<NaiveDateTime> {
        // Java reads the first word of a daily tag's name only
        let name = if self.daily { name.split(' ').next()? } else { name };
        let digits: String = name.chars().filter(char::is_ascii_digit).collect();
        let part = |from: usize, to: usize| digits.get(from..to)?.parse::<u32>().ok();
        let date = NaiveDate::from_ymd_opt(i32::try_from(part(0, 4)?).ok()?, part(4, 6)?, part(6, 8)?)?;
        let hour = if digits.len() > 8 { part(8, 10)? } else { 0 };
        let minute = if digits.len() > 10 { part(10, 12)? } else { 0 };
        let time = date.and_hms_opt(hour, minute, 0)?;
        (self.name(time) == name).then_some(time)
    }

    /// The time after this one.
    pub(crate) fn next(&self, time: NaiveDateTime) -> Option<NaiveDateTime> {
        time.checked_add_signed(self.length)
    }

    /// The last period that was over at this time.
    pub(crate) fn last_finished(&self, time: NaiveDateTime) -> Option<NaiveDateTime> {
        let millis = time.and_utc().timestamp_millis();
        // towards zero, as Java divides
        let whole = millis / self.length.num_milliseconds() * self.length.num_milliseconds();
        chrono::DateTime::from_timestamp_millis(whole)?.naive_utc().checked_sub_signed(self.length)
    }

    /// Whether the tag of `tag` is due at this time: its period and the delay are over.
    pub(crate) fn is_due(&self, time: NaiveDateTime, tag: NaiveDateTime) -> bool {
        match (time.checked_sub_signed(self.delay), self.next(tag)) {
            (Some(time), Some(end)) => time >= end,
            _ => false,
        }
    }
}

/// The format of the names of a named period, and whether it is a day.
fn named(period: TagPeriod, formatter: TagFormatter) -> (&'static str, bool) {
    match (period, formatter) {
        (TagPeriod::Daily, TagFormatter::WithDashes) => ("%Y-%m-%d", true),
        (TagPeriod::Daily, _) => ("%Y%m%d", true),
        (TagPeriod::Hourly, TagFormatter::WithoutDashes) => ("%Y%m%d %H", false),
        (TagPeriod::Hourly, TagFormatter::WithoutDashesAndSpaces) => ("%Y%m%d%H", false),
        (TagPeriod::Hourly, TagFormatter::WithDashes) | (TagPeriod::TwoHours, _) => ("%Y-%m-%d %H", false),
    }
}

fn delta(key: &'static str, duration: Duration) -> Result<TimeDelta> {
    TimeDelta::from_std(duration)
        .map_err(|_| Error::new(ErrorKind::InvalidOption, "the duration is too long").with("option", key))
}
