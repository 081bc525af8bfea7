#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests may stop at the first surprise")]
//! Commits of made-up files to tables in memory: what is published, refused, repeated and survives.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{CommitOutcome, Committable, CompactionOutcome, OverwriteTarget, TableCommit, invariants};
use crate::{
    env::ManualClock,
    error::{Error, ErrorKind},
    fs::{BeforeCall, FailWhen, FaultFileIo, FileIoRef},
    io::TableContext,
    manifest::{
        BucketId, CompactIncrement, DataFileFields, DataFileMeta, DataIncrement, EntryKind, IndexManifestEntry,
        ManifestEntry, ManifestStore,
    },
    options::CoreOptions,
    path::PathFactory,
    row::{BinaryRow, Datum},
    scan::{EntryFilter, PartitionSpec, live_entries},
    schema::{NewTable, SchemaChange, SchemaManager},
    snapshot::{CommitKind, Snapshot, SnapshotManager},
    stats::SimpleStats,
    types::{DataField, DataType, TypeKind},
    wire::CommitMessage,
};

mod descent;
mod held_up;
mod outcomes;
mod overwrites;
mod repeated;
mod ties;

const ROOT: &str = "/t";

struct Table {
    io: FaultFileIo,
    ctx: TableContext,
}

fn table(keys: &[&str], partitions: &[&str], options: &[(&str, &str)]) -> Table {
    let field = |id, name: &str| DataField::new(id, name, DataType::not_null(TypeKind::Int));
    let new = NewTable {
        fields: vec![field(0, "p"), field(1, "k"), field(2, "v")],
        primary_key: keys.iter().map(|s| (*s).to_owned()).collect(),
        partition_by: partitions.iter().map(|s| (*s).to_owned()).collect(),
        options: options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        comment: None,
    };
    let io = FaultFileIo::new();
    let fs: FileIoRef = Arc::new(io.clone());
    let schemas = Arc::new(SchemaManager::new(Arc::clone(&fs), ROOT));
    let schema = schemas.create(new.into_schema().unwrap()).unwrap();
    let options = Arc::new(CoreOptions::parse(&schema.options).unwrap());
    let ctx = TableContext {
        fs,
        name: "db.t".to_owned(),
        location: ROOT.to_owned(),
        branch: "main".to_owned(),
        paths: Arc::new(PathFactory::new(ROOT, &schema, &options)),
        schema,
        options,
        schemas,
        dynamic: Arc::default(),
        written: None,
        remembered: Arc::default(),
    };
    Table { io, ctx }
}

fn append_table() -> Table {
    table(&[], &[], &[])
}

fn key_table() -> Table {
    table(&["k"], &[], &[("bucket", "1")])
}

fn row(value: i32) -> Vec<u8> {
    BinaryRow::from_datums(&[DataType::new(TypeKind::Int)], &[Datum::Int(value)]).unwrap().to_serialized()
}

fn file(name: &str, level: i32, keys: (i32, i32)) -> DataFileMeta {
    DataFileFields {
        file_name: name.to_owned(),
        file_size: 1,
        row_count: 10,
        min_key: row(keys.0),
        max_key: row(keys.1),
        key_stats: SimpleStats::empty(),
        value_stats: SimpleStats::empty(),
        min_sequence_number: 0,
        max_sequence_number: 9,
        schema_id: 0,
        level,
        extra_files: Vec::new(),
        creation_time: None,
        delete_row_count: Some(0),
        embedded_file_index: None,
        file_source: None,
        value_stats_cols: None,
        external_path: None,
        first_row_id: None,
        write_cols: None,
    }
    .into()
}

fn f(name: &str) -> DataFileMeta {
    file(name, 0, (0, 9))
}

fn message(data: DataIncrement, compact: CompactIncrement) -> CommitMessage {
    let bucket = BucketId { partition: vec![0; 12], bucket: 0 };
    CommitMessage { bucket, total_buckets: 1, data, compact, seen: None, after: None, assigned: None }
}

fn adds(names: &[&str]) -> CommitMessage {
    let new_files = names.iter().map(|name| f(name)).collect();
    message(DataIncrement { new_files, ..DataIncrement::default() }, CompactIncrement::default())
}

