//! One bucket through its whole life, against a map: written, flushed, spilled, compacted beside the writing, committed,
//! aborted, restored and compacted by tasks, with options drawn at random.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use arrow_array::{ArrayRef, Int8Array, Int32Array, Int64Array, RecordBatch, StringArray};
use proptest::prelude::*;

use super::{
    LookupCache, MergeReadOptions, MergeTreeWriter, WriterSettings,
    compact::{CompactResources, CompactionPermits, pick, run_compaction},
    interval_partition, read_merged,
    testing::{self, Record},
};
use crate::{
    fs::{FailWhen, FaultFileIo},
    io::{FileReadSpec, KvLayout, TableContext, read_data_file},
    manifest::{BucketId, CompactIncrement, DataFileFields, DataFileMeta, DataIncrement, FileSource},
    options::{ChangelogProducer, CoreOptions, MergeEngine},
    path::PathFactory,
    row::{BinaryRow, Datum},
    schema::{NewTable, SchemaManager},
    types::{DataField, DataType, MAX_LENGTH, TypeKind, arrow_schema},
};

mod older;
mod ties;

const ROOT: &str = "/lake/db.db/t";

/// One row to write: key, user sequence, whether it retracts.
type Row = (i32, Option<i8>, bool);

/// A bucket in memory: its writer, its live files, and what a reader must see.
struct Bucket {
    fs: FaultFileIo,
    ctx: TableContext,
    settings: WriterSettings,
    user_sequence: bool,
    descending: bool,
    writer: Option<MergeTreeWriter>,
    live: Vec<DataFileMeta>,
    /// names of files that were committed once; a reader of an older snapshot may still want them
    committed: BTreeSet<String>,
    /// key -> (`seq`, `text`)
    model: BTreeMap<i32, (Option<i64>, String)>,
    /// the same with what is not committed yet
    pending: BTreeMap<i32, (Option<i64>, String)>,
    written: usize,
    /// what the changelog makes of an empty table
    replayed: BTreeMap<i32, Record>,
}

fn context(fs: &FaultFileIo, options: &[(&str, String)]) -> TableContext {
    let schema = NewTable {
        fields: vec![
            DataField::new(0, "id", DataType::new(TypeKind::Int)),
            DataField::new(1, "seq", DataType::new(TypeKind::BigInt)),
            DataField::new(2, "text", DataType::new(TypeKind::VarChar(MAX_LENGTH))),
        ],
        primary_key: vec!["id".to_owned()],
        options: options
            .iter()
            .map(|(k, v)| ((*k).to_owned(), v.clone()))
            .chain([("bucket".to_owned(), "1".to_owned())])
            .collect(),
        ..NewTable::default()
    };
    let schemas = SchemaManager::new(Arc::new(fs.clone()), ROOT);
    let schema = schemas.create(schema.into_schema().unwrap()).unwrap();
    let options = CoreOptions::parse(&schema.options).unwrap();
    TableContext {
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
    }
}

fn partition() -> Vec<u8> {
    BinaryRow::empty().to_serialized()
}

fn bucket_0() -> BucketId {
    BucketId { partition: partition(), bucket: 0 }
}

impl Bucket {
    fn new(options: &[(&str, String)], settings: WriterSettings) -> Self {
        let fs = FaultFileIo::new();
        let ctx = context(&fs, options);
        Self {
            descending: ctx.options.sequence_descending(),
            user_sequence: !ctx.options.sequence_fields.is_empty(),
            fs,
            ctx,
            settings,
            writer: None,
            live: Vec::new(),
            committed: BTreeSet::new(),
            model: BTreeMap::new(),
            pending: BTreeMap::new(),
            written: 0,
            replayed: BTreeMap::new(),
        }
    }

    fn writer(&mut self) -> &mut MergeTreeWriter {
        if self.writer.is_none() {
            let writer = MergeTreeWriter::new(&self.ctx, bucket_0(), self.live.clone(), self.settings.clone());
            self.writer = Some(writer.unwrap());
        }
        self.writer.as_mut().unwrap()
    }

