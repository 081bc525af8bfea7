//! Tables and branches that are renamed, dropped, made again or fast-forwarded while a commit is at any one of its storage
//! calls; [`rescaled`]: tables whose number of buckets changes while a writer is open; [`redefined`]: fixed options, before
//! the first snapshot, again and again in one table ([`late_again`]); [`mixed`]: schemas of the same id in main and in a branch that it goes
//! forward to; [`switched_off`]: deletion vectors; [`relied_on`]: what others make of a commit that is about to be taken
//! back.
//!
//! ```text
//! writer   ── call 0 ── … ── call n │                                  │ ── goes on ──
//! others                            │ rename, drop, make again, …      │
//! ```
//!
//! A commit that was acknowledged is in the table or branch that it was made for, whatever its name is now; no other table has
//! its rows, and no directory comes back that is no table.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use arrow_array::{RecordBatch, cast::AsArray, types};
use siltstone::{
    ErrorKind, Result,
    commit::Committable,
    fs::{BeforeCall, FaultFileIo, FileIo as _, FileIoRef},
    maintenance::{
        branch::{BranchSource, create_branch, delete_branch, fast_forward, rename_branch},
        fsck::{Severity, fsck},
    },
    path::branch_root,
    predicate::Condition,
    read::read_splits,
    scan::{ScanRequest, VersionSelector, plan},
    schema::{NewTable, SchemaChange, SchemaManager},
    snapshot::{BranchManager, SnapshotManager, UpkeepLock},
    table::{Catalog, CommitReport, ExpireArgs, InspectArgs, ModifyArgs, Table, TagArgs},
    types::{DataField, DataType, TypeKind},
    write::WriteOptions,
};

use crate::crash::{UNCOMPRESSED, batch};

mod beside_taken_back;
mod branches;
mod built_on;
mod handles;
mod late_again;
mod mixed;
mod reads;
mod redefined;
mod relied_on;
mod rescaled;
mod switched_off;
mod tables;

const DATABASE: &str = "/lake/db.db";
const HOME: &str = "/lake/db.db/t";
/// The row of the commit that is at work.
const OURS: (i32, i64) = (50, 500);
/// The row of a table or branch that was made in the place of another.
const THEIRS: (i32, i64) = (70, 700);

type Options = &'static [(&'static str, &'static str)];
/// Key columns and options.
type Kind = (&'static [&'static str], Options);

const APPEND: Kind = (&[], &[]);
/// Its commits compact, too.
const KEYED: Kind = (&["k"], &[("bucket", "1"), ("changelog-producer", "lookup")]);

fn catalog(io: &FaultFileIo) -> Catalog {
    Catalog::new(Arc::new(io.clone()), "/lake", BTreeMap::new()).unwrap()
}

fn definition(kind: Kind) -> NewTable {
    // nobody goes on while somebody waits
    let quick = [
        ("commit.min-retry-wait", "1 ms"),
        ("commit.max-retry-wait", "1 ms"),
        ("commit.max-retries", "5"),
        ("siltstone.upkeep-lock-timeout", "0 ms"),
    ];
    let options = UNCOMPRESSED.iter().chain(kind.1).chain(&quick).map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    NewTable {
        fields: vec![
            DataField::new(0, "k", DataType::new(TypeKind::Int)),
            DataField::new(1, "v", DataType::new(TypeKind::BigInt)),
        ],
        primary_key: kind.0.iter().map(|key| (*key).to_owned()).collect(),
        options: options.collect(),
        ..NewTable::default()
    }
}

fn create(io: &FaultFileIo, kind: Kind) {
    // the time in its schema tells a table from the one before
    thread::sleep(Duration::from_millis(2));
    catalog(io).create_table("db.t", definition(kind), false).unwrap();
}

fn open(fs: FileIoRef, location: &str, branch: &str) -> Table {
    Table::open_with(fs, location, branch, None, BTreeMap::new()).unwrap()
}

fn opened(io: &FaultFileIo, location: &str, branch: &str) -> Table {
    open(Arc::new(io.clone()), location, branch)
}

