//! The line of versions beside expiries and rollbacks (`removal.rs` says the rules).

use std::{sync::Arc, time::Duration};

use super::*;
use crate::{
    env::{ClockRef, ManualClock},
    error::ErrorKind,
    fs::{FaultFileIo, FileIo as _, FileIoRef},
};

const NOBODY_WAITS: Duration = Duration::ZERO;

struct Bed {
    io: FaultFileIo,
    fs: FileIoRef,
    clock: ClockRef,
    manager: SnapshotManager,
}

impl Bed {
    fn new() -> Self {
        let io = FaultFileIo::new();
        let fs: FileIoRef = Arc::new(io.clone());
        let manager = SnapshotManager::new(fs.clone(), "/t");
        Self { io, fs, clock: Arc::new(ManualClock::at(1_000)), manager }
    }

    /// A snapshot whose identity is `name`, by a writer who knew so many records; `None`: another program's.
    fn snapshot(id: i64, name: &str, known: Option<u64>) -> Snapshot {
        let json = format!(
            r#"{{"id":{id},"schemaId":0,"baseManifestList":"b","deltaManifestList":"{name}","commitUser":"u",
                "commitIdentifier":0,"commitKind":"APPEND","timeMillis":{id}}}"#
        );
        let snapshot = Snapshot::from_json("snapshot", json.as_bytes()).unwrap();
        known.map_or(snapshot.clone(), |known| snapshot.knowing(known, "main"))
    }

    fn put(&self, id: i64, name: &str, known: Option<u64>) -> Snapshot {
        let snapshot = Self::snapshot(id, name, known);
        self.io.put(&self.manager.path(id), snapshot.to_json().unwrap().as_bytes());
        snapshot
    }

    fn lock(&self) -> UpkeepLock {
        UpkeepLock::take_with(&self.fs, "/t", NOBODY_WAITS, &self.clock).unwrap()
    }

    fn remove(&self, kind: RemovalKind, bound: i64, going: &[Snapshot]) {
        self.manager.removals().append(&self.lock(), kind, bound, going).unwrap();
    }

    fn delete(&self, id: i64) {
        self.io.delete(&self.manager.path(id)).unwrap();
    }

    fn standing(&self, snapshot: &Snapshot, known: u64) -> Standing {
        self.manager.removals().standing(snapshot, known).unwrap()
    }
}

#[test]
fn a_snapshot_published_into_a_hole_that_an_expiry_left_is_no_version_and_its_writer_learns_it() {
    let bed = Bed::new();
    let line: Vec<Snapshot> = (1..=4).map(|id| bed.put(id, &format!("s{id}"), Some(0))).collect();
    bed.remove(RemovalKind::Expire, 4, &line[..3]);
    (1..4).for_each(|id| bed.delete(id));
    let late = bed.put(2, "late", Some(0));
    assert_eq!(bed.manager.ids().unwrap(), [4]);
    assert_eq!(bed.manager.latest_id().unwrap(), Some(4));
    assert_eq!(bed.manager.earliest_id().unwrap(), Some(4));
    assert_eq!(bed.manager.version(2).unwrap_err().kind(), ErrorKind::SnapshotExpired);
    assert_eq!(bed.standing(&late, 0), Standing::TooLate);
}

#[test]
fn a_commit_that_expired_at_once_is_a_commit() {
    let bed = Bed::new();
    let line: Vec<Snapshot> = (1..=4).map(|id| bed.put(id, &format!("s{id}"), Some(0))).collect();
    bed.remove(RemovalKind::Expire, 4, &line[..3]);
    assert_eq!(bed.standing(&line[1], 0), Standing::Committed, "the record lists it");
    assert_eq!(bed.standing(&line[3], 0), Standing::Committed, "the record does not reach it");
}

