//! Each thing that a deep check looks for, broken on purpose: the check names it, and nothing else.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use arrow_array::{ArrayRef, Int8Array, Int32Array, Int64Array, RecordBatch};
use siltstone::{
    ErrorKind,
    commit::Committable,
    deletion_vectors::{BitmapKind, DeletionVector, DeletionVectorsIndexFile, Held},
    fs::{FaultFileIo, FileIo as _, FileIoRef},
    io::{FileWriteSpec, RollingWriter, TableContext},
    maintenance::{
        automatic::Committer,
        fsck::{Severity, fsck},
    },
    manifest::{BucketId, DataFileMeta, EntryKind, FileSource, IndexManifestEntry, ManifestEntry, ManifestStore},
    row::{BinaryRow, Datum},
    scan::{ScanRequest, plan},
    schema::{NewTable, SchemaManager},
    snapshot::SnapshotManager,
    table::Table,
    types::{DataField, DataType, TypeKind},
};

mod line;

const ROOT: &str = "/lake/db.db/t";
/// The latest time: nothing is too young to be told of.
const NOW: i64 = 4_102_444_800_000;

/// A table `k INT, v BIGINT` whose only snapshot has what a test puts into it.
struct Broken {
    io: FaultFileIo,
    ctx: TableContext,
    entries: Vec<ManifestEntry>,
    index: Vec<IndexManifestEntry>,
}

impl Broken {
    fn new(options: &[(&str, &str)]) -> Self {
        Self::keyed(&["k"], &[], options)
    }

    fn keyed(key: &[&str], partition: &[&str], options: &[(&str, &str)]) -> Self {
        let io = FaultFileIo::new();
        let fs: FileIoRef = Arc::new(io.clone());
        let owned = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        let mut all: BTreeMap<String, String> =
            BTreeMap::from([("bucket".to_owned(), if key.is_empty() { "-1" } else { "1" }.to_owned())]);
        all.extend(options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
        let schema = NewTable {
            fields: vec![
                DataField::new(0, "k", DataType::new(TypeKind::Int)),
                DataField::new(1, "v", DataType::new(TypeKind::BigInt)),
            ],
            primary_key: owned(key),
            partition_by: owned(partition),
            options: all,
            comment: None,
        };
        SchemaManager::new(Arc::clone(&fs), ROOT).create(schema.into_schema().unwrap()).unwrap();
        let ctx = Table::open_with(fs, ROOT, "main", None, BTreeMap::new()).unwrap().context().clone();
        let empty = Committable { allow_empty: true, ..Committable::default() };
        Committer::with_new_user(&ctx).commit(empty).unwrap();
        Self { io, ctx, entries: Vec::new(), index: Vec::new() }
    }

    /// Writes a data file of `(k, v, kind)`, with sequence numbers from 1 on, and adds it to the snapshot.
    fn file(
        &mut self,
        level: i32,
        rows: &[(i32, Option<i64>, i8)],
        change: impl FnOnce(&mut DataFileMeta),
    ) -> &mut Self {
        let mut columns: Vec<(&str, ArrayRef)> = vec![
            ("k", Arc::new(rows.iter().map(|r| Some(r.0)).collect::<Int32Array>())),
            ("v", Arc::new(rows.iter().map(|r| r.1).collect::<Int64Array>())),
        ];
        let keyed = self.ctx.schema.has_primary_key();
        let spec = if keyed {
            columns.push(("_SEQUENCE_NUMBER", Arc::new((1_i64..).take(rows.len()).map(Some).collect::<Int64Array>())));
            columns.push(("_VALUE_KIND", Arc::new(rows.iter().map(|r| Some(r.2)).collect::<Int8Array>())));
            FileWriteSpec::key_value(level, FileSource::Append)
        } else {
            FileWriteSpec::append(0, FileSource::Append)
        };
        let partition = self.partition(rows[0].0);
        let mut writer = RollingWriter::new(&self.ctx, &partition, 0, spec).unwrap();
        writer.write(&RecordBatch::try_from_iter(columns).unwrap()).unwrap();
        let mut file = writer.finish().unwrap().remove(0);
        change(&mut file);
        self.entries.push(ManifestEntry { kind: EntryKind::Add, partition, bucket: 0, total_buckets: 1, file });
        self
    }

    fn partition(&self, k: i32) -> Vec<u8> {
        if self.ctx.schema.partition_keys.is_empty() { BinaryRow::empty().to_serialized() } else { key(k) }
    }

    /// Deletes rows of the last file by a vector.
    fn vector(&mut self, positions: &[u64], change: impl FnOnce(&mut IndexManifestEntry)) -> &mut Self {
        let mut vector = DeletionVector::new(BitmapKind::Bits32);
        vector.delete_all(positions).unwrap();
        let name = self.entries.last().unwrap().file.file_name.clone();
        let files = DeletionVectorsIndexFile::new(&self.ctx.fs, &self.ctx.paths, &self.ctx.options);
        let bucket = BucketId { partition: self.partition(0), bucket: 0 };
        let mut held = BTreeMap::from([(name, Held::Changed(vector))]);
        let mut index = files.write(&bucket, &mut held).unwrap();
        change(&mut index);
        self.index.push(index);
        self
    }

    /// Publishes the snapshot with other content, and returns the codes of problems and of warnings.
    fn check(&self) -> (BTreeSet<&'static str>, BTreeSet<&'static str>) {
        self.publish();
        self.look(true)
    }

    fn publish(&self) {
        let ctx = &self.ctx;
        let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options).unwrap();
        let metas = store.write(&self.entries).unwrap();
        let (delta, size) = store.write_list(&metas).unwrap();
        let snapshots = SnapshotManager::new(ctx.fs.clone(), ROOT);
        let mut snapshot = snapshots.latest().unwrap().unwrap();
        let rows = self.entries.iter().map(|e| e.file.row_count).sum();
        (snapshot.delta_manifest_list, snapshot.delta_manifest_list_size) = (delta, Some(size));
        (snapshot.total_record_count, snapshot.delta_record_count) = (Some(rows), Some(rows));
        if !self.index.is_empty() {
            snapshot.index_manifest = Some(store.write_index(&self.index).unwrap());
        }
        let path = snapshots.path(snapshot.id);
        ctx.fs.delete(&path).unwrap();
        ctx.fs.publish(&path, snapshot.to_json().unwrap().as_bytes(), true).unwrap();
    }

