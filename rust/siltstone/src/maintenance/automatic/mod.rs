//! What follows a commit on its own (semantics e.7): automatic tags, then tags, partitions, consumers and snapshots
//! that have had their time. Nothing of it happens on write-only tables, and no failure of it undoes the commit.

mod background;
mod committer;
mod told;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

pub use committer::Committer;

use self::{
    background::in_background,
    told::{partitions_gone, tell},
};
use super::{
    expire::{
        PartitionExpiry, Retention, before, expire_changelogs, expire_consumers, expire_partitions, expire_snapshots,
        expiring_or_followed, stays,
    },
    tag,
};
use crate::{
    cleanup::Report,
    error::{Error, ErrorKind, Result},
    io::TableContext,
    options::{CoreOptions, ExpireMode, TagCreation},
};

/// When the partitions of a table were last looked at by this process, by location and branch.
static PARTITIONS_CHECKED: Mutex<Option<HashMap<String, i64>>> = Mutex::new(None);

/// For how long a handle on a store takes it that no tag has a time, when it has found none.
const TAGS_KNOWN_MILLIS: i64 = 10_000;

const TAGS: &str = "the automatic creation of tags";
const TAG_EXPIRY: &str = "the expiry of tags";
const PARTITIONS: &str = "the expiry of partitions";
const CONSUMERS: &str = "the expiry of consumers";
const SNAPSHOTS: &str = "the expiry of snapshots";

/// What was committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The new snapshot, the last one where there are two; and the schema that was the newest one then.
    pub newest: Option<(i64, i64)>,
    /// Whether the commit stands for itself; false: it is one of a stream of numbered commits.
    pub batch: bool,
    /// Epoch milliseconds.
    pub now: i64,
}

/// Does what the table's options ask for after a commit; after commits of a stream with
/// `snapshot.expire.execution-mode` = `async` in the background.
///
/// Returns in words what could not be done, and which partitions were dropped: the commit itself stands.
pub fn after_commit(ctx: &TableContext, committed: Committed) -> Vec<String> {
    if ctx.options.write_only {
        return Vec::new();
    }
    let ctx = &match current(ctx, committed) {
        Ok(current) if current.options.write_only => return Vec::new(),
        Ok(current) => current,
        Err(error) => return vec![failed(ctx, "upkeep", &error)],
    };
    // Java's committers, too, wait for it in batch mode whatever the option says
    if committed.batch || ctx.options.snapshot_expire_mode == ExpireMode::Sync {
        return maintain(ctx, committed);
    }
    let of = ctx.clone();
    in_background(&format!("{}#{}", ctx.location, ctx.branch), move || maintain(&of, committed))
}

/// The table under the options of now: its handle may be older than an alter that took an expiry back.
fn current(ctx: &TableContext, committed: Committed) -> Result<TableContext> {
    match committed.newest {
        Some((_, schema_id)) if schema_id == ctx.schema.id => Ok(ctx.clone()),
        Some((_, schema_id)) => ctx.with_options_of(&*ctx.schemas.get(schema_id)?),
        None => ctx.with_newest_options(),
    }
}

fn maintain(ctx: &TableContext, committed: Committed) -> Vec<String> {
    let mut notes = Vec::new();
    let of_batch = ctx.options.tag_automatic_creation == TagCreation::Batch;
    // the tag of a batch waits for other upkeep: where no commit follows, it would name an older version for good
    if of_batch && let Err(error) = create_tags(ctx) {
        notes.push(failed(ctx, TAGS, &error));
    }
    // all else does not wait for upkeep that runs already: what is due now is due after the next commit, too
    let options = Arc::new(CoreOptions { upkeep_lock_timeout: Duration::ZERO, ..(*ctx.options).clone() });
    let ctx = &TableContext { options, ..ctx.clone() };
    let now = committed.now;
    let mut note = |what: &str, done: Result<()>| match done {
        Err(error) if error.kind() == ErrorKind::UpkeepRunning => {
            tracing::debug!(%error, table = ctx.name, "{what} is left to the next commit");
        }
        Err(error) => notes.push(failed(ctx, what, &error)),
        Ok(()) => {}
    };
    if !of_batch {
        note(TAGS, create_tags(ctx));
    }
    let Some((newest, _)) = committed.newest else { return notes };
    if ctx.options.tag_time_expire_enabled {
        note(TAG_EXPIRY, tags(ctx, now));
    }
    let mut gone = None;
    let mut is_newest = true;
    let expired = partitions(ctx, committed).map(|looked| {
        is_newest = looked.is_none();
        gone = looked.as_ref().and_then(partitions_gone);
    });
    is_newest &= expired.is_ok();
    note(PARTITIONS, expired);
    note(CONSUMERS, consumers(ctx, now));
    note(SNAPSHOTS, snapshots(ctx, now, is_newest.then_some(newest)));
    notes.extend(gone);
    notes
}

