//! Whether a snapshot was built on another one.

use super::*;
use crate::{commit::descent::was_built_on, maintenance::rollback::rollback, scan::VersionSelector};

#[test]
fn a_snapshot_was_built_on_a_compaction_that_moves_a_file_only_when_it_has_the_file_where_it_was_moved_to() {
    let t = key_table();
    t.add(&["a"]);
    let compaction = of(vec![compacts(&[f("a")], &[file("a", 5, (0, 9))])]);
    let own = t.commit_as("u").commit(compaction).unwrap().snapshots.remove(0);
    let next = t.add(&["b"]).snapshots.remove(0);
    assert_eq!(was_built_on(&t.ctx, &next, &own).unwrap(), Some(true));
    rollback(&t.ctx, &VersionSelector::Snapshot(1), false).unwrap();
    let beside = t.add(&["c"]).snapshots.remove(0);
    assert_eq!(was_built_on(&t.ctx, &beside, &own).unwrap(), Some(false));
}

/// A file that messages of one writer bring and take in again is in no manifest any more when others have packed them.
#[test]
fn a_file_that_came_and_went_in_one_snapshot_tells_nothing() {
    let t = key_table();
    t.add(&["a"]);
    let first = compacts(&[f("a")], &[file("x", 4, (0, 9))]);
    let second = compacts(&[file("x", 4, (0, 9))], &[file("y", 5, (0, 9))]);
    let own = t.commit_as("u").commit(of(vec![first, second])).unwrap().snapshots.remove(0);
    t.commit_as("others").compact_manifests().unwrap();
    let packed = t.latest().unwrap();
    assert_eq!(packed.id, own.id + 1);
    assert_eq!(was_built_on(&t.ctx, &packed, &own).unwrap(), Some(true));
}
