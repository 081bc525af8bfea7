//! The predicate tree.

use std::cmp::Ordering;

use super::{like::Pattern, listed::ValueList};
use crate::row::Datum;

/// A comparison of a column with a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// =
    Eq,
    /// <>
    NotEq,
    /// <
    Lt,
    /// <=
    LtEq,
    /// >
    Gt,
    /// >=
    GtEq,
}

/// A condition over columns named as in the table schema. Literals already have the column's type.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// Always true (`true`) or never (`false`).
    Constant(bool),
    /// column op literal; null literal or value gives unknown
    Compare {
        /// column name
        column: String,
        /// operator
        op: CompareOp,
        /// literal, never null
        value: Datum,
    },
    /// column IS NULL
    IsNull(String),
    /// column IS NOT NULL
    IsNotNull(String),
    /// column IN (values)
    In {
        /// column name
        column: String,
        /// literals; a null among them makes a miss unknown
        values: ValueList,
        /// NOT IN
        negated: bool,
    },
    /// column LIKE pattern (`%`, `_`, optional escape)
    Like {
        /// column name
        column: String,
        /// SQL pattern
        pattern: String,
        /// escape character
        escape: Option<char>,
        /// NOT LIKE
        negated: bool,
    },
    /// of the value that a map has for a key; null where the map is null or has no such key
    OfKey {
        /// column name
        column: String,
        /// the key
        key: Datum,
        /// a condition on one column, `value`
        of: Box<Predicate>,
    },
    /// all of them
    And(Vec<Predicate>),
    /// one of them
    Or(Vec<Predicate>),
    /// SQL NOT: unknown stays unknown
    Not(Box<Predicate>),
}

impl CompareOp {
    /// The operator that is true exactly when this one is false.
    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            Self::Eq => Self::NotEq,
            Self::NotEq => Self::Eq,
            Self::Lt => Self::GtEq,
            Self::LtEq => Self::Gt,
            Self::Gt => Self::LtEq,
            Self::GtEq => Self::Lt,
        }
    }

    /// The operator with its sides exchanged: `1 < a` is `a > 1`.
    #[must_use]
    pub fn flipped(self) -> Self {
        match self {
            Self::Eq | Self::NotEq => self,
            Self::Lt => Self::Gt,
            Self::LtEq => Self::GtEq,
            Self::Gt => Self::Lt,
            Self::GtEq => Self::LtEq,
        }
    }

    /// Whether the operator holds for a column value that compares to the literal like this.
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Eq => order.is_eq(),
            Self::NotEq => order.is_ne(),
            Self::Lt => order.is_lt(),
            Self::LtEq => order.is_le(),
            Self::Gt => order.is_gt(),
            Self::GtEq => order.is_ge(),
        }
    }
}

impl Predicate {
    /// All of `parts`, flattened and simplified; no part is true.
    pub fn all(parts: impl IntoIterator<Item = Self>) -> Self {
        Self::combine(parts, true)
    }

    /// One of `parts`, flattened and simplified; no part is false.
    pub fn any(parts: impl IntoIterator<Item = Self>) -> Self {
        Self::combine(parts, false)
    }

    fn combine(parts: impl IntoIterator<Item = Self>, all: bool) -> Self {
        let mut kept = Vec::new();
        for part in parts {
            match part {
                Self::Constant(value) if value == all => {}
                Self::Constant(value) => return Self::Constant(value),
                Self::And(inner) if all => kept.extend(inner),
                Self::Or(inner) if !all => kept.extend(inner),
                other => kept.push(other),
            }
        }
        match (kept.len(), kept.pop()) {
            (1, Some(only)) => only,
            (_, None) => Self::Constant(all),
            (_, Some(last)) => {
                kept.push(last);
                if all { Self::And(kept) } else { Self::Or(kept) }
            }
        }
    }

    /// Names of the columns it looks at, each once, in order of appearance.
    pub fn columns(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.collect_columns(&mut names);
        names
    }

