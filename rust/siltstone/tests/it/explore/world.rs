//! The tables that are explored: expired versions that tags keep, living ones, a branch, a consumer, messages that were handed out.

use std::{collections::BTreeMap, sync::Arc};

use siltstone::{
    Result,
    commit::Committable,
    fs::{FaultFileIo, FileIoRef},
    scan::VersionSelector,
    snapshot::SnapshotManager,
    table::{CommitReport, Table, TagArgs, VersionArgs},
    write::WriteOptions,
};

use super::model::{Line, Rows, State};
use crate::crash::{ROOT, batch, create};

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
/// How many times messages were handed out.
pub(super) const MESSAGES: i32 = 2;

/// What kind of table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    key: &'static [&'static str],
    options: &'static [(&'static str, &'static str)],
    /// Readers leave files of level 0 out.
    pub(super) hides: bool,
    /// Rows can be deleted and updated.
    pub(super) modifies: bool,
}

const LOOKUP: (&str, &str) = ("changelog-producer", "lookup");
const BUCKET: (&str, &str) = ("bucket", "1");
const VECTORS: (&str, &str) = ("deletion-vectors.enabled", "true");

pub(super) const KINDS: [Kind; 7] = [
    Kind { name: "plain", key: &["k"], options: &[BUCKET], hides: false, modifies: true },
    Kind { name: "lookup", key: &["k"], options: &[BUCKET, LOOKUP], hides: false, modifies: true },
    Kind { name: "vectors", key: &["k"], options: &[BUCKET, VECTORS], hides: true, modifies: true },
    Kind {
        name: "first-row",
        key: &["k"],
        options: &[BUCKET, LOOKUP, ("merge-engine", "first-row")],
        hides: true,
        modifies: false,
    },
    Kind {
        name: "dynamic",
        key: &["k"],
        options: &[("dynamic-bucket.target-row-num", "3"), LOOKUP],
        hides: false,
        modifies: true,
    },
    Kind {
        name: "changelogs",
        key: &["k"],
        options: &[
            BUCKET,
            ("changelog-producer", "input"),
            ("changelog.num-retained.min", "3"),
            ("changelog.num-retained.max", "6"),
        ],
        hides: false,
        modifies: true,
    },
    Kind { name: "append", key: &[], options: &[("bucket", "-1"), VECTORS], hides: false, modifies: true },
];

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
}

pub(super) fn open(fs: &FileIoRef, branch: &str, options: &[(&str, &str)]) -> Result<Table> {
    let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Table::open_with(Arc::clone(fs), ROOT, branch, None, options)
}

/// Writes and commits rows, as `Table.upsert` does.
pub(super) fn write(table: &Table, rows: &[(i32, i64)]) -> Result<CommitReport> {
    let mut writer = table.writer(None, WriteOptions { threads: Some(1), ..WriteOptions::default() })?;
    let written = writer.write(&batch(rows), None).and_then(|()| writer.commit(Committable::default()));
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
    pub(super) fn new(kind: Kind) -> Self {
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
        create(&fs, ROOT, kind.key, &options);
        let main = open(&fs, "main", &[]).unwrap();
        let mut line = Line { columns: 2, ..Line::default() };
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
                for snapshot in write(&main, &new).unwrap().snapshots {
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
        let messages = (0..MESSAGES).map(|number| prepared(&main, message_row(number))).collect();
        state.lines.insert("main".to_owned(), line);
        state.lines.insert("fix".to_owned(), fix);
        Self { kind, io, state, start, messages }
    }
}

fn prepared(table: &Table, row: (i32, i64)) -> Vec<Vec<u8>> {
    let mut writer = table.writer(None, WriteOptions { threads: Some(1), ..WriteOptions::default() }).unwrap();
    writer.write(&batch(&[row]), None).unwrap();
    let messages = writer.prepare_commit().unwrap();
    writer.close();
    messages
}

/// The tags of users: those that keep what a branch was made from are the branch's.
pub(super) fn users(tags: &BTreeMap<String, (i64, Arc<Rows>)>) -> BTreeMap<String, Rows> {
    let own = tags.iter().filter(|(name, _)| !name.starts_with("fork-"));
    own.map(|(name, (_, rows))| (name.clone(), Rows::clone(rows))).collect()
}
