//! `$schemas`

use serde_json::Value;

use super::{
    Table,
    columns::{Row, fields, local, long, maybe, or_null, string, text, time},
    hash_order::java_order,
};
use crate::{Error, Result, fs::read_json, row::Datum, schema::TableSchema, types::DataField};

pub(super) fn columns() -> Vec<DataField> {
    fields(&[
        ("schema_id", long()),
        ("fields", text()),
        ("partition_keys", text()),
        ("primary_keys", text()),
        ("options", text()),
        ("comment", maybe(text())),
        ("update_time", time()),
    ])
}

pub(super) fn rows(table: &Table) -> Result<Vec<Row>> {
    let schemas = &table.context().schemas;
    let mut ids = schemas.ids()?;
    ids.sort_unstable();
    ids.into_iter()
        .map(|id| {
            let path = schemas.path(id);
            row(&*schemas.get(id)?, &path, &read_json(&*table.context().fs, &path)?)
        })
        .collect()
}

/// `file` is what the schema was read from: the order of its options shows in the row.
fn row(schema: &TableSchema, path: &str, file: &[u8]) -> Result<Row> {
    let json: Value =
        serde_json::from_slice(file).map_err(|e| Error::corrupt(path, 0, "a schema as JSON", e.to_string()))?;
    let part = |key: &str| string(json.get(key).map(ToString::to_string).unwrap_or_default());
    Ok(vec![
        Datum::BigInt(schema.id),
        part("fields"),
        part("partitionKeys"),
        part("primaryKeys"),
        string(options(json.get("options"))),
        or_null(schema.comment.as_ref(), string),
        local(schema.time_millis),
    ])
}

/// The options as compact JSON in Java's order.
fn options(given: Option<&Value>) -> String {
    let Some(Value::Object(given)) = given else { return "{}".to_owned() };
    let keys = java_order(given.keys().map(String::as_str));
    let pairs = keys.into_iter().filter_map(|key| Some(format!("{}:{}", Value::from(key), given.get(key)?)));
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
}
