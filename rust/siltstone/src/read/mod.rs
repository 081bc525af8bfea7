//! From splits to rows.
//!
//! Source: semantics f.4; `MergeFileSplitRead`, `RawFileSplitRead`.

mod count;
pub mod data_system_tables;
mod diff;
mod divide;
mod kept;
pub mod nested_columns;
mod parallel;
mod piece;
mod rebatch;
mod room;
mod split;

pub use count::count;
pub use kept::kept;
pub use parallel::read_splits;
pub use split::{limited, read_split, vector_of};
