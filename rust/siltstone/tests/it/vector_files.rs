//! Index files of deletion vectors: how long they live, and what becomes of a table whose vectors lie.
//!
//! Each lie is told by the index manifest (or by a vector of its own) of an otherwise whole table. Reading, counting,
//! writing, deleting and compacting must each end with an error that names a file, and change nothing; what needs no
//! vectors (adding rows to an append table) may go on.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use siltstone::{
    ErrorKind, Result,
    commit::{CommitOutcome, Committable, CompactionOutcome},
    compact::{CompactRequest, TaskResources, plan_compaction, run_task},
    deletion_vectors::{BitmapKind, DeletionVector, DeletionVectorsIndexFile, Held},
    format::avro::Compression,
    fs::{FaultFileIo, FileIoRef},
    io::TableContext,
    maintenance::{
        automatic::Committer,
        expire::{Retention, expire_snapshots},
        orphan_files::remove_orphan_files,
        tag::{CreateTag, create_tag, delete_tag},
    },
    manifest::{DataFileMeta, EntryKind, IndexManifestEntry, ManifestEntry, ManifestStore, encode_index_manifest},
    read::{count, read_splits},
    scan::{ReadOptions, ScanRequest, VersionSelector, plan},
    snapshot::{Snapshot, SnapshotManager, TagManager},
    wire::{CompactionTask, TaskUnit},
};

use crate::crash::{ROOT, VECTORS, append, compact, delete, memory, open, state};

const KINDS: [(&str, BitmapKind); 2] = [("false", BitmapKind::Bits32), ("true", BitmapKind::Bits64)];

/// Which table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A primary key, one bucket.
    Keyed,
    /// No key, one bucket.
    Bucket,
    /// No key, no buckets.
    Unaware,
}

/// A table with a key, whose large file has two rows deleted by a vector; or without, and two files with a vector each.
fn table(form: Form, bitmap64: &str) -> (FaultFileIo, FileIoRef) {
    let mut options = vec![VECTORS, ("deletion-vectors.bitmap64", bitmap64), ("manifest.compression", "null")];
    let key: &[&str] = if form == Form::Keyed { &["k"] } else { &[] };
    options.extend(match form {
        Form::Keyed => vec![("bucket", "1")],
        // the third file makes a writer compact
        Form::Bucket => vec![("bucket", "1"), ("bucket-key", "k"), ("compaction.min.file-num", "3")],
        Form::Unaware => vec![],
    });
    let (io, fs) = memory(key, &options);
    let rows = |from: i32| (from..from + 5).map(|k| (k, 0)).collect::<Vec<_>>();
    if key.is_empty() {
        append(&open(&fs, ROOT), 0, &rows(0)).unwrap();
        append(&open(&fs, ROOT), 1, &rows(5)).unwrap();
        delete(&open(&fs, ROOT), 2, "k = 3 OR k = 7").unwrap();
    } else {
        append(&open(&fs, ROOT), 0, &(0..3000).map(|k| (k, i64::from(k))).collect::<Vec<_>>()).unwrap();
        compact(&open(&fs, ROOT), 1).unwrap();
        append(&open(&fs, ROOT), 2, &[(1, 1), (9000, 1)]).unwrap();
        append(&open(&fs, ROOT), 3, &[(9000, 2), (3, 2)]).unwrap();
    }
    (io, fs)
}

fn latest(fs: &FileIoRef) -> Snapshot {
    SnapshotManager::new(Arc::clone(fs), ROOT).latest().unwrap().unwrap()
}

fn index_of(ctx: &TableContext, snapshot: &Snapshot) -> Vec<IndexManifestEntry> {
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options).unwrap();
    snapshot.index_manifest.as_ref().map_or_else(Vec::new, |name| store.read_index(name).unwrap())
}

fn done(outcome: Result<CommitOutcome>) -> Result<()> {
    match outcome?.compaction {
        CompactionOutcome::Dropped(e) | CompactionOutcome::Failed(e) => Err(e),
        CompactionOutcome::None | CompactionOutcome::Committed => Ok(()),
    }
}

