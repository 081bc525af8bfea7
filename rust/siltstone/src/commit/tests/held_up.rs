//! Commits that are held up while others remove so much, and so often, that nobody can tell any more what came of them: they end,
//! and are never made twice.

use std::time::Duration;

use super::*;
use crate::{
    env::ClockRef,
    error::Result,
    fs::{FileIo as _, Meanwhile},
    maintenance::{
        expire::{Retention, expire_snapshots},
        rollback::rollback,
        tag::{CreateTag, create_tag},
    },
    scan::VersionSelector,
    snapshot::{RemovalKind, UpkeepLock},
};

/// What others do while a commit is held up.
#[derive(Clone, Copy)]
enum Records {
    Kept,
    Deleted,
}

/// Everything is replaced by file e, and only the newest snapshot stays.
fn replace_all(ctx: &TableContext, records: Records) {
    let others = TableCommit::new(ctx, "others").with_clock(Arc::new(ManualClock::at(1_000)));
    others.truncate(None).unwrap();
    ctx.fs.write_new(&format!("{ROOT}/bucket-0/e"), b"rows", true).unwrap();
    others.commit(of(vec![adds(&["e"])])).unwrap();
    expire_snapshots(ctx, &Retention { max: 1, min: 1, older_than: None, limit: i64::MAX }, false).unwrap();
    if let Records::Deleted = records {
        let clock: ClockRef = Arc::new(ManualClock::at(crate::env::now_millis()));
        let lock = UpkeepLock::take_with(&ctx.fs, ROOT, Duration::ZERO, &clock).unwrap();
        let snapshots = SnapshotManager::new(Arc::clone(&ctx.fs), ROOT);
        let latest = snapshots.latest_id().unwrap().unwrap();
        for _ in 0..320 {
            snapshots.removals().append(&lock, RemovalKind::Expire, latest, &[]).unwrap();
            clock.sleep(Duration::from_secs(10));
        }
    }
}

impl Table {
    fn then_replace_all(&self, records: Records) -> impl FnOnce() -> Result<()> + Send + 'static {
        let ctx = self.ctx.clone();
        move || {
            replace_all(&ctx, records);
            Ok(())
        }
    }

    /// A committer while whose first commit something happens.
    pub(super) fn held_up(&self, user: &str, meanwhile: Meanwhile) -> (TableCommit, Arc<Meanwhile>) {
        let meanwhile = Arc::new(meanwhile);
        let fs: FileIoRef = Arc::new(self.io.behind(Arc::clone(&meanwhile) as Arc<dyn BeforeCall>));
        let ctx = TableContext { fs, ..self.ctx.clone() };
        (TableCommit::new(&ctx, user).with_clock(Arc::new(ManualClock::at(1_000))), meanwhile)
    }
}

/// A table with file a, and file b to be committed.
fn begun() -> Table {
    let t = append_table();
    t.add(&["a"]);
    t.put(&["b"]);
    t
}

fn once(name: &str) -> Committable {
    Committable { identifier: Some(7), ..of(vec![adds(&[name])]) }
}

/// It ends with the outcome unknown, and so does every further call, and nothing is committed.
fn ends_for_good(t: &Table, committer: &TableCommit, committable: &Committable) {
    for call in 0..3 {
        let latest = t.latest().map(|latest| latest.id);
        let error = committer.commit(committable.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Storage, "call {call}: {error}");
        assert!(error.message().contains("it cannot be told any more"), "call {call}: {error}");
        assert_eq!(error.context_value("table"), Some("db.t"));
        assert_eq!(t.names(), ["e"], "call {call}: b was committed, and deleted by others since");
        // the first call is the one in which others were at work
        assert!(call == 0 || t.latest().map(|latest| latest.id) == latest, "call {call}");
    }
}

#[test]
fn a_published_commit_that_expired_with_its_records_ends_and_is_not_repeated() {
    let t = begun();
    // after its link: the first look at the records
    let (committer, meanwhile) =
        t.held_up("u", Meanwhile::new().before("read", "/siltstone/removal-1", t.then_replace_all(Records::Deleted)));
    ends_for_good(&t, &committer, &of(vec![adds(&["b"])]));
    assert_eq!(meanwhile.left(), 0);
}

#[test]
fn a_commit_that_came_into_a_hole_of_which_no_record_is_kept_ends_and_is_not_repeated() {
    let t = begun();
    let link = "publish: link";
    let (committer, _) =
        t.held_up("u", Meanwhile::new().before(link, "/snapshot/snapshot-2", t.then_replace_all(Records::Deleted)));
    ends_for_good(&t, &committer, &of(vec![adds(&["b"])]));
}

