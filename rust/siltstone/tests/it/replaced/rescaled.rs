//! The number of buckets of a table or partition changes (an option, then an overwrite) while a writer is open.

use std::collections::BTreeMap;

use arrow_array::{ArrayRef, Int32Array, Int64Array};
use siltstone::{
    commit::{CompactionOutcome, OverwriteTarget},
    compact::{CompactRequest, TaskResources, plan_compaction, run_task},
    maintenance::automatic::Committer,
    scan::{EntryFilter, PartitionSpec, live_entries},
    table::{ModifyArgs, TableWriter},
};

use super::*;

/// A bucket is named by the partition, if there is one.
const PLACES: [bool; 2] = [false, true];

fn columns(rows: &[(i32, i32)]) -> RecordBatch {
    let columns: [(&str, ArrayRef); 3] = [
        ("p", Arc::new(rows.iter().map(|row| Some(row.0)).collect::<Int32Array>())),
        ("k", Arc::new(rows.iter().map(|row| Some(row.1)).collect::<Int32Array>())),
        ("v", Arc::new(rows.iter().map(|row| Some(i64::from(row.1) * 10)).collect::<Int64Array>())),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// A table of one bucket with rows 1 to 4 in each of two partitions; without a key the bucket is named by `k`.
fn scaled(keyed: bool, partitioned: bool, options: Options) -> FaultFileIo {
    let io = FaultFileIo::new();
    catalog(&io).create_database("db", false).unwrap();
    let text = |v: &&str| (*v).to_owned();
    let mut new = definition((&[], options));
    new.fields = vec![
        DataField::new(0, "p", DataType::not_null(TypeKind::Int)),
        DataField::new(1, "k", DataType::not_null(TypeKind::Int)),
        DataField::new(2, "v", DataType::new(TypeKind::BigInt)),
    ];
    new.partition_by = if partitioned { vec![text(&"p")] } else { Vec::new() };
    new.primary_key = if keyed { ["p", "k"].iter().map(text).collect() } else { Vec::new() };
    new.options.insert("bucket".to_owned(), "1".to_owned());
    if !keyed {
        new.options.insert("bucket-key".to_owned(), "k".to_owned());
    }
    catalog(&io).create_table("db.t", new, false).unwrap();
    for k in 1..=4 {
        let mut writer = writer(&main_of(&io), false);
        writer.write(&columns(&[(1, k), (2, k)]), None).unwrap();
        writer.commit(Committable::default()).unwrap();
    }
    io
}

fn writer(table: &Table, replaces: bool) -> TableWriter {
    let options = WriteOptions { threads: Some(1), ignore_previous_files: replaces, ..WriteOptions::default() };
    table.writer(None, options).unwrap()
}

/// Partition 1, or the whole table, gets two buckets.
fn rescale(io: &FaultFileIo, partitioned: bool) {
    let mut table = main_of(io);
    table.alter(r#"[{"kind": "set_option", "key": "bucket", "value": "2"}]"#).unwrap();
    let target =
        if partitioned { PartitionSpec::from([("p".to_owned(), Some("1".to_owned()))]) } else { PartitionSpec::new() };
    let others: &[(i32, i32)] = if partitioned { &[] } else { &[(2, 1), (2, 2), (2, 3), (2, 4)] };
    let rows = [&[(1, 1), (1, 2), (1, 3), (1, 4)], others].concat();
    table.overwrite([Ok(columns(&rows))].into_iter(), &OverwriteTarget::Static(target)).unwrap();
}

/// Partition and key of all rows.
fn keys(io: &FaultFileIo) -> Vec<(i32, i32)> {
    let plan = plan(main_of(io).context(), &ScanRequest::default()).unwrap();
    let batches = read_splits(&plan.ctx, &plan.splits, &plan.read, 1).unwrap().map(Result::unwrap);
    let mut keys: Vec<(i32, i32)> = Vec::new();
    for batch in batches {
        let [p, k] = [0, 1].map(|at| batch.column(at).as_primitive::<types::Int32Type>().clone());
        keys.extend((0..batch.num_rows()).map(|i| (p.value(i), k.value(i))));
    }
    keys.sort_unstable();
    keys
}

const BEFORE: [(i32, i32); 8] = [(1, 1), (1, 2), (1, 3), (1, 4), (2, 1), (2, 2), (2, 3), (2, 4)];

/// All files of a partition have one number of buckets: two where it was rescaled.
fn check_counts(io: &FaultFileIo, partitioned: bool, what: &str) {
    let table = main_of(io);
    let ctx = table.context();
    let latest = SnapshotManager::new(Arc::new(io.clone()), HOME).latest().unwrap().unwrap();
    for entry in live_entries(ctx, &latest, &EntryFilter::default()).unwrap() {
        let path = ctx.paths.partition_path(&entry.partition).unwrap();
        let rescaled = !partitioned || path.contains("p=1");
        assert_eq!(entry.total_buckets, if rescaled { 2 } else { 1 }, "{what}: {path}");
    }
    check_whole(io, what);
}

const WRITE_ONLY: Options = &[("write-only", "true")];
const LOOKUP: Options = &[("changelog-producer", "lookup")];

#[test]
fn a_writer_that_was_opened_before_a_rescale_puts_no_rows_into_buckets_of_the_old_number() {
    for partitioned in PLACES {
        for (keyed, options) in
            [(true, &[] as Options), (true, LOOKUP), (true, WRITE_ONLY), (false, &[]), (false, WRITE_ONLY)]
        {
            let io = scaled(keyed, partitioned, options);
            let what = format!("partitioned {partitioned}, keyed {keyed}, {options:?}");
            let old = main_of(&io);
            let mut open_writer = writer(&old, false);
            open_writer.write(&columns(&[(1, 50)]), None).unwrap();
            rescale(&io, partitioned);
            let before = io.paths().into_iter().filter(|path| path.ends_with(".parquet")).count();
            let error = open_writer.commit(Committable::default()).expect_err(&what);
            assert_eq!(error.kind(), ErrorKind::CommitConflict, "{what}: {error}");
            assert!(error.message().contains("new bucket num 1, but the previous bucket num is 2"), "{what}: {error}");
            let after = io.paths().into_iter().filter(|path| path.ends_with(".parquet")).count();
            assert!(after <= before, "{what}: files of the writer are left");
            // one that begins anew with the old handle is no better
            let mut again = writer(&old, false);
            let written = again.write(&columns(&[(1, 50)]), None).and_then(|()| again.commit(Committable::default()));
            assert_eq!(written.expect_err(&what).kind(), ErrorKind::CommitConflict, "{what}");
            again.close();
            assert_eq!(keys(&io), BEFORE, "{what}");
            check_counts(&io, partitioned, &what);
        }
    }
}

#[test]
fn partitions_that_were_not_rescaled_take_the_rows_of_the_old_writer() {
    for options in [&[] as Options, WRITE_ONLY] {
        let io = scaled(true, true, options);
        let mut open_writer = writer(&main_of(&io), false);
        open_writer.write(&columns(&[(2, 50)]), None).unwrap();
        rescale(&io, true);
        open_writer.commit(Committable::default()).unwrap();
        assert_eq!(keys(&io), [&BEFORE[..], &[(2, 50)]].concat(), "{options:?}");
        check_counts(&io, true, "the other partitions");
    }
}

/// It got the number that the writer knew, and others were refused there.
#[test]
fn a_partition_without_files_takes_none_of_a_writer_that_knows_an_older_number() {
    for partition in [1, 3] {
        let io = scaled(true, true, &[]);
        let mut open_writer = writer(&main_of(&io), false);
        open_writer.write(&columns(&[(2, 50), (partition, 50)]), None).unwrap();
        rescale(&io, true);
        let spec = PartitionSpec::from([("p".to_owned(), Some("1".to_owned()))]);
        main_of(&io).truncate(Some(&[spec]), false).unwrap();
        let error = open_writer.commit(Committable::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CommitConflict, "{error}");
        assert_eq!(error.context_value("partition"), Some(format!("p={partition}").as_str()), "{error}");
        let mut again = writer(&main_of(&io), false);
        again.write(&columns(&[(partition, 50)]), None).and_then(|()| again.commit(Committable::default())).unwrap();
        let mut expected = [&[(2, 1), (2, 2), (2, 3), (2, 4)][..], &[(partition, 50)]].concat();
        expected.sort_unstable();
        assert_eq!(keys(&io), expected);
        check_whole(&io, "emptied");
    }
}

#[test]
fn a_compaction_that_was_planned_before_a_rescale_is_dropped() {
    for partitioned in PLACES {
        for keyed in [true, false] {
            let io = scaled(keyed, partitioned, WRITE_ONLY);
            let what = format!("partitioned {partitioned}, keyed {keyed}");
            let old = main_of(&io);
            let ctx = old.context();
            let planned = plan_compaction(ctx, &CompactRequest { full: true, ..CompactRequest::default() }).unwrap();
            let resources = TaskResources { threads: Some(1), ..TaskResources::default() };
            let mut messages: Vec<_> =
                planned.tasks.iter().map(|task| run_task(ctx, task, &resources).unwrap()).collect();
            messages.retain(|message| {
                !partitioned || ctx.paths.partition_path(&message.bucket.partition).unwrap().contains("p=1")
            });
            assert!(!messages.is_empty(), "{what}");
            rescale(&io, partitioned);
            let committable = Committable { messages, ..Committable::default() };
            let outcome = Committer::with_new_user(ctx).commit(committable).unwrap();
            let CompactionOutcome::Dropped(error) = outcome.compaction else {
                panic!("{what}: {:?}", outcome.compaction)
            };
            assert_eq!(error.kind(), ErrorKind::CommitConflict, "{what}: {error}");
            assert_eq!(keys(&io), BEFORE, "{what}");
            check_counts(&io, partitioned, &what);
        }
    }
}

/// An UPDATE takes files away and adds others, beside those that stay.
#[test]
fn a_statement_does_not_mix_numbers_of_buckets_either() {
    let io = scaled(false, false, &[]);
    let mut table = main_of(&io);
    table.alter(r#"[{"kind": "set_option", "key": "bucket", "value": "2"}]"#).unwrap();
    let set = BTreeMap::from([("v".to_owned(), "7".to_owned())]);
    let change = ModifyArgs { filter: Some(Condition::Sql("k = 2".to_owned())), set, threads: Some(1) };
    let error = table.modify(&change).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CommitConflict, "{error}");
    assert!(error.message().contains("new bucket num 2, but the previous bucket num is 1"), "{error}");
    assert_eq!(keys(&io), BEFORE);
    check_whole(&io, "update");
}

/// What the check costs does not grow with the table: one manifest, the newest.
#[test]
fn the_number_of_buckets_is_compared_with_one_manifest_whatever_the_table_has() {
    let calls = |commits: i32| {
        let io = scaled(true, true, WRITE_ONLY);
        for k in 0..commits {
            let mut writer = writer(&main_of(&io), false);
            writer.write(&columns(&[(1, 100 + k)]), None).unwrap();
            writer.commit(Committable::default()).unwrap();
        }
        let mut writer = writer(&main_of(&io), false);
        writer.write(&columns(&[(1, 99)]), None).unwrap();
        let before = io.trace().len();
        writer.commit(Committable::default()).unwrap();
        let trace = io.trace().split_off(before);
        let read = |call: &&String| call.contains(" read ") && call.contains("/manifest/manifest-");
        trace.iter().filter(read).filter(|call| !call.contains("/manifest-list-")).count()
    };
    assert_eq!((calls(1), calls(12)), (1, 1));
}
