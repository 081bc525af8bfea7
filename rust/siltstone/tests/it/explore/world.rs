//! The tables that are explored: expired versions that tags keep, living ones, a branch, a consumer, messages that were handed out.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch};
use siltstone::{
    Result,
    commit::Committable,
    fs::{FaultFileIo, FileIoRef},
    scan::VersionSelector,
    schema::{NewTable, SchemaManager},
    snapshot::SnapshotManager,
    table::{CommitReport, Table, TagArgs, VersionArgs},
    types::{DataField, DataType, TypeKind},
    write::WriteOptions,
};

use super::{
    look,
    model::{Effect, Line, Rows, State},
    versions::{Reader, Versions},
};
use crate::crash::ROOT;

/// A tag of an expired snapshot from which the branch `fix` was made.
pub(super) const BASE: &str = "base";
/// A tag of an expired snapshot.
pub(super) const OLD: &str = "old";
/// A tag of a living snapshot.
pub(super) const KEPT: &str = "kept";
/// A tag of a living snapshot that is newer than the one `kept` is of.
pub(super) const LATE: &str = "late";
/// Keys of the rows that are there: one for each operation that changes a row.
pub(super) const KEYS: i32 = 12;
/// How many times messages were handed out that are committed.
pub(super) const MESSAGES: i32 = 2;
/// Messages that are aborted, and not committed: whoever does both at the same time gets what he asked for.
pub(super) const ABORTED: i32 = MESSAGES;

/// What becomes of rows of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Merges {
    /// The newest one stays.
    Newest,
    /// The one with the largest value.
    Largest,
    /// One with the sum of their values.
    Sum,
}

/// What kind of table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    key: &'static [&'static str],
    /// By the column `p`, the rest of `k` by two.
    pub(super) partitioned: bool,
    options: &'static [(&'static str, &'static str)],
    /// Readers leave files of level 0 out, or rows that wait for their bucket.
    pub(super) hides: bool,
    /// Rows can be deleted and updated.
    pub(super) modifies: bool,
    pub(super) merges: Merges,
}

const LOOKUP: (&str, &str) = ("changelog-producer", "lookup");
const BUCKET: (&str, &str) = ("bucket", "1");
const VECTORS: (&str, &str) = ("deletion-vectors.enabled", "true");
/// `fsck` judges whether each row has an id of its own.
const ROW_IDS: (&str, &str) = ("row-tracking.enabled", "true");
/// Rows wait for their buckets.
const POSTPONED: (&str, &str) = ("bucket", "-2");
const SWITCHES: (&str, &str) = ("deletion-vectors.modifiable", "true");

/// Compactions leave the highest level alone, soon.
const SOON: (&str, &str) = ("num-sorted-run.compaction-trigger", "2");

const KEYED: Kind = Kind {
    name: "plain",
    key: &["k"],
    partitioned: false,
    options: &[BUCKET, SWITCHES],
    hides: false,
    modifies: true,
    merges: Merges::Newest,
};

pub(super) const KINDS: [Kind; 11] = [
    KEYED,
    Kind { name: "lookup", options: &[BUCKET, LOOKUP, SWITCHES], ..KEYED },
    Kind { name: "vectors", options: &[BUCKET, VECTORS, SWITCHES], hides: true, ..KEYED },
    Kind {
        name: "first-row",
        options: &[BUCKET, LOOKUP, ("merge-engine", "first-row")],
        hides: true,
        modifies: false,
        ..KEYED
    },
    Kind { name: "dynamic", options: &[("dynamic-bucket.target-row-num", "3"), LOOKUP], ..KEYED },
    Kind {
        name: "changelogs",
        options: &[
            BUCKET,
            ("changelog-producer", "input"),
            ("changelog.num-retained.min", "3"),
            ("changelog.num-retained.max", "6"),
        ],
        ..KEYED
    },
    Kind { name: "append", key: &[], options: &[("bucket", "-1"), VECTORS, SWITCHES, ROW_IDS], ..KEYED },
    Kind { name: "partitions", key: &["p", "k"], partitioned: true, options: &[BUCKET, LOOKUP], ..KEYED },
    Kind { name: "postponed", options: &[POSTPONED], hides: true, modifies: false, ..KEYED },
    Kind {
        name: "sums",
        options: &[BUCKET, SWITCHES, SOON, ("merge-engine", "aggregation"), ("fields.v.aggregate-function", "sum")],
        modifies: false,
        merges: Merges::Sum,
        ..KEYED
    },
    Kind {
        name: "largest",
        options: &[BUCKET, SWITCHES, SOON, ("sequence.field", "v")],
        modifies: false,
        merges: Merges::Largest,
        ..KEYED
    },
];

