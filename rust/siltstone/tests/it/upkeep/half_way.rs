//! Tags and branches whose making, renaming or deleting fails in one storage call: the error says whether it has taken effect,
//! and the same call again completes it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use siltstone::{
    Error, ErrorKind, Result,
    fs::{FaultFileIo, FileIoRef, Meanwhile},
    io::TableContext,
    maintenance::{
        branch::{BranchSource, create_branch, delete_branch, rename_branch},
        expire::expire_snapshots,
        fsck::{Severity, fsck},
        tag::{CreateTag, create_automatic, create_tag, delete_tag, rename_tag, replace_tag},
    },
    path::branch_root,
    scan::VersionSelector,
    snapshot::{BranchManager, TagManager},
    table::Table,
};

use super::{ROOT, append, busy_table, check_whole, commit, open, table, until, written};

type Operation = fn(&TableContext) -> Result<()>;

fn of_snapshot(id: i64) -> CreateTag {
    CreateTag { version: VersionSelector::Snapshot(id), ..CreateTag::default() }
}

/// Each with the words by which its errors say that something has been changed.
const OPERATIONS: [(&str, Operation, &[&str]); 9] = [
    ("create tag", |ctx| create_tag(ctx, "new", &of_snapshot(5)).map(drop), &["tag 'new' was created"]),
    ("replace tag", |ctx| replace_tag(ctx, "t4", &of_snapshot(7)).map(drop), &["tag 't4' was replaced"]),
    (
        "rename tag",
        |ctx| rename_tag(ctx, "t4", "new", false),
        &["tag 't4' has the name 'new' as well", "tag 't4' was renamed to 'new'"],
    ),
    ("delete tag", |ctx| delete_tag(ctx, "t4", false).map(drop), &["tag 't4' was deleted"]),
    ("create empty branch", |ctx| create_branch(ctx, "new", &BranchSource::Empty), &["branch 'new' was created"]),
    (
        "create branch of a tag",
        |ctx| create_branch(ctx, "new", &BranchSource::Tag("t4".to_owned())),
        &["branch 'new' was created"],
    ),
    (
        "create branch of a snapshot",
        |ctx| create_branch(ctx, "new", &BranchSource::Snapshot(Some(5))),
        &["tag 'fork-new' was created", "tag 'fork-new' is there, but not the branch", "branch 'new' was created"],
    ),
    (
        "rename branch",
        |ctx| rename_branch(ctx, "side", "new"),
        &["branch 'side' has its name still, and tag 'fork-new' was created", "branch 'side' was renamed to 'new'"],
    ),
    ("delete branch", |ctx| delete_branch(ctx, "side", false).map(drop), &["branch 'side' was deleted"]),
];

/// All tags, with the snapshots that they name, and all branches.
fn names(fs: &FileIoRef) -> Vec<String> {
    let branches = BranchManager::new(Arc::clone(fs), ROOT).names().unwrap();
    let tags = |branch: &str| {
        let tags = TagManager::new(Arc::clone(fs), &branch_root(ROOT, branch)).list().unwrap();
        tags.into_iter().map(|(name, tagged)| format!("{branch}: {name} = {}", tagged.id)).collect::<Vec<_>>()
    };
    let mut all: Vec<String> = branches.iter().map(String::as_str).chain(["main"]).flat_map(tags).collect();
    all.extend(branches);
    all
}

fn problems(fs: &FileIoRef) -> Vec<String> {
    let verdict = fsck(&open(fs, "main"), true, i64::MAX).unwrap();
    let bad = verdict.findings.iter().filter(|f| f.severity == Severity::Problem);
    bad.map(|finding| format!("{} {}: {}", finding.code, finding.place, finding.message)).collect()
}

/// What the same call may say when there was nothing left to complete.
fn is_done_already(kind: ErrorKind) -> bool {
    use ErrorKind::{BranchExists, BranchNotFound, TagExists, TagNotFound};
    matches!(kind, TagExists | TagNotFound | BranchExists | BranchNotFound)
}

