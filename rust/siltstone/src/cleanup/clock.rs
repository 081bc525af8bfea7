//! Ages of files: they have the times of the storage's clock.

use crate::{env::new_uuid, error::Result, io::TableContext};

/// A clock that is ahead by no more than this is no other one.
const SAME_CLOCK_MILLIS: i64 = 60_000;

/// By how much a clock is ahead of the storage's. Writes a file beside the lock, which is held, and deletes it.
pub(crate) fn ahead_of_storage(ctx: &TableContext, now: i64) -> Result<i64> {
    let directory = format!("{}/siltstone", ctx.location.trim_end_matches('/'));
    let path = format!("{directory}/.clock-{}.tmp", new_uuid());
    ctx.fs.create_dir(&directory)?;
    ctx.fs.overwrite(&path, b"")?;
    let written = ctx.fs.status(&path);
    ctx.fs.delete(&path)?;
    let ahead = written?.map_or(0, |file| now.saturating_sub(file.modified_millis));
    Ok(if ahead > SAME_CLOCK_MILLIS { ahead } else { 0 })
}
