//! Tables written, committed, compacted and read back, in memory.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{
    ArrayRef, Int8Array, Int32Array, Int64Array, RecordBatch, StringArray, cast::AsArray, types::Int64Type,
};

use super::{RowKinds, TableWrite, WriteOptions};
use crate::{
    commit::{CommitOutcome, Committable, OverwriteTarget, TableCommit, invisible_rows},
    compact::{CompactRequest, CompactionPlan, TaskResources, plan_compaction, run_task},
    error::{ErrorKind, Result},
    fs::{ConfinedFileIo, FaultFileIo},
    io::TableContext,
    maintenance::expire::{Retention, expire_snapshots},
    manifest::{DataFileFields, DataFileMeta, ManifestEntry, ManifestStore},
    options::CoreOptions,
    path::PathFactory,
    predicate::{CompareOp, Predicate},
    read::read_split,
    row::{Datum, RowKind},
    scan::{EntryFilter, ScanRequest, live_entries, plan},
    schema::{NewTable, SchemaManager},
    snapshot::{CommitKind, Snapshot, SnapshotManager},
    types::{DataField, DataType, MAX_LENGTH, TypeKind},
    wire::{CommitMessage, CompactionTask, TableIdentity},
};

const ROOT: &str = "/lake/db.db/t";

/// A table `id BIGINT, p STRING, v INT` in memory.
struct Bed {
    fs: FaultFileIo,
    ctx: TableContext,
}

impl Bed {
    fn new(primary_key: &[&str], partition_by: &[&str], options: &[(&str, &str)]) -> Self {
        let text = |v: &&str| (*v).to_owned();
        let schema = NewTable {
            fields: vec![
                DataField::new(0, "id", DataType::new(TypeKind::BigInt)),
                DataField::new(1, "p", DataType::new(TypeKind::VarChar(MAX_LENGTH))),
                DataField::new(2, "v", DataType::new(TypeKind::Int)),
            ],
            primary_key: primary_key.iter().map(text).collect(),
            partition_by: partition_by.iter().map(text).collect(),
            options: options.iter().map(|(k, v)| (text(k), text(v))).collect(),
            comment: None,
        };
        let fs = FaultFileIo::new();
        let schemas = SchemaManager::new(Arc::new(fs.clone()), ROOT);
        let schema = schemas.create(schema.into_schema().unwrap()).unwrap();
        let options = CoreOptions::parse(&schema.options).unwrap();
        let ctx = TableContext {
            fs: Arc::new(fs.clone()),
            name: "db.t".to_owned(),
            location: ROOT.to_owned(),
            branch: "main".to_owned(),
            paths: Arc::new(PathFactory::new(ROOT, &schema, &options)),
            options: Arc::new(options),
            schema,
            schemas: Arc::new(schemas),
            dynamic: Arc::default(),
            written: None,
            remembered: Arc::default(),
        };
        Self { fs, ctx }
    }

    /// The same table with dynamic options.
    fn with(&self, key: &str, value: &str) -> TableContext {
        let dynamic = BTreeMap::from([(key.to_owned(), value.to_owned())]);
        TableContext { options: Arc::new(self.ctx.options.with(&dynamic).unwrap()), ..self.ctx.clone() }
    }

    fn writer(&self) -> TableWrite {
        TableWrite::new(&self.ctx, WriteOptions { threads: Some(2), ..WriteOptions::default() }).unwrap()
    }

    fn commit(&self, messages: Vec<CommitMessage>) -> CommitOutcome {
        let committable = Committable { messages, ..Committable::default() };
        TableCommit::with_new_user(&self.ctx).commit(committable).unwrap()
    }

    /// One write, one commit.
    fn add(&self, rows: &RecordBatch, kinds: Option<RowKinds>) -> Vec<CommitKind> {
        let mut writer = self.writer();
        writer.write(rows, kinds.as_ref()).unwrap();
        let outcome = self.commit(writer.prepare_commit().unwrap());
        outcome.snapshots.iter().map(|s| s.commit_kind).collect()
    }

