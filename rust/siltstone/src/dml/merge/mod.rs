//! MERGE: rows of a source are matched with rows of the table, and clauses say what becomes of them.
//!
//! ```text
//! source ─▶ classes of keys ─▶ pass 1, 2, ...          each pass holds a part of the source and reads the table once
//!                                │
//! table rows ──▶ pairs ──▶ ON ──▶ the first clause whose condition holds ──▶ -D, +U
//!                           │
//!                           └──▶ rows of the source without a pair ──▶ +I
//! ```
//!
//! Rows are matched by equal columns (`t.id = s.id`); what else `ON` says is asked of each pair. One pass is enough for a
//! source that fits in memory. A row of the table that two rows of the source would change is an error.

mod clauses;
mod files;
mod keyed;
mod pass;
mod sieve;
mod source;

pub use clauses::{Merge, MergeArgs};
pub use files::merge_files;
pub use keyed::{looked_for, merge_rows, rows_to_merge};
pub use source::Source;

/// How many rows a merge has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Rows of the table with new values.
    pub updated: u64,
    /// Rows of the table that are gone.
    pub deleted: u64,
    /// Rows of the source that are rows of the table now.
    pub inserted: u64,
}

impl Merged {
    /// All of them.
    pub fn rows(&self) -> u64 {
        self.updated.saturating_add(self.deleted).saturating_add(self.inserted)
    }
}

fn count(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}
