//! How option values are written: sizes, durations, lists, maps and enums.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};

/// Declares an enum whose values have names in option texts.
macro_rules! option_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant),+ }

        impl $name {
            /// The texts that options accept.
            pub const TEXTS: &'static [&'static str] = &[$($text),+];

            /// From an option text; case does not matter, `_` and `-` are the same (new tables must have the exact text).
            pub fn parse(text: &str) -> Result<Self> {
                let given = text.trim().to_ascii_lowercase().replace('_', "-");
                $(if given == $text.replace('_', "-") {
                    return Ok(Self::$variant);
                })+
                Err(not_one_of(text, Self::TEXTS))
            }

            /// The text of this value.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }
    };
}

option_enum! {
    /// `merge-engine`
    MergeEngine {
        /// The last row wins.
        Deduplicate = "deduplicate",
        /// Columns are filled one by one.
        PartialUpdate = "partial-update",
        /// Columns are combined by functions.
        Aggregation = "aggregation",
        /// The first row wins.
        FirstRow = "first-row",
    }
}

option_enum! {
    /// `siltstone.variant`: in what form users get values of the type VARIANT
    VariantForm {
        /// As JSON text.
        Json = "json",
        /// As the two binaries `value` and `metadata`.
        Binary = "binary",
    }
}

option_enum! {
    /// `changelog-producer`
    ChangelogProducer {
        /// No changelog files.
        None = "none",
        /// The input, as written.
        Input = "input",
        /// From full compactions.
        FullCompaction = "full-compaction",
        /// From compactions that look up older values.
        Lookup = "lookup",
    }
}

option_enum! {
    /// `lookup-compact`
    LookupCompact {
        /// Level 0 is compacted whenever there is something in it.
        Radical = "radical",
        /// Level 0 is compacted at intervals.
        Gentle = "gentle",
    }
}

option_enum! {
    /// `sequence.field.sort-order`
    SortOrder {
        /// The largest value wins.
        Ascending = "ascending",
        /// The smallest value wins.
        Descending = "descending",
    }
}

option_enum! {
    /// `bucket-function.type`
    BucketFunctionType {
        /// Murmur hash of the key's row form.
        Default = "default",
        /// Floor modulus of one integer.
        Mod = "mod",
        /// Hive's hash.
        Hive = "hive",
    }
}

option_enum! {
    /// `scan.mode`
    ScanMode {
        /// By the other `scan.*` options, else the latest state.
        Default = "default",
        /// The latest state.
        LatestFull = "latest-full",
        /// Older name of `latest-full`.
        Full = "full",
        /// Changes from now on.
        Latest = "latest",
        /// The latest state at the last compaction.
        CompactedFull = "compacted-full",
        /// The state at a time.
        FromTimestamp = "from-timestamp",
        /// Files created since a time.
        FromFileCreationTime = "from-file-creation-time",
        /// The first snapshot created since a time.
        FromCreationTimestamp = "from-creation-timestamp",
        /// The state at a snapshot.
        FromSnapshot = "from-snapshot",
        /// The state at a snapshot, also for streams.
        FromSnapshotFull = "from-snapshot-full",
        /// Changes between two versions.
        Incremental = "incremental",
        /// What the latest snapshot added.
        LatestDelta = "latest-delta",
    }
}

option_enum! {
    /// `incremental-between-scan-mode`
    IncrementalMode {
        /// The changelog where the table has one, else the new files.
        Auto = "auto",
        /// The files that APPEND snapshots added.
        Delta = "delta",
        /// The changelog files.
        Changelog = "changelog",
        /// The two states, compared row by row.
        Diff = "diff",
    }
}

option_enum! {
    /// `partition.expiration-strategy`
    PartitionExpireStrategy {
        /// By the time that the partition's values say.
        ValuesTime = "values-time",
        /// By the newest file of the partition.
        UpdateTime = "update-time",
    }
}

option_enum! {
    /// `snapshot.expire.execution-mode`
    ExpireMode {
        /// Before the commit returns.
        Sync = "sync",
        /// After commits of streams, in the background.
        Async = "async",
    }
}

option_enum! {
    /// `tag.automatic-creation`
    TagCreation {
        /// Only when asked.
        None = "none",
        /// By the time of commits.
        ProcessTime = "process-time",
        /// By the watermark of snapshots.
        Watermark = "watermark",
        /// After each batch commit.
        Batch = "batch",
    }
}

option_enum! {
    /// `tag.creation-period`
    TagPeriod {
        /// Each day.
        Daily = "daily",
        /// Each hour.
        Hourly = "hourly",
        /// Each even hour.
        TwoHours = "two-hours",
    }
}