type Operation = fn(&TableContext) -> Result<()>;

fn read(ctx: &TableContext) -> Result<()> {
    let plan = plan(ctx, &ScanRequest::default())?;
    read_splits(&plan.ctx, &plan.splits, &plan.read, 1)?.try_for_each(|batch| batch.map(drop))
}

const READ: (&str, Operation) = ("read", read);
const WRITE: (&str, Operation) = ("write", |ctx| done(append(ctx, 9, &[(2, 9)])));
const DELETE: (&str, Operation) = ("delete", |ctx| done(delete(ctx, 9, "k >= 0")));
const COMPACT: (&str, Operation) = ("compact", |ctx| done(compact(ctx, 9)));
const FORMS: [(Form, &[(&str, Operation)]); 3] = [
    (Form::Keyed, &[READ, WRITE, COMPACT]),
    (Form::Bucket, &[READ, WRITE, DELETE, COMPACT]),
    (Form::Unaware, &[READ, DELETE, COMPACT]),
];

/// The index manifest of the latest snapshot, with a lie in it.
fn tell(io: &FaultFileIo, fs: &FileIoRef, lie: impl Fn(&mut Vec<IndexManifestEntry>)) {
    let (ctx, snapshot) = (open(fs, ROOT), latest(fs));
    let mut entries = index_of(&ctx, &snapshot);
    lie(&mut entries);
    let path = ctx.paths.manifest(snapshot.index_manifest.as_ref().unwrap()).unwrap();
    io.put(&path, &encode_index_manifest(&entries, Compression::None).unwrap());
}

/// What the index manifest says instead.
type Lie = fn(&mut Vec<IndexManifestEntry>);

fn change(entries: &mut [IndexManifestEntry], what: impl Fn(&mut siltstone::manifest::DeletionVectorRange)) {
    entries[0].deletion_vectors.iter_mut().flatten().take(1).for_each(what);
}

const LIES: &[(&str, ErrorKind, Lie)] = &[
    ("an offset within a vector", ErrorKind::CorruptFile, |e| change(e, |r| r.offset += 1)),
    ("an offset beyond the file", ErrorKind::CorruptFile, |e| change(e, |r| r.offset = i32::MAX)),
    ("a negative offset", ErrorKind::CorruptFile, |e| change(e, |r| r.offset = -5)),
    ("the offset of the version", ErrorKind::CorruptFile, |e| change(e, |r| r.offset = 0)),
    ("a length of one byte less", ErrorKind::CorruptFile, |e| change(e, |r| r.length -= 1)),
    ("a length beyond the file", ErrorKind::CorruptFile, |e| change(e, |r| r.length = i32::MAX)),
    ("a negative length", ErrorKind::CorruptFile, |e| change(e, |r| r.length = i32::MIN)),
    ("another cardinality", ErrorKind::CorruptFile, |e| change(e, |r| r.cardinality = Some(4))),
    ("two vectors of one data file", ErrorKind::CorruptFile, |e| {
        let ranges = e[0].deletion_vectors.as_mut().unwrap();
        ranges.push(ranges[0].clone());
    }),
    ("an index file that is gone", ErrorKind::FileNotFound, |e| "index-gone-0".clone_into(&mut e[0].file_name)),
    ("an entry that deletes", ErrorKind::CorruptFile, |e| e[0].kind = EntryKind::Delete),
    ("an unknown kind of index", ErrorKind::UnsupportedFeature, |e| "TOMBSTONES".clone_into(&mut e[0].index_type)),
];

/// Everything that lies in the table, hints aside.
fn files(io: &FaultFileIo) -> BTreeSet<String> {
    io.paths().into_iter().filter(|path| !path.ends_with("LATEST") && !path.ends_with("EARLIEST")).collect()
}