impl Kind {
    pub(super) fn has_fixed_buckets(self) -> bool {
        self.options.contains(&BUCKET)
    }

    pub(super) fn is_postponed(self) -> bool {
        self.options.contains(&POSTPONED)
    }

    /// Whether deletion vectors can be switched on and off.
    pub(super) fn switches(self) -> bool {
        self.options.contains(&SWITCHES)
    }

    /// What putting rows does.
    pub(super) fn put(self, rows: Rows) -> Effect {
        match self.merges {
            Merges::Newest => Effect::Put(rows),
            merges => Effect::Merge(merges, rows),
        }
    }

    pub(super) fn has_changelogs(self) -> bool {
        self.options.iter().any(|(option, _)| *option == "changelog-producer")
    }
}

/// One of each kind, as soon as it is asked for.
#[derive(Debug, Default)]
pub(super) struct Worlds([OnceLock<World>; KINDS.len()]);

impl Worlds {
    pub(super) fn of(&self, kind: usize) -> &World {
        self.0[kind].get_or_init(|| World::new(KINDS[kind]))
    }
}

/// A table and what is known of it.
#[derive(Debug)]
pub(super) struct World {
    pub(super) kind: Kind,
    pub(super) io: FaultFileIo,
    pub(super) state: State,
    /// Older files may be orphans: from now on jobs run.
    pub(super) start: i64,
    /// Messages as bytes that travel, each of one row.
    pub(super) messages: Vec<Vec<Vec<u8>>>,
    /// What was found in versions before.
    pub(super) known: Versions,
}

pub(super) fn open(fs: &FileIoRef, branch: &str, options: &[(&str, &str)]) -> Result<Table> {
    let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Table::open_with(Arc::clone(fs), ROOT, branch, None, options)
}

/// Creates `k INT, v BIGINT`, and `p INT` where it is partitioned.
fn create(fs: &FileIoRef, kind: Kind, options: &[(&str, &str)]) {
    let text = |v: &&str| (*v).to_owned();
    let mut fields = vec![("k", TypeKind::Int), ("v", TypeKind::BigInt)];
    if kind.partitioned {
        fields.push(("p", TypeKind::Int));
    }
    let field = |(id, (name, kind)): (usize, (&str, TypeKind))| {
        DataField::new(i32::try_from(id).unwrap(), name, DataType::new(kind))
    };
    let schema = NewTable {
        fields: fields.into_iter().enumerate().map(field).collect(),
        primary_key: kind.key.iter().map(text).collect(),
        partition_by: if kind.partitioned { vec!["p".to_owned()] } else { Vec::new() },
        options: options.iter().map(|(k, v)| (text(k), text(v))).collect(),
        comment: None,
    };
    SchemaManager::new(Arc::clone(fs), ROOT).create(schema.into_schema().unwrap()).unwrap();
}

/// Rows as the table has them.
pub(super) fn batch(table: &Table, rows: &[(i32, i64)]) -> RecordBatch {
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("k", Arc::new(rows.iter().map(|row| Some(row.0)).collect::<Int32Array>())),
        ("v", Arc::new(rows.iter().map(|row| Some(row.1)).collect::<Int64Array>())),
    ];
    if !table.context().schema.partition_keys.is_empty() {
        columns.push(("p", Arc::new(rows.iter().map(|row| Some(partition(row.0))).collect::<Int32Array>())));
    }
    RecordBatch::try_from_iter(columns).unwrap()
}

/// The partition of a row.
pub(super) fn partition(key: i32) -> i32 {
    key % 2
}

/// Writes and commits rows, as `Table.upsert` does.
pub(super) fn write(table: &Table, rows: &[(i32, i64)]) -> Result<CommitReport> {
    let mut writer = table.writer(None, WriteOptions { threads: Some(1), ..WriteOptions::default() })?;
    let written = writer.write(&batch(table, rows), None).and_then(|()| writer.commit(Committable::default()));
    writer.close();
    written
}

