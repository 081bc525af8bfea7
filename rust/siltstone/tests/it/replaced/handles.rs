//! Handles that were opened before their table was replaced, and the lock of whoever replaces it.

use super::*;

#[test]
fn an_old_handle_changes_nothing_of_the_table_that_was_made_in_its_place() {
    let io = made(KEYED, 1);
    let old = main_of(&io);
    let mut alters = main_of(&io);
    recreate(&io, KEYED);
    put(&main_of(&io), THEIRS).unwrap();
    let before = io.paths();
    assert_eq!(put(&old, OURS).unwrap_err().kind(), ErrorKind::CommitConflict);
    let option = r#"[{"kind": "set_option", "key": "my.option", "value": "x"}]"#;
    assert_eq!(alters.alter(option).unwrap_err().kind(), ErrorKind::CommitConflict);
    assert_eq!(io.paths(), before);
    check_whole(&io, "drop and make again");
}

#[test]
fn an_old_handle_of_a_table_that_was_renamed_makes_no_directory() {
    let io = made(KEYED, 1);
    let (old, mut alters) = (main_of(&io), main_of(&io));
    catalog(&io).rename_table("db.t", "db.u").unwrap();
    let before = io.list(DATABASE).unwrap();
    assert_eq!(put(&old, OURS).unwrap_err().kind(), ErrorKind::TableNotFound);
    let committed = old.committer(None).compact_manifests();
    assert!(committed.is_ok_and(|snapshot| snapshot.is_none()));
    assert!(old.expire_snapshots(&ExpireArgs::default(), false).is_err());
    assert!(alters.alter(r#"[{"kind": "set_option", "key": "my.option", "value": "x"}]"#).is_err());
    assert_eq!(io.list(DATABASE).unwrap(), before);
    put(&opened(&io, "/lake/db.db/u", "main"), OURS).unwrap();
    check_whole(&io, "rename");
}

/// Messages that another process has prepared are committed by an identifier which the job has used in the new table, too.
#[test]
fn an_identifier_that_was_committed_to_another_table_of_the_name_is_no_success() {
    let io = made(APPEND, 1);
    let (old, job) = (main_of(&io), "job");
    let write = |table: &Table, row| {
        let mut writer = table.writer(Some(job), WriteOptions { threads: Some(1), ..WriteOptions::default() }).unwrap();
        writer.write(&batch(&[row]), None).unwrap();
        writer.commit(Committable { identifier: Some(7), ..Committable::default() })
    };
    recreate(&io, APPEND);
    write(&main_of(&io), THEIRS).unwrap();
    let commit = old.committer(Some(job));
    let error = commit.commit(Committable { identifier: Some(7), ..Committable::default() }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CommitConflict, "{error}");
    assert_eq!(write(&old, OURS).unwrap_err().kind(), ErrorKind::CommitConflict);
}

#[test]
fn a_table_is_neither_dropped_nor_renamed_under_the_hands_of_its_upkeep() {
    let io = made(APPEND, 2);
    let fs: FileIoRef = Arc::new(io.clone());
    let lock = UpkeepLock::try_take(&fs, HOME).unwrap().unwrap();
    let before = io.paths();
    for done in [
        catalog(&io).drop_table("db.t", false),
        catalog(&io).drop_table("db.t", true),
        catalog(&io).rename_table("db.t", "db.u"),
        catalog(&io).drop_database("db", true, false),
    ] {
        assert_eq!(done.unwrap_err().kind(), ErrorKind::UpkeepRunning);
    }
    assert_eq!(io.paths(), before);
    drop(lock);
    catalog(&io).rename_table("db.t", "db.u").unwrap();
    catalog(&io).drop_table("db.u", false).unwrap();
    assert!(io.paths().is_empty());
}

/// An expiry that waits for the lock of a table which is renamed or made again meanwhile: the lock that it gets is the new one's.
#[test]
fn a_lock_of_a_table_that_was_renamed_is_no_lock_of_the_one_in_its_place() {
    let io = made(APPEND, 1);
    let fs: FileIoRef = Arc::new(io.clone());
    let old = UpkeepLock::try_take(&fs, HOME).unwrap().unwrap();
    let others = io.clone();
    others.rename_dir(HOME, "/lake/db.db/u").unwrap();
    create(&io, APPEND);
    let new = UpkeepLock::try_take(&fs, HOME).unwrap();
    assert!(new.is_some() && UpkeepLock::try_take(&fs, "/lake/db.db/u").unwrap().is_none());
    drop(old);
    // the name is taken away between taking the lock and looking at it
    let gate = Arc::new(Meanwhile {
        armed: AtomicBool::new(true),
        calls: AtomicU64::new(0),
        at: 1,
        fired: AtomicBool::new(false),
        run: Mutex::new(Box::new(move || others.rename_dir("/lake/db.db/u", "/lake/db.db/w").unwrap())),
    });
    let behind: FileIoRef = Arc::new(io.behind(gate));
    assert!(UpkeepLock::try_take(&behind, "/lake/db.db/u").unwrap().is_none());
}
