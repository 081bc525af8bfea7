//! `$schemas`

use serde_json::Value;

use super::{
    Table,
    columns::{fields, local, long, maybe, or_null, string, text, time},
    hash_order::java_order,
    rows::{Rows, put},
};
use crate::{
    Error, Result,
    fs::{json_value, read_json},
    row::Datum,
    schema::TableSchema,
    types::DataField,
};

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

pub(super) fn rows(table: &Table, rows: &mut Rows) -> Result<()> {
    let schemas = &table.context().schemas;
    let mut ids = schemas.ids()?;
    ids.sort_unstable();
    for id in ids {
        if rows.is_full() {
            break;
        }
        put_row(rows, table, &*schemas.get(id)?)?;
    }
    Ok(())
}

/// Its file is read for the order of its options, which shows in the row, and for columns as they are written there.
fn put_row(rows: &mut Rows, table: &Table, schema: &TableSchema) -> Result<()> {
    let json = if rows.wants(&["fields", "partition_keys", "primary_keys", "options"]) {
        let path = table.context().schemas.path(schema.id);
        let file = read_json(&*table.context().fs, &path)?;
        json_value(&path, &file, |e| Error::corrupt(&path, 0, "a schema as JSON", e.to_string()))?
    } else {
        Value::Null
    };
    let part = |key: &str| string(json.get(key).map(ToString::to_string).unwrap_or_default());
    put!(rows;
        Datum::BigInt(schema.id),
        part("fields"),
        part("partitionKeys"),
        part("primaryKeys"),
        string(options(json.get("options"))),
        or_null(schema.comment.as_ref(), string),
        local(schema.time_millis),
    );
    Ok(())
}

/// The options as compact JSON in Java's order.
fn options(given: Option<&Value>) -> String {
    let Some(Value::Object(given)) = given else { return "{}".to_owned() };
    let keys = java_order(given.keys().map(String::as_str));
    let pairs = keys.into_iter().filter_map(|key| Some(format!("{}:{}", Value::from(key), given.get(key)?)));
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
}