    /// Encodes rows and applies them to the model of what is pending.
    fn batch(&mut self, rows: &[Row]) -> (RecordBatch, Int8Array) {
        let mut texts = Vec::new();
        let mut kinds = Vec::new();
        for (key, user, retract) in rows {
            let engine = self.ctx.options.merge_engine;
            // a retract that was dropped no longer holds back rows with smaller sequence fields: not for this model
            let retract = *retract && !self.user_sequence && engine == MergeEngine::Deduplicate;
            self.written += 1;
            let text = format!("row {}", self.written);
            let rank = |user: &Option<i64>| user.map(|u| if self.descending { -u } else { u });
            let user = user.map(i64::from);
            let old = self.pending.get(key).cloned();
            let new = match (engine, old) {
                (MergeEngine::Deduplicate, Some(old)) if self.user_sequence && rank(&old.0) > rank(&user) => old,
                (MergeEngine::PartialUpdate, Some((seq, _))) => (user.or(seq), text.clone()),
                (MergeEngine::Aggregation, Some((Some(sum), _))) => (Some(sum + user.unwrap_or(0)), text.clone()),
                (MergeEngine::FirstRow, Some(old)) => old,
                _ => (user, text.clone()),
            };
            if retract {
                self.pending.remove(key);
            } else {
                self.pending.insert(*key, new);
            }
            texts.push(text);
            kinds.push(match (retract, self.written % 3) {
                (true, 0) => 1,
                (true, _) => 3,
                (false, 0) => 2,
                (false, _) => 0,
            });
        }
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from_iter_values(rows.iter().map(|r| r.0))),
            Arc::new(rows.iter().map(|r| r.1.map(i64::from)).collect::<Int64Array>()),
            Arc::new(StringArray::from(texts)),
        ];
        (RecordBatch::try_new(arrow_schema(&self.ctx.schema.fields).unwrap(), columns).unwrap(), kinds.into())
    }

    fn write(&mut self, rows: &[Row]) {
        let (batch, kinds) = self.batch(rows);
        self.writer().write(&batch, &kinds).unwrap();
    }

    fn commit(&mut self, wait: bool) {
        let (data, compact) = self.writer().prepare_commit(wait).unwrap();
        self.model.clone_from(&self.pending);
        self.apply(data, compact);
    }

    /// What a commit does with the increments: every deleted file must be there, no added one.
    fn apply(&mut self, data: DataIncrement, compact: CompactIncrement) {
        assert!(data.deleted_files.is_empty());
        self.replay(&data.changelog_files);
        self.replay(&compact.changelog_files);
        self.add(data.new_files);
        for file in compact.compact_before {
            let at = self.live.iter().position(|f| (f.level, &f.file_name) == (file.level, &file.file_name));
            self.live.remove(at.unwrap_or_else(|| panic!("{} of level {} is not live", file.file_name, file.level)));
        }
        self.add(compact.compact_after);
    }

    /// Applies changelog rows, each of which must fit what is there. With `input` they are rows as they were written.
    fn replay(&mut self, files: &[DataFileMeta]) {
        let layout = KvLayout::of_table(&self.ctx);
        let spec = FileReadSpec { system: true, ..FileReadSpec::new(layout.fields.clone()) };
        let raw = self.ctx.options.changelog_producer == ChangelogProducer::Input;
        for file in files {
            assert!(file.file_name.starts_with("changelog-") && file.file_source == Some(FileSource::Append));
            self.committed.insert(file.file_name.clone());
            let rows = read_data_file(&self.ctx, &partition(), 0, file, &spec).unwrap();
            for record in testing::all_records(&layout, rows) {
                let Datum::Int(key) = record.fields[0] else { panic!("{record:?}") };
                let retracts = record.kind % 2 == 1;
                let before = if retracts { self.replayed.remove(&key) } else { None };
                if !raw {
                    let known = before.as_ref().map(|b| &b.fields);
                    match record.kind {
                        1 | 3 => assert_eq!(known, Some(&record.fields), "{record:?} takes back what is not there"),
                        _ => assert!(!self.replayed.contains_key(&key), "{record:?} is there already"),
                    }
                }
                if !retracts {
                    self.replayed.insert(key, record);
                }
            }
        }
    }

    /// The changelog tells how the files came about that it covers.
    fn check_changelog(&self) {
        let top = self.ctx.options.num_levels - 1;
        let covers = |level: i32| match self.ctx.options.changelog_producer {
            ChangelogProducer::None => None,
            // partial rows, and rows that lost
            ChangelogProducer::Input if self.user_sequence => None,
            ChangelogProducer::Input if self.ctx.options.merge_engine != MergeEngine::Deduplicate => None,
            ChangelogProducer::Input => Some(true),
            ChangelogProducer::Lookup => Some(level > 0),
            ChangelogProducer::FullCompaction => Some(level == top),
        };
        let Some(true) = covers(top) else { return };
        let files: Vec<DataFileMeta> = self.live.iter().filter(|f| covers(f.level) == Some(true)).cloned().collect();
        let layout = KvLayout::of_table(&self.ctx);
        let rows = read_merged(&self.ctx, &partition(), 0, &files, &layout, MergeReadOptions::default()).unwrap();
        let fields = |records: Vec<Record>| records.into_iter().map(|r| r.fields).collect::<Vec<_>>();
        let found = fields(testing::all_records(&layout, rows));
        assert_eq!(fields(self.replayed.values().cloned().collect()), found);
    }

    fn add(&mut self, files: Vec<DataFileMeta>) {
        for file in files {
            assert!(self.live.iter().all(|f| f.file_name != file.file_name), "{} is live twice", file.file_name);
            self.committed.insert(file.file_name.clone());
            self.live.push(file);
        }
    }

    fn abort(&mut self) {
        if let Some(writer) = self.writer.take() {
            writer.abort();
        }
        self.pending.clone_from(&self.model);
    }

    /// A compaction of a dedicated job; only while no writer holds the bucket.
    fn run_task(&mut self, full: bool) {
        if self.writer.is_some() {
            return;
        }
        let Some(unit) = pick(&self.ctx, &self.live, full).unwrap() else { return };
        let resources = CompactResources {
            threads: self.settings.threads,
            spill_dir: self.settings.spill_dir.clone(),
            ..CompactResources::default()
        };
        let result = run_compaction(&self.ctx, &partition(), 0, &self.live, &unit, &resources).unwrap();
        self.apply(DataIncrement::default(), result);
        if full {
            let top = self.live.iter().map(|f| f.level).max().unwrap_or(0);
            assert!(self.live.iter().all(|f| f.level == top && f.delete_row_count == Some(0)), "{:?}", self.live);
        }
    }

    fn read(&self, threads: usize) -> Vec<Record> {
        let layout = KvLayout::of_table(&self.ctx);
        let options = MergeReadOptions {
            batch_rows: 7,
            threads,
            spill_dir: self.settings.spill_dir.clone(),
            ..MergeReadOptions::default()
        };
        let rows = read_merged(&self.ctx, &partition(), 0, &self.live, &layout, options).unwrap();
        testing::all_records(&layout, rows)
    }

    fn data_files(&self) -> BTreeSet<String> {
        let in_bucket = |path: &String| path.split_once("/bucket-0/").map(|(_, name)| name.to_owned());
        self.fs.paths().iter().filter_map(in_bucket).collect()
    }

    /// Readers see the model; levels above 0 have no overlaps; every live file is there and says the truth.
    fn check(&self, threads: usize) {
        let found: Vec<Vec<Datum>> = self.read(threads).into_iter().map(|r| r.fields).collect();
        let row = |(key, (user, text)): (&i32, &(Option<i64>, String))| {
            let user = user.map_or(Datum::Null, Datum::BigInt);
            vec![Datum::Int(*key), user, Datum::String(text.clone())]
        };
        assert_eq!(found, self.model.iter().map(row).collect::<Vec<_>>());
        self.check_changelog();
        let on_disk = self.data_files();
        assert!(self.live.iter().all(|f| on_disk.contains(&f.file_name)));
        let levels: BTreeSet<i32> = self.live.iter().map(|f| f.level).filter(|level| *level > 0).collect();
        for level in levels {
            let files: Vec<DataFileMeta> = self.live.iter().filter(|f| f.level == level).cloned().collect();
            let sections = interval_partition(&files, &[DataType::not_null(TypeKind::Int)]).unwrap();
            assert!(sections.iter().all(|s| s.len() == 1 && s[0].files.len() == 1), "level {level} overlaps");
        }
    }

    /// Nothing is left of writers that were aborted and of files made and used up within a commit.
    fn check_no_orphans(&self) {
        assert_eq!(self.data_files().difference(&self.committed).collect::<Vec<_>>(), Vec::<&String>::new());
    }
}

