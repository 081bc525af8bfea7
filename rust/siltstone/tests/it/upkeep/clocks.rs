//! Ages are differences of times, and whoever takes them may have another clock than the storage.

use siltstone::{
    fs::FileIo as _,
    maintenance::orphan_files::{remove_orphan_files, remove_orphan_files_by_age},
};

use super::{ROOT, dies::versions, open};

/// A commit was acknowledged whose files had been deleted: they were written a moment ago, and looked two days old.
#[test]
fn a_clock_that_is_days_ahead_makes_no_file_old() {
    const DAY: i64 = 86_400_000;
    let (io, fs) = versions(2);
    let fresh = format!("{ROOT}/bucket-0/data-of-a-writer.parquet");
    io.write_new(&fresh, b"x", true).unwrap();
    let ctx = open(&fs, "main");
    for ahead in [2 * DAY, DAY + 60_000, 0] {
        let now = io.clock_millis() + ahead;
        remove_orphan_files_by_age(&ctx, now - DAY, now, false).unwrap();
        assert!(io.paths().contains(&fresh), "{ahead}");
    }
    // what is old by the storage's clock goes
    remove_orphan_files(&ctx, io.clock_millis() + 1, i64::MAX, false).unwrap();
    assert!(!io.paths().contains(&fresh));
    assert!(!io.paths().iter().any(|path| path.contains(".clock-")));
}
