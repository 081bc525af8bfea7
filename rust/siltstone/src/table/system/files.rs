//! `$files` and `$file_key_ranges`: live data files of the latest (or chosen) snapshot.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use super::{
    Table,
    columns::{Row, fields, int, long, maybe, or_null, string, text, time, wall},
    text::{map, object_text, partition, values},
};
use crate::{
    Result,
    io::TableContext,
    manifest::{FileSource, ManifestEntry},
    row::{Datum, array_datum},
    scan::{EntryFilter, live_entries},
    schema::TableSchema,
    stats::{ColumnStats, StatsReader},
    types::{DataField, DataType, TypeKind},
};

fn key_columns() -> Vec<(&'static str, DataType)> {
    vec![
        ("partition", maybe(text())),
        ("bucket", int()),
        ("file_path", text()),
        ("file_format", text()),
        ("schema_id", long()),
        ("level", int()),
        ("record_count", long()),
        ("file_size_in_bytes", long()),
        ("min_key", maybe(text())),
        ("max_key", maybe(text())),
    ]
}

pub(super) fn columns() -> Vec<DataField> {
    let mut all = key_columns();
    all.extend([
        ("null_value_counts", text()),
        ("min_value_stats", text()),
        ("max_value_stats", text()),
        ("min_sequence_number", maybe(long())),
        ("max_sequence_number", maybe(long())),
        ("creation_time", maybe(time())),
        ("deleteRowCount", maybe(long())),
        ("file_source", maybe(text())),
        ("first_row_id", maybe(long())),
        ("write_cols", DataType::new(TypeKind::Array(Box::new(maybe(text()))))),
    ]);
    fields(&all)
}

pub(super) fn range_columns() -> Vec<DataField> {
    let mut all = key_columns();
    all.push(("first_row_id", maybe(long())));
    fields(&all)
}

pub(super) fn rows(table: &Table) -> Result<Vec<Row>> {
    Files::of(table)?.map_or_else(|| Ok(Vec::new()), |files| files.rows(Files::row))
}

pub(super) fn range_rows(table: &Table) -> Result<Vec<Row>> {
    Files::of(table)?.map_or_else(|| Ok(Vec::new()), |files| files.rows(Files::range_row))
}

struct Files {
    ctx: TableContext,
    entries: Vec<ManifestEntry>,
    partition_types: Vec<DataType>,
    key_types: Vec<DataType>,
    schemas: HashMap<i64, Arc<TableSchema>>,
}

impl Files {
    fn of(table: &Table) -> Result<Option<Self>> {
        let (ctx, snapshot) = table.travelled()?;
        let Some(snapshot) = snapshot else { return Ok(None) };
        let entries = live_entries(&ctx, &snapshot, &EntryFilter::default())?;
        let mut schemas = HashMap::new();
        for entry in &entries {
            if let Entry::Vacant(new) = schemas.entry(entry.file.schema_id) {
                new.insert(ctx.schemas.get(entry.file.schema_id)?);
            }
        }
        let types = |fields: Vec<&DataField>| fields.iter().map(|f| f.data_type.clone()).collect::<Vec<_>>();
        Ok(Some(Self {
            partition_types: types(ctx.schema.partition_fields()),
            key_types: types(ctx.schema.key_fields()),
            ctx,
            entries,
            schemas,
        }))
    }

    fn rows(&self, row: impl Fn(&Self, &ManifestEntry) -> Result<Row>) -> Result<Vec<Row>> {
        self.entries.iter().map(|entry| row(self, entry)).collect()
    }

    fn key_row(&self, entry: &ManifestEntry) -> Result<Row> {
        let file = &entry.file;
        Ok(vec![
            string(partition(&entry.partition, &self.partition_types)?),
            Datum::Int(entry.bucket),
            string(self.ctx.paths.data_file(&entry.partition, entry.bucket, file)?),
            string(file.file_name.rsplit('.').next().unwrap_or_default()),
            Datum::BigInt(file.schema_id),
            Datum::Int(file.level),
            Datum::BigInt(file.row_count),
            Datum::BigInt(file.file_size),
            self.key(&file.min_key)?,
            self.key(&file.max_key)?,
        ])
    }

    fn range_row(&self, entry: &ManifestEntry) -> Result<Row> {
        let mut row = self.key_row(entry)?;
        row.push(or_null(entry.file.first_row_id, Datum::BigInt));
        Ok(row)
    }

    fn row(&self, entry: &ManifestEntry) -> Result<Row> {
        let file = &entry.file;
        let stats = self.stats(entry)?;
        let columns = &self.ctx.schema.fields;
        let of = |field: &DataField| stats.get(&field.id);
        let bound = |field: &DataField, pick: fn(&ColumnStats) -> &Datum| {
            of(field).map_or_else(|| "null".to_owned(), |(s, kind)| object_text(pick(s), kind))
        };
        let nulls = |field: &DataField| {
            let count = of(field).and_then(|(s, _)| s.null_count);
            count.map_or_else(|| "null".to_owned(), |n| n.to_string())
        };
        let source = |source: FileSource| match source {
            FileSource::Append => string("APPEND"),
            FileSource::Compact => string("COMPACT"),
        };
        let mut row = self.key_row(entry)?;
        row.extend([
            string(map(columns, nulls)),
            string(map(columns, |f| bound(f, |s| &s.min))),
            string(map(columns, |f| bound(f, |s| &s.max))),
            Datum::BigInt(file.min_sequence_number),
            Datum::BigInt(file.max_sequence_number),
            or_null(file.creation_time, wall),
            or_null(file.delete_row_count, Datum::BigInt),
            or_null(file.file_source, source),
            or_null(file.first_row_id, Datum::BigInt),
            or_null(file.write_cols.as_deref().map(texts).transpose()?, |d| d),
        ]);
        Ok(row)
    }

    fn key(&self, bytes: &[u8]) -> Result<Datum> {
        if self.key_types.is_empty() {
            return Ok(Datum::Null);
        }
        let values = values(bytes, &self.key_types)?;
        let texts: Vec<String> = values.iter().zip(&self.key_types).map(|(v, kind)| object_text(v, kind)).collect();
        Ok(string(format!("[{}]", texts.join(", "))))
    }

    /// Statistics by field id, with the type they were written in. A column that the file does not have is all null.
    fn stats(&self, entry: &ManifestEntry) -> Result<HashMap<i32, (ColumnStats, DataType)>> {
        let file = &entry.file;
        let Some(schema) = self.schemas.get(&file.schema_id) else { return Ok(HashMap::new()) };
        let mut reader = StatsReader::new(&file.value_stats)?.once();
        let names = file.stats_columns(schema);
        let fields: HashMap<i32, &DataField> = schema.fields.iter().rev().map(|f| (f.id, f)).collect();
        let places: HashMap<&str, usize> = names.into_iter().take(reader.columns()).zip(0..).collect();
        let mut found = HashMap::new();
        for field in &self.ctx.schema.fields {
            let Some(stored) = fields.get(&field.id) else {
                found.insert(field.id, (ColumnStats::all_null(file.row_count), field.data_type.clone()));
                continue;
            };
            if let Some(at) = places.get(stored.name.as_str()) {
                found.insert(field.id, (reader.column(*at, &stored.data_type)?, stored.data_type.clone()));
            }
        }
        Ok(found)
    }
}

/// Texts in the binary form of their array.
fn texts(values: &[String]) -> Result<Datum> {
    let values: Vec<Datum> = values.iter().map(string).collect();
    array_datum(&maybe(text()), &values)
}
