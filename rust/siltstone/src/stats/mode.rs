//! How much of a column's statistics is stored, and how long bounds are cut (format chapter 5.6).

use std::collections::BTreeMap;

use super::ColumnStats;
use crate::{
    error::{Error, ErrorKind, Result},
    options::CoreOptions,
    row::Datum,
};

/// Option `metadata.stats-mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StatsMode {
    /// Nothing.
    None,
    /// Null counts only.
    Counts,
    /// Null counts, min and max; texts cut to this many characters, binaries to this many bytes.
    Truncate(usize),
    /// Null counts, min and max.
    Full,
}

/// The mode of system columns, whatever the table's mode is.
const SYSTEM_COLUMNS: StatsMode = StatsMode::Truncate(128);

impl StatsMode {
    /// `none`, `counts`, `full`, `truncate(n)`, in any case.
    pub fn parse(text: &str) -> Result<Self> {
        let lower = text.trim().to_ascii_lowercase();
        let length = lower.strip_prefix("truncate(").and_then(|rest| rest.strip_suffix(')'));
        match (lower.as_str(), length.map(|n| n.trim().parse::<usize>())) {
            ("none", _) => Ok(Self::None),
            ("counts", _) => Ok(Self::Counts),
            ("full", _) => Ok(Self::Full),
            (_, Some(Ok(n))) if n > 0 => Ok(Self::Truncate(n)),
            _ => Err(Error::new(
                ErrorKind::InvalidOption,
                format!("the statistics mode '{text}' is not one of none, counts, full, truncate(n) with n > 0"),
            )),
        }
    }

    /// What this mode leaves of complete statistics.
    pub fn apply_mode(self, stats: ColumnStats) -> ColumnStats {
        match self {
            Self::None => ColumnStats::unknown(),
            Self::Counts => ColumnStats { null_count: stats.null_count, ..ColumnStats::unknown() },
            Self::Full => stats,
            Self::Truncate(n) => truncate(stats, n),
        }
    }
}

/// Shorter bounds: the minimum's first `n` characters; for the maximum the least text of at most `n` characters above
/// all that begin so. When there is none, both bounds are given up.
fn truncate(stats: ColumnStats, n: usize) -> ColumnStats {
    let max = match &stats.max {
        Datum::String(text) => truncate_max_text(text, n).map(Datum::String),
        Datum::Bytes(bytes) => truncate_max_bytes(bytes, n).map(Datum::Bytes),
        other => Some(other.clone()),
    };
    let Some(max) = max else {
        return ColumnStats { null_count: stats.null_count, ..ColumnStats::unknown() };
    };
    let min = match stats.min {
        Datum::String(text) => Datum::String(first_chars(&text, n).to_owned()),
        Datum::Bytes(mut bytes) => {
            bytes.truncate(n);
            Datum::Bytes(bytes)
        }
        other => other,
    };
    ColumnStats { min, max, null_count: stats.null_count }
}

fn first_chars(text: &str, n: usize) -> &str {
    let end = text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

fn truncate_max_text(text: &str, n: usize) -> Option<String> {
    let prefix = first_chars(text, n);
    if prefix.len() == text.len() {
        return Some(text.to_owned());
    }
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        if let Some(next) = next_char(last) {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}

/// The next code point that UTF-8 can hold. Java goes into the surrogates here, and its bound is then too small.
fn next_char(c: char) -> Option<char> {
    match c {
        '\u{d7ff}' => Some('\u{e000}'),
        c => char::from_u32(u32::from(c) + 1),
    }
}

fn truncate_max_bytes(bytes: &[u8], n: usize) -> Option<Vec<u8>> {
    let Some(prefix) = bytes.get(..n).filter(|prefix| prefix.len() < bytes.len()) else {
        return Some(bytes.to_vec());
    };
    let mut prefix = prefix.to_vec();
    while let Some(last) = prefix.pop() {
        if let Some(next) = last.checked_add(1) {
            prefix.push(next);
            return Some(prefix);
        }
    }
    None
}

/// The options that decide a column's mode (5.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatsModeRules {
    /// `metadata.stats-mode`, or the one of the level or of changelog files.
    pub default: StatsMode,
    /// `fields.<col>.stats-mode`
    pub per_column: BTreeMap<String, StatsMode>,
    /// `metadata.stats-keep-first-n-columns`; negative = all
    pub keep_first_n: i32,
    /// System columns always get `truncate(128)`; not so in Avro files.
    pub system_columns: bool,
}

impl StatsModeRules {
    /// The rules for files of one level, or for changelog files; they describe system columns.
    pub fn from_options(options: &CoreOptions, level: Option<i32>, changelog: bool) -> Result<Self> {
        let of_changelog = options.changelog_stats_mode.as_deref().filter(|_| changelog);
        let default = of_changelog.unwrap_or_else(|| options.stats_mode_of_level(level));
        let parsed = |(name, mode): (&String, &String)| {
            let mode = StatsMode::parse(mode).map_err(|e| e.with("option", format!("fields.{name}.stats-mode")))?;
            Ok((name.clone(), mode))
        };
        Ok(Self {
            default: StatsMode::parse(default).map_err(|e| e.with("option", "metadata.stats-mode"))?,
            per_column: options.field_stats_mode.iter().map(parsed).collect::<Result<_>>()?,
            keep_first_n: options.stats_keep_first_n_columns,
            system_columns: true,
        })
    }
}

/// The mode of each column; `is_system` marks the system columns (`_KEY_*`, sequence number, ...) and, in thin mode,
/// key columns.
pub fn stats_modes(rules: &StatsModeRules, names: &[&str], is_system: &dyn Fn(&str) -> bool) -> Vec<StatsMode> {
    let limit = usize::try_from(rules.keep_first_n).ok();
    let mut counted = 0;
    let mut mode_of = |name: &str| {
        if let Some(mode) = rules.per_column.get(name) {
            return *mode;
        }
        if rules.system_columns && is_system(name) {
            return SYSTEM_COLUMNS;
        }
        if limit.is_some_and(|limit| counted >= limit) {
            return StatsMode::None;
        }
        counted += 1;
        rules.default
    };
    names.iter().map(|name| mode_of(name)).collect()
}
