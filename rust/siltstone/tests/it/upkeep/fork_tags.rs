//! The tag `fork-<branch>` that keeps the files of a branch, and tags of users with such names.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use siltstone::{
    ErrorKind,
    cleanup::Report,
    fs::FileIoRef,
    maintenance::{
        automatic::Committer,
        branch::{BranchSource, create_branch, delete_branch, rename_branch},
        expire::expire_snapshots,
        tag::{CreateTag, create_tag},
    },
    path::branch_root,
    scan::VersionSelector,
    snapshot::{BranchManager, SnapshotManager, Tag, TagManager},
};

use super::{ROOT, append, check_whole, open, table, tag, until};

fn tags(fs: &FileIoRef) -> TagManager {
    TagManager::new(Arc::clone(fs), ROOT)
}

/// Snapshots 1 to 4, each with a row of its own.
fn four() -> FileIoRef {
    let (_, fs) = table(&[], &[]);
    (0..4).for_each(|k| append(&fs, "main", (k, 0)));
    fs
}

fn made_from(fs: &FileIoRef, branch: &str, id: i64) {
    create_branch(&open(fs, "main"), branch, &BranchSource::Snapshot(Some(id))).unwrap();
}

/// Files that went; of a branch its directory.
fn gone(report: &Report) -> BTreeSet<String> {
    report.plan.files().map(|file| file.path.clone()).collect()
}

#[test]
fn the_tag_that_keeps_a_branch_has_no_retention_whatever_the_tables_default_is() {
    let (_, fs) = table(&[], &[("tag.default-time-retained", "1 s")]);
    append(&fs, "main", (0, 0));
    let main = open(&fs, "main");
    create_branch(&main, "b", &BranchSource::Snapshot(None)).unwrap();
    tag(&main, "own", 1);
    assert_eq!(tags(&fs).tag("fork-b").unwrap().time_retained, None);
    assert_eq!(tags(&fs).tag("own").unwrap().time_retained, Some(Duration::from_secs(1)));
}

#[test]
fn a_users_tag_with_the_name_of_a_fork_tag_stays_when_the_branch_is_renamed_or_deleted() {
    for source in [BranchSource::Empty, BranchSource::Tag("fork-b".to_owned())] {
        let fs = four();
        let main = open(&fs, "main");
        tag(&main, "fork-b", 2);
        let before = tags(&fs).tag("fork-b").unwrap();
        create_branch(&main, "b", &source).unwrap();
        expire_snapshots(&main, &until(4, 4), false).unwrap();
        rename_branch(&main, "b", "c").unwrap();
        rename_branch(&main, "c", "b").unwrap();
        let planned = delete_branch(&main, "b", true).unwrap();
        let done = delete_branch(&main, "b", false).unwrap();
        assert_eq!(gone(&done), gone(&planned));
        assert_eq!(gone(&done).len(), 1, "{done:?}");
        let told = done.plan.notes.join(", ");
        assert!(told.contains("tag 'fork-b' stays"), "{told}");
        assert_eq!(tags(&fs).tags().unwrap(), [("fork-b".to_owned(), before)]);
        check_whole(&fs, 4);
    }
}

#[test]
fn a_branch_of_a_snapshot_is_refused_when_a_user_has_a_tag_named_as_its_own() {
    let fs = four();
    let main = open(&fs, "main");
    tag(&main, "fork-b", 2);
    let before = tags(&fs).tags().unwrap();
    let error = create_branch(&main, "b", &BranchSource::Snapshot(Some(2))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TagExists, "{error}");
    assert_eq!(tags(&fs).tags().unwrap(), before);
    assert_eq!(BranchManager::new(Arc::clone(&fs), ROOT).names().unwrap(), Vec::<String>::new());
    // one whose own tag would get such a name is not renamed
    made_from(&fs, "c", 3);
    let error = rename_branch(&main, "c", "b").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TagExists, "{error}");
    assert_eq!(tags(&fs).names().unwrap(), ["fork-b", "fork-c"]);
}

#[test]
fn a_dry_run_of_the_deletion_of_a_branch_lists_what_goes_with_its_own_tag() {
    let fs = four();
    let main = open(&fs, "main");
    made_from(&fs, "a", 2);
    rename_branch(&main, "a", "b").unwrap();
    assert_eq!(tags(&fs).names().unwrap(), ["fork-b"]);
    // rows that only the tag and the branch have
    Committer::with_new_user(&main).truncate(None).unwrap();
    expire_snapshots(&main, &until(5, 5), false).unwrap();
    let planned = delete_branch(&main, "b", true).unwrap();
    assert_eq!(tags(&fs).names().unwrap(), ["fork-b"]);
    let done = delete_branch(&main, "b", false).unwrap();
    assert_eq!(gone(&done), gone(&planned));
    assert!(gone(&planned).iter().any(|path| path.contains("/data-")), "{planned:?}");
    assert_eq!(planned.details, done.details);
    assert_eq!(tags(&fs).names().unwrap(), Vec::<String>::new());
    check_whole(&fs, 5);
}

#[test]
fn what_is_made_of_the_tag_that_keeps_a_branch_is_not_for_that_branch() {
    let fs = four();
    let main = open(&fs, "main");
    made_from(&fs, "b", 2);
    let of_fork = CreateTag { version: VersionSelector::Tag("fork-b".to_owned()), ..CreateTag::default() };
    create_tag(&main, "own", &of_fork).unwrap();
    let kept = |tag: Tag| tag.snapshot.kept_branch().map(str::to_owned);
    assert_eq!(kept(tags(&fs).tag("fork-b").unwrap()), Some("b".to_owned()));
    assert_eq!(kept(tags(&fs).tag("own").unwrap()), None);
    let first = SnapshotManager::new(Arc::clone(&fs), &branch_root(ROOT, "b")).get(2).unwrap();
    assert_eq!(first, SnapshotManager::new(Arc::clone(&fs), ROOT).get(2).unwrap());
}
