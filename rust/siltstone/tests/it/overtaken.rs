//! Others compact a table and let all of its snapshots but the newest expire, just before any one storage call of what is
//! at work: the files that it wanted to read are gone, and the table is whole. Calls that publish are not among them.
//!
//! ```text
//! at work     ── call 0 ── … ── call n │                                                     │ ── goes on ──
//! meanwhile                            │ a row is added, all is compacted, one snapshot stays │
//! ```
//!
//! Nothing fails but by a typed error that says so, no row is lost, and `fsck` finds nothing. A file that the newest version
//! still names is damage, and stays an error.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use siltstone::{
    Error, ErrorKind, Result,
    commit::Committable,
    compact::{CompactRequest, TaskResources, plan_compaction, run_task},
    fs::{BeforeCall, FaultFileIo, FileIo as _, FileIoRef},
    io::TableContext,
    maintenance::{
        analyze::analyze,
        automatic::Committer,
        expire::{Retention, expire_snapshots},
        fsck::{Severity, fsck},
    },
    manifest::ManifestEntry,
    predicate::Condition,
    scan::{EntryFilter, ReadOptions, ScanRequest, VersionSelector, live_entries, time_travel},
    snapshot::SnapshotManager,
    table::{ChangeStream, ChangesArgs, CommitReport, InspectArgs, ModifyArgs, Progress, StreamPosition, Table},
    wire::CommitMessage,
    write::WriteOptions,
};

use crate::crash::{ROOT, VECTORS, batch, create, open, state};

/// Runs something once, before a call of the handle that looks at the table or reads files of it.
struct Meanwhile {
    calls: AtomicU64,
    wrote: AtomicBool,
    at: u64,
    fires: AtomicBool,
    run: Mutex<Box<dyn FnMut() + Send>>,
}

impl fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "before call {}", self.at)
    }
}

impl BeforeCall for Meanwhile {
    fn before(&self, what: &str, path: &str) -> Result<()> {
        if matches!(what, "create" | "write_new") {
            self.wrote.store(true, Ordering::SeqCst);
        }
        let reads = matches!(what, "create" | "open" | "read" | "read_range")
            && (path.contains("/bucket-") || path.contains("/index/"));
        // what looks at snapshots after files were written is a commit
        if (reads || !self.wrote.load(Ordering::SeqCst)) && self.calls.fetch_add(1, Ordering::SeqCst) == self.at {
            (self.run.lock().unwrap())();
            self.fires.store(true, Ordering::SeqCst);
        }
        Ok(())
    }
}

fn table(fs: FileIoRef) -> Table {
    Table::open_with(fs, ROOT, "main", None, BTreeMap::new()).unwrap()
}

/// Adds rows without compacting them.
fn add(fs: &FileIoRef, rows: &[(i32, i64)]) {
    let quiet = BTreeMap::from([("write-only".to_owned(), "true".to_owned())]);
    let table = Table::open_with(Arc::clone(fs), ROOT, "main", None, quiet).unwrap();
    upsert(&table, rows).unwrap();
}

fn upsert(table: &Table, rows: &[(i32, i64)]) -> Result<CommitReport> {
    let options = WriteOptions { threads: Some(1), ..WriteOptions::default() };
    let mut writer = table.writer(None, options)?;
    let written = writer.write(&batch(rows), None).and_then(|()| writer.commit(Committable::default()));
    writer.close();
    written
}

fn tasks_of(ctx: &TableContext) -> Result<Vec<CommitMessage>> {
    let plan = plan_compaction(ctx, &CompactRequest { full: true, ..CompactRequest::default() })?;
    let resources = TaskResources { threads: Some(1), ..TaskResources::default() };
    plan.tasks.iter().map(|task| run_task(ctx, task, &resources)).collect()
}

fn compact_all(ctx: &TableContext) {
    let messages = tasks_of(ctx).unwrap();
    Committer::with_new_user(ctx).commit(Committable { messages, ..Committable::default() }).unwrap();
}

