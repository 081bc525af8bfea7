//! Ids that do not follow each other.

use std::sync::Arc;

use siltstone::{
    Error, ErrorKind,
    fs::{FileIoRef, Meanwhile},
    io::TableContext,
    maintenance::expire::{Retention, expire_snapshots},
    snapshot::{Snapshot, SnapshotManager},
};

use super::{ROOT, append, open, table};

#[test]
fn an_expiry_looks_at_the_snapshots_that_are_there_however_far_apart_their_ids_are() {
    let (io, fs) = table(&[], &[]);
    (0..3).for_each(|k| append(&fs, "main", (k, 0)));
    let snapshots = SnapshotManager::new(Arc::clone(&fs), ROOT);
    let far = Snapshot { id: 1 << 62, ..snapshots.get(3).unwrap() };
    fs.publish(&snapshots.path(far.id), far.to_json().unwrap().as_bytes(), true).unwrap();
    snapshots.write_latest_hint(far.id).unwrap();
    for (older_than, gone) in [(i64::MAX, vec![1, 2, 3]), (0, vec![])] {
        let endless = || Err(Error::new(ErrorKind::Internal, "the expiry asks for every number"));
        let meanwhile = Arc::new(Meanwhile::new().before_call(2_000, endless));
        let behind: FileIoRef = Arc::new(io.behind(Arc::<Meanwhile>::clone(&meanwhile)));
        let ctx = TableContext { fs: behind, ..open(&fs, "main") };
        let keep = Retention { max: i64::MAX, min: 1, older_than: Some(older_than), limit: i64::MAX };
        let report = expire_snapshots(&ctx, &keep, true).unwrap();
        assert_eq!(report.details["snapshots"], serde_json::json!(gone));
    }
}
