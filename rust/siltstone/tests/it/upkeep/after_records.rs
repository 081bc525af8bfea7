//! Rollbacks, fast-forwards and expiries of which one storage call fails: before their removal record they have changed nothing
//! that counts, after it they have taken effect, and say so.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use siltstone::{
    Error, ErrorKind, Result,
    cleanup::Report,
    fs::{FaultFileIo, FileIo as _, FileIoRef, Meanwhile},
    io::TableContext,
    maintenance::{
        branch::{BranchSource, create_branch, fast_forward},
        expire::expire_snapshots,
        fsck::{Severity, fsck},
        rollback::rollback,
        tag::{CreateTag, create_tag, rename_tag, replace_tag},
    },
    path::branch_root,
    scan::VersionSelector,
    snapshot::{Snapshot, SnapshotManager, TagManager},
};

use super::{ROOT, append, busy_table, check_whole, open, table, until};

fn line(fs: &FileIoRef, branch: &str) -> Vec<Snapshot> {
    let snapshots = SnapshotManager::new(Arc::clone(fs), &branch_root(ROOT, branch));
    snapshots.ids().unwrap().into_iter().map(|id| snapshots.get(id).unwrap()).collect()
}

fn ids(fs: &FileIoRef) -> Vec<i64> {
    line(fs, "main").iter().map(|snapshot| snapshot.id).collect()
}

fn problems(fs: &FileIoRef) -> Vec<String> {
    let verdict = fsck(&open(fs, "main"), true, i64::MAX).unwrap();
    let bad = verdict.findings.iter().filter(|f| f.severity == Severity::Problem);
    bad.map(|finding| format!("{} {}: {}", finding.code, finding.place, finding.message)).collect()
}

/// One run: what is left, and what the call said.
struct Run {
    io: FaultFileIo,
    fs: FileIoRef,
    what: String,
    result: Result<Report>,
    /// Whether the record of the operation is there.
    recorded: bool,
}

/// Runs an operation once for each of its storage calls; that call alone fails.
fn fails_once(
    made: &(FaultFileIo, FileIoRef),
    operation: &dyn Fn(&TableContext) -> Result<Report>,
    check: &dyn Fn(&Run),
) {
    let records = |io: &FaultFileIo| io.paths().iter().filter(|path| path.contains("/siltstone/removal-")).count();
    for call in 0.. {
        let io = made.0.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let fails = || Err(Error::new(ErrorKind::Storage, "this call fails"));
        let meanwhile = Arc::new(Meanwhile::new().before_call(call, fails));
        // opening the table is not what is looked at
        let behind: FileIoRef = Arc::new(io.behind(Arc::<Meanwhile>::clone(&meanwhile)));
        let ctx = TableContext { fs: behind, ..open(&fs, "main") };
        let before = records(&io);
        let result = operation(&ctx);
        if meanwhile.left() > 0 {
            assert!(call > 20, "{call}");
            return;
        }
        let last = io.trace().last().cloned().unwrap_or_default();
        let what = format!("call {call}, before {last}: {result:?}");
        let recorded = records(&io) > before;
        check(&Run { io, fs, what, result, recorded });
    }
}

#[test]
fn a_rollback_that_cannot_remove_what_is_left_has_taken_effect_and_says_so() {
    let noted = AtomicUsize::new(0);
    let back = |ctx: &TableContext| rollback(ctx, &VersionSelector::Snapshot(5), false);
    fails_once(&busy_table(), &back, &|Run { io, fs, what, result, recorded }| {
        assert_eq!(result.is_ok(), *recorded, "{what}");
        let wanted = if *recorded { 5 } else { 9 };
        assert_eq!(ids(fs), (1..=wanted).collect::<Vec<_>>(), "{what}");
        check_whole(fs, 0);
        match result {
            Ok(report) => {
                let said = report.plan.notes.iter().any(|note| {
                    note.starts_with("the table is back at snapshot 5, but not all") && note.contains("this call fails")
                });
                noted.fetch_add(usize::from(said), Ordering::Relaxed);
                // whoever has the lock next removes the rest
                expire_snapshots(&open(fs, "main"), &until(5, 2), false).unwrap();
            }
            Err(_) => drop(back(&open(fs, "main")).unwrap()),
        }
        assert_eq!(problems(fs), Vec::<String>::new(), "{what}");
        assert_eq!(TagManager::new(Arc::clone(fs), ROOT).names().unwrap(), ["t2", "t4"], "{what}");
        assert!(!io.exists(&format!("{ROOT}/snapshot/snapshot-6")).unwrap(), "{what}");
    });
    assert!(noted.into_inner() > 5);
}

