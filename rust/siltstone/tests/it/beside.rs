//! Two operations that meet: the other one runs from beginning to end before one storage call of the first, whichever it is.
//!
//! After each run the table is as if one had come after the other, and `fsck` finds nothing.

mod cross_partition;
mod dynamic;
mod handed_out;
mod indexes;
mod late;
mod levels;
mod merges;
mod released;
mod rescales;
mod streams;
mod twice;
mod writers;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use siltstone::{
    ErrorKind, Result,
    commit::{Committable, OverwriteTarget},
    fs::{BeforeCall, FaultFileIo, FileIoRef, Meanwhile},
    maintenance::fsck::{Severity, fsck},
    predicate::Condition,
    scan::VersionSelector,
    snapshot::SnapshotManager,
    table::{CommitReport, ExpireArgs, ModifyArgs, Table, VersionArgs},
    wire::CommitMessage,
    write::WriteOptions,
};

use crate::crash::{ROOT, VECTORS, batch, create, create_partitioned, memory_of_moving_keys, open, state};

const BUCKET: (&str, &str) = ("bucket", "1");

fn table(fs: &FileIoRef) -> Table {
    Table::open_with(Arc::clone(fs), ROOT, "main", None, BTreeMap::new()).unwrap()
}

fn put(fs: &FileIoRef, rows: &[(i32, i64)]) -> Result<CommitReport> {
    let quiet = BTreeMap::from([("write-only".to_owned(), "true".to_owned())]);
    let table = Table::open_with(Arc::clone(fs), ROOT, "main", None, quiet)?;
    let mut writer = table.writer(None, WriteOptions { threads: Some(1), ..WriteOptions::default() })?;
    let written = writer.write(&batch(rows), None).and_then(|()| writer.commit(Committable::default()));
    writer.close();
    written
}

fn prepared(fs: &FileIoRef, rows: &[(i32, i64)]) -> Vec<CommitMessage> {
    let mut writer = table(fs).writer(None, WriteOptions { threads: Some(1), ..WriteOptions::default() }).unwrap();
    writer.write(&batch(rows), None).unwrap();
    let messages = writer.prepare_commit().unwrap();
    writer.close();
    table(fs).messages(&messages).unwrap()
}

fn back_to(fs: &FileIoRef, id: i64) {
    let version = VersionArgs { version: Some(VersionSelector::Snapshot(id)), ..VersionArgs::default() };
    table(fs).rollback(&version, false).unwrap();
}

fn newest(fs: &FileIoRef) -> i64 {
    SnapshotManager::new(Arc::clone(fs), ROOT).latest_id().unwrap().unwrap()
}

fn new_table(key: &[&str], options: &[(&str, &str)]) -> (FaultFileIo, FileIoRef) {
    let io = FaultFileIo::new();
    let fs: FileIoRef = Arc::new(io.clone());
    create(&fs, ROOT, key, options);
    (io, fs)
}

fn rows(fs: &FileIoRef) -> Vec<(i32, i64)> {
    state(fs, ROOT).0
}

/// `first` with `second` before each of its calls; `check` looks at what came of each. Returns how many there were.
fn before_each_call<T>(
    base: &FaultFileIo,
    first: impl Fn(&FileIoRef) -> T,
    second: impl Fn(&FileIoRef) + Send + Sync + Clone + 'static,
    check: impl Fn(u64, &FileIoRef, T),
) -> u64 {
    for call in 0.. {
        let io = base.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let (others, second) = (Arc::clone(&fs), second.clone());
        let then = move || {
            second(&others);
            Ok(())
        };
        let meanwhile = Arc::new(Meanwhile::new().before_call(call, then));
        let behind: FileIoRef = Arc::new(io.behind(Arc::clone(&meanwhile) as Arc<dyn BeforeCall>));
        let end = first(&behind);
        if meanwhile.left() > 0 {
            return call;
        }
        check(call, &fs, end);
        let verdict = fsck(&open(&fs, ROOT), true, 0).unwrap();
        let problems: Vec<_> = verdict.findings.iter().filter(|f| f.severity == Severity::Problem).collect();
        assert!(problems.is_empty(), "call {call}: {problems:#?}");
    }
    unreachable!("there are not so many calls")
}

