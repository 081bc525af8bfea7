//! Time zones of automatic tags: `sink.process-time-zone` and `sink.watermark-time-zone`.

use arrow_array::timezone::Tz;
use chrono::{DateTime, Local, NaiveDateTime};

use crate::error::{Error, ErrorKind, Result};

/// A zone.
#[derive(Clone, Copy, Debug)]
pub enum Zone {
    /// That of this machine.
    Here,
    /// A named one, or a fixed offset.
    Named(Tz),
}

impl Zone {
    /// `UTC`, `+08:00`, `GMT+8`, or a name that this build knows. `key` is the option it stands in.
    pub fn parse(key: &'static str, text: Option<&str>) -> Result<Self> {
        let Some(text) = text.map(str::trim).filter(|t| !t.is_empty()) else { return Ok(Self::Here) };
        let plain = ["UTC", "GMT", "UT", "Z"].contains(&text);
        let offset = ["UTC", "GMT", "UT"].iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(text);
        let normal = if plain { "+00:00".to_owned() } else { full_offset(offset) };
        normal.parse().map(Self::Named).map_err(|_| {
            Error::new(ErrorKind::InvalidOption, format!("the time zone '{text}' is not known"))
                .with("option", key)
                .hint("give an offset such as +08:00, or UTC")
        })
    }

    /// The local date and time of an instant; `None` out of range.
    pub fn local(self, millis: i64) -> Option<NaiveDateTime> {
        let instant = DateTime::from_timestamp_millis(millis)?;
        Some(match self {
            Self::Here => instant.with_timezone(&Local).naive_local(),
            Self::Named(zone) => instant.with_timezone(&zone).naive_local(),
        })
    }
}

/// `+8` → `+08:00`
fn full_offset(text: &str) -> String {
    match text.split_at_checked(1) {
        Some((sign @ ("+" | "-"), hours)) if matches!(hours.len(), 1 | 2) => format!("{sign}{hours:0>2}:00"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_offsets_or_utc_or_that_of_the_machine() {
        let at = |text: &str| Zone::parse("k", Some(text)).unwrap().local(0).unwrap().to_string();
        assert_eq!(at("UTC"), "1970-01-01 00:00:00");
        assert_eq!(at("+08:00"), "1970-01-01 08:00:00");
        assert_eq!(at("GMT-5"), "1969-12-31 19:00:00");
        assert!(matches!(Zone::parse("k", None).unwrap(), Zone::Here));
        assert_eq!(Zone::parse("k", Some("Mars/Phobos")).unwrap_err().kind(), ErrorKind::InvalidOption);
    }
}