option_enum! {
    /// `tag.period-formatter`
    TagFormatter {
        /// `2024-05-01`, `2024-05-01 12`
        WithDashes = "with_dashes",
        /// `20240501`, `20240501 12`
        WithoutDashes = "without_dashes",
        /// `20240501`, `2024050112`
        WithoutDashesAndSpaces = "without_dashes_and_spaces",
    }
}

fn not_one_of(text: &str, allowed: &[&str]) -> Error {
    Error::new(ErrorKind::InvalidOption, format!("'{text}' is not a value of this option"))
        .hint(format!("use one of: {}", allowed.join(", ")))
}

/// `true` or `false`, in any case.
pub fn parse_bool(text: &str) -> Result<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(not_one_of(text, &["true", "false"])),
    }
}

/// A size in bytes: `128 mb`, `64kb`, `1 g`, `500 B`, or a plain number of bytes.
pub fn parse_size(text: &str) -> Result<u64> {
    let (number, unit) = split_number(text, "a size such as '128 mb'")?;
    let factor: u64 = match unit.as_str() {
        "" | "b" | "bytes" => 1,
        "k" | "kb" | "kibibytes" => 1 << 10,
        "m" | "mb" | "mebibytes" => 1 << 20,
        "g" | "gb" | "gibibytes" => 1 << 30,
        "t" | "tb" | "tebibytes" => 1 << 40,
        _ => {
            return Err(invalid(text, "a size such as '128 mb'").hint("units: b, kb, mb, gb, tb"));
        }
    };
    let bytes = number.checked_mul(factor).filter(|b| i64::try_from(*b).is_ok());
    bytes.ok_or_else(|| invalid(text, "a size below 8 exbibytes"))
}

/// A duration: `10 min`, `1h`, `7 d`, `500 ms`, a plain number of milliseconds, or ISO-8601 (`PT10M`, `P1DT2H`).
pub fn parse_duration(text: &str) -> Result<Duration> {
    if text.trim_start().starts_with(['P', 'p']) {
        return parse_iso_duration(text);
    }
    let (number, unit) = split_number(text, "a duration such as '10 min'")?;
    let nanos_per_unit: u64 = match unit.as_str() {
        "ns" | "nano" | "nanos" | "nanosecond" | "nanoseconds" => 1,
        "µs" | "us" | "micro" | "micros" | "microsecond" | "microseconds" => 1_000,
        "" | "ms" | "milli" | "millis" | "millisecond" | "milliseconds" => 1_000_000,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000_000_000,
        "m" | "min" | "minute" | "minutes" => 60_000_000_000,
        "h" | "hour" | "hours" => 3_600_000_000_000,
        "d" | "day" | "days" => 86_400_000_000_000,
        _ => {
            return Err(invalid(text, "a duration such as '10 min'").hint("units: ns, µs, ms (default), s, min, h, d"));
        }
    };
    Ok(times(number, nanos_per_unit))
}

fn times(number: u64, nanos_per_unit: u64) -> Duration {
    let nanos = u128::from(number) * u128::from(nanos_per_unit);
    let seconds = u64::try_from(nanos / 1_000_000_000).unwrap_or(u64::MAX);
    let rest = u32::try_from(nanos % 1_000_000_000).unwrap_or(0);
    Duration::new(seconds, rest)
}

/// `hh:mm` as the time since midnight.
pub(super) fn parse_time_of_day(text: &str) -> Result<Duration> {
    let wrong = || invalid(text, "a time of day such as '02:30'");
    let (hours, minutes) = text.trim().split_once(':').ok_or_else(wrong)?;
    let number = |part: &str, below: u64| part.parse::<u64>().ok().filter(|n| *n < below && part.len() <= 2);
    let (hours, minutes) = (number(hours, 24).ok_or_else(wrong)?, number(minutes, 60).ok_or_else(wrong)?);
    Ok(Duration::from_secs(hours * 3600 + minutes * 60))
}

/// A duration of one or more whole days.
pub(super) fn parse_days(text: &str) -> Result<Duration> {
    let duration = parse_duration(text)?;
    let whole = duration.subsec_nanos() == 0 && duration.as_secs() % 86_400 == 0;
    if whole && !duration.is_zero() { Ok(duration) } else { Err(invalid(text, "a whole number of days such as '7 d'")) }
}

