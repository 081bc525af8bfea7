//! What others have committed while a commit was held up, lost an answer, or came too late: it is looked at in every try, and
//! snapshot files that are no versions are not taken for commits.

use siltstone::{
    Error,
    compact::{CompactRequest, TaskResources, plan_compaction, run_task},
    maintenance::tag::{CreateTag, create_tag},
    snapshot::UpkeepLock,
};

use super::*;
use crate::crash::compact;

/// A handle while whose calls something happens.
pub(super) fn beside(io: &FaultFileIo, meanwhile: Meanwhile) -> (FileIoRef, Arc<Meanwhile>) {
    let meanwhile = Arc::new(meanwhile);
    (Arc::new(io.behind(Arc::clone(&meanwhile) as Arc<dyn BeforeCall>)), meanwhile)
}

fn expire_to(fs: &FileIoRef, kept: i64) {
    let newest = ExpireArgs { retain_max: Some(kept), retain_min: Some(kept), ..ExpireArgs::default() };
    table(fs).expire_snapshots(&newest, false).unwrap();
}

fn lost_answer() -> Result<()> {
    Err(Error::new(ErrorKind::Storage, "an answer was lost"))
}

/// A full compaction at the time of the clock: what is much older than a file is not asked for it.
fn compact_now(fs: &FileIoRef) -> Result<()> {
    let ctx = open(fs, ROOT);
    let plan = plan_compaction(&ctx, &CompactRequest { full: true, ..CompactRequest::default() })?;
    let resources = TaskResources { threads: Some(1), ..TaskResources::default() };
    let messages: Result<Vec<_>> = plan.tasks.iter().map(|task| run_task(&ctx, task, &resources)).collect();
    table(fs).commit_messages(None, Committable { messages: messages?, ..Committable::default() }, None).map(drop)
}

fn increase(fs: &FileIoRef) -> CommitReport {
    let set = BTreeMap::from([("v".to_owned(), "v + 1".to_owned())]);
    let change = ModifyArgs { filter: Some(Condition::Sql("k = 1".to_owned())), set, threads: Some(1) };
    table(fs).modify(&change).unwrap()
}

/// Committed where snapshot files that are no versions may lie.
fn appended(rows: std::ops::RangeInclusive<i32>) -> (FaultFileIo, FileIoRef) {
    let (io, fs) = new_table(&[], &[("bucket", "-1"), ("write-only", "true")]);
    rows.for_each(|n| drop(put(&fs, &[(n, 0)]).unwrap()));
    (io, fs)
}

fn keys(fs: &FileIoRef) -> Vec<i32> {
    rows(fs).into_iter().map(|row| row.0).collect()
}

#[test]
fn an_update_whose_name_was_of_another_that_has_expired_does_not_write_over_it() {
    let (io, fs) = new_table(&["k"], &[BUCKET]);
    put(&fs, &[(1, 1)]).unwrap();
    let (first, second) = (Arc::clone(&fs), Arc::clone(&fs));
    let meanwhile = Meanwhile::new()
        .before("publish: link", "/snapshot/snapshot-2", move || put(&first, &[(1, 50)]).map(drop))
        .before("read", "/snapshot/snapshot-2", move || {
            put(&second, &[(2, 0)])?;
            expire_to(&second, 1);
            Ok(())
        });
    let (held_up, meanwhile) = beside(&io, meanwhile);
    let report = increase(&held_up);
    assert_eq!((meanwhile.left(), report.affected_rows), (0, 1));
    assert_eq!(rows(&fs), [(1, 51), (2, 0)]);
}

#[test]
fn an_update_in_doubt_does_not_write_over_what_others_commit_meanwhile() {
    for expires in [false, true] {
        let (io, fs) = new_table(&["k"], &[BUCKET]);
        put(&fs, &[(1, 1)]).unwrap();
        let others = Arc::clone(&fs);
        let meanwhile = Meanwhile::new().before("publish: link", "/snapshot/snapshot-2", move || {
            put(&others, &[(1, 50)])?;
            if expires {
                put(&others, &[(2, 0)])?;
                expire_to(&others, 1);
            }
            lost_answer()
        });
        let (held_up, meanwhile) = beside(&io, meanwhile);
        increase(&held_up);
        assert_eq!(meanwhile.left(), 0);
        assert_eq!(rows(&fs)[0], (1, 51), "expires: {expires}");
    }
}