fn compacts(before: &[DataFileMeta], after: &[DataFileMeta]) -> CommitMessage {
    let compact =
        CompactIncrement { compact_before: before.to_vec(), compact_after: after.to_vec(), ..Default::default() };
    message(DataIncrement::default(), compact)
}

fn in_partition(value: i32, names: &[&str]) -> CommitMessage {
    let mut message = adds(names);
    message.bucket.partition = row(value);
    message
}

fn of(messages: Vec<CommitMessage>) -> Committable {
    Committable { messages, ..Committable::default() }
}

fn spec(value: &str) -> PartitionSpec {
    BTreeMap::from([("p".to_owned(), Some(value.to_owned()))])
}

impl Table {
    fn commit_as(&self, user: &str) -> TableCommit {
        TableCommit::new(&self.ctx, user).with_clock(Arc::new(ManualClock::at(1_000)))
    }

    fn add(&self, names: &[&str]) -> CommitOutcome {
        self.put(names);
        self.commit_as("adder").commit(of(vec![adds(names)])).unwrap()
    }

    /// The data files themselves, as writers leave them: content durable, names not yet.
    fn put(&self, names: &[&str]) {
        for name in names {
            self.ctx.fs.write_new(&format!("{ROOT}/bucket-0/{name}"), b"rows", true).unwrap();
        }
    }

    fn has(&self, name: &str) -> bool {
        self.io.paths().iter().any(|path| path.ends_with(&format!("/{name}")))
    }

    fn latest(&self) -> Option<Snapshot> {
        SnapshotManager::new(Arc::clone(&self.ctx.fs), ROOT).latest().unwrap()
    }

    fn live(&self) -> Vec<ManifestEntry> {
        let Some(latest) = self.latest() else {
            return Vec::new();
        };
        let live = live_entries(&self.ctx, &latest, &EntryFilter::default()).unwrap();
        invariants::total_is_sum_of_live_files(&latest, &live).unwrap();
        live
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.live().into_iter().map(|entry| entry.file.into_inner().file_name).collect();
        names.sort();
        names
    }

    /// Metadata files that no snapshot refers to.
    fn orphans(&self) -> Vec<String> {
        let store = ManifestStore::new(&self.ctx.fs, &self.ctx.paths, &self.ctx.options).unwrap();
        let manager = SnapshotManager::new(Arc::clone(&self.ctx.fs), ROOT);
        let mut used: Vec<String> = Vec::new();
        for id in manager.ids().unwrap() {
            let s = manager.get(id).unwrap();
            for list in [Some(s.base_list()), Some(s.delta_list()), s.changelog_list()].into_iter().flatten() {
                used.extend(store.read_list(list).unwrap().into_iter().map(|m| m.file_name));
                used.push(list.name.to_owned());
            }
            used.extend(s.index_manifest);
        }
        let files = self.io.paths().into_iter().filter(|path| path.starts_with("/t/manifest/"));
        files.filter(|path| !used.iter().any(|name| path.ends_with(name))).collect()
    }
}

#[test]
fn the_first_commit_is_snapshot_one_and_counts_its_rows() {
    let t = append_table();
    let committable = Committable { watermark: Some(7), ..of(vec![adds(&["a", "b"])]) };
    let outcome = t.commit_as("u").commit(committable).unwrap();
    let snapshot = outcome.snapshots[0].clone();
    assert_eq!((snapshot.id, snapshot.commit_identifier, snapshot.commit_kind), (1, 0, CommitKind::Append));
    assert_eq!((snapshot.total_record_count, snapshot.delta_record_count), (Some(20), Some(20)));
    assert_eq!((snapshot.watermark, snapshot.changelog_record_count), (Some(7), None));
    assert_eq!((snapshot.time_millis, snapshot.commit_user.as_str()), (1_000, "u"));
    assert_eq!(t.latest(), Some(snapshot));
    assert_eq!(t.names(), ["a", "b"]);
    assert_eq!(t.ctx.fs.read("/t/snapshot/LATEST").unwrap(), "1");
}

#[test]
fn nothing_to_commit_makes_no_snapshot_unless_asked_for() {
    let t = append_table();
    assert!(t.commit_as("u").commit(of(vec![])).unwrap().snapshots.is_empty());
    let empty = Committable { allow_empty: true, ..Committable::default() };
    assert_eq!(t.commit_as("u").commit(empty).unwrap().snapshots.len(), 1);
    assert_eq!(t.latest().unwrap().delta_record_count, Some(0));
}

