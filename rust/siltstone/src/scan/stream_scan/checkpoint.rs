//! What a reader has behind it as text, for those that keep it themselves and go on in another process: Spark's checkpoints.

use serde::{Deserialize, Serialize};

use super::line::{self, Passed};
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    scan::time_travel::Versions,
    snapshot::{Behind, Consumer, ConsumerProgress},
};

/// A place in the line of versions of one table.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Checkpoint {
    /// The last snapshot that was read; 0: none.
    snapshot: i64,
    /// What tells it from others of its id; `None`: it was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delta_manifest_list: Option<String>,
    /// How many removal records there were.
    removals: u64,
    /// A schema of the table, and when that was made: another table of the name has another one.
    schema_id: i64,
    schema_time: i64,
}

/// The place of a reader that has read everything up to a snapshot.
pub fn checkpoint(ctx: &TableContext, snapshot: i64) -> Result<String> {
    let versions = Versions::new(ctx);
    let removals = versions.snapshots.removals().read()?.count;
    let next = snapshot.saturating_add(1);
    checkpoint_before(ctx, next, Passed::before(&versions, next, removals)?.behind())
}

/// The place of a reader that goes on with a snapshot, and had this behind it.
pub fn checkpoint_before(ctx: &TableContext, next: i64, behind: Behind) -> Result<String> {
    let place = Checkpoint {
        snapshot: next.saturating_sub(1),
        delta_manifest_list: behind.delta_manifest_list,
        removals: behind.removals,
        schema_id: ctx.schema.id,
        schema_time: ctx.schema.time_millis,
    };
    serde_json::to_string(&place).map_err(|e| Error::new(ErrorKind::Internal, e.to_string()))
}

/// What a reader has read up to its checkpoint is the table's still, or has expired. Returns how a consumer goes on after it.
///
/// # Errors
/// `SnapshotNotFound`: a rollback or fast-forward has taken it back, or another table is in the place of the one that was read;
/// `InvalidArgument`: that is no checkpoint.
pub fn check_checkpoint(ctx: &TableContext, text: &str) -> Result<ConsumerProgress> {
    let place: Checkpoint = serde_json::from_str(text).map_err(|e| {
        Error::new(ErrorKind::InvalidArgument, format!("not the place of a stream: {e}")).with("table", &ctx.name)
    })?;
    check_table(ctx, &place)?;
    let behind = Behind { removals: place.removals, delta_manifest_list: place.delta_manifest_list };
    let next = place.snapshot.saturating_add(1);
    line::check_follows(&Versions::new(ctx), &Passed::of(next, &behind)).map_err(|e| e.with("table", &ctx.name))?;
    Ok(ConsumerProgress::changes_of(next, Some(behind)))
}

fn check_table(ctx: &TableContext, place: &Checkpoint) -> Result<()> {
    let time = match ctx.schemas.get(place.schema_id) {
        Ok(schema) => Some(schema.time_millis),
        Err(e) if e.kind() == ErrorKind::FileNotFound => None,
        Err(e) => return Err(e),
    };
    if time == Some(place.schema_time) {
        return Ok(());
    }
    let text = format!(
        "the table that was read up to snapshot {} is not here any more: it was dropped, and another one is in its place, or its schema {} \
         was taken back",
        place.snapshot, place.schema_id
    );
    Err(Error::new(ErrorKind::SnapshotNotFound, text).with("table", &ctx.name).with("snapshot", place.snapshot).hint(
        "start again from a snapshot that exists, without what was kept of the table before; reset the consumer, if there is one",
    ))
}

/// A consumer can go on where it has come to.
///
/// # Errors
/// `SnapshotExpired`; `SnapshotNotFound` when the table was rolled back since to a snapshot before.
pub fn check_progress(ctx: &TableContext, consumer: &Consumer) -> Result<()> {
    let versions = Versions::new(ctx);
    line::check_consumer(&versions, consumer).map_err(|e| e.with("table", &ctx.name))?;
    let next = consumer.progress.next_snapshot;
    match super::earliest(&versions)? {
        Some(first) if next < first => Err(super::expired(next, first).with("table", &ctx.name)),
        _ => Ok(()),
    }
}

/// What a reader has behind it that goes on with a snapshot, chosen when there were so many removal records or more.
pub fn behind(ctx: &TableContext, next: i64, removals: u64) -> Result<Behind> {
    Ok(Passed::before(&Versions::new(ctx), next, removals)?.behind())
}

/// How a consumer goes on that had come so far when what it had read was taken back: after what is left of that.
pub fn rolled_back_to(ctx: &TableContext, progress: &ConsumerProgress) -> Result<Option<ConsumerProgress>> {
    let removals = Versions::new(ctx).snapshots.removals().read()?;
    let (read, known) = (progress.next_snapshot.saturating_sub(1), progress.behind.as_ref().map_or(0, |b| b.removals));
    let since = removals.taken_back().filter(|rollback| rollback.record > known && rollback.kept < read);
    // of several rollbacks each may have gone farther back than those after it
    let Some(kept) = since.map(|rollback| rollback.kept).min() else { return Ok(None) };
    let next = kept.saturating_add(1);
    Ok(Some(ConsumerProgress::changes_of(next, Some(self::behind(ctx, next, removals.count)?))))
}
