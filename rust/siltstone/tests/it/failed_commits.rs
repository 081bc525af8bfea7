//! Writers whose commit fails at any one of its storage calls, with or without the call's effect: the same commit may be tried
//! again, and nothing else is done before its rows are given up. A second commit once reported success for rows that were nowhere,
//! and its empty snapshot used their identifier up.

use std::{collections::BTreeMap, sync::Arc};

use siltstone::{
    ErrorKind, Result,
    commit::Committable,
    compact::{CompactRequest, TaskResources, plan_compaction, run_task},
    fs::{FailWhen, FaultFileIo},
    scan::ScanRequest,
    schema::NewTable,
    table::{Catalog, CommitReport, Table, TableWriter},
    types::{DataField, DataType, TypeKind},
    write::WriteOptions,
};

use crate::crash::batch;

fn made(keyed: bool) -> FaultFileIo {
    let io = FaultFileIo::new();
    let catalog = Catalog::new(Arc::new(io.clone()), "/lake", BTreeMap::new()).unwrap();
    catalog.create_database("db", false).unwrap();
    let keyed_by = if keyed { vec!["k".to_owned()] } else { Vec::new() };
    let options = [("bucket", if keyed { "1" } else { "-1" }), ("commit.max-retries", "2")];
    let definition = NewTable {
        fields: vec![
            DataField::new(0, "k", DataType::new(TypeKind::Int)),
            DataField::new(1, "v", DataType::new(TypeKind::BigInt)),
        ],
        primary_key: keyed_by,
        options: options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        ..NewTable::default()
    };
    catalog.create_table("db.t", definition, false).unwrap();
    io
}

fn opened(io: &FaultFileIo) -> Table {
    Table::open_with(Arc::new(io.clone()), "/lake/db.db/t", "main", None, BTreeMap::new()).unwrap()
}

fn writer(io: &FaultFileIo) -> TableWriter {
    let mut writer =
        opened(io).writer(Some("job"), WriteOptions { threads: Some(1), ..WriteOptions::default() }).unwrap();
    writer.write(&batch(&[(1, 10), (2, 20)]), None).unwrap();
    writer
}

fn commit(writer: &mut TableWriter, identifier: Option<i64>) -> Result<CommitReport> {
    writer.commit(Committable { identifier, allow_empty: true, ..Committable::default() })
}

fn rows(io: &FaultFileIo) -> u64 {
    let (table, args) = (opened(io), ScanRequest::default());
    table.count(&args, &table.plan(&args).unwrap()).unwrap()
}

/// One run whose commit fails after `n` calls; `false` when it had no more of them.
fn fails_after(n: u64, when: FailWhen, keyed: bool, identifier: Option<i64>) -> bool {
    let io = made(keyed);
    let mut writer = writer(&io);
    io.fail_after(n, when);
    let first = commit(&mut writer, identifier);
    io.heal();
    if first.is_ok() {
        assert_eq!(rows(&io), 2);
        return false;
    }
    let other = identifier.map_or(Some(9), |identifier| Some(identifier + 1));
    if commit(&mut writer, other).is_ok() {
        // the first one did not come so far that it took the rows
        assert_eq!(rows(&io), 2, "call {n}");
        return true;
    }
    assert!(writer.write(&batch(&[(3, 30)]), None).is_err() && writer.prepare_commit().is_err());
    match commit(&mut writer, identifier) {
        Ok(_) => {
            assert_eq!(rows(&io), 2, "call {n}");
            writer.write(&batch(&[(3, 30)]), None).unwrap();
            commit(&mut writer, other).unwrap();
            assert_eq!(rows(&io), 3, "call {n}");
        }
        // its files were not written
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "call {n}: {error}");
            assert_eq!(rows(&io), 0, "call {n}");
            writer.discard().unwrap();
        }
    }
    writer.close();
    true
}

#[test]
fn a_commit_that_failed_publishes_its_rows_when_it_is_called_again() {
    for keyed in [false, true] {
        for identifier in [None, Some(7)] {
            for when in [FailWhen::Before, FailWhen::After] {
                let calls = (0..10_000).take_while(|n| fails_after(*n, when, keyed, identifier)).count();
                assert!(calls > 10, "{calls}");
            }
        }
    }
}

#[test]
fn rows_of_a_failed_commit_are_given_up_by_discard() {
    let mut published = Vec::new();
    for n in 10..40 {
        let io = made(true);
        let mut writer = writer(&io);
        io.fail_after(n, FailWhen::Before);
        commit(&mut writer, Some(7)).unwrap_err();
        io.heal();
        assert!(writer.keep().is_err());
        writer.discard().unwrap();
        let before = rows(&io);
        published.push(before > 0);
        writer.write(&batch(&[(3, 30)]), None).unwrap();
        commit(&mut writer, Some(8)).unwrap();
        assert_eq!(rows(&io), before + 1);
    }
    assert!(published.contains(&true) && published.contains(&false), "{published:?}");
}

/// It was a note of a report without a snapshot, which a job that looks for errors never saw.
#[test]
fn a_compaction_alone_whose_commit_fails_is_an_error() {
    for n in 0..10_000 {
        let io = made(true);
        for _ in 0..2 {
            commit(&mut writer(&io), None).unwrap();
        }
        let table = opened(&io);
        let plan =
            plan_compaction(table.context(), &CompactRequest { full: true, ..CompactRequest::default() }).unwrap();
        let run = |task| run_task(table.context(), task, &TaskResources::default()).unwrap();
        let messages = plan.tasks.iter().map(run).collect();
        io.fail_after(n, FailWhen::Before);
        let end = table.committer(None).commit(Committable { messages, ..Committable::default() });
        io.heal();
        if let Ok(end) = end {
            assert_eq!(end.snapshots.len(), 1, "after {n} calls");
            assert!(n > 5, "{n}");
            return;
        }
        assert_eq!(rows(&io), 2, "after {n} calls");
    }
}
