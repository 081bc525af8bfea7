//! Figures of a table's health: what they cost, and that they are those of the files.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use siltstone::{
    commit::{Committable, TableCommit},
    fs::{FaultFileIo, FileIoRef},
    scan::{EntryFilter, VersionSelector, live_entries, time_travel},
    schema::{NewTable, SchemaManager},
    table::{CompactArgs, Health, HealthArgs, KeptVersion, Table},
    types::{DataField, DataType, TypeKind},
    write::{TableWrite, WriteOptions},
};

use crate::crash::batch;

const ROOT: &str = "/lake/db.db/t";
const COMMITS: i64 = 6;

/// A table of some commits, each of which has a manifest of its own.
fn table() -> (FaultFileIo, Table) {
    let io = FaultFileIo::new();
    let fs: FileIoRef = Arc::new(io.clone());
    let options = [("bucket", "2"), ("write-only", "true"), ("num-sorted-run.compaction-trigger", "5")];
    let schema = NewTable {
        fields: vec![
            DataField::new(0, "k", DataType::not_null(TypeKind::Int)),
            DataField::new(1, "v", DataType::new(TypeKind::BigInt)),
        ],
        primary_key: vec!["k".to_owned()],
        partition_by: Vec::new(),
        options: options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        comment: None,
    };
    SchemaManager::new(Arc::clone(&fs), ROOT).create(schema.into_schema().unwrap()).unwrap();
    let table = Table::open_with(fs, ROOT, "main", None, BTreeMap::new()).unwrap();
    for number in 0..COMMITS {
        let options = WriteOptions { threads: Some(1), ..WriteOptions::default() };
        let mut writer = TableWrite::new(table.context(), options).unwrap();
        let keys: Vec<(i32, i64)> = (0..=i32::try_from(number).unwrap()).map(|k| (k, number)).collect();
        writer.write(&batch(&keys), None).unwrap();
        let messages = writer.prepare_commit().unwrap();
        let commit = TableCommit::with_new_user(table.context());
        commit.commit(Committable { messages, ..Committable::default() }).unwrap();
    }
    (io, table)
}

/// Looks at the newest version, and at all others as one keeper.
fn health(table: &Table, compared: usize) -> Health {
    let version = |keeper, snapshot| KeptVersion { keeper, branch: "main".to_owned(), snapshot, tag: None };
    let mut versions = vec![version(0, COMMITS)];
    versions.extend((1..COMMITS).rev().map(|id| version(1, id)));
    let args = HealthArgs { snapshot: Some(COMMITS), versions, compared, shown: 30, ..HealthArgs::default() };
    table.health(&args).unwrap()
}

/// Sizes of the live files of a version, by name.
fn sizes(table: &Table, id: i64) -> BTreeMap<String, i64> {
    let (ctx, snapshot) = time_travel(table.context(), &VersionSelector::Snapshot(id)).unwrap();
    let live = live_entries(&ctx, &snapshot.unwrap(), &EntryFilter::default()).unwrap();
    live.into_iter().map(|entry| (entry.file.file_name.clone(), entry.file.file_size)).collect()
}

/// The report decoded the manifests of the newest version for its files, its partitions, and two plans of compaction, and again for
/// each other version.
#[test]
fn every_manifest_is_read_once() {
    let (io, table) = table();
    let before = usize::try_from(io.calls()).unwrap();
    let found = health(&table, 1000);
    assert!(found.kept.versions.iter().all(Option::is_some));
    let trace = io.trace().split_off(before);
    let reads: Vec<&String> =
        trace.iter().filter(|line| line.contains(" read") && line.contains("/manifest-")).collect();
    let manifests: Vec<&&String> = reads.iter().filter(|line| !line.contains("/manifest-list-")).collect();
    let different: BTreeSet<&str> =
        manifests.iter().map(|line| line.split_once(' ').map_or("", |(_, call)| call)).collect();
    assert_eq!((manifests.len(), different.len()), (6, 6), "{trace:#?}");
}

#[test]
fn figures_are_those_of_the_files_and_of_the_plans() {
    let (_, table) = table();
    let found = health(&table, 1000);
    let newest = sizes(&table, COMMITS);
    assert_eq!((found.totals.files, found.totals.bytes), (newest.len(), newest.values().sum()));
    assert_eq!(found.levels.iter().map(|level| (level.level, level.files)).collect::<Vec<_>>(), [(0, newest.len())]);
    for (full, sums) in [(false, &found.compaction), (true, &found.full_compaction)] {
        let plan = table.plan_compaction(&CompactArgs { full, ..CompactArgs::default() }).unwrap();
        let sums = sums.as_ref().unwrap();
        assert!(sums.tasks > 0);
        assert_eq!((sums.tasks, sums.files), (plan.len(), plan.iter().map(|task| task.files).sum()), "{full}");
        assert_eq!(sums.bytes, plan.iter().map(|task| task.bytes).sum::<i64>());
    }
    // nothing is deleted: the newest version has the files of all others
    let earlier = sizes(&table, COMMITS - 1);
    let own: i64 = newest.iter().filter(|(name, _)| !earlier.contains_key(*name)).map(|(_, size)| size).sum();
    let shared: i64 = earlier.values().sum();
    assert_eq!(found.kept.keepers, [Some((shared + own, own)), Some((shared, 0))]);
    assert_eq!(found.kept.versions.iter().map(|v| v.unwrap()).collect::<Vec<_>>(), {
        (1..=COMMITS).rev().map(|id| sizes(&table, id).values().sum::<i64>()).collect::<Vec<_>>()
    });
}

#[test]
fn versions_beyond_what_is_compared_are_not_looked_at() {
    let (_, table) = table();
    let newest = sizes(&table, COMMITS).len();
    let found = health(&table, newest + 1);
    assert_eq!(found.kept.versions.iter().filter(|bytes| bytes.is_some()).count(), 1);
    assert_eq!(found.kept.keepers.len(), 1);
}
