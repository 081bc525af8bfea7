//! `$options`

use super::{
    Table,
    columns::{fields, string, text},
    rows::{Rows, put},
};
use crate::{Result, types::DataField};

pub(super) fn columns() -> Vec<DataField> {
    fields(&[("key", text()), ("value", text())])
}

/// The stored options, without those of this handle.
pub(super) fn rows(table: &Table, rows: &mut Rows) -> Result<()> {
    for (key, value) in &table.context().schema.options {
        if rows.is_full() {
            break;
        }
        put!(rows; string(key), string(value));
    }
    Ok(())
}