/// Rows may be too many to be kept for another try: then the caller has them. `base`: a table of three rows whose keys have places.
fn check_rows_that_are_not_kept(base: &FaultFileIo) {
    let ours = |fs: &FileIoRef| {
        let options = WriteOptions { threads: Some(1), memory_limit: Some(1), ..WriteOptions::default() };
        let mut writer = table(fs).writer(None, options)?;
        let written = writer.write(&batch(&[(10, 1), (11, 1)]), None);
        let done = written.and_then(|()| writer.commit(Committable::default()));
        writer.close();
        done
    };
    let others = |fs: &FileIoRef| drop(put(fs, &[(12, 2), (11, 2), (10, 2)]).unwrap());
    let refused = std::cell::Cell::new(0);
    before_each_call(base, ours, others, |call, fs, end| {
        if let Err(error) = end {
            assert_eq!(error.kind(), ErrorKind::CommitConflict, "call {call}: {error}");
            refused.set(refused.get() + 1);
        }
        assert_eq!(rows(fs).len(), 6, "call {call}");
    });
    assert!(refused.get() > 5, "{}", refused.get());
}

/// An update wrote whole rows of the version that it had read over what others had committed since.
#[test]
fn a_statement_does_not_write_over_what_others_commit_meanwhile() {
    for options in [&[BUCKET][..], &[BUCKET, VECTORS], &[BUCKET, ("changelog-producer", "lookup")]] {
        let (io, fs) = new_table(&["k"], options);
        table(&fs).writer(None, WriteOptions::default()).unwrap().close();
        put(&fs, &[(1, 1), (2, 2)]).unwrap();
        let set = BTreeMap::from([("v".to_owned(), "v + 1".to_owned())]);
        let change = ModifyArgs { filter: Some(Condition::Sql("k = 1".to_owned())), set, threads: Some(1) };
        let update = |fs: &FileIoRef| table(fs).modify(&change);
        let others = |fs: &FileIoRef| {
            put(fs, &[(1, 50)]).unwrap();
        };
        let calls = before_each_call(&io, update, others, |call, fs, end| {
            let report = end.unwrap_or_else(|error| panic!("{options:?}, call {call}: {error}"));
            crate::crash::compact(&open(fs, ROOT), 9_000).unwrap();
            let found = rows(fs);
            // whoever came last: the statement is the first of the two only where its snapshot is
            let first = report.snapshots.first().is_some_and(|own| own.id == 2);
            let expected = if first { 50 } else { 51 };
            assert_eq!(found, [(1, expected), (2, 2)], "{options:?}, call {call}");
        });
        assert!(calls > 10, "{calls}");
    }
}

/// The search for a commit ended at the first snapshot that the rollback had deleted, and an abort deleted live files.
#[test]
fn an_abort_beside_a_rollback_leaves_the_files_of_the_version_that_is_gone_back_to() {
    let (io, fs) = new_table(&[], &[("bucket", "-1"), ("siltstone.upkeep-lock-timeout", "0 s")]);
    put(&fs, &[(1, 1)]).unwrap();
    let messages = prepared(&fs, &[(2, 2)]);
    table(&fs)
        .commit_messages(None, Committable { messages: messages.clone(), ..Committable::default() }, None)
        .unwrap();
    put(&fs, &[(3, 3)]).unwrap();
    table(&fs).truncate(None, false).unwrap();
    put(&fs, &[(4, 4)]).unwrap();
    let abort = |fs: &FileIoRef| table(fs).committer(None).abort(&messages);
    let calls = before_each_call(
        &io,
        abort,
        |fs| {
            let version = VersionArgs { version: Some(VersionSelector::Snapshot(3)), ..VersionArgs::default() };
            // while the abort looks and deletes, no version goes
            if let Err(error) = table(fs).rollback(&version, false) {
                assert_eq!(error.kind(), ErrorKind::UpkeepRunning, "{error}");
            }
        },
        |call, fs, end| {
            end.unwrap_or_else(|error| panic!("call {call}: {error}"));
            if newest(fs) > 3 {
                back_to(fs, 3);
            }
            assert_eq!(rows(fs), [(1, 1), (2, 2), (3, 3)], "call {call}");
        },
    );
    assert!(calls > 5, "{calls}");
}

