//! The automatic tag of a batch (`tag.automatic-creation` = `batch`) beside other commits.

use std::sync::Arc;

use siltstone::{
    commit::Committable,
    fs::{BeforeCall, FileIoRef, Meanwhile},
    maintenance::automatic::Committer,
    snapshot::{SnapshotManager, TagManager, UpkeepLock},
};

use super::{ROOT, append, check_whole, open, table, written};

/// Nobody waits long here for a lock that whoever was stopped holds.
const OPTIONS: [(&str, &str); 4] = [
    ("tag.automatic-creation", "batch"),
    ("tag.batch.customized-name", "nightly"),
    ("siltstone.upkeep-lock-timeout", "1 ms"),
    ("bucket", "1"),
];

/// A commit read which version is newest, and then took the lock: the day's tag named it, though another one had followed.
#[test]
fn the_tag_of_a_batch_names_the_newest_version_whenever_another_commit_comes_meanwhile() {
    for tags_before in [false, true] {
        let (base, fs) = table(&["k"], &OPTIONS);
        if tags_before {
            append(&fs, "main", (1, 1));
        }
        for call in 0.. {
            let io = base.fork();
            let fs: FileIoRef = Arc::new(io.clone());
            let others = Arc::clone(&fs);
            let second = move || {
                append(&others, "main", (3, 3));
                Ok(())
            };
            let meanwhile = Arc::new(Meanwhile::new().before_call(call, second));
            let behind: FileIoRef = Arc::new(io.behind(Arc::clone(&meanwhile) as Arc<dyn BeforeCall>));
            append(&behind, "main", (2, 2));
            if meanwhile.left() > 0 {
                assert!(call > 20, "{call}");
                break;
            }
            let newest = SnapshotManager::new(Arc::clone(&fs), ROOT).latest_id().unwrap().unwrap();
            let tagged = TagManager::new(Arc::clone(&fs), ROOT).tag("nightly").unwrap().snapshot.id;
            assert_eq!((tagged, newest), (newest, if tags_before { 3 } else { 2 }), "call {call}, {tags_before}");
            check_whole(&fs, 0);
        }
    }
}

/// A commit that met another one's upkeep said nothing of the tag that it had not moved.
#[test]
fn a_commit_that_could_not_move_the_tag_of_a_batch_says_so() {
    let (_, fs) = table(&["k"], &OPTIONS);
    append(&fs, "main", (1, 1));
    let ctx = open(&fs, "main");
    let messages = written(&ctx, &[(2, 2)]);
    let lock = UpkeepLock::try_take(&fs, ROOT).unwrap();
    let committable = Committable { messages, ..Committable::default() };
    let notes = Committer::with_new_user(&ctx).commit(committable).unwrap().notes;
    assert!(notes.iter().any(|note| note.contains("the automatic creation of tags failed")), "{notes:?}");
    drop(lock);
    assert!(TagManager::new(fs, ROOT).tag("nightly").is_ok_and(|tag| tag.snapshot.id == 1));
}
