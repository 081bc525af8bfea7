//! A commit was published in the moment after its options changed, and is about to be taken back: it stays where others rely on
//! it, and otherwise goes like what a rollback takes back.

use siltstone::maintenance::{
    automatic::Committer,
    expire::{Retention, expire_snapshots},
    rollback::rollback,
    tag::{CreateTag, create_tag},
};

use super::{
    branches::{Before, Both},
    *,
};
use crate::crash;

const VECTORS: Kind = (&[], &[("deletion-vectors.enabled", "true"), ("deletion-vectors.modifiable", "true")]);

/// Versions 1 and 2, each with a file of two rows.
fn two_versions() -> FaultFileIo {
    let io = made(VECTORS, 0);
    for k in [0, 2] {
        let options = WriteOptions { threads: Some(1), ..WriteOptions::default() };
        let mut writer = main_of(&io).writer(None, options).unwrap();
        writer.write(&batch(&[(k, 0), (k + 1, 0)]), None).and_then(|()| writer.commit(Committable::default())).unwrap();
        writer.close();
    }
    io
}

/// Versions 1 and 2, and a commit that marks a row as version 3: vectors are switched off just before it gets its name, and others
/// work before its writer looks again.
fn marks_late(others: fn(&Table)) -> (FaultFileIo, siltstone::Error) {
    let io = two_versions();
    let (alters, works) = (io.clone(), io.clone());
    let switches_off = Before {
        call: ("publish: link", "/snapshot-3"),
        run: move || {
            let change = r#"[{"kind": "remove_option", "key": "deletion-vectors.enabled"}]"#;
            main_of(&alters).alter(change).unwrap();
        },
        fired: AtomicBool::new(false),
    };
    let other = Before {
        call: ("publish: remove temporary file", "/snapshot-3"),
        run: move || others(&main_of(&works)),
        fired: AtomicBool::new(false),
    };
    let table = open(Arc::new(io.behind(Arc::new(Both(switches_off, other)))), HOME, "main");
    let error = crash::delete(table.context(), 7, "k = 0").unwrap_err();
    (io, error)
}

fn ids(io: &FaultFileIo) -> Vec<i64> {
    SnapshotManager::new(Arc::new(io.clone()), HOME).ids().unwrap()
}

#[test]
fn a_commit_that_an_expiry_took_for_the_version_that_stays_is_not_taken_back() {
    let only_the_last = Retention { max: 1, min: 1, older_than: None, limit: i64::MAX };
    let keeps = |table: &Table| {
        let keep = Retention { max: 1, min: 1, older_than: None, limit: i64::MAX };
        drop(expire_snapshots(table.context(), &keep, false).unwrap());
    };
    let (io, error) = marks_late(keeps);
    assert!(error.message().contains("it is not known"), "{error}");
    assert_eq!(ids(&io), [3], "the table has a version");
    assert_eq!(rows(&main_of(&io), VersionSelector::Latest), [(1, 0), (2, 0), (3, 0)]);
    put(&main_of(&io), OURS).unwrap();
    expire_snapshots(main_of(&io).context(), &only_the_last, false).unwrap();
    check_whole(&io, "after an expiry");
}

/// What others do to a table.
type Others = fn(&Table);

#[test]
fn a_commit_that_a_tag_a_branch_or_a_rollback_names_is_not_taken_back() {
    let relying: [(&str, Others); 3] = [
        ("tag", |table| drop(create_tag(table.context(), "v", &CreateTag::default()).unwrap())),
        ("branch", |table| create_branch(table.context(), "b", &BranchSource::Snapshot(Some(3))).unwrap()),
        ("rollback", |table| drop(rollback(table.context(), &VersionSelector::Snapshot(3), false).unwrap())),
    ];
    for (what, others) in relying {
        let (io, error) = marks_late(others);
        assert!(error.message().contains("it is not known"), "{what}: {error}");
        assert_eq!(ids(&io), [1, 2, 3], "{what}");
        check_whole(&io, what);
        put(&main_of(&io), OURS).unwrap();
        assert_eq!(ids(&io), [1, 2, 3, 4], "{what}");
        check_whole(&io, what);
    }
}

#[test]
fn a_commit_that_others_have_built_on_is_not_taken_back() {
    let (io, error) = marks_late(|table| drop(put(table, OURS).unwrap()));
    assert!(error.message().contains("it is not known"), "{error}");
    assert_eq!(ids(&io), [1, 2, 3, 4]);
    check_whole(&io, "built on");
}

/// Streams have read it: they learn of it as of a rollback.
#[test]
fn a_commit_that_is_taken_back_goes_by_a_removal_record() {
    let (io, error) = marks_late(|_| ());
    assert_eq!((error.kind(), error.lets_files_stay()), (ErrorKind::CommitConflict, true), "{error}");
    assert_eq!(ids(&io), [1, 2]);
    let removals = SnapshotManager::new(Arc::new(io.clone()), HOME).removals().read().unwrap();
    assert!(removals.rolled_back_since(0, 3), "{removals:?}");
    put(&main_of(&io), OURS).unwrap();
    assert_eq!(ids(&io), [1, 2, 3]);
    check_whole(&io, "taken back");
}

#[test]
fn a_commit_that_a_rollback_takes_back_first_is_a_conflict_and_its_table_was_not_moved() {
    let (io, error) =
        marks_late(|table| drop(rollback(table.context(), &VersionSelector::Snapshot(1), false).unwrap()));
    assert_eq!((error.kind(), error.lets_files_stay()), (ErrorKind::CommitConflict, true), "{error}");
    assert_eq!(ids(&io), [1]);
    Committer::with_new_user(main_of(&io).context()).compact_manifests().unwrap();
    check_whole(&io, "rolled back");
}

/// The look after publishing needs the lock, which another upkeep holds: the next try finds the snapshot in the line, and must
/// not take that for all.
#[test]
fn a_commit_that_could_not_look_after_publishing_is_not_a_success_when_the_next_try_finds_it() {
    let io = two_versions();
    let (alters, fs) = (io.clone(), Arc::new(io.clone()) as FileIoRef);
    let held: Arc<Mutex<Option<UpkeepLock>>> = Arc::default();
    let holds = Arc::clone(&held);
    let switches_off = Before {
        call: ("publish: link", "/snapshot/snapshot-3"),
        run: move || {
            let change = r#"[{"kind": "remove_option", "key": "deletion-vectors.enabled"}]"#;
            main_of(&alters).alter(change).unwrap();
            *holds.lock().unwrap() = UpkeepLock::try_take(&fs, HOME).unwrap();
        },
        fired: AtomicBool::new(false),
    };
    let table = open(Arc::new(io.behind(Arc::new(switches_off))), HOME, "main");
    let error = crash::delete(table.context(), 7, "k = 0").unwrap_err();
    assert!(error.message().contains("it is not known"), "{error}");
    drop(held.lock().unwrap().take());
    // the same commit once more, when nobody holds the lock, is for its writer to decide
    assert_eq!(ids(&io), [1, 2, 3]);
    rollback(main_of(&io).context(), &VersionSelector::Snapshot(2), false).unwrap();
    check_whole(&io, "rolled back");
}
