//! The tables that actors meet: versions that expired and are kept by tags, living ones, a branch.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch};
use siltstone::{
    Result,
    commit::Committable,
    fs::{FaultFileIo, FileIoRef},
    maintenance::{
        branch::{BranchSource, create_branch},
        expire::{Retention, expire_snapshots},
        tag::{CreateTag, create_tag},
    },
    scan::VersionSelector,
    schema::{NewTable, SchemaManager},
    snapshot::{ConsumerManager, SnapshotManager},
    table::{CommitReport, Table},
    types::{DataField, DataType, TypeKind},
    write::WriteOptions,
};

use super::{
    actors::{ALL, Actor},
    model::{Rows, State},
};

pub(super) const ROOT: &str = "/lake/db.db/t";

/// A table and what is known of it.
#[derive(Debug)]
pub(super) struct World {
    pub(super) name: &'static str,
    /// Which half of the pairs `cargo test` takes of this table; the other takes the other half.
    pub(super) parity: usize,
    /// Rows can get another number of buckets.
    pub(super) rescales: bool,
    /// There is no version yet, but in the branch `fix`.
    pub(super) empty: bool,
    pub(super) io: FaultFileIo,
    /// What is in it now.
    pub(super) now: State,
    /// The rows of main's snapshots, expired ones among them.
    pub(super) versions: BTreeMap<i64, Rows>,
    /// The rows of the branch `fix`, from the version on that it was made from.
    pub(super) fix: Vec<Rows>,
}

/// A tag of an expired snapshot from which the branch `fix` was made.
pub(super) const BASE: &str = "base";
/// A tag of an expired snapshot.
pub(super) const OLD: &str = "old";
/// A tag of a living snapshot.
pub(super) const KEPT: &str = "kept";
/// A tag of a living snapshot that is newer than the one `kept` is of.
pub(super) const LATE: &str = "late";

pub(super) fn open(fs: &FileIoRef, branch: &str, options: &[(&str, &str)]) -> Result<Table> {
    let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Table::open_with(Arc::clone(fs), ROOT, branch, None, options)
}

