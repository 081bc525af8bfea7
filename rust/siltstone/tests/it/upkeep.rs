//! Tags, expiry, rollback and branches: which files go and which stay; [`crash_points`]: what is left of a run that died
//! anywhere.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch};
use siltstone::{
    ErrorKind,
    commit::Committable,
    compact::{CompactRequest, TaskResources, plan_compaction, run_task},
    fs::{BeforeCall, FaultFileIo, FileIo as _, FileIoRef},
    io::TableContext,
    maintenance::{
        automatic::Committer,
        branch::{BranchSource, create_branch, delete_branch},
        expire::{Retention, expire_snapshots},
        rollback::rollback,
        tag::{CreateTag, create_automatic, create_tag, delete_tag, expire_tags, neighbour, rename_tag, replace_tag},
    },
    path::branch_root,
    scan::{EntryFilter, VersionSelector, live_entries},
    schema::{NewTable, SchemaManager},
    snapshot::{BranchManager, Snapshot, SnapshotManager, TagManager},
    table::Table,
    types::{DataField, DataType, TypeKind},
    wire::CommitMessage,
    write::{TableWrite, WriteOptions},
};

use crate::{crash::UNCOMPRESSED, folder::Folder};

mod after_records;
mod batch_tag;
mod beginning;
mod changelogs;
mod clocks;
mod crash_points;
mod dies;
mod first_commit;
mod foreign;
mod fork_tags;
mod forward_beside;
mod forward_dies;
mod gaps;
mod half_way;
mod hints;
mod iceberg;
mod lost_tags;
mod placed;
mod renewed;
mod rollback_storage;

const ROOT: &str = "/lake/db.db/t";

fn table(key: &[&str], options: &[(&str, &str)]) -> (FaultFileIo, FileIoRef) {
    let io = FaultFileIo::new();
    let fs: FileIoRef = Arc::new(io.clone());
    make(&fs, ROOT, key, options);
    (io, fs)
}

/// Creates `k INT, v BIGINT`.
fn make(fs: &FileIoRef, root: &str, key: &[&str], options: &[(&str, &str)]) {
    let text = |v: &&str| (*v).to_owned();
    let schema = NewTable {
        fields: vec![
            DataField::new(0, "k", DataType::new(TypeKind::Int)),
            DataField::new(1, "v", DataType::new(TypeKind::BigInt)),
        ],
        primary_key: key.iter().map(text).collect(),
        partition_by: Vec::new(),
        options: UNCOMPRESSED.iter().chain(options).map(|(k, v)| (text(k), text(v))).collect(),
        comment: None,
    };
    SchemaManager::new(Arc::clone(fs), root).create(schema.into_schema().unwrap()).unwrap();
}

fn open(fs: &FileIoRef, branch: &str) -> TableContext {
    Table::open_with(Arc::clone(fs), ROOT, branch, None, BTreeMap::new()).unwrap().context().clone()
}

fn written(ctx: &TableContext, rows: &[(i32, i64)]) -> Vec<CommitMessage> {
    let columns: [(&str, ArrayRef); 2] = [
        ("k", Arc::new(rows.iter().map(|r| Some(r.0)).collect::<Int32Array>())),
        ("v", Arc::new(rows.iter().map(|r| Some(r.1)).collect::<Int64Array>())),
    ];
    let mut writer = TableWrite::new(ctx, WriteOptions { threads: Some(1), ..WriteOptions::default() }).unwrap();
    writer.write(&RecordBatch::try_from_iter(columns).unwrap(), None).unwrap();
    writer.prepare_commit().unwrap()
}

fn commit(ctx: &TableContext, messages: Vec<CommitMessage>) -> Vec<Snapshot> {
    let committable = Committable { messages, allow_empty: true, ..Committable::default() };
    Committer::with_new_user(ctx).commit(committable).unwrap().snapshots
}

fn append(fs: &FileIoRef, branch: &str, row: (i32, i64)) {
    let ctx = open(fs, branch);
    commit(&ctx, written(&ctx, &[row]));
}

fn compact(fs: &FileIoRef, branch: &str) {
    let ctx = open(fs, branch);
    let plan = plan_compaction(&ctx, &CompactRequest { full: true, ..CompactRequest::default() }).unwrap();
    let resources = TaskResources { threads: Some(1), ..TaskResources::default() };
    let messages = plan.tasks.iter().map(|task| run_task(&ctx, task, &resources).unwrap()).collect();
    commit(&ctx, messages);
}

