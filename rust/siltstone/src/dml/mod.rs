//! DELETE and UPDATE of rows that satisfy a condition, and MERGE with the rows of a source ([`merge`]).
//!
//! ```text
//! append table, vectors       rows are marked, new versions go into new files   one OVERWRITE snapshot
//! append table, data evolution  new values of columns come into files beside       one APPEND snapshot
//! append table, no vectors    touched files are rewritten (copy on write)       one OVERWRITE snapshot
//! primary-key table           rows are written again as -D or +U                as any write
//! condition on partitions     the partitions are dropped                        one OVERWRITE snapshot
//! ```
//!
//! The statement sees one snapshot. Rows that others add meanwhile are not touched; files that others change meanwhile
//! are a conflict, and the statement runs again on the table as it is then.
//!
//! Source: semantics b.8, d.3, h; `DeleteFromPaimonTableCommand`, `UpdatePaimonTableCommand`,
//! `SupportsRowLevelOperationFlinkTableSink`.

mod append;
mod arithmetic;
mod columns;
mod evaluate;
mod expression;
mod keyed;
mod literal;
mod merge;
mod node;
mod removal;
mod replace;
mod text;
mod truth;

pub use append::modify_files;
pub use columns::modify_columns;
pub use expression::Assignment;
pub use keyed::{KeysToDelete, Sink, Wanted, newest_rows, rows_to_change, write_keys, write_matching};
pub use merge::{Merge, MergeArgs, Merged, Source, looked_for, merge_files, merge_rows, rows_to_merge};
pub use removal::check_deletes;
pub use replace::Replacement;

use crate::{
    commit::ReadVersion,
    error::{Error, ErrorKind},
    predicate::Predicate,
    wire::CommitMessage,
};

/// What to do with the rows that satisfy a condition.
#[derive(Clone, Debug)]
pub struct Modification {
    /// The condition.
    pub filter: Predicate,
    /// New values; none deletes the rows.
    pub set: Vec<Assignment>,
    /// Threads to read and write with.
    pub threads: usize,
}

/// What a statement prepared.
#[derive(Debug, Default)]
pub struct Modified {
    /// To be committed.
    pub messages: Vec<CommitMessage>,
    /// Rows that satisfied the condition.
    pub rows: u64,
    /// The version that they were found in, where the messages do not say which files they replace.
    pub read: Option<ReadVersion>,
    /// Rows on whose presence or absence it relies.
    pub looked_for: Option<Predicate>,
}

/// An expression that cannot be computed, or not for this column.
fn invalid(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, text)
}
