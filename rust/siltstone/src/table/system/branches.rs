//! `$branches`

use super::{
    Table,
    columns::{fields, local, string, text, time},
    rows::{Rows, put},
};
use crate::{Result, types::DataField};

pub(super) fn columns() -> Vec<DataField> {
    fields(&[("branch_name", text()), ("create_time", time())])
}

pub(super) fn rows(table: &Table, rows: &mut Rows) -> Result<()> {
    for (name, changed) in table.context().branches().list()? {
        if rows.is_full() {
            break;
        }
        put!(rows; string(name), local(changed));
    }
    Ok(())
}