/// A note of what could not be done after a commit.
fn failed(ctx: &TableContext, what: &str, error: &Error) -> String {
    tracing::warn!(%error, table = ctx.name, "{what} after a commit failed");
    format!("the commit is done, {what} failed: {error}")
}

fn create_tags(ctx: &TableContext) -> Result<()> {
    tell(ctx, TAGS, &tag::create_automatic(ctx)?);
    Ok(())
}

/// Tags whose time is over. On a store, where it costs a request, a handle that has found none with a time looks again after a while.
fn tags(ctx: &TableContext, now: i64) -> Result<()> {
    let looked = ctx.remembered.upkeep(&ctx.branch).no_timed_tags;
    let is_known = |looked| (0..TAGS_KNOWN_MILLIS).contains(&now.saturating_sub(looked));
    if !ctx.fs.has_directories() && looked.is_some_and(is_known) {
        return Ok(());
    }
    let (report, has_timed) = tag::expire_over(ctx, now)?;
    tell(ctx, TAG_EXPIRY, &report);
    ctx.remembered.change_upkeep(&ctx.branch, |known| known.no_timed_tags = (!has_timed).then_some(now));
    Ok(())
}

/// `newest` is the snapshot that was just committed; `None`: there may be a newer one of ours. What others have done since only
/// lets an expiry begin later, or for nothing: it looks for itself.
fn snapshots(ctx: &TableContext, now: i64, newest: Option<i64>) -> Result<()> {
    let manager = ctx.snapshots();
    let known = ctx.remembered.upkeep(&ctx.branch);
    let remember = |oldest| ctx.remembered.change_upkeep(&ctx.branch, |known| known.oldest = oldest);
    let keep = Retention::of_options(&ctx.options, now);
    let changelogs = Retention::changelogs_outlive(&ctx.options);
    if let (Some((oldest, followed)), Some(newest), false) = (known.oldest, newest, changelogs)
        && stays((oldest, newest), followed, &keep)
    {
        return Ok(());
    }
    // by the hint: looking through the whole directory after each commit would cost too much
    let (earliest, has_hint) = manager.earliest_by_hint()?;
    let newest = newest.map_or_else(|| manager.latest_id(), |id| Ok(Some(id)))?;
    if let (Some(earliest), Some(newest)) = (earliest, newest) {
        let (due, followed) = expiring_or_followed(ctx, &manager, (earliest, newest), &keep)?;
        if due.is_some() {
            remember(None);
            tell(ctx, SNAPSHOTS, &expire_snapshots(ctx, &keep, false)?);
        } else if !has_hint {
            manager.write_earliest_hint(earliest)?;
        }
        if due.is_none() {
            remember(Some((earliest, followed)));
        }
    }
    if changelogs {
        let kept = Retention::of_changelogs(&ctx.options, now);
        tell(ctx, "the expiry of changelogs", &expire_changelogs(ctx, &kept, false)?);
    }
    Ok(())
}

/// Looks at partitions when the check interval has passed since this process last did, and with
/// `end-input.check-partition-expire` after every batch commit.
///
/// What was dropped, by snapshots of its own; `None`: it did not look.
fn partitions(ctx: &TableContext, committed: Committed) -> Result<Option<Report>> {
    let now = committed.now;
    let at_once = committed.batch && ctx.options.end_input_check_partition_expire;
    let Some(expiry) = PartitionExpiry::of_options(ctx)? else {
        return Ok(None);
    };
    let key = format!("{}#{}", ctx.location, ctx.branch);
    let due = before(now, ctx.options.partition_expiration_check_interval);
    {
        let mut checked = PARTITIONS_CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
        let known = checked.get_or_insert_default();
        if !at_once && known.get(&key).is_some_and(|last| *last > due) {
            return Ok(None);
        }
        known.insert(key, now);
    }
    // whether it has found any does not matter: the newest snapshot is asked for then
    let report = expire_partitions(ctx, &expiry, now, false)?;
    tell(ctx, PARTITIONS, &report);
    Ok(Some(report))
}

fn consumers(ctx: &TableContext, now: i64) -> Result<()> {
    if let Some(kept) = ctx.options.consumer_expiration_time {
        tell(ctx, CONSUMERS, &expire_consumers(ctx, before(now, kept), now, false)?);
    }
    Ok(())
}
