//! Values that readers of ORC files, Java's among them, show otherwise than they were given.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, StringArray, cast::AsArray};

use super::times::{stored, ticks};
use crate::{
    cast::hide,
    error::{Error, ErrorKind, Result},
    types::{DataType, TypeKind},
};

/// An error for the first of them, at any depth.
pub(in crate::format::orc) fn check_values(t: &DataType, values: &ArrayRef) -> Result<()> {
    match &t.kind {
        TypeKind::Char(_) => match values.as_string_opt::<i32>().map(has_blanks) {
            Some(true) => Err(blanks()),
            _ => Ok(()),
        },
        TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => {
            let Some((values, per_second)) = ticks(values) else { return Ok(()) };
            let each =
                |values: &Int64Array| values.iter().flatten().try_for_each(|value| stored(value, per_second).map(drop));
            each(&values)
        }
        TypeKind::Row(fields) => {
            let Some(row) = values.as_struct_opt() else { return Ok(()) };
            let mut parts = fields.iter().zip(row.columns());
            parts.try_for_each(|(field, part)| check_values(&field.data_type, &hide(part, row.nulls())?))
        }
        TypeKind::Array(element) => {
            values.as_list_opt::<i32>().map_or(Ok(()), |list| check_values(element, list.values()))
        }
        TypeKind::Map(key, value) => values.as_map_opt().map_or(Ok(()), |map| {
            check_values(key, map.keys())?;
            check_values(value, map.values())
        }),
        TypeKind::Multiset(element) => values.as_map_opt().map_or(Ok(()), |map| check_values(element, map.keys())),
        _ => Ok(()),
    }
}

fn has_blanks(texts: &StringArray) -> bool {
    texts.iter().flatten().any(|text| text.ends_with(' '))
}

#[cold]
fn blanks() -> Error {
    Error::new(ErrorKind::UnsupportedType, "texts of CHAR with spaces at their end cannot be stored in ORC files")
        .hint("readers, Java's too, show them without: leave the spaces out, use VARCHAR, or another 'file.format'")
}

/// A column of CHAR as readers show it: what casts fill up with spaces is stored without them, so that bounds tell the truth.
pub(super) fn as_shown(t: &DataType, column: &ArrayRef) -> ArrayRef {
    match (&t.kind, column.as_string_opt::<i32>()) {
        (TypeKind::Char(_), Some(texts)) if has_blanks(texts) => {
            Arc::new(texts.iter().map(|text| text.map(|text| text.trim_end_matches(' '))).collect::<StringArray>())
        }
        _ => Arc::clone(column),
    }
}
