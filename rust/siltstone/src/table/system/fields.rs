//! `$aggregation_fields`: columns, and the `fields.<column>.*` options about them.

use super::{
    Table,
    columns::{fields, maybe, or_null, string, text},
    hash_order::java_order,
    rows::{Rows, put},
};
use crate::{Result, types::DataField};

pub(super) fn columns() -> Vec<DataField> {
    fields(&[
        ("field_name", text()),
        ("field_type", text()),
        ("function", maybe(text())),
        ("function_options", maybe(text())),
        ("comment", maybe(text())),
    ])
}

pub(super) fn rows(table: &Table, rows: &mut Rows) -> Result<()> {
    let schema = &table.context().schema;
    let keys = java_order(schema.options.keys().map(String::as_str));
    let list = |parts: Vec<&str>| string(format!("[{}]", parts.join(", ")));
    for field in &schema.fields {
        if rows.is_full() {
            break;
        }
        let prefix = format!("fields.{}.", field.name);
        let given = keys.iter().filter(|key| key.starts_with(&prefix));
        let given: Vec<(&str, &str)> =
            given.filter_map(|key| Some((*key, schema.options.get(*key)?.as_str()))).collect();
        put!(rows;
            string(&field.name),
            string(field.data_type.to_string()),
            list(given.iter().map(|(_, value)| *value).collect()),
            list(given.iter().map(|(key, _)| *key).collect()),
            or_null(field.description.as_ref(), string),
        );
    }
    Ok(())
}
