//! Global indexes are Java's: a column that has one gets no new values here, which Java would not find by it.

use std::{collections::BTreeMap, sync::Arc};

use siltstone::{
    ErrorKind, Result,
    commit::Committable,
    fs::{FaultFileIo, FileIoRef},
    manifest::{EntryKind, GlobalIndexMeta, IndexManifestEntry},
    predicate::Condition,
    table::{CommitReport, ModifyArgs, Table},
    write::WriteOptions,
};

use crate::crash::{ROOT, batch, create};

fn table(fs: &FileIoRef) -> Table {
    Table::open_with(Arc::clone(fs), ROOT, "main", None, BTreeMap::new()).unwrap()
}

/// A table with three rows, and an index of the column with this id.
fn indexed(field: i32) -> FileIoRef {
    let fs: FileIoRef = Arc::new(FaultFileIo::new());
    create(&fs, ROOT, &[], &[("bucket", "-1"), ("row-tracking.enabled", "true"), ("data-evolution.enabled", "true")]);
    let mut writer = table(&fs).writer(None, WriteOptions { threads: Some(1), ..WriteOptions::default() }).unwrap();
    writer.write(&batch(&[(1, 1), (2, 2), (3, 3)]), None).unwrap();
    let messages = writer.prepare_commit().unwrap();
    writer.close();
    let mut messages = table(&fs).messages(&messages).unwrap();
    let name = "global-index-1.index";
    fs.write_new(&format!("{ROOT}/index/{name}"), &[0], false).unwrap();
    let message = messages.first_mut().unwrap();
    message.data.index_files.push(IndexManifestEntry {
        kind: EntryKind::Add,
        partition: message.bucket.partition.clone(),
        bucket: message.bucket.bucket,
        index_type: "btree".to_owned(),
        file_name: name.to_owned(),
        file_size: 1,
        row_count: 3,
        deletion_vectors: None,
        external_path: None,
        global_index: Some(GlobalIndexMeta {
            row_range_start: 0,
            row_range_end: 2,
            index_field_id: field,
            extra_field_ids: None,
            index_meta: None,
            source_meta: None,
        }),
    });
    table(&fs).committer(None).commit(Committable { messages, ..Committable::default() }).unwrap();
    fs
}

fn set_v(fs: &FileIoRef) -> Result<CommitReport> {
    let set = BTreeMap::from([("v".to_owned(), "100".to_owned())]);
    table(fs).modify(&ModifyArgs { filter: Some(Condition::Sql("k = 3".to_owned())), set, threads: Some(1) })
}

/// The update was done, and Java's scan by the index did not find the row any more.
#[test]
fn a_column_with_a_global_index_gets_no_new_values() {
    let fs = indexed(1);
    let error = set_v(&fs).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedFeature, "{error}");
    assert!(error.to_string().contains("global index"), "{error}");
    set_v(&indexed(0)).unwrap();
}
