//! Others commit to one of two branches that are read together, just before any one storage call of planning: each partition
//! is read of one branch, never of both, and never of neither.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use arrow_array::RecordBatch;
use siltstone::{
    Error, Result,
    commit::Committable,
    fs::{BeforeCall, FaultFileIo, FileIoRef},
    scan::{PartitionSpec, ReadOptions, ScanRequest},
    schema::{NewTable, SchemaManager},
    table::{InspectArgs, Table},
    types::{DataField, DataType, TypeKind},
    write::WriteOptions,
};

use crate::crash::{ROOT, batch};

/// Runs something once, before one call of the handle.
struct Meanwhile {
    calls: AtomicU64,
    at: u64,
    run: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Meanwhile {
    fn new(at: u64, run: impl FnOnce() + Send + 'static) -> Arc<Self> {
        Arc::new(Self { calls: AtomicU64::new(0), at, run: Mutex::new(Some(Box::new(run))) })
    }

    fn has_run(&self) -> bool {
        self.run.lock().unwrap().is_none()
    }
}

impl fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "before call {}", self.at)
    }
}

impl BeforeCall for Meanwhile {
    fn before(&self, _what: &str, _path: &str) -> Result<()> {
        if self.calls.fetch_add(1, Ordering::SeqCst) == self.at
            && let Some(run) = self.run.lock().unwrap().take()
        {
            run();
        }
        Ok(())
    }
}

/// Creates `k INT, v BIGINT`, partitioned by k, with a branch b.
fn made() -> FaultFileIo {
    let io = FaultFileIo::new();
    let fs: FileIoRef = Arc::new(io.clone());
    let schema = NewTable {
        fields: vec![
            DataField::new(0, "k", DataType::new(TypeKind::Int)),
            DataField::new(1, "v", DataType::new(TypeKind::BigInt)),
        ],
        primary_key: Vec::new(),
        partition_by: vec!["k".to_owned()],
        options: BTreeMap::new(),
        comment: None,
    };
    SchemaManager::new(Arc::clone(&fs), ROOT).create(schema.into_schema().unwrap()).unwrap();
    table(&fs, "main", &[]).create_branch("b", None, None).unwrap();
    io
}

fn table(fs: &FileIoRef, branch: &str, options: &[(&str, &str)]) -> Table {
    let options = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Table::open_with(Arc::clone(fs), ROOT, branch, None, options).unwrap()
}

fn add(fs: &FileIoRef, branch: &str, row: (i32, i64)) {
    let options = WriteOptions { threads: Some(1), ..WriteOptions::default() };
    let mut writer = table(fs, branch, &[]).writer(None, options).unwrap();
    writer.write(&batch(&[row]), None).and_then(|()| writer.commit(Committable::default())).unwrap();
    writer.close();
}

fn drop_partition(fs: &FileIoRef, branch: &str, k: i32) {
    let spec = PartitionSpec::from([("k".to_owned(), Some(k.to_string()))]);
    table(fs, branch, &[]).truncate(Some(&[spec]), false).unwrap();
}

/// What one branch has before, and what happens to partition 2 meanwhile.
type Case = (&'static str, fn(&FileIoRef), fn(&FileIoRef));

/// Partition 1 is in both branches all the time, and partition 2 at each time in one or in both.
const CASES: [Case; 4] = [
    ("main gets it", |fs| add(fs, "b", (2, 20)), |fs| add(fs, "main", (2, 2))),
    ("b gets it", |fs| add(fs, "main", (2, 2)), |fs| add(fs, "b", (2, 20))),
    (
        "it moves to b",
        |fs| add(fs, "main", (2, 2)),
        |fs| {
            add(fs, "b", (2, 20));
            drop_partition(fs, "main", 2);
        },
    ),
    (
        "it moves to main",
        |fs| add(fs, "b", (2, 20)),
        |fs| {
            add(fs, "main", (2, 2));
            drop_partition(fs, "b", 2);
        },
    ),
];

/// What `look` finds while others are at work before each of its calls.
fn beside_others(look: impl Fn(&Table) -> Result<u64>) {
    for (what, before, meanwhile) in CASES {
        let base = made();
        let fs: FileIoRef = Arc::new(base.clone());
        add(&fs, "main", (1, 1));
        add(&fs, "b", (1, 10));
        before(&fs);
        for option in ["scan.fallback-branch", "scan.primary-branch"] {
            let mut looks = 0;
            for at in 0.. {
                let io = base.fork();
                let others: FileIoRef = Arc::new(io.clone());
                let gate = Meanwhile::new(at, move || meanwhile(&others));
                let behind: FileIoRef = Arc::new(io.behind(Arc::clone(&gate) as Arc<dyn BeforeCall>));
                let found = look(&table(&behind, "main", &[(option, "b")]));
                assert_eq!(found.unwrap(), 2, "{what}, {option}, call {at}");
                if !gate.has_run() {
                    break;
                }
                looks += 1;
            }
            assert!(looks > 20, "{what}, {option}: {looks}");
        }
    }
}

#[test]
fn rows_of_two_branches_are_of_versions_that_were_looked_up_once() {
    let args =
        ScanRequest { options: ReadOptions { threads: Some(1), ..ReadOptions::default() }, ..ScanRequest::default() };
    beside_others(|table| {
        let planned = table.plan(&args)?;
        let (rows, splits) = (table.count(&args, &planned)?, table.splits(&args, planned.clone()).len());
        let read = table.read(&args, &planned)?.try_fold(0, |rows, batch| Ok::<_, Error>(rows + batch?.num_rows()))?;
        assert_eq!((splits, read), (2, 2));
        Ok(rows)
    });
}

#[test]
fn partitions_of_two_branches_are_of_versions_that_were_looked_up_once() {
    beside_others(|table| {
        let found = table.inspect("partitions", &InspectArgs::default())?;
        let rows: usize = found.iter().map(RecordBatch::num_rows).sum();
        Ok(rows.try_into().unwrap())
    });
}