#[test]
fn what_a_rollback_takes_out_is_gone_from_its_record_on_whatever_is_deleted_of_it() {
    let bed = Bed::new();
    let line: Vec<Snapshot> = (1..=4).map(|id| bed.put(id, &format!("s{id}"), Some(0))).collect();
    bed.remove(RemovalKind::Rollback, 2, &line[2..]);
    assert_eq!(bed.manager.ids().unwrap(), [1, 2]);
    assert_eq!(bed.manager.latest_id().unwrap(), Some(2));
    assert_eq!(bed.standing(&line[2], 0), Standing::RolledBack);
    bed.manager.settle(&bed.lock()).unwrap();
    assert_eq!(bed.manager.listed_ids().unwrap(), [1, 2], "the next upkeep finishes it");
    let next = bed.put(3, "again", Some(1));
    assert_eq!(bed.manager.latest().unwrap(), Some(next.clone()));
    let late = Bed::snapshot(4, "late", Some(0));
    assert_eq!(bed.standing(&late, 0), Standing::TooLate);
    bed.manager.settle(&bed.lock()).unwrap();
    assert_eq!(bed.manager.latest().unwrap(), Some(next));
}

#[test]
fn snapshots_of_other_programs_are_cut_off_when_the_record_lists_them_and_count_when_they_came_later() {
    let bed = Bed::new();
    bed.put(1, "s1", None);
    let going = [bed.put(2, "s2", None), bed.put(3, "s3", Some(0))];
    bed.remove(RemovalKind::Rollback, 1, &going);
    assert_eq!(bed.manager.ids().unwrap(), [1]);
    bed.delete(3);
    bed.delete(2);
    bed.put(2, "java", None);
    assert_eq!(bed.manager.ids().unwrap(), [1, 2]);
}

#[test]
fn what_a_copy_of_another_branch_or_an_heir_says_of_records_does_not_count() {
    let bed = Bed::new();
    bed.put(1, "s1", Some(0));
    bed.remove(RemovalKind::Rollback, 1, &[]);
    // another program copies a branch's snapshot, and lets its next one inherit the properties
    let copy = Bed::snapshot(2, "s2", None).knowing(0, "b");
    bed.io.put(&bed.manager.path(2), copy.to_json().unwrap().as_bytes());
    let heir = Snapshot { id: 3, delta_manifest_list: "s3".to_owned(), ..Bed::snapshot(3, "s1", Some(0)) };
    bed.io.put(&bed.manager.path(3), heir.to_json().unwrap().as_bytes());
    assert_eq!(bed.manager.ids().unwrap(), [1, 2, 3]);
    bed.put(4, "late", Some(0));
    assert_eq!(bed.manager.latest_id().unwrap(), Some(3));
}

#[test]
fn a_rollback_to_a_tag_before_the_fence_lowers_it() {
    let bed = Bed::new();
    let line: Vec<Snapshot> = (1..=5).map(|id| bed.put(id, &format!("s{id}"), Some(0))).collect();
    bed.remove(RemovalKind::Expire, 5, &line[..4]);
    (1..5).for_each(|id| bed.delete(id));
    bed.put(2, "s2", Some(2));
    assert_eq!(bed.manager.latest_id().unwrap(), Some(5));
    bed.remove(RemovalKind::Rollback, 2, &line[4..]);
    assert_eq!(bed.manager.ids().unwrap(), [2]);
    let removals = bed.manager.removals().read().unwrap();
    assert_eq!((removals.count, removals.fence), (2, 2));
}

#[test]
fn a_fence_that_lies_after_all_snapshots_is_void_and_is_taken_back() {
    let bed = Bed::new();
    let line: Vec<Snapshot> = (1..=5).map(|id| bed.put(id, &format!("s{id}"), Some(0))).collect();
    bed.remove(RemovalKind::Expire, 5, &line[..4]);
    // another program goes back to a tag of snapshot 2, and knows no records
    (1..=5).for_each(|id| bed.delete(id));
    bed.put(2, "s2", Some(0));
    bed.put(3, "java", None);
    assert_eq!(bed.manager.ids().unwrap(), [2, 3]);
    assert_eq!(bed.manager.version(2).unwrap().id, 2);
    bed.manager.settle(&bed.lock()).unwrap();
    assert_eq!(bed.manager.removals().read().unwrap().fence, 2);
    bed.put(5, "s5", Some(2));
    assert_eq!(bed.manager.ids().unwrap(), [2, 3, 5], "ids from the old fence on change nothing");
}

