//! `$tags`

use std::time::Duration;

use super::{
    Table,
    columns::{fields, local, long, maybe, or_null, string, text, time, wall},
    rows::{Rows, put},
};
use crate::{Result, row::Datum, snapshot::Tag, types::DataField};

pub(super) fn columns() -> Vec<DataField> {
    fields(&[
        ("tag_name", text()),
        ("snapshot_id", long()),
        ("schema_id", long()),
        ("commit_time", time()),
        ("record_count", maybe(long())),
        ("create_time", maybe(time())),
        ("time_retained", maybe(text())),
    ])
}

pub(super) fn rows(table: &Table, rows: &mut Rows) -> Result<()> {
    for (name, tag) in &table.context().tags().tags()? {
        if rows.is_full() {
            break;
        }
        put_row(rows, name, tag)?;
    }
    Ok(())
}

fn put_row(rows: &mut Rows, name: &str, tag: &Tag) -> Result<()> {
    let s = &tag.snapshot;
    put!(rows;
        string(name),
        Datum::BigInt(s.id),
        Datum::BigInt(s.schema_id),
        local(s.time_millis),
        or_null(s.total_record_count, Datum::BigInt),
        or_null(tag.create_time, |t| wall(t.and_utc().timestamp_millis())),
        or_null(tag.time_retained, |kept| string(iso_duration(kept))),
    );
    Ok(())
}

/// `Duration.toString` of Java: hours are the largest unit.
pub(super) fn iso_duration(duration: Duration) -> String {
    let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos());
    if seconds == 0 && nanos == 0 {
        return "PT0S".to_owned();
    }
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let part = |amount: u64, unit: char| if amount > 0 { format!("{amount}{unit}") } else { String::new() };
    let fraction = format!("{nanos:09}");
    let last = if nanos > 0 { format!("{seconds}.{}S", fraction.trim_end_matches('0')) } else { part(seconds, 'S') };
    format!("PT{}{}{last}", part(hours, 'H'), part(minutes, 'M'))
}
