//! Hints that were written late, which Java believes.

use std::sync::Arc;

use siltstone::{
    fs::Meanwhile,
    maintenance::{
        branch::{BranchSource, create_branch, fast_forward},
        expire::expire_snapshots,
        rollback::rollback,
    },
    scan::VersionSelector,
    snapshot::SnapshotManager,
};

use super::{
    ROOT, append,
    dies::{held_up, ids, versions},
    open, until,
};

#[test]
fn the_next_upkeep_mends_a_latest_hint_that_a_writer_wrote_after_its_version_had_expired() {
    let expires = |fs: &_| drop(expire_snapshots(&open(fs, "main"), &until(8, 8), false).unwrap());
    let rolls_back = |fs: &_| drop(rollback(&open(fs, "main"), &VersionSelector::Snapshot(8), false).unwrap());
    for upkeep in [&expires as &dyn Fn(&siltstone::fs::FileIoRef), &rolls_back] {
        let (io, fs) = versions(8);
        expires(&fs);
        io.put(&format!("{ROOT}/snapshot/LATEST"), b"4");
        upkeep(&fs);
        assert_eq!(SnapshotManager::new(Arc::clone(&fs), ROOT).hint("LATEST").unwrap(), Some(8));
    }
}

#[test]
fn a_fast_forward_does_not_set_the_latest_hint_back_to_before_what_was_committed_on_it() {
    let (io, fs) = versions(2);
    create_branch(&open(&fs, "main"), "b", &BranchSource::Snapshot(None)).unwrap();
    (3..=4).for_each(|k| append(&fs, "b", (k, 0)));
    let others = Arc::clone(&fs);
    let meanwhile = Meanwhile::new().before("overwrite", "/t/snapshot/LATEST", move || {
        (5..=6).for_each(|k| append(&others, "main", (k, 0)));
        Ok(())
    });
    fast_forward(&held_up(&io, meanwhile), "b", false).unwrap();
    assert_eq!(ids(&fs), [1, 2, 3, 4, 5, 6]);
    assert_eq!(SnapshotManager::new(fs, ROOT).hint("LATEST").unwrap(), Some(6));
}
