//! How Java prints rows in system tables: `{d1, 2}`, `[1]`, `{a=0, b=null}`.

use chrono::Timelike;

use crate::{
    Result,
    codec::to_hex,
    limits,
    row::{BinaryRow, Datum, datum_to_text},
    types::{DataField, DataType},
};

/// Values of a serialized row.
pub(super) fn values(bytes: &[u8], types: &[DataType]) -> Result<Vec<Datum>> {
    BinaryRow::from_serialized(bytes)?.datums(types)
}

/// `v1, v2`, each as CAST to STRING gives it.
pub(super) fn joined(values: &[Datum], types: &[DataType]) -> String {
    let texts: Vec<String> = values.iter().zip(types).map(|(value, kind)| cast_text(value, kind)).collect();
    texts.join(", ")
}

/// A partition as `{d1, 2}`.
pub(in crate::table) fn partition(bytes: &[u8], types: &[DataType]) -> Result<String> {
    Ok(format!("{{{}}}", joined(&values(bytes, types)?, types)))
}

fn cast_text(value: &Datum, kind: &DataType) -> String {
    if value.is_null() { "null".to_owned() } else { datum_to_text(value, kind) }
}

/// A value as Java's object prints: dates and times are numbers, timestamps have a `T`.
pub(super) fn object_text(value: &Datum, kind: &DataType) -> String {
    match value {
        Datum::Null => "null".to_owned(),
        Datum::Date(v) | Datum::Time(v) => v.to_string(),
        Datum::Timestamp { millis, nanos_of_milli } => timestamp_object(*millis, *nanos_of_milli),
        // Java shows the identity of an object here
        Datum::Bytes(bytes) => to_hex(bytes),
        other => datum_to_text(other, kind),
    }
}

/// `LocalDateTime.toString`: seconds and fractions only as far as they are needed, in groups of three digits.
fn timestamp_object(millis: i64, nanos_of_milli: i32) -> String {
    let Some(time) = chrono::DateTime::from_timestamp_millis(millis) else { return millis.to_string() };
    let nanos = i64::from(time.timestamp_subsec_millis()) * 1_000_000 + i64::from(nanos_of_milli);
    let fraction = match nanos {
        0 => String::new(),
        n if n % 1_000_000 == 0 => format!(".{:03}", n / 1_000_000),
        n if n % 1_000 == 0 => format!(".{:06}", n / 1_000),
        n => format!(".{n:09}"),
    };
    let whole = if time.second() == 0 && nanos == 0 { "%Y-%m-%dT%H:%M" } else { "%Y-%m-%dT%H:%M:%S" };
    format!("{}{fraction}", time.format(whole))
}

/// `{a=0, b=null}` of columns, which are in the order of their names.
pub(super) fn map(columns: &[DataField], value: impl Fn(&DataField) -> String) -> Result<String> {
    let mut all = String::from("{");
    for (number, field) in columns.iter().enumerate() {
        let value = value(field);
        let parts = [if number == 0 { "" } else { ", " }, &field.name, "=", &value];
        // and the end
        limits::grow_text(&mut all, parts.iter().map(|part| part.len()).sum::<usize>() + 1, "a text of all columns")?;
        for part in parts {
            all.push_str(part);
        }
    }
    all.push('}');
    Ok(all)
}
