//! Minimum, maximum and null count of one column.

use crate::row::{Datum, compare_datums};

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

    /// No value yet, for [`ColumnStats::add`].
    pub fn none_yet() -> Self {
        Self::all_null(0)
    }

    /// Whether nothing at all is known.
    pub fn is_unknown(&self) -> bool {
        self.min.is_null() && self.max.is_null() && self.null_count.is_none()
    }

    /// Whether it is certain that all of `rows` values are null.
    pub fn is_all_null(&self, rows: i64) -> bool {
        self.null_count.is_some_and(|n| n >= rows)
    }

    /// Takes in the statistics of `other_rows` more rows; `self` describes `rows`. A side without bounds leaves the
    /// result without, unless all its values are null.
    pub fn merge(&mut self, rows: i64, other: &Self, other_rows: i64) {
        if self.is_all_null(rows) {
            (self.min, self.max) = (other.min.clone(), other.max.clone());
        } else if !other.is_all_null(other_rows) {
            merge_bound(&mut self.min, &other.min, |new, old| compare_datums(new, old).is_lt());
            merge_bound(&mut self.max, &other.max, |new, old| compare_datums(new, old).is_gt());
        }
        self.null_count = self.null_count.zip(other.null_count).map(|(a, b)| a.saturating_add(b));
    }

    /// Takes one value in; start from [`ColumnStats::none_yet`].
    pub fn add(&mut self, value: &Datum) {
        if value.is_null() {
            self.null_count = self.null_count.map(|n| n.saturating_add(1));
            return;
        }
        if self.min.is_null() || compare_datums(value, &self.min).is_lt() {
            self.min = value.clone();
        }
        if self.max.is_null() || compare_datums(value, &self.max).is_gt() {
            self.max = value.clone();
        }
    }
}

fn merge_bound(bound: &mut Datum, other: &Datum, wider: impl Fn(&Datum, &Datum) -> bool) {
    if bound.is_null() || other.is_null() {
        *bound = Datum::Null;
    } else if wider(other, bound) {
        *bound = other.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(min: i32, max: i32, nulls: i64) -> ColumnStats {
        ColumnStats { min: Datum::Int(min), max: Datum::Int(max), null_count: Some(nulls) }
    }

    #[test]
    fn merging_widens_the_bounds_and_adds_the_nulls() {
        let mut merged = stats(3, 5, 1);
        merged.merge(10, &stats(1, 4, 2), 10);
        assert_eq!(merged, stats(1, 5, 3));
    }

    #[test]
    fn a_side_of_nulls_only_keeps_the_other_sides_bounds() {
        let mut merged = ColumnStats::all_null(10);
        merged.merge(10, &stats(1, 4, 0), 5);
        assert_eq!(merged, stats(1, 4, 10));
        merged.merge(15, &ColumnStats::all_null(2), 2);
        assert_eq!(merged, stats(1, 4, 12));
    }

    #[test]
    fn a_side_without_bounds_takes_them_away() {
        let mut merged = stats(3, 5, 1);
        merged.merge(10, &ColumnStats { null_count: Some(1), ..ColumnStats::unknown() }, 10);
        assert_eq!(merged, ColumnStats { null_count: Some(2), ..ColumnStats::unknown() });
        let mut merged = stats(3, 5, 1);
        merged.merge(10, &ColumnStats::unknown(), 10);
        assert!(merged.is_unknown());
    }

    #[test]
    fn adding_values_collects_them() {
        let mut collected = ColumnStats::none_yet();
        for value in [Datum::Int(4), Datum::Null, Datum::Int(-1)] {
            collected.add(&value);
        }
        assert_eq!(collected, stats(-1, 4, 1));
    }
}
