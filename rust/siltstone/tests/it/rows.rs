//! Rows as text, one form for what Java printed and for what we read.

use arrow_array::{Array, ArrayRef, RecordBatch, cast::AsArray, types};
use arrow_schema::DataType as ArrowType;
use serde_json::Value;
use siltstone::{
    options::VariantForm,
    types::{DataField, DataType, TypeKind},
    variant::shown,
};

/// The rows of batches, sorted.
pub(crate) fn of_batches(batches: &[RecordBatch], fields: &[DataField]) -> Vec<String> {
    let shown = |batch: &RecordBatch| shown(batch.clone(), VariantForm::Json).expect("VARIANT values as JSON");
    let mut rows: Vec<String> = batches
        .iter()
        .map(shown)
        .flat_map(|b| (0..b.num_rows()).map(move |r| of_row(b.columns(), r, fields)))
        .collect();
    rows.sort();
    rows
}

fn of_row(columns: &[ArrayRef], row: usize, fields: &[DataField]) -> String {
    let values: Vec<String> = fields
        .iter()
        .zip(columns)
        .map(|(f, c)| format!("{}={}", f.name, of_value(c.as_ref(), row, &f.data_type)))
        .collect();
    values.join(" ")
}

/// The rows of an expectation, sorted.
pub(crate) fn of_json(rows: &[Value], fields: &[DataField]) -> Vec<String> {
    let mut rows: Vec<String> = rows.iter().map(|r| of_object(r, fields)).collect();
    rows.sort();
    rows
}

fn of_object(row: &Value, fields: &[DataField]) -> String {
    let values: Vec<String> =
        fields.iter().map(|f| format!("{}={}", f.name, of_json_value(&row[&f.name], &f.data_type))).collect();
    values.join(" ")
}

fn of_json_value(value: &Value, t: &DataType) -> String {
    if value.is_null() {
        return "null".to_owned();
    }
    let list = || value.as_array().expect("a list");
    match &t.kind {
        TypeKind::Float => float(value, |v| format!("{:.6e}", v.to_string().parse::<f32>().expect("a float"))),
        TypeKind::Double => float(value, |v| format!("{v:.11e}")),
        TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) | TypeKind::Time(_) => {
            trimmed(value.as_str().expect("a time").trim_end_matches('Z'))
        }
        TypeKind::Array(e) => format!("[{}]", join(list().iter().map(|v| of_json_value(v, e)))),
        TypeKind::Map(k, v) => map(list().iter().map(|p| (of_json_value(&p[0], k), of_json_value(&p[1], v)))),
        TypeKind::Multiset(e) => map(list().iter().map(|p| (of_json_value(&p[0], e), p[1].to_string()))),
        TypeKind::Row(fields) => format!("{{{}}}", of_object(value, fields)),
        _ => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
    }
}

fn float(value: &Value, number: impl Fn(f64) -> String) -> String {
    match value.as_f64() {
        Some(v) => number(v + 0.0),
        None => value.as_str().expect("a float").to_owned(),
    }
}

fn shown_float(v: f64, text: String) -> String {
    if v.is_nan() {
        "NaN".to_owned()
    } else if v.is_infinite() {
        if v > 0.0 { "Infinity".to_owned() } else { "-Infinity".to_owned() }
    } else {
        text
    }
}

fn trimmed(text: &str) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(",")
}

fn map(entries: impl Iterator<Item = (String, String)>) -> String {
    let mut entries: Vec<String> = entries.map(|(k, v)| format!("{k}->{v}")).collect();
    entries.sort();
    format!("<{}>", entries.join(","))
}

fn of_value(array: &dyn Array, row: usize, t: &DataType) -> String {
    if array.is_null(row) {
        return "null".to_owned();
    }
    match &t.kind {
        TypeKind::Float => {
            let v = array.as_primitive::<types::Float32Type>().value(row) + 0.0;
            shown_float(f64::from(v), format!("{v:.6e}"))
        }
        TypeKind::Double => {
            let v = array.as_primitive::<types::Float64Type>().value(row) + 0.0;
            shown_float(v, format!("{v:.11e}"))
        }
        TypeKind::Decimal { .. } => array.as_primitive::<types::Decimal128Type>().value_as_string(row),
        TypeKind::Char(_) | TypeKind::VarChar(_) => array.as_string::<i32>().value(row).to_owned(),
        TypeKind::Binary(_) | TypeKind::VarBinary(_) => {
            let digits: Vec<String> = array.as_binary::<i32>().value(row).iter().map(|b| format!("{b:02x}")).collect();
            digits.concat()
        }
        TypeKind::Array(e) => {
            let items = array.as_list::<i32>().value(row);
            format!("[{}]", join((0..items.len()).map(|i| of_value(items.as_ref(), i, e))))
        }
        TypeKind::Map(k, v) => of_map(array, row, k, v),
        TypeKind::Multiset(e) => of_map(array, row, e, &DataType::not_null(TypeKind::Int)),
        TypeKind::Row(fields) => format!("{{{}}}", of_row(array.as_struct().columns(), row, fields)),
        TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => {
            let unit = match array.data_type() {
                ArrowType::Timestamp(unit, _) => *unit,
                other => panic!("{other} is no timestamp"),
            };
            let plain =
                arrow_cast::cast(&array.slice(row, 1), &ArrowType::Timestamp(unit, None)).expect("without a zone");
            trimmed(&arrow_cast::display::array_value_to_string(&plain, 0).expect("a time"))
        }
        TypeKind::Time(_) => trimmed(&arrow_cast::display::array_value_to_string(array, row).expect("a time")),
        _ => arrow_cast::display::array_value_to_string(array, row).expect("a value"),
    }
}

fn of_map(array: &dyn Array, row: usize, k: &DataType, v: &DataType) -> String {
    let entries = array.as_map().value(row);
    let (keys, values) = (entries.column(0), entries.column(1));
    map((0..entries.len()).map(|i| (of_value(keys.as_ref(), i, k), of_value(values.as_ref(), i, v))))
}
