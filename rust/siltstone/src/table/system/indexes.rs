//! `$table_indexes`: the index manifest of the latest (or chosen) snapshot.

use super::{
    Table,
    columns::{fields, int, long, maybe, or_null, string, text},
    partitions::types,
    rows::{Rows, put},
    text::partition,
};
use crate::{
    Result,
    manifest::{DeletionVectorRange, ManifestStore},
    row::{Datum, array_datum, row_datum},
    types::{DataField, DataType, TypeKind},
};

pub(super) fn columns() -> Vec<DataField> {
    fields(&[
        ("partition", maybe(text())),
        ("bucket", int()),
        ("index_type", text()),
        ("file_name", text()),
        ("file_size", long()),
        ("row_count", long()),
        ("dv_ranges", ranges_type()),
    ])
}

fn range_fields() -> Vec<DataField> {
    fields(&[("f0", text()), ("f1", int()), ("f2", int()), ("_CARDINALITY", maybe(long()))])
}

fn ranges_type() -> DataType {
    DataType::new(TypeKind::Array(Box::new(DataType::not_null(TypeKind::Row(range_fields())))))
}

pub(super) fn rows(table: &Table, rows: &mut Rows) -> Result<()> {
    let (ctx, snapshot) = table.travelled()?;
    let Some(name) = snapshot.and_then(|s| s.index_manifest) else { return Ok(()) };
    let types = types(table);
    for entry in &ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?.read_index(&name)? {
        if rows.is_full() {
            break;
        }
        put!(rows;
            string(partition(&entry.partition, &types)?),
            Datum::Int(entry.bucket),
            string(&entry.index_type),
            string(&entry.file_name),
            Datum::BigInt(entry.file_size),
            Datum::BigInt(entry.row_count),
            or_null(entry.deletion_vectors.as_deref().map(ranges).transpose()?, |d| d),
        );
    }
    Ok(())
}

/// Ranges in the binary form of their array.
fn ranges(all: &[DeletionVectorRange]) -> Result<Datum> {
    let element = DataType::not_null(TypeKind::Row(range_fields()));
    let types: Vec<DataType> = range_fields().into_iter().map(|f| f.data_type).collect();
    let rows: Result<Vec<Datum>> = all
        .iter()
        .map(|r| {
            let cardinality = or_null(r.cardinality, Datum::BigInt);
            row_datum(&types, &[string(&r.data_file_name), Datum::Int(r.offset), Datum::Int(r.length), cardinality])
        })
        .collect();
    array_datum(&element, &rows?)
}
