//! What a read is about, looked up once: all that is asked of it is asked of the same snapshots.

use super::{
    VersionSelector,
    incremental_range::{Incremental, IncrementalChanges},
    time_travel::travelled,
};
use crate::{error::Result, io::TableContext, snapshot::Snapshot};

/// A version of a table, or what lies between two of them. Commits that come later change nothing of it.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The table under the schema that rows of the version have.
    pub ctx: TableContext,
    /// `None`: the table has no snapshot yet.
    pub snapshot: Option<Snapshot>,
    /// Only files made at these epoch milliseconds or later.
    pub(super) files_since: Option<i64>,
    /// What lies between two versions, where that is asked for instead of a state.
    pub(super) between: Option<(Incremental, IncrementalChanges)>,
}

impl Resolved {
    /// Looks a state up, as [`super::travel`] does.
    ///
    /// # Errors
    /// `SnapshotNotFound`, `TagNotFound`, `SnapshotExpired`.
    pub fn state(ctx: &TableContext, version: &VersionSelector) -> Result<Self> {
        travelled(ctx, version).map_err(|e| e.in_table(&ctx.name))
    }

    /// A snapshot that was looked up, whose rows come under the schema of `ctx`.
    pub(crate) fn snapshot(ctx: &TableContext, snapshot: &Snapshot) -> Self {
        Self { ctx: ctx.clone(), snapshot: Some(snapshot.clone()), files_since: None, between: None }
    }

    /// Looks up what the arguments ask for, or the table's options where they leave the choice to them.
    ///
    /// # Errors
    /// Those of [`Self::state`], and those of the two versions that changes lie between.
    pub fn find(ctx: &TableContext, version: &VersionSelector, changes: Option<&Incremental>) -> Result<Self> {
        let found = Self::state(ctx, version)?;
        let asked = match (changes, version) {
            (Some(changes), _) => Some(changes.clone()),
            (None, VersionSelector::Latest) => Incremental::of_options(&ctx.options)?,
            _ => None,
        };
        let between = match asked {
            Some(asked) => Some((asked.clone(), asked.resolve(ctx)?)),
            None => None,
        };
        Ok(Self { between, ..found })
    }
}
