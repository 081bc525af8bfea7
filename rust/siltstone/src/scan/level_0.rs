//! Whether level 0 of a version is read.

use super::ScanRequest;
use crate::{
    error::{Error, Result},
    io::TableContext,
    snapshot::Snapshot,
};

/// What becomes of level 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level0 {
    /// Its files are read like the others.
    Read,
    /// Rows count from level 1 on, where no two files share a key: first-row, and deletion vectors.
    Skip,
    /// Deletion vectors were switched on after the snapshot: its level 0 was meant to be read and is skipped now, as
    /// Java does, but not without a word.
    SwitchedOn,
    /// Deletion vectors were switched off after the snapshot: its level 0 was meant to be skipped, and its vectors to be
    /// applied, so there must be none.
    SwitchedOff,
}

impl Level0 {
    /// The lowest level that the request reads.
    pub(super) fn min_level(self, request: &ScanRequest) -> Option<i32> {
        request.min_level.max(matches!(self, Self::Skip | Self::SwitchedOn).then_some(1))
    }
}

pub(super) fn level_0(ctx: &TableContext, snapshot: &Snapshot) -> Result<Level0> {
    if ctx.schema.primary_keys.is_empty() {
        return Ok(Level0::Read);
    }
    if ctx.options.merge_engine.oldest_wins() {
        return Ok(Level0::Skip);
    }
    let now = ctx.options.deletion_vectors_enabled;
    if now && ctx.options.deletion_vectors_merge_on_read {
        return Ok(Level0::Read);
    }
    let written = ctx.schemas.get(snapshot.schema_id)?;
    let then = written.options.get("deletion-vectors.enabled").is_some_and(|v| v.eq_ignore_ascii_case("true"));
    // a value given for this read is what the caller wants
    let given = ctx.options.get("deletion-vectors.enabled")
        != ctx.schema.options.get("deletion-vectors.enabled").map(String::as_str);
    Ok(match (now, then) {
        (true, true) => Level0::Skip,
        (true, false) if given => Level0::Skip,
        (true, false) => Level0::SwitchedOn,
        (false, true) if !given => Level0::SwitchedOff,
        (false, _) => Level0::Read,
    })
}

pub(super) fn switched_off_later(ctx: &TableContext, snapshot: &Snapshot) -> Error {
    Error::unsupported("a snapshot from before 'deletion-vectors.enabled' was switched off")
        .with("table", &ctx.name)
        .with("snapshot", snapshot.id)
        .with("option", "deletion-vectors.enabled")
        .hint("set 'deletion-vectors.enabled' = 'true' for this read to see the snapshot as it was")
}
