//! An alter of what levels mean beside a rollback to a version that has several of them: one of the two gives way.

use siltstone::{
    compact::{CompactRequest, TaskResources, plan_compaction, run_task},
    table::TagArgs,
};

use super::*;

const LAST: i32 = 3000;

/// The tag `two` has key 1 in two levels, the newest version all rows in one.
fn begun() -> FaultFileIo {
    let options = [
        BUCKET,
        ("write-only", "true"),
        ("deletion-vectors.modifiable", "true"),
        ("num-sorted-run.compaction-trigger", "2"),
        ("siltstone.upkeep-lock-timeout", "0 s"),
    ];
    let (io, fs) = new_table(&["k"], &options);
    put(&fs, &(1..=LAST).map(|k| (k, 100)).collect::<Vec<_>>()).unwrap();
    compacted(&fs, true);
    put(&fs, &[(1, 1)]).unwrap();
    put(&fs, &[(1, 2)]).unwrap();
    compacted(&fs, false);
    assert_eq!(levels(&fs), 2);
    table(&fs).create_tag("two", &TagArgs::default()).unwrap();
    compacted(&fs, true);
    assert_eq!(levels(&fs), 1);
    io
}

fn compacted(fs: &FileIoRef, full: bool) {
    let ctx = open(fs, ROOT);
    let plan = plan_compaction(&ctx, &CompactRequest { full, ..CompactRequest::default() }).unwrap();
    let resources = TaskResources { threads: Some(1), ..TaskResources::default() };
    let messages = plan.tasks.iter().map(|task| run_task(&ctx, task, &resources).unwrap()).collect();
    table(fs).commit_messages(None, Committable { messages, ..Committable::default() }, None).unwrap();
}

fn levels(fs: &FileIoRef) -> usize {
    let newest = SnapshotManager::new(Arc::clone(fs), ROOT).latest().unwrap().unwrap();
    let live = siltstone::scan::live_entries(&open(fs, ROOT), &newest, &siltstone::scan::EntryFilter::default());
    live.unwrap().iter().map(|entry| entry.file.level).collect::<std::collections::BTreeSet<_>>().len()
}

fn back(fs: &FileIoRef) -> Result<()> {
    let two = VersionArgs { tag: Some("two".to_owned()), ..VersionArgs::default() };
    table(fs).rollback(&two, false).map(drop)
}

fn switch_on(fs: &FileIoRef) -> Result<()> {
    table(fs).alter(r#"[{"kind": "set_option", "key": "deletion-vectors.enabled", "value": "true"}]"#)
}

/// Both reported success, and each key of two levels was there twice.
fn check(call: u64, fs: &FileIoRef, end: Result<()>) {
    if let Err(error) = end {
        let gave_way = [ErrorKind::IllegalSchemaChange, ErrorKind::UpkeepRunning, ErrorKind::CommitConflict];
        assert!(gave_way.contains(&error.kind()), "call {call}: {error}");
    }
    let found = rows(fs);
    assert_eq!((found.len(), found.first()), (usize::try_from(LAST).unwrap(), Some(&(1, 2))), "call {call}");
}

#[test]
fn a_rollback_beside_an_alter_of_vectors_shows_no_key_twice() {
    assert!(before_each_call(&begun(), back, |fs| drop(switch_on(fs)), check) > 30);
}

#[test]
fn an_alter_of_vectors_beside_a_rollback_shows_no_key_twice() {
    assert!(before_each_call(&begun(), switch_on, |fs| drop(back(fs)), check) > 10);
}
