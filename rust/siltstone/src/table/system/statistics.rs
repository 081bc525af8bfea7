//! `$statistics`: what `analyze` wrote for the latest snapshot that has it.

use serde_json::Value;

use super::{
    Table,
    columns::{Row, fields, long, maybe, or_null, string, text},
};
use crate::{Error, Result, fs::read_json, row::Datum, types::DataField};

pub(super) fn columns() -> Vec<DataField> {
    fields(&[
        ("snapshot_id", long()),
        ("schema_id", long()),
        ("mergedRecordCount", maybe(long())),
        ("mergedRecordSize", maybe(long())),
        ("colstat", maybe(text())),
    ])
}

pub(super) fn rows(table: &Table) -> Result<Vec<Row>> {
    let (ctx, snapshot) = table.travelled()?;
    let Some(name) = snapshot.and_then(|s| s.statistics) else { return Ok(Vec::new()) };
    let path = ctx.paths.statistics(&name)?;
    let bytes = read_json(&*ctx.fs, &path)?;
    let corrupt = |found: String| Error::corrupt(&path, 0, "statistics as JSON", found);
    let json: Value = serde_json::from_slice(&bytes).map_err(|e| corrupt(e.to_string()))?;
    let number = |key: &str| json.get(key).and_then(Value::as_i64);
    let id = |key: &str| number(key).map(Datum::BigInt).ok_or_else(|| corrupt(format!("no '{key}'")));
    let columns = json.get("colStats").map(crate::codec::to_java_json).transpose()?;
    Ok(vec![vec![
        id("snapshotId")?,
        id("schemaId")?,
        or_null(number("mergedRecordCount"), Datum::BigInt),
        or_null(number("mergedRecordSize"), Datum::BigInt),
        or_null(columns, string),
    ]])
}
