//! Rows that go to other buckets are in the old ones or in the new ones.

use siltstone::table::RescaleArgs;

use super::*;
use crate::steps::compacted;

/// Gives rows that wait their buckets.
fn moved(ctx: &TableContext, identifier: i64) -> Result<CommitOutcome> {
    committer(ctx).commit(once(identifier, compacted(ctx)?))
}

fn rescaled(ctx: &TableContext, buckets: i32) -> Result<CommitOutcome> {
    let mut table = Table::open_with(Arc::clone(&ctx.fs), ROOT, "main", None, BTreeMap::new())?;
    let report = table.rescale(&RescaleArgs { buckets: Some(buckets), ..RescaleArgs::default() })?;
    Ok(CommitOutcome { snapshots: report.snapshots, ..CommitOutcome::default() })
}

#[test]
fn rows_that_wait_for_buckets_get_them_or_wait() {
    let table = {
        let (io, fs) = memory(&["k"], &[("bucket", "-2")]);
        append(&open(&fs, ROOT), 0, &[(1, 1), (2, 2)]).unwrap();
        moved(&open(&fs, ROOT), 1).unwrap();
        append(&open(&fs, ROOT), 2, &[(2, 3), (4, 3)]).unwrap();
        io
    };
    Scenario { table: &table, operation: &|ctx| moved(ctx, 7) }.check();
}

#[test]
fn rows_have_the_old_number_of_buckets_or_the_new_one_and_another_try_ends_it() {
    let table = {
        // nothing waits: storage that fails goes on failing
        let options = ["commit.min-retry-wait", "commit.max-retry-wait"].map(|option| (option, "1 ms"));
        let (io, fs) = memory(&["k"], &[&options[..], &[("bucket", "1"), ("commit.max-retries", "1")]].concat());
        append(&open(&fs, ROOT), 0, &[(1, 1), (2, 2), (3, 3), (4, 4)]).unwrap();
        io
    };
    Scenario { table: &table, operation: &|ctx| rescaled(ctx, 2) }.check();
}