#[test]
fn vectors_that_lie_are_named_whatever_is_done_with_them_and_nothing_is_written() {
    for (form, operations) in FORMS {
        for (bitmap64, _) in KINDS {
            for (what, kind, lie) in LIES {
                for (name, operation) in operations {
                    let (io, fs) = table(form, bitmap64);
                    tell(&io, &fs, lie);
                    let before = files(&io);
                    let case = format!("{what}, {bitmap64}, {form:?}, {name}");
                    let error = operation(&open(&fs, ROOT)).expect_err(&case);
                    // an offset may lead to other bytes that look like a size, a magic or a checksum
                    let damaged = matches!(error.kind(), ErrorKind::ChecksumMismatch | ErrorKind::UnsupportedVersion);
                    let named = error.kind() == *kind || (damaged && what.contains("offset"));
                    assert!(named, "{case}: {error}");
                    let file = error.context_value("file").unwrap_or_default();
                    assert!(file.contains("/index"), "{case}: {error}");
                    assert_eq!(error.context_value("table"), Some("db.t"), "{case}: {error}");
                    assert_eq!(files(&io), before, "{case}: {error}");
                }
            }
        }
    }
}

type Read<'a> = &'a dyn Fn(&TableContext) -> Result<()>;

/// Rows are counted, and limits met, by what the index manifest says is deleted, without a look at the vectors.
#[test]
fn a_count_of_deleted_rows_that_cannot_be_is_an_error_whoever_asks() {
    let limited = |ctx: &TableContext| {
        let request =
            ScanRequest { options: ReadOptions { limit: Some(1), ..ReadOptions::default() }, ..ScanRequest::default() };
        let plan = plan(ctx, &request)?;
        read_splits(&plan.ctx, &plan.splits, &plan.read, 1)?.try_for_each(|batch| batch.map(drop))
    };
    let counted = |ctx: &TableContext| count(&plan(ctx, &ScanRequest::default())?, 1).map(drop);
    let asked: [(&str, Read<'_>); 2] = [("limit", &limited), ("count", &counted)];
    for (form, operations) in FORMS {
        let rows = if form == Form::Keyed { 3000 } else { 5 };
        for said in [-1, i64::MIN, rows + 1, i64::MAX] {
            let operations = operations.iter().map(|(name, operation)| (*name, operation as &dyn Fn(&_) -> _));
            for (name, operation) in operations.chain(asked) {
                let (io, fs) = table(form, "false");
                tell(&io, &fs, |entries| change(entries, |range| range.cardinality = Some(said)));
                let before = files(&io);
                let error = operation(&open(&fs, ROOT)).expect_err(name);
                let case = format!("{said}, {form:?}, {name}: {error}");
                assert_eq!(error.kind(), ErrorKind::CorruptFile, "{case}");
                assert_eq!(error.context_value("table"), Some("db.t"), "{case}");
                assert!(error.context_value("file").unwrap_or_default().contains("/index"), "{case}");
                assert!(error.context_value("data_file").unwrap_or_default().starts_with("data-"), "{case}");
                assert!(error.to_string().contains(&said.to_string()), "what is found: {case}");
                assert_eq!(files(&io), before, "{case}");
            }
        }
    }
}

/// Index manifests of before Paimon 0.9 do not say how many rows a vector deletes: the vector does.
#[test]
fn where_the_index_manifest_does_not_count_the_vectors_are_read() {
    for (form, rows) in [(Form::Keyed, 3001), (Form::Bucket, 8), (Form::Unaware, 8)] {
        let (io, fs) = table(form, "false");
        tell(&io, &fs, |entries| {
            let ranges = entries.iter_mut().flat_map(|entry| entry.deletion_vectors.iter_mut().flatten());
            ranges.for_each(|range| range.cardinality = None);
        });
        let ctx = open(&fs, ROOT);
        assert_eq!(count(&plan(&ctx, &ScanRequest::default()).unwrap(), 1).unwrap(), rows, "{form:?}");
        for limit in [1, 8, 5000] {
            let request = ScanRequest {
                options: ReadOptions { limit: Some(limit), ..ReadOptions::default() },
                ..ScanRequest::default()
            };
            let plan = plan(&ctx, &request).unwrap();
            assert_eq!(count(&plan, 1).unwrap(), rows.min(limit as u64), "{form:?} {limit}");
            let read = read_splits(&plan.ctx, &plan.splits, &plan.read, 1).unwrap();
            let read: usize = read.map(|batch| batch.unwrap().num_rows()).sum();
            assert_eq!(read as u64, rows.min(limit as u64), "{form:?} {limit}");
        }
        // as Java's: a file of unknown worth is rewritten
        let before = state(&fs, ROOT).0;
        let plan = plan_compaction(&ctx, &CompactRequest { full: form != Form::Unaware, ..CompactRequest::default() });
        assert!(!plan.unwrap().tasks.is_empty(), "{form:?}");
        compact(&ctx, 30).unwrap();
        assert_eq!(state(&fs, ROOT).0, before, "{form:?}");
        assert!(index_of(&ctx, &latest(&fs)).iter().all(|entry| entry.deletion_vectors.iter().flatten().count() == 0));
    }
}

#[test]
fn positions_beyond_a_data_file_are_named_and_nothing_is_written() {
    for (form, operations) in FORMS {
        for (bitmap64, kind) in KINDS {
            for (name, operation) in operations {
                let (io, fs) = table(form, bitmap64);
                let ctx = open(&fs, ROOT);
                let snapshot = latest(&fs);
                let mut entries = index_of(&ctx, &snapshot);
                let range = entries[0].deletion_vectors.as_ref().unwrap()[0].clone();
                let mut vector = DeletionVector::new(kind);
                vector.delete_all(&[1_u64, 4000]).unwrap();
                let mut vectors = BTreeMap::from([(range.data_file_name, Held::Changed(vector))]);
                let bucket = siltstone::manifest::BucketId {
                    partition: entries[0].partition.clone(),
                    bucket: entries[0].bucket,
                };
                let files_of = DeletionVectorsIndexFile::new(&ctx.fs, &ctx.paths, &ctx.options);
                entries = vec![files_of.write(&bucket, &mut vectors).unwrap()];
                let path = ctx.paths.manifest(snapshot.index_manifest.as_ref().unwrap()).unwrap();
                io.put(&path, &encode_index_manifest(&entries, Compression::None).unwrap());
                let before = files(&io);
                let error = operation(&open(&fs, ROOT)).expect_err(name);
                assert_eq!(error.kind(), ErrorKind::CorruptFile, "{name}: {error}");
                assert!(error.to_string().contains("row 4000"), "{name}: {error}");
                assert_eq!(error.context_value("table"), Some("db.t"), "{name}: {error}");
                assert_eq!(files(&io), before, "{name}: {error}");
            }
        }
    }
}

/// Index manifests and index files that snapshots and tags need, and those that are there.
fn needed_and_there(io: &FaultFileIo, fs: &FileIoRef) -> (BTreeSet<String>, BTreeSet<String>) {
    let ctx = open(fs, ROOT);
    let snapshots = SnapshotManager::new(Arc::clone(fs), ROOT);
    let mut versions: Vec<Snapshot> = snapshots.ids().unwrap().iter().map(|id| snapshots.get(*id).unwrap()).collect();
    versions.extend(TagManager::new(Arc::clone(fs), ROOT).list().unwrap().into_iter().map(|(_, tag)| tag));
    let mut needed = BTreeSet::new();
    for version in &versions {
        needed.extend(version.index_manifest.clone());
        needed.extend(index_of(&ctx, version).into_iter().map(|entry| entry.file_name));
    }
    let names = io.paths().into_iter().map(|path| path.rsplit('/').next().unwrap().to_owned());
    (needed, names.filter(|name| name.starts_with("index-")).collect())
}

#[test]
fn index_files_live_exactly_as_long_as_a_snapshot_or_a_tag_needs_them() {
    for form in [Form::Keyed, Form::Bucket, Form::Unaware] {
        let (io, fs) = table(form, "false");
        for k in 0..3 {
            if form == Form::Keyed {
                append(&open(&fs, ROOT), 10 + i64::from(k), &[(k, 10)]).unwrap();
            } else {
                delete(&open(&fs, ROOT), 10 + i64::from(k), &format!("k = {}", if k == 2 { 8 } else { k })).unwrap();
            }
        }
        let ctx = open(&fs, ROOT);
        let last = latest(&fs).id;
        let tagged = |name: &str, id: i64| {
            create_tag(&ctx, name, &CreateTag { version: VersionSelector::Snapshot(id), ..CreateTag::default() })
                .unwrap();
        };
        tagged("a", last - 3);
        tagged("b", last - 1);
        let (needed, there) = needed_and_there(&io, &fs);
        assert_eq!(there, needed);
        assert!(there.len() > 6, "{there:?}");
        let expire = |keep: i64| {
            let retention = Retention { max: keep, min: keep, older_than: None, limit: i64::MAX };
            expire_snapshots(&ctx, &retention, false).unwrap();
        };
        for keep in [3, 1] {
            let before = there.len();
            expire(keep);
            let (needed, there) = needed_and_there(&io, &fs);
            assert_eq!(there, needed, "{keep} snapshots are left");
            // of an append table, the tags and three snapshots need them all
            assert!(keep > 1 || there.len() < before);
        }
        for tag in ["b", "a"] {
            let rows = state(&fs, ROOT).0;
            delete_tag(&ctx, tag, false).unwrap();
            let (needed, there) = needed_and_there(&io, &fs);
            assert_eq!(there, needed, "without tag {tag}");
            assert_eq!(state(&fs, ROOT).0, rows);
        }
    }
}

#[test]
fn orphan_cleaning_keeps_the_index_files_of_the_living_and_takes_the_others() {
    for form in [Form::Keyed, Form::Bucket, Form::Unaware] {
        let (io, fs) = table(form, "true");
        let ctx = open(&fs, ROOT);
        create_tag(&ctx, "v", &CreateTag::default()).unwrap();
        compact(&ctx, 20).unwrap();
        let retention = Retention { max: 1, min: 1, older_than: None, limit: i64::MAX };
        expire_snapshots(&ctx, &retention, false).unwrap();
        let (living, there) = needed_and_there(&io, &fs);
        assert_eq!(there, living);
        assert!(living.len() > 1, "the tag's vectors");
        for name in ["index/index-stray-0", "manifest/index-manifest-stray-0"] {
            io.put(&format!("{ROOT}/{name}"), b"\x01");
        }
        let now = i64::MAX / 2;
        let listed = remove_orphan_files(&ctx, now, now, true).unwrap();
        let mut found: Vec<&str> = listed.plan.files().map(|f| f.path.as_str().trim_start_matches(ROOT)).collect();
        found.sort_unstable();
        assert_eq!(found, ["/index/index-stray-0", "/manifest/index-manifest-stray-0"]);
        remove_orphan_files(&ctx, now, now, false).unwrap();
        assert_eq!(needed_and_there(&io, &fs), (living.clone(), living));
        let request = ScanRequest { version: VersionSelector::Tag("v".to_owned()), ..ScanRequest::default() };
        let tagged = plan(&ctx, &request).unwrap();
        assert_eq!(count(&tagged, 1).unwrap(), if form == Form::Keyed { 3001 } else { 8 });
    }
}

/// Compacts the files of some levels of the only bucket into one level.
fn move_up(ctx: &TableContext, output_level: i32, takes: fn(&DataFileMeta) -> bool) -> Snapshot {
    let full = CompactRequest { full: true, ..CompactRequest::default() };
    let task = plan_compaction(ctx, &full).unwrap().tasks.remove(0);
    let inputs = task.files.iter().filter(|file| takes(file)).map(|file| file.file_name.clone()).collect();
    let unit = TaskUnit::Tree { output_level, inputs, file_rewrite: false };
    let task = CompactionTask { unit, ..task };
    let messages = vec![run_task(ctx, &task, &TaskResources::default()).unwrap()];
    let committable = Committable { messages, ..Committable::default() };
    Committer::with_new_user(ctx).commit(committable).unwrap().snapshots.remove(0)
}

/// Deleted positions by data file.
fn marks(ctx: &TableContext, snapshot: &Snapshot) -> BTreeMap<String, Vec<u64>> {
    let mut marks = BTreeMap::new();
    for entry in index_of(ctx, snapshot) {
        let path = ctx.paths.index_file_of(&entry).unwrap();
        for range in entry.deletion_vectors.iter().flatten() {
            let rows = DeletionVectorsIndexFile::read(&ctx.fs, &path, range).unwrap();
            marks.insert(range.data_file_name.clone(), rows.to_vector().unwrap().positions().collect());
        }
    }
    marks
}

fn delta(ctx: &TableContext, snapshot: &Snapshot, kind: EntryKind) -> BTreeSet<String> {
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options).unwrap();
    let entries = store.read_all(&store.read_list(snapshot.delta_list()).unwrap(), &|_| true).unwrap();
    entries
        .into_iter()
        .filter(|entry| entry.kind == kind)
        .map(|entry: ManifestEntry| entry.file.into_inner().file_name)
        .collect()
}

/// DV-EXAMPLE with numbers of our own: key 1 lies in level 3, which takes no part; keys 2 and 9 lie in level 2, which does
/// and whose file has a bitmap.
#[test]
fn the_documents_example_of_a_compaction_that_looks_up() {
    for (bitmap64, _) in KINDS {
        let options = [
            VECTORS,
            ("deletion-vectors.bitmap64", bitmap64),
            ("bucket", "1"),
            ("num-levels", "4"),
            ("write-only", "true"),
        ];
        let (_, fs) = memory(&["k"], &options);
        let ctx = open(&fs, ROOT);
        let only = |names: BTreeSet<String>| {
            assert_eq!(names.len(), 1, "{names:?}");
            names.into_iter().next().unwrap()
        };
        append(&ctx, 0, &[(1, 0), (20, 0), (21, 0)]).unwrap();
        let f1 = only(delta(&ctx, &move_up(&ctx, 3, |_| true), EntryKind::Add));
        append(&ctx, 1, &[(2, 0), (5, 0), (9, 0)]).unwrap();
        let f6 = only(delta(&ctx, &move_up(&ctx, 2, |file| file.level == 0), EntryKind::Add));
        append(&ctx, 2, &[(5, 1)]).unwrap();
        let before = move_up(&ctx, 1, |file| file.level == 0);
        let f5 = only(delta(&ctx, &before, EntryKind::Add));
        assert_eq!(marks(&ctx, &before), BTreeMap::from([(f6.clone(), vec![1])]), "f6 has a bitmap: key 5 moved");
        let appended = append(&ctx, 3, &[(1, 7), (2, 7), (9, 7)]).unwrap().snapshots.remove(0);
        let f7 = only(delta(&ctx, &appended, EntryKind::Add));
        assert_eq!(marks(&ctx, &appended), marks(&ctx, &before), "level 0 alone marks nothing");

        let after = move_up(&ctx, 2, |file| file.level < 3);
        assert_eq!(marks(&ctx, &after), BTreeMap::from([(f1.clone(), vec![0])]), "only key 1 was looked up and marked");
        let gone = delta(&ctx, &after, EntryKind::Delete);
        assert_eq!(gone, BTreeSet::from([f5, f6, f7]), "f1 stays");
        assert!(!delta(&ctx, &after, EntryKind::Add).contains(&f1));
        let names = |snapshot: &Snapshot| index_of(&ctx, snapshot).into_iter().map(|e| e.file_name).collect::<Vec<_>>();
        let (old, new) = (names(&appended), names(&after));
        assert_eq!(
            (old.len(), new.len()),
            (1, 1),
            "one index file a bucket: the old one is removed, the new one added"
        );
        assert_ne!(old, new);
        let rows = [(1, 7), (2, 7), (5, 1), (9, 7), (20, 0), (21, 0)];
        assert_eq!(state(&fs, ROOT).0, rows);
    }
}