    /// The codes of problems and of warnings.
    fn look(&self, deep: bool) -> (BTreeSet<&'static str>, BTreeSet<&'static str>) {
        let verdict = fsck(&self.ctx, deep, NOW).unwrap();
        let of = |severity| {
            let found = verdict.findings.iter().filter(|f| f.severity == severity && f.code != "unreferenced-file");
            for finding in found.clone() {
                assert!(!finding.repair.is_empty() && !finding.place.is_empty(), "{finding:?}");
            }
            found.map(|f| f.code).collect()
        };
        (of(Severity::Problem), of(Severity::Warning))
    }

    /// The problems; there are no warnings.
    fn problems(&self) -> Vec<&'static str> {
        let (problems, warnings) = self.check();
        assert_eq!(warnings, BTreeSet::new());
        problems.into_iter().collect()
    }
}

fn key(k: i32) -> Vec<u8> {
    BinaryRow::from_datums(&[DataType::not_null(TypeKind::Int)], &[Datum::Int(k)]).unwrap().to_serialized()
}

const ROWS: [(i32, Option<i64>, i8); 3] = [(1, Some(10), 0), (2, None, 3), (5, Some(30), 2)];
const DELETED: [(&str, &str); 1] = [("deletion-vectors.enabled", "true")];

#[test]
fn a_table_that_is_whole_has_no_findings() {
    assert!(Broken::new(&[]).file(0, &ROWS, |_| ()).problems().is_empty());
    let mut appended = Broken::keyed(&[], &["k"], &[]);
    assert!(appended.file(0, &[(1, Some(4), 0)], |_| ()).file(0, &[(7, None, 0)], |_| ()).problems().is_empty());
}

