//! Fast-forwards beside others, and those that die: what others were told stays, and nothing is left that is of no version.

use std::sync::{Arc, Mutex};

use siltstone::{
    Result,
    commit::Committable,
    fs::{FailWhen, FaultFileIo, FileIoRef, Meanwhile},
    maintenance::{
        automatic::Committer,
        branch::{BranchSource, create_branch, fast_forward},
        expire::expire_snapshots,
        tag::{CreateTag, create_tag},
    },
    scan::VersionSelector,
    schema::{SchemaChange, SchemaManager},
    snapshot::TagManager,
};

use super::{
    ROOT, append, check_whole,
    dies::{dies, held_up, ids, problems, versions},
    open, tag, until, written,
};

/// Main has versions 1 and 2, and a branch from 2 has 3 and 4, the last of them tagged.
fn tagged_branch() -> (FaultFileIo, FileIoRef) {
    let (io, fs) = versions(2);
    create_branch(&open(&fs, "main"), "b", &BranchSource::Snapshot(Some(2))).unwrap();
    (3..=4).for_each(|k| append(&fs, "b", (k, 0)));
    tag(&open(&fs, "b"), "rel", 4);
    (io, fs)
}

#[test]
fn a_tag_that_was_made_at_whichever_call_of_a_fast_forward_stays() {
    let (made, _) = tagged_branch();
    let (mut kept, mut refused) = (0, 0);
    for call in 0.. {
        let io = made.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let came: Arc<Mutex<Option<Result<()>>>> = Arc::default();
        let (told, others) = (Arc::clone(&came), Arc::clone(&fs));
        let meanwhile = Meanwhile::new().before_call(call, move || {
            let first = CreateTag { version: VersionSelector::Snapshot(1), ..CreateTag::default() };
            *told.lock().unwrap() = Some(create_tag(&open(&others, "main"), "rel", &first).map(drop));
            Ok(())
        });
        let report = fast_forward(&held_up(&io, meanwhile), "b", false).unwrap();
        let Some(came) = came.lock().unwrap().take() else { break };
        let names = TagManager::new(Arc::clone(&fs), ROOT).get("rel").unwrap().id;
        if came.is_ok() {
            assert_eq!(names, 1, "call {call}: {:?}", report.plan.notes);
            kept += 1;
        } else {
            assert_eq!(names, 4, "call {call}");
            refused += 1;
        }
        assert_eq!(ids(&fs), [1, 2, 3, 4], "call {call}");
    }
    assert!(kept > 10 && refused > 0, "{kept} {refused}");
}

#[test]
fn tags_of_a_branch_come_after_its_versions_so_that_none_is_left_where_main_goes_on() {
    let (made, _) = tagged_branch();
    for n in 0.. {
        let io = made.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let ctx = open(&fs, "main");
        io.fail_after(n, FailWhen::Before);
        let done = fast_forward(&ctx, "b", false);
        io.heal();
        append(&fs, "main", (9, 0));
        assert_eq!(problems(&fs), Vec::<String>::new(), "{n}");
        check_whole(&fs, 0);
        if done.is_ok() && n > 60 {
            break;
        }
    }
}

#[test]
fn a_first_commit_of_main_that_dies_after_a_fast_forward_of_the_empty_main_is_no_version() {
    let (io, fs) = versions(0);
    create_branch(&open(&fs, "main"), "b", &BranchSource::Empty).unwrap();
    (1..=4).for_each(|k| append(&fs, "b", (k, 0)));
    expire_snapshots(&open(&fs, "b"), &until(4, 3), false).unwrap();
    let others = Arc::clone(&fs);
    let meanwhile = Meanwhile::new().before("publish: link", "/t/snapshot/snapshot-1", move || {
        fast_forward(&open(&others, "main"), "b", false).map(drop)
    });
    let ctx = dies(&io, ("publish: remove temporary file", "/t/snapshot/snapshot-1"), meanwhile);
    let committable = Committable { messages: written(&open(&fs, "main"), &[(0, 0)]), ..Committable::default() };
    Committer::with_new_user(&ctx).commit(committable).unwrap_err();
    assert!(io.paths().contains(&format!("{ROOT}/snapshot/snapshot-1")), "nothing to be tested");
    assert_eq!(ids(&fs), [3, 4]);
    assert_eq!(problems(&fs), Vec::<String>::new());
    append(&fs, "main", (9, 0));
    assert_eq!(ids(&fs), [3, 4, 5]);
}

/// Its record says that what main had before the branch's first version is none: commits went on with that, until their ids met.
#[test]
fn commits_go_on_with_the_version_of_a_branch_whose_fast_forward_died_behind_its_first_record() {
    let (io, fs) = versions(4);
    expire_snapshots(&open(&fs, "main"), &until(4, 3), false).unwrap();
    create_branch(&open(&fs, "main"), "b", &BranchSource::Empty).unwrap();
    (1..=7).for_each(|k| append(&fs, "b", (10 + k, 0)));
    expire_snapshots(&open(&fs, "b"), &until(7, 7), false).unwrap();
    let behind = ("publish: remove temporary file", "/t/siltstone/removal-3");
    fast_forward(&dies(&io, behind, Meanwhile::new()), "b", false).unwrap_err();
    assert_eq!(ids(&fs), [7]);
    append(&fs, "main", (9, 0));
    assert_eq!(ids(&fs), [7, 8]);
    expire_snapshots(&open(&fs, "main"), &until(8, 7), false).unwrap();
    assert!(!io.paths().contains(&format!("{ROOT}/snapshot/snapshot-4")));
    check_whole(&fs, 7);
    assert_eq!(problems(&fs), Vec::<String>::new());
}

/// Nothing comes from the branch and no version of main goes, but its newest schema does.
#[test]
fn a_commit_under_a_schema_that_a_fast_forward_takes_away_gives_way_by_a_record_though_that_dies() {
    let (made, fs) = versions(2);
    create_branch(&open(&fs, "main"), "b", &BranchSource::Snapshot(None)).unwrap();
    let change = SchemaChange::SetOption { key: "my.option".to_owned(), value: "of main".to_owned() };
    SchemaManager::new(Arc::clone(&fs), ROOT).commit_changes(&[change]).unwrap();
    let mut commits = 0;
    for call in 0.. {
        let io = made.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let came: Arc<Mutex<Option<bool>>> = Arc::default();
        let (told, others, paths) = (Arc::clone(&came), Arc::clone(&fs), io.clone());
        let meanwhile = Meanwhile::new().before_call(call, move || {
            let begun = paths.paths().contains(&format!("{ROOT}/siltstone/removal-1"));
            let commits = !begun && paths.paths().contains(&format!("{ROOT}/schema/schema-1"));
            *told.lock().unwrap() = Some(commits);
            if commits {
                append(&others, "main", (3, 0));
            }
            Ok(())
        });
        fast_forward(&dies(&io, ("sync_dir", "/t/schema"), meanwhile), "b", false).unwrap_err();
        let Some(committed) = came.lock().unwrap().take() else { break };
        commits += i32::from(committed);
        assert!(!io.paths().contains(&format!("{ROOT}/schema/schema-1")), "nothing to be tested");
        assert_eq!(ids(&fs), [1, 2], "call {call}");
        assert_eq!(problems(&fs), Vec::<String>::new(), "call {call}");
    }
    assert!(commits > 5, "{commits}");
}
