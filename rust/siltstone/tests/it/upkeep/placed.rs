//! Rollbacks to tags of expired versions that die: what they have put into its place is no version.

use std::sync::Arc;

use siltstone::{
    fs::{FaultFileIo, FileIo as _, FileIoRef, Meanwhile},
    maintenance::{expire::expire_snapshots, rollback::rollback},
    scan::VersionSelector,
    snapshot::TagManager,
};

use super::{
    ROOT, append, check_whole,
    dies::{dies, ids, problems, versions},
    open, tag, until,
};

/// Versions 7 and 8, and tags of 1 and 3, which have expired.
fn expired() -> (FaultFileIo, FileIoRef) {
    let (io, fs) = versions(8);
    let ctx = open(&fs, "main");
    tag(&ctx, "v1", 1);
    tag(&ctx, "v3", 3);
    expire_snapshots(&ctx, &until(8, 7), false).unwrap();
    (io, fs)
}

fn to(tag: &str) -> VersionSelector {
    VersionSelector::Tag(tag.to_owned())
}

#[test]
fn what_a_rollback_that_died_has_put_into_its_place_is_no_version_by_the_record_of_a_later_rollback() {
    let (io, fs) = expired();
    let placed = ("publish: remove temporary file", "/snapshot/snapshot-3");
    rollback(&dies(&io, placed, Meanwhile::new()), &to("v3"), false).unwrap_err();
    assert!(io.exists(&format!("{ROOT}/snapshot/snapshot-3")).unwrap(), "nothing to be tested");
    assert_eq!(ids(&fs), [7, 8]);
    let recorded = ("overwrite", "/t/snapshot/LATEST");
    // what is left to do after the record is a note
    rollback(&dies(&io, recorded, Meanwhile::new()), &to("v1"), false).unwrap();
    assert_eq!(ids(&fs), [1]);
    append(&fs, "main", (9, 0));
    assert_eq!(ids(&fs), [1, 2]);
    assert_eq!(problems(&fs), Vec::<String>::new());
    expire_snapshots(&open(&fs, "main"), &until(2, 2), false).unwrap();
    check_whole(&fs, 2);
    assert_eq!(problems(&fs), Vec::<String>::new());
}

#[test]
fn a_rollback_that_died_is_completed_by_the_same_call() {
    for at in [("publish: link", "/snapshot/snapshot-3"), ("publish: remove temporary file", "/snapshot/snapshot-3")] {
        let (io, fs) = expired();
        rollback(&dies(&io, at, Meanwhile::new()), &to("v3"), false).unwrap_err();
        rollback(&open(&fs, "main"), &to("v3"), false).unwrap();
        assert_eq!(ids(&fs), [3]);
        append(&fs, "main", (9, 0));
        assert_eq!((ids(&fs), problems(&fs)), (vec![3, 4], Vec::new()));
    }
}

/// The other program goes back to the same tag after a rollback of ours had died: its copy is a version, now and after an upkeep.
#[test]
fn a_tag_that_another_program_goes_back_to_after_a_rollback_of_ours_died_is_a_version() {
    let (io, fs) = expired();
    rollback(&dies(&io, ("publish: link", "/snapshot/snapshot-3"), Meanwhile::new()), &to("v3"), false).unwrap_err();
    let tagged = TagManager::new(Arc::clone(&fs), ROOT).get("v3").unwrap();
    io.put(&format!("{ROOT}/snapshot/LATEST"), b"3");
    for gone in [8, 7] {
        io.delete(&format!("{ROOT}/snapshot/snapshot-{gone}")).unwrap();
    }
    io.put(&format!("{ROOT}/snapshot/snapshot-3"), tagged.to_json().unwrap().as_bytes());
    assert_eq!(ids(&fs), [3]);
    append(&fs, "main", (9, 0));
    expire_snapshots(&open(&fs, "main"), &until(4, 3), false).unwrap();
    assert_eq!(ids(&fs), [3, 4]);
    check_whole(&fs, 3);
}
