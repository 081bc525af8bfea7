//! What follows a commit on its own (semantics e.7): automatic tags, then tags, partitions, consumers and snapshots
//! that have had their time. Nothing of it happens on write-only tables, and no failure of it undoes the commit.

mod background;
mod committer;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

pub use committer::Committer;

use self::background::in_background;
use super::{
    expire::{
        PartitionExpiry, Retention, before, expire_changelogs, expire_consumers, expire_partitions, expire_snapshots,
        expiring,
    },
    tag,
};
use crate::{
    error::{ErrorKind, Result},
    io::TableContext,
    options::{CoreOptions, ExpireMode},
};

/// When the partitions of a table were last looked at by this process, by location and branch.
static PARTITIONS_CHECKED: Mutex<Option<HashMap<String, i64>>> = Mutex::new(None);

/// What was committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed {
    /// Whether there is a new snapshot.
    pub snapshot: bool,
    /// Whether the commit stands for itself; false: it is one of a stream of numbered commits.
    pub batch: bool,
    /// Epoch milliseconds.
    pub now: i64,
}

/// Does what the table's options ask for after a commit; after commits of a stream with
/// `snapshot.expire.execution-mode` = `async` in the background.
///
/// Returns what could not be done, in words: the commit itself stands.
pub fn after_commit(ctx: &TableContext, committed: Committed) -> Vec<String> {
    if ctx.options.write_only {
        return Vec::new();
    }
    // Java's committers, too, wait for it in batch mode whatever the option says
    if committed.batch || ctx.options.snapshot_expire_mode == ExpireMode::Sync {
        return maintain(ctx, committed);
    }
    let of = ctx.clone();
    in_background(&format!("{}#{}", ctx.location, ctx.branch), move || maintain(&of, committed))
}

fn maintain(ctx: &TableContext, committed: Committed) -> Vec<String> {
    // a commit does not wait for upkeep that runs already: what is due now is due after the next commit, too
    let options = Arc::new(CoreOptions { upkeep_lock_timeout: Duration::ZERO, ..(*ctx.options).clone() });
    let ctx = &TableContext { options, ..ctx.clone() };
    let now = committed.now;
    let mut notes = Vec::new();
    let mut note = |what: &str, done: Result<()>| {
        if let Err(error) = done {
            if error.kind() == ErrorKind::UpkeepRunning {
                return tracing::debug!(%error, table = ctx.name, "{what} is left to the next commit");
            }
            tracing::warn!(%error, table = ctx.name, "{what} after a commit failed");
            notes.push(format!("the commit is done, {what} failed: {error}"));
        }
    };
    note("the automatic creation of tags", tag::create_automatic(ctx).map(drop));
    if !committed.snapshot {
        return notes;
    }
    if ctx.options.tag_time_expire_enabled {
        note("the expiry of tags", tag::expire_tags(ctx, None, now, false).map(drop));
    }
    note("the expiry of partitions", partitions(ctx, committed));
    note("the expiry of consumers", consumers(ctx, now));
    note("the expiry of snapshots", snapshots(ctx, now));
    notes
}

fn snapshots(ctx: &TableContext, now: i64) -> Result<()> {
    let manager = ctx.snapshots();
    let keep = Retention::of_options(&ctx.options, now);
    // by the hint: looking through the whole directory after each commit would cost too much
    let earliest = manager.earliest_id()?;
    if expiring(ctx, &manager, earliest, &keep)?.is_some() {
        expire_snapshots(ctx, &keep, false)?;
    } else if let (Some(earliest), None) = (earliest, manager.earliest_hint()?) {
        manager.write_earliest_hint(earliest)?;
    }
    if Retention::changelogs_outlive(&ctx.options) {
        expire_changelogs(ctx, &Retention::of_changelogs(&ctx.options, now), false)?;
    }
    Ok(())
}

/// Looks at partitions when the check interval has passed since this process last did, and with
/// `end-input.check-partition-expire` after every batch commit.
fn partitions(ctx: &TableContext, committed: Committed) -> Result<()> {
    let now = committed.now;
    let at_once = committed.batch && ctx.options.end_input_check_partition_expire;
    let Some(expiry) = PartitionExpiry::of_options(ctx)? else {
        return Ok(());
    };
    let key = format!("{}#{}", ctx.location, ctx.branch);
    let due = before(now, ctx.options.partition_expiration_check_interval);
    {
        let mut checked = PARTITIONS_CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
        let known = checked.get_or_insert_default();
        if !at_once && known.get(&key).is_some_and(|last| *last > due) {
            return Ok(());
        }
        known.insert(key, now);
    }
    expire_partitions(ctx, &expiry, now, false).map(drop)
}

fn consumers(ctx: &TableContext, now: i64) -> Result<()> {
    match ctx.options.consumer_expiration_time {
        Some(kept) => expire_consumers(ctx, before(now, kept), false).map(drop),
        None => Ok(()),
    }
}