#[test]
fn what_a_manifest_says_of_a_file_is_compared_with_its_rows() {
    type Change = fn(&mut DataFileMeta);
    let cases: [(&str, Change); 8] = [
        ("bad-data-file", |f| f.row_count += 1),
        ("wrong-size", |f| f.file_size += 1),
        ("wrong-delete-count", |f| f.delete_row_count = Some(2)),
        ("wrong-key-range", |f| f.max_key = key(4)),
        ("wrong-key-range", |f| f.min_key = key(2)),
        ("wrong-sequence-range", |f| f.max_sequence_number = 2),
        ("wrong-null-count", |f| f.value_stats.null_counts[1] = Some(0)),
        ("wrong-bounds", |f| f.value_stats.max_values = f.value_stats.min_values.clone()),
    ];
    for (code, change) in cases {
        let found = Broken::new(&[]).file(0, &ROWS, change).problems();
        assert!(found.contains(&code), "{code}: {found:?}");
        assert!(found.len() == 1 || code == "wrong-size" || code == "bad-data-file", "{code}: {found:?}");
    }
}

#[test]
fn a_range_of_keys_that_is_too_wide_is_a_warning() {
    let (problems, warnings) = Broken::new(&[]).file(0, &ROWS, |f| f.max_key = key(9)).check();
    assert_eq!((problems.len(), warnings), (0, BTreeSet::from(["wide-key-range"])));
}

#[test]
fn rows_of_a_file_are_sorted_by_key_and_each_key_comes_once() {
    assert_eq!(
        Broken::new(&[]).file(0, &[(3, None, 0), (1, None, 0), (4, None, 0)], |_| ()).problems(),
        ["unsorted-file"]
    );
    assert_eq!(Broken::new(&[]).file(0, &[(1, None, 0), (1, None, 0)], |_| ()).problems(), ["key-twice"]);
}

#[test]
fn files_above_level_0_do_not_overlap() {
    let mut table = Broken::new(&[]);
    table.file(1, &[(1, None, 0), (3, None, 0)], |_| ()).file(1, &[(2, None, 0), (4, None, 0)], |_| ());
    assert_eq!(table.problems(), ["overlapping-files"]);
    let mut table = Broken::new(&[]);
    table.file(0, &[(1, None, 0), (3, None, 0)], |_| ()).file(0, &[(2, None, 0), (4, None, 0)], |_| ());
    assert!(table.problems().is_empty());
}

#[test]
fn no_primary_key_comes_twice_in_a_version() {
    let mut table = Broken::new(&DELETED);
    table.file(5, &[(1, None, 0), (2, None, 0)], |_| ()).file(4, &[(2, None, 0)], |_| ());
    assert_eq!(table.problems(), ["key-twice"]);
    let mut table = Broken::new(&DELETED);
    table.file(4, &[(2, None, 0)], |_| ()).file(5, &[(1, None, 0), (2, None, 0)], |_| ()).vector(&[1], |_| ());
    assert!(table.problems().is_empty());
}

#[test]
fn deletion_vectors_are_whole_and_belong_to_live_files() {
    type Change = fn(&mut IndexManifestEntry);
    let cases: [(&[&str], &[u64], Change); 4] = [
        (&[], &[0, 2], |_| ()),
        (&["bad-vector"], &[0], |i| i.deletion_vectors.as_mut().unwrap()[0].cardinality = Some(2)),
        (&["wrong-vector-count"], &[0], |i| i.row_count = 4),
        (&["vector-beyond-file"], &[0, 3], |_| ()),
    ];
    for (codes, positions, change) in cases {
        let found = Broken::new(&DELETED).file(5, &ROWS, |_| ()).vector(positions, change).problems();
        let others = |code: &&str| codes.contains(code) || (*code == "unreadable-version" && !codes.is_empty());
        assert!(found.iter().all(others) && codes.iter().all(|c| found.contains(c)), "{codes:?}: {found:?}");
    }
}

