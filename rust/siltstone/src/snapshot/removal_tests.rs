//! The line of versions beside expiries and rollbacks (`removal.rs` says the rules).

use std::{sync::Arc, time::Duration};

use super::*;
use crate::{
    env::{Clock, ClockRef, ManualClock},
    error::ErrorKind,
    fs::{FaultFileIo, FileIo as _, FileIoRef},
};

mod held_up;

const NOBODY_WAITS: Duration = Duration::ZERO;

#[derive(Clone)]
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
fn a_snapshot_that_another_program_expired_and_goes_back_to_by_its_tag_is_a_version() {
    let bed = Bed::new();
    let line: Vec<Snapshot> = (1..=5).map(|id| bed.put(id, &format!("s{id}"), Some(0))).collect();
    bed.io.put("/t/tag/tag-v", line[1].to_json().unwrap().as_bytes());
    // the other program expires what is before 3, the records name the rest
    bed.remove(RemovalKind::Expire, 5, &line[2..4]);
    (1..=5).for_each(|id| bed.delete(id));
    bed.put(2, "s2", Some(0));
    bed.put(3, "java", None);
    bed.put(4, "late", Some(0));
    assert_eq!(bed.manager.ids().unwrap(), [2, 3]);
    bed.manager.settle(&bed.lock()).unwrap();
    assert_eq!(bed.manager.listed_ids().unwrap(), [2, 3], "what came too late goes");
    assert_eq!(bed.manager.removals().read().unwrap().fence, 2);
    bed.put(4, "s4-again", Some(2));
    assert_eq!(bed.manager.ids().unwrap(), [2, 3, 4]);
}

#[test]
fn what_lies_between_the_common_version_and_the_target_of_a_fast_forward_is_taken_back() {
    let bed = Bed::new();
    let line: Vec<Snapshot> = (1..=4).map(|id| bed.put(id, &format!("s{id}"), Some(0))).collect();
    let log = bed.manager.removals();
    let parted = Parted { target: 3, common: 1, mixed: false, inherited: Vec::new() };
    log.append_parting(&bed.lock(), "b", parted, &line[1..]).unwrap();
    bed.remove(RemovalKind::Expire, 3, &line[..1]);
    assert_eq!(bed.manager.ids().unwrap(), [3], "main's own stays until the branch's is in its place");
    let first = bed.put(3, "branch", Some(2));
    assert_eq!(bed.manager.latest().unwrap(), Some(first));
    assert_eq!(bed.standing(&line[0], 0), Standing::Committed);
    (1..4).for_each(|at| assert_eq!(bed.standing(&line[at], 0), Standing::RolledBack, "{at}"));
    assert_eq!(bed.standing(&Bed::snapshot(2, "late", Some(0)), 0), Standing::TooLate);
    let expired: Vec<i64> = log.expired().unwrap().iter().map(|removed| removed.id).collect();
    assert_eq!(expired, [1], "the others are in no version, as if they had never been committed");
    // a rollback to the same version does not say what was before the fast-forward
    bed.remove(RemovalKind::Rollback, 3, &[]);
    let removals = log.read().unwrap();
    assert_eq!([1, 2, 3, 4].map(|id| removals.rolled_back_since(0, id)), [false, true, true, true]);
    assert_eq!([3, 4].map(|id| removals.rolled_back_since(2, id)), [false, true]);
}

#[test]
fn a_snapshot_that_is_put_into_its_place_is_a_version_from_the_record_of_its_fast_forward_on() {
    for id in [3, 5] {
        let bed = Bed::new();
        let line: Vec<Snapshot> = (1..=2).map(|id| bed.put(id, &format!("s{id}"), Some(0))).collect();
        let log = bed.manager.removals();
        log.append_placing(&bed.lock(), &Bed::snapshot(id, "branch", None)).unwrap();
        let placed = bed.put(id, "branch", Some(2));
        bed.io.put("/t/snapshot/EARLIEST", id.to_string().as_bytes());
        assert_eq!(bed.manager.ids().unwrap(), [1, 2]);
        assert_eq!((bed.manager.earliest_id().unwrap(), bed.manager.latest_id().unwrap()), (Some(1), Some(2)));
        assert!(!bed.manager.is_version(&placed).unwrap());
        // another operation's record makes it none, either
        bed.remove(RemovalKind::Expire, 2, &line[..1]);
        assert_eq!(bed.manager.ids().unwrap(), [2]);
        let parted = Parted { target: id, common: 0, mixed: false, inherited: Vec::new() };
        log.append_parting(&bed.lock(), "b", parted, &line).unwrap();
        assert_eq!(bed.manager.latest().unwrap(), Some(placed));
    }
}

