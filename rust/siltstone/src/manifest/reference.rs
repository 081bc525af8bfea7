//! The reference decoder and writer: `apache-avro`'s value trees. Slow, independent, for tests only.

use apache_avro::{Reader, Schema, Writer, types::Value, writer::datum::GenericDatumWriter};

use super::{
    DataFileFields, DeletionVectorRange, EntryHead, EntryKind, FileSource, GlobalIndexMeta, IndexManifestEntry,
    KeepEntry, ManifestDecoder, ManifestEntry, ManifestFileMeta,
};
use crate::{
    error::{Error, Result},
    stats::{SimpleStats, StatsFields},
};

/// Decodes with `apache-avro`.
pub(super) struct Reference;

impl ManifestDecoder for Reference {
    fn manifest(&self, file: &str, bytes: &[u8], keep: KeepEntry<'_>) -> Result<Vec<ManifestEntry>> {
        let entries = records(file, bytes)?.iter().map(entry).collect::<Vec<_>>().into_iter();
        let head = |e: &ManifestEntry| {
            let ManifestEntry { kind, bucket, total_buckets, .. } = *e;
            keep(EntryHead { kind, partition: &e.partition, bucket, total_buckets })
        };
        Ok(entries.filter(head).collect())
    }

    fn manifest_list(&self, file: &str, bytes: &[u8]) -> Result<Vec<ManifestFileMeta>> {
        Ok(records(file, bytes)?.iter().map(manifest_meta).collect())
    }

    fn index_manifest(&self, file: &str, bytes: &[u8]) -> Result<Vec<IndexManifestEntry>> {
        Ok(records(file, bytes)?.iter().map(index_entry).collect())
    }
}

fn records(file: &str, bytes: &[u8]) -> Result<Vec<Value>> {
    let corrupt = |e: apache_avro::Error| Error::corrupt(file, 0, "an Avro file", e);
    Reader::new(bytes).map_err(corrupt)?.collect::<std::result::Result<_, _>>().map_err(corrupt)
}

/// The value of a field; absent and null are the same.
fn field<'a>(record: &'a Value, name: &str) -> Option<&'a Value> {
    let Value::Record(fields) = record else {
        panic!("not a record: {record:?}");
    };
    let found = fields.iter().find(|(n, _)| n == name).map(|(_, value)| value)?;
    unwrapped(found)
}

fn unwrapped(value: &Value) -> Option<&Value> {
    match value {
        Value::Union(_, inner) => unwrapped(inner),
        Value::Null => None,
        other => Some(other),
    }
}

fn long(value: &Value) -> i64 {
    match value {
        Value::Int(v) => i64::from(*v),
        Value::Long(v) | Value::TimestampMillis(v) => *v,
        other => panic!("not a number: {other:?}"),
    }
}

fn int(value: &Value) -> i32 {
    i32::try_from(long(value)).expect("32 bits")
}

fn bytes(value: &Value) -> Vec<u8> {
    match value {
        Value::Bytes(v) => v.clone(),
        other => panic!("not bytes: {other:?}"),
    }
}

fn string(value: &Value) -> String {
    match value {
        Value::String(v) => v.clone(),
        other => panic!("not a string: {other:?}"),
    }
}

fn list<T>(value: &Value, item: impl Fn(Option<&Value>) -> T) -> Vec<T> {
    match value {
        Value::Array(items) => items.iter().map(|v| item(unwrapped(v))).collect(),
        other => panic!("not an array: {other:?}"),
    }
}

fn strings(value: &Value) -> Vec<String> {
    list(value, |v| string(v.expect("an item")))
}

fn kind(record: &Value) -> EntryKind {
    if field(record, "_KIND").map(int) == Some(0) { EntryKind::Add } else { EntryKind::Delete }
}

fn stats(value: &Value) -> SimpleStats {
    StatsFields {
        min_values: field(value, "_MIN_VALUES").map(bytes).expect("minima"),
        max_values: field(value, "_MAX_VALUES").map(bytes).expect("maxima"),
        null_counts: field(value, "_NULL_COUNTS").map(|v| list(v, |c| c.map(long))).unwrap_or_default(),
    }
    .into()
}

