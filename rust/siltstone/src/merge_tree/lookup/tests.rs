//! Keys are found where they are, first where the level is lowest, and few keys read few pages.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{ArrayRef, Int8Array, Int32Array, Int64Array, RecordBatch, StringArray};
use proptest::prelude::*;

use super::{LevelProbe, LookupCache};
use crate::{
    fs::FaultFileIo,
    io::{FileWriteSpec, KvLayout, RollingWriter, TableContext},
    manifest::{DataFileMeta, FileSource},
    merge_tree::{LevelSortedRun, SortedRun, merge::wrapper::Probe, testing::records},
    options::CoreOptions,
    path::PathFactory,
    row::{BinaryRow, Datum},
    schema::{NewTable, SchemaManager},
    types::{DataField, DataType, MAX_LENGTH, TypeKind},
};

const ROOT: &str = "/lake/db.db/t";

type Key = (i32, String);

/// A table `a INT, b STRING, v BIGINT` with the key (a, b), or b, or a.
fn context(fs: &FaultFileIo, key: &[&str], options: &[(&str, &str)]) -> TableContext {
    let text = |v: &&str| (*v).to_owned();
    let schema = NewTable {
        fields: vec![
            DataField::new(0, "a", DataType::new(TypeKind::Int)),
            DataField::new(1, "b", DataType::new(TypeKind::VarChar(MAX_LENGTH))),
            DataField::new(2, "v", DataType::new(TypeKind::BigInt)),
        ],
        primary_key: key.iter().map(text).collect(),
        options: options.iter().chain(&[("bucket", "1")]).map(|(k, v)| (text(k), text(v))).collect(),
        ..NewTable::default()
    };
    let schemas = SchemaManager::new(Arc::new(fs.clone()), ROOT);
    let schema = schemas.create(schema.into_schema().unwrap()).unwrap();
    let options = CoreOptions::parse(&schema.options).unwrap();
    TableContext {
        fs: Arc::new(fs.clone()),
        name: "db.t".to_owned(),
        location: ROOT.to_owned(),
        branch: "main".to_owned(),
        paths: Arc::new(PathFactory::new(ROOT, &schema, &options)),
        options: Arc::new(options),
        schema,
        schemas: Arc::new(schemas),
        dynamic: Arc::default(),
        written: None,
        remembered: Arc::default(),
    }
}

fn partition() -> Vec<u8> {
    BinaryRow::empty().to_serialized()
}

fn columns(rows: &[(Key, i64)]) -> [ArrayRef; 3] {
    [
        Arc::new(Int32Array::from_iter_values(rows.iter().map(|r| r.0.0))),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|r| &r.0.1))),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| r.1))),
    ]
}

/// Writes rows, sorted by key, as a run of a level.
fn run(ctx: &TableContext, level: i32, rows: &[(Key, i64)]) -> LevelSortedRun {
    let layout = KvLayout::of_table(ctx);
    let spec = FileWriteSpec::key_value(level, FileSource::Compact);
    let mut writer = RollingWriter::new(ctx, &partition(), 0, spec).unwrap();
    for part in rows.chunks(1000) {
        let mut all = columns(part).to_vec();
        all.push(Arc::new(Int64Array::from_iter_values(part.iter().map(|r| r.1))));
        all.push(Arc::new(Int8Array::from(vec![0; part.len()])));
        writer.write(&RecordBatch::try_new(layout.arrow_schema().unwrap(), all).unwrap()).unwrap();
    }
    LevelSortedRun { level, run: SortedRun { files: writer.finish().unwrap() } }
}

fn keys(ctx: &TableContext, layout: &KvLayout, wanted: &[Key]) -> RecordBatch {
    let rows: Vec<(Key, i64)> = wanted.iter().map(|k| (k.clone(), 0)).collect();
    let all = columns(&rows);
    let fields = ctx.schema.key_fields().into_iter().cloned().collect::<Vec<_>>();
    let arrays = layout.key.iter().map(|&at| Arc::clone(&all[at])).collect();
    RecordBatch::try_new(crate::types::arrow_schema(&fields).unwrap(), arrays).unwrap()
}

fn probe(ctx: &TableContext, runs: &[LevelSortedRun], cache: &LookupCache) -> LevelProbe {
    LevelProbe::new(ctx, &partition(), 0, &KvLayout::of_table(ctx), runs, true, cache).unwrap().unwrap()
}

fn found(ctx: &TableContext, probe: &mut LevelProbe, wanted: &[Key]) -> Vec<Option<i64>> {
    let layout = KvLayout::of_table(ctx);
    let hits = probe.probe(&keys(ctx, &layout, wanted)).unwrap();
    let rows = records(&layout, &hits.rows);
    let value = |row: usize| match (&rows[row].fields[2], rows[row].sequence) {
        (Datum::BigInt(v), sequence) => {
            assert_eq!(*v, sequence);
            *v
        }
        other => panic!("{other:?}"),
    };
    hits.of_key.into_iter().map(|hit| hit.map(value)).collect()
}