const OTHERS: (i32, i64) = (900, 900);

/// What others do.
fn replace_all_files(fs: &FileIoRef) {
    add(fs, &[OTHERS]);
    let ctx = open(fs, ROOT);
    compact_all(&ctx);
    let keep = Retention { max: 1, min: 1, older_than: None, limit: i64::MAX };
    expire_snapshots(&ctx, &keep, false).unwrap();
}

fn check_whole(fs: &FileIoRef) {
    let verdict = fsck(&open(fs, ROOT), true, 0).unwrap();
    let problems: Vec<_> = verdict.findings.iter().filter(|f| f.severity == Severity::Problem).collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

/// What `work` came to, with others before each of its storage calls; `check` looks at each end.
fn beside_others<T: fmt::Debug>(
    base: &FaultFileIo,
    work: impl Fn(&Table) -> Result<T>,
    check: impl Fn(&FileIoRef, u64, &Result<T>),
) -> Vec<Result<T>> {
    let mut ends = Vec::new();
    for at in 0.. {
        let io = base.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let others = Arc::clone(&fs);
        let gate = Arc::new(Meanwhile {
            calls: AtomicU64::new(0),
            wrote: AtomicBool::new(false),
            at,
            fires: AtomicBool::new(false),
            run: Mutex::new(Box::new(move || replace_all_files(&others))),
        });
        let behind: FileIoRef = Arc::new(io.behind(Arc::clone(&gate) as Arc<dyn BeforeCall>));
        let table = table(behind);
        // opening the table is not what is looked at
        if gate.fires.load(Ordering::SeqCst) {
            continue;
        }
        let end = work(&table);
        if !gate.fires.load(Ordering::SeqCst) {
            break;
        }
        check(&fs, at, &end);
        check_whole(&fs);
        ends.push(end);
    }
    assert!(ends.len() > 3, "{}", ends.len());
    ends
}

/// A table with rows 1 to 3 that are compacted, where that is possible, and rows 4 and 5 in files of their own.
fn made(key: &[&str], options: &[(&str, &str)]) -> FaultFileIo {
    let io = FaultFileIo::new();
    let fs: FileIoRef = Arc::new(io.clone());
    create(&fs, ROOT, key, options);
    upsert(&table(Arc::clone(&fs)), &[(1, 1), (2, 2), (3, 3)]).unwrap();
    compact_all(&open(&fs, ROOT));
    add(&fs, &[(4, 4)]);
    if !key.is_empty() && options.contains(&VECTORS) {
        // readers leave out what is not compacted
        upsert(&table(Arc::clone(&fs)), &[(5, 5)]).unwrap();
    }
    add(&fs, &[(5, 5)]);
    io
}

fn rows_of(fs: &FileIoRef) -> Vec<(i32, i64)> {
    state(fs, ROOT).0
}

/// An upsert of rows 3 and 6 never fails, and its rows are there. Returns how often its compaction was given up at first.
fn upsert_never_fails(key: &[&str], options: &[(&str, &str)]) -> usize {
    let first_row = options.iter().any(|option| option.1 == "first-row");
    let ends = beside_others(
        &made(key, options),
        |table| upsert(table, &[(3, 30), (6, 60)]),
        |fs, at, end| {
            let report = end.as_ref().unwrap_or_else(|error| panic!("{options:?}, call {at}: {error:?}"));
            let third: &[(i32, i64)] = match (key.is_empty(), first_row) {
                (true, _) => &[(3, 3), (3, 30)],
                (false, true) => &[(3, 3)],
                (false, false) => &[(3, 30)],
            };
            let rest = [(4, 4), (5, 5), (6, 60), OTHERS];
            let wanted = [&[(1, 1), (2, 2)], third, &rest].concat();
            assert_eq!(rows_of(fs), wanted, "{options:?}, call {at}: {:?}", report.notes);
        },
    );
    let given_up = |report: &CommitReport| report.notes.iter().any(|note| note.contains("file does not exist"));
    ends.into_iter().filter(|end| end.as_ref().is_ok_and(given_up)).count()
}

const BUCKET: (&str, &str) = ("bucket", "1");
const OFTEN: (&str, &str) = ("num-sorted-run.compaction-trigger", "2");

#[test]
fn an_upsert_whose_universal_compaction_is_overtaken_commits_its_rows() {
    assert!(upsert_never_fails(&["k"], &[BUCKET, OFTEN]) > 0);
}

#[test]
fn an_upsert_whose_lookup_compaction_is_overtaken_compacts_the_table_as_it_is_then() {
    for producer in ["lookup", "full-compaction"] {
        assert!(upsert_never_fails(&["k"], &[BUCKET, OFTEN, ("changelog-producer", producer)]) > 0, "{producer}");
    }
    assert!(upsert_never_fails(&["k"], &[BUCKET, ("merge-engine", "first-row")]) > 0);
}

#[test]
fn an_upsert_on_a_table_with_deletion_vectors_is_overtaken_and_its_rows_are_shown() {
    assert!(upsert_never_fails(&["k"], &[BUCKET, VECTORS]) > 0);
}

const APPEND: [(&str, &str); 3] = [BUCKET, ("bucket-key", "k"), ("compaction.min.file-num", "2")];

#[test]
fn an_append_whose_compaction_is_overtaken_commits_its_rows() {
    assert!(upsert_never_fails(&[], &APPEND) > 0);
    assert!(upsert_never_fails(&[], &[&APPEND[..], &[VECTORS]].concat()) > 0);
    upsert_never_fails(&[], &[]);
}

/// All kinds of tables.
/// Key columns and options.
type Kind = (&'static [&'static str], Vec<(&'static str, &'static str)>);

