//! The rows in the metadata of every golden table: partitions, keys and statistics decode, encode to the same bytes,
//! name the directory the file is in, and hash to the bucket the file is in.

use std::collections::BTreeMap;

use siltstone::{
    index::{BucketFunction, bucket_of},
    manifest::{EntryKind, ManifestEntry, decode_manifest},
    options::{BucketFunctionType, CoreOptions},
    path::PathFactory,
    row::{BinaryRow, Datum},
    schema::TableSchema,
    stats::{SimpleStats, decode_stats, encode_stats},
    types::{DataField, DataType},
};

use crate::fixtures::{Fixture, ROOT, all};

/// A golden table with its schemas.
struct Table {
    fixture: Fixture,
    schemas: BTreeMap<i64, TableSchema>,
}

impl Table {
    /// All golden tables; those with branches have schemas of one number that differ, and are left out.
    fn all() -> Vec<Self> {
        let read = |fixture: Fixture| {
            let schemas = fixture.files.iter().filter(|(path, _)| path.starts_with("schema/schema-"));
            let schemas = schemas.map(|(path, bytes)| TableSchema::from_json(path, bytes).unwrap());
            Self { schemas: schemas.map(|s| (s.id, s)).collect(), fixture }
        };
        let plain = all().into_iter().filter(|f| !f.files.keys().any(|path| path.starts_with("branch/")));
        let tables: Vec<Self> = plain.map(read).collect();
        assert!(tables.len() > 200, "{}", tables.len());
        tables
    }

    fn entries(&self) -> Vec<ManifestEntry> {
        let manifests =
            self.fixture.files.iter().filter(|(path, _)| {
                path.strip_prefix("manifest/manifest-").is_some_and(|name| !name.starts_with("list"))
            });
        manifests.flat_map(|(path, bytes)| decode_manifest(path, bytes).unwrap_or_default()).collect()
    }

    fn schema_of(&self, entry: &ManifestEntry) -> &TableSchema {
        &self.schemas[&entry.file.schema_id]
    }
}

fn types(fields: &[&DataField]) -> Vec<DataType> {
    fields.iter().map(|f| f.data_type.clone()).collect()
}

/// Decodes a row and checks that it encodes to the same bytes.
fn row(what: &str, bytes: &[u8], types: &[DataType]) -> Vec<Datum> {
    let values = BinaryRow::from_serialized(bytes).unwrap().datums(types).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(BinaryRow::from_datums(types, &values).unwrap().to_serialized(), bytes, "{what}: {values:?}");
    values
}

fn same_stats(what: &str, stats: &SimpleStats, types: &[DataType]) {
    if stats.null_counts.is_empty() {
        return;
    }
    let columns = decode_stats(stats, types).unwrap_or_else(|e| panic!("{what}: {e}"));
    if what.starts_with("written_by_0_9_0") || what.starts_with("written_by_1_0_0") {
        // 0.9 and 1.0 kept no place for unknown bounds of TIMESTAMP(p > 3); from 1.1 on there is one
        return;
    }
    assert_eq!(&encode_stats(types, &columns).unwrap(), stats, "{what}: {columns:?}");
}

#[test]
fn partitions_keys_and_statistics_of_all_tables_encode_to_the_same_bytes() {
    for table in Table::all() {
        for entry in table.entries() {
            let (schema, file) = (table.schema_of(&entry), &entry.file);
            let what = format!("{} {}", table.fixture.name, file.file_name);
            row(&what, &entry.partition, &types(&schema.partition_fields()));
            let key = types(&schema.key_fields());
            row(&what, &file.min_key, &key);
            row(&what, &file.max_key, &key);
            same_stats(&what, &file.key_stats, &key);
            let all: Vec<&str> = schema.fields.iter().map(|f| f.name.as_str()).collect();
            let stored = file.value_stats_cols.as_ref().or(file.write_cols.as_ref());
            let stored = stored.map_or(all, |cols| cols.iter().map(String::as_str).collect());
            let fields: Vec<&DataField> = stored.iter().map(|name| schema.field(name).unwrap()).collect();
            same_stats(&what, &file.value_stats, &types(&fields));
        }
    }
}

#[test]
fn files_lie_in_the_directory_that_their_partition_names() {
    let mut found = 0;
    for table in Table::all() {
        for entry in table.entries().iter().filter(|e| e.kind == EntryKind::Add && e.file.external_path.is_none()) {
            let Some(path) = table.fixture.files.keys().find(|path| path.ends_with(&entry.file.file_name)) else {
                continue; // compacted or expired since
            };
            let schema = table.schemas.values().last().unwrap();
            let paths = PathFactory::new(ROOT, schema, &CoreOptions::parse(&schema.options).unwrap());
            let expected = paths.data_file(&entry.partition, entry.bucket, &entry.file).unwrap();
            assert_eq!(expected, format!("{ROOT}/{path}"), "{}", table.fixture.name);
            found += 1;
        }
    }
    assert!(found > 1000, "{found}");
}

#[test]
fn keys_hash_to_the_bucket_that_their_file_is_in() {
    let mut checked = 0;
    for table in Table::all() {
        for entry in table.entries().iter().filter(|e| e.total_buckets > 0 && e.bucket >= 0) {
            let schema = table.schema_of(entry);
            let keys = schema.key_fields();
            let bucket_keys = schema.bucket_keys();
            let positions: Option<Vec<usize>> =
                bucket_keys.iter().map(|name| keys.iter().position(|f| f.name == *name)).collect();
            let Some(positions) = positions.filter(|p| !p.is_empty()) else {
                continue;
            };
            let function = match CoreOptions::parse(&schema.options).unwrap().bucket_function {
                BucketFunctionType::Default => BucketFunction::Default,
                BucketFunctionType::Mod => BucketFunction::Mod,
                BucketFunctionType::Hive => BucketFunction::Hive,
            };
            let all = row(&table.fixture.name, &entry.file.min_key, &types(&keys));
            let values: Vec<Datum> = positions.iter().map(|i| all[*i].clone()).collect();
            let key_types: Vec<DataType> = positions.iter().map(|i| keys[*i].data_type.clone()).collect();
            let bucket = bucket_of(function, &key_types, &values, entry.total_buckets).unwrap();
            assert_eq!(bucket, entry.bucket, "{} {all:?}", table.fixture.name);
            checked += usize::from(entry.total_buckets > 1);
        }
    }
    assert!(checked > 100, "{checked}");
}
