//! `$consumers`

use super::{
    Table,
    columns::{Row, fields, long, string, text},
};
use crate::{Result, row::Datum, types::DataField};

pub(super) fn columns() -> Vec<DataField> {
    fields(&[("consumer_id", text()), ("next_snapshot_id", long())])
}

pub(super) fn rows(table: &Table) -> Result<Vec<Row>> {
    let consumers = table.context().consumers().list()?;
    Ok(consumers.into_iter().map(|c| vec![string(c.id), Datum::BigInt(c.next_snapshot)]).collect())
}
