//! A predicate over single values (partitions) and over bounds (statistics).

use std::cmp::Ordering;

use super::Predicate;
use crate::row::Datum;

/// What statistics say about one column of a file, row group or page. `Datum::Null` = unknown bound.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnBounds {
    /// no value is below
    pub min: Datum,
    /// no value is above
    pub max: Datum,
    /// number of nulls; `None` = unknown
    pub null_count: Option<i64>,
}

/// Whether some row of a unit with these bounds may satisfy the predicate; `bounds` gives `None` for a column of
/// which nothing is known. Never false when a row matches.
pub fn may_match(_predicate: &Predicate, _bounds: &dyn Fn(&str) -> Option<ColumnBounds>, _row_count: i64) -> bool {
    true
}

/// The predicate over one row: `None` is SQL's unknown. A column that `value` does not know counts as unknown.
pub fn matches_datums(_predicate: &Predicate, _value: &dyn Fn(&str) -> Option<Datum>) -> Option<bool> {
    None
}

/// Order of two values of one type as predicates see it: NaN greatest, -0.0 equal to 0.0; `None` for null or
/// values of different types.
pub fn compare_values(_a: &Datum, _b: &Datum) -> Option<Ordering> {
    None
}