#[test]
fn messages_in_doubt_that_another_commits_meanwhile_are_committed_once() {
    for expires in [false, true] {
        let (io, fs) = new_table(&[], &[("bucket", "-1")]);
        put(&fs, &[(0, 0)]).unwrap();
        let messages = prepared(&fs, &[(1, 1)]);
        let once = Committable { messages, ..Committable::default() };
        let (others, same) = (Arc::clone(&fs), once.clone());
        let meanwhile = Meanwhile::new().before("publish: link", "/snapshot/snapshot-2", move || {
            table(&others).commit_messages(None, same, None)?;
            compact_now(&others)?;
            if expires {
                expire_to(&others, 1);
            }
            lost_answer()
        });
        let (held_up, meanwhile) = beside(&io, meanwhile);
        let error = table(&held_up).commit_messages(None, once, None).unwrap_err();
        assert_eq!(meanwhile.left(), 0);
        assert_eq!(error.kind(), ErrorKind::CommitConflict, "{error}");
        assert_eq!(rows(&fs), [(0, 0), (1, 1)], "expires: {expires}");
    }
}

/// A snapshot file that a writer, who was held up since version 3, has put into a hole, and died.
fn stray(fs: &FileIoRef, id: i64) -> impl FnOnce() + Send + 'static {
    let snapshots = SnapshotManager::new(Arc::clone(fs), ROOT);
    let mut late = snapshots.latest().unwrap().unwrap();
    (late.id, late.commit_user) = (id, "late".to_owned());
    let (late, fs) = (late.knowing(0, "main"), Arc::clone(fs));
    move || fs.publish(&snapshots.path(id), late.to_json().unwrap().as_bytes(), true).unwrap()
}

#[test]
fn a_commit_that_has_expired_before_it_is_read_back_is_not_made_again_though_its_name_is_of_another() {
    let (io, fs) = appended(1..=3);
    let (others, stray) = (Arc::clone(&fs), stray(&fs, 4));
    let meanwhile = Meanwhile::new().before("read", "/snapshot/snapshot-4", move || {
        put(&others, &[(5, 0)])?;
        expire_to(&others, 1);
        stray();
        Ok(())
    });
    let (held_up, meanwhile) = beside(&io, meanwhile);
    let report = put(&held_up, &[(4, 0)]).unwrap();
    assert_eq!(meanwhile.left(), 0);
    assert_eq!(report.snapshots.iter().map(|own| own.id).collect::<Vec<_>>(), [4]);
    assert_eq!(keys(&fs), [1, 2, 3, 4, 5]);
    assert_eq!(SnapshotManager::new(fs, ROOT).latest_id().unwrap(), Some(5));
}

#[test]
fn a_compaction_in_doubt_that_only_moves_a_file_up_is_reported_when_it_is_there() {
    let (io, fs) = new_table(&["k"], &[BUCKET, VECTORS]);
    let (held_up, meanwhile) =
        beside(&io, Meanwhile::new().before("publish: link", "/snapshot/snapshot-2", lost_answer));
    let mut writer =
        table(&held_up).writer(None, WriteOptions { threads: Some(1), ..WriteOptions::default() }).unwrap();
    writer.write(&batch(&[(1, 1), (2, 1)]), None).unwrap();
    let report = writer.commit(Committable::default()).unwrap();
    writer.close();
    assert_eq!(meanwhile.left(), 0);
    assert_eq!(report.snapshots.iter().map(|own| own.id).collect::<Vec<_>>(), [1, 2]);
    assert_eq!((rows(&fs), report.invisible_rows), (vec![(1, 1), (2, 1)], 0));
    assert_eq!(SnapshotManager::new(fs, ROOT).latest_id().unwrap(), Some(2));
}

/// What an expiry to the two newest versions does, and its lock, which it still holds at its last call.
fn expire_and_hold(fs: &FileIoRef, lock: &Mutex<Option<UpkeepLock>>) {
    expire_to(fs, 2);
    *lock.lock().unwrap() = UpkeepLock::try_take(fs, ROOT).unwrap();
    assert!(lock.lock().unwrap().is_some());
}

#[test]
fn an_identifier_that_has_expired_is_found_though_a_stray_lies_before_the_fence() {
    let (io, fs) = appended(1..=3);
    let nightly = |fs: &FileIoRef| {
        let messages = prepared(fs, &[(42, 0)]);
        let once = Committable { identifier: Some(42), messages, ..Committable::default() };
        table(fs).commit_messages(Some("nightly"), once, None)
    };
    let (others, lock) = (Arc::clone(&fs), Arc::<Mutex<Option<UpkeepLock>>>::default());
    let held = Arc::clone(&lock);
    let meanwhile = Meanwhile::new().before("publish: link", "/snapshot/snapshot-4", move || {
        put(&others, &[(4, 0)])?;
        nightly(&others)?;
        for n in 6..=8 {
            put(&others, &[(n, 0)])?;
        }
        expire_and_hold(&others, &held);
        Ok(())
    });
    let (held_up, meanwhile) = beside(&io, meanwhile);
    let report = nightly(&held_up).unwrap();
    assert_eq!(meanwhile.left(), 0);
    drop(lock.lock().unwrap().take());
    assert!(report.already_committed && report.snapshots.is_empty(), "{report:?}");
    assert_eq!(keys(&fs), [1, 2, 3, 4, 6, 7, 8, 42]);
}