/// As an abort, a job that was started again did not find its commit.
#[test]
fn a_repeated_identifier_beside_a_rollback_is_found() {
    let (io, fs) = new_table(&[], &[("bucket", "-1")]);
    put(&fs, &[(1, 1)]).unwrap();
    let again = |fs: &FileIoRef| {
        let messages = prepared(fs, &[(2, 2)]);
        table(fs).commit_messages(
            Some("nightly"),
            Committable { identifier: Some(42), messages, ..Committable::default() },
            None,
        )
    };
    again(&fs).unwrap();
    for n in 3..7 {
        put(&fs, &[(n, 0)]).unwrap();
    }
    let calls = before_each_call(
        &io,
        again,
        |fs| back_to(fs, 3),
        |call, fs, end| {
            let report = end.unwrap_or_else(|error| panic!("call {call}: {error}"));
            assert!(report.already_committed, "call {call}");
            assert_eq!(rows(fs), [(1, 1), (2, 2), (3, 0)], "call {call}");
        },
    );
    assert!(calls > 5, "{calls}");
}

/// Messages were looked for only when they added to the table: an overwrite was done twice, and named files that had expired.
#[test]
fn messages_that_replace_what_is_there_are_committed_once() {
    let (io, fs) = new_table(&["k"], &[BUCKET]);
    put(&fs, &[(1, 1)]).unwrap();
    let messages = {
        let options = WriteOptions { ignore_previous_files: true, threads: Some(1), ..WriteOptions::default() };
        let mut writer = table(&fs).writer(None, options).unwrap();
        writer.write(&batch(&[(2, 2)]), None).unwrap();
        let messages = writer.prepare_commit().unwrap();
        writer.close();
        table(&fs).messages(&messages).unwrap()
    };
    let overwrite = move |fs: &FileIoRef| {
        let committable = Committable { messages: messages.clone(), ..Committable::default() };
        table(fs).commit_messages(None, committable, Some(&OverwriteTarget::Static(BTreeMap::new())))
    };
    let again = overwrite.clone();
    let others = move |fs: &FileIoRef| {
        // where the first one was faster, it is the second
        let _ = again(fs);
        table(fs).truncate(None, false).unwrap();
        put(fs, &[(4, 4)]).unwrap();
        let newest = ExpireArgs { retain_max: Some(1), retain_min: Some(1), ..ExpireArgs::default() };
        table(fs).expire_snapshots(&newest, false).unwrap();
    };
    let calls = before_each_call(&io, overwrite, others, |call, fs, end| {
        match end {
            Err(error) => assert_eq!(error.kind(), ErrorKind::CommitConflict, "call {call}: {error}"),
            Ok(report) => assert_eq!(report.snapshots.first().map(|own| own.id), Some(2), "call {call}"),
        }
        assert_eq!(rows(fs), [(4, 4)], "call {call}");
    });
    assert!(calls > 10, "{calls}");
}

/// A name that another writer publishes while the snapshots are listed may be missing in the listing: it was taken for a hole,
/// and what was committed on it for a stray.
#[test]
fn a_rollback_leaves_what_is_committed_while_it_lists_the_snapshots() {
    let (io, fs) = new_table(&[], &[("bucket", "-1"), ("commit.max-retries", "1")]);
    for n in 1..4 {
        put(&fs, &[(n, 0)]).unwrap();
    }
    let reported: Arc<Mutex<Vec<(i32, i64)>>> = Arc::default();
    let done = Arc::clone(&reported);
    let others = move |fs: &FileIoRef| {
        let mut done = done.lock().unwrap();
        done.clear();
        for n in [11, 12] {
            match put(fs, &[(n, 0)]) {
                // one that was there before the rollback is taken back
                Ok(report) if report.snapshots[0].id <= 2 + i64::try_from(done.len()).unwrap() + 1 => done.push((n, 0)),
                Ok(_) => {}
                Err(error) => assert_eq!(error.kind(), ErrorKind::CommitRetriesExhausted, "{error}"),
            }
        }
    };
    let calls = before_each_call(
        &io,
        |fs| back_to(fs, 2),
        others,
        |call, fs, ()| {
            let expected = [&[(1, 0), (2, 0)][..], &reported.lock().unwrap()].concat();
            assert_eq!(rows(fs), expected, "call {call}");
        },
    );
    assert!(calls > 5, "{calls}");
}
