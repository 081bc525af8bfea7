//! Readers of removal records that are held up while records are written and old ones deleted, and a storage that fails while one
//! is published.

use super::*;
use crate::{
    error::{Error, Result},
    fs::Meanwhile,
};

const OFTEN: i64 = 320;

impl Bed {
    /// The records as somebody sees them while something happens.
    fn log(&self, meanwhile: Meanwhile) -> RemovalLog {
        RemovalLog::new(Arc::new(self.io.behind(Arc::new(meanwhile))), "/t")
    }

    /// So many expiries that the records of today are deleted, with room between them: snapshots before `bound` go.
    fn often(&self, bound: i64) {
        for _ in 0..OFTEN {
            self.remove(RemovalKind::Expire, bound, &[]);
            self.clock.sleep(Duration::from_secs(10));
        }
    }

    fn then_often(&self, bound: i64) -> impl FnOnce() -> Result<()> + Send + 'static {
        let bed = self.clone();
        move || {
            bed.often(bound);
            Ok(())
        }
    }
}

#[test]
fn a_walk_along_the_records_that_is_held_up_does_not_take_deleted_ones_for_the_end() {
    // the first record says nothing of snapshot 50; then the others come, and all of the first hundreds are deleted
    let bed = Bed::new();
    let late = bed.put(50, "late", Some(0));
    bed.remove(RemovalKind::Expire, 2, &[]);
    bed.remove(RemovalKind::Expire, 60, &[]);
    assert_eq!(bed.standing(&late, 0), Standing::TooLate);
    let log = bed.log(Meanwhile::new().before("read", "/removal-2", bed.then_often(60)));
    assert_eq!(log.standing(&late, 0).unwrap(), Standing::Unknown);
    let removed = RemovedSnapshot::from(&late);
    assert_eq!(log.removed_by(&removed, 0).unwrap(), Fate::Unknown);
    assert_eq!(log.removed_since(0).unwrap(), None);
    // from a record on that is kept everything can be told
    assert_eq!(log.removed_by(&removed, 300).unwrap(), Fate::NotRemoved);
    assert_eq!(log.removed_since(300).unwrap(), Some(Vec::new()));
}

#[test]
fn a_record_that_comes_between_two_looks_is_read() {
    let bed = Bed::new();
    let late = bed.put(1, "late", Some(0));
    let others = bed.clone();
    let comes = move || {
        others.remove(RemovalKind::Expire, 5, &[]);
        Ok(())
    };
    let log = bed.log(Meanwhile::new().before("read", "/siltstone/LATEST", comes));
    assert_eq!(log.standing(&late, 0).unwrap(), Standing::TooLate);
}

#[test]
fn a_hint_to_a_record_that_never_was_says_nothing() {
    let bed = Bed::new();
    let line = bed.put(9, "s9", Some(1));
    bed.remove(RemovalKind::Expire, 5, &[]);
    bed.io.put("/t/siltstone/LATEST", b"7");
    assert_eq!(bed.standing(&line, 1), Standing::Committed);
    assert_eq!(bed.manager.removals().removed_by(&RemovedSnapshot::from(&line), 1).unwrap(), Fate::NotRemoved);
}

#[test]
fn a_hint_that_is_as_old_as_the_records_it_names_is_read_again() {
    let bed = Bed::new();
    let late = bed.put(1, "late", Some(0));
    bed.often(5);
    let log = bed.log(Meanwhile::new().before("exists", "/removal-320", bed.then_often(5)));
    assert_eq!(log.standing(&late, 0).unwrap(), Standing::Unknown);
}

#[test]
fn reading_begins_again_when_the_newest_record_is_old_before_it_is_read() {
    let bed = Bed::new();
    bed.remove(RemovalKind::Expire, 2, &[]);
    // found by the hint and deleted, found by a listing and deleted
    let meanwhile = Meanwhile::new().before("read", "/removal-1", bed.then_often(3)).before(
        "read",
        "/removal-321",
        bed.then_often(4),
    );
    let found = bed.log(meanwhile).read().unwrap();
    assert_eq!((found.count, found.fence), (1 + 2 * OFTEN.unsigned_abs(), 4));
    // and all of them, of which some are deleted while they are read
    let first = found.count - 100;
    let path: &'static str = format!("/removal-{first}").leak();
    let numbered = bed.log(Meanwhile::new().before("read", path, bed.then_often(5))).numbered().unwrap();
    let numbers: Vec<u64> = numbered.iter().map(|(number, _)| *number).collect();
    let newest = 1 + 3 * OFTEN.unsigned_abs();
    assert_eq!(numbers, (numbers[0]..=newest).collect::<Vec<_>>());
    assert!(newest - numbers[0] >= 100);
}

#[test]
fn a_missing_record_between_others_tells_nothing_of_a_snapshot_that_it_may_list() {
    let bed = Bed::new();
    let snapshot = bed.put(3, "s3", Some(0));
    bed.remove(RemovalKind::Expire, 2, &[]);
    bed.remove(RemovalKind::Expire, 4, std::slice::from_ref(&snapshot));
    bed.remove(RemovalKind::Expire, 5, &[]);
    let removals = bed.manager.removals().read().unwrap();
    let mut records = bed.manager.removals().numbered().unwrap();
    assert!(!removals.came_too_late(&snapshot, &records));
    records.remove(1);
    assert!(!removals.came_too_late(&snapshot, &records), "record 3 reaches it, and record 2 may have listed it");
    let late = bed.put(3, "late", Some(1));
    assert!(!removals.came_too_late(&late, &records));
    let late = bed.put(3, "late", Some(2));
    assert!(removals.came_too_late(&late, &records));
}

