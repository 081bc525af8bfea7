//! `$branches`

use super::{
    Table,
    columns::{Row, fields, local, string, text, time},
};
use crate::{Result, snapshot::BranchManager, types::DataField};

pub(super) fn columns() -> Vec<DataField> {
    fields(&[("branch_name", text()), ("create_time", time())])
}

pub(super) fn rows(table: &Table) -> Result<Vec<Row>> {
    let ctx = table.context();
    let branches = BranchManager::new(ctx.fs.clone(), &ctx.location).list()?;
    Ok(branches.into_iter().map(|(name, changed)| vec![string(name), local(changed)]).collect())
}