#[test]
fn a_rollback_that_is_stopped_after_its_record_says_that_it_has_taken_effect() {
    let (io, fs) = busy_table();
    let stop = || Err(Error::new(ErrorKind::Cancelled, "the operation was stopped"));
    let meanwhile = Meanwhile::new().before("delete", "/tag/tag-t6", stop);
    let ctx = TableContext { fs: Arc::new(io.behind(Arc::new(meanwhile))), ..open(&fs, "main") };
    let error = rollback(&ctx, &VersionSelector::Snapshot(5), false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(error.message().contains("the table is back at snapshot 5"), "{error}");
    assert_eq!(ids(&fs), [1, 2, 3, 4, 5]);
}

#[test]
fn a_tag_of_another_program_that_a_rollback_could_not_delete_goes_with_the_next_upkeep() {
    // its snapshot has expired, and does not say what its writer knew: the record must name it
    let (io, fs) = busy_table();
    let ctx = open(&fs, "main");
    expire_snapshots(&ctx, &until(9, 8), false).unwrap();
    let tags = TagManager::new(Arc::clone(&fs), ROOT);
    for name in tags.names().unwrap() {
        let tag = tags.tag(&name).unwrap();
        let snapshot = Snapshot { properties: None, ..tag.snapshot };
        io.put(&tags.path(&name), snapshot.to_json().unwrap().as_bytes());
    }
    let fails = || Err(Error::new(ErrorKind::Storage, "this call fails"));
    let meanwhile = Meanwhile::new().before("delete", "/tag/tag-t6", fails).before("delete", "/tag/tag-t6", fails);
    let failing = TableContext { fs: Arc::new(io.behind(Arc::new(meanwhile))), ..ctx.clone() };
    let report = rollback(&failing, &VersionSelector::Tag("t2".to_owned()), false).unwrap();
    assert!(report.plan.notes.iter().any(|note| note.contains("this call fails")), "{:?}", report.plan.notes);
    assert_eq!(tags.names().unwrap(), ["t2", "t4", "t6"]);
    for row in 0..4 {
        append(&fs, "main", (row, 100));
    }
    expire_snapshots(&ctx, &until(6, 4), false).unwrap();
    assert_eq!(tags.names().unwrap(), ["t2"]);
    assert_eq!(problems(&fs), Vec::<String>::new());
}

#[test]
fn a_fast_forward_of_which_a_call_fails_is_finished_by_the_same_call_or_has_only_files_left() {
    let made = busy_table();
    create_branch(&open(&made.1, "main"), "fix", &BranchSource::Tag("t6".to_owned())).unwrap();
    append(&made.1, "fix", (1, 99));
    let forward = |ctx: &TableContext| fast_forward(ctx, "fix", false);
    let (begun, noted) = (AtomicUsize::new(0), AtomicUsize::new(0));
    fails_once(&made, &forward, &|Run { fs, what, result, recorded, .. }| {
        check_whole(fs, 0);
        match result {
            Ok(report) => drop(noted.fetch_add(usize::from(!report.plan.notes.is_empty()), Ordering::Relaxed)),
            Err(error) if !recorded => {
                assert_eq!(ids(fs), (1..=9).collect::<Vec<_>>(), "{what}");
                assert!(!error.message().contains("has given way"), "{what}");
            }
            Err(error) => {
                assert!(error.message().contains("main has given way to branch 'fix'"), "{what}");
                begun.fetch_add(1, Ordering::Relaxed);
            }
        }
        if result.is_err() {
            forward(&open(fs, "main")).unwrap_or_else(|error| panic!("{what}, and then {error:?}"));
        }
        let (main, fix) = (line(fs, "main"), line(fs, "fix"));
        let ends = main.iter().rev().zip(fix.iter().rev()).all(|(main, fix)| main.is_same_version(fix));
        assert!(ends && ids(fs) == (1..=7).collect::<Vec<_>>(), "{what}: {:?}", ids(fs));
        expire_snapshots(&open(fs, "main"), &until(7, 2), false).unwrap();
        assert_eq!(problems(fs), Vec::<String>::new(), "{what}");
    });
    assert!(begun.into_inner() > 5 && noted.into_inner() > 0);
}

#[test]
fn an_expiry_of_which_a_call_fails_is_called_off_or_says_what_counts_as_expired() {
    let expire = |ctx: &TableContext| expire_snapshots(ctx, &until(9, 8), false);
    let (off, begun) = (AtomicUsize::new(0), AtomicUsize::new(0));
    fails_once(&busy_table(), &expire, &|Run { fs, what, result, recorded, .. }| {
        check_whole(fs, 8);
        let now = ids(fs);
        match result {
            Ok(_) => assert_eq!(now, [8, 9], "{what}"),
            Err(error) if error.message().contains("snapshots before 8 count as expired") => {
                assert_eq!((now.as_slice(), *recorded), ([8, 9].as_slice(), true), "{what}");
                assert!(error.hint_text().is_some_and(|hint| hint.contains("the next expiry")), "{what}");
                begun.fetch_add(1, Ordering::Relaxed);
            }
            Err(_) => {
                assert_eq!(now, (1..=9).collect::<Vec<_>>(), "{what}");
                check_whole(fs, 0);
                off.fetch_add(usize::from(*recorded), Ordering::Relaxed);
            }
        }
        expire(&open(fs, "main")).unwrap_or_else(|error| panic!("{what}, and then {error:?}"));
        assert_eq!(ids(fs), [8, 9], "{what}");
        assert_eq!(problems(fs), Vec::<String>::new(), "{what}");
    });
    assert!(off.into_inner() > 5 && begun.into_inner() > 5);
}

#[test]
fn an_expiry_that_can_neither_plan_nor_be_called_off_says_what_counts_as_expired() {
    let (io, fs) = busy_table();
    let fails = || Err(Error::new(ErrorKind::Storage, "this call fails"));
    // the consumers are listed once for the choice, once before the record, and once more after it
    let nothing = || Ok(());
    let meanwhile = Meanwhile::new().before("list", "/consumer", nothing).before("list", "/consumer", nothing);
    let meanwhile = meanwhile.before("list", "/consumer", fails).before("publish: link", "/siltstone/removal-2", fails);
    let ctx = TableContext { fs: Arc::new(io.behind(Arc::new(meanwhile))), ..open(&fs, "main") };
    let error = expire_snapshots(&ctx, &until(9, 8), false).unwrap_err();
    assert!(error.message().contains("snapshots before 8 count as expired"), "{error}");
    assert_eq!(ids(&fs), [8, 9]);
    expire_snapshots(&open(&fs, "main"), &until(9, 8), false).unwrap();
    assert!(!io.exists(&format!("{ROOT}/snapshot/snapshot-7")).unwrap());
}

type Make = Box<dyn Fn(&TableContext) -> Result<()>>;

/// What a rollback that died has cut off goes with the next upkeep: a tag that was made of it, acknowledged, went without a word,
/// and a tag that was moved there with all that it had kept before.
#[test]
fn tags_that_a_dead_rollback_has_cut_off_are_nothing_to_make_tags_and_branches_of() {
    let of = |name: &str| CreateTag { version: VersionSelector::Tag(name.to_owned()), ..CreateTag::default() };
    let operations: [(&str, Make); 4] = [
        ("create", Box::new(move |ctx| create_tag(ctx, "mine", &of("t8")).map(drop))),
        ("replace", Box::new(move |ctx| replace_tag(ctx, "t2", &of("t8")).map(drop))),
        ("rename", Box::new(|ctx| rename_tag(ctx, "t8", "mine", false))),
        ("branch", Box::new(|ctx| create_branch(ctx, "mine", &BranchSource::Tag("t8".to_owned())))),
    ];
    for (what, make) in operations {
        let (io, fs) = busy_table();
        for name in ["t7", "t8"] {
            super::tag(&open(&fs, "main"), name, 8);
        }
        let stop = || Err(Error::new(ErrorKind::Cancelled, "the operation was stopped"));
        let meanwhile = Meanwhile::new().before("delete", "/tag/tag-t8", stop);
        let ctx = TableContext { fs: Arc::new(io.behind(Arc::new(meanwhile))), ..open(&fs, "main") };
        rollback(&ctx, &VersionSelector::Snapshot(5), false).unwrap_err();
        let tags = TagManager::new(Arc::clone(&fs), ROOT);
        assert!(tags.exists("t8").unwrap(), "{what}: nothing to be tested");
        let error = make(&open(&fs, "main")).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TagNotFound | ErrorKind::SnapshotExpired), "{what}: {error}");
        append(&fs, "main", (9, 9));
        expire_snapshots(&open(&fs, "main"), &until(6, 2), false).unwrap();
        let left: Vec<(String, i64)> =
            tags.list().unwrap().into_iter().map(|(name, tagged)| (name, tagged.id)).collect();
        assert_eq!(left, [("t2".to_owned(), 2), ("t4".to_owned(), 4)], "{what}");
        check_whole(&fs, 0);
        assert_eq!(problems(&fs), Vec::<String>::new(), "{what}");
    }
}

