//! What becomes of the records of one key: the interface of every merge engine.
//!
//! The merge orders records and finds groups of equal keys. An engine either *chooses a row* of each
//! group, which the merge does by itself ([`Choice`]), or *computes* new rows from whole groups
//! ([`MergeFunction::merge`]). In plain merges a group of a single record passes through unchanged, row kind and
//! sequence number included (the reducer rule, semantics a.6).

mod aggregation;
mod carried;
mod columns;
mod deduplicate;
mod first_row;
mod partial_update;
mod record_names;
mod sequence;
#[cfg(test)]
mod tests;

use std::{fmt, iter, sync::Arc};

use arrow_array::{BooleanArray, RecordBatch};

pub use aggregation::Aggregation;
pub use carried::Carried;
pub use deduplicate::Deduplicate;
pub use first_row::FirstRow;
pub use partial_update::PartialUpdate;

use record_names::RecordNames;

use crate::{
    Error, ErrorKind, Result,
    io::{KvLayout, TableContext},
    options::MergeEngine,
    schema::EngineSpec,
};

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

/// Groups of one record or more with one key each, in key order. Under the reducer rule single records pass through;
/// the lookup rules (semantics c.3) ask about them too.
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
    /// Groups of a single record pass through unchanged, row kind included: the reducer rule.
    pub pass_single: bool,
    /// What the first record of the first group stands for: records that [`MergeFunction::fold`] has put together.
    pub carried: Option<&'a Carried>,
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

    /// The rows of each group, and what its first one stands for.
    pub fn with_carried(&self) -> impl Iterator<Item = (&[(usize, usize)], Option<&Carried>)> {
        self.iter().zip(iter::once(self.carried).chain(iter::repeat(None)))
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

/// What a record has to do with older ones of its key that are not there yet when it is merged with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bearing {
    /// It can be merged with others first, and what comes of them with the older ones later.
    Adds,
    /// It may take back what an older one holds: it can be merged with others only when that is there.
    TakesBack,
    /// It takes the place of all records before it, whatever they are; and it must not be merged with later ones first.
    Replaces,
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

    /// The error of a -U or -D that this engine met in a group of records and cannot take; `None`: it takes it. Only
    /// asked of engines that choose rows.
    fn refusal(&self, _batch: &RecordBatch, _row: usize) -> Option<Error> {
        None
    }

    /// What records of a row kind, as it is stored, have to do with older ones. Only asked of engines that compute.
    fn bearing(&self, _kind: i8) -> Bearing {
        Bearing::TakesBack
    }

    /// Whether something that it has computed so far did not fit a column, and is null: with older records it might have.
    fn has_overflowed(&self) -> bool {
        false
    }

    /// Computes the rows of groups; only called when [`MergeFunction::choice`] says [`Choice::Computed`].
    fn merge(&self, groups: &Groups<'_>) -> Result<Computed> {
        Err(Error::new(
            ErrorKind::Internal,
            format!("{self:?} chooses rows but was asked to compute {} groups", groups.len()),
        ))
    }

    /// Puts the first records of one group together; merging the rest of the group behind them gives the row that merging
    /// all at once gives. `None`: the engine has to see all records at once.
    fn fold(&self, _group: &Groups<'_>) -> Result<Option<Carried>> {
        Ok(None)
    }
}

/// The engine of a table over all its columns, by option `merge-engine`. Messages name the records of `partition` by
/// their whole primary key.
pub fn for_table(ctx: &TableContext, partition: Option<&[u8]>) -> Result<Arc<dyn MergeFunction>> {
    for_layout(ctx, &KvLayout::of_table(ctx), partition)
}

/// The engine of a table over some of its columns: those that [`merge_columns`](crate::schema::merge_columns) asks
/// for must be among them. Errors are those of [`EngineSpec::of`].
pub fn for_layout(ctx: &TableContext, layout: &KvLayout, partition: Option<&[u8]>) -> Result<Arc<dyn MergeFunction>> {
    let spec = EngineSpec::of(&ctx.schema, &ctx.options).map_err(|e| e.with("table", &ctx.name))?;
    of_spec(RecordNames::of(ctx, layout, partition)?, &spec, layout)
}

fn of_spec(names: RecordNames, spec: &EngineSpec, layout: &KvLayout) -> Result<Arc<dyn MergeFunction>> {
    Ok(match spec.engine {
        MergeEngine::Deduplicate => Arc::new(Deduplicate::new(spec.ignore_delete)),
        MergeEngine::FirstRow => Arc::new(FirstRow::new(spec.ignore_delete, names, layout)),
        MergeEngine::PartialUpdate => Arc::new(PartialUpdate::new(names, spec, layout)?),
        MergeEngine::Aggregation => Arc::new(Aggregation::new(names, spec, layout)?),
    })
}
