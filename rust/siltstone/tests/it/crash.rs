//! Writers that die at every storage call, power losses, lost answers; [`buckets`]: rows that get other buckets; [`handed_out`]: messages for
//! another process; [`vectors`]: where rows are marked as deleted;
//! [`races`]: writers that race.
//!
//! Each operation (write and commit, overwrite, compaction) is run once for every storage call it makes, which fails
//! before or after its effect, as does every call after it. Then the process dies, or the power goes too: what was
//! not synced is gone, or only the names have survived. The table must be as before the operation or as after it,
//! every live file must be readable, and a new process that does the same again under the same identifier must end
//! with the operation done exactly once.

use std::{collections::BTreeMap, fmt, sync::Arc};

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, cast::AsArray, types};
use siltstone::{
    Result,
    commit::{CommitOutcome, Committable, CompactionOutcome, OverwriteTarget, invariants},
    compact::{CompactRequest, TaskResources, plan_compaction, run_task},
    env::ManualClock,
    fs::{FailWhen, FaultFileIo, FileIoRef},
    io::{FileReadSpec, TableContext, read_data_file},
    maintenance::automatic::Committer,
    manifest::ManifestStore,
    read::read_splits,
    scan::{EntryFilter, PartitionSpec, ScanRequest, live_entries, plan},
    schema::{NewTable, SchemaManager},
    snapshot::SnapshotManager,
    table::Table,
    types::{DataField, DataType, TypeKind},
    wire::CommitMessage,
    write::{TableWrite, WriteOptions},
};

mod buckets;
mod handed_out;
mod races;
mod vectors;

pub(crate) use vectors::{VECTORS, delete};

pub(crate) const ROOT: &str = "/lake/db.db/t";
const JOB: &str = "job";

/// A fourth of the time of tests with small tables went into contexts of zstd.
pub(crate) const UNCOMPRESSED: [(&str, &str); 2] = [("file.compression", "none"), ("manifest.compression", "null")];

/// Creates `k INT, v BIGINT`.
pub(crate) fn create(fs: &FileIoRef, root: &str, key: &[&str], options: &[(&str, &str)]) {
    create_partitioned(fs, root, (key, &[]), options);
}

/// Creates `k INT, v BIGINT`, with a primary key and partition columns.
pub(crate) fn create_partitioned(
    fs: &FileIoRef,
    root: &str,
    (key, partition): (&[&str], &[&str]),
    options: &[(&str, &str)],
) {
    let text = |v: &&str| (*v).to_owned();
    let schema = NewTable {
        fields: vec![
            DataField::new(0, "k", DataType::new(TypeKind::Int)),
            DataField::new(1, "v", DataType::new(TypeKind::BigInt)),
        ],
        primary_key: key.iter().map(text).collect(),
        partition_by: partition.iter().map(text).collect(),
        options: UNCOMPRESSED.iter().chain(options).map(|(k, v)| (text(k), text(v))).collect(),
        comment: None,
    };
    SchemaManager::new(Arc::clone(fs), root).create(schema.into_schema().unwrap()).unwrap();
}

/// What a new process knows of the table.
pub(crate) fn open(fs: &FileIoRef, root: &str) -> TableContext {
    Table::open_with(Arc::clone(fs), root, "main", None, BTreeMap::new()).unwrap().context().clone()
}