fn tables() -> Vec<Kind> {
    vec![
        (&["k"], vec![BUCKET, OFTEN]),
        (&["k"], vec![BUCKET, VECTORS]),
        (&[], vec![]),
        (&[], vec![VECTORS]),
        (&[], APPEND.to_vec()),
    ]
}

#[test]
fn a_compaction_task_that_is_overtaken_is_a_conflict_and_changes_nothing() {
    for (key, options) in tables() {
        let ends = beside_others(
            &made(key, &options),
            |table| tasks_of(table.context()).map(|messages| messages.len()),
            |fs, at, end| {
                if let Err(error) = end {
                    assert_eq!(error.kind(), ErrorKind::CommitConflict, "{options:?}, call {at}: {error:?}");
                    assert!(error.hint_text().is_some_and(|hint| hint.contains("plan the compaction again")));
                }
                let wanted = [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), OTHERS];
                assert_eq!(rows_of(fs), wanted, "{options:?}, call {at}");
            },
        );
        assert!(ends.iter().any(Result::is_err), "{options:?}");
    }
}

#[test]
fn a_statement_that_is_overtaken_runs_again_on_the_newest_version() {
    let set = BTreeMap::from([("v".to_owned(), "v + 1000".to_owned())]);
    for (key, options) in tables() {
        for (filter, set) in [("k = 2 or k = 5", BTreeMap::new()), ("k = 2 or k = 5", set.clone())] {
            let args = ModifyArgs { filter: Some(Condition::Sql(filter.to_owned())), set, threads: Some(1) };
            beside_others(
                &made(key, &options),
                |table| table.modify(&args),
                |fs, at, end| {
                    let what = format!("{options:?}, {args:?}, call {at}");
                    assert_eq!(end.as_ref().unwrap_or_else(|e| panic!("{what}: {e:?}")).affected_rows, 2, "{what}");
                    let mut wanted = vec![(1, 1), (3, 3), (4, 4), OTHERS];
                    if !args.set.is_empty() {
                        wanted.extend([(2, 1002), (5, 1005)]);
                        wanted.sort_unstable();
                    }
                    assert_eq!(rows_of(fs), wanted, "{what}");
                },
            );
        }
    }
}

