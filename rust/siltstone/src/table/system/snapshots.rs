//! `$snapshots`

use super::{
    Table,
    columns::{fields, local, long, maybe, or_null, string, text, time},
    rows::{Rows, put},
};
use crate::{Result, row::Datum, snapshot::Snapshot, types::DataField};

pub(super) fn columns() -> Vec<DataField> {
    fields(&[
        ("snapshot_id", long()),
        ("schema_id", long()),
        ("commit_user", text()),
        ("commit_identifier", long()),
        ("commit_kind", text()),
        ("commit_time", time()),
        ("base_manifest_list", text()),
        ("delta_manifest_list", text()),
        ("changelog_manifest_list", maybe(text())),
        ("total_record_count", maybe(long())),
        ("delta_record_count", maybe(long())),
        ("changelog_record_count", maybe(long())),
        ("watermark", maybe(long())),
        ("next_row_id", maybe(long())),
    ])
}

pub(super) fn rows(table: &Table, rows: &mut Rows) -> Result<()> {
    for snapshot in table.history(usize::MAX)?.iter().rev() {
        if rows.is_full() {
            break;
        }
        put_row(rows, snapshot)?;
    }
    Ok(())
}

fn put_row(rows: &mut Rows, s: &Snapshot) -> Result<()> {
    put!(rows;
        Datum::BigInt(s.id),
        Datum::BigInt(s.schema_id),
        string(&s.commit_user),
        Datum::BigInt(s.commit_identifier),
        string(format!("{:?}", s.commit_kind).to_uppercase()),
        local(s.time_millis),
        string(&s.base_manifest_list),
        string(&s.delta_manifest_list),
        or_null(s.changelog_manifest_list.as_ref(), string),
        or_null(s.total_record_count, Datum::BigInt),
        or_null(s.delta_record_count, Datum::BigInt),
        or_null(s.changelog_record_count, Datum::BigInt),
        or_null(s.watermark, Datum::BigInt),
        or_null(s.next_row_id, Datum::BigInt),
    );
    Ok(())
}
