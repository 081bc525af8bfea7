//! Iceberg metadata beside others.

use std::sync::Arc;

use serde_json::Value;
use siltstone::{
    commit::Committable,
    fs::{BeforeCall, FileIoRef, Meanwhile},
    io::TableContext,
    maintenance::{automatic::Committer, rollback::rollback},
    scan::VersionSelector,
    snapshot::SnapshotManager,
};

use super::{ROOT, append, open, table, written};

/// The id in the hint, and the delta manifest list of the snapshot that its metadata is of.
fn described(fs: &FileIoRef) -> (i64, String) {
    let hint = fs.read(&format!("{ROOT}/metadata/version-hint.text")).unwrap();
    let id: i64 = std::str::from_utf8(&hint).unwrap().parse().unwrap();
    let metadata = fs.read(&format!("{ROOT}/metadata/v{id}.metadata.json")).unwrap();
    let metadata: Value = serde_json::from_slice(&metadata).unwrap();
    let newest = metadata["snapshots"].as_array().unwrap().last().unwrap();
    (id, newest["summary"]["siltstone.delta-manifest-list"].as_str().unwrap().to_owned())
}

/// A writer was held up behind its snapshot, which was rolled back and its id given to another one: it once put the metadata of
/// its own in the place of that of the other one, and Iceberg's readers saw the row that was taken back.
#[test]
fn a_writer_that_was_held_up_describes_the_version_that_there_is() {
    let (made, fs) = table(&[], &[("bucket", "-1"), ("metadata.iceberg.storage", "table-location")]);
    append(&fs, "main", (1, 0));
    let mut replaced = 0;
    for call in 0.. {
        let io = made.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let others = Arc::clone(&fs);
        let then = move || {
            if SnapshotManager::new(Arc::clone(&others), ROOT).latest_id().unwrap() == Some(2) {
                rollback(&open(&others, "main"), &VersionSelector::Snapshot(1), false).unwrap();
                append(&others, "main", (20, 0));
            }
            Ok(())
        };
        let meanwhile = Arc::new(Meanwhile::new().before_call(call, then));
        let ctx = TableContext {
            fs: Arc::new(io.behind(Arc::clone(&meanwhile) as Arc<dyn BeforeCall>)),
            ..open(&fs, "main")
        };
        let messages = written(&ctx, &[(10, 0)]);
        let end = Committer::with_new_user(&ctx).commit(Committable { messages, ..Committable::default() });
        if meanwhile.left() > 0 {
            break;
        }
        let newest = SnapshotManager::new(Arc::clone(&fs), ROOT).latest().unwrap().unwrap();
        replaced += u32::from(end.is_ok_and(|end| end.snapshots.iter().all(|made| !made.is_same_version(&newest))));
        assert_eq!(described(&fs), (newest.id, newest.delta_manifest_list), "before call {call}");
    }
    assert!(replaced > 5, "{replaced}");
}

/// Metadata of so many versions before the newest one stays.
fn options(kept: &str) -> [(&str, &str); 3] {
    [("bucket", "-1"), ("metadata.iceberg.storage", "table-location"), ("metadata.iceberg.previous-versions-max", kept)]
}

/// Iceberg's readers of a directory go on from the hint as long as there is metadata of the next version: they read rows that a
/// rollback had taken back.
#[test]
fn no_metadata_lies_ahead_of_the_hint_after_a_rollback() {
    for kept in ["0", "10"] {
        let (_made, fs) = table(&[], &options(kept));
        for id in 0..6 {
            append(&fs, "main", (id, 0));
        }
        rollback(&open(&fs, "main"), &VersionSelector::Snapshot(2), false).unwrap();
        for id in 3..7 {
            append(&fs, "main", (id, 1));
            let newest = SnapshotManager::new(Arc::clone(&fs), ROOT).latest().unwrap().unwrap();
            assert_eq!(described(&fs), (i64::from(id), newest.delta_manifest_list));
            assert!(!fs.exists(&format!("{ROOT}/metadata/v{}.metadata.json", id + 1)).unwrap(), "{kept} {id}");
        }
    }
}

/// A commit that was held up before it wrote the hint once put its own version there, whose metadata the next commit had deleted.
#[test]
fn the_hint_names_the_newest_version_whichever_of_two_commits_writes_it_last() {
    for kept in ["0", "10"] {
        let (made, fs) = table(&[], &options(kept));
        append(&fs, "main", (1, 0));
        let mut beside = 0;
        for call in 0.. {
            let io = made.fork();
            let fs: FileIoRef = Arc::new(io.clone());
            let others = Arc::clone(&fs);
            let then = move || {
                append(&others, "main", (20, 0));
                Ok(())
            };
            let meanwhile = Arc::new(Meanwhile::new().before_call(call, then));
            let ctx = TableContext {
                fs: Arc::new(io.behind(Arc::clone(&meanwhile) as Arc<dyn BeforeCall>)),
                ..open(&fs, "main")
            };
            let messages = written(&ctx, &[(10, 0)]);
            Committer::with_new_user(&ctx).commit(Committable { messages, ..Committable::default() }).unwrap();
            if meanwhile.left() > 0 {
                break;
            }
            let newest = SnapshotManager::new(Arc::clone(&fs), ROOT).latest().unwrap().unwrap();
            assert_eq!((newest.id, described(&fs)), (3, (3, newest.delta_manifest_list)), "before call {call}");
            beside += 1;
        }
        assert!(beside > 30, "{beside}");
    }
}
