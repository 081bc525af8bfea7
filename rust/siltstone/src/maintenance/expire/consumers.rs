//! Consumers that have not read for long.

use std::sync::Arc;

use crate::{
    cancel,
    cleanup::{CleanupPlan, FileKind, PlannedFile, Report, ahead_of_storage, upkeep_lock, with_effect},
    error::Result,
    io::TableContext,
};

/// Deletes consumers whose file was last written before this time: nobody reads with them any more. The time was counted from
/// `now`, which a clock says that may be ahead of the storage's, by which files have their times.
///
/// Which they are is looked for again when the lock is held and readers can tell that an expiry is at work, and once more of each
/// file when it has been taken out of its place: a reader that goes on meanwhile keeps its consumer.
pub fn expire_consumers(ctx: &TableContext, older_than: i64, now: i64, dry_run: bool) -> Result<Report> {
    let manager = ctx.consumers();
    let old = |older_than: i64| -> Result<Vec<String>> {
        let old = manager.list()?.into_iter().filter(|consumer| consumer.modified_millis < older_than);
        Ok(old.map(|consumer| consumer.id).collect())
    };
    let report = |names: Vec<String>| {
        let mut plan = CleanupPlan::default();
        plan.delete_in_order(names.iter().map(|id| consumer_file(manager.path(id))).collect());
        plan.check(&ctx.fs)?;
        Ok(Report { plan, dry_run, ..Report::default() }.with("consumers", names))
    };
    let delete = || {
        let older_than = older_than.saturating_sub(ahead_of_storage(ctx, now)?);
        let names = old(older_than)?;
        report(names.clone())?;
        let mut gone = Vec::new();
        for id in names {
            let deleted = cancel::check().and_then(|()| manager.delete_old(&id, older_than));
            let before = || Ok((!gone.is_empty()).then(|| format!("consumers {} were deleted", gone.join(", "))));
            if with_effect(deleted, before)? {
                gone.push(id);
            }
        }
        report(gone)
    };
    let expire = || {
        let names = old(older_than)?;
        if dry_run || names.is_empty() {
            return report(names);
        }
        manager.expire(&upkeep_lock(ctx)?, delete)
    };
    expire().map_err(|e| e.in_table(&ctx.name))
}

fn consumer_file(path: String) -> PlannedFile {
    let reason = Arc::from("the consumer has not read for longer than `consumer.expiration-time`");
    PlannedFile { path, kind: FileKind::Consumer, bytes: 0, reason }
}