fn tag(ctx: &TableContext, name: &str, id: i64) {
    create_tag(ctx, name, &CreateTag { version: VersionSelector::Snapshot(id), ..CreateTag::default() }).unwrap();
}

/// Everything before `end` goes, whatever its age.
fn until(latest: i64, end: i64) -> Retention {
    Retention { max: i64::from(i32::MAX), min: latest - end + 1, older_than: None, limit: i64::MAX }
}

/// Every version from which something must be readable: snapshots from `from` on, and tags; of all branches.
fn check_whole(fs: &FileIoRef, from: i64) {
    let mut branches = BranchManager::new(Arc::clone(fs), ROOT).names().unwrap();
    branches.push("main".to_owned());
    for branch in branches {
        let ctx = open(fs, &branch);
        let root = branch_root(ROOT, &branch);
        let snapshots = SnapshotManager::new(Arc::clone(fs), &root);
        let from = if branch == "main" { from } else { 0 };
        let ids = snapshots.ids().unwrap().into_iter().filter(|id| *id >= from);
        let mut versions: Vec<Snapshot> = ids.map(|id| snapshots.get(id).unwrap()).collect();
        versions.extend(TagManager::new(Arc::clone(fs), &root).list().unwrap().into_iter().map(|(_, tag)| tag));
        for version in versions {
            for entry in live_entries(&ctx, &version, &EntryFilter::default()).unwrap() {
                let path = ctx.paths.data_file(&entry.partition, entry.bucket, &entry.file).unwrap();
                assert!(fs.exists(&path).unwrap(), "{branch}, version {}: {path} is gone", version.id);
            }
        }
    }
}

/// Files without hints and temporary ones.
/// What a table is made of: without hints, temporary files, and the records of removals, whose number says how often somebody
/// tried.
fn files(io: &FaultFileIo) -> BTreeSet<String> {
    // the mark of an expiry may come back after a power loss, and does no harm
    let passing = ["EARLIEST", "LATEST", "/siltstone/removal-", "/siltstone/consumers-expire", "/."];
    let kept = |path: &String| !passing.iter().any(|part| path.contains(part));
    io.paths().into_iter().filter(kept).collect()
}

#[test]
fn the_documents_cases_tag_expire_1_and_2() {
    for (deleted_at, end) in [(120, 120), (201, 201)] {
        let (_, fs) = table(&[], &[("bucket", "-1"), ("write-only", "true")]);
        let ctx = open(&fs, "main");
        let a = written(&ctx, &[(1, 1)]);
        let mut gone = a.clone();
        gone[0].data.deleted_files = std::mem::take(&mut gone[0].data.new_files);
        for id in 1..=300 {
            let messages = if id == 105 {
                a.clone()
            } else if id == deleted_at {
                gone.clone()
            } else {
                Vec::new()
            };
            assert_eq!(commit(&ctx, messages).last().unwrap().id, id);
        }
        for id in [100, 200, 300] {
            tag(&ctx, &format!("tag-{id}"), id);
        }
        let file = &a[0].data.new_files[0];
        let path = ctx.paths.data_file(&a[0].bucket.partition, a[0].bucket.bucket, file).unwrap();
        expire_snapshots(&ctx, &until(300, end - 1), false).unwrap();
        assert!(fs.exists(&path).unwrap(), "snapshot {} still reads it", end - 1);
        expire_snapshots(&ctx, &until(300, end), false).unwrap();
        assert_eq!(fs.exists(&path).unwrap(), deleted_at == 201, "only a tag in [105, {deleted_at}) keeps it");
        check_whole(&fs, end);
        if deleted_at == 201 {
            expire_snapshots(&ctx, &until(300, 250), false).unwrap();
            assert!(fs.exists(&path).unwrap(), "the tag at 200 still needs it");
            delete_tag(&ctx, "tag-200", false).unwrap();
            assert!(!fs.exists(&path).unwrap(), "neither neighbour needs it");
            check_whole(&fs, 250);
        }
    }
}

