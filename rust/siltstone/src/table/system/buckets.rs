//! `$buckets`

use super::{
    Table,
    columns::{fields, int, long, maybe, string, text, time},
    partitions::{sums, types},
    rows::{Rows, put},
    text::partition,
};
use crate::{Result, row::Datum, types::DataField};

pub(super) fn columns() -> Vec<DataField> {
    fields(&[
        ("partition", maybe(text())),
        ("bucket", int()),
        ("record_count", long()),
        ("file_size_in_bytes", long()),
        ("file_count", long()),
        ("last_update_time", maybe(time())),
    ])
}

pub(super) fn rows(table: &Table, rows: &mut Rows) -> Result<()> {
    let types = types(table);
    for ((bytes, bucket), sum) in sums(table, true)? {
        if rows.is_full() {
            break;
        }
        let [count, size, files] = sum.counts();
        put!(rows; string(partition(&bytes, &types)?), Datum::Int(bucket), count, size, files, sum.last_write());
    }
    Ok(())
}
