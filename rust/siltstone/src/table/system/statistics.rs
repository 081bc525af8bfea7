//! `$statistics`: what `analyze` wrote for the latest snapshot that has it.

use serde_json::Value;

use super::{
    Table,
    columns::{fields, long, maybe, or_null, string, text},
    rows::{Rows, put},
};
use crate::{
    Error, Result,
    fs::{json_value, read_json},
    row::Datum,
    types::DataField,
};

pub(super) fn columns() -> Vec<DataField> {
    fields(&[
        ("snapshot_id", long()),
        ("schema_id", long()),
        ("mergedRecordCount", maybe(long())),
        ("mergedRecordSize", maybe(long())),
        ("colstat", maybe(text())),
    ])
}

pub(super) fn rows(table: &Table, rows: &mut Rows) -> Result<()> {
    let (ctx, snapshot) = table.travelled()?;
    let Some(name) = snapshot.and_then(|s| s.statistics) else { return Ok(()) };
    if rows.is_full() {
        return Ok(());
    }
    let path = ctx.paths.statistics(&name)?;
    let bytes = read_json(&*ctx.fs, &path)?;
    let corrupt = |found: String| Error::corrupt(&path, 0, "statistics as JSON", found);
    let json = json_value(&path, &bytes, |e| corrupt(e.to_string()))?;
    let number = |key: &str| json.get(key).and_then(Value::as_i64);
    let id = |key: &str| number(key).map(Datum::BigInt).ok_or_else(|| corrupt(format!("no '{key}'")));
    put!(rows;
        id("snapshotId")?,
        id("schemaId")?,
        or_null(number("mergedRecordCount"), Datum::BigInt),
        or_null(number("mergedRecordSize"), Datum::BigInt),
        or_null(json.get("colStats").map(crate::codec::to_java_json).transpose()?, string),
    );
    Ok(())
}
