//! What becomes of the records of one key: the interface of every merge engine.
//!
//! The merge kernel orders records and finds groups of equal keys. An engine either *chooses a row* of each
//! group, which the kernel does by itself ([`Choice`]), or *computes* new rows from whole groups
//! ([`MergeFunction::merge`]). A group of a single record never reaches the engine: it passes through unchanged,
//! row kind and sequence number included (the reducer rule, semantics a.6).

mod deduplicate;

use std::{fmt, sync::Arc};

use arrow_array::{BooleanArray, RecordBatch};

pub use deduplicate::Deduplicate;

use crate::{Error, ErrorKind, Result, io::TableContext, options::MergeEngine};

/// How the result of a group comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The last record in merge order; retracts are passed over when `ignore_retracts` is set.
    Last {
        /// -U and -D do not count
        ignore_retracts: bool,
    },
    /// The first record in merge order.
    First {
        /// -U and -D do not count
        ignore_retracts: bool,
    },
    /// Every record, in merge order: sorting without merging.
    All,
    /// Asks [`MergeFunction::merge`].
    Computed,
}

/// Groups of records with one key each, in key order: of two records or more under the reducer rule, of one or more
/// under the lookup rules (semantics c.3), which ask about single records too.
#[derive(Debug)]
pub struct Groups<'a> {
    /// Key-value batches that the rows live in.
    pub sources: &'a [RecordBatch],
    /// Number of the input (run) of each source.
    pub inputs: &'a [usize],
    /// All rows of all groups as (source, row); inside a group in merge order.
    pub rows: &'a [(usize, usize)],
    /// Group `g` is `rows[ends[g - 1]..ends[g]]`, the first one starting at 0.
    pub ends: &'a [usize],
}

impl Groups<'_> {
    /// Number of groups.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no group.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The rows of each group.
    pub fn iter(&self) -> impl Iterator<Item = &[(usize, usize)]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let group = self.rows.get(start..end).unwrap_or_default();
            start = end;
            group
        })
    }
}

/// What an engine computed: one row for each group.
#[derive(Debug)]
pub struct Computed {
    /// A key-value batch of the sources' schema with one row for each group.
    pub rows: RecordBatch,
    /// Groups that leave no row are false; `None` keeps all.
    pub keep: Option<BooleanArray>,
}

/// A merge engine.
pub trait MergeFunction: Send + Sync + fmt::Debug {
    /// How results come about. Asked once for each merge.
    fn choice(&self) -> Choice;

    /// Whether merging some runs first and their result with the rest gives the same rows as merging all at
    /// once. Then spilled runs are merged before they are stored.
    fn associative(&self) -> bool {
        // passing over retracts is not: the reducer rule lets a lone one through
        matches!(
            self.choice(),
            Choice::Last { ignore_retracts: false } | Choice::First { ignore_retracts: false } | Choice::All
        )
    }

    /// Computes the rows of groups; only called when [`MergeFunction::choice`] says [`Choice::Computed`].
    fn merge(&self, groups: &Groups<'_>) -> Result<Computed> {
        Err(Error::new(
            ErrorKind::Internal,
            format!("{self:?} chooses rows but was asked to compute {} groups", groups.len()),
        ))
    }
}

/// The engine of a table, by option `merge-engine`.
pub fn for_table(ctx: &TableContext) -> Result<Arc<dyn MergeFunction>> {
    match ctx.options.merge_engine {
        MergeEngine::Deduplicate => Ok(Arc::new(Deduplicate::new(ctx.options.ignore_delete))),
        other => Err(Error::unsupported(format!("merge-engine={}", other.as_str()))
            .with("table", &ctx.name)
            .with("option", "merge-engine")),
    }
}
