//! Values as text: as SQL's CAST gives it, and as Java's `toString()` does (partition directories).

use std::{fmt::Write as _, iter::repeat};

use super::{
    Datum,
    calendar::civil_from_days,
    java_float::{double_text, float_text},
    layout::Slot,
    read::View,
};
use crate::{
    error::Result,
    types::{DataType, TypeKind},
};

const DAY_MILLIS: i64 = 86_400_000;

/// The text that `CAST(value AS STRING)` gives; null gives `null`. Local-zoned timestamps are shown in UTC.
pub fn datum_to_text(value: &Datum, data_type: &DataType) -> String {
    match (value, &data_type.kind) {
        (Datum::Date(days), _) => date_text(i64::from(*days)),
        (Datum::Time(millis), TypeKind::Time(p)) => time_text(*millis, *p),
        (Datum::Timestamp { millis, nanos_of_milli }, TypeKind::Timestamp(p) | TypeKind::LocalZonedTimestamp(p)) => {
            timestamp_text(*millis, *nanos_of_milli, *p)
        }
        (Datum::Nested(bytes), _) => {
            nested_text(bytes, data_type).unwrap_or_else(|e| format!("<unreadable value: {e}>"))
        }
        _ => plain_text(value, data_type),
    }
}

/// [`datum_to_text`], but with all digits of a year beyond 9999, and with the sign of one before 0: what names its value.
pub fn datum_to_full_text(value: &Datum, data_type: &DataType) -> String {
    let day = match value {
        Datum::Date(days) => i64::from(*days),
        Datum::Timestamp { millis, .. } => millis.div_euclid(DAY_MILLIS),
        _ => return datum_to_text(value, data_type),
    };
    let text = datum_to_text(value, data_type);
    let (year, month, dom) = civil_from_days(day);
    if (0..=9999).contains(&year) {
        return text;
    }
    let sign = if year < 0 { "-" } else { "" };
    let after: String = text.chars().skip("yyyy-MM-dd".len()).collect();
    format!("{sign}{:04}-{month:02}-{dom:02}{after}", year.unsigned_abs())
}

/// The text of Java's `toString()` on the internal value, as partition directories have it with
/// `partition.legacy-name=true`; null gives `null`.
pub fn datum_to_legacy_text(value: &Datum, data_type: &DataType) -> String {
    match value {
        Datum::Date(v) | Datum::Time(v) => v.to_string(),
        Datum::Timestamp { millis, nanos_of_milli } => iso_timestamp(*millis, *nanos_of_milli),
        Datum::Nested(_) => datum_to_text(value, data_type),
        _ => plain_text(value, data_type),
    }
}

/// What both forms agree on.
fn plain_text(value: &Datum, data_type: &DataType) -> String {
    match value {
        Datum::Null => "null".into(),
        Datum::Boolean(v) => v.to_string(),
        Datum::TinyInt(v) => v.to_string(),
        Datum::SmallInt(v) => v.to_string(),
        Datum::Int(v) | Datum::Date(v) | Datum::Time(v) => v.to_string(),
        Datum::BigInt(v) => v.to_string(),
        Datum::Float(v) => float_text(*v),
        Datum::Double(v) => double_text(*v),
        Datum::Decimal(v) => match data_type.kind {
            TypeKind::Decimal { scale, .. } => decimal_text(*v, scale),
            _ => v.to_string(),
        },
        Datum::String(v) => v.clone(),
        Datum::Bytes(v) => String::from_utf8_lossy(v).into_owned(),
        Datum::Timestamp { millis, nanos_of_milli } => timestamp_text(*millis, *nanos_of_milli, 3),
        Datum::Nested(v) => format!("<{} bytes>", v.len()),
    }
}

/// A decimal with exactly `scale` digits after the point.
pub fn decimal_text(unscaled: i128, scale: u8) -> String {
    let scale = usize::from(scale);
    let sign = if unscaled < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len().saturating_sub(scale));
    if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// `yyyy-MM-dd` of a day since 1970-01-01.
pub fn date_text(days: i64) -> String {
    let (year, month, day) = civil_from_days(days);
    let mut text = String::with_capacity(10);
    // Java writes each of the four digits by itself: years beyond 9999 lose their front
    for unit in [1000, 100, 10, 1] {
        let digit = u32::try_from(i64::from(b'0') + year / unit % 10).ok().and_then(char::from_u32);
        text.push(digit.unwrap_or('?'));
    }
    let _ = write!(text, "-{month:02}-{day:02}");
    text
}