fn put(table: &Table, row: (i32, i64)) -> Result<CommitReport> {
    let mut writer = table.writer(None, WriteOptions { threads: Some(1), ..WriteOptions::default() })?;
    let written = writer.write(&batch(&[row]), None).and_then(|()| writer.commit(Committable::default()));
    writer.close();
    written
}

fn rows(table: &Table, version: VersionSelector) -> Vec<(i32, i64)> {
    let plan = plan(table.context(), &ScanRequest { version, ..ScanRequest::default() }).unwrap();
    let batches: Vec<RecordBatch> =
        read_splits(&plan.ctx, &plan.splits, &plan.read, 1).unwrap().map(Result::unwrap).collect();
    let mut rows = Vec::new();
    for batch in &batches {
        let (k, v) = (batch.column(0).as_primitive::<types::Int32Type>(), batch.column(1));
        let v = v.as_primitive::<types::Int64Type>();
        rows.extend((0..batch.num_rows()).map(|i| (k.value(i), v.value(i))));
    }
    rows.sort_unstable();
    rows
}

/// The newest rows of all tables and their branches, by location and branch; every version of them is read, too.
fn everything(io: &FaultFileIo) -> BTreeMap<(String, String), Vec<(i32, i64)>> {
    let fs: FileIoRef = Arc::new(io.clone());
    let mut found = BTreeMap::new();
    for name in catalog(io).tables("db").unwrap() {
        let location = format!("{DATABASE}/{name}");
        let mut branches = BranchManager::new(Arc::clone(&fs), &location).names().unwrap();
        branches.push("main".to_owned());
        for branch in branches {
            let table = opened(io, &location, &branch);
            let snapshots = SnapshotManager::new(Arc::clone(&fs), &branch_root(&location, &branch));
            for id in snapshots.ids().unwrap() {
                rows(&table, VersionSelector::Snapshot(id));
            }
            found.insert((location.clone(), branch), rows(&table, VersionSelector::Latest));
        }
    }
    found
}

/// Directories of tables or branches that have no schema.
fn ghosts(io: &FaultFileIo) -> Vec<String> {
    let fs: FileIoRef = Arc::new(io.clone());
    let mut places: Vec<String> = io.list(DATABASE).unwrap().into_iter().map(|child| child.path).collect();
    for table in places.clone() {
        places.extend(io.list(&format!("{table}/branch")).unwrap().into_iter().map(|child| child.path));
    }
    places.retain(|place| SchemaManager::new(Arc::clone(&fs), place).ids().unwrap().is_empty());
    places
}

fn check_whole(io: &FaultFileIo, what: &str) {
    assert_eq!(ghosts(io), Vec::<String>::new(), "{what}");
    for name in catalog(io).tables("db").unwrap() {
        let verdict = fsck(opened(io, &format!("{DATABASE}/{name}"), "main").context(), true, i64::MAX).unwrap();
        let problems: Vec<_> = verdict.findings.iter().filter(|f| f.severity == Severity::Problem).collect();
        assert!(problems.is_empty(), "{what}, {name}: {problems:#?}");
    }
}

/// Runs something once, before a call.
struct Meanwhile {
    armed: AtomicBool,
    calls: AtomicU64,
    at: u64,
    fired: AtomicBool,
    run: Mutex<Box<dyn FnMut() + Send>>,
}

impl fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "before call {}", self.at)
    }
}

impl BeforeCall for Meanwhile {
    fn before(&self, _what: &str, _path: &str) -> Result<()> {
        if self.armed.load(Ordering::SeqCst) && self.calls.fetch_add(1, Ordering::SeqCst) == self.at {
            (self.run.lock().unwrap())();
            self.fired.store(true, Ordering::SeqCst);
        }
        Ok(())
    }
}

/// What others do, and what that means for a commit that was there before.
#[derive(Clone, Copy)]
struct Deed {
    name: &'static str,
    run: fn(&FaultFileIo, Kind),
    /// A commit that was there before may be gone: it was dropped, or gave way.
    may_end: bool,
}