pub(super) fn batch(rows: &[(i32, i64)]) -> RecordBatch {
    let columns: [(&str, ArrayRef); 2] = [
        ("k", Arc::new(rows.iter().map(|r| Some(r.0)).collect::<Int32Array>())),
        ("v", Arc::new(rows.iter().map(|r| Some(r.1)).collect::<Int64Array>())),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Writes and commits rows, as `Table.upsert` does.
pub(super) fn write(table: &Table, rows: &[(i32, i64)]) -> Result<CommitReport> {
    let mut writer = table.writer(None, WriteOptions { threads: Some(1), ..WriteOptions::default() })?;
    let written = writer.write(&batch(rows), None).and_then(|()| writer.commit(Committable::default()));
    writer.close();
    written
}

impl World {
    /// What can run on it.
    pub(super) fn actors(&self) -> impl Iterator<Item = Actor> {
        let has = |actor: &Actor| if self.empty { !actor.needs_versions() } else { true };
        ALL.into_iter().filter(|actor| *actor != Actor::Rescale || self.rescales).filter(has)
    }

    /// A table with a primary key whose writes look keys up and compact.
    pub(super) fn keyed() -> Self {
        Self::make("keyed", &["k"], &[("bucket", "1"), ("changelog-producer", "lookup")], false)
    }

    /// The same with dynamic buckets of two keys each.
    pub(super) fn dynamic() -> Self {
        let options = [("dynamic-bucket.target-row-num", "2"), ("changelog-producer", "lookup")];
        Self::make("dynamic", &["k"], &options, false)
    }

    /// A table without a primary key whose deletes mark rows, and a consumer.
    pub(super) fn appended() -> Self {
        Self::make("appended", &[], &[("bucket", "-1"), ("deletion-vectors.enabled", "true")], true)
    }

    /// A table without a version, and a branch of it that has one.
    pub(super) fn without_versions() -> Self {
        let mut world = Self::created("without versions", &["k"], &[("bucket", "1"), ("changelog-producer", "lookup")]);
        (world.rescales, world.empty) = (false, true);
        let fs: FileIoRef = Arc::new(world.io.clone());
        create_branch(open(&fs, "main", &[]).unwrap().context(), "fix", &BranchSource::Empty).unwrap();
        let made = write(&open(&fs, "fix", &[]).unwrap(), &[(50, 500)]).unwrap().snapshots;
        world.fix.extend(made.iter().map(|_| vec![(50, 500)]));
        world.now.branches.insert("fix".to_owned(), vec![(50, 500)]);
        world.now.columns = 2;
        world
    }

    fn created(name: &'static str, key: &[&str], options: &[(&str, &str)]) -> Self {
        let io = FaultFileIo::new();
        create(&(Arc::new(io.clone()) as FileIoRef), key, options);
        Self {
            name,
            parity: 0,
            rescales: options.contains(&("bucket", "1")),
            empty: false,
            io,
            now: State::default(),
            versions: BTreeMap::new(),
            fix: Vec::new(),
        }
    }

    fn make(name: &'static str, key: &[&str], options: &[(&str, &str)], consumer: bool) -> Self {
        let mut world = Self::created(name, key, options);
        world.parity = usize::from(consumer);
        let fs: FileIoRef = Arc::new(world.io.clone());
        let main = open(&fs, "main", &[]).unwrap();
        for round in 0..4_i32 {
            let first = if round == 0 { 1 } else { 3 + round };
            world.commit(&main, &(first..=3 + round).map(|k| (k, i64::from(k) * 10)).collect::<Vec<_>>());
            if key.is_empty() {
                // as many snapshots as with the compactions of the other table
                world.commit(&main, &[(100 + round, 0)]);
            }
        }
        let ctx = main.context();
        for (name, id) in [(BASE, 2), (OLD, 4), (KEPT, 6), (LATE, 7)] {
            create_tag(ctx, name, &CreateTag { version: VersionSelector::Snapshot(id), ..CreateTag::default() })
                .unwrap();
            world.now.tags.insert(name.to_owned(), (world.versions[&id].clone(), id));
        }
        create_branch(ctx, "fix", &BranchSource::Tag(BASE.to_owned())).unwrap();
        let made = write(&open(&fs, "fix", &[]).unwrap(), &[(50, 500)]).unwrap().snapshots;
        let mut fixed = world.versions[&2].clone();
        world.fix.push(fixed.clone());
        fixed.push((50, 500));
        fixed.sort_unstable();
        world.fix.extend(made.iter().map(|_| fixed.clone()));
        world.now.branches.insert("fix".to_owned(), fixed);
        let keep = Retention { max: 4, min: 4, older_than: None, limit: i64::MAX };
        expire_snapshots(ctx, &keep, false).unwrap();
        assert_eq!(SnapshotManager::new(Arc::clone(&fs), ROOT).ids().unwrap(), [5, 6, 7, 8], "{name}");
        if consumer {
            let path = ConsumerManager::new(Arc::clone(&fs), ROOT).path("reader");
            world.io.put(&path, b"{\n  \"nextSnapshot\" : 9\n}");
        }
        world.now.newest = 8;
        world.now.columns = 2;
        world
    }

    fn commit(&mut self, main: &Table, rows: &[(i32, i64)]) {
        self.now.rows.extend_from_slice(rows);
        self.now.rows.sort_unstable();
        for snapshot in write(main, rows).unwrap().snapshots {
            self.versions.insert(snapshot.id, self.now.rows.clone());
        }
    }
}

/// Creates `k INT, v BIGINT`, with hardly any waiting: nobody goes on while somebody waits.
fn create(fs: &FileIoRef, key: &[&str], options: &[(&str, &str)]) {
    let text = |v: &&str| (*v).to_owned();
    let mut all: BTreeMap<String, String> = options.iter().map(|(k, v)| (text(k), text(v))).collect();
    for (option, value) in [
        ("commit.min-retry-wait", "1 ms"),
        ("commit.max-retry-wait", "1 ms"),
        ("commit.max-retries", "5"),
        ("siltstone.upkeep-lock-timeout", "0 ms"),
        ("file.compression", "none"),
        ("manifest.compression", "null"),
        ("manifest.merge-min-count", "5"),
    ] {
        all.insert(option.to_owned(), value.to_owned());
    }
    let schema = NewTable {
        fields: vec![
            DataField::new(0, "k", DataType::new(TypeKind::Int)),
            DataField::new(1, "v", DataType::new(TypeKind::BigInt)),
        ],
        primary_key: key.iter().map(text).collect(),
        partition_by: Vec::new(),
        options: all,
        comment: None,
    };
    SchemaManager::new(Arc::clone(fs), ROOT).create(schema.into_schema().unwrap()).unwrap();
}