fn fails() -> Result<()> {
    Err(Error::new(ErrorKind::Storage, "an answer was lost"))
}

/// Publishes a record that takes snapshot 1 out while something fails.
fn appended(bed: &Bed, meanwhile: Meanwhile) -> Result<Removals> {
    bed.log(meanwhile).append(&bed.lock(), RemovalKind::Expire, 2, &[Bed::snapshot(1, "s1", Some(0))])
}

const LINKED: &str = "publish: remove temporary file";

#[test]
fn a_record_whose_answer_is_lost_is_read_back() {
    let bed = Bed::new();
    let published = appended(&bed, Meanwhile::new().before(LINKED, "/removal-1", fails)).unwrap();
    assert_eq!((published.count, bed.manager.removals().read().unwrap()), (1, published));
    // its name is made durable again
    let not_durable = Meanwhile::new().before(LINKED, "/removal-2", fails).before("sync_dir", "/siltstone", fails);
    let error = appended(&bed, not_durable).unwrap_err();
    assert!(error.message().contains("a power loss may undo it"), "{error}");
}

#[test]
fn a_record_that_was_not_published_is_an_error_and_changes_nothing() {
    let bed = Bed::new();
    for call in ["publish: temporary file", "publish: link"] {
        let error = appended(&bed, Meanwhile::new().before(call, "/removal-1", fails)).unwrap_err();
        assert_eq!(error.message(), "an answer was lost");
        assert_eq!(bed.manager.removals().read().unwrap().count, 0);
    }
}

#[test]
fn when_it_cannot_be_read_back_whether_a_record_is_there_the_error_says_so() {
    let bed = Bed::new();
    let silent = Meanwhile::new().before(LINKED, "/removal-1", fails).before("read", "/removal-1", fails);
    let error = appended(&bed, silent).unwrap_err();
    assert!(error.message().contains("it is not known whether the operation has taken effect"), "{error}");
}

#[test]
fn a_record_that_is_there_already_is_ours_when_it_has_our_content() {
    let bed = Bed::new();
    let mut contents = Vec::new();
    for knows in [Some(0), Some(1)] {
        let other = Bed::new();
        let going = [Bed::snapshot(1, if knows == Some(0) { "s1" } else { "another" }, knows)];
        other.manager.removals().append(&other.lock(), RemovalKind::Expire, 2, &going).unwrap();
        contents.push(other.io.read("/t/siltstone/removal-1").unwrap());
    }
    // the same record, as a link whose answer was lost on the way leaves it; and somebody else's
    for (content, ours) in contents.into_iter().zip([true, false]) {
        let others = bed.io.clone();
        let comes = move || {
            others.put("/t/siltstone/removal-1", &content);
            Ok(())
        };
        let result = appended(&bed, Meanwhile::new().before("publish: link", "/removal-1", comes));
        assert_eq!(
            result.as_ref().map_err(Error::kind).err(),
            (!ours).then_some(ErrorKind::UpkeepRunning),
            "{result:?}"
        );
        bed.io.delete("/t/siltstone/removal-1").unwrap();
        bed.io.delete("/t/siltstone/LATEST").unwrap();
    }
}

#[test]
fn the_dead_go_when_the_hint_to_the_latest_snapshot_does_not_name_them_any_more() {
    // Java takes the snapshot that the hint names for the latest one when the next does not exist
    let bed = Bed::new();
    let line: Vec<Snapshot> = (1..=3).map(|id| bed.put(id, &format!("s{id}"), Some(0))).collect();
    bed.manager.write_latest_hint(3).unwrap();
    bed.remove(RemovalKind::Rollback, 1, &line[1..]);
    bed.manager.settle(&bed.lock()).unwrap();
    assert_eq!(bed.manager.hint("LATEST").unwrap(), Some(1));
    assert_eq!(bed.manager.listed_ids().unwrap(), [1]);
}

/// The record was deleted when it was old, and from then on every expiry took what the tag lacks for damage.
#[test]
fn a_record_is_kept_while_there_is_a_tag_whose_files_went_with_it() {
    let bed = Bed::new();
    let line: Vec<Snapshot> = (1..=3).map(|id| bed.put(id, &format!("s{id}"), Some(0))).collect();
    bed.remove(RemovalKind::Expire, 2, &line[..1]);
    bed.remove(RemovalKind::Expire, 3, &line[1..2]);
    // the maker of one died before it looked whether the version was there still; the other one keeps its files
    bed.io.put("/t/tag/tag-kept", line[0].to_json().unwrap().as_bytes());
    bed.io.put("/t/manifest/s1", b"");
    bed.io.put("/t/tag/tag-dead", line[1].to_json().unwrap().as_bytes());
    let first = || bed.manager.removals().numbered().unwrap()[0].0;
    bed.often(3);
    assert_eq!(first(), 2);
    bed.io.delete("/t/tag/tag-dead").unwrap();
    bed.often(3);
    assert!(first() > 300, "{}", first());
}