/// Snapshots 1 to 9 of a keyed table: three writes and a compaction, twice, and a write; tags at 2, 4 and 6.
fn busy_table() -> (FaultFileIo, FileIoRef) {
    let (io, fs) = table(&["k"], &[("bucket", "1"), ("write-only", "true")]);
    for round in 0..2 {
        for i in 0..3 {
            append(&fs, "main", (i, i64::from(round)));
        }
        compact(&fs, "main");
    }
    append(&fs, "main", (7, 7));
    let ctx = open(&fs, "main");
    for id in [2, 4, 6] {
        tag(&ctx, &format!("t{id}"), id);
    }
    (io, fs)
}

#[test]
fn a_tag_is_one_small_write_whatever_the_size_of_the_table() {
    let calls = |commits: i32| {
        let (io, fs) = table(&["k"], &[("bucket", "4"), ("write-only", "true")]);
        for i in 0..commits {
            let ctx = open(&fs, "main");
            commit(&ctx, written(&ctx, &(0..8).map(|k| (k, i64::from(i))).collect::<Vec<_>>()));
        }
        let ctx = open(&fs, "main");
        let before = (files(&io), io.trace().len());
        create_tag(&ctx, "now", &CreateTag::default()).unwrap();
        let made: Vec<String> = files(&io).difference(&before.0).cloned().collect();
        assert_eq!(made, [format!("{ROOT}/tag/tag-now")]);
        let trace = io.trace().split_off(before.1);
        let words =
            trace.iter().map(|call| call.split_once(' ').unwrap().1.replace(&format!("snapshot-{commits}"), "N"));
        words.map(|call| call.replace(&format!("snapshot-{}", commits + 1), "N+1")).collect::<Vec<_>>()
    };
    let small = calls(2);
    assert_eq!(calls(40), small);
    let writes =
        |call: &&String| !["read", "exists", "status", "list", "open", "try_lock"].iter().any(|w| call.starts_with(w));
    let writes: Vec<&String> = small.iter().filter(writes).collect();
    assert!(writes.len() <= 4 && writes.iter().all(|call| call.contains("tag")), "{small:?}");
}

#[test]
fn expiring_in_pieces_leaves_what_expiring_at_once_leaves() {
    let (io, fs) = busy_table();
    expire_snapshots(&open(&fs, "main"), &until(9, 9), false).unwrap();
    let at_once = files(&io).len();
    let (io, fs) = busy_table();
    for end in 2..=9 {
        expire_snapshots(&open(&fs, "main"), &until(9, end), false).unwrap();
        check_whole(&fs, end);
    }
    assert_eq!(files(&io).len(), at_once);
}

#[test]
fn a_dry_run_names_what_the_run_deletes_and_deletes_nothing() {
    let (io, fs) = busy_table();
    let ctx = open(&fs, "main");
    let before = files(&io);
    let plan = expire_snapshots(&ctx, &until(9, 8), true).unwrap();
    assert_eq!(files(&io), before);
    let done = expire_snapshots(&ctx, &until(9, 8), false).unwrap();
    let gone: BTreeSet<String> = before.difference(&files(&io)).cloned().collect();
    let named = |report: &siltstone::cleanup::Report| -> BTreeSet<String> {
        report.plan.files().map(|file| file.path.clone()).collect()
    };
    assert_eq!(named(&plan), named(&done));
    assert!(gone.is_subset(&named(&done)) && !gone.is_empty());
    assert_eq!(done.details["snapshots"], serde_json::json!([1, 2, 3, 4, 5, 6, 7]));
}

#[test]
fn branches_keep_what_they_share_with_main_though_main_expires_and_rewrites() {
    let (_, fs) = busy_table();
    let main = open(&fs, "main");
    create_branch(&main, "fix", &BranchSource::Snapshot(Some(3))).unwrap();
    append(&fs, "fix", (5, 5));
    compact(&fs, "fix");
    compact(&fs, "main");
    expire_snapshots(&main, &until(10, 10), false).unwrap();
    for name in ["t2", "t4", "t6"] {
        delete_tag(&main, name, false).unwrap();
    }
    check_whole(&fs, 10);
    let fix = open(&fs, "fix");
    expire_snapshots(&fix, &until(5, 5), false).unwrap();
    check_whole(&fs, 10);
    let error = delete_tag(&main, "fork-fix", false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::VersionInUse, "{error}");
    delete_branch(&main, "fix", false).unwrap();
    assert!(TagManager::new(Arc::clone(&fs), ROOT).names().unwrap().is_empty());
    check_whole(&fs, 10);
}

