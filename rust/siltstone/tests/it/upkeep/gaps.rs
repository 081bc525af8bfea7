//! Ids that do not follow each other.

use std::sync::Arc;

use siltstone::{
    Error, ErrorKind,
    env::{ManualClock, SystemClock},
    fs::{FileIoRef, Meanwhile},
    io::TableContext,
    maintenance::{
        expire::{Retention, expire_snapshots},
        fsck::fsck,
        rollback::rollback,
    },
    scan::{ScanRequest, Start, StreamScan, StreamScanOptions, StreamStep, VersionSelector},
    snapshot::{Snapshot, SnapshotManager},
};

use super::{Committable, Committer, ROOT, append, open, table, written};

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

/// Versions 1 to 7, of which somebody has deleted 4 to 6.
fn with_a_gap() -> (FileIoRef, SnapshotManager) {
    let (_, fs) = table(&[], &[]);
    (0..7).for_each(|k| append(&fs, "main", (k, 0)));
    let snapshots = SnapshotManager::new(Arc::clone(&fs), ROOT);
    (4..7).for_each(|id| fs.delete(&snapshots.path(id)).unwrap());
    (fs, snapshots)
}

/// The hint said 3, so commits went on with 4 and 5; 6 was followed by 7, which was not made from it, and every commit tried until
/// no try was left, for good, without a word about the reason.
#[test]
fn a_commit_that_meets_a_gap_names_it_and_a_rollback_to_the_newest_version_lets_commits_go_on() {
    let (fs, snapshots) = with_a_gap();
    fs.overwrite(&snapshots.hint_path("LATEST"), b"3").unwrap();
    append(&fs, "main", (10, 0));
    append(&fs, "main", (11, 0));
    let ctx = open(&fs, "main");
    let clock = Arc::new(ManualClock::at(0));
    let messages = written(&ctx, &[(12, 0)]);
    let commit = Committable { messages, ..Committable::default() };
    let error = Committer::new(&ctx, "job").with_clock(clock).commit(commit).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptFile, "{error}");
    assert!(error.message().starts_with("snapshot 6 is missing, and snapshot 7 lies behind"), "{error}");
    let verdict = fsck(&ctx, false, 0).unwrap();
    let repair = &verdict.findings.iter().find(|found| found.code == "latest-went-back").unwrap().repair;
    assert!(repair.contains("roll back to snapshot 5"), "{repair}");
    rollback(&ctx, &VersionSelector::Snapshot(5), false).unwrap();
    append(&fs, "main", (12, 0));
    assert_eq!(snapshots.ids().unwrap(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(snapshots.latest().unwrap().unwrap().total_record_count, Some(6));
}

/// It waited for 4 without end.
#[test]
fn a_stream_that_comes_to_a_gap_names_it() {
    let (fs, snapshots) = with_a_gap();
    fs.overwrite(&snapshots.hint_path("LATEST"), b"7").unwrap();
    let ctx = open(&fs, "main");
    let options = StreamScanOptions { start: Start::Snapshot(3), end: None };
    let clock = Arc::new(SystemClock);
    let mut stream = StreamScan::new(&ctx, ScanRequest::default(), &options, clock).unwrap();
    assert!(matches!(stream.step().unwrap(), StreamStep::Rows { snapshot_id: 3, .. }));
    let error = stream.step().unwrap_err();
    assert!(error.message().starts_with("snapshots 4 to 6 are missing, and snapshot 7 lies behind"), "{error}");
}
