//! Two rescales of a whole table.

use siltstone::{
    scan::{EntryFilter, live_entries},
    table::RescaleArgs,
};

use super::*;

fn to(fs: &FileIoRef, buckets: i32) -> Result<CommitReport> {
    table(fs).rescale(&RescaleArgs { buckets: Some(buckets), ..RescaleArgs::default() })
}

/// Both reported success, the option said one number and the files another, and nobody could write a row.
#[test]
fn of_two_rescales_the_option_and_the_files_say_the_same_number() {
    let (io, fs) = new_table(&["k"], &[BUCKET, ("write-only", "true")]);
    put(&fs, &[(1, 1), (2, 2)]).unwrap();
    let calls = before_each_call(
        &io,
        |fs| to(fs, 3),
        |fs| drop(to(fs, 4).unwrap()),
        |call, fs, end| {
            let ctx = open(fs, ROOT);
            let newest = SnapshotManager::new(Arc::clone(fs), ROOT).latest().unwrap().unwrap();
            for entry in live_entries(&ctx, &newest, &EntryFilter::default()).unwrap() {
                assert_eq!(entry.total_buckets, ctx.options.bucket, "before call {call}");
            }
            match end {
                Ok(_) => assert_eq!(ctx.options.bucket, 3, "before call {call}"),
                Err(error) => {
                    assert_eq!(
                        (error.kind(), ctx.options.bucket),
                        (ErrorKind::CommitConflict, 4),
                        "before call {call}: {error}"
                    );
                }
            }
            put(fs, &[(3, 3)]).unwrap();
            assert_eq!(rows(fs), [(1, 1), (2, 2), (3, 3)], "before call {call}");
        },
    );
    assert!(calls > 20, "{calls}");
}