#[test]
fn a_rollback_across_a_branch_point_is_refused() {
    let (io, fs) = busy_table();
    let main = open(&fs, "main");
    create_branch(&main, "fix", &BranchSource::Tag("t6".to_owned())).unwrap();
    let before = io.paths();
    let error = rollback(&main, &VersionSelector::Snapshot(5), false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::VersionInUse, "{error}");
    assert_eq!(io.paths(), before);
    rollback(&main, &VersionSelector::Snapshot(6), false).unwrap();
}

#[test]
fn tags_are_renamed_replaced_and_have_neighbours() {
    let (_, fs) = busy_table();
    let ctx = open(&fs, "main");
    assert_eq!(neighbour(&ctx, "t4", false).unwrap().as_deref(), Some("t2"));
    assert_eq!(neighbour(&ctx, "t4", true).unwrap().as_deref(), Some("t6"));
    assert_eq!(neighbour(&ctx, "t6", true).unwrap(), None);
    rename_tag(&ctx, "t4", "four", false).unwrap();
    assert_eq!(rename_tag(&ctx, "four", "t6", false).unwrap_err().kind(), ErrorKind::TagExists);
    let request = CreateTag { version: VersionSelector::Snapshot(5), ..CreateTag::default() };
    assert_eq!(replace_tag(&ctx, "four", &request).unwrap().snapshot.id, 5);
    assert_eq!(replace_tag(&ctx, "none", &request).unwrap_err().kind(), ErrorKind::TagNotFound);
    assert_eq!(create_tag(&ctx, "four", &request).unwrap_err().kind(), ErrorKind::TagExists);
    assert_eq!(create_tag(&ctx, "4", &request).unwrap_err().kind(), ErrorKind::InvalidArgument);
    create_tag(&ctx, "4", &CreateTag { allow_numeric: true, ..request }).unwrap();
    expire_snapshots(&ctx, &until(9, 8), false).unwrap();
    let gone = CreateTag { version: VersionSelector::Snapshot(3), ..CreateTag::default() };
    assert_eq!(create_tag(&ctx, "late", &gone).unwrap_err().kind(), ErrorKind::SnapshotExpired);
    let kept = CreateTag { version: VersionSelector::Snapshot(5), ..CreateTag::default() };
    assert_eq!(create_tag(&ctx, "five", &kept).unwrap().snapshot.id, 5, "another tag keeps it");
    check_whole(&fs, 8);
}

#[test]
fn a_tag_that_is_garbage_stops_everything_that_deletes() {
    let (io, fs) = busy_table();
    io.put(&format!("{ROOT}/tag/tag-bad"), b"{ nonsense");
    let ctx = open(&fs, "main");
    let before = files(&io);
    assert_eq!(expire_snapshots(&ctx, &until(9, 8), false).unwrap_err().kind(), ErrorKind::CorruptFile);
    assert_eq!(rollback(&ctx, &VersionSelector::Snapshot(3), false).unwrap_err().kind(), ErrorKind::CorruptFile);
    assert_eq!(files(&io), before);
}

const HOUR: i64 = 3_600_000;

/// Names of the automatic tags of a table whose snapshots were committed at these times (UTC).
fn automatic(options: &[(&str, &str)], millis: &[i64]) -> Vec<(String, i64)> {
    let mut all = vec![("bucket", "-1"), ("write-only", "true"), ("sink.process-time-zone", "UTC")];
    all.extend_from_slice(options);
    let (io, fs) = table(&[], &all);
    let ctx = open(&fs, "main");
    let first = commit(&ctx, Vec::new()).pop().unwrap();
    let snapshots = SnapshotManager::new(Arc::clone(&fs), ROOT);
    for (id, time) in (1..).zip(millis) {
        let snapshot = Snapshot { id, time_millis: *time, watermark: Some(*time), ..first.clone() };
        io.put(&snapshots.path(id), snapshot.to_json().unwrap().as_bytes());
        create_automatic(&ctx).unwrap();
    }
    let tags = TagManager::new(fs, ROOT).list().unwrap();
    tags.into_iter().map(|(name, snapshot)| (name, snapshot.id)).collect()
}

