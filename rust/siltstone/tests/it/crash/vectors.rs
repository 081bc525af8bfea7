//! Rows and the marks of deleted rows come and go together.

use std::sync::Arc;

use siltstone::{
    Result,
    commit::{CommitOutcome, CompactionOutcome, OverwriteTarget},
    dml::{Assignment, Modification, modify_files},
    fs::{FaultFileIo, FileIoRef},
    io::TableContext,
    predicate::parse_predicate,
    scan::PartitionSpec,
    write::{TableWrite, WriteOptions},
};

use super::{
    ROOT, Scenario, append, batch, committer, compact, die_at_each_call, memory, once, open, overwrite, state,
};
pub(crate) const VECTORS: (&str, &str) = ("deletion-vectors.enabled", "true");

/// Rows 1 to 6, of which some are deleted by vectors.
fn with_vectors(key: &[&str]) -> FaultFileIo {
    let options = if key.is_empty() { vec![VECTORS] } else { vec![VECTORS, ("bucket", "1")] };
    let (io, fs) = memory(key, &options);
    let rows: Vec<(i32, i64)> = (1..=6).map(|k| (k, 0)).collect();
    append(&open(&fs, ROOT), 0, &rows).unwrap();
    append(&open(&fs, ROOT), 1, &[(10, 0)]).unwrap();
    compact(&open(&fs, ROOT), 2).unwrap();
    if key.is_empty() {
        delete(&open(&fs, ROOT), 3, "k = 1").unwrap();
    } else {
        append(&open(&fs, ROOT), 3, &[(1, 1)]).unwrap();
    }
    io
}

/// Deletes rows of an append table.
pub(crate) fn delete(ctx: &TableContext, identifier: i64, condition: &str) -> Result<CommitOutcome> {
    modify(ctx, identifier, condition, None)
}

/// Deletes rows of an append table, or gives them another value.
fn modify(ctx: &TableContext, identifier: i64, condition: &str, value: Option<&str>) -> Result<CommitOutcome> {
    let filter = parse_predicate(condition, &ctx.schema.fields)?;
    let set = value.map(|text| Assignment::parse(&ctx.schema.fields, "v", text)).transpose()?;
    let change = Modification { filter, set: set.into_iter().collect(), threads: 1 };
    committer(ctx).commit(once(identifier, modify_files(ctx, &change)?.messages))
}

const BUCKETS: [(&str, &str); 2] = [("bucket", "1"), ("bucket-key", "k")];

/// An append table without and with vectors, without and with buckets; a row of it is deleted already.
fn append_tables() -> [Vec<(&'static str, &'static str)>; 4] {
    [vec![], vec![VECTORS], BUCKETS.to_vec(), [&BUCKETS[..], &[VECTORS]].concat()]
}

#[test]
fn rows_of_append_tables_are_deleted_or_updated_or_not_at_all() {
    for options in append_tables() {
        for value in [None, Some("v + 40")] {
            let table = {
                let (io, fs) = memory(&[], &options);
                append(&open(&fs, ROOT), 0, &[(1, 1), (2, 2), (3, 3)]).unwrap();
                append(&open(&fs, ROOT), 1, &[(10, 4), (11, 5)]).unwrap();
                delete(&open(&fs, ROOT), 2, "k = 1").unwrap();
                io
            };
            let operation = |ctx: &TableContext| modify(ctx, 7, "k = 2 OR k = 10", value);
            let calls = Scenario { table: &table, operation: &operation }.check();
            assert!(calls > 15, "{options:?}: {calls}");
        }
    }
}

#[test]
fn overwriting_a_table_takes_its_vectors_with_it_or_not() {
    let table = with_vectors(&[]);
    let operation = |ctx: &TableContext| overwrite(ctx, 7, &[(1, 9)]);
    Scenario { table: &table, operation: &operation }.check();
}

type Overwrite<'a> = &'a dyn Fn(&TableContext) -> Result<CommitOutcome>;

/// Overwrites with what two flushes of one writer bring: the second one's compaction merges both, or marks rows of the
/// first.
fn overwrite_twice(ctx: &TableContext, identifier: i64) -> Result<CommitOutcome> {
    let options = WriteOptions { threads: Some(1), ignore_previous_files: true, ..WriteOptions::default() };
    let mut writer = TableWrite::new(ctx, options)?;
    let mut messages = Vec::new();
    for rows in [&[(1, 8), (2, 8), (3, 8), (4, 8), (5, 8), (6, 8), (7, 8), (8, 8)][..], &[(2, 9), (9, 9)]] {
        writer.write(&batch(rows), None)?;
        messages.extend(writer.prepare_commit()?);
    }
    committer(ctx).overwrite(&OverwriteTarget::Static(PartitionSpec::new()), once(identifier, messages))
}

