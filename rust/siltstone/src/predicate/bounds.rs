//! A predicate over single values (partitions) and over bounds (statistics).
//!
//! Bounds may be wider than the values: truncated text has a prefix as its minimum and a raised prefix as its
//! maximum. A null bound is unknown. Many writers leave NaN, the greatest float, out of statistics: then the column has
//! no maximum for the purposes of this module, and whoever makes the bounds leaves it null.

use std::cmp::Ordering;

use super::{
    CompareOp, Predicate,
    like::{Pattern, Steps},
    values::compare_values,
};
use crate::row::Datum;

/// What statistics say about one column of a file, row group or page. `Datum::Null` = unknown bound.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnBounds {
    /// no value is below
    pub min: Datum,
    /// no value is above, NaN included
    pub max: Datum,
    /// number of nulls; `None` = unknown
    pub null_count: Option<i64>,
}

/// Whether some row of a unit with these bounds may satisfy the predicate; `bounds` gives `None` for a column of
/// which nothing is known. Never false when a row matches.
pub fn may_match(predicate: &Predicate, bounds: &dyn Fn(&str) -> Option<ColumnBounds>, row_count: i64) -> bool {
    match predicate {
        Predicate::Constant(value) => *value,
        Predicate::And(parts) => parts.iter().all(|p| may_match(p, bounds, row_count)),
        Predicate::Or(parts) => parts.iter().any(|p| may_match(p, bounds, row_count)),
        Predicate::Not(_) => match predicate.clone().without_not() {
            Predicate::Not(_) => true,
            plain => may_match(&plain, bounds, row_count),
        },
        // nobody keeps bounds of the values of a key
        Predicate::OfKey { .. } => true,
        Predicate::IsNull(column) => bounds(column).is_none_or(|b| b.null_count != Some(0)),
        Predicate::IsNotNull(column) => bounds(column).is_none_or(|b| !b.all_null(row_count)),
        Predicate::Compare { column, op, value } => {
            bounds(column).is_none_or(|b| !b.all_null(row_count) && b.may_compare(*op, value))
        }
        Predicate::In { column, values, negated } => bounds(column).is_none_or(|b| {
            !b.all_null(row_count) && {
                let (min, max) = b.usable();
                let is_one_value = compare_values(&min, &max) == Some(Ordering::Equal);
                if *negated { !(is_one_value && values.has(&min)) } else { values.may_be_within(&min, &max) }
            }
        }),
        Predicate::Like { column, pattern, escape, negated } => bounds(column)
            .is_none_or(|b| !b.all_null(row_count) && (*negated || b.may_like(&Pattern::new(pattern, *escape)))),
    }
}

impl ColumnBounds {
    fn all_null(&self, row_count: i64) -> bool {
        self.null_count == Some(row_count)
    }

    fn may_compare(&self, op: CompareOp, value: &Datum) -> bool {
        let (min, max) = self.usable();
        let low = compare_values(&min, value);
        let high = compare_values(&max, value);
        match op {
            CompareOp::Eq => low.is_none_or(Ordering::is_le) && high.is_none_or(Ordering::is_ge),
            CompareOp::NotEq => !(low == Some(Ordering::Equal) && high == Some(Ordering::Equal)),
            CompareOp::Lt => low.is_none_or(Ordering::is_lt),
            CompareOp::LtEq => low.is_none_or(Ordering::is_le),
            CompareOp::Gt => high.is_none_or(Ordering::is_gt),
            CompareOp::GtEq => high.is_none_or(Ordering::is_ge),
        }
    }

    /// Minimum and maximum as far as they can be trusted.
    fn usable(&self) -> (Datum, Datum) {
        let contradictory = compare_values(&self.min, &self.max) == Some(Ordering::Greater);
        if contradictory || is_nan(&self.min) || is_nan(&self.max) {
            return (Datum::Null, Datum::Null);
        }
        (self.min.clone(), raised(&self.max))
    }

    fn may_like(&self, pattern: &Pattern) -> bool {
        let (min, max) = self.usable();
        let (prefix, whole) = pattern.prefix();
        if whole {
            return self.may_compare(CompareOp::Eq, &Datum::String(prefix));
        }
        let above = matches!(&min, Datum::String(min) if min.as_str() > prefix.as_str() && !min.starts_with(&prefix));
        let below = matches!(&max, Datum::String(max) if max.as_str() < prefix.as_str());
        !above && !below
    }
}

/// Java raises the character U+D7FF of a truncated maximum to a lone surrogate, which becomes `?` in UTF-8: a
/// maximum that ends in `?` may be too small.
fn raised(max: &Datum) -> Datum {
    match max {
        Datum::String(text) => match text.strip_suffix('?') {
            Some(prefix) => Datum::String(format!("{prefix}\u{E000}")),
            None => max.clone(),
        },
        other => other.clone(),
    }
}

fn is_nan(value: &Datum) -> bool {
    matches!(value, Datum::Float(v) if v.is_nan()) || matches!(value, Datum::Double(v) if v.is_nan())
}

/// The predicate over one row: `None` is SQL's unknown. A column that `value` does not know counts as unknown.
pub fn matches_datums(predicate: &Predicate, value: &dyn Fn(&str) -> Option<Datum>) -> Option<bool> {
    match predicate {
        Predicate::Constant(constant) => Some(*constant),
        Predicate::And(parts) => junction(parts, value, false),
        Predicate::Or(parts) => junction(parts, value, true),
        Predicate::Not(inner) => matches_datums(inner, value).map(|m| !m),
        Predicate::OfKey { .. } => None,
        Predicate::IsNull(column) => value(column).map(|v| v.is_null()),
        Predicate::IsNotNull(column) => value(column).map(|v| !v.is_null()),
        Predicate::Compare { column, op, value: literal } => {
            compare_values(&value(column)?, literal).map(|order| op.holds(order))
        }
        Predicate::In { column, values, negated } => {
            let found = value(column)?;
            if found.is_null() {
                return None;
            }
            if values.has(&found) {
                return Some(!negated);
            }
            if values.has_null() { None } else { Some(*negated) }
        }
        Predicate::Like { column, pattern, escape, negated } => match value(column)? {
            // stopped in the middle is unknown; whoever asks next stops
            Datum::String(text) => {
                let found = Pattern::new(pattern, *escape).matches(&text, &mut Steps::default()).ok()?;
                Some(found != *negated)
            }
            _ => None,
        },
    }
}

/// OR (`decides` = true) or AND (false): one part that decides is enough, else unknown spreads.
fn junction(parts: &[Predicate], value: &dyn Fn(&str) -> Option<Datum>, decides: bool) -> Option<bool> {
    let mut unknown = false;
    for part in parts {
        match matches_datums(part, value) {
            Some(result) if result == decides => return Some(decides),
            Some(_) => {}
            None => unknown = true,
        }
    }
    if unknown { None } else { Some(!decides) }
}

#[cfg(test)]
mod tests;
