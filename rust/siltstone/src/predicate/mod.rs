//! Predicates: a tree over columns by name, parsed from SQL text, evaluated over batches, rows and statistics.
//!
//! Source: `org.apache.paimon.predicate`; SQL three-valued logic throughout.

mod tree;

pub use tree::{CompareOp, Predicate};
