//! `$file_indexes`: the indexes of the live data files of the latest (or chosen) snapshot (Java 2.x).

use super::{
    Table,
    columns::{fields, flag, int, long, maybe, or_null, string, text},
    partitions::types,
    rows::{Rows, put},
    text::partition,
};
use crate::{
    Result, cancel,
    file_index::IndexPlace,
    io::{TableContext, index_of_file},
    manifest::ManifestEntry,
    row::Datum,
    scan::{EntryFilter, live_entries},
    types::{DataField, DataType},
};

pub(super) fn columns() -> Vec<DataField> {
    fields(&[
        ("partition", maybe(text())),
        ("bucket", int()),
        ("file_path", text()),
        ("file_size_in_bytes", long()),
        ("record_count", long()),
        ("schema_id", long()),
        ("column_name", text()),
        ("index_type", text()),
        ("storage_type", text()),
        ("index_file_path", maybe(text())),
        ("index_size_in_bytes", long()),
        ("index_container_size_in_bytes", long()),
        ("is_empty", flag()),
    ])
}

pub(super) fn rows(table: &Table, rows: &mut Rows) -> Result<()> {
    let (ctx, snapshot) = table.travelled()?;
    let Some(snapshot) = snapshot else { return Ok(()) };
    let types = types(table);
    for entry in live_entries(&ctx, &snapshot, &EntryFilter::without_statistics())? {
        cancel::check()?;
        if rows.is_full() {
            break;
        }
        add_rows(rows, &ctx, &entry, &types)?;
    }
    Ok(())
}

fn add_rows(rows: &mut Rows, ctx: &TableContext, entry: &ManifestEntry, types: &[DataType]) -> Result<()> {
    let file = &entry.file;
    let Some(found) = index_of_file(ctx, &entry.partition, entry.bucket, file)? else { return Ok(()) };
    let size = |bytes: u64| Datum::BigInt(i64::try_from(bytes).unwrap_or(i64::MAX));
    for (column, indexes) in found.index.columns() {
        for (kind, place) in indexes {
            if rows.is_full() {
                return Ok(());
            }
            let length = match place {
                IndexPlace::NoValue => 0,
                IndexPlace::At { length, .. } => *length,
            };
            put!(rows;
                string(partition(&entry.partition, types)?),
                Datum::Int(entry.bucket),
                string(ctx.paths.data_file(&entry.partition, entry.bucket, file)?),
                Datum::BigInt(file.file_size),
                Datum::BigInt(file.row_count),
                Datum::BigInt(file.schema_id),
                string(column),
                string(kind),
                string(if found.path.is_some() { "FILE" } else { "EMBEDDED" }),
                or_null(found.path.as_deref(), string),
                size(length),
                size(found.size),
                Datum::Boolean(*place == IndexPlace::NoValue),
            );
        }
    }
    Ok(())
}