/// The answer to its link is lost, and others were at work before the next try.
fn answer_lost(t: &Table, records: Records) -> Meanwhile {
    let replace_all = t.then_replace_all(records);
    Meanwhile::new().before("publish: remove temporary file", "/snapshot/snapshot-2", move || {
        replace_all()?;
        Err(Error::new(ErrorKind::Storage, "an answer was lost"))
    })
}

#[test]
fn a_commit_in_doubt_whose_records_are_deleted_ends_and_is_not_repeated() {
    let t = begun();
    let (committer, _) = t.held_up("u", answer_lost(&t, Records::Deleted));
    ends_for_good(&t, &committer, &of(vec![adds(&["b"])]));
    let t = begun();
    let (committer, _) = t.held_up("u", answer_lost(&t, Records::Deleted));
    ends_for_good(&t, &committer, &once("b"));
}

#[test]
fn a_commit_in_doubt_whose_records_are_kept_is_found_in_them() {
    let t = begun();
    let (committer, _) = t.held_up("u", answer_lost(&t, Records::Kept));
    let outcome = committer.commit(of(vec![adds(&["b"])])).unwrap();
    assert_eq!((outcome.snapshots[0].id, t.names()), (2, vec!["e".to_owned()]));
}

#[test]
fn a_doubt_that_is_resumed_when_its_records_are_deleted_ends_and_is_not_repeated() {
    let t = table(&[], &[], &[("commit.max-retries", "0")]);
    t.add(&["a"]);
    t.put(&["b"]);
    let lost = || Err(Error::new(ErrorKind::Storage, "an answer was lost"));
    let (committer, _) =
        t.held_up("u", Meanwhile::new().before("publish: remove temporary file", "/snapshot/snapshot-2", lost));
    let error = committer.commit(of(vec![adds(&["b"])])).unwrap_err();
    assert!(error.message().contains("it is not known whether it is there"), "{error}");
    replace_all(&t.ctx, Records::Deleted);
    ends_for_good(&t, &committer, &of(vec![adds(&["b"])]));
}

#[test]
fn a_doubt_about_some_of_the_files_is_none_about_all_of_them() {
    for (published, handed_out) in [(true, true), (true, false), (false, true), (false, false)] {
        let t = table(&[], &[], &[("commit.max-retries", "0")]);
        t.add(&["a"]);
        t.put(&["b", "c"]);
        let lost = || Err(Error::new(ErrorKind::Storage, "an answer was lost"));
        let (committer, _) =
            t.held_up("u", Meanwhile::new().before("publish: remove temporary file", "/snapshot/snapshot-2", lost));
        let with = |messages| Committable { check_append: handed_out, ..of(messages) };
        committer.commit(with(vec![adds(&["b"])])).unwrap_err();
        if !published {
            t.io.delete(&format!("{ROOT}/snapshot/snapshot-2")).unwrap();
        }
        let both = committer.commit(with(vec![adds(&["b", "c"])]));
        if published {
            assert_eq!(both.unwrap_err().kind(), ErrorKind::CommitConflict, "{handed_out}");
            assert_eq!(t.names(), ["a", "b"]);
            assert_eq!(committer.commit(with(vec![adds(&["b"])])).unwrap().snapshots[0].id, 2);
            committer.commit(with(vec![adds(&["c"])])).unwrap();
        }
        assert_eq!(t.names(), ["a", "b", "c"]);
    }
}

/// Another process commits the same under the same name while ours is held up before its link; then what `records` says.
fn overtaken_by_the_same(t: &Table, user: &'static str, records: Records) -> Meanwhile {
    let replace_all = t.then_replace_all(records);
    let ctx = t.ctx.clone();
    Meanwhile::new().before("publish: link", "/snapshot/snapshot-2", move || {
        ctx.fs.write_new(&format!("{ROOT}/bucket-0/copy"), b"rows", true)?;
        TableCommit::new(&ctx, user).commit(once("copy"))?;
        replace_all()
    })
}

#[test]
fn an_identifier_that_another_process_committed_meanwhile_is_found_though_it_has_expired() {
    let t = begun();
    let (committer, _) = t.held_up("job", overtaken_by_the_same(&t, "job", Records::Kept));
    let outcome = committer.commit(once("b")).unwrap();
    assert!(outcome.already_committed && outcome.snapshots.is_empty());
    assert_eq!(t.names(), ["e"]);
}

#[test]
fn an_identifier_that_another_process_may_have_committed_is_not_committed_when_no_record_tells() {
    let t = begun();
    let (committer, _) = t.held_up("job", overtaken_by_the_same(&t, "job", Records::Deleted));
    ends_for_good(&t, &committer, &once("b"));
}

#[test]
fn an_identifier_is_committed_when_the_records_tell_that_only_others_came_and_went() {
    let t = begun();
    let (committer, _) = t.held_up("job", overtaken_by_the_same(&t, "another job", Records::Kept));
    let outcome = committer.commit(once("b")).unwrap();
    assert_eq!((outcome.snapshots.len(), t.names()), (1, vec!["b".to_owned(), "e".to_owned()]));
}

