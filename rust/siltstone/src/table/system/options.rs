//! `$options`

use super::{
    Table,
    columns::{Row, fields, string, text},
};
use crate::{Result, types::DataField};

pub(super) fn columns() -> Vec<DataField> {
    fields(&[("key", text()), ("value", text())])
}

/// The stored options, without those of this handle.
#[allow(clippy::unnecessary_wraps, reason = "the signature of every system table's rows")]
pub(super) fn rows(table: &Table) -> Result<Vec<Row>> {
    Ok(table.context().schema.options.iter().map(|(key, value)| vec![string(key), string(value)]).collect())
}