/// `HH:mm:ss` with up to `precision` fraction digits (at least one, trailing zeros cut after it).
pub fn time_text(millis_of_day: i32, precision: u8) -> String {
    let millis = i64::from(millis_of_day).rem_euclid(DAY_MILLIS);
    let mut text = clock_text(millis);
    if precision > 0 {
        text.push('.');
        let mut rest = millis % 1000;
        for _ in 0..precision {
            let _ = write!(text, "{}", rest / 100);
            rest = rest % 100 * 10;
            if rest == 0 {
                break;
            }
        }
    }
    text
}

/// `yyyy-MM-dd HH:mm:ss` with `precision` fraction digits, more when the value has more.
pub fn timestamp_text(millis: i64, nanos_of_milli: i32, precision: u8) -> String {
    let (day, of_day) = (millis.div_euclid(DAY_MILLIS), millis.rem_euclid(DAY_MILLIS));
    let mut fraction = format!("{:03}{nanos_of_milli:06}", of_day % 1000);
    while fraction.len() > usize::from(precision) && fraction.ends_with('0') {
        fraction.pop();
    }
    let dot = if fraction.is_empty() { "" } else { "." };
    format!("{} {}{dot}{fraction}", date_text(day), clock_text(of_day))
}

/// Java's `LocalDateTime.toString()`: trailing zero parts dropped, fractions of 3, 6 or 9 digits.
fn iso_timestamp(millis: i64, nanos_of_milli: i32) -> String {
    let (day, of_day) = (millis.div_euclid(DAY_MILLIS), millis.rem_euclid(DAY_MILLIS));
    let (year, month, dom) = civil_from_days(day);
    let year = match year {
        0..=9999 => format!("{year:04}"),
        10_000.. => format!("+{year}"),
        _ => format!("-{:04}", -year),
    };
    let (hour, minute, second) = (of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1000 % 60);
    let mut text = format!("{year}-{month:02}-{dom:02}T{hour:02}:{minute:02}");
    let (fraction_millis, nanos) = (of_day % 1000, nanos_of_milli);
    if second == 0 && fraction_millis == 0 && nanos == 0 {
        return text;
    }
    let _ = write!(text, ":{second:02}");
    if nanos % 1000 != 0 {
        let _ = write!(text, ".{fraction_millis:03}{nanos:06}");
    } else if nanos != 0 {
        let _ = write!(text, ".{fraction_millis:03}{:03}", nanos / 1000);
    } else if fraction_millis != 0 {
        let _ = write!(text, ".{fraction_millis:03}");
    }
    text
}

fn clock_text(millis_of_day: i64) -> String {
    let (hour, minute, second) = (millis_of_day / 3_600_000, millis_of_day / 60_000 % 60, millis_of_day / 1000 % 60);
    format!("{hour:02}:{minute:02}:{second:02}")
}

/// `[a, b]`, `{k -> v}`, `{a, b}`.
fn nested_text(bytes: &[u8], data_type: &DataType) -> Result<String> {
    let int = DataType::not_null(TypeKind::Int);
    let (key, value) = match &data_type.kind {
        TypeKind::Array(element) => {
            let array = View::array(bytes, Slot::of(element))?;
            return Ok(format!("[{}]", texts(&array, repeat(element.as_ref()))?.join(", ")));
        }
        TypeKind::Row(fields) => {
            let row = View::row(fields.len(), bytes)?;
            let types = fields.iter().map(|f| &f.data_type);
            return Ok(format!("{{{}}}", texts(&row, types)?.join(", ")));
        }
        TypeKind::Map(key, value) => (key.as_ref(), value.as_ref()),
        TypeKind::Multiset(element) => (element.as_ref(), &int),
        _ => return Ok(format!("<{} bytes>", bytes.len())),
    };
    let (keys, values) = View::map(bytes, Slot::of(key), Slot::of(value))?;
    let (keys, values) = (texts(&keys, repeat(key))?, texts(&values, repeat(value))?);
    let entries: Vec<String> = keys.iter().zip(&values).map(|(k, v)| format!("{k} -> {v}")).collect();
    Ok(format!("{{{}}}", entries.join(", ")))
}

fn texts<'t>(view: &View<'_>, types: impl Iterator<Item = &'t DataType> + Clone) -> Result<Vec<String>> {
    view.values(types.clone()).zip(types).map(|(value, t)| Ok(datum_to_text(&value?, t))).collect()
}
