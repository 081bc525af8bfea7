//! The predicate tree.

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
        values: Vec<Datum>,
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
    /// all of them
    And(Vec<Predicate>),
    /// one of them
    Or(Vec<Predicate>),
    /// SQL NOT: unknown stays unknown
    Not(Box<Predicate>),
}