#[test]
fn a_snapshot_whose_fast_forward_died_goes_with_the_next_upkeep_and_a_lost_record_costs_no_version() {
    let bed = Bed::new();
    bed.put(1, "s1", Some(0));
    bed.manager.removals().append_placing(&bed.lock(), &Bed::snapshot(4, "branch", None)).unwrap();
    bed.put(4, "branch", Some(2));
    bed.manager.settle(&bed.lock()).unwrap();
    assert_eq!(bed.manager.listed_ids().unwrap(), [1]);
    bed.put(4, "branch", Some(2));
    bed.io.delete("/t/siltstone/removal-1").unwrap();
    bed.io.delete("/t/siltstone/LATEST").unwrap();
    assert_eq!(bed.manager.ids().unwrap(), [1, 4]);
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
        assert_eq!(bed.manager.latest().unwrap_err().kind(), ErrorKind::TableNotFound, "it was dropped");
        bed.io.put("/t/schema/schema-0", b"{}");
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

/// A clock that is set back while somebody waits.
#[derive(Debug)]
struct SetBack(ManualClock);

impl Clock for SetBack {
    fn now_millis(&self) -> i64 {
        self.0.now_millis()
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, time: Duration) {
        self.0.sleep(time);
        self.0.advance(-3_600_000);
    }
}

/// It once waited for as long as the clock had been set back.
#[test]
fn a_wait_for_the_lock_ends_in_time_although_the_clock_is_set_back() {
    let bed = Bed::new();
    let _held = bed.lock();
    let clock: ClockRef = Arc::new(SetBack(ManualClock::at(0)));
    let error = UpkeepLock::take_with(&bed.fs, "/t", Duration::from_secs(2), &clock).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UpkeepRunning);
    assert_eq!(clock.elapsed(), Duration::from_secs(2));
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

/// Rolled back to 2, 3, 4 … as often as that, each time after the next snapshot; `settle` beside it, as a rollback does.
fn often_rolled_back(times: i64) -> Bed {
    let bed = Bed::new();
    bed.put(1, "s1", Some(0));
    bed.put(2, "s2", Some(0));
    for id in 3..3 + times {
        let known = bed.manager.removals().read().unwrap().count;
        let kept = bed.put(id, &format!("s{id}"), Some(known));
        let going = [bed.put(id + 1, &format!("gone{id}"), Some(known)), bed.put(id + 2, &format!("java{id}"), None)];
        bed.remove(RemovalKind::Rollback, kept.id, &going);
        bed.manager.settle(&bed.lock()).unwrap();
        bed.clock.sleep(Duration::from_secs(30));
    }
    bed
}

#[test]
fn a_table_that_is_rolled_back_often_remembers_the_latest_rollbacks_only() {
    let bed = often_rolled_back(200);
    let removals = bed.manager.removals().read().unwrap();
    // each rollback is two records (the second says that it is settled): 100 records, and no more than the one before them
    assert!((40..=52).contains(&removals.rollbacks.len()), "{}", removals.rollbacks.len());
    assert_eq!(bed.manager.ids().unwrap(), (1..=202).collect::<Vec<_>>());
    // of the last one what it lists goes, too, when nobody asks for its record any more
    for bound in 0..120 {
        bed.remove(RemovalKind::Expire, 2 + bound, &[]);
        bed.clock.sleep(Duration::from_secs(10));
    }
    let last = bed.manager.removals().read().unwrap().rollbacks;
    assert_eq!((last.len(), last[0].target, last[0].foreign.len()), (1, 202, 0));
}

#[test]
fn a_writer_from_before_a_rollback_that_nobody_remembers_finds_no_free_name_that_counts() {
    let bed = often_rolled_back(200);
    let before = bed.manager.ids().unwrap();
    let oldest = bed.manager.removals().read().unwrap().rollbacks[0].record;
    for known in [0, 1, oldest - 1] {
        let late = bed.put(203, "late", Some(known));
        assert!(!bed.manager.is_version(&late).unwrap(), "{known}");
        assert_eq!(bed.manager.ids().unwrap(), before, "{known}");
        bed.delete(203);
    }
    // into names that an expiry has freed
    bed.remove(RemovalKind::Expire, 100, &[]);
    (1..100).for_each(|id| bed.delete(id));
    bed.put(50, "late", Some(0));
    assert_eq!(bed.manager.ids().unwrap(), (100..=202).collect::<Vec<_>>());
    // and into those of a later rollback
    let going = bed.manager.existing(151..=202).unwrap();
    bed.remove(RemovalKind::Rollback, 150, &going);
    bed.manager.settle(&bed.lock()).unwrap();
    bed.put(151, "late", Some(0));
    assert_eq!(bed.manager.ids().unwrap(), (100..=150).collect::<Vec<_>>());
}

/// They were forgotten with the rollbacks of which no writer asks any more, and a consumer that came back passed over commits.
#[test]
fn what_rollbacks_took_back_is_known_to_readers_however_long_ago_that_was() {
    let bed = often_rolled_back(200);
    let removals = bed.manager.removals().read().unwrap();
    // rolled back to 3, 4, … 202, by the records 1, 3, … 399
    let oldest_apart = removals.forgotten[1].kept;
    for kept in [oldest_apart, 130, 150, 202] {
        let record = u64::try_from(2 * (kept - 3) + 1).unwrap();
        assert!(removals.rolled_back_since(record - 1, kept + 1), "{kept}: what this one took back");
        assert!(!removals.rolled_back_since(record - 1, kept), "{kept}: what it went back to");
        assert!(!removals.rolled_back_since(record, kept + 1), "{kept}: what came after it");
    }
    // of the oldest more is said to be taken back, never less
    assert!((3..oldest_apart).all(|kept| removals.rolled_back_since(u64::try_from(2 * (kept - 3)).unwrap(), kept + 1)));
    assert!(removals.forgotten.len() <= 64, "{}", removals.forgotten.len());
    // one to before all of them says all that they said
    bed.remove(RemovalKind::Rollback, 2, &[]);
    assert_eq!(bed.manager.removals().read().unwrap().forgotten, []);
}

#[test]
fn a_rollback_that_died_is_remembered_until_what_it_cut_off_is_gone() {
    let bed = Bed::new();
    let line: Vec<Snapshot> = (1..=3).map(|id| bed.put(id, &format!("s{id}"), Some(0))).collect();
    bed.io.put("/t/tag/tag-late", line[2].to_json().unwrap().as_bytes());
    bed.remove(RemovalKind::Rollback, 1, &line[1..]);
    for _ in 0..150 {
        bed.remove(RemovalKind::Expire, 1, &[]);
        bed.clock.sleep(Duration::from_secs(10));
    }
    assert_eq!(bed.manager.ids().unwrap(), [1]);
    bed.manager.settle(&bed.lock()).unwrap();
    assert!(!bed.io.paths().contains(&"/t/tag/tag-late".to_owned()));
    let settled = bed.manager.removals().read().unwrap();
    assert!(settled.rollbacks.iter().all(|rollback| rollback.settled));
    let calls = bed.io.calls();
    bed.manager.settle(&bed.lock()).unwrap();
    let again = bed.io.trace().split_off(usize::try_from(calls).unwrap());
    assert!(!again.iter().any(|call| call.contains("/t/tag") || call.contains("/t/changelog")), "{again:#?}");
}

/// Snapshots 1 to 6, of which all before 5 have expired; another program, which knows no records, goes back to its tag of 3.
fn void_fence(left: &[i64]) -> Bed {
    let bed = Bed::new();
    let line: Vec<Snapshot> = (1..=6).map(|id| bed.put(id, &format!("s{id}"), Some(0))).collect();
    bed.remove(RemovalKind::Expire, 5, &line[..4]);
    (1..=6).filter(|id| !left.contains(id)).for_each(|id| bed.delete(id));
    bed.put(3, "s3", Some(0));
    bed
}

#[test]
fn below_a_void_fence_what_an_expiry_that_died_has_left_is_no_version() {
    let bed = void_fence(&[1, 2]);
    assert_eq!(bed.manager.ids().unwrap(), [3], "the data files of 1 and 2 are gone");
    assert_eq!(bed.manager.version(2).unwrap_err().kind(), ErrorKind::SnapshotExpired);
    bed.put(4, "java", None);
    assert_eq!(bed.manager.ids().unwrap(), [3, 4]);
    bed.manager.settle(&bed.lock()).unwrap();
    assert_eq!(bed.manager.ids().unwrap(), [3, 4]);
    assert_eq!(bed.manager.removals().read().unwrap().fence, 3);
}

#[test]
fn below_a_void_fence_a_commit_that_came_too_late_is_no_version() {
    let bed = void_fence(&[]);
    // into holes of the expiry, before and after the snapshot that came back; their writers died
    bed.put(2, "late2", Some(0));
    let late = bed.put(4, "late4", Some(0));
    assert_eq!(bed.manager.latest_id().unwrap(), Some(3));
    assert_eq!(bed.manager.ids().unwrap(), [3]);
    assert!(!bed.manager.is_version(&late).unwrap());
    bed.manager.settle(&bed.lock()).unwrap();
    assert_eq!(bed.manager.ids().unwrap(), [3]);
    assert_eq!(bed.manager.listed_ids().unwrap(), [2, 3], "what was in the way of the next commit is gone");
}

#[test]
fn once_a_void_fence_is_taken_back_writers_from_before_it_come_too_late() {
    let bed = void_fence(&[]);
    bed.manager.settle(&bed.lock()).unwrap();
    // made from snapshots 3 and 6 as they were before the other program went back
    let late = [bed.put(4, "late4", Some(0)), bed.put(7, "late7", Some(1))];
    assert_eq!(bed.manager.ids().unwrap(), [3]);
    assert_eq!(bed.standing(&late[0], 0), Standing::TooLate);
    assert_eq!(bed.standing(&late[1], 1), Standing::TooLate);
    (4..=7).for_each(|id| bed.delete(id));
    let next = bed.put(4, "next", Some(2));
    assert_eq!(bed.standing(&next, 2), Standing::Committed);
    assert_eq!(bed.manager.ids().unwrap(), [3, 4]);
}