#[test]
fn an_expiry_that_is_called_off_leaves_the_line_as_it_was() {
    let bed = Bed::new();
    let line: Vec<Snapshot> = (1..=3).map(|id| bed.put(id, &format!("s{id}"), Some(0))).collect();
    bed.remove(RemovalKind::Expire, 3, &line[..2]);
    assert_eq!(bed.manager.ids().unwrap(), [3]);
    bed.remove(RemovalKind::Keep, 0, &[]);
    assert_eq!(bed.manager.ids().unwrap(), [1, 2, 3]);
}

#[test]
fn a_table_that_had_snapshots_does_not_begin_anew() {
    let hinted = Bed::new();
    hinted.io.put("/t/snapshot/LATEST", b"5");
    let tagged = Bed::new();
    tagged.io.put("/t/tag/tag-v", Bed::snapshot(3, "s3", None).to_json().unwrap().as_bytes());
    for bed in [hinted, tagged] {
        let error = bed.manager.latest().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptFile);
        assert!(error.hint_text().unwrap().contains("roll back to a tag"), "{error}");
    }
    assert_eq!(Bed::new().manager.latest().unwrap(), None);
}

#[test]
fn one_upkeep_operation_at_a_time_and_the_others_say_so() {
    let bed = Bed::new();
    let held = bed.lock();
    let patience = Duration::from_secs(2);
    let error = UpkeepLock::take_with(&bed.fs, "/t", patience, &bed.clock).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UpkeepRunning);
    assert!(bed.clock.now_millis() >= 3_000, "it waited");
    assert!(UpkeepLock::try_take(&bed.fs, "/t").unwrap().is_none());
    drop(held);
    assert!(UpkeepLock::try_take(&bed.fs, "/t").unwrap().is_some());
}

#[test]
fn a_lost_hint_or_a_wrong_one_hides_no_record() {
    let bed = Bed::new();
    let line: Vec<Snapshot> = (1..=4).map(|id| bed.put(id, &format!("s{id}"), Some(0))).collect();
    bed.remove(RemovalKind::Expire, 2, &line[..1]);
    bed.remove(RemovalKind::Expire, 3, &line[1..2]);
    for hint in ["1", "2", "7", "x", ""] {
        bed.io.put("/t/siltstone/LATEST", hint.as_bytes());
        let removals = bed.manager.removals().read().unwrap();
        assert_eq!((removals.count, removals.fence), (2, 3), "hint {hint:?}");
    }
    bed.io.delete("/t/siltstone/LATEST").unwrap();
    assert_eq!(bed.manager.removals().read().unwrap().count, 2);
}

#[test]
fn old_records_go_after_a_while_and_a_writer_from_before_them_is_told_that_nobody_knows() {
    let bed = Bed::new();
    let first = bed.put(1, "s1", Some(0));
    for k in 0..320 {
        bed.remove(RemovalKind::Expire, 2 + k, &[]);
        bed.clock.sleep(Duration::from_secs(10));
    }
    let kept = bed.manager.removals().all().unwrap();
    assert!(kept.len() < 200 && kept.len() >= 100, "{}", kept.len());
    assert_eq!(bed.manager.removals().read().unwrap().count, 320);
    assert_eq!(bed.standing(&first, 0), Standing::Unknown);
}

#[test]
fn a_record_of_a_later_layout_is_refused() {
    let bed = Bed::new();
    bed.remove(RemovalKind::Expire, 2, &[]);
    let path = bed.manager.removals().path(1);
    let text = String::from_utf8(bed.io.read(&path).unwrap().to_vec()).unwrap();
    bed.io.put(&path, text.replace("\"version\": 1", "\"version\": 2").as_bytes());
    assert_eq!(bed.manager.latest().unwrap_err().kind(), ErrorKind::CorruptFile);
}
