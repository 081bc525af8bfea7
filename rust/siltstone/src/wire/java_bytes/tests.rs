#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may stop at the first surprise")]

use super::*;
use crate::{
    manifest::{DataFileFields, DroppedDeletes, FileSource, IndexManifestEntry},
    snapshot::RemovedSnapshot,
    stats::{SimpleStats, StatsFields},
    wire::{Assigned, AssignedBy, Seen},
};

/// Bytes made by Java 1.4.2 from the values below.
fn java(name: &str) -> Vec<u8> {
    let text = include_str!("../../../../../tests/golden/vectors/serde.jsonl");
    let line = text.lines().find(|line| line.contains(&format!("\"{name}\""))).unwrap();
    let value: serde_json::Value = serde_json::from_str(line).unwrap();
    let hex = value["hex"].as_str().unwrap();
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

fn stats(min: &[u8], max: &[u8], null_counts: Vec<Option<i64>>) -> SimpleStats {
    StatsFields { min_values: min.to_vec(), max_values: max.to_vec(), null_counts }.into()
}

fn int_row(value: u8) -> Vec<u8> {
    vec![0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, value, 0, 0, 0, 0, 0, 0, 0]
}

fn full() -> DataFileMeta {
    let min = [&[0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0][..], b"a\0\0\0\0\0\0\x81"].concat();
    let max = [0, 0, 0, 2, 0, 2, 0, 0, 0, 0, 0, 0, 99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    DataFileFields {
        file_name: "data-0a1b2c3d-0000-1111-2222-333344445555-0.parquet".into(),
        file_size: 1234,
        row_count: 10,
        min_key: int_row(1),
        max_key: int_row(99),
        key_stats: stats(&int_row(1), &int_row(99), vec![Some(0)]),
        value_stats: stats(&min, &max, vec![Some(0), None]),
        min_sequence_number: 5,
        max_sequence_number: 14,
        schema_id: 3,
        level: 4,
        extra_files: vec!["x.index".into(), "data-0a1b2c3d-0000.index".into()],
        creation_time: Some(1_700_000_000_123),
        delete_row_count: Some(2),
        embedded_file_index: Some(vec![1, 2, 3]),
        file_source: Some(FileSource::Compact),
        value_stats_cols: Some(["k".into(), "a rather long column".into()].into()),
        external_path: Some("/elsewhere/data-0.parquet".into()),
        first_row_id: Some(7),
        write_cols: Some(["k".into(), "v".into()].into()),
    }
    .into()
}

fn plain() -> DataFileMeta {
    DataFileFields {
        file_name: "short".into(),
        file_size: 1,
        row_count: 2,
        min_key: vec![0; 12],
        max_key: vec![0; 12],
        key_stats: SimpleStats::empty(),
        value_stats: SimpleStats::empty(),
        min_sequence_number: 0,
        max_sequence_number: 1,
        schema_id: 0,
        level: 0,
        extra_files: Vec::new(),
        creation_time: Some(1_700_000_000_000),
        delete_row_count: None,
        embedded_file_index: None,
        file_source: Some(FileSource::Append),
        value_stats_cols: None,
        external_path: None,
        first_row_id: None,
        write_cols: None,
    }
    .into()
}

fn partition() -> Vec<u8> {
    let head = [0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 24, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0];
    [&head[..], b"2024-05-14\0\0\0\0\0\0"].concat()
}

fn bucket() -> BucketId {
    BucketId { partition: partition(), bucket: 3 }
}

fn range(file: &str, offset: i32, length: i32, cardinality: Option<i64>) -> DeletionVectorRange {
    DeletionVectorRange { data_file_name: file.into(), offset, length, cardinality }
}

fn index(kind: EntryKind, vectors: bool) -> IndexManifestEntry {
    let ranges = vec![range("f1", 1, 22, Some(3)), range("data-0a1b2c3d-0000.parquet", 31, 44, None)];
    IndexManifestEntry {
        kind,
        partition: partition(),
        bucket: 3,
        index_type: if vectors { "DELETION_VECTORS" } else { "HASH" }.into(),
        file_name: if vectors { "index-1" } else { "index-0a1b2c3d-2" }.into(),
        file_size: if vectors { 100 } else { 8 },
        row_count: 2,
        deletion_vectors: vectors.then_some(ranges),
        external_path: (!vectors).then(|| "/elsewhere/index".into()),
        global_index: None,
    }
}

fn message() -> CommitMessage {
    use EntryKind::{Add, Delete};
    CommitMessage {
        bucket: bucket(),
        total_buckets: 4,
        data: DataIncrement {
            new_files: vec![full(), plain()],
            deleted_files: vec![plain()],
            changelog_files: vec![full()],
            index_files: vec![index(Add, false), index(Delete, true)],
        },
        compact: CompactIncrement {
            compact_before: vec![plain()],
            compact_after: vec![full()],
            changelog_files: Vec::new(),
            index_files: vec![index(Add, true), index(Add, false), index(Delete, false)],
            dropped: Vec::new(),
        },
        seen: None,
        after: None,
        assigned: None,
    }
}

fn split(streaming: bool) -> Split {
    Split {
        snapshot_id: 9,
        snapshot_list: None,
        bucket: bucket(),
        total_buckets: 4,
        bucket_path: "/t/bucket-3".into(),
        files: vec![plain()],
        deletion_files: None,
        raw_convertible: !streaming,
        is_streaming: streaming,
        before_files: Vec::new(),
        before_deletion_files: None,
    }
}

#[test]
fn a_message_has_the_bytes_that_java_writes() {
    assert_eq!(message().to_bytes().unwrap(), java("message-full"));
    assert_eq!(CommitMessage::from_bytes(&java("message-full")).unwrap(), message());
}

/// Java reads a message from the front and leaves what follows it alone.
#[test]
fn what_a_compaction_saw_and_dropped_travels_behind_javas_bytes() {
    let mut seen = CommitMessage {
        seen: Some(Seen {
            snapshot: RemovedSnapshot { id: 17, delta_manifest_list: "manifest-list-a-1".to_owned(), commit: None },
            made: vec!["data-1.parquet".to_owned(), "data-2.parquet".to_owned()],
        }),
        ..message()
    };
    let first = seen.to_bytes().unwrap();
    assert!(first.starts_with(&java("message-full")));
    assert_eq!(CommitMessage::from_bytes(&first).unwrap(), seen);
    let dropped = DroppedDeletes {
        level: 5,
        min_key: vec![1; 20],
        max_key: vec![2; 20],
        max_sequence_number: 7,
        known: vec!["data-3.parquet".to_owned()],
    };
    seen.compact.dropped = vec![dropped.clone(), DroppedDeletes { known: Vec::new(), ..dropped }];
    let bytes = seen.to_bytes().unwrap();
    assert!(bytes.starts_with(&first));
    assert_eq!(CommitMessage::from_bytes(&bytes).unwrap(), seen);
    for cut in (java("message-full").len() + 1..bytes.len()).filter(|cut| *cut != first.len()) {
        assert_eq!(CommitMessage::from_bytes(&bytes[..cut]).unwrap_err().kind(), ErrorKind::CorruptFile, "{cut}");
    }
}

#[test]
fn by_what_rows_were_assigned_travels_behind_javas_bytes() {
    let seen = RemovedSnapshot { id: 17, delta_manifest_list: "manifest-list-a-1".to_owned(), commit: None };
    let keys = Seen { made: vec!["data-1.parquet".to_owned()], ..seen.clone().into() };
    for by in [AssignedBy::Index(u128::MAX / 3), AssignedBy::Given(7), AssignedBy::Keys(keys)] {
        let assigned = Some(Assigned { writer: "a writer".to_owned(), by });
        let message = CommitMessage { assigned, seen: Some(seen.clone().into()), ..message() };
        let bytes = message.to_bytes().unwrap();
        assert!(bytes.starts_with(&java("message-full")));
        assert_eq!(CommitMessage::from_bytes(&bytes).unwrap(), message);
        for cut in java("message-full").len() + 1..java("message-full").len() + 20 {
            assert_eq!(CommitMessage::from_bytes(&bytes[..cut]).unwrap_err().kind(), ErrorKind::CorruptFile, "{cut}");
        }
    }
}

#[test]
fn an_empty_message_has_the_bytes_that_java_writes() {
    let empty = CommitMessage {
        bucket: BucketId { partition: vec![0; 12], bucket: 0 },
        total_buckets: -1,
        data: DataIncrement::default(),
        compact: CompactIncrement::default(),
        seen: None,
        after: None,
        assigned: None,
    };
    assert_eq!(empty.to_bytes().unwrap(), java("message-empty"));
    assert_eq!(CommitMessage::from_bytes(&java("message-empty")).unwrap(), empty);
}

#[test]
fn a_split_has_the_bytes_that_java_writes() {
    let place = "/t/index/index-1".to_owned();
    let of_two = Split {
        bucket_path: "/t/dt=é/bucket-3".into(),
        files: vec![full(), plain()],
        deletion_files: Some(vec![None, Some((place.clone(), range("short", 1, 22, Some(3))))]),
        ..split(true)
    };
    let unknown = Split { deletion_files: Some(vec![Some((place, range("short", 1, 22, None)))]), ..split(false) };
    let unpartitioned = Split {
        snapshot_id: 1,
        bucket: BucketId { partition: vec![0; 12], bucket: 0 },
        total_buckets: -1,
        bucket_path: "/t/bucket-0".into(),
        ..split(false)
    };
    for (name, split) in
        [("split-full", of_two), ("split-unknown-cardinality", unknown), ("split-plain", unpartitioned)]
    {
        assert_eq!(split.to_bytes().unwrap(), java(name), "{name}");
        assert_eq!(Split::from_bytes(&java(name)).unwrap(), split, "{name}");
    }
}

#[test]
fn damaged_bytes_are_an_error_or_another_value_but_never_a_panic() {
    let mut seed: u32 = 7;
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        usize::try_from(seed >> 8).unwrap()
    };
    for name in ["message-full", "split-full"] {
        let good = java(name);
        for cut in 0..good.len() {
            assert!(CommitMessage::from_bytes(&good[..cut]).is_err());
            assert!(Split::from_bytes(&good[..cut]).is_err());
        }
        for _ in 0..20_000 {
            let mut bad = good.clone();
            for _ in 0..=next() % 3 {
                let at = next() % bad.len();
                bad[at] = u8::try_from(next() % 256).unwrap();
            }
            drop(CommitMessage::from_bytes(&bad));
            drop(Split::from_bytes(&bad));
        }
    }
}

#[test]
fn a_split_of_another_version_is_refused() {
    let mut bytes = java("split-plain");
    bytes[11] = 7;
    assert_eq!(Split::from_bytes(&bytes).unwrap_err().kind(), ErrorKind::UnsupportedVersion);
}

#[test]
fn an_index_file_of_another_bucket_is_refused() {
    let mut message = message();
    message.data.index_files[0].bucket = 4;
    assert!(message.to_bytes().is_err());
}

#[test]
fn names_that_lead_out_of_the_table_do_not_travel() {
    let outside = || "../../other/data".to_owned();
    let of_file: [DataFileMeta; 4] = [
        DataFileFields { file_name: outside(), ..DataFileFields::clone(&plain()) }.into(),
        DataFileFields { extra_files: vec!["x.index".into(), outside()], ..DataFileFields::clone(&plain()) }.into(),
        DataFileFields { external_path: Some(outside()), ..DataFileFields::clone(&plain()) }.into(),
        DataFileFields { external_path: Some("/elsewhere/../data".into()), ..DataFileFields::clone(&plain()) }.into(),
    ];
    for file in of_file {
        let mut split = split(false);
        split.files.clear();
        split.deletion_files = None;
        split.files.push(file.clone());
        assert_eq!(Split::from_bytes(&split.to_bytes().unwrap()).unwrap_err().kind(), ErrorKind::CorruptFile);
        let mut message = message();
        message.compact.compact_before.push(file);
        let read = CommitMessage::from_bytes(&message.to_bytes().unwrap());
        assert_eq!(read.unwrap_err().kind(), ErrorKind::CorruptFile);
    }
    let of_index = [
        IndexManifestEntry { file_name: outside(), ..index(EntryKind::Add, true) },
        IndexManifestEntry { external_path: Some(outside()), ..index(EntryKind::Add, true) },
        IndexManifestEntry {
            deletion_vectors: Some(vec![range(&outside(), 1, 2, None)]),
            ..index(EntryKind::Add, true)
        },
    ];
    for entry in of_index {
        let mut message = message();
        message.data.index_files.push(entry);
        let read = CommitMessage::from_bytes(&message.to_bytes().unwrap());
        assert_eq!(read.unwrap_err().kind(), ErrorKind::CorruptFile);
    }
}

#[test]
fn names_that_are_the_same_bytes_are_damage() {
    let mut row = layout::Builder::row(1);
    row.strings(&["0123456789".to_owned(), "other text".to_owned()]);
    let mut bytes = row.finish();
    let read = |bytes: &[u8]| layout::View::row("names", bytes, 1).unwrap().strings(0);
    assert_eq!(read(&bytes).unwrap(), ["0123456789", "other text"]);
    // row: 8 bytes of bits, a slot; array: size and bits in 8 bytes, then the slots
    let longer: Vec<u8> = [32_u32, 24].iter().flat_map(|n| n.to_le_bytes()).collect();
    bytes[24..32].copy_from_slice(&longer);
    bytes[32..40].copy_from_slice(&longer);
    assert!(read(&bytes).unwrap_err().to_string().contains("the same bytes"));
}