fn fails_at(made: &FaultFileIo, call: u64, operation: Operation) -> Option<(FileIoRef, Result<()>, String)> {
    let io = made.fork();
    let fs: FileIoRef = Arc::new(io.clone());
    let fails = || Err(Error::new(ErrorKind::Storage, "this call fails"));
    let meanwhile = Arc::new(Meanwhile::new().before_call(call, fails));
    let ctx = TableContext { fs: Arc::new(io.behind(Arc::<Meanwhile>::clone(&meanwhile))), ..open(&fs, "main") };
    let result = operation(&ctx);
    let last = io.trace().last().cloned().unwrap_or_default();
    (meanwhile.left() == 0).then(|| (fs, result, format!("call {call}, before {last}")))
}

#[test]
fn tags_and_branches_that_are_changed_in_part_say_so_and_the_same_call_completes_them() {
    let (io, fs) = busy_table();
    create_branch(&open(&fs, "main"), "side", &BranchSource::Snapshot(Some(5))).unwrap();
    // two tags that do not know when they were made may both be wanted
    let kept = CreateTag { retain: Some(Duration::from_secs(86_400)), ..of_snapshot(4) };
    replace_tag(&open(&fs, "main"), "t4", &kept).unwrap();
    let before = names(&fs);
    for (what, operation, done) in OPERATIONS {
        let whole = io.fork();
        let whole: FileIoRef = Arc::new(whole);
        operation(&open(&whole, "main")).unwrap();
        let mut said = 0;
        for call in 0.. {
            let Some((fs, result, place)) = fails_at(&io, call, operation) else { break };
            let after = names(&fs);
            if let Err(error) = &result {
                let tells = done.iter().any(|words| error.message().starts_with(words));
                assert_eq!(after != before, tells, "{what}, {place}: {error}; {after:?}");
                assert_eq!(error.kind(), ErrorKind::Storage, "{what}, {place}: {error}");
                said += usize::from(tells);
            }
            check_whole(&fs, 0);
            if let Err(again) = operation(&open(&fs, "main")) {
                assert!(is_done_already(again.kind()), "{what}, {place}, again: {again}");
                // of a branch that is gone already the error says what is left
                if again.hint_text().is_some_and(|hint| hint.contains("delete the tag")) {
                    delete_tag(&open(&fs, "main"), "fork-side", false).unwrap();
                }
            }
            assert_eq!(names(&fs), names(&whole), "{what}, {place}");
            assert_eq!(problems(&fs), Vec::<String>::new(), "{what}, {place}");
        }
        assert!(said > 0, "{what}");
    }
}

#[test]
fn the_automatic_tag_of_a_batch_job_is_there_at_every_moment_once_it_was_made() {
    let options = [("tag.automatic-creation", "batch"), ("tag.batch.customized-name", "daily"), ("bucket", "1")];
    let (io, fs) = table(&["k"], &options);
    let daily = |fs: &FileIoRef| TagManager::new(Arc::clone(fs), ROOT).tag("daily").map(|tag| tag.snapshot.id);
    // each commit makes the tag
    append(&fs, "main", (1, 1));
    assert_eq!(daily(&fs).unwrap(), 1);
    // the next one, which nothing has tagged yet
    let untagged = BTreeMap::from([("tag.automatic-creation".to_owned(), "none".to_owned())]);
    let ctx = Table::open_with(Arc::clone(&fs), ROOT, "main", None, untagged).unwrap().context().clone();
    commit(&ctx, written(&ctx, &[(2, 2)]));
    expire_snapshots(&open(&fs, "main"), &until(2, 2), false).unwrap();
    assert_eq!(daily(&fs).unwrap(), 1);
    let mut replaced = 0;
    for call in 0.. {
        let Some((fs, result, place)) = fails_at(&io, call, |ctx| create_automatic(ctx).map(drop)) else { break };
        let tagged = daily(&fs).unwrap_or_else(|e| panic!("{place}: {e}, {result:?}"));
        let tells = result.as_ref().is_err_and(|e| e.message().starts_with("tag 'daily' was replaced"));
        assert_eq!(tagged == 2, tells || result.is_ok(), "{place}: {result:?}");
        replaced += usize::from(tells);
        check_whole(&fs, 2);
    }
    assert!(replaced > 0);
    create_automatic(&open(&fs, "main")).unwrap();
    assert_eq!(daily(&fs).unwrap(), 2);
    assert_eq!(problems(&fs), Vec::<String>::new());
}