#[test]
fn messages_that_were_published_too_late_are_committed_though_their_stray_is_still_there() {
    let (io, fs) = appended(1..=3);
    let once = Committable { messages: prepared(&fs, &[(42, 0)]), ..Committable::default() };
    let (others, lock) = (Arc::clone(&fs), Arc::<Mutex<Option<UpkeepLock>>>::default());
    let held = Arc::clone(&lock);
    let meanwhile = Meanwhile::new().before("publish: link", "/snapshot/snapshot-4", move || {
        for n in 4..=8 {
            put(&others, &[(n, 0)])?;
        }
        expire_and_hold(&others, &held);
        Ok(())
    });
    let (held_up, meanwhile) = beside(&io, meanwhile);
    let report = table(&held_up).commit_messages(None, once, None).unwrap();
    assert_eq!(meanwhile.left(), 0);
    drop(lock.lock().unwrap().take());
    assert_eq!(report.snapshots.iter().map(|own| own.id).collect::<Vec<_>>(), [9]);
    assert_eq!(keys(&fs), [1, 2, 3, 4, 5, 6, 7, 8, 42]);
}

#[test]
fn messages_that_only_a_tag_keeps_are_found_though_a_stray_lies_before_the_fence() {
    let (io, fs) = appended(1..=3);
    let once = Committable { messages: prepared(&fs, &[(42, 0)]), ..Committable::default() };
    let (others, same, stray) = (Arc::clone(&fs), once.clone(), stray(&fs, 4));
    let meanwhile = Meanwhile::new().before("publish: link", "/snapshot/snapshot-4", move || {
        put(&others, &[(4, 0)])?;
        table(&others).commit_messages(None, same, None)?;
        create_tag(&open(&others, ROOT), "kept", &CreateTag::default())?;
        compact(&open(&others, ROOT), 9_000)?;
        for n in 7..=8 {
            put(&others, &[(n, 0)])?;
        }
        expire_to(&others, 2);
        stray();
        Ok(())
    });
    let (held_up, meanwhile) = beside(&io, meanwhile);
    let error = table(&held_up).commit_messages(None, once, None).unwrap_err();
    assert_eq!(meanwhile.left(), 0);
    assert_eq!(error.kind(), ErrorKind::CommitConflict, "{error}");
    assert_eq!(keys(&fs), [1, 2, 3, 4, 7, 8, 42]);
}

/// Another program, which leaves no records, lets snapshots expire.
fn expire_by_others(fs: &FileIoRef, ids: std::ops::RangeInclusive<i64>) {
    let snapshots = SnapshotManager::new(Arc::clone(fs), ROOT);
    ids.for_each(|id| fs.delete(&snapshots.path(id)).unwrap());
}

/// It was published into the hole, LATEST went back to it, and what had been committed since was not seen any more.
#[test]
fn a_commit_does_not_fill_a_hole_that_another_program_left_where_an_expiry_had_taken_its_base() {
    for others_after in [0, 1] {
        let (io, fs) = appended(1..=3);
        let others = Arc::clone(&fs);
        let meanwhile = Meanwhile::new().before("publish: link", "/snapshot/snapshot-4", move || {
            put(&others, &[(4, 0)])?;
            put(&others, &[(5, 0)])?;
            expire_to(&others, 2);
            put(&others, &[(6, 0)])?;
            if others_after > 0 {
                put(&others, &[(7, 0)])?;
            }
            expire_by_others(&others, 4..=5);
            Ok(())
        });
        let (held_up, meanwhile) = beside(&io, meanwhile);
        let report = put(&held_up, &[(8, 0)]).unwrap();
        assert_eq!((meanwhile.left(), report.snapshots[0].id), (0, 7 + others_after));
        let wanted: Vec<i32> = (1..=8).filter(|key| *key != 7 || others_after > 0).collect();
        assert_eq!(keys(&fs), wanted);
        assert_eq!(SnapshotManager::new(fs, ROOT).hint("LATEST").unwrap(), Some(7 + others_after));
    }
}

/// It adds no file by which to tell whether the next snapshot was built on it.
#[test]
fn manifests_are_not_packed_into_a_hole_that_another_program_left() {
    let (io, fs) = appended(1..=3);
    let others = Arc::clone(&fs);
    let meanwhile = Meanwhile::new().before("publish: link", "/snapshot/snapshot-4", move || {
        put(&others, &[(4, 0)])?;
        put(&others, &[(5, 0)])?;
        expire_by_others(&others, 1..=4);
        Ok(())
    });
    let (held_up, meanwhile) = beside(&io, meanwhile);
    let report = table(&held_up).compact_manifests().unwrap();
    assert_eq!((meanwhile.left(), report.snapshots[0].id), (0, 6));
    assert_eq!(keys(&fs), [1, 2, 3, 4, 5]);
    assert_eq!(SnapshotManager::new(fs, ROOT).listed_ids().unwrap(), [5, 6]);
}