#[test]
fn an_identifier_that_another_process_committed_after_a_rollback_is_found() {
    // ours looked at snapshots 1 to 3; then 2 and 3 are taken back, and 2 is the other process's
    let t = begun();
    t.add(&["c"]);
    t.add(&["d"]);
    let ctx = t.ctx.clone();
    let (committer, _) = t.held_up(
        "job",
        Meanwhile::new().before("publish: link", "/snapshot/snapshot-4", move || {
            rollback(&ctx, &VersionSelector::Snapshot(1), false)?;
            ctx.fs.write_new(&format!("{ROOT}/bucket-0/copy"), b"rows", true)?;
            TableCommit::new(&ctx, "job").commit(once("copy")).map(drop)
        }),
    );
    let outcome = committer.commit(once("b")).unwrap();
    assert!(outcome.already_committed, "{outcome:?}");
    assert_eq!(t.names(), ["a", "copy"]);
}

#[test]
fn an_identifier_whose_commit_was_taken_back_after_it_had_expired_is_committed() {
    let t = begun();
    create_tag(&t.ctx, "old", &CreateTag::default()).unwrap();
    let ctx = t.ctx.clone();
    let others = move || {
        let commit = |user: &str, name: &str, identifier| {
            ctx.fs.write_new(&format!("{ROOT}/bucket-0/{name}"), b"rows", true)?;
            let committable = Committable { identifier, ..of(vec![adds(&[name])]) };
            TableCommit::new(&ctx, user).commit(committable).map(drop)
        };
        let newest = Retention { max: 1, min: 1, older_than: None, limit: i64::MAX };
        commit("job", "copy", Some(7))?;
        commit("others", "c", None)?;
        expire_snapshots(&ctx, &newest, false)?;
        rollback(&ctx, &VersionSelector::Tag("old".to_owned()), false)?;
        commit("others", "d", None)?;
        commit("others", "e", None)?;
        expire_snapshots(&ctx, &newest, false).map(drop)
    };
    let (committer, meanwhile) =
        t.held_up("job", Meanwhile::new().before("publish: link", "/snapshot/snapshot-2", others));
    let outcome = committer.commit(once("b")).unwrap();
    assert_eq!((outcome.already_committed, meanwhile.left()), (false, 0));
    assert_eq!(t.names(), ["a", "b", "d", "e"]);
}

/// The version that had it was looked for among those that are there, and looked for again without an end.
#[test]
fn an_identifier_whose_version_has_expired_since_is_committed() {
    for records in [Records::Kept, Records::Deleted] {
        let t = append_table();
        t.put(&["b", "c"]);
        let job = t.commit_as("job");
        job.commit(once("b")).unwrap();
        // it is the first and the newest one: a record says that it stays
        assert!(job.commit(once("c")).unwrap().already_committed);
        replace_all(&t.ctx, records);
        assert!(job.commit(once("c")).unwrap().already_committed);
        assert_eq!(t.names(), ["e"]);
    }
}

/// The committer knows an older one of its user, and what came after that has expired.
#[test]
fn an_identifier_that_another_process_committed_between_two_commits_is_found_though_it_has_expired() {
    let t = begun();
    let of_job = |identifier, name: &str| Committable { identifier: Some(identifier), ..of(vec![adds(&[name])]) };
    let job = t.commit_as("job");
    t.put(&["c", "copy"]);
    job.commit(of_job(5, "b")).unwrap();
    job.commit(of_job(6, "c")).unwrap();
    t.commit_as("job").commit(once("copy")).unwrap();
    replace_all(&t.ctx, Records::Kept);
    t.put(&["d"]);
    for call in 0..2 {
        let outcome = job.commit(once("d")).unwrap();
        assert!(outcome.already_committed && outcome.snapshots.is_empty(), "call {call}");
        assert_eq!(t.names(), ["e"], "call {call}");
    }
}

/// Its snapshot goes before the look has come to it.
#[test]
fn an_identifier_that_expires_while_it_is_looked_for_is_committed_once() {
    for call in 0.. {
        let t = begun();
        t.commit_as("job").commit(once("b")).unwrap();
        t.add(&["c"]);
        t.put(&["d"]);
        let ctx = t.ctx.clone();
        let expire = move || {
            expire_snapshots(&ctx, &Retention { max: 1, min: 1, older_than: None, limit: i64::MAX }, false).map(drop)
        };
        let (job, meanwhile) = t.held_up("job", Meanwhile::new().before_call(call, expire));
        let outcome = job.commit(once("d")).unwrap();
        assert!(outcome.already_committed, "call {call}");
        assert_eq!(t.names(), ["a", "b", "c"], "call {call}");
        if meanwhile.left() > 0 {
            assert!(call > 3, "{call}");
            break;
        }
    }
}