pub(crate) fn batch(rows: &[(i32, i64)]) -> RecordBatch {
    let columns: [(&str, ArrayRef); 2] = [
        ("k", Arc::new(rows.iter().map(|r| Some(r.0)).collect::<Int32Array>())),
        ("v", Arc::new(rows.iter().map(|r| Some(r.1)).collect::<Int64Array>())),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn written(ctx: &TableContext, rows: &[(i32, i64)], replace: bool) -> Result<Vec<CommitMessage>> {
    let options = WriteOptions { threads: Some(1), ignore_previous_files: replace, ..WriteOptions::default() };
    let mut writer = TableWrite::new(ctx, options)?;
    writer.write(&batch(rows), None)?;
    writer.prepare_commit()
}

fn committer(ctx: &TableContext) -> Committer {
    Committer::new(ctx, JOB).with_clock(Arc::new(ManualClock::at(1_000)))
}

fn once(identifier: i64, messages: Vec<CommitMessage>) -> Committable {
    Committable { identifier: Some(identifier), messages, ..Committable::default() }
}

pub(crate) fn append(ctx: &TableContext, identifier: i64, rows: &[(i32, i64)]) -> Result<CommitOutcome> {
    committer(ctx).commit(once(identifier, written(ctx, rows, false)?))
}

fn overwrite(ctx: &TableContext, identifier: i64, rows: &[(i32, i64)]) -> Result<CommitOutcome> {
    let target = OverwriteTarget::Static(PartitionSpec::new());
    committer(ctx).overwrite(&target, once(identifier, written(ctx, rows, true)?))
}

pub(crate) fn compact(ctx: &TableContext, identifier: i64) -> Result<CommitOutcome> {
    let plan = plan_compaction(ctx, &CompactRequest { full: true, ..CompactRequest::default() })?;
    let resources = TaskResources { threads: Some(1), ..TaskResources::default() };
    let messages: Result<Vec<_>> = plan.tasks.iter().map(|task| run_task(ctx, task, &resources)).collect();
    committer(ctx).commit(once(identifier, messages?))
}

/// All rows, and the levels of the live files.
pub(crate) type State = (Vec<(i32, i64)>, Vec<i32>);

/// Reads everything, and looks whether each live file is there with its whole length.
pub(crate) fn state(fs: &FileIoRef, root: &str) -> State {
    let ctx = open(fs, root);
    let plan = plan(&ctx, &ScanRequest::default()).unwrap();
    let batches: Vec<RecordBatch> =
        read_splits(&plan.ctx, &plan.splits, &plan.read, 1).unwrap().map(Result::unwrap).collect();
    let mut rows = Vec::new();
    for batch in &batches {
        let (k, v) = (batch.column(0).as_primitive::<types::Int32Type>(), batch.column(1));
        let v = v.as_primitive::<types::Int64Type>();
        rows.extend((0..batch.num_rows()).map(|i| (k.value(i), v.value(i))));
    }
    rows.sort_unstable();
    let mut levels = Vec::new();
    if let Some(latest) = SnapshotManager::new(Arc::clone(fs), root).latest().unwrap() {
        let live = live_entries(&ctx, &latest, &EntryFilter::default()).unwrap();
        invariants::total_is_sum_of_live_files(&latest, &live).unwrap();
        let keys: Vec<DataType> = ctx.schema.key_fields().iter().map(|f| f.data_type.clone()).collect();
        if !keys.is_empty() {
            invariants::levels_are_sorted_runs(&live, &keys).unwrap();
        }
        for entry in &live {
            let path = ctx.paths.data_file(&entry.partition, entry.bucket, &entry.file).unwrap();
            let size = fs.status(&path).unwrap().unwrap_or_else(|| panic!("{path} is gone")).size;
            assert_eq!(i64::try_from(size).unwrap(), entry.file.file_size, "{path}");
        }
        levels = live.iter().map(|e| e.file.level).collect();
    }
    levels.sort_unstable();
    (rows, levels)
}

/// How the process ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// The process dies, the machine goes on.
    Killed,
    /// Power loss.
    PowerLoss,
    /// Power loss, but the file system had written the names already.
    PowerLossKeepingNames,
}

fn is_done(result: &Result<CommitOutcome>) -> bool {
    result.as_ref().is_ok_and(|o| !matches!(o.compaction, CompactionOutcome::Failed(_)))
}

/// What a process leaves that died at a storage call.
pub(crate) struct Death<R> {
    /// The storage; [`FaultFileIo::fork`] gives each end of the process its own.
    pub(crate) io: FaultFileIo,
    /// What the operation said.
    pub(crate) result: R,
    /// Whether the storage is another one than at the death before this one: a call that only asks changes nothing, and what is
    /// left before a call was left after the one before it.
    pub(crate) differs: bool,
    call: u64,
    when: FailWhen,
    trace: Vec<String>,
}

impl<R: fmt::Debug> fmt::Display for Death<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {}, {:?}: {:?}\n{:#?}", self.call, self.when, self.result, self.trace)
    }
}

/// Whether a call, as a trace names it, leaves the storage as it was.
fn only_asks(call: &str) -> bool {
    let asking = ["read", "read_range", "open", "exists", "list", "status"];
    call.split(' ').nth(1).is_some_and(|what| asking.contains(&what))
}

/// Runs an operation on copies of a table, once for each of its storage calls, which fails before or after its effect, as does
/// every call after it; in the end undisturbed. Returns how many calls it has.
pub(crate) fn die_at_each_call<R>(
    table: &FaultFileIo,
    operation: &dyn Fn(&TableContext) -> R,
    mut look: impl FnMut(&Death<R>),
) -> u64 {
    for call in 0.. {
        for when in [FailWhen::Before, FailWhen::After] {
            let io = table.fork();
            let ctx = open(&(Arc::new(io.clone()) as FileIoRef), ROOT);
            let start = usize::try_from(io.calls()).unwrap();
            io.fail_after(call, when);
            let result = operation(&ctx);
            io.heal();
            let trace = io.trace().split_off(start);
            let failed = trace.get(usize::try_from(call).unwrap()).cloned();
            let differs = match (&failed, when) {
                (Some(_), FailWhen::Before) => call == 0,
                (Some(failed), FailWhen::After) => !only_asks(failed),
                (None, _) => true,
            };
            look(&Death { io, result, differs, call, when, trace });
            if failed.is_none() {
                return call;
            }
        }
    }
    unreachable!("there are not so many calls")
}