fn pairs(expected: &[(&str, i64)]) -> Vec<(String, i64)> {
    expected.iter().map(|(name, id)| ((*name).to_owned(), *id)).collect()
}

#[test]
fn automatic_tags_name_the_last_finished_period_from_the_first_snapshot_after_it_and_the_delay() {
    let day = 1_714_521_600_000; // 2024-05-01
    let times = [day + HOUR, day + 23 * HOUR, day + 24 * HOUR, day + 25 * HOUR, day + 100 * HOUR];
    let daily = [("tag.automatic-creation", "process-time"), ("tag.creation-period", "daily")];
    assert_eq!(automatic(&daily, &times), pairs(&[("2024-04-30", 1), ("2024-05-01", 3), ("2024-05-04", 5)]));
    let delayed = [daily[0], ("tag.creation-delay", "1 h"), ("tag.period-formatter", "without_dashes")];
    assert_eq!(automatic(&delayed, &times), pairs(&[("20240430", 1), ("20240501", 4), ("20240504", 5)]));
    let completed = [daily[0], ("tag.automatic-completion", "true")];
    assert_eq!(automatic(&completed, &times), pairs(&[("2024-04-30", 1), ("2024-05-01", 3), ("2024-05-02", 5)]));
    let kept = [("tag.automatic-creation", "watermark"), ("tag.num-retained-max", "2")];
    assert_eq!(automatic(&kept, &times), pairs(&[("2024-05-01", 3), ("2024-05-04", 5)]));
    let every = [daily[0], ("tag.creation-period-duration", "12 h")];
    assert_eq!(automatic(&every, &times[..3]), pairs(&[("202404301200", 1), ("202405010000", 2), ("202405011200", 3)]));
    let proposed = [("tag.create-time", "01:00"), ("tag.create-interval", "1 d")];
    assert_eq!(automatic(&proposed, &times[..4]), pairs(&[("2024-04-30", 1), ("2024-05-01", 4)]));
    let batch = [("tag.automatic-creation", "batch")];
    assert_eq!(automatic(&batch, &times[..3]), pairs(&[("batch-write-2024-05-01", 2), ("batch-write-2024-05-02", 3)]));
}

#[test]
fn tags_expire_by_their_retention_or_by_their_age() {
    let (_, fs) = busy_table();
    let ctx = open(&fs, "main");
    let retain = Some(std::time::Duration::from_secs(60));
    create_tag(&ctx, "short", &CreateTag { retain, ..CreateTag::default() }).unwrap();
    let now = siltstone::env::now_millis();
    let gone = |report: siltstone::cleanup::Report| report.details["tags"].clone();
    assert_eq!(gone(expire_tags(&ctx, None, now, false).unwrap()), serde_json::json!([]));
    assert_eq!(gone(expire_tags(&ctx, None, now + 120_000, true).unwrap()), serde_json::json!(["short"]));
    assert_eq!(gone(expire_tags(&ctx, None, now + 120_000, false).unwrap()), serde_json::json!(["short"]));
    assert_eq!(TagManager::new(Arc::clone(&fs), ROOT).names().unwrap(), ["t2", "t4", "t6"]);
}

#[test]
fn commits_expire_snapshots_by_the_tables_options() {
    let options = [
        ("bucket", "1"),
        ("snapshot.num-retained.min", "1"),
        ("snapshot.num-retained.max", "3"),
        ("snapshot.expire.limit", "2"),
    ];
    let (_, fs) = table(&["k"], &options);
    for i in 0..8 {
        append(&fs, "main", (i, 0));
    }
    let ids = SnapshotManager::new(Arc::clone(&fs), ROOT).ids().unwrap();
    assert_eq!(ids.len(), 3, "{ids:?}");
    check_whole(&fs, 0);
}