    /// (id, p, v) in the order of the scan.
    fn rows(&self) -> Vec<(i64, String, Option<i32>)> {
        let plan = plan(&self.ctx, &ScanRequest::default()).unwrap();
        let batches = plan.splits.iter().flat_map(|s| read_split(&plan.ctx, s, &plan.read).unwrap());
        batches.flat_map(|b| rows_of(&b.unwrap())).collect()
    }

    fn sorted_rows(&self) -> Vec<(i64, String, Option<i32>)> {
        let mut rows = self.rows();
        rows.sort();
        rows
    }

    fn live(&self) -> Vec<ManifestEntry> {
        let snapshots = SnapshotManager::new(self.ctx.fs.clone(), ROOT);
        let Some(snapshot) = snapshots.latest().unwrap() else {
            return Vec::new();
        };
        live_entries(&self.ctx, &snapshot, &EntryFilter::default()).unwrap()
    }

    fn data_files(&self) -> usize {
        self.fs.paths().iter().filter(|p| p.contains("/bucket-")).count()
    }

    /// Plans, sends each task through its bytes, runs and commits.
    fn compact(&self, request: &CompactRequest) -> CompactionPlan {
        let plan = plan_compaction(&self.ctx, request).unwrap();
        let run = |task: &CompactionTask| {
            let task = CompactionTask::from_bytes(&task.to_bytes().unwrap()).unwrap();
            run_task(&self.ctx, &task, &TaskResources { threads: Some(2), ..TaskResources::default() }).unwrap()
        };
        self.commit(plan.tasks.iter().map(run).collect());
        plan
    }
}

fn rows_of(batch: &RecordBatch) -> Vec<(i64, String, Option<i32>)> {
    let (ids, texts) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_string::<i32>());
    let values = batch.column(2).as_primitive::<arrow_array::types::Int32Type>();
    (0..batch.num_rows()).map(|i| (ids.value(i), texts.value(i).to_owned(), values.iter().nth(i).flatten())).collect()
}