#[test]
fn rows_are_deleted_by_their_keys_though_the_version_that_was_read_expires() {
    let options = [BUCKET, ("sequence.field", "v")];
    beside_others(
        &made(&["k"], &options),
        |table| table.delete_keys(std::iter::once(Ok(batch(&[(2, 0), (5, 0), (77, 0)])))),
        |fs, at, end| {
            assert_eq!(end.as_ref().unwrap_or_else(|e| panic!("call {at}: {e:?}")).affected_rows, 2, "call {at}");
            assert_eq!(rows_of(fs), [(1, 1), (3, 3), (4, 4), OTHERS], "call {at}");
        },
    );
}

#[test]
fn a_plan_of_the_newest_version_never_fails_and_reading_it_says_when_it_has_expired() {
    for (key, options) in tables() {
        let args = ScanRequest {
            options: ReadOptions { threads: Some(1), ..ReadOptions::default() },
            ..ScanRequest::default()
        };
        let ends = beside_others(
            &made(key, &options),
            |table| {
                let planned = table.plan(&args).unwrap_or_else(|error| panic!("{options:?}: {error:?}"));
                table.read(&args, &planned)?.try_fold(0, |rows, batch| Ok::<_, Error>(rows + batch?.num_rows()))
            },
            |_, at, end| match end {
                Ok(rows) => assert!(*rows == 5 || *rows == 6, "{options:?}, call {at}: {rows}"),
                Err(error) => assert_eq!(error.kind(), ErrorKind::SnapshotExpired, "{options:?}, call {at}: {error:?}"),
            },
        );
        assert!(ends.iter().any(Result::is_err), "{options:?}");
    }
}

#[test]
fn statistics_and_system_tables_are_those_of_the_newest_version() {
    for (key, options) in tables() {
        let never_fails = |_: &FileIoRef, at: u64, end: &Result<()>| {
            assert!(end.is_ok(), "{options:?}, call {at}: {end:?}");
        };
        beside_others(&made(key, &options), |table| analyze(table.context(), 1).map(drop), never_fails);
        beside_others(&made(key, &options), |table| table.files(None).map(drop), never_fails);
        for system in ["files", "manifests", "partitions", "buckets", "snapshots", "table_indexes", "file_key_ranges"] {
            let inspect = |table: &Table| table.inspect(system, &InspectArgs::default()).map(drop);
            let base = made(key, &options);
            if system != "table_indexes" {
                beside_others(&base, inspect, never_fails);
            }
        }
    }
}

/// Which versions there are was looked at twice, once for the end and once for the beginning, and the end came before it.
#[test]
fn changes_from_no_version_to_no_version_are_those_that_are_left() {
    for start in [None, Some(StreamPosition::Full)] {
        let args = ChangesArgs { start: start.clone(), ..ChangesArgs::default() };
        let ends = beside_others(
            &made(&[], &[]),
            |table| {
                let table = Table::open_with(table.context().fs.clone(), ROOT, "main", None, BTreeMap::new())?;
                let mut changes = ChangeStream::new(Arc::new(table), args.clone())?;
                let mut ids = Vec::new();
                loop {
                    let step = changes.progress();
                    match step {
                        // it may be the next one that has gone, or the one whose rows are being read
                        Err(error) if error.kind() == ErrorKind::SnapshotExpired && !ids.is_empty() => return Ok(ids),
                        Err(error) => return Err(error),
                        Ok(Progress::Rows(id, _, mut rows)) => {
                            ids.push(id);
                            match rows.try_for_each(|batch| batch.map(drop)) {
                                Err(error) if error.kind() == ErrorKind::SnapshotExpired => return Ok(ids),
                                read => read?,
                            }
                        }
                        Ok(_) => return Ok(ids),
                    }
                }
            },
            |_, at, end| {
                let ids = end.as_ref().unwrap_or_else(|error| panic!("{start:?}, call {at}: {error:?}"));
                // what is left may be a compaction alone, which changes no row
                assert!((start.is_none() || !ids.is_empty()) && ids.is_sorted(), "{start:?}, call {at}: {ids:?}");
            },
        );
        assert!(ends.len() > 5, "{start:?}");
    }
}

