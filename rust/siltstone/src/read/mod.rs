//! From splits to rows.
//!
//! Source: semantics f.4; `MergeFileSplitRead`, `RawFileSplitRead`.

mod carry;
mod count;
mod diff;
mod parallel;
mod piece;
mod split;
pub mod view;

pub use count::count;
pub use parallel::read_splits;
pub use split::{ROW_KIND_COLUMN, ReadRequest, limited, read_split, vector_of};
