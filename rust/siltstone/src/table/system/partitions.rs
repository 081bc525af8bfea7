//! `$partitions`, and sums of live files for `$buckets`.

use std::collections::BTreeMap;

use super::{
    Table,
    columns::{Row, fields, long, maybe, or_null, string, text, time, wall},
};
use crate::{
    Result,
    operation::scan::{EntryFilter, live_entries},
    row::Datum,
    types::DataField,
};

pub(super) fn columns() -> Vec<DataField> {
    fields(&[
        ("partition", maybe(text())),
        ("record_count", long()),
        ("file_size_in_bytes", long()),
        ("file_count", long()),
        ("last_update_time", maybe(time())),
        ("created_at", maybe(text())),
        ("created_by", maybe(text())),
        ("updated_by", maybe(text())),
        ("options", maybe(text())),
    ])
}

pub(super) fn rows(table: &Table) -> Result<Vec<Row>> {
    let ctx = table.context();
    let default = &ctx.options.partition_default_name;
    let names: Vec<&str> = ctx.schema.partition_keys.iter().map(String::as_str).collect();
    let row = |((partition, _), sum): ((Vec<u8>, i32), Sum)| {
        let values = super::text::values(&partition, &types(table))?;
        let pairs = names.iter().zip(&values).zip(types(table)).map(|((name, value), kind)| {
            let text = if value.is_null() { String::new() } else { crate::row::datum_to_text(value, &kind) };
            format!("{name}={}", if text.trim().is_empty() { default } else { &text })
        });
        let mut row = vec![string(pairs.collect::<Vec<_>>().join("/"))];
        row.extend(sum.row());
        row.extend([Datum::Null, Datum::Null, Datum::Null, Datum::Null]);
        Ok(row)
    };
    sums(table, false)?.into_iter().map(row).collect()
}

/// Types of the partition columns.
pub(super) fn types(table: &Table) -> Vec<crate::types::DataType> {
    table.context().schema.partition_fields().iter().map(|f| f.data_type.clone()).collect()
}

/// Live files of a partition or bucket together.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    rows: i64,
    bytes: i64,
    files: i64,
    newest: Option<i64>,
}

impl Sum {
    /// Row count, bytes, files, time of the newest file.
    pub(super) fn row(&self) -> [Datum; 4] {
        [Datum::BigInt(self.rows), Datum::BigInt(self.bytes), Datum::BigInt(self.files), or_null(self.newest, wall)]
    }
}

/// Sums by partition, and by bucket when `by_bucket` says so (else the bucket is 0).
pub(super) fn sums(table: &Table, by_bucket: bool) -> Result<BTreeMap<(Vec<u8>, i32), Sum>> {
    let (ctx, snapshot) = table.travelled()?;
    let mut found: BTreeMap<(Vec<u8>, i32), Sum> = BTreeMap::new();
    let Some(snapshot) = snapshot else { return Ok(found) };
    for entry in live_entries(&ctx, &snapshot, &EntryFilter::default())? {
        let bucket = if by_bucket { entry.bucket } else { 0 };
        let sum = found.entry((entry.partition, bucket)).or_default();
        sum.rows += entry.file.row_count;
        sum.bytes += entry.file.file_size;
        sum.files += 1;
        sum.newest = sum.newest.max(entry.file.creation_time);
    }
    Ok(found)
}
