//! Whether levels of a version mean what an option says of them.

use std::collections::HashMap;

use super::{EntryFilter, bucket_vectors, live_entries};
use crate::{error::Result, io::TableContext, snapshot::Snapshot};

/// Whether files of several levels of a bucket may hold records of one key, so that it hangs on an option what rows they make
/// ([`levels_option_changed`](crate::schema::levels_option_changed)). `with_level_0`: so may those of level 0 alone.
pub(crate) fn has_several_levels(ctx: &TableContext, version: &Snapshot, with_level_0: bool) -> Result<bool> {
    let mut level_of: HashMap<(Vec<u8>, i32), i32> = HashMap::new();
    for entry in live_entries(ctx, version, &EntryFilter::without_statistics())? {
        let level = entry.file.level;
        if level == 0 {
            if with_level_0 {
                return Ok(true);
            }
        } else if *level_of.entry((entry.partition, entry.bucket)).or_insert(level) != level {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether vectors delete rows of a version.
pub(crate) fn has_deleted_rows(ctx: &TableContext, version: &Snapshot) -> Result<bool> {
    Ok(bucket_vectors(ctx, version)?.values().flatten().any(|index| index.row_count > 0))
}
