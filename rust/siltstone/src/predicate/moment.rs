//! Dates and times in predicates: ISO text to days and nanoseconds.

use chrono::{NaiveDate, NaiveTime, Timelike};

/// A date with a time of day, and the offset from UTC that the text named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// Seconds since 1970-01-01T00:00:00, offset not applied.
    pub(super) seconds: i64,
    /// 0 to 999,999,999.
    pub(super) nanos: i64,
    /// Seconds east of UTC.
    pub(super) offset: Option<i64>,
}

impl Moment {
    /// `2024-05-01`, `2024-05-01 12:00`, `2024-05-01T12:00:00.123456789Z`, `... +08:00`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (date, rest) = match text.find(['T', 't', ' ']) {
            Some(at) => (text.get(..at)?, text.get(at + 1..)?.trim_start()),
            None => (text, ""),
        };
        let days = parse_date(date)?;
        let (time, offset) = split_offset(rest)?;
        let (seconds, nanos) = if time.is_empty() { (0, 0) } else { parse_time(time)? };
        Some(Self { seconds: i64::from(days).checked_mul(86_400)?.checked_add(seconds)?, nanos, offset })
    }
}

/// `2024-05-01` to days since 1970-01-01.
pub(super) fn parse_date(text: &str) -> Option<i32> {
    let date = NaiveDate::parse_from_str(text.trim(), "%Y-%m-%d").ok()?;
    let days = date.signed_duration_since(NaiveDate::default()).num_days();
    i32::try_from(days).ok()
}

/// `12:30`, `12:30:01`, `12:30:01.5` to seconds of the day and nanoseconds.
pub(super) fn parse_time(text: &str) -> Option<(i64, i64)> {
    let text = text.trim();
    let time = NaiveTime::parse_from_str(text, "%H:%M:%S%.f").or_else(|_| NaiveTime::parse_from_str(text, "%H:%M"));
    let time = time.ok()?;
    if time.nanosecond() >= 1_000_000_000 {
        return None;
    }
    Some((i64::from(time.num_seconds_from_midnight()), i64::from(time.nanosecond())))
}

/// The time of day and the offset behind it, in seconds.
fn split_offset(text: &str) -> Option<(&str, Option<i64>)> {
    let text = text.trim();
    if let Some(time) = text.strip_suffix(['Z', 'z']) {
        return Some((time.trim_end(), Some(0)));
    }
    if let Some(time) = text.strip_suffix("UTC") {
        return Some((time.trim_end(), Some(0)));
    }
    let Some(at) = text.find(['+', '-']) else {
        return Some((text, None));
    };
    let (time, zone) = text.split_at(at);
    let digits: String = zone.chars().skip(1).filter(|c| *c != ':').collect();
    if !matches!(digits.len(), 2 | 4) || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let hours: i64 = digits.get(..2)?.parse().ok()?;
    let minutes: i64 = digits.get(2..).filter(|m| !m.is_empty()).map_or(Some(0), |m| m.parse().ok())?;
    let seconds = hours * 3600 + minutes * 60;
    Some((time.trim_end(), Some(if zone.starts_with('-') { -seconds } else { seconds })))
}

#[cfg(test)]
mod tests {
    use super::{Moment, parse_date, parse_time};

    #[test]
    fn iso_forms_are_read() {
        assert_eq!(parse_date("1970-01-02"), Some(1));
        assert_eq!(parse_date("1969-12-31"), Some(-1));
        assert_eq!(parse_time("01:02"), Some((3720, 0)));
        assert_eq!(parse_time("01:02:03.004"), Some((3723, 4_000_000)));
        let plain = Moment::parse("1970-01-01 00:00:01.5").expect("a moment");
        assert_eq!((plain.seconds, plain.nanos, plain.offset), (1, 500_000_000, None));
        assert_eq!(Moment::parse("1970-01-02").expect("midnight").seconds, 86_400);
        assert_eq!(Moment::parse("1970-01-01T08:00+08:00").expect("zoned").offset, Some(28_800));
        assert_eq!(Moment::parse("1970-01-01T08:00:00Z").expect("zoned").offset, Some(0));
    }

    #[test]
    fn other_text_is_refused() {
        for text in
            ["", "2024-13-01", "2024-02-30", "20240501", "2024-05-01 25:00", "2024-05-01 1", "x", "2024-05-01T00:00+5"]
        {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }
}
