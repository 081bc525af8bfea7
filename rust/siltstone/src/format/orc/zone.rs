//! The time zone of a stripe's writer, whose wall clock timestamps show.

use chrono::{DateTime, Offset, TimeZone};

/// A zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zone {
    /// So many seconds east of UTC.
    Fixed(i64),
    Named(chrono_tz::Tz),
}

/// 2015-01-01 00:00:00: timestamps count from it on the writer's clock.
const EPOCH: i64 = 1_420_070_400;

impl Zone {
    pub(super) const UTC: Self = Self::Fixed(0);

    /// As Java names it; `None` when nobody knows it.
    pub(super) fn parse(name: &str) -> Option<Self> {
        if ["", "UTC", "GMT", "Z", "Etc/UTC", "Etc/GMT"].contains(&name) {
            return Some(Self::UTC);
        }
        if let Some(offset) = ["GMT", "UTC"].iter().find_map(|prefix| name.strip_prefix(prefix)) {
            return fixed(offset).map(Self::Fixed);
        }
        name.parse().ok().map(Self::Named)
    }

    /// Seconds that the clock is ahead of UTC at an instant.
    pub(super) fn offset(self, instant: i64) -> i64 {
        match self {
            Self::Fixed(seconds) => seconds,
            Self::Named(zone) => {
                let utc = DateTime::from_timestamp(instant, 0).unwrap_or_default().naive_utc();
                i64::from(zone.offset_from_utc_datetime(&utc).fix().local_minus_utc())
            }
        }
    }

    /// The instant that timestamps count from.
    pub(super) fn epoch(self) -> i64 {
        EPOCH.saturating_sub(self.offset(EPOCH))
    }
}

/// `+8`, `+08:00`, `-0530`
fn fixed(text: &str) -> Option<i64> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = match rest.split_once(':') {
        Some(parts) => parts,
        None if rest.len() > 2 => rest.split_at_checked(rest.len() - 2)?,
        None => (rest, "0"),
    };
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    ((0..=23).contains(&hours) && (0..=59).contains(&minutes)).then_some(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_have_java_names() {
        assert_eq!(Zone::parse("GMT+08:00"), Some(Zone::Fixed(28_800)));
        assert_eq!(Zone::parse("GMT-5"), Some(Zone::Fixed(-18_000)));
        assert_eq!(Zone::parse("Mars/Phobos"), None);
        let berlin = Zone::parse("Europe/Berlin").unwrap();
        assert_eq!((berlin.offset(1_420_070_400), berlin.offset(1_435_700_000)), (3600, 7200));
        assert_eq!(berlin.epoch(), EPOCH - 3600);
    }
}