/// One table, of which each run gets a copy, with one operation that is yet to come.
struct Scenario<'a> {
    table: &'a FaultFileIo,
    operation: &'a dyn Fn(&TableContext) -> Result<CommitOutcome>,
}

impl Scenario<'_> {
    /// Returns how many calls the operation has.
    fn check(&self) -> u64 {
        let io = self.table.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let old = state(&fs, ROOT);
        (self.operation)(&open(&fs, ROOT)).unwrap();
        let new = state(&fs, ROOT);
        assert_ne!(old, new);
        let mut done = false;
        die_at_each_call(self.table, self.operation, |death| {
            if death.differs {
                let ends = [End::Killed, End::PowerLoss, End::PowerLossKeepingNames];
                let found = ends.map(|end| self.is_done_or_not(death, end, &old, &new));
                done = found.iter().all(|done| *done);
            }
            assert!(!is_done(&death.result) || done, "reported as done, and it is not\n{death}");
        })
    }

    /// Looks at what is left after this end of the process, and does the same again; whether it was done already.
    fn is_done_or_not(&self, death: &Death<Result<CommitOutcome>>, end: End, old: &State, new: &State) -> bool {
        let io = death.io.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        match end {
            End::Killed => {}
            End::PowerLoss => io.crash(),
            End::PowerLossKeepingNames => io.crash_keeping_names(),
        }
        let found = state(&fs, ROOT);
        assert!(found == *old || found == *new, "{end:?}: {found:?} is neither {old:?} nor {new:?}\n{death}");
        let again = (self.operation)(&open(&fs, ROOT));
        assert!(again.is_ok(), "{end:?}: {again:?}\n{death}");
        let now = state(&fs, ROOT);
        assert!(now == *new, "{end:?}: after the second run {now:?} is not {new:?}\n{death}");
        found == *new
    }
}

pub(crate) fn memory(key: &[&str], options: &[(&str, &str)]) -> (FaultFileIo, FileIoRef) {
    let io = FaultFileIo::new();
    let fs: FileIoRef = Arc::new(io.clone());
    create(&fs, ROOT, key, options);
    (io, fs)
}

/// A table whose key `k` may come in any partition `v`.
pub(crate) fn memory_of_moving_keys(options: &[(&str, &str)]) -> (FaultFileIo, FileIoRef) {
    let io = FaultFileIo::new();
    let fs: FileIoRef = Arc::new(io.clone());
    create_partitioned(&fs, ROOT, (&["k"], &["v"]), options);
    (io, fs)
}

const DYNAMIC: &[(&str, &str)] = &[("dynamic-bucket.target-row-num", "2")];
const KEYED: &[(&str, &str)] = &[("bucket", "1"), ("num-sorted-run.compaction-trigger", "3")];

#[test]
fn the_first_append_of_a_table_is_there_or_not() {
    let table = memory(&[], &[]).0;
    let operation = |ctx: &TableContext| append(ctx, 7, &[(1, 1), (2, 2)]);
    let calls = Scenario { table: &table, operation: &operation }.check();
    assert!(calls > 15, "{calls}");
}

#[test]
fn a_later_append_is_there_or_not() {
    let table = {
        let (io, fs) = memory(&[], &[("manifest.merge-min-count", "2")]);
        for i in 0..3 {
            append(&open(&fs, ROOT), i, &[(1, 1), (2, 2)]).unwrap();
        }
        io
    };
    let operation = |ctx: &TableContext| append(ctx, 7, &[(3, 3)]);
    Scenario { table: &table, operation: &operation }.check();
}

#[test]
fn rows_of_keyed_tables_are_there_or_not() {
    let table = {
        let (io, fs) = memory(&["k"], KEYED);
        append(&open(&fs, ROOT), 0, &[(1, 1), (2, 2)]).unwrap();
        io
    };
    let operation = |ctx: &TableContext| append(ctx, 7, &[(2, 3), (3, 3)]);
    Scenario { table: &table, operation: &operation }.check();
}