fn rows(rows: &[(i64, &str, i32)]) -> RecordBatch {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("v", Arc::new(rows.iter().map(|r| Some(r.2)).collect::<Int32Array>())),
        ("id", Arc::new(rows.iter().map(|r| Some(r.0)).collect::<Int64Array>())),
        ("p", Arc::new(rows.iter().map(|r| Some(r.1)).collect::<StringArray>())),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn expected(rows: &[(i64, &str, i32)]) -> Vec<(i64, String, Option<i32>)> {
    rows.iter().map(|r| (r.0, r.1.to_owned(), Some(r.2))).collect()
}

#[test]
fn unaware_tables_keep_every_row_and_count_rows_by_writer() {
    let bed = Bed::new(&[], &["p"], &[]);
    assert_eq!(bed.add(&rows(&[(1, "a", 1), (2, "b", 2), (1, "a", 1)]), None), [CommitKind::Append]);
    bed.add(&rows(&[(3, "a", 3)]), None);
    assert_eq!(bed.sorted_rows(), expected(&[(1, "a", 1), (1, "a", 1), (2, "b", 2), (3, "a", 3)]));
    let live = bed.live();
    assert_eq!(live.len(), 3);
    assert!(live.iter().all(|e| (e.bucket, e.total_buckets, e.file.min_sequence_number) == (0, -1, 0)));
}

#[test]
fn fixed_buckets_of_append_tables_go_on_counting_and_compact_in_order() {
    let bed = Bed::new(&[], &[], &[("bucket", "1"), ("bucket-key", "id"), ("compaction.min.file-num", "3")]);
    let all: Vec<(i64, &str, i32)> = (0..9).map(|i| (i, "x", 9 - i32::try_from(i).unwrap())).collect();
    let kinds: Vec<_> = all.chunks(3).map(|part| bed.add(&rows(part), None)).collect();
    assert_eq!(
        kinds,
        [vec![CommitKind::Append], vec![CommitKind::Append], vec![CommitKind::Append, CommitKind::Compact]]
    );
    assert_eq!(bed.rows(), expected(&all));
    let live = bed.live();
    assert_eq!(live.len(), 1);
    assert_eq!((live[0].file.min_sequence_number, live[0].file.max_sequence_number), (0, 8));
    assert_eq!(live[0].total_buckets, 1);
}

#[test]
fn keyed_tables_keep_the_last_row_of_each_key() {
    let bed = Bed::new(&["id"], &[], &[("bucket", "2")]);
    let many: Vec<(i64, &str, i32)> = (0..1000).map(|i| (i, "a", 0)).collect();
    bed.add(&rows(&many), None);
    bed.add(&rows(&[(7, "b", 1), (5, "c", 2), (7, "d", 3)]), None);
    bed.add(&rows(&[(9, "x", 0)]), Some(RowKinds::All(RowKind::Delete)));
    bed.add(&rows(&[(11, "e", 0), (12, "e", 0)]), Some(RowKinds::PerRow(Int8Array::from(vec![3, 2]))));
    let found = bed.sorted_rows();
    assert_eq!(found.len(), 998);
    let of = |id: i64| found.iter().find(|r| r.0 == id).map(|r| (r.1.as_str(), r.2));
    assert_eq!(
        (of(7), of(5), of(9), of(11), of(12)),
        (Some(("d", Some(3))), Some(("c", Some(2))), None, None, Some(("e", Some(0))))
    );
    let live = bed.live();
    let newest = live.iter().map(|e| e.file.max_sequence_number).max();
    assert!(live.iter().all(|e| e.total_buckets == 2) && newest > Some(490));
}

#[test]
fn a_bad_batch_changes_nothing_and_the_writer_goes_on() {
    let bed = Bed::new(&["id", "p"], &["p"], &[("bucket", "2")]);
    let mut writer = bed.writer();
    writer.write(&rows(&[(1, "a", 1)]), None).unwrap();
    let bad = RecordBatch::try_from_iter(vec![
        ("id", Arc::new(Int64Array::from(vec![Some(2), None])) as ArrayRef),
        ("p", Arc::new(StringArray::from(vec!["a", "b"]))),
    ]);
    assert_eq!(writer.write(&bad.unwrap(), None).unwrap_err().kind(), ErrorKind::NullInKey);
    writer.write(&rows(&[(3, "b", 3)]), None).unwrap();
    bed.commit(writer.prepare_commit().unwrap());
    assert_eq!(bed.sorted_rows(), expected(&[(1, "a", 1), (3, "b", 3)]));
}

#[test]
fn a_writer_goes_on_after_its_commit() {
    let bed = Bed::new(&["id"], &[], &[("bucket", "1")]);
    let mut writer = bed.writer();
    for v in 0..4 {
        writer.write(&rows(&[(1, "a", v), (10 + i64::from(v), "b", v)]), None).unwrap();
        bed.commit(writer.prepare_commit().unwrap());
        if v % 2 == 1 {
            writer.reset().unwrap();
        }
    }
    assert_eq!(writer.prepare_commit().unwrap(), []);
    assert_eq!(bed.sorted_rows(), expected(&[(1, "a", 3), (10, "b", 0), (11, "b", 1), (12, "b", 2), (13, "b", 3)]));
}

#[test]
fn another_number_of_buckets_needs_an_overwrite() {
    let bed = Bed::new(&["id"], &[], &[("bucket", "2")]);
    bed.add(&rows(&[(1, "a", 1), (2, "a", 2)]), None);
    let rescaled = bed.with("bucket", "3");
    let mut writer = TableWrite::new(&rescaled, WriteOptions::default()).unwrap();
    let error = writer.write(&rows(&[(3, "b", 3)]), None).unwrap_err();
    assert!(error.message().contains("new bucket num 3, but the previous bucket num is 2"), "{error}");
    let options = WriteOptions { ignore_previous_files: true, ..WriteOptions::default() };
    let mut writer = TableWrite::new(&rescaled, options).unwrap();
    writer.write(&rows(&[(3, "b", 3), (4, "b", 4)]), None).unwrap();
    let messages = writer.prepare_commit().unwrap();
    let committable = Committable { messages, ..Committable::default() };
    let target = OverwriteTarget::Static(BTreeMap::new());
    TableCommit::with_new_user(&rescaled).overwrite(&target, committable).unwrap();
    assert_eq!(bed.sorted_rows(), expected(&[(3, "b", 3), (4, "b", 4)]));
    assert!(bed.live().iter().all(|e| e.total_buckets == 3 && e.file.min_sequence_number == 0));
}

#[test]
fn an_aborted_or_dropped_writer_leaves_no_files() {
    for (key, bucket) in [(&[][..], "-1"), (&["id"][..], "2")] {
        let bed = Bed::new(key, &[], &[("bucket", bucket), ("write-buffer-spillable", "false")]);
        let many: Vec<(i64, &str, i32)> = (0..5000).map(|i| (i, "some text that is long enough", 1)).collect();
        for abort in [true, false] {
            let options = WriteOptions { memory_limit: Some(10_000), threads: Some(1), ..WriteOptions::default() };
            let mut writer = TableWrite::new(&bed.ctx, options).unwrap();
            writer.write(&rows(&many), None).unwrap();
            writer.write(&rows(&many), None).unwrap();
            assert!(bed.data_files() > 0, "a small budget is written out early");
            if abort {
                writer.abort();
            }
        }
        assert_eq!(bed.data_files(), 0);
    }
}

#[test]
fn a_small_budget_over_many_buckets_gives_the_same_rows() {
    let bed = Bed::new(&["id", "p"], &["p"], &[("bucket", "3")]);
    let texts = ["a", "b", "c", "d"];
    let all: Vec<(i64, &str, i32)> = (0..8000).map(|i| (i % 3000, texts[usize::try_from(i % 4).unwrap()], 1)).collect();
    let options = WriteOptions { memory_limit: Some(50_000), threads: Some(2), ..WriteOptions::default() };
    let mut writer = TableWrite::new(&bed.ctx, options).unwrap();
    for part in all.chunks(1500) {
        writer.write(&rows(part), None).unwrap();
    }
    bed.commit(writer.prepare_commit().unwrap());
    let mut wanted = expected(&all);
    wanted.sort();
    wanted.dedup();
    assert_eq!(bed.sorted_rows(), wanted);
}

fn five_commits(bed: &Bed) {
    for v in 0..5 {
        let part: Vec<(i64, &str, i32)> =
            (0..100).map(|i| (i * i64::from(v + 1), ["a", "b"][usize::try_from(i % 2).unwrap()], v)).collect();
        bed.add(&rows(&part), None);
    }
}

#[test]
fn write_only_tables_are_compacted_by_tasks() {
    let bed = Bed::new(&["id", "p"], &["p"], &[("bucket", "2"), ("write-only", "true")]);
    five_commits(&bed);
    let before = bed.sorted_rows();
    assert!(bed.live().iter().all(|e| e.file.level == 0));
    let full = CompactRequest { full: true, ..CompactRequest::default() };
    let plan = bed.compact(&full);
    assert_eq!((plan.tasks.len(), plan.buckets), (4, 4));
    assert_eq!(bed.sorted_rows(), before);
    assert!(bed.live().iter().all(|e| e.file.level == 5 && e.total_buckets == 2));
    assert_eq!(plan_compaction(&bed.ctx, &full).unwrap().tasks, []);
}

#[test]
fn plans_look_only_at_the_partitions_that_are_asked_for() {
    let bed = Bed::new(&["id", "p"], &["p"], &[("bucket", "1"), ("write-only", "true")]);
    let request = |filter| CompactRequest { full: true, filter: Some(filter), ..CompactRequest::default() };
    let equals = |column: &str, value| Predicate::Compare { column: column.to_owned(), op: CompareOp::Eq, value };
    let only_b = request(equals("p", Datum::String("b".to_owned())));
    assert_eq!(plan_compaction(&bed.ctx, &only_b).unwrap(), CompactionPlan::default(), "an empty table");
    five_commits(&bed);
    let tasks = plan_compaction(&bed.ctx, &only_b).unwrap().tasks;
    assert_eq!(tasks.len(), 1);
    let partition = tasks[0].bucket.partition.clone();
    assert_eq!(bed.ctx.paths.partition_path(&partition).unwrap().trim_end_matches('/'), "p=b");
    let listed = CompactRequest { full: true, partitions: Some(vec![partition]), ..CompactRequest::default() };
    assert_eq!(plan_compaction(&bed.ctx, &listed).unwrap().tasks, tasks);
    let error = plan_compaction(&bed.ctx, &request(equals("v", Datum::Int(1)))).unwrap_err();
    assert_eq!((error.kind(), error.context_value("column")), (ErrorKind::InvalidArgument, Some("v")));
    let idle = |millis| CompactRequest { full: true, idle_millis: Some(millis), ..CompactRequest::default() };
    assert_eq!(plan_compaction(&bed.ctx, &idle(3_600_000)).unwrap().tasks, []);
    assert_eq!(plan_compaction(&bed.ctx, &idle(0)).unwrap().tasks.len(), 2);
}

#[test]
fn small_files_of_unaware_tables_become_one() {
    let bed = Bed::new(&[], &["p"], &[]);
    five_commits(&bed);
    let before = bed.sorted_rows();
    assert_eq!(bed.compact(&CompactRequest::default()).tasks.len(), 2, "five files are enough");
    assert_eq!(bed.live().len(), 2);
    assert_eq!(bed.sorted_rows(), before);
    bed.add(&rows(&[(1, "a", 1)]), None);
    assert_eq!(bed.compact(&CompactRequest::default()).tasks, []);
    assert_eq!(bed.compact(&CompactRequest { full: true, ..CompactRequest::default() }).tasks.len(), 1);
    assert_eq!((bed.live().len(), bed.rows().len()), (2, 501));
}

#[test]
fn a_task_of_another_table_is_refused() -> Result<()> {
    let bed = Bed::new(&["id"], &[], &[("bucket", "1"), ("write-only", "true")]);
    bed.add(&rows(&[(1, "a", 1)]), None);
    let plan = plan_compaction(&bed.ctx, &CompactRequest { full: true, ..CompactRequest::default() })?;
    let table = TableIdentity { location: "/elsewhere".to_owned(), ..plan.tasks[0].table.clone() };
    let task = CompactionTask { table, ..plan.tasks[0].clone() };
    let error = run_task(&bed.ctx, &task, &TaskResources::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    Ok(())
}

/// The names, rows and levels of a snapshot's changelog files.
fn changelog(bed: &Bed, snapshot: &Snapshot) -> Vec<(i64, i32)> {
    let store = ManifestStore::new(&bed.ctx.fs, &bed.ctx.paths, &bed.ctx.options).unwrap();
    let Some(list) = snapshot.changelog_list() else { return Vec::new() };
    let entries = store.read_all(&store.read_list(list).unwrap(), &|_| true).unwrap();
    entries.iter().map(|e| (e.file.row_count, e.file.level)).collect()
}

#[test]
fn the_changelog_comes_with_the_snapshot_that_it_explains() {
    let bed = Bed::new(&["id"], &[], &[("bucket", "1"), ("changelog-producer", "lookup")]);
    let commit = |data: &RecordBatch| {
        let mut writer = bed.writer();
        writer.write(data, None).unwrap();
        bed.commit(writer.prepare_commit().unwrap()).snapshots
    };
    let first = commit(&rows(&[(1, "a", 1), (2, "a", 2)]));
    assert_eq!(first.iter().map(|s| s.commit_kind).collect::<Vec<_>>(), [CommitKind::Append, CommitKind::Compact]);
    assert_eq!((changelog(&bed, &first[0]), changelog(&bed, &first[1])), (vec![], vec![(2, 5)]));
    assert_eq!((first[0].changelog_record_count, first[1].changelog_record_count), (None, Some(2)));
    let second = commit(&rows(&[(2, "b", 3), (3, "b", 3)]));
    assert_eq!(changelog(&bed, &second[1]).iter().map(|(rows, _)| rows).sum::<i64>(), 3, "-U +U, and +I");
    assert!(bed.live().iter().all(|e| e.file.level > 0), "level 0 was compacted before the commit returned");
}

#[test]
fn an_input_changelog_has_every_record_in_key_order_with_its_kind() {
    for spillable in ["true", "false"] {
        let options = [("bucket", "1"), ("changelog-producer", "input"), ("write-buffer-spillable", spillable)];
        let bed = Bed::new(&["id"], &[], &options);
        let options = WriteOptions { memory_limit: Some(20_000), threads: Some(1), ..WriteOptions::default() };
        let mut writer = TableWrite::new(&bed.ctx, options).unwrap();
        let all: Vec<(i64, &str, i32)> = (0..6000).map(|i| (i64::from(i % 50), "some text", i)).collect();
        let kinds: Int8Array = (0..6000).map(|i| Some([0, 1, 2, 3][i % 4])).collect();
        writer.write(&rows(&all), Some(&RowKinds::PerRow(kinds))).unwrap();
        let snapshots = bed.commit(writer.prepare_commit().unwrap()).snapshots;
        let told = changelog(&bed, &snapshots[0]);
        assert_eq!(told.iter().map(|(rows, _)| rows).sum::<i64>(), 6000);
        assert!(told.iter().all(|(_, level)| *level == 0));
        assert_eq!((snapshots[0].commit_kind, snapshots[0].changelog_record_count), (CommitKind::Append, Some(6000)));
        assert!(bed.sorted_rows().len() <= 50);
    }
}

#[test]
fn rows_of_a_first_row_table_are_seen_at_once_or_counted_as_unseen() {
    let bed =
        Bed::new(&["id"], &[], &[("bucket", "1"), ("merge-engine", "first-row"), ("changelog-producer", "lookup")]);
    let written = |ctx: &TableContext, data: &RecordBatch| {
        let mut writer = TableWrite::new(ctx, WriteOptions::default()).unwrap();
        writer.write(data, None).unwrap();
        let messages = writer.prepare_commit().unwrap();
        let committable = Committable { messages: messages.clone(), ..Committable::default() };
        let outcome = TableCommit::with_new_user(ctx).commit(committable).unwrap();
        (invisible_rows(ctx, &messages, &outcome), outcome.snapshots.len())
    };
    let report = written(&bed.ctx, &rows(&[(1, "a", 1), (2, "a", 2), (1, "b", 3)]));
    assert_eq!(report, (0, 2));
    assert_eq!(bed.sorted_rows(), expected(&[(1, "a", 1), (2, "a", 2)]));
    let report = written(&bed.with("write-only", "true"), &rows(&[(1, "c", 4), (3, "c", 4)]));
    assert_eq!(report, (2, 1));
    assert_eq!(bed.sorted_rows(), expected(&[(1, "a", 1), (2, "a", 2)]));
    bed.compact(&CompactRequest::default());
    assert_eq!(bed.sorted_rows(), expected(&[(1, "a", 1), (2, "a", 2), (3, "c", 4)]));
    let snapshots = SnapshotManager::new(bed.ctx.fs.clone(), ROOT);
    let last = snapshots.latest().unwrap().unwrap();
    assert_eq!(last.changelog_record_count, Some(1), "key 1 was there already");
}

#[test]
fn an_overwrite_has_no_changelog_and_leaves_no_changelog_file() {
    for producer in ["input", "lookup", "full-compaction"] {
        let bed = Bed::new(&["id"], &[], &[("bucket", "1"), ("changelog-producer", producer)]);
        bed.add(&rows(&[(1, "a", 1)]), None);
        let before = bed.fs.paths().iter().filter(|p| p.contains("/changelog-")).count();
        let options = WriteOptions { ignore_previous_files: true, ..WriteOptions::default() };
        let mut writer = TableWrite::new(&bed.ctx, options).unwrap();
        writer.write(&rows(&[(2, "b", 2)]), None).unwrap();
        let committable = Committable { messages: writer.prepare_commit().unwrap(), ..Committable::default() };
        let target = OverwriteTarget::Static(BTreeMap::new());
        let outcome = TableCommit::with_new_user(&bed.ctx).overwrite(&target, committable).unwrap();
        assert!(outcome.snapshots.iter().all(|s| s.changelog_manifest_list.is_none()), "{producer}");
        assert_eq!(bed.fs.paths().iter().filter(|p| p.contains("/changelog-")).count(), before, "{producer}");
        assert_eq!(bed.sorted_rows(), expected(&[(2, "b", 2)]));
    }
}

/// Others compact all that there is and let it expire: the files that a writer knows are gone.
fn overtake(bed: &Bed) {
    bed.compact(&CompactRequest { full: true, ..CompactRequest::default() });
    bed.add(&rows(&[(1_000, "others", 0)]), None);
    bed.compact(&CompactRequest { full: true, ..CompactRequest::default() });
    let newest = Retention { max: 1, min: 1, older_than: None, limit: i64::MAX };
    expire_snapshots(&bed.ctx, &newest, false).unwrap();
}

/// All commits of the writer are of one user: what another one compacts, it has not seen.
fn commit_stream(bed: &Bed, messages: Vec<CommitMessage>) -> CommitOutcome {
    let committable = Committable { messages, ..Committable::default() };
    TableCommit::new(&bed.ctx, "stream").commit(committable).unwrap()
}

/// A writer of many commits that nobody resets: (why a compaction was given up, kinds of snapshots) of one commit.
fn stream(bed: &Bed, writer: &mut TableWrite, n: i64) -> (bool, Vec<CommitKind>) {
    writer.write(&rows(&[(n, "stream", 1)]), None).unwrap();
    let messages = writer.prepare_commit().unwrap();
    let outcome = commit_stream(bed, messages);
    (writer.take_given_up().is_some(), outcome.snapshots.iter().map(|s| s.commit_kind).collect())
}

/// Key and options of tables with one writer of many commits.
type Streamed = (&'static [&'static str], &'static [(&'static str, &'static str)]);

const STREAMS: [Streamed; 2] = [
    (&["id"], &[("bucket", "1"), ("num-sorted-run.compaction-trigger", "3")]),
    (&["id"], &[("bucket", "1"), ("changelog-producer", "lookup")]),
];

#[test]
fn a_writer_that_was_overtaken_looks_at_its_bucket_again_and_goes_on_compacting() {
    for (key, options) in STREAMS {
        let bed = Bed::new(key, &[], options);
        let streaming = WriteOptions { threads: Some(2), streaming: true, ..WriteOptions::default() };
        let mut writer = TableWrite::new(&bed.ctx, streaming).unwrap();
        let mut n = 0;
        let mut next = |writer: &mut TableWrite| {
            n += 1;
            stream(&bed, writer, n)
        };
        next(&mut writer);
        next(&mut writer);
        let mut given_up = 0;
        for round in 0..2 {
            overtake(&bed);
            let first = (0..4).map(|_| next(&mut writer)).find(|(given_up, _)| *given_up);
            assert!(first.is_some(), "{options:?}, round {round}: nothing was missed");
            given_up += 1;
            let later: Vec<_> = (0..6).map(|_| next(&mut writer)).collect();
            assert!(later.iter().any(|(_, kinds)| kinds.contains(&CommitKind::Compact)), "{options:?}: {later:?}");
            assert!(later.iter().all(|(given_up, _)| !given_up), "{options:?}: {later:?}");
        }
        assert_eq!(given_up, 2);
        drop(writer);
        bed.compact(&CompactRequest { full: true, ..CompactRequest::default() });
        let mut found: Vec<i64> = bed.rows().into_iter().map(|row| row.0).collect();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, (1..=n).chain([1_000]).collect::<Vec<_>>(), "{options:?}");
        let numbers: Vec<_> =
            bed.live().iter().map(|e| (e.file.min_sequence_number, e.file.max_sequence_number)).collect();
        assert!(numbers.iter().all(|(min, max)| min <= max), "{numbers:?}");
    }
}

/// What is handed out and not committed is in no snapshot: a bucket without it would be compacted without its rows.
#[test]
fn a_writer_that_was_overtaken_waits_for_the_commits_of_what_it_handed_out() {
    let (key, options) = STREAMS[0];
    let bed = Bed::new(key, &[], options);
    let streaming = WriteOptions { threads: Some(2), streaming: true, ..WriteOptions::default() };
    let mut writer = TableWrite::new(&bed.ctx, streaming).unwrap();
    stream(&bed, &mut writer, 1);
    stream(&bed, &mut writer, 2);
    overtake(&bed);
    let mut waiting = Vec::new();
    for n in 3..10 {
        writer.write(&rows(&[(5, "stream", n)]), None).unwrap();
        waiting.push(writer.prepare_commit().unwrap());
    }
    assert!(writer.take_given_up().is_some());
    let compacted = |messages: &[CommitMessage]| messages.iter().any(|m| !m.compact.compact_after.is_empty());
    assert!(!waiting.iter().any(|messages| compacted(messages)), "it compacted on top of what is not committed");
    for messages in waiting {
        commit_stream(&bed, messages);
    }
    let later: Vec<_> = (20..24).map(|n| stream(&bed, &mut writer, n)).collect();
    assert!(later.iter().any(|(_, kinds)| kinds.contains(&CommitKind::Compact)), "{later:?}");
    drop(writer);
    let wanted = [(1, "stream", 1), (2, "stream", 1), (5, "stream", 9)];
    let others = [(1_000, "others", 0)];
    let more: Vec<_> = (20..24).map(|n| (n, "stream", 1)).collect();
    assert_eq!(bed.sorted_rows(), expected(&[&wanted[..], &more, &others].concat()));
}

/// What a message adds, the table takes for its own: it would delete the file one day.
#[test]
fn a_message_that_adds_a_file_outside_of_the_table_is_refused() {
    let bed = Bed::new(&["id"], &[], &[("bucket", "1")]);
    let confined = ConfinedFileIo::new(Arc::new(bed.fs.clone()), ROOT).with_external(&["/outside".to_owned()]);
    let ctx = TableContext { fs: Arc::new(confined), ..bed.ctx.clone() };
    let mut writer = bed.writer();
    writer.write(&rows(&[(1, "a", 1)]), None).unwrap();
    let message = writer.prepare_commit().unwrap().remove(0);
    let file = message.data.new_files[0].clone();
    let at =
        |path: &str| DataFileFields { external_path: Some(path.to_owned()), ..DataFileFields::clone(&file) }.into();
    let adding: [fn(&mut CommitMessage, DataFileMeta); 4] = [
        |message, file| message.data.new_files.push(file),
        |message, file| message.data.changelog_files.push(file),
        |message, file| message.compact.compact_after.push(file),
        |message, file| message.compact.changelog_files.push(file),
    ];
    for add in adding {
        for path in ["/elsewhere/bucket-0/x", "file:///elsewhere/bucket-0/x", "/outside/x", "/outside-2/bucket-0/x"] {
            let mut bad = message.clone();
            add(&mut bad, at(path));
            let error = CommitMessage::unseal(&bad.seal(&ctx, false).unwrap(), &ctx).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{path}: {error}");
            assert_eq!(error.context_value("option"), Some("data-file.external-paths"));
            let committable = || Committable { messages: vec![bad.clone()], ..Committable::default() };
            let commit = TableCommit::with_new_user(&ctx);
            assert_eq!(commit.commit(committable()).unwrap_err().kind(), ErrorKind::InvalidArgument, "{path}");
            let everything = OverwriteTarget::Static(BTreeMap::new());
            let error = commit.overwrite(&everything, committable()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{path}");
        }
        for name in ["../x", "a/b", "..", ""] {
            let mut bad = message.clone();
            add(&mut bad, DataFileFields { file_name: name.to_owned(), ..DataFileFields::clone(&file) }.into());
            let committable = Committable { messages: vec![bad], ..Committable::default() };
            let error = TableCommit::with_new_user(&ctx).commit(committable).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CorruptFile, "{name}: {error}");
        }
        let mut declared = message.clone();
        add(&mut declared, at("/outside/bucket-0/x"));
        assert!(CommitMessage::unseal(&declared.seal(&ctx, false).unwrap(), &ctx).is_ok());
    }
    assert!(SnapshotManager::new(bed.ctx.fs.clone(), ROOT).latest().unwrap().is_none());
    let committable = Committable { messages: vec![message], ..Committable::default() };
    assert_eq!(TableCommit::with_new_user(&ctx).commit(committable).unwrap().snapshots.len(), 1);
}
