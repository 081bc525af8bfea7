//! `$consumers`

use super::{
    Table,
    columns::{fields, long, string, text},
    rows::{Rows, put},
};
use crate::{Result, row::Datum, types::DataField};

pub(super) fn columns() -> Vec<DataField> {
    fields(&[("consumer_id", text()), ("next_snapshot_id", long())])
}

pub(super) fn rows(table: &Table, rows: &mut Rows) -> Result<()> {
    for consumer in table.context().consumers().list()? {
        if rows.is_full() {
            break;
        }
        put!(rows; string(consumer.id), Datum::BigInt(consumer.progress.next_snapshot));
    }
    Ok(())
}
