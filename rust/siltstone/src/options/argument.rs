//! Durations and sizes of arguments: written as those of options, but what cannot be read is a wrong argument.

use std::time::Duration;

use super::values::{parse_duration, parse_size};
use crate::error::{Error, ErrorKind, Result, shorten};

/// The time that `7 d` or `7 days` lasts, as of the argument `name`.
///
/// # Errors
/// `InvalidArgument`: it is no duration.
pub fn duration_argument(name: &str, text: &str) -> Result<Duration> {
    parse_duration(text).map_err(|_| {
        wrong(name, text, "a duration such as '30 d'", "units: ns, µs, ms (where none is written), s, min, h, d")
    })
}

/// Milliseconds of a duration.
///
/// # Errors
/// `InvalidArgument`: it is no duration, or one of more milliseconds than 64 bits hold.
pub fn duration_millis(name: &str, text: &str) -> Result<i64> {
    i64::try_from(duration_argument(name, text)?.as_millis()).map_err(|_| {
        Error::new(ErrorKind::InvalidArgument, format!("'{}' is too long for a duration", shorten(text)))
            .with("argument", name)
            .hint("give at most 100000000000 d")
    })
}

/// Bytes of a size such as `128 mb`.
///
/// # Errors
/// `InvalidArgument`: it is no size.
pub fn size_argument(name: &str, text: &str) -> Result<u64> {
    parse_size(text).map_err(|_| {
        wrong(
            name,
            text,
            "a size such as '128 mb' below 8 exbibytes",
            "units: b (where none is written), kb, mb, gb, tb",
        )
    })
}

/// The time before which something is older than a text says: `now` less a duration. `None` when the text is no duration,
/// as a time is none; digits alone would be both, and are neither.
///
/// # Errors
/// `InvalidArgument`: a duration of more milliseconds than 64 bits hold.
pub fn age_limit(name: &str, text: &str, now: i64) -> Result<Option<i64>> {
    if text.trim().bytes().all(|b| b.is_ascii_digit()) || parse_duration(text).is_err() {
        return Ok(None);
    }
    duration_millis(name, text).map(|age| Some(now.saturating_sub(age)))
}

fn wrong(name: &str, text: &str, expected: &str, units: &'static str) -> Error {
    let message = format!("'{}' is not {expected}", shorten(text));
    Error::new(ErrorKind::InvalidArgument, message).with("argument", name).hint(units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_arguments_are_those_of_options() {
        for text in ["7 d", "7d", "7 days", "168 h", "P7D", "604800000"] {
            assert_eq!(duration_millis("idle", text).unwrap(), 7 * 86_400_000, "{text}");
        }
        for text in ["7 weeks", "", "-1 d", "99999999999999999999 d", "999999999999999999 d"] {
            let error = duration_millis("idle", text).unwrap_err();
            assert_eq!((error.kind(), error.context_value("argument")), (ErrorKind::InvalidArgument, Some("idle")));
        }
    }

    #[test]
    fn an_age_is_a_duration_and_a_time_is_none() {
        assert_eq!(age_limit("older_than", "7 days", 604_800_001).unwrap(), Some(1));
        assert_eq!(age_limit("older_than", "P1D", 86_400_000).unwrap(), Some(0));
        for text in ["2026-11-20", "2026-11-20T08:00:00", "20261120", "20261120T080000", "soon", ""] {
            assert_eq!(age_limit("older_than", text, 0).unwrap(), None, "{text}");
        }
        assert!(age_limit("older_than", "999999999999999999 d", 0).is_err());
    }

    #[test]
    fn sizes_of_arguments_are_those_of_options() {
        assert_eq!(size_argument("memory_limit", "128 MB").unwrap(), 128 << 20);
        assert_eq!(size_argument("memory_limit", "1 apple").unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}
