//! Fast-forwards to a branch without a version in common with main that die anywhere: main expires, and the branch stays until
//! main has all of it.

use std::sync::Arc;

use siltstone::{
    ErrorKind,
    fs::{FailWhen, FaultFileIo, FileIoRef},
    io::TableContext,
    maintenance::{
        branch::{BranchSource, create_branch, delete_branch, fast_forward, rename_branch},
        expire::expire_snapshots,
        fsck::fsck,
    },
    snapshot::SnapshotManager,
};

use super::{ROOT, append, check_whole, commit, compact, open, table, until};

fn ids(fs: &FileIoRef) -> Vec<i64> {
    SnapshotManager::new(Arc::clone(fs), ROOT).ids().unwrap()
}

fn warnings(ctx: &TableContext) -> Vec<&'static str> {
    fsck(ctx, false, 0).unwrap().findings.iter().map(|found| found.code).collect()
}

/// Main and a branch that part at version 1; the branch goes on to 5, its first four expire, and main compacts version 1's file
/// away, which the branch still has.
fn apart(branch: &dyn Fn(&FileIoRef), main: &dyn Fn(&FileIoRef)) -> (FaultFileIo, FileIoRef) {
    let (io, fs) = table(&["k"], &[("bucket", "1"), ("write-only", "true")]);
    append(&fs, "main", (1, 1));
    create_branch(&open(&fs, "main"), "b", &BranchSource::Snapshot(Some(1))).unwrap();
    branch(&fs);
    expire_snapshots(&open(&fs, "b"), &until(5, 5), false).unwrap();
    main(&fs);
    (io, fs)
}

fn adds_files() -> (FaultFileIo, FileIoRef) {
    let main = |fs: &FileIoRef| {
        (8..=9).for_each(|k| append(fs, "main", (k, 3)));
        compact(fs, "main");
    };
    apart(&|fs| (2..=5).for_each(|k| append(fs, "b", (k, 2))), &main)
}

/// The branch's one version names the file again that main has compacted away: it moves it to another level.
fn moves_a_file() -> (FaultFileIo, FileIoRef) {
    let branch = |fs: &FileIoRef| {
        (2..=4).for_each(|_| drop(commit(&open(fs, "b"), Vec::new())));
        compact(fs, "b");
    };
    let main = |fs: &FileIoRef| {
        append(fs, "main", (1, 3));
        compact(fs, "main");
        append(fs, "main", (9, 3));
    };
    apart(&branch, &main)
}

/// Runs a fast-forward that dies at each of its storage calls; `then` for those that have given main the branch's version.
fn dies_everywhere(made: &(FaultFileIo, FileIoRef), then: &dyn Fn(&FileIoRef)) {
    let mut forwarded = 0;
    for n in 0.. {
        let io = made.0.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let ctx = open(&fs, "main");
        io.fail_after(n, FailWhen::Before);
        let done = fast_forward(&ctx, "b", false);
        io.heal();
        if done.is_ok() {
            assert!(forwarded > 3, "{forwarded}");
            return;
        }
        if ids(&fs).last() == Some(&5) {
            forwarded += 1;
            then(&fs);
        }
    }
}

#[test]
fn what_a_dead_fast_forward_leaves_of_main_expires_and_takes_no_file_of_the_branch_with_it() {
    for made in [adds_files(), moves_a_file()] {
        dies_everywhere(&made, &|fs| {
            for dry_run in [true, false] {
                expire_snapshots(&open(fs, "main"), &until(5, 5), dry_run).unwrap();
                check_whole(fs, 5);
            }
            assert_eq!(ids(fs), [5]);
        });
    }
}

#[test]
fn a_branch_stays_until_main_has_all_of_it() {
    for made in [adds_files(), moves_a_file()] {
        dies_everywhere(&made, &|fs| {
            let ctx = open(fs, "main");
            for dry_run in [true, false] {
                let refused = delete_branch(&ctx, "b", dry_run).unwrap_err();
                assert_eq!(refused.kind(), ErrorKind::VersionInUse, "{refused}");
                assert!(refused.hint_text().unwrap().contains("fast-forward to the branch again"), "{refused}");
            }
            assert!(warnings(&ctx).contains(&"half-forwarded"), "{:?}", warnings(&ctx));
            assert_eq!(rename_branch(&ctx, "b", "c").unwrap_err().kind(), ErrorKind::VersionInUse);
            expire_snapshots(&ctx, &until(5, 5), false).unwrap();
            assert_eq!(delete_branch(&ctx, "b", false).unwrap_err().kind(), ErrorKind::VersionInUse);
            fast_forward(&ctx, "b", false).unwrap();
            assert!(!warnings(&ctx).contains(&"half-forwarded"), "{:?}", warnings(&ctx));
            delete_branch(&ctx, "b", false).unwrap();
            check_whole(fs, 5);
        });
    }
}

#[test]
fn a_branch_that_main_has_gone_forward_to_or_on_from_can_be_deleted() {
    let (_, fs) = adds_files();
    fast_forward(&open(&fs, "main"), "b", false).unwrap();
    append(&fs, "b", (7, 7));
    delete_branch(&open(&fs, "main"), "b", false).unwrap();
    dies_everywhere(&adds_files(), &|fs| {
        append(fs, "main", (7, 7));
        delete_branch(&open(fs, "main"), "b", false).unwrap();
    });
}
