//! Writers of one bucket at the same time, which all compact: their compactions follow their commits, one at a time, and level 0
//! stays short.

use siltstone::{
    scan::{EntryFilter, live_entries},
    table::TableWriter,
};

use super::*;

const TRIGGER: (&str, &str) = ("num-sorted-run.compaction-trigger", "3");
const STOP: usize = 5;
const STOPS: (&str, &str) = ("num-sorted-run.stop-trigger", "5");
const AT_ONCE: (&str, &str) = ("siltstone.upkeep-lock-timeout", "0 s");
const LOCK: &str = "siltstone/compaction.lock";

fn writer(fs: &FileIoRef) -> TableWriter {
    table(fs).writer(None, WriteOptions { threads: Some(1), ..WriteOptions::default() }).unwrap()
}

/// Two that write key 1 to the bucket as it is now; neither knows the rows of the other.
fn two_at_once(fs: &FileIoRef, n: i64) -> [TableWriter; 2] {
    let [mut a, mut b] = [writer(fs), writer(fs)];
    a.write(&batch(&[(1, n), (2, n)]), None).unwrap();
    b.write(&batch(&[(1, n + 1), (3, n)]), None).unwrap();
    [a, b]
}

fn commit(mut writer: TableWriter) -> CommitReport {
    let report = writer.commit(Committable::default()).unwrap();
    writer.close();
    report
}

fn levels(fs: &FileIoRef) -> Vec<i32> {
    let newest = SnapshotManager::new(Arc::clone(fs), ROOT).latest().unwrap().unwrap();
    let live = live_entries(&open(fs, ROOT), &newest, &EntryFilter::default()).unwrap();
    live.iter().map(|entry| entry.file.level).collect()
}

fn kinds(report: &CommitReport) -> Vec<String> {
    report.snapshots.iter().map(|snapshot| format!("{:?}", snapshot.commit_kind)).collect()
}

/// Files in level 0 whose numbers meet: of two writers at once.
fn contested(options: &[(&str, &str)]) -> (FaultFileIo, FileIoRef) {
    let (io, fs) = new_table(&["k"], &[&[BUCKET, TRIGGER, STOPS], options].concat());
    put(&fs, &[(9, 9)]).unwrap();
    let [a, b] = two_at_once(&fs, 10);
    commit(a);
    commit(b);
    assert_eq!(levels(&fs), [0, 0, 0]);
    (io, fs)
}

/// Each compaction would have put its writer's rows over those that the others had committed meanwhile: all were given up.
#[test]
fn of_many_writers_at_once_enough_compact_that_level_0_stays_short() {
    let (_, fs) = new_table(&["k"], &[BUCKET, TRIGGER, STOPS]);
    let mut compacted = 0;
    for n in 0..12 {
        for writer in two_at_once(&fs, n * 10) {
            let report = commit(writer);
            assert_eq!(report.notes.iter().find(|note| note.contains("given up")), None);
            compacted += kinds(&report).iter().filter(|kind| *kind == "Compact").count();
        }
        assert!(levels(&fs).len() <= STOP, "{:?}", levels(&fs));
    }
    assert!(compacted > 4, "{compacted}");
    // of equal numbers the row that was committed first stays
    assert_eq!(rows(&fs), [(1, 110), (2, 110), (3, 110)]);
}

#[test]
fn where_several_write_at_once_the_compaction_takes_in_what_others_have_committed_meanwhile() {
    let (_, fs) = contested(&[]);
    let [a, b] = two_at_once(&fs, 20);
    put(&fs, &[(4, 4)]).unwrap();
    let report = commit(a);
    assert_eq!((kinds(&report), report.notes), (vec!["Append".to_owned(), "Compact".to_owned()], Vec::new()));
    assert_eq!(levels(&fs), [3]);
    commit(b);
    assert_eq!(rows(&fs), [(1, 20), (2, 20), (3, 20), (4, 4), (9, 9)]);
}

#[test]
fn a_compaction_that_a_commit_got_in_the_way_of_is_done_again_on_the_table_as_it_is_then() {
    let (_, fs) = new_table(&["k"], &[BUCKET, TRIGGER, STOPS]);
    (0..3).for_each(|n| drop(put(&fs, &[(1, n)]).unwrap()));
    let [a, b] = two_at_once(&fs, 20);
    put(&fs, &[(1, 7)]).unwrap();
    let report = commit(a);
    assert_eq!(kinds(&report), ["Append", "Compact"]);
    assert!(report.notes.iter().any(|note| note.contains("which was done again")), "{:?}", report.notes);
    assert_eq!(levels(&fs), [3]);
    commit(b);
    assert_eq!(rows(&fs)[0], (1, 7));
}

#[test]
fn a_compaction_is_left_to_the_writer_that_is_at_it() {
    let (_, fs) = contested(&[]);
    let turn = fs.try_lock(&format!("{ROOT}/{LOCK}")).unwrap().unwrap();
    let [a, _] = two_at_once(&fs, 20);
    let report = commit(a);
    assert_eq!((kinds(&report), report.notes), (vec!["Append".to_owned()], Vec::new()));
    assert_eq!(levels(&fs), [0; 4]);
    drop(turn);
    let [a, _] = two_at_once(&fs, 30);
    assert_eq!(kinds(&commit(a)), ["Append", "Compact"]);
}

#[test]
fn above_the_stop_trigger_a_writer_waits_for_its_turn_and_then_compacts_itself() {
    let (_, fs) = contested(&[AT_ONCE]);
    (0..3).for_each(|n| drop(put(&fs, &[(5, n)]).unwrap()));
    let _turn = fs.try_lock(&format!("{ROOT}/{LOCK}")).unwrap().unwrap();
    let [a, _] = two_at_once(&fs, 20);
    assert_eq!(kinds(&commit(a)), ["Append", "Compact"]);
    assert_eq!(levels(&fs), [3]);
}

/// Whoever gets the messages compacts nothing after them.
#[test]
fn messages_that_are_handed_out_bring_their_compaction_along() {
    let (_, fs) = contested(&[]);
    let messages = prepared(&fs, &[(1, 30)]);
    assert!(messages.iter().any(|message| !message.compact.compact_after.is_empty()));
}

#[test]
fn a_lock_that_cannot_be_taken_is_said_and_takes_no_rows_with_it() {
    let (io, fs) = contested(&[]);
    let refuse =
        Meanwhile::new().before("try_lock", LOCK, || Err(siltstone::Error::new(ErrorKind::Storage, "no locks")));
    let (refusing, _) = super::late::beside(&io, refuse);
    let [a, _] = two_at_once(&refusing, 20);
    let report = commit(a);
    assert_eq!(kinds(&report), ["Append"]);
    assert!(
        report.notes.iter().any(|note| note.contains("no locks") && note.contains("rows are safe")),
        "{:?}",
        report.notes
    );
    assert_eq!(rows(&fs).len(), 4);
}