/// The row of a handed-out message.
pub(super) fn message_row(number: i32) -> (i32, i64) {
    (300 + number, 3)
}

pub(super) fn tag_of(id: i64) -> TagArgs {
    let version = VersionArgs { version: Some(VersionSelector::Snapshot(id)), ..VersionArgs::default() };
    TagArgs { source: version, ..TagArgs::default() }
}

impl World {
    fn new(kind: Kind) -> Self {
        let io = FaultFileIo::new();
        let fs: FileIoRef = Arc::new(io.clone());
        let mut options = kind.options.to_vec();
        options.extend([
            ("commit.min-retry-wait", "1 ms"),
            ("commit.max-retry-wait", "1 ms"),
            ("commit.max-retries", "5"),
            ("siltstone.upkeep-lock-timeout", "0 ms"),
            ("file.compression", "none"),
            ("manifest.compression", "null"),
            ("manifest.merge-min-count", "5"),
            ("snapshot.num-retained.min", "1000"),
            ("snapshot.num-retained.max", "1000"),
        ]);
        create(&fs, kind, &options);
        let main = open(&fs, "main", &[]).unwrap();
        let mut line = Line { columns: main.context().schema.fields.len(), ..Line::default() };
        let mut rows = Rows::new();
        for key in 1..=KEYS {
            if line.versions.len() < 9 || key == KEYS {
                let keys = if key == KEYS {
                    line.rows().iter().map(|row| row.0).max().unwrap_or(0) + 1..=KEYS
                } else {
                    key..=key
                };
                let new: Vec<(i32, i64)> = keys.map(|k| (k, i64::from(k) * 10)).collect();
                rows.extend(&new);
                let mut made = write(&main, &new).unwrap().snapshots;
                if kind.is_postponed() && key % 3 == 0 {
                    made.extend(super::operations::compact(&fs, "main").unwrap().snapshots);
                }
                for snapshot in made {
                    line.add(snapshot.id, rows.clone());
                }
            }
        }
        let ids: Vec<i64> = line.versions.keys().copied().collect();
        let last = ids.len() - 1;
        let mut state = State::default();
        for (name, at) in [(BASE, 1), (OLD, 3), (KEPT, last - 2), (LATE, last - 1)] {
            main.create_tag(name, &tag_of(ids[at])).unwrap();
            state.tags.insert(name.to_owned(), (ids[at], Arc::clone(&line.versions[&ids[at]])));
        }
        main.create_branch("fix", Some(BASE.to_owned()), None).unwrap();
        let mut fix = line.begun_at(ids[1]);
        let mut rows = fix.rows().to_vec();
        rows.push((50, 500));
        for snapshot in write(&open(&fs, "fix", &[]).unwrap(), &[(50, 500)]).unwrap().snapshots {
            fix.add(snapshot.id, rows.clone());
        }
        main.expire_snapshots(&super::operations::retain(4), false).unwrap();
        assert_eq!(SnapshotManager::new(Arc::clone(&fs), ROOT).ids().unwrap(), ids[last - 3..], "{}", kind.name);
        main.reset_consumer("reader", Some(ids[last])).unwrap();
        let start = io.clock_millis() + 1;
        let messages = (0..=ABORTED).map(|number| prepared(&main, message_row(number))).collect();
        state.lines.insert("main".to_owned(), line);
        state.lines.insert("fix".to_owned(), fix);
        let nothing = Versions::default();
        let reader = Reader::new(&io, &nothing);
        look::state(&fs, &reader).unwrap();
        let known = reader.into_known();
        Self { kind, io, state, start, messages, known }
    }
}

fn prepared(table: &Table, row: (i32, i64)) -> Vec<Vec<u8>> {
    let mut writer = table.writer(None, WriteOptions { threads: Some(1), ..WriteOptions::default() }).unwrap();
    writer.write(&batch(table, &[row]), None).unwrap();
    let messages = writer.prepare_commit().unwrap();
    writer.close();
    messages
}

/// The tags of users: those that keep what a branch was made from are the branch's.
pub(super) fn users(tags: &BTreeMap<String, (i64, Arc<Rows>)>) -> BTreeMap<String, Rows> {
    let own = tags.iter().filter(|(name, _)| !name.starts_with("fork-"));
    own.map(|(name, (_, rows))| (name.clone(), Rows::clone(rows))).collect()
}
