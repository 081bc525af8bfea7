//! Every schema of the golden tables, both ways, and what siltstone says about the tables.

use std::sync::Arc;

use serde_json::Value;
use siltstone::{
    ErrorKind,
    fs::{FailWhen, FaultFileIo},
    options::CoreOptions,
    path::branch_root,
    schema::{NewTable, SchemaChange, SchemaManager, TableSchema, check_readable},
    types::{DataField, DataType, TypeKind},
};

use crate::fixtures::{self, ROOT};

/// Java keeps options in a hash map; their order is not part of the format.
fn with_sorted_options(text: &[u8]) -> Value {
    let mut value: Value = serde_json::from_slice(text).expect("schema JSON");
    let mut options: Vec<(String, Value)> = value["options"].as_object().unwrap().clone().into_iter().collect();
    options.sort_by(|a, b| a.0.cmp(&b.0));
    value["options"] = Value::Object(options.into_iter().collect());
    value
}

#[test]
fn schemas_of_java_are_read_and_written_back_byte_for_byte() {
    let mut seen = 0;
    for fixture in fixtures::all() {
        for (path, text) in fixture.files.iter().filter(|(path, _)| path.contains("schema/schema-")) {
            let schema = TableSchema::from_json(path, text).unwrap_or_else(|e| panic!("{} {path}: {e}", fixture.name));
            let expected = siltstone::codec::to_java_json(&with_sorted_options(text)).unwrap();
            assert_eq!(schema.to_json().unwrap(), expected, "{} {path}", fixture.name);
            // the printer itself: with the options in their own order the bytes are those of the file
            let as_it_was: Value = serde_json::from_slice(text).unwrap();
            assert_eq!(siltstone::codec::to_java_json(&as_it_was).unwrap().as_bytes(), text.as_slice());
            CoreOptions::parse(&schema.options).unwrap_or_else(|e| panic!("{} {path}: {e}", fixture.name));
            seen += 1;
        }
    }
    assert!(seen > 300, "{seen} schemas");
}

#[test]
fn validation_accepts_what_java_accepted() {
    for fixture in fixtures::all() {
        let manager = SchemaManager::new(Arc::new(fixture.io()), &branch_root(ROOT, "main"));
        for id in manager.ids().unwrap() {
            let schema = manager.get(id).unwrap();
            siltstone::schema::validate(&schema).unwrap_or_else(|e| panic!("{} schema-{id}: {e}", fixture.name));
        }
    }
}

#[test]
fn every_table_of_java_is_readable() {
    for fixture in fixtures::all() {
        let manager = SchemaManager::new(Arc::new(fixture.io()), &branch_root(ROOT, "main"));
        let schema = manager.latest().unwrap().expect("a schema");
        check_readable(&schema).unwrap_or_else(|e| panic!("{}: {e}", fixture.name));
    }
}

#[test]
fn tables_created_anew_get_the_schema_that_java_gave_them() {
    let mut created = 0;
    for fixture in fixtures::all() {
        let Some(text) = fixture.files.get("schema/schema-0") else { continue };
        let java = TableSchema::from_json("schema-0", text).unwrap();
        let new = NewTable {
            fields: java.fields.clone(),
            primary_key: java.primary_keys.clone(),
            partition_by: java.partition_keys.clone(),
            options: java.options.clone(),
            comment: java.comment.clone(),
        };
        match new.into_schema() {
            Ok(ours) => {
                assert_eq!(TableSchema { time_millis: java.time_millis, ..ours }, java, "{}", fixture.name);
                created += 1;
            }
            Err(e) => {
                assert_eq!(e.kind(), ErrorKind::UnsupportedFeature, "{}: {e}", fixture.name);
                let part_1 = [
                    "dedup_",
                    "pk_",
                    "append_",
                    "bucket_fixed",
                    "bucket_key",
                    "bucket_mod",
                    "bucket_rescaled",
                    "partition_",
                    "overwrite_",
                    "truncate_",
                    "hint_",
                    "stray_",
                    "empty_",
                    "all_rows_",
                    "manifest_",
                    "stats_mode_",
                    "format_parquet_",
                ];
                let other_format =
                    ["append_row_tracking", "append_unaware_avro", "append_unaware_orc", "manifest_format_"];
                let is = |list: &[&str]| list.iter().any(|start| fixture.name.starts_with(start));
                assert!(!is(&part_1) || is(&other_format), "{}: {e}", fixture.name);
            }
        }
    }
    assert!(created > 80, "{created} created");
}

#[test]
fn a_schema_that_is_published_by_a_call_that_fails_is_named_in_the_error() {
    let changes = [SchemaChange::SetOption { key: "snapshot.num-retained.max".to_owned(), value: "50".to_owned() }];
    let mut published = 0;
    for call in 0.. {
        let io = FaultFileIo::new();
        let manager = || SchemaManager::new(Arc::new(io.clone()), ROOT);
        manager().create(one_column()).unwrap();
        io.fail_after(call, FailWhen::After);
        let changed = manager().commit_changes(&changes);
        io.heal();
        let is_there = manager().ids().unwrap() == [0, 1];
        match changed {
            Ok(_) => {
                assert!(is_there && published > 0, "{published}");
                return;
            }
            Err(error) => {
                assert_eq!(is_there, error.message().contains("was published"), "call {call}: {error}");
                published += usize::from(is_there);
            }
        }
    }
}

fn one_column() -> TableSchema {
    let fields = vec![DataField::new(0, "k", DataType::new(TypeKind::Int))];
    NewTable { fields, ..NewTable::default() }.into_schema().unwrap()
}
