//! Manifest bytes: the compiled decoder against the reference, older and newer layouts, broken files.

use std::sync::Arc;

use proptest::{collection::vec, option, prelude::*};

use super::{
    reference::{Reference, datum, rewrite},
    schemas::{INDEX_MANIFEST, INDEX_MANIFEST_2_1, MANIFEST, MANIFEST_LIST},
    *,
};
use crate::{
    error::ErrorKind,
    format::avro::{Compression, ContainerReader},
    stats::{SimpleStats, StatsFields},
};

const CODECS: [Compression; 4] = [Compression::Zstd(1), Compression::Snappy, Compression::Deflate, Compression::None];

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..40)
}

fn name() -> impl Strategy<Value = String> {
    "[a-zé-]{1,12}"
}

fn external_path() -> impl Strategy<Value = String> {
    "(file:)?(/[a-zé-]{1,6}){1,3}"
}

fn stats() -> impl Strategy<Value = SimpleStats> {
    (bytes(), bytes(), vec(any::<Option<i64>>(), 0..5))
        .prop_map(|(min_values, max_values, null_counts)| StatsFields { min_values, max_values, null_counts }.into())
}

/// Bytes, rows and files that can be.
fn count() -> impl Strategy<Value = i64> {
    0..=crate::limits::MOST
}

fn kind() -> impl Strategy<Value = EntryKind> {
    prop_oneof![Just(EntryKind::Add), Just(EntryKind::Delete)]
}

fn columns() -> impl Strategy<Value = Option<Arc<[String]>>> {
    option::of(vec(name(), 0..3).prop_map(Arc::from))
}

prop_compose! {
    fn data_file()(
        (file_name, file_size, row_count, min_key, max_key) in (name(), count(), count(), bytes(), bytes()),
        (key_stats, value_stats) in (stats(), stats()),
        (min_sequence_number, max_sequence_number, schema_id, level) in (any::<i64>(), ..i64::MAX, 0..=i64::MAX, 0..=i32::MAX),
        extra_files in vec(name(), 0..3),
        (creation_time, delete_row_count, first_row_id) in (any::<Option<i64>>(), option::of(count()), any::<Option<i64>>()),
        embedded_file_index in option::of(bytes()),
        file_source in option::of(prop_oneof![Just(FileSource::Append), Just(FileSource::Compact)]),
        (value_stats_cols, write_cols) in (columns(), columns()),
        external_path in option::of(external_path()),
    ) -> DataFileMeta {
        DataFileFields {
            file_name, file_size, row_count, min_key, max_key, key_stats, value_stats, min_sequence_number,
            max_sequence_number, schema_id, level, extra_files, creation_time, delete_row_count,
            embedded_file_index, file_source, value_stats_cols, external_path, first_row_id, write_cols,
        }.into()
    }
}

prop_compose! {
    fn entry()(
        kind in kind(), partition in bytes(), (bucket, total_buckets) in any::<(i32, i32)>(), file in data_file(),
    ) -> ManifestEntry {
        ManifestEntry { kind, partition, bucket, total_buckets, file }
    }
}

prop_compose! {
    fn manifest_meta()(
        (file_name, file_size, partition_stats) in (name(), count(), stats()),
        (num_added_files, num_deleted_files, schema_id) in (count(), count(), any::<i64>()),
        (min_bucket, max_bucket, min_level, max_level) in any::<(Option<i32>, Option<i32>, Option<i32>, Option<i32>)>(),
        (min_row_id, max_row_id) in any::<(Option<i64>, Option<i64>)>(),
    ) -> ManifestFileMeta {
        ManifestFileMeta {
            file_name, file_size, num_added_files, num_deleted_files, partition_stats, schema_id, min_bucket,
            max_bucket, min_level, max_level, min_row_id, max_row_id,
        }
    }
}

prop_compose! {
    fn vector()(data_file_name in name(), (offset, length, cardinality) in any::<(i32, i32, Option<i64>)>())
        -> DeletionVectorRange {
        DeletionVectorRange { data_file_name, offset, length, cardinality }
    }
}