#[test]
fn a_version_that_no_one_names_is_looked_for_again_when_those_before_it_expire() {
    let scans = [
        ("scan.mode", "compacted-full", None),
        ("scan.mode", "default", Some(VersionSelector::Version("watermark-5".to_owned()))),
    ];
    for (key, value, version) in scans {
        let ends = beside_others(
            &made(&["k"], &[BUCKET]),
            |table| {
                let options = BTreeMap::from([(key.to_owned(), value.to_owned())]);
                let table = Table::open_with(table.context().fs.clone(), ROOT, "main", None, options)?;
                let version = version.clone().unwrap_or(VersionSelector::Latest);
                time_travel(table.context(), &version).map(|(_, found)| found.map(|snapshot| snapshot.id))
            },
            |_, at, end| match end {
                Ok(found) => assert!(found.is_some(), "{value}, call {at}"),
                Err(error) => assert_eq!(
                    (error.kind(), version.is_some()),
                    (ErrorKind::SnapshotNotFound, true),
                    "{value}, call {at}: {error:?}"
                ),
            },
        );
        assert!(ends.len() > 3, "{value}");
    }
}

/// Takes a file away that the newest version names.
fn damage(io: &FaultFileIo) {
    let fs: FileIoRef = Arc::new(io.clone());
    let ctx = open(&fs, ROOT);
    let latest = SnapshotManager::new(Arc::clone(&fs), ROOT).latest().unwrap().unwrap();
    let live = live_entries(&ctx, &latest, &EntryFilter::default()).unwrap();
    let oldest: &ManifestEntry = live.iter().max_by_key(|entry| entry.file.row_count).unwrap();
    io.delete(&ctx.paths.data_file(&oldest.partition, oldest.bucket, &oldest.file).unwrap()).unwrap();
}

#[test]
fn a_live_file_that_is_gone_is_damage_for_whoever_reads_it() {
    for (key, options) in tables() {
        let io = made(key, &options);
        damage(&io);
        let fs: FileIoRef = Arc::new(io.clone());
        let table = table(Arc::clone(&fs));
        let mut ends = vec![("task", tasks_of(table.context()).map(drop))];
        let args = ScanRequest::default();
        let read = table.plan(&args).and_then(|planned| table.read(&args, &planned)?.try_for_each(|b| b.map(drop)));
        ends.push(("read", read));
        ends.push(("analyze", analyze(table.context(), 1).map(drop)));
        let change = ModifyArgs { filter: Some(Condition::Sql("v = 2".to_owned())), ..ModifyArgs::default() };
        ends.push(("delete", table.modify(&change).map(drop)));
        if !options.is_empty() && options != [VECTORS] {
            ends.push(("upsert", upsert(&table, &[(2, 20), (3, 30)]).map(drop)));
        }
        for (what, end) in ends {
            let error = end.expect_err(what);
            assert_eq!(error.kind(), ErrorKind::FileNotFound, "{options:?}, {what}: {error:?}");
        }
        assert_eq!(SnapshotManager::new(fs, ROOT).latest_id().unwrap(), Some(latest_of(&io)), "{options:?}");
    }
}

fn latest_of(io: &FaultFileIo) -> i64 {
    let names = io.paths().into_iter().filter_map(|path| path.rsplit_once("/snapshot-")?.1.parse::<i64>().ok());
    names.max().unwrap_or(0)
}
