//! Messages that two processes have: what becomes of one commit of them takes nothing from the other.

use super::{late::beside, *};

const LEVELS: [(&str, &str); 3] = [BUCKET, VECTORS, ("num-sorted-run.compaction-trigger", "2")];

/// Rows of two level-0 files, and a compaction that makes one file of them.
fn compacted(fs: &FileIoRef) -> Vec<CommitMessage> {
    let mut writer = table(fs).writer(None, WriteOptions { threads: Some(1), ..WriteOptions::default() }).unwrap();
    for rows in [[(10, 0), (11, 0)], [(11, 1), (12, 1)]] {
        writer.write(&batch(&rows), None).unwrap();
        writer.compact(true).unwrap();
    }
    let messages = writer.prepare_commit().unwrap();
    writer.close();
    table(fs).messages(&messages).unwrap()
}

fn add(fs: &FileIoRef, messages: &[CommitMessage]) -> Result<CommitReport> {
    let committable = Committable { messages: messages.to_vec(), ..Committable::default() };
    table(fs).commit_messages(None, committable, None)
}

fn replace_all(fs: &FileIoRef, messages: &[CommitMessage]) -> Result<CommitReport> {
    let committable = Committable { messages: messages.to_vec(), ..Committable::default() };
    table(fs).commit_messages(None, committable, Some(&OverwriteTarget::Static(BTreeMap::new())))
}

/// Every version can be read, and nothing else is wrong.
fn check_whole(fs: &FileIoRef) {
    let verdict = fsck(&open(fs, ROOT), true, i64::MAX).unwrap();
    let problems: Vec<_> = verdict.findings.iter().filter(|f| f.severity == Severity::Problem).collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn a_conflict_of_messages_leaves_the_files_to_another_process_that_publishes_them() {
    let (io, fs) = new_table(&["k"], &[BUCKET, ("write-only", "true")]);
    put(&fs, &[(1, 1)]).unwrap();
    let messages = prepared(&fs, &[(2, 2)]);
    let (others, same) = (Arc::clone(&fs), messages.clone());
    let meanwhile = Meanwhile::new().before("publish: link", "/snapshot/snapshot-2", move || {
        let produces = r#"[{"kind": "set_option", "key": "changelog-producer", "value": "input"}]"#;
        table(&others).alter(produces).unwrap();
        let error = add(&others, &same).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CommitConflict, "{error}");
        Ok(())
    });
    let (held_up, meanwhile) = beside(&io, meanwhile);
    add(&held_up, &messages).unwrap();
    assert_eq!(meanwhile.left(), 0);
    assert_eq!(rows(&fs), [(1, 1), (2, 2)]);
    check_whole(&fs);
}

#[test]
fn an_abort_deletes_the_files_that_a_conflict_of_handed_out_messages_has_left() {
    let (io, fs) = new_table(&["k"], &[BUCKET, ("write-only", "true")]);
    put(&fs, &[(1, 1)]).unwrap();
    let before = io.paths();
    let messages = prepared(&fs, &[(2, 2)]);
    let written = io.paths();
    let produces = r#"[{"kind": "set_option", "key": "changelog-producer", "value": "input"}]"#;
    table(&fs).alter(produces).unwrap();
    add(&fs, &messages).unwrap_err();
    assert!(written.iter().all(|path| io.paths().contains(path)));
    table(&fs).committer(None).abort(&messages).unwrap();
    let parquet = |paths: Vec<String>| paths.into_iter().filter(|path| path.ends_with(".parquet")).count();
    assert_eq!(parquet(io.paths()), parquet(before));
}

#[test]
fn messages_whose_append_is_there_without_its_compaction_are_not_committed_again_by_an_overwrite() {
    let (io, fs) = new_table(&["k"], &LEVELS);
    put(&fs, &[(1, 1)]).unwrap();
    let messages = compacted(&fs);
    let refused = || Err(siltstone::Error::new(ErrorKind::Internal, "the process is stopped here").without_effect());
    let meanwhile = Meanwhile::new().before("publish: link", "/snapshot/snapshot-3", refused);
    let (dies, meanwhile) = beside(&io, meanwhile);
    let report = add(&dies, &messages).unwrap();
    assert_eq!((meanwhile.left(), report.snapshots.len()), (0, 1), "the append without its compaction");
    let error = replace_all(&fs, &messages).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CommitConflict, "{error}");
    assert_eq!(newest(&fs), 2);
    check_whole(&fs);
}

#[test]
fn messages_that_an_overwrite_has_committed_compacted_are_not_committed_again_as_they_were_written() {
    let (_, fs) = new_table(&["k"], &LEVELS);
    put(&fs, &[(1, 1)]).unwrap();
    let messages = compacted(&fs);
    replace_all(&fs, &messages).unwrap();
    for expires in [false, true] {
        if expires {
            put(&fs, &[(20, 0)]).unwrap();
            let newest = ExpireArgs { retain_max: Some(1), retain_min: Some(1), ..ExpireArgs::default() };
            table(&fs).expire_snapshots(&newest, false).unwrap();
        }
        let error = add(&fs, &messages).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CommitConflict, "{error}");
        check_whole(&fs);
    }
}

#[test]
fn an_overwrite_of_handed_out_messages_leaves_what_its_compaction_has_replaced_to_orphan_cleaning() {
    let (io, fs) = new_table(&["k"], &LEVELS);
    let messages = compacted(&fs);
    let parquet = || io.paths().into_iter().filter(|path| path.ends_with(".parquet")).count();
    let before = parquet();
    replace_all(&fs, &messages).unwrap();
    assert_eq!(parquet(), before);
    assert_eq!(newest(&fs), 1, "one snapshot of compacted files");
    check_whole(&fs);
}

/// One after the other, the second one was told that it is there already; beside each other, both were acknowledged.
#[test]
fn one_identifier_is_committed_once_though_one_adds_and_another_overwrites() {
    let seventh = |fs: &FileIoRef, messages: Vec<CommitMessage>, overwrites: bool| {
        let committable = Committable { messages, identifier: Some(7), ..Committable::default() };
        let all = OverwriteTarget::Static(BTreeMap::new());
        table(fs).commit_messages(Some("u"), committable, overwrites.then_some(&all)).unwrap()
    };
    for overwrites in [false, true] {
        let (io, fs) = new_table(&[], &[("bucket", "-1")]);
        put(&fs, &[(1, 1)]).unwrap();
        let (ours, theirs) = (prepared(&fs, &[(2, 2)]), prepared(&fs, &[(3, 3)]));
        let others = Arc::clone(&fs);
        let meanwhile = Meanwhile::new().before("publish: link", "/snapshot/snapshot-2", move || {
            assert!(!seventh(&others, theirs, !overwrites).already_committed);
            Ok(())
        });
        let (held_up, meanwhile) = beside(&io, meanwhile);
        let report = seventh(&held_up, ours, overwrites);
        assert_eq!(meanwhile.left(), 0);
        assert!(report.already_committed, "overwrites: {overwrites}");
        let wanted: &[(i32, i64)] = if overwrites { &[(1, 1), (3, 3)] } else { &[(3, 3)] };
        assert_eq!(rows(&fs), wanted, "overwrites: {overwrites}");
        check_whole(&fs);
    }
}