fn entry(record: &Value) -> ManifestEntry {
    let f = field(record, "_FILE").expect("a file");
    ManifestEntry {
        kind: kind(record),
        partition: field(record, "_PARTITION").map(bytes).expect("a partition"),
        bucket: field(record, "_BUCKET").map(int).expect("a bucket"),
        total_buckets: field(record, "_TOTAL_BUCKETS").map(int).expect("a number of buckets"),
        file: DataFileFields {
            file_name: field(f, "_FILE_NAME").map(string).expect("a name"),
            file_size: field(f, "_FILE_SIZE").map(long).expect("a size"),
            row_count: field(f, "_ROW_COUNT").map(long).expect("rows"),
            min_key: field(f, "_MIN_KEY").map(bytes).expect("a key"),
            max_key: field(f, "_MAX_KEY").map(bytes).expect("a key"),
            key_stats: field(f, "_KEY_STATS").map(stats).expect("statistics"),
            value_stats: field(f, "_VALUE_STATS").map(stats).expect("statistics"),
            min_sequence_number: field(f, "_MIN_SEQUENCE_NUMBER").map(long).expect("a number"),
            max_sequence_number: field(f, "_MAX_SEQUENCE_NUMBER").map(long).expect("a number"),
            schema_id: field(f, "_SCHEMA_ID").map(long).expect("an id"),
            level: field(f, "_LEVEL").map(int).expect("a level"),
            extra_files: field(f, "_EXTRA_FILES").map(strings).unwrap_or_default(),
            creation_time: field(f, "_CREATION_TIME").map(long),
            delete_row_count: field(f, "_DELETE_ROW_COUNT").map(long),
            embedded_file_index: field(f, "_EMBEDDED_FILE_INDEX").map(bytes),
            file_source: field(f, "_FILE_SOURCE")
                .map(|v| if int(v) == 0 { FileSource::Append } else { FileSource::Compact }),
            value_stats_cols: field(f, "_VALUE_STATS_COLS").map(|v| strings(v).into()),
            external_path: field(f, "_EXTERNAL_PATH").map(string),
            first_row_id: field(f, "_FIRST_ROW_ID").map(long),
            write_cols: field(f, "_WRITE_COLS").map(|v| strings(v).into()),
        }
        .into(),
    }
}

fn manifest_meta(m: &Value) -> ManifestFileMeta {
    ManifestFileMeta {
        file_name: field(m, "_FILE_NAME").map(string).expect("a name"),
        file_size: field(m, "_FILE_SIZE").map(long).expect("a size"),
        num_added_files: field(m, "_NUM_ADDED_FILES").map(long).expect("a number"),
        num_deleted_files: field(m, "_NUM_DELETED_FILES").map(long).expect("a number"),
        partition_stats: field(m, "_PARTITION_STATS").map(stats).expect("statistics"),
        schema_id: field(m, "_SCHEMA_ID").map(long).expect("an id"),
        min_bucket: field(m, "_MIN_BUCKET").map(int),
        max_bucket: field(m, "_MAX_BUCKET").map(int),
        min_level: field(m, "_MIN_LEVEL").map(int),
        max_level: field(m, "_MAX_LEVEL").map(int),
        min_row_id: field(m, "_MIN_ROW_ID").map(long),
        max_row_id: field(m, "_MAX_ROW_ID").map(long),
    }
}

fn index_entry(e: &Value) -> IndexManifestEntry {
    let vector = |v: &Value| DeletionVectorRange {
        data_file_name: field(v, "f0").map(string).expect("a name"),
        offset: field(v, "f1").map(int).expect("an offset"),
        length: field(v, "f2").map(int).expect("a length"),
        cardinality: field(v, "_CARDINALITY").map(long),
    };
    let global = |g: &Value| GlobalIndexMeta {
        row_range_start: field(g, "_ROW_RANGE_START").map(long).expect("a row"),
        row_range_end: field(g, "_ROW_RANGE_END").map(long).expect("a row"),
        index_field_id: field(g, "_INDEX_FIELD_ID").map(int).expect("an id"),
        extra_field_ids: field(g, "_EXTRA_FIELD_IDS").map(|v| list(v, |id| id.map(int).expect("an id"))),
        index_meta: field(g, "_INDEX_META").map(bytes),
        source_meta: field(g, "_SOURCE_META").map(bytes),
    };
    IndexManifestEntry {
        kind: kind(e),
        partition: field(e, "_PARTITION").map(bytes).expect("a partition"),
        bucket: field(e, "_BUCKET").map(int).expect("a bucket"),
        index_type: field(e, "_INDEX_TYPE").map(string).expect("a type"),
        file_name: field(e, "_FILE_NAME").map(string).expect("a name"),
        file_size: field(e, "_FILE_SIZE").map(long).expect("a size"),
        row_count: field(e, "_ROW_COUNT").map(long).expect("rows"),
        deletion_vectors: field(e, "_DELETIONS_VECTORS_RANGES").map(|v| list(v, |r| vector(r.expect("a range")))),
        external_path: field(e, "_EXTERNAL_PATH").map(string),
        global_index: field(e, "_GLOBAL_INDEX").map(global),
    }
}

/// Writes the entries with `apache-avro` in another layout: the values are read from our own encoding, and
/// resolved to `layout` by name.
pub(super) fn rewrite(ours: &[u8], layout: &str) -> Vec<u8> {
    let schema = Schema::parse_str(layout).expect("a schema");
    let values = records("ours", ours).expect("our own file");
    let mut writer = Writer::new(&schema, Vec::new()).expect("a writer");
    for value in values {
        writer.append_value(value.resolve(&schema).expect("resolvable")).expect("written");
    }
    writer.into_inner().expect("a file")
}

/// The bytes of one record, without container, as `apache-avro` writes it.
pub(super) fn datum(layout: &str, ours: &[u8]) -> Vec<u8> {
    let schema = Schema::parse_str(layout).expect("a schema");
    let values = records("ours", ours).expect("our own file").into_iter();
    let writer = GenericDatumWriter::builder(&schema).build().expect("a writer");
    values.flat_map(|value| writer.write_value_to_vec(value).expect("written")).collect()
}