    fn collect_columns<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Self::Constant(_) => {}
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|p| p.collect_columns(names)),
            Self::Not(inner) => inner.collect_columns(names),
            Self::Compare { column, .. }
            | Self::IsNull(column)
            | Self::IsNotNull(column)
            | Self::In { column, .. }
            | Self::OfKey { column, .. }
            | Self::Like { column, .. } => {
                if !names.contains(&column.as_str()) {
                    names.push(column);
                }
            }
        }
    }

    /// The same condition on columns of other names.
    #[must_use]
    pub fn renamed(&self, name: &dyn Fn(&str) -> String) -> Self {
        match self.clone() {
            Self::Constant(value) => Self::Constant(value),
            Self::And(parts) => Self::And(parts.iter().map(|part| part.renamed(name)).collect()),
            Self::Or(parts) => Self::Or(parts.iter().map(|part| part.renamed(name)).collect()),
            Self::Not(inner) => Self::Not(Box::new(inner.renamed(name))),
            Self::Compare { column, op, value } => Self::Compare { column: name(&column), op, value },
            Self::IsNull(column) => Self::IsNull(name(&column)),
            Self::IsNotNull(column) => Self::IsNotNull(name(&column)),
            Self::In { column, values, negated } => Self::In { column: name(&column), values, negated },
            Self::OfKey { column, key, of } => Self::OfKey { column: name(&column), key, of },
            Self::Like { column, pattern, escape, negated } => {
                Self::Like { column: name(&column), pattern, escape, negated }
            }
        }
    }

    /// The parts that must all hold; a predicate that is no AND is its only part.
    pub fn conjuncts(self) -> Vec<Self> {
        match self {
            Self::And(parts) => parts.into_iter().flat_map(Self::conjuncts).collect(),
            Self::Constant(true) => Vec::new(),
            other => vec![other],
        }
    }

    /// The same condition on rows (unknown counts as false) without any `Not`.
    #[must_use]
    pub fn without_not(self) -> Self {
        self.push_not(false)
    }

    fn push_not(self, negate: bool) -> Self {
        match self {
            Self::Constant(value) => Self::Constant(value != negate),
            Self::Not(inner) => inner.push_not(!negate),
            Self::And(parts) => Self::combine(parts.into_iter().map(|p| p.push_not(negate)), !negate),
            Self::Or(parts) => Self::combine(parts.into_iter().map(|p| p.push_not(negate)), negate),
            other if !negate => other,
            Self::Compare { column, op, value } => Self::Compare { column, op: op.negated(), value },
            Self::IsNull(column) => Self::IsNotNull(column),
            Self::IsNotNull(column) => Self::IsNull(column),
            Self::In { column, values, negated } => Self::In { column, values, negated: !negated },
            Self::OfKey { column, key, of } => Self::OfKey { column, key, of: Box::new(of.push_not(true)) },
            Self::Like { column, pattern, escape, negated } => {
                Self::Like { column, pattern, escape, negated: !negated }
            }
        }
    }

    /// The strongest condition over the columns that `keep` accepts that every matching row also satisfies:
    /// leaves over other columns become true.
    #[must_use]
    pub fn relaxed(&self, keep: &dyn Fn(&str) -> bool) -> Self {
        self.clone().without_not().relax(keep)
    }

    fn relax(self, keep: &dyn Fn(&str) -> bool) -> Self {
        match self {
            Self::And(parts) => Self::all(parts.into_iter().map(|p| p.relax(keep))),
            Self::Or(parts) => Self::any(parts.into_iter().map(|p| p.relax(keep))),
            other if other.columns().into_iter().all(keep) => other,
            _ => Self::Constant(true),
        }
    }

    /// Splits the AND-parts into those whose columns all satisfy `keep`, and the rest.
    pub fn split(self, keep: &dyn Fn(&str) -> bool) -> (Self, Self) {
        let parts = self.without_not().conjuncts();
        let (inside, outside): (Vec<_>, Vec<_>) = parts.into_iter().partition(|p| p.columns().into_iter().all(keep));
        (Self::all(inside), Self::all(outside))
    }

    /// Of a LIKE: text that every match begins with, and whether that text is the only match.
    pub fn like_prefix(&self) -> Option<(String, bool)> {
        match self {
            Self::Like { pattern, escape, .. } => Some(Pattern::new(pattern, *escape).prefix()),
            _ => None,
        }
    }

    /// Whether it is true for every row.
    pub fn is_always_true(&self) -> bool {
        *self == Self::Constant(true)
    }
}