#[test]
fn commits_without_identifier_are_numbered_and_never_skipped() {
    let t = append_table();
    let commit = t.commit_as("u");
    for (i, name) in ["a", "b", "c"].iter().enumerate() {
        let outcome = commit.commit(of(vec![adds(&[name])])).unwrap();
        assert_eq!(outcome.snapshots[0].commit_identifier, i64::try_from(i).unwrap());
    }
    let later = t.commit_as("u").commit(of(vec![adds(&["d"])])).unwrap();
    assert_eq!(later.snapshots[0].commit_identifier, 3);
    assert_eq!(
        TableCommit::with_new_user(&t.ctx).commit(of(vec![adds(&["e"])])).unwrap().snapshots[0].commit_identifier,
        0
    );
}

#[test]
fn an_explicit_identifier_is_committed_once_and_for_its_user_only() {
    let t = append_table();
    let with = |id, name| Committable { identifier: Some(id), ..of(vec![adds(&[name])]) };
    t.commit_as("u").commit(with(5, "a")).unwrap();
    for id in [4, 5] {
        let again = t.commit_as("u").commit(with(id, "b")).unwrap();
        assert!(again.already_committed && again.snapshots.is_empty());
    }
    assert!(!t.commit_as("v").commit(with(5, "c")).unwrap().already_committed);
    assert!(!t.commit_as("u").commit(with(6, "d")).unwrap().already_committed);
    assert_eq!(t.names(), ["a", "c", "d"]);
}

#[test]
fn batch_identifiers_of_java_say_nothing() {
    let t = append_table();
    let with = |id, name| Committable { identifier: Some(id), ..of(vec![adds(&[name])]) };
    t.commit_as("u").commit(with(3, "a")).unwrap();
    t.commit_as("u").commit(with(i64::MAX, "b")).unwrap();
    assert!(!t.commit_as("u").commit(with(i64::MAX, "c")).unwrap().already_committed);
    assert!(t.commit_as("u").commit(with(3, "d")).unwrap().already_committed);
    assert_eq!(t.commit_as("u").commit(of(vec![adds(&["e"])])).unwrap().snapshots[0].commit_identifier, 4);
}

#[test]
fn a_user_who_was_rolled_back_commits_again() {
    let t = append_table();
    let commit = t.commit_as("u");
    let with = |id, name| Committable { identifier: Some(id), ..of(vec![adds(&[name])]) };
    t.add(&["x"]);
    commit.commit(with(1, "a")).unwrap();
    t.ctx.fs.delete("/t/snapshot/snapshot-2").unwrap();
    assert!(!commit.commit(with(1, "a")).unwrap().already_committed);
    assert_eq!(t.names(), ["a", "x"]);
}

#[test]
fn compaction_is_a_snapshot_of_its_own_with_the_same_identifier() {
    let t = key_table();
    t.add(&["a"]);
    let mut message = compacts(&[f("a"), f("b")], &[file("c", 5, (0, 9))]);
    message.data.new_files = vec![f("b")];
    let outcome = t.commit_as("u").commit(of(vec![message])).unwrap();
    let kinds: Vec<CommitKind> = outcome.snapshots.iter().map(|s| s.commit_kind).collect();
    assert_eq!(kinds, [CommitKind::Append, CommitKind::Compact]);
    assert_eq!(outcome.snapshots[0].commit_identifier, outcome.snapshots[1].commit_identifier);
    assert!(matches!(outcome.compaction, CompactionOutcome::Committed));
    assert_eq!(t.names(), ["c"]);
}

#[test]
fn a_compaction_that_came_too_late_is_dropped_with_its_files_and_keeps_the_rows() {
    let t = key_table();
    t.add(&["a"]);
    t.put(&["b", "c", "d"]);
    t.commit_as("v").commit(of(vec![compacts(&[f("a")], &[file("c", 5, (0, 9))])])).unwrap();
    let mut message = compacts(&[f("a"), f("b")], &[file("d", 5, (0, 9))]);
    message.data.new_files = vec![f("b")];
    let outcome = t.commit_as("u").commit(of(vec![message.clone()])).unwrap();
    let CompactionOutcome::Dropped(error) = outcome.compaction else { panic!("{outcome:?}") };
    assert_eq!(error.kind(), ErrorKind::CommitConflict);
    assert_eq!(error.context_value("base_commit_user"), Some("u"));
    assert_eq!(t.names(), ["b", "c"]);
    assert!(t.has("b") && t.has("c") && !t.has("d"));
    assert_eq!(t.orphans(), Vec::<String>::new());
}

