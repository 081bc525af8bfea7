//! Tasks travel; plans keep secrets and foreign columns out.

use std::collections::BTreeMap;

use crate::{
    error::ErrorKind,
    manifest::{BucketId, DataFileFields, DataFileMeta},
    snapshot::RemovedSnapshot,
    stats::SimpleStats,
    wire::{CompactionTask, TableIdentity, TaskUnit},
};

pub(super) fn file(name: &str) -> DataFileMeta {
    DataFileFields {
        file_name: name.to_owned(),
        file_size: 10,
        row_count: 1,
        min_key: vec![0; 12],
        max_key: vec![0; 12],
        key_stats: SimpleStats::empty(),
        value_stats: SimpleStats::empty(),
        min_sequence_number: 3,
        max_sequence_number: 3,
        schema_id: 1,
        level: 0,
        extra_files: Vec::new(),
        creation_time: Some(5),
        delete_row_count: Some(0),
        embedded_file_index: None,
        file_source: None,
        value_stats_cols: None,
        external_path: None,
        first_row_id: None,
        write_cols: None,
    }
    .into()
}

fn tasks() -> Vec<CompactionTask> {
    let task = CompactionTask {
        table: TableIdentity {
            location: "/data/lake/shop.db/orders".to_owned(),
            branch: "main".to_owned(),
            schema_id: 7,
            schema_time: 1_700_000_000_000,
        },
        options: BTreeMap::from([("write-only".to_owned(), "true".to_owned())]),
        snapshot: RemovedSnapshot { id: 12, delta_manifest_list: "manifest-list-a-0".to_owned(), commit: None },
        bucket: BucketId { partition: vec![0; 12], bucket: 3 },
        total_buckets: 4,
        unit: TaskUnit::Append,
        files: vec![file("a.parquet"), file("b.parquet")],
        vectors: vec![],
    };
    let unit = TaskUnit::Tree { output_level: 5, inputs: vec!["b.parquet".to_owned()], file_rewrite: true };
    vec![CompactionTask { unit, ..task.clone() }, task]
}

#[test]
fn a_task_is_the_same_after_its_travel() {
    for task in tasks() {
        assert_eq!(CompactionTask::from_bytes(&task.to_bytes().unwrap()).unwrap(), task);
    }
}

#[test]
fn inputs_are_the_files_that_the_unit_names() {
    let names = |t: &CompactionTask| t.inputs().iter().map(|f| f.file_name.clone()).collect::<Vec<_>>();
    let tasks = tasks();
    assert_eq!(names(&tasks[0]), ["b.parquet"]);
    assert_eq!(names(&tasks[1]), ["a.parquet", "b.parquet"]);
    assert_eq!(tasks[1].input_bytes(), 20);
}

#[test]
fn damaged_tasks_are_errors() {
    for task in tasks() {
        let bytes = task.to_bytes().unwrap();
        for length in 0..bytes.len() {
            let cut = CompactionTask::from_bytes(&bytes[..length]);
            assert_eq!(cut.unwrap_err().kind(), ErrorKind::CorruptFile, "cut at {length}");
            let mut flipped = bytes.clone();
            flipped[length] ^= 0x20;
            let flipped = CompactionTask::from_bytes(&flipped);
            assert_eq!(flipped.unwrap_err().kind(), ErrorKind::CorruptFile, "changed at {length}");
        }
    }
}
