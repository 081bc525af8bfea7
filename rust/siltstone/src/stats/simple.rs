//! `SimpleStats`: min, max and null count of some columns, undecoded until somebody asks.

use std::sync::LazyLock;

use crate::shared::Shared;

/// One record of `_KEY_STATS`, `_VALUE_STATS` or `_PARTITION_STATS`.
pub type SimpleStats = Shared<StatsFields>;

/// What it says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StatsFields {
    /// Serialized `BinaryRow` (arity prefix included) of the minima; null = unknown.
    pub min_values: Vec<u8>,
    /// Serialized `BinaryRow` of the maxima.
    pub max_values: Vec<u8>,
    /// Null counts, in the order of the rows' columns; `None` = unknown.
    pub null_counts: Vec<Option<i64>>,
}

impl SimpleStats {
    /// Statistics of no column: two rows of arity 0.
    pub fn empty() -> Self {
        static EMPTY: LazyLock<SimpleStats> = LazyLock::new(|| {
            StatsFields { min_values: vec![0; 12], max_values: vec![0; 12], null_counts: Vec::new() }.into()
        });
        EMPTY.clone()
    }
}