/// What is done to a bucket.
#[derive(Clone, Debug)]
enum Step {
    Write(Vec<Row>),
    Flush,
    Release,
    Compact(bool),
    Commit(bool),
    Abort,
    /// commits, closes the writer and has a dedicated job compact
    Task(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let row = (-12i32..12, prop::option::of(-2i8..3), prop::bool::weighted(0.3));
    let step = prop_oneof![
        8 => prop::collection::vec(row, 0..25).prop_map(Step::Write),
        3 => Just(Step::Flush),
        1 => Just(Step::Release),
        1 => any::<bool>().prop_map(Step::Compact),
        3 => any::<bool>().prop_map(Step::Commit),
        1 => Just(Step::Abort),
        1 => any::<bool>().prop_map(Step::Task),
    ];
    prop::collection::vec(step, 1..30)
}

prop_compose! {
    fn options()(
        trigger in 1usize..5,
        rows_of_a_file in prop::option::of(1u32..8),
        small in prop::sample::select(vec!["0", "0.7", "1"]),
        engine in prop::sample::select(vec![
            "deduplicate", "deduplicate", "deduplicate", "partial-update", "aggregation", "first-row",
        ]),
        sequence in prop::option::weighted(0.3, any::<bool>()),
        force in prop::sample::select(vec![
            "", "commit.force-compact", "compaction.force-up-level-0", "compaction.force-rewrite-all-files", "full",
        ]),
        threshold in prop::option::of(2usize..4),
        producer in prop::sample::select(vec!["none", "none", "input", "lookup", "lookup", "full-compaction", "forced"]),
        gentle in prop::bool::weighted(0.2), wait in any::<bool>(), dedup in any::<bool>(),
    ) -> Vec<(&'static str, String)> {
        let mut options = vec![
            ("num-sorted-run.compaction-trigger", trigger.to_string()),
            ("compaction.small-file-ratio", small.to_owned()),
            // sizes decide about upgrades: some files are above, some below
            ("target-file-size", "1500 b".to_owned()),
        ];
        options.extend(rows_of_a_file.map(|n| ("target-file-row-num", n.to_string())));
        options.extend(threshold.map(|n| ("sort-spill-threshold", n.to_string())));
        options.push(("merge-engine", engine.to_owned()));
        if engine == "aggregation" {
            options.push(("fields.seq.aggregate-function", "sum".to_owned()));
        }
        if let Some(descending) = sequence.filter(|_| engine == "deduplicate") {
            let order = if descending { "descending" } else { "ascending" };
            options.push(("sequence.field", "seq".to_owned()));
            options.push(("sequence.field.sort-order", order.to_owned()));
        }
        match producer {
            "none" => {}
            "input" | "full-compaction" if engine == "first-row" => {}
            "forced" => options.push(("force-lookup", "true".to_owned())),
            producer => options.push(("changelog-producer", producer.to_owned())),
        }
        if gentle {
            options.push(("lookup-compact", "gentle".to_owned()));
        }
        options.push(("lookup-wait", wait.to_string()));
        options.push(("changelog-producer.row-deduplicate", dedup.to_string()));
        match force {
            "" => {}
            "full" if producer == "lookup" => {}
            "full" => options.push(("full-compaction.delta-commits", "2".to_owned())),
            key => options.push((key, "true".to_owned())),
        }
        options
    }
}

prop_compose! {
    fn settings()(
        budget in prop::sample::select(vec![1usize, 600, 4_000, usize::MAX]),
        spill in any::<bool>(), write_only in prop::bool::weighted(0.2), streaming in any::<bool>(), threads in 0usize..3,
    ) -> WriterSettings {
        let dir = spill.then(|| std::env::temp_dir().join(format!("siltstone-bucket-{}", uuid::Uuid::new_v4())));
        WriterSettings { budget, spill_dir: dir, write_only, streaming, threads, ..alone() }
    }
}

fn remove(dir: Option<PathBuf>) {
    if let Some(dir) = dir {
        let left = std::fs::read_dir(&dir).map_or(0, Iterator::count);
        assert_eq!(left, 0, "spill files are left");
        let _ = std::fs::remove_dir(dir);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    #[test]
    fn a_bucket_shows_the_last_row_of_each_key_whatever_happens_to_it(
        options in options(), settings in settings(), steps in steps(),
    ) {
        let dir = settings.spill_dir.clone();
        let threads = settings.threads;
        let mut bucket = Bucket::new(&options, settings);
        for step in steps {
            match step {
                Step::Write(rows) => bucket.write(&rows),
                Step::Flush => bucket.writer().flush().unwrap(),
                Step::Release => bucket.writer().release_memory().unwrap(),
                Step::Compact(full) => bucket.writer().compact(full).unwrap(),
                Step::Commit(wait) => {
                    bucket.commit(wait);
                    bucket.check(threads);
                }
                Step::Abort => {
                    bucket.abort();
                    bucket.check(threads);
                    bucket.check_no_orphans();
                }
                Step::Task(full) => {
                    bucket.commit(true);
                    bucket.abort();
                    bucket.run_task(full);
                    bucket.check(threads);
                    bucket.check_no_orphans();
                }
            }
        }
        bucket.commit(true);
        bucket.abort();
        bucket.check(threads);
        bucket.check_no_orphans();
        remove(dir);
    }

    #[test]
    fn a_storage_that_fails_costs_no_committed_row(
        options in options(), settings in settings(), rows in prop::collection::vec(steps(), 2..3),
        calls in 0u64..120, after in any::<bool>(),
    ) {
        let dir = settings.spill_dir.clone();
        let mut bucket = Bucket::new(&options, WriterSettings { spill_dir: None, ..settings });
        let writes = |steps: &[Step]| -> Vec<Vec<Row>> {
            steps.iter().filter_map(|s| if let Step::Write(rows) = s { Some(rows.clone()) } else { None }).collect()
        };
        for batch in writes(&rows[0]) {
            bucket.write(&batch);
        }
        bucket.commit(true);
        bucket.fs.fail_after(calls, if after { FailWhen::After } else { FailWhen::Before });
        let written = writes(&rows[1]).iter().try_for_each(|batch| {
            let (batch, kinds) = bucket.batch(batch);
            let writer = bucket.writer();
            writer.write(&batch, &kinds).and_then(|()| writer.flush())
        });
        let prepared = written.and_then(|()| bucket.writer().prepare_commit(true));
        bucket.fs.heal();
        if let Ok((data, compact)) = prepared {
            bucket.model = bucket.pending.clone();
            bucket.apply(data, compact);
        }
        bucket.abort();
        bucket.fs.heal();
        bucket.check(0);
        remove(dir);
    }
}

#[test]
fn a_compaction_that_fails_leaves_none_of_its_files() {
    let settings = WriterSettings { write_only: true, streaming: false, ..alone() };
    let options = [("target-file-row-num", "3".to_owned())];
    let mut bucket = Bucket::new(&options, settings);
    for round in 0..4 {
        let rows: Vec<Row> = (0..40).map(|k| (k * 2 + round % 2, None, false)).collect();
        bucket.write(&rows);
        bucket.commit(true);
    }
    bucket.abort();
    let before = bucket.data_files();
    let unit = pick(&bucket.ctx, &bucket.live, true).unwrap().unwrap();
    let resources = CompactResources::default();
    // one input becomes unreadable half way: everything before it was merged and written
    let last = bucket.live.iter().max_by_key(|f| f.max_key.clone()).unwrap().file_name.clone();
    let path = format!("{ROOT}/bucket-0/{last}");
    bucket.fs.put(&path, b"not a data file");
    let error = run_compaction(&bucket.ctx, &partition(), 0, &bucket.live, &unit, &resources).unwrap_err();
    assert!(error.to_string().contains(&last), "{error}");
    assert_eq!(bucket.data_files(), before);
}

#[test]
fn a_full_compaction_due_at_a_commit_happens_once() {
    let options =
        [("num-sorted-run.compaction-trigger", "2".to_owned()), ("full-compaction.delta-commits", "1".to_owned())];
    let settings = alone();
    let mut bucket = Bucket::new(&options, settings);
    for _ in 0..5 {
        bucket.write(&[(1, None, false), (2, None, false)]);
        let calls = bucket.fs.trace().len();
        bucket.commit(true);
        bucket.check(0);
        let created = bucket.fs.trace().split_off(calls).into_iter().filter(|c| c.contains(" create ")).count();
        assert_eq!(bucket.live.len(), 1);
        assert!(created <= 2, "one file flushed, one compacted: {:?}", bucket.fs.trace().split_off(calls));
    }
}

fn alone() -> WriterSettings {
    let permits = CompactionPermits::new(1);
    WriterSettings {
        encoded: None,
        budget: usize::MAX,
        spill_dir: None,
        write_only: false,
        streaming: true,
        threads: 0,
        permits,
        cache: LookupCache::new(1 << 20),
        ignore_previous: false,
    }
}

#[test]
fn a_file_that_overlaps_nothing_is_moved_up_without_rewriting() {
    let mut bucket = Bucket::new(&[("compaction.small-file-ratio", "0".to_owned())], alone());
    bucket.write(&[(1, None, false), (2, None, false)]);
    bucket.writer().compact(true).unwrap();
    let (data, compact) = bucket.writer().prepare_commit(true).unwrap();
    assert_eq!(data.new_files.len(), 1);
    assert_eq!(compact.compact_before, data.new_files);
    assert_eq!(
        compact.compact_after,
        [DataFileFields { level: 5, ..DataFileFields::clone(&data.new_files[0]) }.into()]
    );
    bucket.apply(data, compact);
    // a delete cannot be moved to the highest level: it goes
    bucket.write(&[(9, None, true)]);
    bucket.writer().compact(true).unwrap();
    let (data, compact) = bucket.writer().prepare_commit(true).unwrap();
    assert_eq!((compact.compact_before.len(), compact.compact_after.len()), (1, 0));
    bucket.apply(data, compact);
    assert_eq!(bucket.read(0).len(), 2);
}

#[test]
fn sequence_numbers_go_on_where_the_live_files_end() {
    let mut bucket = Bucket::new(&[], alone());
    for start in [0, 2] {
        bucket.write(&[(1, None, false), (2, None, false)]);
        bucket.commit(true);
        bucket.abort();
        let file = bucket.live.last().unwrap();
        assert_eq!((file.min_sequence_number, file.max_sequence_number), (start, start + 1));
    }
}

#[test]
fn a_compaction_beside_the_writing_reports_its_error_at_the_commit() {
    let mut bucket = Bucket::new(&[], WriterSettings { threads: 1, ..alone() });
    for _ in 0..3 {
        bucket.write(&(0..50).map(|k| (k, None, false)).collect::<Vec<_>>());
        bucket.commit(true);
    }
    let name = bucket.live[1].file_name.clone();
    bucket.fs.put(&format!("{ROOT}/bucket-0/{name}"), b"not a data file");
    bucket.writer().compact(true).unwrap();
    assert!(bucket.writer().prepare_commit(true).is_err());
    bucket.abort();
    assert_eq!(bucket.data_files(), bucket.committed);
}