/// How often a commit was acknowledged, and how often it was given up.
#[derive(Debug, Default)]
struct Ends {
    acknowledged: usize,
    given_up: usize,
}

/// A commit to a branch, with the deed before each of its storage calls.
fn at_each_call(base: &FaultFileIo, kind: Kind, branch: &str, deed: Deed) -> Ends {
    let mut ends = Ends::default();
    for at in 0.. {
        let io = base.fork();
        let (others, was_there) = (io.clone(), Arc::new(AtomicBool::new(false)));
        let seen = Arc::clone(&was_there);
        let gate = Arc::new(Meanwhile {
            armed: AtomicBool::new(false),
            calls: AtomicU64::new(0),
            at,
            fired: AtomicBool::new(false),
            run: Mutex::new(Box::new(move || {
                seen.store(everything(&others).values().any(|rows| rows.contains(&OURS)), Ordering::SeqCst);
                (deed.run)(&others, kind);
            })),
        });
        let table = open(Arc::new(io.behind(Arc::clone(&gate) as Arc<dyn BeforeCall>)), HOME, branch);
        let mut writer = table.writer(None, WriteOptions { threads: Some(1), ..WriteOptions::default() }).unwrap();
        writer.write(&batch(&[OURS]), None).unwrap();
        gate.armed.store(true, Ordering::SeqCst);
        let end = writer.commit(Committable::default());
        writer.close();
        if !gate.fired.load(Ordering::SeqCst) {
            assert!(at > 30, "a commit makes more calls than {at}");
            break;
        }
        let what = format!("{}, {kind:?}, {branch}, call {at}: {end:?}", deed.name);
        check_whole(&io, &what);
        let found = everything(&io);
        let with_ours: Vec<_> = found.iter().filter(|(_, rows)| rows.contains(&OURS)).collect();
        for (place, rows) in &with_ours {
            assert!(!rows.contains(&THEIRS), "{what}: the rows of {place:?} are another's");
            assert_eq!(rows.iter().filter(|row| **row == OURS).count(), 1, "{what}");
        }
        match &end {
            Ok(_) => {
                ends.acknowledged += 1;
                let superseded = deed.may_end && was_there.load(Ordering::SeqCst);
                assert!(!with_ours.is_empty() || superseded, "{what}: acknowledged and lost\n{found:#?}");
            }
            Err(error) => {
                ends.given_up += 1;
                let kinds = [ErrorKind::TableNotFound, ErrorKind::BranchNotFound, ErrorKind::CommitConflict];
                assert!(kinds.contains(&error.kind()), "{what}");
                let unknown = error.message().contains("it is not known");
                assert!(with_ours.is_empty() || unknown, "{what}: given up, and there\n{found:#?}");
            }
        }
        go_on(&io, &found, &what);
    }
    ends
}

/// Every table and branch takes another commit, and has all rows then.
fn go_on(io: &FaultFileIo, found: &BTreeMap<(String, String), Vec<(i32, i64)>>, what: &str) {
    for ((location, branch), rows_before) in found {
        let table = opened(io, location, branch);
        put(&table, (99, 990)).unwrap_or_else(|e| panic!("{what}: {location} {branch} takes no commit: {e:?}"));
        let mut wanted = rows_before.clone();
        wanted.push((99, 990));
        assert_eq!(rows(&table, VersionSelector::Latest), wanted, "{what}: {location} {branch}");
    }
    check_whole(io, what);
}

fn recreate(io: &FaultFileIo, kind: Kind) {
    catalog(io).drop_table("db.t", false).unwrap();
    create(io, kind);
}

/// A table with some commits.
fn made(kind: Kind, commits: i32) -> FaultFileIo {
    let io = FaultFileIo::new();
    catalog(&io).create_database("db", false).unwrap();
    create(&io, kind);
    for k in 0..commits {
        put(&opened(&io, HOME, "main"), (k, 0)).unwrap();
    }
    thread::sleep(Duration::from_millis(2));
    io
}

fn main_of(io: &FaultFileIo) -> Table {
    opened(io, HOME, "main")
}