/// `P[nD][T[nH][nM][n[.n]S]]`
fn parse_iso_duration(text: &str) -> Result<Duration> {
    let wrong = || invalid(text, "a duration such as '10 min' or 'PT10M'");
    let upper = text.trim().to_ascii_uppercase();
    let body = upper.strip_prefix('P').ok_or_else(wrong)?;
    let (mut total, mut number, mut in_time, mut any) = (Duration::ZERO, String::new(), false, false);
    for c in body.chars() {
        let unit = match (c, in_time) {
            ('0'..='9' | '.', _) => {
                number.push(c);
                continue;
            }
            ('T', false) if number.is_empty() => {
                in_time = true;
                continue;
            }
            ('D', false) => 86_400.0,
            ('H', true) => 3_600.0,
            ('M', true) => 60.0,
            ('S', true) => 1.0,
            _ => return Err(wrong()),
        };
        let value: f64 = number.parse().map_err(|_| wrong())?;
        let part = Duration::try_from_secs_f64(value * unit).map_err(|_| wrong())?;
        total = total.checked_add(part).ok_or_else(wrong)?;
        number.clear();
        any = true;
    }
    if any && number.is_empty() { Ok(total) } else { Err(wrong()) }
}

/// `12 mb` → (12, "mb")
fn split_number(text: &str, expected: &str) -> Result<(u64, String)> {
    let trimmed = text.trim();
    let digits = trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let number: i64 = number.parse().map_err(|_| invalid(text, expected))?;
    let number = u64::try_from(number).map_err(|_| invalid(text, expected))?;
    Ok((number, unit.trim().to_lowercase()))
}

/// The error for a text that is not what the option wants.
pub(super) fn invalid(text: &str, expected: &str) -> Error {
    Error::new(ErrorKind::InvalidOption, format!("'{text}' is not {expected}"))
}

/// `a, b ,c` → a, b, c; empty parts are left out.
pub fn parse_list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// An error for a list with a part that names nothing: Java takes it for the name of a column. Commas at the end are fine.
pub fn check_list(key: &str, text: &str) -> Result<()> {
    let parts = text.trim_end_matches([',', ' ']);
    if parts.split(',').any(|part| part.trim().is_empty()) {
        return Err(Error::new(ErrorKind::InvalidOption, format!("a name is missing in '{key}' = '{text}'"))
            .with("option", key)
            .hint("write names with a comma between them, or leave the option out"));
    }
    Ok(())
}

/// `0:avro,5:parquet` → level to value.
pub fn parse_level_map(text: &str) -> Result<BTreeMap<i32, String>> {
    let expected = "a map such as '0:avro,5:parquet'";
    let mut map = BTreeMap::new();
    for part in parse_list(text) {
        let (level, value) = part.split_once(':').ok_or_else(|| invalid(text, expected))?;
        let level = level.trim().parse().map_err(|_| invalid(text, expected))?;
        map.insert(level, value.trim().to_owned());
    }
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_binary_units_and_default_to_bytes() {
        for (text, bytes) in [("128 mb", 128 << 20), ("64kb", 64 << 10), ("500 B", 500), ("7", 7), ("1 G", 1 << 30)] {
            assert_eq!(parse_size(text).unwrap(), bytes, "{text}");
        }
        for text in ["", "mb", "-1", "1.5 gb", "3 apples", "9223372036854775807 gb"] {
            assert_eq!(parse_size(text).unwrap_err().kind(), ErrorKind::InvalidOption, "{text}");
        }
    }

    #[test]
    fn durations_have_units_default_to_milliseconds_and_may_be_iso() {
        for (text, seconds) in [("1 h", 3600), ("10min", 600), ("30 d", 2_592_000), ("2000", 2), ("PT1H", 3600)] {
            assert_eq!(parse_duration(text).unwrap(), Duration::from_secs(seconds), "{text}");
        }
        assert_eq!(parse_duration("P1DT2H3M4.5S").unwrap(), Duration::from_millis(93_784_500));
        let too_long = format!("P{0}D{0}D", 200_000_000_000_000_u64);
        for text in ["", "h", "P", "PT", "P1", "PT1D", "5 weeks", "-1 h", &too_long] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn enums_ignore_case_and_name_their_values_when_they_fail() {
        assert_eq!(MergeEngine::parse("Partial-Update").unwrap(), MergeEngine::PartialUpdate);
        assert_eq!(MergeEngine::parse("FIRST_ROW").unwrap(), MergeEngine::FirstRow);
        let error = MergeEngine::parse("dedup").unwrap_err();
        assert!(error.hint_text().unwrap().contains("deduplicate"));
    }

    #[test]
    fn lists_and_level_maps_are_split_at_commas() {
        assert_eq!(parse_list(" a, b ,,c"), ["a", "b", "c"]);
        assert_eq!(parse_level_map("0:avro, 5 : orc").unwrap()[&5], "orc");
        assert!(parse_level_map("avro").is_err());
    }
}