#[test]
fn two_jobs_that_expire_a_job_that_tags_and_a_writer_do_each_other_no_harm() {
    let folder = Folder::new("upkeep");
    let root = folder.root();
    let local = || -> FileIoRef { Arc::new(siltstone::fs::LocalFileIo::new()) };
    let open = || Table::open_with(local(), &root, "main", None, BTreeMap::new()).unwrap().context().clone();
    make(&local(), &root, &["k"], &[("bucket", "1"), ("num-sorted-run.compaction-trigger", "2")]);
    let writing = std::sync::atomic::AtomicBool::new(true);
    let over = || !writing.load(std::sync::atomic::Ordering::Relaxed);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for i in 0..40 {
                let ctx = open();
                commit(&ctx, written(&ctx, &[(i % 5, i64::from(i))]));
            }
            writing.store(false, std::sync::atomic::Ordering::Relaxed);
        });
        for _ in 0..2 {
            scope.spawn(|| {
                let keep = Retention { max: i64::from(i32::MAX), min: 2, older_than: None, limit: i64::MAX };
                while !over() {
                    expire_snapshots(&open(), &keep, false).unwrap();
                }
            });
        }
        scope.spawn(|| {
            for i in 0.. {
                let ctx = open();
                let (name, old) = (format!("t{i}"), format!("t{}", i - 3));
                match create_tag(&ctx, &name, &CreateTag::default()) {
                    Ok(_) => {}
                    Err(e) => assert!(
                        matches!(
                            e.kind(),
                            ErrorKind::SnapshotExpired | ErrorKind::SnapshotNotFound | ErrorKind::FileNotFound
                        ),
                        "{e}"
                    ),
                }
                if i >= 3
                    && let Err(e) = delete_tag(&ctx, &old, false)
                {
                    assert!(
                        matches!(
                            e.kind(),
                            ErrorKind::TagNotFound | ErrorKind::FileNotFound | ErrorKind::SnapshotExpired
                        ),
                        "{e}"
                    );
                }
                if over() {
                    break;
                }
            }
        });
    });
    let (fs, ctx) = (local(), open());
    let snapshots = SnapshotManager::new(Arc::clone(&fs), &root);
    let ids = snapshots.ids().unwrap();
    let mut versions = snapshots.existing(ids.into_iter().rev().take(2)).unwrap();
    versions.extend(TagManager::new(Arc::clone(&fs), &root).list().unwrap().into_iter().map(|(_, tag)| tag));
    for version in versions {
        for entry in live_entries(&ctx, &version, &EntryFilter::default()).unwrap() {
            let path = ctx.paths.data_file(&entry.partition, entry.bucket, &entry.file).unwrap();
            assert!(fs.exists(&path).unwrap(), "version {}: {path} is gone", version.id);
        }
    }
}

/// Another program, which takes no lock and leaves no record, removes a snapshot with what only that one needs just before the tag
/// of it is looked at again.
#[derive(Debug)]
struct OtherExpires {
    io: FaultFileIo,
    files: Vec<String>,
    tagged: AtomicBool,
}

impl BeforeCall for OtherExpires {
    fn before(&self, what: &str, path: &str) -> siltstone::Result<()> {
        if self.tagged.load(Ordering::Relaxed) {
            self.files.iter().try_for_each(|path| self.io.delete(path))?;
        }
        if what == "publish: remove temporary file" && path.ends_with("/tag/tag-fork-fix") {
            self.tagged.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[test]
fn making_a_branch_never_waits_for_the_lock_that_it_holds_itself() {
    let (io, fs) = table(&["k"], &[("bucket", "1"), ("write-only", "true")]);
    (1..=3).for_each(|k| append(&fs, "main", (k, 0)));
    let snapshots = SnapshotManager::new(Arc::clone(&fs), ROOT);
    let manifests = snapshots.get(2).unwrap().delta_manifest_list;
    let expired = vec![format!("{ROOT}/manifest/{manifests}"), snapshots.path(2)];
    let gate = Arc::new(OtherExpires { io: io.clone(), files: expired, tagged: AtomicBool::new(false) });
    let ctx = TableContext { fs: Arc::new(io.behind(gate)), ..open(&fs, "main") };
    let before = usize::try_from(io.calls()).unwrap();
    let error = create_branch(&ctx, "fix", &BranchSource::Snapshot(Some(2))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SnapshotExpired);
    let locks = io.trace().split_off(before).into_iter().filter(|call| call.contains("try_lock")).collect::<Vec<_>>();
    assert_eq!(locks.len(), 1, "{locks:#?}");
    assert!(!files(&io).iter().any(|path| path.contains("fork-fix")), "the tag is taken back");
}