#[test]
fn a_dropped_compaction_does_not_delete_files_that_were_committed_before() {
    let t = key_table();
    t.add(&["a"]);
    t.put(&["b"]);
    let message = compacts(&[f("a")], &[file("b", 5, (0, 9))]);
    t.commit_as("u").commit(of(vec![message.clone()])).unwrap();
    let again = t.commit_as("v").commit(of(vec![message.clone()])).unwrap();
    assert!(matches!(again.compaction, CompactionOutcome::Dropped(_)));
    t.commit_as("v").abort(&[message]).unwrap();
    assert!(t.has("b"));
    assert_eq!(t.names(), ["b"]);
}

#[test]
fn overlapping_files_on_a_level_are_a_conflict() {
    let t = key_table();
    t.commit_as("u").commit(of(vec![compacts(&[], &[file("a", 5, (0, 9))])])).unwrap();
    let other = t.commit_as("u").commit(of(vec![compacts(&[], &[file("b", 5, (9, 20))])])).unwrap();
    let CompactionOutcome::Dropped(error) = other.compaction else { panic!("committed") };
    assert!(error.message().starts_with("LSM conflicts detected! Give up committing."), "{error}");
    t.commit_as("u").commit(of(vec![compacts(&[], &[file("b", 5, (10, 20))])])).unwrap();
    t.commit_as("u").commit(of(vec![compacts(&[], &[file("c", 4, (0, 9))])])).unwrap();
    assert_eq!(t.names(), ["a", "b", "c"]);
}

#[test]
fn an_upgrade_moves_a_file_between_levels_and_abort_keeps_it() {
    let t = key_table();
    t.add(&["a"]);
    let upgrade = compacts(&[f("a")], &[file("a", 5, (0, 9))]);
    t.commit_as("u").commit(of(vec![upgrade.clone()])).unwrap();
    assert_eq!(t.live()[0].file.level, 5);
    t.commit_as("u").abort(&[upgrade]).unwrap();
    assert!(t.has("a"));
}

#[test]
fn new_input_that_deletes_a_file_is_a_checked_overwrite() {
    let t = append_table();
    t.add(&["a"]);
    let delete = message(
        DataIncrement { new_files: vec![f("b")], deleted_files: vec![f("a")], ..Default::default() },
        CompactIncrement::default(),
    );
    let outcome = t.commit_as("u").commit(of(vec![delete.clone()])).unwrap();
    assert_eq!(outcome.snapshots[0].commit_kind, CommitKind::Overwrite);
    let error = t.commit_as("u").commit(of(vec![delete])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CommitConflict);
    assert_eq!(t.names(), ["b"]);
    assert_eq!(t.orphans(), Vec::<String>::new());
}

#[test]
fn recovered_appends_are_checked_and_their_files_must_exist() {
    let t = append_table();
    t.add(&["a"]);
    let again = Committable { check_append: true, ..of(vec![adds(&["a"])]) };
    assert_eq!(t.commit_as("u").commit(again).unwrap_err().kind(), ErrorKind::CommitConflict);
    let gone = Committable { check_append: true, ..of(vec![adds(&["b"])]) };
    assert_eq!(t.commit_as("u").commit(gone).unwrap_err().kind(), ErrorKind::CommitConflict);
}

#[test]
fn duplicate_files_are_left_out_when_the_option_says_so() {
    let t = table(&[], &[], &[("commit.discard-duplicate-files", "true")]);
    t.add(&["a"]);
    t.commit_as("u").commit(of(vec![adds(&["a", "b"])])).unwrap();
    assert_eq!(t.names(), ["a", "b"]);
    assert!(t.commit_as("u").commit(of(vec![adds(&["a", "b"])])).unwrap().snapshots.is_empty());
}

