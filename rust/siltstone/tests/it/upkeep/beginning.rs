//! Consumers that begin while an expiry has chosen what goes, and expiries that die just then.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use siltstone::{
    ErrorKind, Result,
    fs::{FaultFileIo, FileIo as _, FileIoRef, Meanwhile},
    maintenance::expire::{Retention, expire_changelogs, expire_snapshots},
    snapshot::SnapshotManager,
    table::Table,
};

use super::{
    ROOT, append, check_whole,
    dies::{Call, dies, held_up, versions},
    open, table, until,
};

fn begin_at(fs: &FileIoRef, next: i64) -> Result<()> {
    Table::open_with(Arc::clone(fs), ROOT, "main", None, BTreeMap::new())?.reset_consumer("c", Some(next))
}

/// An expiry to version 8, which is killed before a call; a consumer begins at version 3 before another.
fn beside(io: &FaultFileIo, fs: &FileIoRef, begins: Call, at: Call) -> Result<()> {
    let came: Arc<Mutex<Option<Result<()>>>> = Arc::default();
    let (told, others) = (Arc::clone(&came), Arc::clone(fs));
    let then = move || {
        *told.lock().unwrap() = Some(begin_at(&others, 3));
        Ok(())
    };
    let meanwhile = Meanwhile::new().before(begins.0, begins.1, then);
    let ctx = dies(io, at, meanwhile);
    expire_snapshots(&ctx, &until(8, 8), false).unwrap_err();
    came.lock().unwrap().take().expect("the consumer began")
}

/// The call after which an expiry has its record.
const RECORDED: Call = ("publish: remove temporary file", "/siltstone/removal-1");

#[test]
fn what_a_consumer_keeps_that_began_before_the_record_stays_though_the_expiry_is_killed_after_it() {
    let (mut kept, mut refused) = (0, 0);
    for begins in [
        ("overwrite", "/siltstone/consumers-expire"),
        ("publish: temporary file", "/siltstone/removal-1"),
        ("publish: link", "/siltstone/removal-1"),
    ] {
        let (io, fs) = versions(8);
        let began = beside(&io, &fs, begins, RECORDED);
        let snapshots = SnapshotManager::new(Arc::clone(&fs), ROOT);
        match began {
            Ok(()) => {
                assert_eq!(snapshots.ids().unwrap(), (1..=8).collect::<Vec<_>>(), "{begins:?}");
                expire_snapshots(&open(&fs, "main"), &until(8, 8), false).unwrap();
                assert_eq!(snapshots.ids().unwrap(), (3..=8).collect::<Vec<_>>(), "{begins:?}");
                check_whole(&fs, 3);
                kept += 1;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::UpkeepRunning, "{begins:?}: {error}");
                refused += 1;
            }
        }
    }
    assert!(kept > 0 && refused > 0, "{kept} {refused}");
}

#[test]
fn a_consumer_that_meets_the_mark_of_a_dead_expiry_takes_it_away() {
    let (io, fs) = versions(8);
    let ctx = dies(&io, ("publish: link", "/siltstone/removal-1"), Meanwhile::new());
    expire_snapshots(&ctx, &until(8, 8), false).unwrap_err();
    let mark = format!("{ROOT}/siltstone/consumers-expire");
    assert!(io.exists(&mark).unwrap());
    begin_at(&fs, 3).unwrap();
    assert!(!io.exists(&mark).unwrap());
    expire_snapshots(&open(&fs, "main"), &until(8, 8), false).unwrap();
    check_whole(&fs, 3);
}

#[test]
fn an_expiry_that_calls_itself_off_and_dies_lets_streams_begin_where_they_did() {
    let (io, fs) = versions(8);
    // a consumer of another program, which knows no marks
    let theirs = format!("{ROOT}/consumer/consumer-java");
    let java = io.clone();
    let meanwhile = Meanwhile::new().before("publish: link", "/siltstone/removal-1", move || {
        java.put(&theirs, br#"{ "nextSnapshot" : 3 }"#);
        Ok(())
    });
    let ctx = dies(&io, ("publish: remove temporary file", "/siltstone/removal-2"), meanwhile);
    expire_snapshots(&ctx, &until(8, 8), false).unwrap_err();
    let snapshots = SnapshotManager::new(Arc::clone(&fs), ROOT);
    assert_eq!(snapshots.ids().unwrap(), (1..=8).collect::<Vec<_>>(), "called off");
    assert_eq!(snapshots.earliest_id().unwrap(), Some(1));
}

/// Versions 1 to 8 of which changelogs 1 to 7 are left.
fn seven_changelogs() -> (FaultFileIo, FileIoRef) {
    let outlive = [
        ("write-only", "true"),
        ("snapshot.num-retained.min", "1"),
        ("snapshot.num-retained.max", "1"),
        ("changelog.num-retained.min", "1"),
        ("changelog.num-retained.max", "8"),
        ("siltstone.upkeep-lock-timeout", "0 s"),
    ];
    let (io, fs) = table(&[], &outlive);
    (1..=8).for_each(|k| append(&fs, "main", (k, 0)));
    expire_snapshots(&open(&fs, "main"), &until(8, 8), false).unwrap();
    (io, fs)
}

#[test]
fn a_changelog_that_a_consumer_keeps_stays_at_whichever_call_of_their_expiry_it_began() {
    let (made, _) = seven_changelogs();
    let (mut kept, mut refused) = (0, 0);
    for call in 0.. {
        let io = made.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let came: Arc<Mutex<Option<Result<()>>>> = Arc::default();
        let (told, others) = (Arc::clone(&came), Arc::clone(&fs));
        let meanwhile = Meanwhile::new().before_call(call, move || {
            *told.lock().unwrap() = Some(begin_at(&others, 3));
            Ok(())
        });
        let newest = Retention { max: 1, min: 1, older_than: None, limit: i64::MAX };
        expire_changelogs(&held_up(&io, meanwhile), &newest, false).unwrap();
        let Some(began) = came.lock().unwrap().take() else { break };
        let is_there = io.exists(&format!("{ROOT}/changelog/changelog-3")).unwrap();
        if began.is_ok() {
            assert!(is_there, "call {call}");
            kept += 1;
        } else {
            refused += 1;
        }
    }
    assert!(kept > 3 && refused > 3, "{kept} {refused}");
}