#[test]
fn rows_of_tables_with_dynamic_buckets_are_there_or_not() {
    let table = {
        let (io, fs) = memory(&["k"], DYNAMIC);
        append(&open(&fs, ROOT), 0, &[(1, 1), (2, 2), (3, 3)]).unwrap();
        io
    };
    let operation = |ctx: &TableContext| append(ctx, 7, &[(2, 3), (4, 3), (5, 3)]);
    Scenario { table: &table, operation: &operation }.check();
}

#[test]
fn rows_that_move_to_another_partition_are_there_or_not() {
    let table = {
        let (io, fs) = memory_of_moving_keys(DYNAMIC);
        append(&open(&fs, ROOT), 0, &[(1, 1), (2, 2), (3, 3), (4, 3)]).unwrap();
        io
    };
    let moves = |ctx: &TableContext| append(ctx, 7, &[(2, 3), (3, 1), (5, 9)]);
    let calls = Scenario { table: &table, operation: &moves }.check();
    assert!(calls > 30, "{calls}");
    let replaces = |ctx: &TableContext| overwrite(ctx, 7, &[(2, 3), (3, 1), (5, 9)]);
    Scenario { table: &table, operation: &replaces }.check();
}

#[test]
fn an_overwrite_is_there_or_not() {
    for (key, options) in [(&[][..], &[][..]), (&["k"], KEYED), (&["k"], DYNAMIC)] {
        let table = {
            let (io, fs) = memory(key, options);
            append(&open(&fs, ROOT), 0, &[(1, 1), (2, 2)]).unwrap();
            append(&open(&fs, ROOT), 1, &[(3, 3)]).unwrap();
            io
        };
        let operation = |ctx: &TableContext| overwrite(ctx, 7, &[(1, 9)]);
        Scenario { table: &table, operation: &operation }.check();
    }
}

#[test]
fn a_compaction_task_is_there_or_not_and_rows_never_change() {
    for key in [&[][..], &["k"]] {
        let table = {
            let keyed = [("bucket", "1"), ("write-only", "true")];
            let (io, fs) = memory(key, if key.is_empty() { &[] } else { &keyed });
            for i in 0..3 {
                append(&open(&fs, ROOT), i, &[(1, i), (10 + i32::try_from(i).unwrap(), i)]).unwrap();
            }
            io
        };
        let operation = |ctx: &TableContext| compact(ctx, 7);
        Scenario { table: &table, operation: &operation }.check();
    }
}

#[test]
fn rows_and_their_compaction_fail_apart_from_each_other() {
    let table = {
        let (io, fs) = memory(&["k"], KEYED);
        for i in 0..2 {
            append(&open(&fs, ROOT), i, &[(1, i), (2, i)]).unwrap();
        }
        io
    };
    let rows = [(1, 7), (3, 7)];
    let wanted = vec![(1, 7), (2, 1), (3, 7)];
    for n in 0.. {
        let io = table.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let old = state(&fs, ROOT).0;
        let (ctx, start) = (open(&fs, ROOT), io.calls());
        io.fail_after(n, FailWhen::Before);
        let result = append(&ctx, 7, &rows);
        let made = io.calls() - start;
        io.crash();
        let now = state(&fs, ROOT).0;
        assert!(now == old || now == wanted, "{n}: {now:?} {result:?}");
        assert!(result.is_err() || now == wanted, "{n}: {now:?} {result:?}");
        append(&open(&fs, ROOT), 7, &rows).unwrap();
        assert_eq!(state(&fs, ROOT).0, wanted, "{n}");
        if made <= n {
            let snapshots = SnapshotManager::new(fs, ROOT).ids().unwrap();
            assert_eq!(snapshots.len(), 4, "the third write compacts");
            break;
        }
    }
}

/// What the changelogs of all snapshots make of an empty table.
fn replayed(fs: &FileIoRef, root: &str) -> Vec<(i32, i64)> {
    let ctx = open(fs, root);
    let snapshots = SnapshotManager::new(Arc::clone(fs), root);
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options).unwrap();
    let spec = FileReadSpec { system: true, ..FileReadSpec::new(ctx.schema.fields.clone()) };
    let mut rows = BTreeMap::new();
    for id in snapshots.ids().unwrap() {
        let snapshot = snapshots.get(id).unwrap();
        let Some(list) = snapshot.changelog_list() else { continue };
        let entries = store.read_all(&store.read_list(list).unwrap(), &|_| true).unwrap();
        let count: i64 = entries.iter().map(|e| e.file.row_count).sum();
        assert_eq!(snapshot.changelog_record_count, Some(count));
        for entry in entries {
            for batch in read_data_file(&ctx, &entry.partition, entry.bucket, &entry.file, &spec).unwrap() {
                let batch = batch.unwrap();
                let k = batch.column(0).as_primitive::<types::Int32Type>();
                let v = batch.column(1).as_primitive::<types::Int64Type>();
                let kinds = batch.column(3).as_primitive::<types::Int8Type>();
                for i in 0..batch.num_rows() {
                    if kinds.value(i) % 2 == 1 {
                        assert_eq!(rows.remove(&k.value(i)), Some(v.value(i)), "a row that is not there is taken back");
                    } else {
                        rows.insert(k.value(i), v.value(i));
                    }
                }
            }
        }
    }
    rows.into_iter().collect()
}