#[test]
fn index_entries_are_checked_without_reading_a_file() {
    type Change = fn(&mut IndexManifestEntry);
    let cases: [(&[&str], Change); 7] = [
        (&[], |_| ()),
        (&["bad-index-entry"], |i| i.deletion_vectors.as_mut().unwrap()[0].offset = 0),
        (&["bad-index-entry"], |i| i.deletion_vectors.as_mut().unwrap()[0].length = 1 << 20),
        (&["bad-index-entry"], |i| i.deletion_vectors.as_mut().unwrap()[0].cardinality = Some(-1)),
        (&["bad-index-entry"], |i| i.deletion_vectors.as_mut().unwrap()[0].cardinality = Some(4)),
        (&["wrong-vector-count"], |i| i.row_count = 4),
        (&["unknown-index"], |i| i.index_type = "FANCY".to_owned()),
    ];
    for (codes, change) in cases {
        let mut table = Broken::new(&DELETED);
        table.file(5, &ROWS, |_| ()).vector(&[0], change).publish();
        // an index file in another bucket's directory is not there
        let found = table.look(false).0.into_iter().filter(|code| *code != "missing-file");
        assert_eq!(found.collect::<Vec<_>>(), codes);
    }
    let mut twice = Broken::new(&DELETED);
    twice.file(5, &ROWS, |_| ()).vector(&[0], |_| ()).vector(&[1], |_| ()).publish();
    assert_eq!(twice.look(false).0, BTreeSet::from(["vector-twice"]));
}

/// Full compactions of Java 1.4 leave the vectors of the files that they replace: such tables could not be read.
#[test]
fn a_vector_for_a_file_that_is_not_there_says_nothing_and_is_a_warning() {
    type Change = fn(&mut IndexManifestEntry);
    let cases: [Change; 2] =
        [|i| i.deletion_vectors.as_mut().unwrap()[0].data_file_name = "gone".to_owned(), |i| i.bucket = 3];
    for change in cases {
        let mut table = Broken::new(&DELETED);
        table.file(5, &ROWS, |_| ()).vector(&[0], change).publish();
        assert!(table.look(false).1.contains("dangling-vector"));
        let planned = plan(&table.ctx, &ScanRequest::default()).unwrap();
        assert_eq!(planned.splits.iter().map(|split| split.files.len()).sum::<usize>(), 1);
        assert!(
            planned.splits.iter().flat_map(|split| split.deletion_files.iter().flatten()).flatten().next().is_none()
        );
    }
}

/// Reads with a condition failed, and the check found nothing.
#[test]
fn indexes_of_files_are_opened_and_asked() {
    type Change = fn(&mut Vec<u8>);
    let indexed = [("file-index.bitmap.columns", "v"), ("file-index.in-manifest-threshold", "1 mb")];
    let cases: [(bool, bool, Change); 4] = [
        (false, false, |_| ()),
        (true, true, Vec::clear),
        (true, true, |index| index.truncate(20)),
        // the head is whole, the index of the column is not
        (false, true, |index| {
            let head = u32::from_be_bytes(index[12..16].try_into().unwrap()) as usize;
            index[head..].fill(0xff);
        }),
    ];
    for (shallow, deep, change) in cases {
        let mut table = Broken::new(&indexed);
        table.file(5, &ROWS, |file| change(file.embedded_file_index.as_mut().unwrap())).publish();
        let wanted = |found: bool| BTreeSet::from_iter(found.then_some("bad-file-index"));
        assert_eq!((table.look(false).0, table.look(true).0), (wanted(shallow), wanted(deep)));
    }
}

/// The deleted rows came back without a word.
#[test]
fn a_read_stops_where_an_index_entry_does_not_name_its_vectors() {
    type Change = fn(&mut IndexManifestEntry);
    let cases: [Change; 3] =
        [|i| i.deletion_vectors = None, |i| i.deletion_vectors = Some(Vec::new()), |i| i.row_count = 4];
    for change in cases {
        let mut table = Broken::new(&DELETED);
        table.file(5, &ROWS, |_| ()).vector(&[0], change).publish();
        let error = plan(&table.ctx, &ScanRequest::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptFile);
        for key in ["table", "file", "index_file", "expected", "found"] {
            assert!(error.context_value(key).is_some(), "{key}: {error}");
        }
    }
}

