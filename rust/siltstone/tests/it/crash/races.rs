//! Writers on the local disk that race, and what a killed or unplugged one leaves.

use std::sync::Arc;

use siltstone::{
    ErrorKind,
    commit::Committable,
    fs::{FileIo as _, FileIoRef, LocalFileIo},
    maintenance::automatic::Committer,
    snapshot::{RemovalKind, Snapshot, SnapshotManager, UpkeepLock},
};

use super::{ROOT, VECTORS, append, compact, create, memory, once, open, state, written};
use crate::folder::Folder;
/// Several processes' worth of writers on local disk, each writing its own keys again and again, and key 1000 when it is
/// shared; what they left in level 0 is compacted in the end.
fn race(key: &[&str], options: &[(&str, &str)], shared: bool) -> (Vec<(i32, i64)>, usize) {
    const WRITERS: i32 = 4;
    const ROUNDS: i64 = 6;
    let folder = Folder::new("race");
    let root = folder.root();
    let fs: FileIoRef = Arc::new(LocalFileIo::new());
    create(&fs, &root, key, options);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let root = &root;
            scope.spawn(move || {
                let fs: FileIoRef = Arc::new(LocalFileIo::new());
                for round in 0..ROUNDS {
                    let ctx = open(&fs, root);
                    let mut rows = vec![(writer, round), (100 + writer * 10 + i32::try_from(round).unwrap(), round)];
                    rows.extend(shared.then_some((1000, round)));
                    let messages = written(&ctx, &rows, false).unwrap();
                    let commit = Committer::new(&ctx, &format!("writer-{writer}"));
                    while let Err(error) = commit.commit(once(round, messages.clone())) {
                        assert_eq!(error.kind(), ErrorKind::CommitRetriesExhausted, "{error}");
                    }
                }
            });
        }
    });
    if shared {
        compact(&open(&fs, &root), 100).unwrap();
    }
    let state = state(&fs, &root);
    let snapshots = SnapshotManager::new(fs, &root).ids().unwrap();
    assert_eq!(snapshots, (1..=i64::try_from(snapshots.len()).unwrap()).collect::<Vec<_>>());
    (state.0, snapshots.len())
}

/// A job published `snapshot-2` into the hole that an expiry had left, and was killed there; the expiry died, too, and has left
/// the snapshots from 3 on. The job comes again under its identifier: what it finds of itself is no version.
#[test]
fn an_own_snapshot_that_came_too_late_is_not_taken_for_the_commit() {
    let (io, fs) = memory(&[], &[]);
    let ctx = open(&fs, ROOT);
    for k in 1..=7 {
        let messages = written(&ctx, &[(k, 0)], false).unwrap();
        Committer::with_new_user(&ctx).commit(Committable { messages, ..Committable::default() }).unwrap();
    }
    let snapshots = SnapshotManager::new(Arc::clone(&fs), ROOT);
    let going = snapshots.existing(1..=6).unwrap();
    let lock = UpkeepLock::try_take(&fs, ROOT).unwrap().unwrap();
    snapshots.removals().append(&lock, RemovalKind::Expire, 7, &going).unwrap();
    drop(lock);
    for id in 1..=2 {
        io.delete(&snapshots.path(id)).unwrap();
    }
    let late = Snapshot { commit_user: "job".to_owned(), commit_identifier: 7, ..going[1].clone() };
    let late = Snapshot { delta_manifest_list: "late".to_owned(), ..late }.knowing(0, "main");
    io.put(&snapshots.path(2), late.to_json().unwrap().as_bytes());

    let outcome = append(&ctx, 7, &[(100, 0)]).unwrap();
    assert!(!outcome.already_committed);
    assert_eq!(outcome.snapshots[0].id, 8);
    assert!(state(&fs, ROOT).0.contains(&(100, 0)));
    assert!(append(&ctx, 7, &[(100, 0)]).unwrap().already_committed, "it is there now");
}

#[test]
fn racing_appends_lose_and_repeat_nothing() {
    let (rows, snapshots) = race(&[], &[], false);
    assert_eq!((rows.len(), snapshots), (48, 24));
}

#[test]
fn racing_writers_of_a_bucket_lose_nothing_though_their_compactions_collide() {
    let options = [("bucket", "1"), ("num-sorted-run.compaction-trigger", "2")];
    let (rows, snapshots) = race(&["k"], &options, false);
    let mut wanted: Vec<(i32, i64)> = (0..4).map(|writer| (writer, 5)).collect();
    wanted.extend((0..4).flat_map(|w| (0..6).map(move |r| (100 + w * 10 + r, i64::from(r)))));
    wanted.sort_unstable();
    assert_eq!(rows, wanted);
    assert!(snapshots >= 24);
}

/// Levels of files must not hide from a compaction what another one has put there meanwhile.
#[test]
fn racing_writers_show_each_key_once_where_readers_do_not_merge() {
    for (name, value) in [VECTORS, ("merge-engine", "first-row")] {
        let (rows, snapshots) = race(&["k"], &[("bucket", "1"), (name, value)], true);
        let keys: Vec<i32> = rows.iter().map(|row| row.0).collect();
        let mut wanted: Vec<i32> = (0..4).collect();
        wanted.extend((0..4).flat_map(|w| (0..6).map(move |r| 100 + w * 10 + r)));
        wanted.push(1000);
        wanted.sort_unstable();
        assert_eq!(keys, wanted, "{name}");
        assert!(snapshots > 24);
    }
}

#[test]
fn a_killed_publisher_leaves_a_temporary_file_that_nobody_reads() {
    let folder = Folder::new("temporary");
    let root = folder.root();
    let fs: FileIoRef = Arc::new(LocalFileIo::new());
    create(&fs, &root, &[], &[]);
    append(&open(&fs, &root), 0, &[(1, 1)]).unwrap();
    LocalFileIo::new().write_new(&format!("{root}/snapshot/.snapshot-2.abc.tmp"), b"{", false).unwrap();
    append(&open(&fs, &root), 1, &[(2, 2)]).unwrap();
    assert_eq!(state(&fs, &root).0, [(1, 1), (2, 2)]);
    assert_eq!(SnapshotManager::new(fs, &root).ids().unwrap(), [1, 2]);
}

#[test]
fn what_was_reported_outlives_a_power_loss_unless_syncing_is_off() {
    for (sync, wanted) in [("true", 1), ("false", 0)] {
        let (io, fs) = memory(&[], &[("siltstone.sync", sync)]);
        append(&open(&fs, ROOT), 0, &[(1, 1)]).unwrap();
        io.crash();
        assert_eq!(SnapshotManager::new(Arc::clone(&fs), ROOT).ids().unwrap().len(), wanted);
        assert_eq!(state(&fs, ROOT).0.len(), wanted);
    }
}