/// The branch's first snapshot was a version as soon as it was there: writers could not pass it, and where no hint said
/// otherwise it was the newest one, without what main had.
#[test]
fn what_a_fast_forward_that_dies_before_its_record_has_put_into_main_is_no_version() {
    for first in [1, 3, 5] {
        let mains = if first == 1 { 0 } else { 2 };
        let (io, fs) = table(&["k"], &[("bucket", "1"), ("write-only", "true")]);
        (0..mains).for_each(|k| append(&fs, "main", (k, 0)));
        create_branch(&open(&fs, "main"), "b", &BranchSource::Empty).unwrap();
        (0..i32::try_from(first).unwrap()).for_each(|k| append(&fs, "b", (100 + k, 0)));
        expire_snapshots(&open(&fs, "b"), &until(first, first), false).unwrap();
        let fails = || Err(Error::new(ErrorKind::Storage, "this call fails").without_effect());
        let meanwhile = Meanwhile::new().before("publish: link", "/siltstone/removal-2", fails);
        let ctx = TableContext { fs: Arc::new(io.behind(Arc::new(meanwhile))), ..open(&fs, "main") };
        fast_forward(&ctx, "b", false).unwrap_err();
        assert!(io.exists(&format!("{ROOT}/snapshot/snapshot-{first}")).unwrap(), "{first}: nothing to be tested");
        let dead = io.fork();
        let fs: FileIoRef = Arc::new(dead.clone());
        assert_eq!(ids(&fs), (1..=mains.into()).collect::<Vec<_>>(), "{first}");
        if mains > 0 {
            dead.delete(&format!("{ROOT}/snapshot/LATEST")).unwrap();
        }
        for k in 0..5 {
            append(&fs, "main", (10 + k, 0));
        }
        let newest = i64::from(mains) + 5;
        assert_eq!(ids(&fs), (1..=newest).collect::<Vec<_>>(), "{first}");
        check_whole(&fs, 0);
        assert_eq!(problems(&fs), Vec::<String>::new(), "{first}");
        // the same call once more, where nothing came between
        let fs: FileIoRef = Arc::new(io);
        fast_forward(&open(&fs, "main"), "b", false).unwrap();
        assert_eq!(ids(&fs), [first], "{first}");
        append(&fs, "main", (7, 7));
        assert_eq!(problems(&fs), Vec::<String>::new(), "{first}");
    }
}