/// Between an OVERWRITE snapshot of files in level 0 and the COMPACT snapshot that moves them up, readers which leave level
/// 0 out found an empty table; for good, when the process died there. Both are one snapshot.
#[test]
fn an_overwrite_never_leaves_a_table_empty_whose_readers_leave_level_0_out() {
    let vectors_64 = [VECTORS, ("deletion-vectors.bitmap64", "true")];
    let partial_update = [VECTORS, ("merge-engine", "partial-update")];
    let lookup = [VECTORS, ("changelog-producer", "lookup")];
    let first_row = [("merge-engine", "first-row")];
    let merge_on_read = [VECTORS, ("deletion-vectors.merge-on-read", "true")];
    let tables: [Options<'_>; 6] = [&[VECTORS], &vectors_64, &partial_update, &lookup, &first_row, &merge_on_read];
    for options in tables {
        let table = written_twice(options);
        let once = |ctx: &TableContext| overwrite(ctx, 7, &[(1, 9)]);
        let twice = |ctx: &TableContext| overwrite_twice(ctx, 7);
        let operations: [(Overwrite<'_>, usize); 2] = [(&twice, 9), (&once, 1)];
        // one flush is the same on every table
        let tried = if options == [VECTORS] { 2 } else { 1 };
        for (operation, rows) in operations.into_iter().take(tried) {
            let io = table.fork();
            let fs: FileIoRef = Arc::new(io.clone());
            let data_files = || io.paths().iter().filter(|path| path.contains("/bucket-0/data-")).count();
            let before = data_files();
            let outcome = operation(&open(&fs, ROOT)).unwrap();
            assert_eq!(outcome.snapshots.len(), 1, "{options:?}");
            assert!(matches!(outcome.compaction, CompactionOutcome::Committed), "{options:?}");
            let (found, levels) = state(&fs, ROOT);
            assert_eq!(found.len(), rows, "{options:?}");
            assert!(levels.iter().all(|level| *level > 0), "{options:?}: {levels:?}");
            assert_eq!(data_files(), before + levels.len(), "what was compacted away is gone");
            Scenario { table: &table, operation }.check();
        }
    }
}

#[test]
fn a_compaction_drops_rows_together_with_their_vectors_or_not() {
    for key in [&[][..], &["k"]] {
        let table = {
            let io = with_vectors(key);
            let fs: FileIoRef = Arc::new(io.clone());
            // a file with a vector is compacted by itself, the others together
            append(&open(&fs, ROOT), 4, &[(11, 0)]).unwrap();
            append(&open(&fs, ROOT), 5, &[(12, 0)]).unwrap();
            io
        };
        let operation = |ctx: &TableContext| compact(ctx, 7);
        Scenario { table: &table, operation: &operation }.check();
    }
}

type Options<'a> = &'a [(&'a str, &'a str)];
type Rows = Vec<(i32, i64)>;

/// Rows 1 to 6 and 10 of a table with these options, compacted, and row 1 written once more.
fn written_twice(options: &[(&str, &str)]) -> FaultFileIo {
    let (io, fs) = memory(&["k"], &[options, &[("bucket", "1")]].concat());
    let rows: Vec<(i32, i64)> = (1..=6).map(|k| (k, 0)).collect();
    append(&open(&fs, ROOT), 0, &rows).unwrap();
    append(&open(&fs, ROOT), 1, &[(10, 0)]).unwrap();
    compact(&open(&fs, ROOT), 2).unwrap();
    append(&open(&fs, ROOT), 3, &[(1, 1)]).unwrap();
    io
}

#[test]
fn new_rows_and_the_marks_of_old_ones_come_together() {
    let last = vec![(1, 7), (2, 7), (3, 0), (4, 0), (5, 0), (6, 0), (9, 7), (10, 0)];
    let first = vec![(1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (9, 7), (10, 0)];
    let sum = vec![(1, 8), (2, 7), (3, 0), (4, 0), (5, 0), (6, 0), (9, 7), (10, 0)];
    let aggregation = ("merge-engine", "aggregation");
    let tables: [(Options<'_>, &Rows); 6] = [
        (&[VECTORS], &last),
        (&[VECTORS, ("deletion-vectors.bitmap64", "true")], &last),
        (&[VECTORS, ("changelog-producer", "lookup")], &last),
        (&[VECTORS, ("merge-engine", "partial-update")], &last),
        (&[VECTORS, aggregation, ("fields.v.aggregate-function", "sum")], &sum),
        (&[("merge-engine", "first-row"), ("changelog-producer", "lookup")], &first),
    ];
    for (options, wanted) in tables {
        let table = written_twice(options);
        let old = state(&(Arc::new(table.fork()) as FileIoRef), ROOT).0;
        let rows = [(1, 7), (2, 7), (9, 7)];
        let calls = die_at_each_call(&table, &|ctx| append(ctx, 7, &rows), |death| {
            for power in [false, true].into_iter().filter(|_| death.differs) {
                let io = death.io.fork();
                let fs: FileIoRef = Arc::new(io.clone());
                if power {
                    io.crash();
                }
                let now = state(&fs, ROOT).0;
                assert!(now == old || now == *wanted, "{options:?} {power}: {now:?} {death}");
                append(&open(&fs, ROOT), 7, &rows).unwrap();
                // the rows may be there without the compaction that shows them
                compact(&open(&fs, ROOT), 8).unwrap();
                assert_eq!(state(&fs, ROOT).0, *wanted, "{options:?} {power}: {death}");
            }
        });
        assert!(calls > 30, "{calls}");
    }
}
