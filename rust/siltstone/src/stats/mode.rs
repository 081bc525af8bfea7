//! How much of a column's statistics is stored.

use std::collections::BTreeMap;

use super::ColumnStats;
use crate::error::{Error, ErrorKind, Result};

/// Option `metadata.stats-mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StatsMode {
    /// Nothing.
    None,
    /// Null counts only.
    Counts,
    /// Null counts, min and max; texts and bytes cut to this length.
    Truncate(usize),
    /// Null counts, min and max.
    Full,
}

impl StatsMode {
    /// `none`, `counts`, `full`, `truncate(n)`, in any case.
    pub fn parse(_text: &str) -> Result<Self> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }

    /// What this mode leaves of complete statistics.
    pub fn apply_mode(self, stats: ColumnStats) -> ColumnStats {
        stats
    }
}

/// The options that decide a column's mode (5.6). `options` is a layer neighbour of `row`, so a caller fills this
/// from its `CoreOptions`.
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

/// The mode of each column; `is_system` marks the system columns (`_KEY_*`, sequence number, ...) and, in thin mode,
/// key columns.
pub fn stats_modes(_rules: &StatsModeRules, _names: &[&str], _is_system: &dyn Fn(&str) -> bool) -> Vec<StatsMode> {
    Vec::new()
}
