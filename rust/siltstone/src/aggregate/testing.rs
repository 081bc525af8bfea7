//! Columns as JSON and single groups, for the tests of functions.
//!
//! Rows are arrays of their fields, maps arrays of pairs, bytes are hex.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{Array, ArrayRef, cast::AsArray};
use serde_json::{Value, json};

use super::{AggStep, AggregateFunction, ColumnGroups, FieldOptions, aggregate_function};
use crate::{
    Result,
    codec::{from_hex, to_hex},
    row::{Datum, array_datum, array_from_datums, datum_from_array, map_datum, row_datum},
    types::{DataField, DataType, TypeKind, parse_type},
};

/// The function `name` for a column `f`, with options `fields.f.<suffix>`.
pub(super) fn try_function(
    name: &str,
    data_type: &str,
    options: &[(&str, &str)],
) -> Result<Arc<dyn AggregateFunction>> {
    let (name_of, data_type) = ("f".to_owned(), parse_type(data_type)?);
    let field = DataField { id: 0, name: name_of, data_type, description: None, default_value: None };
    let options: BTreeMap<String, String> =
        options.iter().map(|(suffix, value)| (format!("fields.f.{suffix}"), (*value).to_owned())).collect();
    aggregate_function(name, &field, &FieldOptions::of(&options, "f")?)
}

/// As [`try_function`], for options that are right.
pub(super) fn function(name: &str, data_type: &str, options: &[(&str, &str)]) -> Arc<dyn AggregateFunction> {
    try_function(name, data_type, options).unwrap()
}

/// All rows of `array` as one group.
pub(super) fn one_group(f: &dyn AggregateFunction, array: &ArrayRef, steps: Option<&[AggStep]>) -> Result<ArrayRef> {
    let rows: Vec<(usize, usize)> = (0..array.len()).map(|row| (0, row)).collect();
    let arrays = [Arc::clone(array)];
    let groups = ColumnGroups { arrays: &arrays, rows: &rows, ends: &[rows.len()], steps, pass_single: false };
    f.aggregate(&groups).map_err(|e| e.error)
}

/// What the function makes of one group of these values.
pub(super) fn fold(f: &dyn AggregateFunction, data_type: &str, values: &Value, steps: &[AggStep]) -> Result<Value> {
    let t = parse_type(data_type)?;
    let values = values.as_array().unwrap();
    let datums: Vec<Datum> = values.iter().map(|value| datum(value, &t)).collect();
    let steps = if steps.is_empty() { vec![AggStep::Add; values.len()] } else { steps.to_vec() };
    let result = one_group(f, &array_from_datums(&datums, &t)?, Some(&steps))?;
    assert_eq!(result.len(), 1);
    Ok(json_at(&result, 0, &t))
}

pub(crate) fn datum(value: &Value, t: &DataType) -> Datum {
    let all = |values: &[Value], t: &DataType| values.iter().map(|v| datum(v, t)).collect::<Vec<_>>();
    match (&t.kind, value) {
        (_, Value::Null) => Datum::Null,
        (TypeKind::Int, v) => Datum::Int(v.as_i64().unwrap().try_into().unwrap()),
        (TypeKind::BigInt, v) => Datum::BigInt(v.as_i64().unwrap()),
        (TypeKind::Double, v) => Datum::Double(v.as_f64().unwrap_or(f64::NAN)),
        (TypeKind::VarChar(_), Value::String(v)) => Datum::String(v.clone()),
        (TypeKind::VarBinary(_), Value::String(v)) => Datum::Bytes(from_hex(v).unwrap()),
        (TypeKind::Array(element), Value::Array(values)) => array_datum(element, &all(values, element)).unwrap(),
        (TypeKind::Map(key, item), Value::Array(pairs)) => {
            let side = |i: usize| pairs.iter().map(|pair| pair[i].clone()).collect::<Vec<_>>();
            map_datum(key, &all(&side(0), key), item, &all(&side(1), item)).unwrap()
        }
        (TypeKind::Row(fields), Value::Array(values)) => {
            let types: Vec<DataType> = fields.iter().map(|f| f.data_type.clone()).collect();
            let values: Vec<Datum> = values.iter().zip(&types).map(|(v, t)| datum(v, t)).collect();
            row_datum(&types, &values).unwrap()
        }
        (kind, value) => panic!("{value} is no {kind:?}"),
    }
}

fn json_at(array: &ArrayRef, row: usize, t: &DataType) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    let all = |array: ArrayRef, t: &DataType| (0..array.len()).map(|i| json_at(&array, i, t)).collect::<Vec<_>>();
    match &t.kind {
        TypeKind::Array(element) => Value::Array(all(array.as_list::<i32>().value(row), element)),
        TypeKind::Map(key, item) => {
            let entries = array.as_map().value(row);
            let (keys, items) = (all(Arc::clone(entries.column(0)), key), all(Arc::clone(entries.column(1)), item));
            keys.into_iter().zip(items).map(|(k, v)| json!([k, v])).collect()
        }
        TypeKind::Row(fields) => {
            let columns = array.as_struct().columns();
            fields.iter().zip(columns).map(|(f, column)| json_at(column, row, &f.data_type)).collect()
        }
        _ => match datum_from_array(array.as_ref(), row, t).unwrap() {
            Datum::Int(v) => json!(v),
            Datum::BigInt(v) => json!(v),
            Datum::Double(v) => json!(v),
            Datum::String(v) => json!(v),
            Datum::Bytes(v) => json!(to_hex(&v)),
            other => panic!("{other:?}"),
        },
    }
}

/// A list whose order is that of a hash table: equal to a list of the same elements in any order.
#[derive(Debug)]
pub(super) struct Unordered(pub(super) Value);

impl PartialEq<Value> for Unordered {
    fn eq(&self, other: &Value) -> bool {
        let sorted = |list: &Value| {
            let mut texts: Option<Vec<String>> = list.as_array().map(|l| l.iter().map(Value::to_string).collect());
            if let Some(texts) = &mut texts {
                texts.sort();
            }
            texts
        };
        sorted(&self.0) == sorted(other)
    }
}