#[test]
fn an_index_manifest_is_kept_until_index_files_change() {
    let t = key_table();
    let index = |kind, name: &str| IndexManifestEntry {
        kind,
        partition: vec![0; 12],
        bucket: 0,
        index_type: "HASH".to_owned(),
        file_name: name.to_owned(),
        file_size: 4,
        row_count: 1,
        deletion_vectors: None,
        external_path: None,
        global_index: None,
    };
    let mut message = adds(&["a"]);
    message.data.index_files = vec![index(EntryKind::Add, "h1")];
    t.commit_as("u").commit(of(vec![message])).unwrap();
    let first = t.latest().unwrap().index_manifest;
    t.add(&["b"]);
    assert_eq!(t.latest().unwrap().index_manifest, first);
    let mut stale = adds(&["c"]);
    stale.data.index_files = vec![index(EntryKind::Delete, "h0"), index(EntryKind::Add, "h2")];
    assert_eq!(t.commit_as("u").commit(of(vec![stale])).unwrap_err().kind(), ErrorKind::CommitConflict);
    t.commit_as("u").truncate(None).unwrap();
    assert_eq!(t.latest().unwrap().index_manifest, None);
    assert_eq!(t.orphans(), Vec::<String>::new());
}

#[test]
fn manifests_are_packed_on_demand_and_then_there_is_nothing_to_do() {
    let t = append_table();
    assert_eq!(t.commit_as("u").compact_manifests().unwrap(), None);
    for name in ["a", "b", "c"] {
        t.add(&[name]);
    }
    t.commit_as("u").truncate(None).unwrap();
    t.add(&["d"]);
    let snapshot = t.commit_as("u").compact_manifests().unwrap().unwrap();
    assert_eq!((snapshot.commit_kind, snapshot.delta_record_count), (CommitKind::Compact, Some(0)));
    assert_eq!(t.names(), ["d"]);
    assert_eq!(t.commit_as("u").compact_manifests().unwrap(), None);
    assert_eq!(t.orphans(), Vec::<String>::new());
}

#[test]
fn many_small_manifests_are_merged_along_the_way() {
    let t = table(&[], &[], &[("manifest.merge-min-count", "3")]);
    let names: Vec<String> = (0..20).map(|i| format!("f{i:02}")).collect();
    for name in &names {
        t.add(&[name.as_str()]);
    }
    assert_eq!(t.names(), names);
    let store = ManifestStore::new(&t.ctx.fs, &t.ctx.paths, &t.ctx.options).unwrap();
    assert!(store.read_list(t.latest().unwrap().base_list()).unwrap().len() <= 3);
}

#[test]
fn snapshots_carry_the_newest_schema_and_the_larger_watermark() {
    let t = append_table();
    let with = |watermark, name| Committable { watermark, ..of(vec![adds(&[name])]) };
    t.commit_as("u").commit(with(Some(9), "a")).unwrap();
    let change = SchemaChange::SetOption { key: "snapshot.num-retained.min".to_owned(), value: "3".to_owned() };
    t.ctx.schemas.commit_changes(&[change]).unwrap();
    let snapshot = t.commit_as("u").commit(with(Some(4), "b")).unwrap().snapshots.remove(0);
    assert_eq!((snapshot.schema_id, snapshot.watermark), (1, Some(9)));
    assert_eq!(t.commit_as("u").commit(with(None, "c")).unwrap().snapshots[0].watermark, Some(9));
}

#[test]
fn the_aborted_files_go_and_the_others_stay() {
    let t = append_table();
    t.add(&["a"]);
    t.put(&["b"]);
    t.commit_as("u").abort(&[adds(&["a", "b"])]).unwrap();
    assert!(t.has("a") && !t.has("b"));
    t.commit_as("u").truncate(None).unwrap();
    t.commit_as("u").abort(&[adds(&["a"])]).unwrap();
    assert!(t.has("a"), "snapshot 1 still reads it");
}

#[test]
fn the_first_commit_writes_both_hints_and_later_ones_only_the_latest() {
    let t = append_table();
    t.add(&["a"]);
    t.add(&["b"]);
    let hint = |name: &str| t.ctx.fs.read(&format!("{ROOT}/snapshot/{name}")).unwrap();
    assert!(hint("EARLIEST") == "1" && hint("LATEST") == "2");
}
