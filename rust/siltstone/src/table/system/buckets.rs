//! `$buckets`

use super::{
    Table,
    columns::{Row, fields, int, long, maybe, string, text, time},
    partitions::{sums, types},
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

pub(super) fn rows(table: &Table) -> Result<Vec<Row>> {
    let types = types(table);
    let row = |((bytes, bucket), sum): ((Vec<u8>, i32), super::partitions::Sum)| {
        let mut row = vec![string(partition(&bytes, &types)?), Datum::Int(bucket)];
        row.extend(sum.row());
        Ok(row)
    };
    sums(table, true)?.into_iter().map(row).collect()
}