#[test]
fn a_vector_that_stays_when_its_file_goes_is_found_without_reading_a_file() {
    let mut table = Broken::new(&DELETED);
    table.file(5, &ROWS, |_| ()).vector(&[0], |_| ()).publish();
    assert_eq!(table.look(false), (BTreeSet::new(), BTreeSet::new()));
    let ctx = &table.ctx;
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options).unwrap();
    let list = |entries: &[ManifestEntry]| store.write_list(&store.write(entries).unwrap()).unwrap();
    let gone: Vec<_> = table.entries.iter().map(|e| ManifestEntry { kind: EntryKind::Delete, ..e.clone() }).collect();
    let (base, delta) = (list(&table.entries), list(&gone));
    let snapshots = SnapshotManager::new(ctx.fs.clone(), ROOT);
    let mut second = snapshots.latest().unwrap().unwrap();
    second.id = 2;
    (second.base_manifest_list, second.base_manifest_list_size) = (base.0, Some(base.1));
    (second.delta_manifest_list, second.delta_manifest_list_size) = (delta.0, Some(delta.1));
    (second.total_record_count, second.delta_record_count) = (Some(0), Some(-3));
    ctx.fs.publish(&snapshots.path(2), second.to_json().unwrap().as_bytes(), true).unwrap();
    let (problems, warnings) = table.look(false);
    assert_eq!((problems, warnings.contains("dangling-vector")), (BTreeSet::new(), true));
}

#[test]
fn a_vector_with_a_wrong_checksum_is_found() {
    let mut table = Broken::new(&DELETED);
    table.file(5, &ROWS, |_| ()).vector(&[0], |_| ());
    let path = table.ctx.paths.index_file_of(&table.index[0]).unwrap();
    let mut bytes = table.io.read(&path).unwrap().to_vec();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    table.io.delete(&path).unwrap();
    table.io.write_new(&path, &bytes, true).unwrap();
    assert!(table.problems().contains(&"bad-vector"));
}

#[test]
fn a_hash_index_has_as_many_hashes_as_its_manifest_says() {
    let mut table = Broken::new(&[]);
    table.file(0, &ROWS, |_| ()).vector(&[0], |index| {
        (index.index_type, index.deletion_vectors) = ("HASH".to_owned(), None);
        index.row_count = 1;
    });
    assert_eq!(table.problems(), ["bad-hash-index"]);
}

#[test]
fn partitions_lie_within_the_bounds_of_their_manifest() {
    let mut table = Broken::keyed(&[], &["k"], &[]);
    table.file(0, &[(1, None, 0)], |_| ()).file(0, &[(7, None, 0)], |_| ());
    let ctx = &table.ctx;
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options).unwrap();
    let mut metas = store.write(&table.entries).unwrap();
    metas[0].partition_stats.max_values = key(6);
    let (list, size) = store.write_list(&metas).unwrap();
    let snapshots = SnapshotManager::new(ctx.fs.clone(), ROOT);
    let mut snapshot = snapshots.latest().unwrap().unwrap();
    (snapshot.delta_manifest_list, snapshot.delta_manifest_list_size) = (list, Some(size));
    (snapshot.total_record_count, snapshot.delta_record_count) = (Some(2), Some(2));
    ctx.fs.delete(&snapshots.path(1)).unwrap();
    ctx.fs.publish(&snapshots.path(1), snapshot.to_json().unwrap().as_bytes(), true).unwrap();
    let verdict = fsck(ctx, false, NOW).unwrap();
    let problems: Vec<_> = verdict.findings.iter().filter(|f| f.severity == Severity::Problem).collect();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].message.contains("the partition k = 7 is outside"), "{problems:?}");
}
