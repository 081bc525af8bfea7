//! `$manifests`: the manifests of the latest (or chosen) snapshot.

use super::{
    Table,
    columns::{fields, long, maybe, or_null, string, text},
    rows::{Rows, put},
    text::joined,
};
use crate::{
    Result,
    manifest::{ManifestFileMeta, ManifestStore},
    row::Datum,
    stats::decode_stats,
    types::{DataField, DataType},
};

pub(super) fn columns() -> Vec<DataField> {
    fields(&[
        ("file_name", text()),
        ("file_size", long()),
        ("num_added_files", long()),
        ("num_deleted_files", long()),
        ("schema_id", long()),
        ("min_partition_stats", maybe(text())),
        ("max_partition_stats", maybe(text())),
        ("min_row_id", maybe(long())),
        ("max_row_id", maybe(long())),
    ])
}

pub(super) fn rows(table: &Table, rows: &mut Rows) -> Result<()> {
    let (ctx, snapshot) = table.travelled()?;
    let Some(snapshot) = snapshot else { return Ok(()) };
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?;
    let types: Vec<DataType> = ctx.schema.partition_fields().iter().map(|f| f.data_type.clone()).collect();
    let mut all = store.read_lists(&snapshot)?;
    if let Some(changelog) = snapshot.changelog_list() {
        all.extend(store.read_list(changelog)?);
    }
    for manifest in &all {
        if rows.is_full() {
            break;
        }
        put_row(rows, manifest, &types)?;
    }
    Ok(())
}

fn put_row(rows: &mut Rows, manifest: &ManifestFileMeta, types: &[DataType]) -> Result<()> {
    let wanted = rows.wants(&["min_partition_stats", "max_partition_stats"]);
    let stats = if wanted { decode_stats(&manifest.partition_stats, types)? } else { Vec::new() };
    let (min, max): (Vec<Datum>, Vec<Datum>) = stats.into_iter().map(|s| (s.min, s.max)).unzip();
    let shown = |values: &[Datum]| string(format!("{{{}}}", joined(values, types)));
    put!(rows;
        string(&manifest.file_name),
        Datum::BigInt(manifest.file_size),
        Datum::BigInt(manifest.num_added_files),
        Datum::BigInt(manifest.num_deleted_files),
        Datum::BigInt(manifest.schema_id),
        shown(&min),
        shown(&max),
        or_null(manifest.min_row_id, Datum::BigInt),
        or_null(manifest.max_row_id, Datum::BigInt),
    );
    Ok(())
}
