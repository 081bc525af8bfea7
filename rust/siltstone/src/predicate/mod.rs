//! Predicates: a tree over columns by name, parsed from SQL text, evaluated over batches, rows and statistics.
//!
//! Source: `org.apache.paimon.predicate`; SQL three-valued logic throughout.
//!
//! A tree from [`parse_predicate`] or [`Predicate::from_json`] holds no `Not` (it is pushed to the leaves), and its
//! literals have the column's type: a literal that the type cannot hold is folded away exactly (a TINYINT is never
//! above 1000). NaN is the greatest float and equals itself; -0.0 equals 0.0.

mod bounds;
mod columns;
mod condition;
mod evaluate;
mod json;
mod like;
mod listed;
mod literal;
mod moment;
mod number;
mod operand;
mod parse;
mod shown;
mod sql;
mod tree;
mod typed;
mod values;

pub use bounds::{ColumnBounds, matches_datums, may_match};
pub use columns::{resolve as resolve_column, resolved_by_name};
pub use condition::Condition;
pub use evaluate::evaluate;
pub use listed::ValueList;
pub(crate) use number::rounded;
pub(crate) use operand::key_and_value;
pub(crate) use parse::condition_of;
pub use parse::parse_predicate;
pub use shown::predicate_text;
pub(crate) use sql::{Grammar, Qualify, parse_qualified};
pub use tree::{CompareOp, Predicate};
pub(crate) use typed::{Family, check_typed, family};
pub use values::compare_values;
pub(crate) use values::plain_floats;
