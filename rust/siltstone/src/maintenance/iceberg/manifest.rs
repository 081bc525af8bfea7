//! Iceberg's manifests: data files with their partitions, and what is known of their columns.
//!
//! Source: `IcebergManifestEntry`, `IcebergDataFileMeta`.

use serde_json::{Value, json};

use super::value::bytes_of;
use crate::{
    error::Result,
    format::avro::{Compression, ContainerWriter, Encoder},
    io::TableContext,
    manifest::ManifestEntry,
    row::{BinaryRow, Datum},
    schema::{TableSchema, partition_type},
    stats::StatsReader,
    types::{DataField, DataType},
};

/// First id of the fields of a partition.
pub(super) const PARTITION_ID: usize = 1000;

/// Whether a snapshot brought a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Existing = 0,
    Added = 1,
}

/// A data file as a manifest lists it.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) status: Status,
    path: String,
    pub(super) partition: Vec<Datum>,
    pub(super) rows: i64,
    size: i64,
    nulls: Vec<(i32, i64)>,
    lower: Vec<(i32, Vec<u8>)>,
    upper: Vec<(i32, Vec<u8>)>,
}

impl Listed {
    /// What is known of a live file, under the schema of the snapshot.
    pub(super) fn of(ctx: &TableContext, schema: &TableSchema, entry: &ManifestEntry, status: Status) -> Result<Self> {
        let file = &entry.file;
        let types: Vec<DataType> = schema.partition_fields().into_iter().map(|f| f.data_type.clone()).collect();
        let mut listed = Self {
            status,
            path: ctx.paths.data_file(&entry.partition, entry.bucket, file)?,
            partition: BinaryRow::from_serialized(&entry.partition)?.datums(&types)?,
            rows: file.row_count,
            size: file.file_size,
            nulls: Vec::new(),
            lower: Vec::new(),
            upper: Vec::new(),
        };
        let written = ctx.schemas.get(file.schema_id)?;
        let mut reader = StatsReader::new(&file.value_stats)?.once();
        let names = file.stats_columns(&written);
        let known: Vec<&str> = names.into_iter().take(reader.columns()).collect();
        for (at, name) in known.into_iter().enumerate() {
            let Some(stored) = written.field(name) else { continue };
            let same = |now: &&DataField| now.id == stored.id && now.data_type.kind == stored.data_type.kind;
            if stored.data_type.is_nested() || !schema.fields.iter().any(|now| same(&now)) {
                continue;
            }
            let column = reader.column(at, &stored.data_type)?;
            listed.nulls.extend(column.null_count.map(|count| (stored.id, count)));
            listed.lower.extend(bytes_of(&column.min, &stored.data_type).map(|bound| (stored.id, bound)));
            listed.upper.extend(bytes_of(&column.max, &stored.data_type).map(|bound| (stored.id, bound)));
        }
        Ok(listed)
    }

    fn write(&self, to: &mut Encoder, snapshot: i64) {
        to.int(self.status as i32);
        for _ in 0..3 {
            to.optional(Some(snapshot), Encoder::long);
        }
        to.int(0); // content: rows
        to.string(&self.path);
        to.string("parquet");
        for value in &self.partition {
            to.optional((!value.is_null()).then_some(value), partition_value);
        }
        to.long(self.rows);
        to.long(self.size);
        let pairs = |to: &mut Encoder, pairs: &Vec<(i32, Vec<u8>)>| {
            to.array(pairs, |to, (id, bound)| {
                to.int(*id);
                to.bytes(bound);
            });
        };
        to.optional(Some(&self.nulls), |to, nulls| {
            to.array(nulls, |to, (id, count)| {
                to.int(*id);
                to.long(*count);
            });
        });
        to.optional(Some(&self.lower), pairs);
        to.optional(Some(&self.upper), pairs);
        for _ in 0..3 {
            to.long(0); // of deletion vectors
        }
    }
}

fn partition_value(to: &mut Encoder, value: &Datum) {
    match value {
        Datum::Boolean(v) => to.out.push(u8::from(*v)),
        Datum::TinyInt(v) => to.int(i32::from(*v)),
        Datum::SmallInt(v) => to.int(i32::from(*v)),
        Datum::Int(v) | Datum::Date(v) => to.int(*v),
        Datum::BigInt(v) => to.long(*v),
        Datum::String(v) => to.string(v),
        // other types are no partition columns of such tables
        _ => {}
    }
}

/// The bytes of a manifest of a snapshot.
pub(super) fn encode(
    files: &[Listed],
    snapshot: i64,
    partition: &[&DataField],
    compression: Compression,
) -> Result<Vec<u8>> {
    let mut container = ContainerWriter::new(&avro_schema(partition)?.to_string(), compression);
    files.iter().try_for_each(|file| container.append(|to| file.write(to, snapshot)))?;
    container.finish()
}

fn optional(name: &str, kind: &Value, id: usize) -> Value {
    json!({ "name": name, "type": ["null", kind], "default": null, "field-id": id })
}

fn required(name: &str, kind: &Value, id: usize) -> Value {
    json!({ "name": name, "type": kind, "field-id": id })
}

fn by_column(value: &str, key_id: usize) -> Value {
    let name = format!("k{key_id}_v{}", key_id + 1);
    let fields = [required("key", &"int".into(), key_id), required("value", &value.into(), key_id + 1)];
    json!({ "type": "array", "items": { "type": "record", "name": name, "fields": fields }, "logicalType": "map" })
}

fn avro_schema(partition: &[&DataField]) -> Result<Value> {
    let fields = partition.iter().zip(PARTITION_ID..);
    let fields = fields.map(|(field, id)| Ok(optional(&field.name, &partition_type(field)?, id)));
    let partition = json!({ "type": "record", "name": "r102", "fields": fields.collect::<Result<Vec<_>>>()? });
    let (int, long, string) = ("int".into(), "long".into(), "string".into());
    let file = json!({ "type": "record", "name": "r2", "fields": [
        required("content", &int, 134),
        required("file_path", &string, 100),
        required("file_format", &string, 101),
        required("partition", &partition, 102),
        required("record_count", &long, 103),
        required("file_size_in_bytes", &long, 104),
        optional("null_value_counts", &by_column("long", 121), 110),
        optional("lower_bounds", &by_column("bytes", 126), 125),
        optional("upper_bounds", &by_column("bytes", 129), 128),
        optional("referenced_data_file", &string, 143),
        optional("content_offset", &long, 144),
        optional("content_size_in_bytes", &long, 145),
    ]});
    Ok(json!({ "type": "record", "name": "manifest_entry", "fields": [
        required("status", &int, 0),
        optional("snapshot_id", &long, 1),
        optional("sequence_number", &long, 3),
        optional("file_sequence_number", &long, 4),
        required("data_file", &file, 2),
    ]}))
}