fn key(a: i32, b: i32) -> Key {
    (a, format!("key {b:05}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_key_is_found_at_its_lowest_level(
        levels in prop::collection::vec(prop::collection::btree_map((0i32..4, 0i32..300), 0i64..1000, 1..400), 1..4),
        wanted in prop::collection::btree_set((0i32..4, 0i32..300), 1..200),
        shape in 0usize..3, rows_of_a_file in 1u32..200, cache in prop::sample::select(vec![0u64, 20_000, 1 << 24]),
    ) {
        let fs = FaultFileIo::new();
        let key_columns: &[&str] = [&["a", "b"][..], &["b"], &["a"]][shape];
        let n = rows_of_a_file.to_string();
        let ctx = context(&fs, key_columns, &[("target-file-row-num", &n), ("parquet.page.row.count.limit", "7")]);
        // the columns of the key only
        let of_table = |(a, b): (i32, i32)| match shape {
            0 => key(a, b),
            1 => (0, key(0, b).1),
            _ => (a * 300 + b, String::new()),
        };
        let levels: Vec<BTreeMap<Key, i64>> =
            levels.into_iter().map(|l| l.into_iter().map(|(k, v)| (of_table(k), v)).collect()).collect();
        let runs: Vec<LevelSortedRun> = levels.iter().zip(1..).map(|(rows, level)| {
            run(&ctx, level, &rows.iter().map(|(k, v)| (k.clone(), *v)).collect::<Vec<_>>())
        }).collect();
        let wanted: std::collections::BTreeSet<Key> = wanted.into_iter().map(of_table).collect();
        let wanted: Vec<Key> = wanted.into_iter().collect();
        let cache = LookupCache::new(cache);
        let mut probe = probe(&ctx, &runs, &cache);
        let expected: Vec<Option<i64>> =
            wanted.iter().map(|k| levels.iter().find_map(|level| level.get(k).copied())).collect();
        for part in 1..3 {
            let halves: Vec<Option<i64>> = wanted
                .chunks(wanted.len().div_ceil(part))
                .flat_map(|part| found(&ctx, &mut probe, part))
                .collect();
            prop_assert_eq!(&halves, &expected);
        }
    }
}

fn many(count: i32) -> Vec<(Key, i64)> {
    (0..count).map(|i| (key(i, i), i64::from(i))).collect()
}

fn bytes_read(fs: &FaultFileIo, work: impl FnOnce()) -> u64 {
    let before = fs.bytes_read();
    work();
    fs.bytes_read() - before
}

#[test]
fn a_few_keys_read_a_few_pages_and_the_next_time_none() {
    let fs = FaultFileIo::new();
    let ctx = context(&fs, &["a"], &[("parquet.page.row.count.limit", "1000")]);
    let runs = [run(&ctx, 5, &many(200_000))];
    let size: u64 = runs[0].run.files.iter().map(|f| u64::try_from(f.file_size).unwrap()).sum();
    let cache = LookupCache::new(1 << 24);
    let wanted: Vec<Key> = [5, 77_777, 190_001, 300_000].map(|i| key(i, i)).to_vec();
    let values = vec![Some(5), Some(77_777), Some(190_001), None];
    let first = bytes_read(&fs, || assert_eq!(found(&ctx, &mut probe(&ctx, &runs, &cache), &wanted), values));
    assert!(first < size / 10, "{first} of {size} bytes");
    let again = bytes_read(&fs, || assert_eq!(found(&ctx, &mut probe(&ctx, &runs, &cache), &wanted), values));
    assert!(again < first / 2, "{again} after {first} bytes");
    assert!(cache.memory_used() > 0);
    cache.forget(runs[0].run.files.iter());
    assert_eq!(cache.memory_used(), 0);
}

#[test]
fn a_large_batch_is_not_kept() {
    let fs = FaultFileIo::new();
    let ctx = context(&fs, &["a"], &[("parquet.page.row.count.limit", "1000")]);
    let runs = [run(&ctx, 5, &many(20_000))];
    let cache = LookupCache::new(1 << 24);
    let wanted: Vec<Key> = (0..20_000).step_by(3).map(|i| key(i, i)).collect();
    let values: Vec<Option<i64>> = (0..20_000).step_by(3).map(Some).collect();
    assert_eq!(found(&ctx, &mut probe(&ctx, &runs, &cache), &wanted), values);
    assert!(cache.memory_used() < 50_000, "{cache:?}");
}

#[test]
fn files_outside_the_keys_are_not_opened() {
    let fs = FaultFileIo::new();
    let ctx = context(&fs, &["a"], &[("target-file-row-num", "100")]);
    let runs = [run(&ctx, 5, &many(1000))];
    assert_eq!(runs[0].run.files.len(), 10);
    let calls = fs.trace().len();
    let wanted = [key(350, 350)];
    found(&ctx, &mut probe(&ctx, &runs, &LookupCache::new(1 << 20)), &wanted);
    let name = |f: &DataFileMeta| f.file_name.clone();
    let trace = fs.trace().split_off(calls).join("\n");
    let opened: Vec<usize> = (0..10).filter(|&i| trace.contains(&name(&runs[0].run.files[i]))).collect();
    assert_eq!(opened, [3], "{trace}");
}

#[test]
fn values_between_the_rows_that_are_asked_for_are_not_cast() {
    let fs = FaultFileIo::new();
    let mut ctx = context(&fs, &["a"], &[]);
    let rows = [(4, "40"), (5, "no number"), (6, "60")].map(|(a, b)| ((a, b.to_owned()), i64::from(a)));
    let runs = [run(&ctx, 5, &rows)];
    let mut schema = crate::schema::TableSchema::clone(&ctx.schema);
    schema.id += 1;
    schema.fields[1].data_type = DataType::new(TypeKind::Int);
    ctx.schema = Arc::new(schema);
    let layout = KvLayout::of_table(&ctx);
    let mut probe = probe(&ctx, &runs, &LookupCache::new(1 << 20));
    let hits = probe.probe(&keys(&ctx, &layout, &[key(4, 0), key(6, 0)])).unwrap();
    let numbers: Vec<Datum> = records(&layout, &hits.rows).into_iter().map(|row| row.fields[1].clone()).collect();
    assert_eq!(numbers, [Datum::Int(40), Datum::Int(60)]);
    let error = probe.probe(&keys(&ctx, &layout, &[key(5, 0)])).unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::SchemaMismatch);
}
