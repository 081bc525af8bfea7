//! `$files` and `$file_key_ranges`: live data files of the latest (or chosen) snapshot.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use super::{
    Table,
    columns::{fields, int, long, maybe, or_null, string, text, time, wall},
    rows::{Rows, put},
    text::{map, object_text, partition, values},
};
use crate::{
    Result,
    io::TableContext,
    manifest::{DataFileMeta, FileSource, ManifestEntry},
    row::{Datum, array_datum},
    scan::{EntryFilter, live_entries},
    schema::TableSchema,
    stats::{ColumnStats, StatsReader},
    types::{DataField, DataType, TypeKind},
};

/// Columns that tell the statistics of the table's columns.
const STATISTICS: [&str; 3] = ["null_value_counts", "min_value_stats", "max_value_stats"];

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

pub(super) fn rows(table: &Table, rows: &mut Rows) -> Result<()> {
    let statistics = rows.wants(&STATISTICS);
    Files::of(table, statistics)?.map_or(Ok(()), |files| files.put(rows, Files::put_row))
}

pub(super) fn range_rows(table: &Table, rows: &mut Rows) -> Result<()> {
    Files::of(table, false)?.map_or(Ok(()), |files| files.put(rows, Files::put_range_row))
}

struct Files {
    ctx: TableContext,
    entries: Vec<ManifestEntry>,
    partition_types: Vec<DataType>,
    key_types: Vec<DataType>,
    /// The columns in the order of their names.
    sorted: Vec<DataField>,
    schemas: HashMap<i64, Arc<TableSchema>>,
}

impl Files {
    fn of(table: &Table, statistics: bool) -> Result<Option<Self>> {
        let (ctx, snapshot) = table.travelled()?;
        let Some(snapshot) = snapshot else { return Ok(None) };
        let wanted = EntryFilter { no_statistics: !statistics, ..EntryFilter::default() };
        let entries = live_entries(&ctx, &snapshot, &wanted)?;
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
            sorted: by_name(&ctx.schema.fields),
            ctx,
            entries,
            schemas,
        }))
    }

    fn put(&self, rows: &mut Rows, put: impl Fn(&Self, &mut Rows, &ManifestEntry) -> Result<()>) -> Result<()> {
        for entry in &self.entries {
            if rows.is_full() {
                break;
            }
            put(self, rows, entry)?;
        }
        Ok(())
    }

    fn put_range_row(&self, rows: &mut Rows, entry: &ManifestEntry) -> Result<()> {
        let file = &entry.file;
        put!(rows;
            self.partition(entry)?,
            Datum::Int(entry.bucket),
            self.path(entry)?,
            format_of(file),
            Datum::BigInt(file.schema_id),
            Datum::Int(file.level),
            Datum::BigInt(file.row_count),
            Datum::BigInt(file.file_size),
            self.key(&file.min_key)?,
            self.key(&file.max_key)?,
            or_null(file.first_row_id, Datum::BigInt),
        );
        Ok(())
    }

    fn put_row(&self, rows: &mut Rows, entry: &ManifestEntry) -> Result<()> {
        let file = &entry.file;
        let stats = if rows.wants(&STATISTICS) { self.stats(entry)? } else { HashMap::new() };
        let of = |field: &DataField| stats.get(&field.id);
        let bound = |field: &DataField, pick: fn(&ColumnStats) -> &Datum| {
            of(field).map_or_else(|| "null".to_owned(), |(s, kind)| object_text(pick(s), kind))
        };
        let nulls = |field: &DataField| {
            let count = of(field).and_then(|(s, _)| s.null_count);
            count.map_or_else(|| "null".to_owned(), |n| n.to_string())
        };
        put!(rows;
            self.partition(entry)?,
            Datum::Int(entry.bucket),
            self.path(entry)?,
            format_of(file),
            Datum::BigInt(file.schema_id),
            Datum::Int(file.level),
            Datum::BigInt(file.row_count),
            Datum::BigInt(file.file_size),
            self.key(&file.min_key)?,
            self.key(&file.max_key)?,
            string(map(&self.sorted, nulls)?),
            string(map(&self.sorted, |f| bound(f, |s| &s.min))?),
            string(map(&self.sorted, |f| bound(f, |s| &s.max))?),
            Datum::BigInt(file.min_sequence_number),
            Datum::BigInt(file.max_sequence_number),
            or_null(file.creation_time, wall),
            or_null(file.delete_row_count, Datum::BigInt),
            or_null(file.file_source, source_of),
            or_null(file.first_row_id, Datum::BigInt),
            or_null(file.write_cols.as_deref().map(texts).transpose()?, |d| d),
        );
        Ok(())
    }

    fn partition(&self, entry: &ManifestEntry) -> Result<Datum> {
        Ok(string(partition(&entry.partition, &self.partition_types)?))
    }

    fn path(&self, entry: &ManifestEntry) -> Result<Datum> {
        Ok(string(self.ctx.paths.data_file(&entry.partition, entry.bucket, &entry.file)?))
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

fn format_of(file: &DataFileMeta) -> Datum {
    string(file.file_name.rsplit('.').next().unwrap_or_default())
}

fn source_of(source: FileSource) -> Datum {
    string(match source {
        FileSource::Append => "APPEND",
        FileSource::Compact => "COMPACT",
    })
}

/// Columns in the order of their names.
fn by_name(columns: &[DataField]) -> Vec<DataField> {
    let mut sorted = columns.to_vec();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    sorted
}

/// Texts in the binary form of their array.
fn texts(values: &[String]) -> Result<Datum> {
    let values: Vec<Datum> = values.iter().map(string).collect();
    array_datum(&maybe(text()), &values)
}
