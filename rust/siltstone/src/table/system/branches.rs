//! `$branches`

use super::{
    Table,
    columns::{Row, fields, local, string, text, time},
};
use crate::{Result, types::DataField};

pub(super) fn columns() -> Vec<DataField> {
    fields(&[("branch_name", text()), ("create_time", time())])
}

pub(super) fn rows(table: &Table) -> Result<Vec<Row>> {
    let ctx = table.context();
    let branches = ctx.branches().list()?;
    Ok(branches.into_iter().map(|(name, changed)| vec![string(name), local(changed)]).collect())
}
