//! ARRAY, MAP and ROW as text: `[1, null]`, `{key -> value}`, `{1, x}`, whatever the length of the text's type.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StringArray, cast::AsArray};

use super::{cast_array, hide, unsupported};
use crate::{
    error::Result,
    types::{DataField, DataType, MAX_LENGTH, TypeKind},
};

const NULL: &str = "null";

/// Whether values of a type have a text, those in a nested type included.
pub(super) fn has_text(kind: &TypeKind) -> bool {
    match kind {
        TypeKind::Array(element) => has_text(&element.kind),
        TypeKind::Map(key, value) => has_text(&key.kind) && has_text(&value.kind),
        TypeKind::Row(fields) => fields.iter().all(|field| has_text(&field.data_type.kind)),
        TypeKind::Multiset(_) | TypeKind::Variant | TypeKind::Blob | TypeKind::Vector(..) => false,
        _ => true,
    }
}

/// The text of each value; null stays null.
pub(super) fn texts(array: &ArrayRef, from: &DataType) -> Result<ArrayRef> {
    let text = DataType::new(TypeKind::VarChar(MAX_LENGTH));
    let wrong = || unsupported(&from.kind, &text.kind);
    let shown: StringArray = match &from.kind {
        TypeKind::Array(element) => {
            let list = array.as_list_opt::<i32>().ok_or_else(wrong)?;
            let values = texts(list.values(), element)?;
            let values = values.as_string::<i32>();
            rows(array, |row| format!("[{}]", joined(span(list.value_offsets(), row).map(|at| shown_at(values, at)))))
        }
        TypeKind::Map(key, value) => {
            let map = array.as_map_opt().ok_or_else(wrong)?;
            let (keys, values) = (texts(map.keys(), key)?, texts(map.values(), value)?);
            let (keys, values) = (keys.as_string::<i32>(), values.as_string::<i32>());
            let pair = |at| format!("{} -> {}", shown_at(keys, at), shown_at(values, at));
            rows(array, |row| format!("{{{}}}", joined(span(map.value_offsets(), row).map(pair))))
        }
        TypeKind::Row(fields) => {
            let row = array.as_struct_opt().ok_or_else(wrong)?;
            let of = |column, field: &DataField| texts(&hide(column, row.nulls())?, &field.data_type);
            let columns = row.columns().iter().zip(fields).map(|(column, field)| of(column, field));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let columns: Vec<&StringArray> = columns.iter().map(arrow_array::cast::AsArray::as_string::<i32>).collect();
            rows(array, |at| format!("{{{}}}", joined(columns.iter().map(|column| shown_at(column, at)))))
        }
        TypeKind::Char(_) | TypeKind::VarChar(_) => return Ok(Arc::clone(array)),
        _ => return cast_array(array, from, &text),
    };
    Ok(Arc::new(shown))
}

fn rows(array: &ArrayRef, text: impl Fn(usize) -> String) -> StringArray {
    (0..array.len()).map(|row| array.is_valid(row).then(|| text(row))).collect()
}

fn shown_at(texts: &StringArray, at: usize) -> String {
    if texts.is_valid(at) { texts.value(at) } else { NULL }.to_owned()
}

fn joined(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join(", ")
}

/// Positions of the elements of a row.
fn span(offsets: &[i32], row: usize) -> std::ops::Range<usize> {
    let at = |row: usize| offsets.get(row).and_then(|o| usize::try_from(*o).ok()).unwrap_or(0);
    at(row)..at(row + 1)
}