prop_compose! {
    fn global_index()(
        (row_range_start, row_range_end, index_field_id) in any::<(i64, i64, i32)>(),
        extra_field_ids in option::of(vec(any::<i32>(), 0..3)),
        (index_meta, source_meta) in (option::of(bytes()), option::of(bytes())),
    ) -> GlobalIndexMeta {
        GlobalIndexMeta { row_range_start, row_range_end, index_field_id, extra_field_ids, index_meta, source_meta }
    }
}

prop_compose! {
    fn index_entry()(
        (kind, partition, bucket) in (kind(), bytes(), any::<i32>()),
        (index_type, file_name, file_size, row_count) in (name(), name(), any::<i64>(), any::<i64>()),
        deletion_vectors in option::of(vec(vector(), 0..4)),
        (external_path, global_index) in (option::of(external_path()), option::of(global_index())),
    ) -> IndexManifestEntry {
        IndexManifestEntry {
            kind, partition, bucket, index_type, file_name, file_size, row_count, deletion_vectors, external_path,
            global_index,
        }
    }
}

/// What a file without these fields says.
fn without_new_fields(mut e: ManifestEntry) -> ManifestEntry {
    let f = &mut e.file;
    (f.file_source, f.value_stats_cols, f.external_path) = (None, None, None);
    (f.first_row_id, f.write_cols) = (None, None);
    e
}