#[test]
fn a_changelog_never_tells_more_or_less_than_what_happened() {
    let force_full = [("changelog-producer", "full-compaction"), ("full-compaction.delta-commits", "1")];
    for producer in [&[("changelog-producer", "lookup")][..], &[("changelog-producer", "input")], &force_full] {
        let options: Vec<(&str, &str)> = producer.iter().copied().chain([("bucket", "1")]).collect();
        let table = {
            let (io, fs) = memory(&["k"], &options);
            for i in 0..2 {
                append(&open(&fs, ROOT), i, &[(1, i), (2, i)]).unwrap();
            }
            io
        };
        let rows = [(1, 7), (3, 7)];
        let wanted = vec![(1, 7), (2, 1), (3, 7)];
        for n in 0.. {
            let io = table.fork();
            let fs: FileIoRef = Arc::new(io.clone());
            let old = state(&fs, ROOT).0;
            assert_eq!(replayed(&fs, ROOT), old);
            let (ctx, start) = (open(&fs, ROOT), io.calls());
            io.fail_after(n, if n % 2 == 0 { FailWhen::Before } else { FailWhen::After });
            let result = append(&ctx, 7, &rows);
            let made = io.calls() - start;
            if n % 3 == 0 {
                io.crash_keeping_names();
            } else {
                io.crash();
            }
            let (now, levels) = state(&fs, ROOT);
            assert!(now == old || now == wanted, "{n}: {now:?} {result:?}");
            // rows whose compaction failed wait in level 0, and so does what is told of them
            let waits = producer != [("changelog-producer", "input")] && levels.first() == Some(&0);
            assert_eq!(replayed(&fs, ROOT), if waits { old } else { now }, "{n}: {levels:?} {result:?}");
            append(&open(&fs, ROOT), 7, &rows).unwrap();
            append(&open(&fs, ROOT), 8, &[(4, 8)]).unwrap();
            let now = state(&fs, ROOT).0;
            assert_eq!(now, [&wanted[..], &[(4, 8)]].concat(), "{n}");
            assert_eq!(replayed(&fs, ROOT), now, "{n}");
            if made <= n {
                assert!(n > 25, "{n}");
                break;
            }
        }
    }
}

#[test]
fn without_an_identifier_the_same_committer_finds_what_it_published_itself() {
    let rows = [(1, 1)];
    let table = memory(&[], &[]).0;
    for n in 0.. {
        let io = table.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let ctx = open(&fs, ROOT);
        let messages = written(&ctx, &rows, false).unwrap();
        let (commit, start) = (committer(&ctx), io.calls());
        let committable = Committable { messages, ..Committable::default() };
        io.fail_after(n, FailWhen::After);
        let first = commit.commit(committable.clone());
        let made = io.calls() - start;
        io.heal();
        if first.is_err() {
            commit.commit(committable).unwrap();
        }
        assert_eq!(state(&fs, ROOT).0, rows, "{n}");
        if made <= n {
            break;
        }
    }
}

#[test]
fn aborting_never_takes_a_file_from_a_snapshot_whatever_was_reported() {
    let (table, fs) = memory(&["k"], KEYED);
    append(&open(&fs, ROOT), 0, &[(1, 1)]).unwrap();
    for n in 0.. {
        let io = table.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let ctx = open(&fs, ROOT);
        let messages = written(&ctx, &[(2, 2)], false).unwrap();
        let (commit, start) = (committer(&ctx), io.calls());
        io.fail_after(n, FailWhen::After);
        let committed = commit.commit(once(7, messages.clone()));
        let made = io.calls() - start;
        io.heal();
        commit.abort(&messages).unwrap();
        let rows = state(&fs, ROOT).0;
        assert!(rows.len() == 2 || committed.is_err(), "{n}: {rows:?} {committed:?}");
        let files = io.paths().iter().filter(|p| p.contains("/bucket-")).count();
        assert_eq!(files, rows.len(), "{n}: every file left is of a snapshot");
        if made <= n {
            break;
        }
    }
}
