//! The same messages are committed twice, at the same time or one after the other.

use super::*;
use crate::{
    error::Result,
    fs::{FileIo as _, Meanwhile},
    maintenance::{
        expire::{Retention, expire_snapshots},
        tag::{CreateTag, create_tag},
    },
    snapshot::RemovedSnapshot,
};

/// Files were made on the tenth day, as their writers' clocks said.
fn handed_out_later(name: &str, after: Option<RemovedSnapshot>) -> Committable {
    let mut committable = handed_out(name, after);
    for file in committable.messages.iter_mut().flat_map(|message| &mut message.data.new_files) {
        file.creation_time = Some(10 * 24 * 3_600_000);
    }
    committable
}

fn handed_out(name: &str, after: Option<RemovedSnapshot>) -> Committable {
    Committable { check_append: true, ..of(vec![CommitMessage { after, ..adds(&[name]) }]) }
}

/// Somebody commits b, a compaction puts c in its place, and all but the newest snapshot expire; what `steps` says of it.
fn others(ctx: &TableContext, steps: usize) -> Result<()> {
    let others = TableCommit::new(ctx, "others").with_clock(Arc::new(ManualClock::at(1_000)));
    others.commit(handed_out("b", None))?;
    if steps > 1 {
        ctx.fs.write_new(&format!("{ROOT}/bucket-0/c"), b"rows", true)?;
        others.commit(of(vec![compacts(&[f("b")], &[f("c")])]))?;
    }
    if steps > 2 {
        expire_snapshots(ctx, &Retention { max: 1, min: 1, older_than: None, limit: i64::MAX }, false)?;
    }
    Ok(())
}

fn begun() -> Table {
    let t = append_table();
    t.add(&["a"]);
    t.put(&["b"]);
    t
}

/// What is live is there, and each row once.
fn check(t: &Table, what: &str) {
    let names = t.names();
    for name in &names {
        assert!(t.io.exists(&format!("{ROOT}/bucket-0/{name}")).unwrap(), "{what}: {name} is gone");
    }
    assert!(names == ["a", "b"] || names == ["a", "c"], "{what}: {names:?}");
}

#[test]
fn messages_that_two_commit_at_the_same_time_are_committed_once() {
    let mut refused = 0;
    for steps in 1..=3 {
        for call in 0.. {
            let t = begun();
            let ctx = t.ctx.clone();
            let (committer, meanwhile) =
                t.held_up("u", Meanwhile::new().before_call(call, move || others(&ctx, steps)));
            let result = committer.commit(handed_out("b", None));
            if meanwhile.left() > 0 {
                assert!(call > 20, "{call}");
                break;
            }
            let what = format!("{steps} steps, before call {call}: {result:?}");
            if let Err(error) = &result {
                assert_eq!(error.kind(), ErrorKind::CommitConflict, "{what}");
                refused += 1;
            }
            check(&t, &what);
        }
    }
    assert!(refused > 20, "{refused}");
}

#[test]
fn messages_that_were_committed_and_compacted_away_are_not_committed_again() {
    for steps in 1..=3 {
        let t = begun();
        let before = t.latest().map(|latest| RemovedSnapshot::from(&latest));
        others(&t.ctx, steps).unwrap();
        for after in [None, before.clone()] {
            let error = t.commit_as("u").commit(handed_out("b", after)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CommitConflict, "{steps} steps: {error}");
        }
        check(&t, &format!("{steps} steps"));
    }
}

/// The file stays until the snapshot that took it out has expired, or as long as a tag keeps it.
#[test]
fn messages_whose_commit_has_expired_and_whose_files_are_still_there_are_not_committed_again() {
    for tagged in [false, true] {
        let t = begun();
        let before = t.latest().map(|latest| RemovedSnapshot::from(&latest));
        others(&t.ctx, 1).unwrap();
        if tagged {
            create_tag(&t.ctx, "kept", &CreateTag::default()).unwrap();
        }
        t.add(&["d"]);
        t.io.write_new(&format!("{ROOT}/bucket-0/c"), b"rows", true).unwrap();
        t.commit_as("others").commit(of(vec![compacts(&[f("b")], &[f("c")])])).unwrap();
        t.add(&["e"]);
        let kept = if tagged { 1 } else { 3 };
        expire_snapshots(&t.ctx, &Retention { max: kept, min: kept, older_than: None, limit: i64::MAX }, false)
            .unwrap();
        assert!(t.io.exists(&format!("{ROOT}/bucket-0/b")).unwrap(), "nothing to be tested");
        for after in [None, before.clone()] {
            let error = t.commit_as("u").commit(handed_out("b", after)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CommitConflict, "{tagged}: {error}");
        }
        assert_eq!(t.names(), ["a", "c", "d", "e"]);
    }
}

#[test]
fn messages_whose_commit_was_rolled_back_are_committed_again() {
    use crate::{maintenance::rollback::rollback, scan::VersionSelector};
    let t = begun();
    let id = t.latest().unwrap().id;
    others(&t.ctx, 1).unwrap();
    rollback(&t.ctx, &VersionSelector::Snapshot(id), false).unwrap();
    t.commit_as("u").commit(handed_out("b", None)).unwrap();
    check(&t, "after the rollback");
}

/// The search for the first commit once ended at a snapshot two days older than the files: behind one whose writer's clock was wrong
/// the same messages were committed twice.
#[test]
fn messages_are_committed_once_however_wrong_the_clock_of_another_writer_is() {
    let t = begun();
    let before = t.latest().map(|latest| RemovedSnapshot::from(&latest));
    let right = TableCommit::new(&t.ctx, "u").with_clock(Arc::new(ManualClock::at(10 * 24 * 3_600_000)));
    right.commit(handed_out_later("b", before.clone())).unwrap();
    t.io.write_new(&format!("{ROOT}/bucket-0/c"), b"rows", true).unwrap();
    right.commit(of(vec![compacts(&[f("b")], &[f("c")])])).unwrap();
    // the first day
    t.add(&["d"]);
    for after in [None, before] {
        let error = right.commit(handed_out_later("b", after)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CommitConflict, "{error}");
    }
    assert_eq!(t.names(), ["a", "c", "d"]);
}

/// By the same rule `abort` once deleted files that versions and tags still needed.
#[test]
fn aborted_messages_keep_committed_files_however_wrong_the_clock_of_their_committer_is() {
    for tagged in [false, true] {
        let t = begun();
        let before = t.latest().map(|latest| RemovedSnapshot::from(&latest));
        // the first day
        t.commit_as("slow").commit(handed_out_later("b", before.clone())).unwrap();
        if tagged {
            create_tag(&t.ctx, "kept", &CreateTag::default()).unwrap();
        }
        t.io.write_new(&format!("{ROOT}/bucket-0/c"), b"rows", true).unwrap();
        t.commit_as("slow").commit(of(vec![compacts(&[f("b")], &[f("c")])])).unwrap();
        t.add(&["d"]);
        if tagged {
            expire_snapshots(&t.ctx, &Retention { max: 1, min: 1, older_than: None, limit: i64::MAX }, false).unwrap();
        }
        for after in [None, before.clone()] {
            t.commit_as("u").abort(&handed_out_later("b", after).messages).unwrap();
            assert!(t.io.exists(&format!("{ROOT}/bucket-0/b")).unwrap(), "tagged: {tagged}");
        }
    }
}