/// The layout of 0.8: everything after `_EMBEDDED_FILE_INDEX` is newer.
fn oldest_layout() -> String {
    let end = MANIFEST.find(r#",{"name":"_FILE_SOURCE""#).expect("the first new field");
    format!("{}]}}}}]}}", &MANIFEST[..end])
}

/// The layout of 2.1, and beyond it unknown fields of all shapes.
fn newer_layout() -> String {
    let cut = MANIFEST.len() - "]}}]}".len();
    let unions = r#"{"name":"_WRITE_COLS_SEQUENCES","type":["null",{"type":"array","items":"long"}],"default":null},
        {"name":"_X1","type":["null",{"type":"map","values":"double"}],"default":null},
        {"name":"_X2","type":{"type":"record","name":"x2","fields":[{"name":"a","type":"boolean"}]},"default":{"a":true}},
        {"name":"_X3","type":["null","x2"],"default":null},{"name":"_X4","type":"float","default":1.5}"#;
    format!("{},{unions}]}}}}]}}", &MANIFEST[..cut])
}

/// As of a file that was written without statistics.
fn without_statistics(mut entry: ManifestEntry) -> ManifestEntry {
    entry.file.key_stats = SimpleStats::empty();
    entry.file.value_stats = SimpleStats::empty();
    entry.file.value_stats_cols = Some([].into());
    entry
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn manifests_decode_to_what_was_encoded_as_the_reference_says(entries in vec(entry(), 0..20), codec in 0..4_usize) {
        let file = encode_manifest(&entries, CODECS[codec]).expect("encoded");
        prop_assert_eq!(&decode_manifest("m", &file).expect("decoded"), &entries);
        prop_assert_eq!(&Reference.manifest("m", &file, &|_| true).expect("decoded"), &entries);
        let bare = Compiled { statistics: false }.manifest("m", &file, &|_| true).expect("decoded");
        prop_assert_eq!(bare, entries.into_iter().map(without_statistics).collect::<Vec<_>>());
    }

    #[test]
    fn records_have_the_bytes_that_the_reference_writes(entries in vec(entry(), 1..8), metas in vec(manifest_meta(), 1..8)) {
        let file = encode_manifest(&entries, Compression::None).expect("encoded");
        let container = ContainerReader::open("m", &file).expect("a container");
        prop_assert_eq!(&*container.plain(&container.blocks[0]).expect("plain"), &datum(MANIFEST, &file)[..]);
        let file = encode_manifest_list(&metas, Compression::None).expect("encoded");
        let container = ContainerReader::open("m", &file).expect("a container");
        prop_assert_eq!(&*container.plain(&container.blocks[0]).expect("plain"), &datum(MANIFEST_LIST, &file)[..]);
    }

    #[test]
    fn lists_decode_to_what_was_encoded_as_the_reference_says(metas in vec(manifest_meta(), 0..20), codec in 0..4_usize) {
        // a list names each manifest once
        let named = |(at, meta): (usize, ManifestFileMeta)| ManifestFileMeta { file_name: format!("{at}{}", meta.file_name), ..meta };
        let metas: Vec<ManifestFileMeta> = metas.into_iter().enumerate().map(named).collect();
        let file = encode_manifest_list(&metas, CODECS[codec]).expect("encoded");
        prop_assert_eq!(&decode_manifest_list("m", &file).expect("decoded"), &metas);
        prop_assert_eq!(&Reference.manifest_list("m", &file).expect("decoded"), &metas);
    }

    #[test]
    fn index_manifests_keep_every_column_of_every_type(entries in vec(index_entry(), 0..12), codec in 0..4_usize) {
        let file = encode_index_manifest(&entries, CODECS[codec]).expect("encoded");
        prop_assert_eq!(&decode_index_manifest("m", &file).expect("decoded"), &entries);
        prop_assert_eq!(&Reference.index_manifest("m", &file).expect("decoded"), &entries);
        let newer = entries.iter().any(|e| e.global_index.as_ref().is_some_and(|g| g.source_meta.is_some()));
        let container = ContainerReader::open("m", &file).expect("a container");
        prop_assert_eq!(container.schema_json, if newer { INDEX_MANIFEST_2_1 } else { INDEX_MANIFEST }.as_bytes());
    }

    #[test]
    fn older_layouts_lack_fields_and_newer_ones_have_more(entries in vec(entry(), 0..10)) {
        let file = encode_manifest(&entries, Compression::None).expect("encoded");
        let old = rewrite(&file, &oldest_layout());
        let stripped: Vec<ManifestEntry> = entries.iter().cloned().map(without_new_fields).collect();
        prop_assert_eq!(&decode_manifest("old", &old).expect("decoded"), &stripped);
        prop_assert_eq!(&Reference.manifest("old", &old, &|_| true).expect("decoded"), &stripped);
        let new = rewrite(&file, &newer_layout());
        prop_assert_eq!(&decode_manifest("new", &new).expect("decoded"), &entries);
    }

    #[test]
    fn skipped_entries_leave_the_others_intact(entries in vec(entry(), 0..20)) {
        let file = encode_manifest(&entries, Compression::Zstd(1)).expect("encoded");
        let odd = |head: EntryHead<'_>| head.bucket % 2 == 1 && head.kind == EntryKind::Add;
        let kept = decode_manifest_where("m", &file, &odd).expect("decoded");
        prop_assert_eq!(&kept, &Reference.manifest("m", &file, &odd).expect("decoded"));
    }

    #[test]
    fn mutated_files_are_refused_or_read_but_never_panic(
        entries in vec(entry(), 0..6), index in vec(index_entry(), 0..4), codec in 0..4_usize,
        at in any::<prop::sample::Index>(), with in any::<u8>(), cut in any::<bool>(),
    ) {
        let manifest = encode_manifest(&entries, CODECS[codec]).expect("encoded");
        let index_manifest = encode_index_manifest(&index, CODECS[codec]).expect("encoded");
        for mut file in [manifest, index_manifest] {
            let at = at.index(file.len());
            if cut { file.truncate(at) } else { file[at] ^= with }
            for result in [
                decode_manifest("m", &file).map(|_| ()),
                decode_manifest_list("m", &file).map(|_| ()),
                decode_index_manifest("m", &file).map(|_| ()),
            ] {
                let known = [ErrorKind::CorruptFile, ErrorKind::UnsupportedVersion, ErrorKind::UnsupportedFeature];
                prop_assert!(result.is_ok() || result.is_err_and(|e| known.contains(&e.kind())));
            }
        }
    }
}

#[test]
fn an_empty_list_is_a_file_without_blocks() {
    let file = encode_manifest_list(&[], Compression::Zstd(1)).expect("encoded");
    assert!(ContainerReader::open("m", &file).expect("a container").blocks.is_empty());
    assert!(decode_manifest_list("m", &file).expect("decoded").is_empty());
}

#[test]
fn a_block_that_would_fill_the_memory_is_refused() {
    let bomb = vec![0_u8; 64 << 20];
    for codec in [Compression::Zstd(1), Compression::Deflate, Compression::Snappy] {
        let schema = r#"{"type":"record","name":"r","fields":[{"name":"x","type":"bytes"}]}"#;
        let mut writer = crate::format::avro::ContainerWriter::new(schema, codec);
        writer.append(|to| to.bytes(&bomb)).expect("appended");
        let file = writer.finish().expect("a file");
        let container = ContainerReader::open("bomb", &file).expect("a container");
        let limited = container.plain(&container.blocks[0]);
        // snappy cannot pack more than some twenty to one, which stays in proportion
        match codec {
            Compression::Snappy => assert!(limited.is_ok()),
            _ if file.len() * 1100 > bomb.len() => assert!(limited.is_ok()),
            _ => assert_eq!(limited.expect_err("a bomb").kind(), ErrorKind::CorruptFile),
        }
    }
}

/// Each item has some 17 000 fields that take no byte: stepping over all of them took hours.
#[test]
fn fields_that_take_no_byte_cost_nothing() {
    let nulls: Vec<String> = (0..26).map(|i| format!(r#"{{"name":"f{i}","type":"null"}}"#)).collect();
    let mut tower = format!(r#"{{"type":"record","name":"r0","fields":[{}]}}"#, nulls.join(","));
    for level in 1..3 {
        let more: Vec<String> = (1..26).map(|i| format!(r#"{{"name":"g{i}","type":"r{}"}}"#, level - 1)).collect();
        let more = more.join(",");
        tower = format!(r#"{{"type":"record","name":"r{level}","fields":[{{"name":"g0","type":{tower}}},{more}]}}"#);
    }
    let item = format!(
        r#"{{"type":"record","name":"i","fields":[{{"name":"a","type":{tower}}},{{"name":"x","type":"int"}}]}}"#
    );
    let known = MANIFEST_LIST.strip_suffix("]}").expect("the end of the fields");
    let schema = format!(r#"{known},{{"name":"_X","type":{{"type":"array","items":{item}}}}}]}}"#);
    let mut writer = crate::format::avro::ContainerWriter::new(&schema, Compression::Zstd(1));
    let meta = empty_meta();
    let count = 1 << 20;
    writer
        .append(|to| {
            super::encode::manifest_meta(to, &meta);
            to.length(count);
            to.out.resize(to.out.len() + count + 1, 0);
        })
        .expect("appended");
    let file = writer.finish().expect("a file");
    assert!(file.len() < 8 << 10, "{}", file.len());
    assert_eq!(decode_manifest_list("m", &file).expect("decoded"), [meta]);
}

fn empty_meta() -> ManifestFileMeta {
    ManifestFileMeta {
        file_name: "manifest-0".to_owned(),
        file_size: 1,
        num_added_files: 1,
        num_deleted_files: 0,
        partition_stats: StatsFields { min_values: Vec::new(), max_values: Vec::new(), null_counts: Vec::new() }.into(),
        schema_id: 0,
        min_bucket: None,
        max_bucket: None,
        min_level: None,
        max_level: None,
        min_row_id: None,
        max_row_id: None,
    }
}

#[test]
fn decoding_a_file_stops_when_it_is_asked_to() {
    let token = crate::cancel::Cancellation::default();
    token.cancel();
    let list = encode_manifest_list(&[empty_meta()], Compression::Zstd(1)).expect("encoded");
    let stopped = token.run(|| decode_manifest_list("m", &list)).expect_err("stopped");
    assert_eq!(stopped.kind(), ErrorKind::Cancelled);
}

#[test]
fn versions_that_are_not_known_are_refused() {
    let file = encode_manifest_list(&[], Compression::None).expect("encoded");
    assert_eq!(decode_manifest("m", &file).expect_err("a list is no manifest").kind(), ErrorKind::CorruptFile);
    let mut writer = crate::format::avro::ContainerWriter::new(MANIFEST_LIST, Compression::None);
    writer.append(|to| to.int(1)).expect("appended");
    let old = writer.finish().expect("a file");
    assert_eq!(decode_manifest_list("m", &old).expect_err("version 1").kind(), ErrorKind::UnsupportedVersion);
}
