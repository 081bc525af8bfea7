//! Decoded columns as Java reads them.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ListArray, MapArray, StringArray, StructArray, cast::AsArray};
use orc_rust::schema::DataType as OrcType;

use super::zones::{OffsetAt, moments};
use crate::error::{Error, ErrorKind, Result};

/// A column whose CHAR values have no blanks at their ends, as Java's reader takes off what its writer has added, and whose
/// moments are those that a legacy writer meant (`offset`).
pub(super) fn as_java(array: &ArrayRef, stored: &OrcType, offset: Option<&OffsetAt>) -> Result<ArrayRef> {
    if !differs(stored, offset.is_some()) {
        return Ok(Arc::clone(array));
    }
    match stored {
        OrcType::Char { .. } => {
            let texts = array.as_string_opt::<i32>().ok_or_else(other_array)?;
            let trimmed = texts.iter().map(|text| text.map(|text| text.trim_end_matches(' ')));
            Ok(Arc::new(trimmed.collect::<StringArray>()))
        }
        OrcType::TimestampWithLocalTimezone { .. } => {
            offset.map_or_else(|| Ok(Arc::clone(array)), |offset| moments(array, offset))
        }
        OrcType::Struct { children, .. } => {
            let rows = array.as_struct_opt().ok_or_else(other_array)?;
            let columns = children.iter().zip(rows.columns());
            let columns = columns.map(|(child, column)| as_java(column, child.data_type(), offset));
            let (fields, nulls) = (rows.fields().clone(), rows.nulls().cloned());
            Ok(Arc::new(StructArray::try_new(fields, columns.collect::<Result<_>>()?, nulls)?))
        }
        OrcType::List { child, .. } => {
            let lists = array.as_list_opt::<i32>().ok_or_else(other_array)?;
            let (field, offsets, values, nulls) = lists.clone().into_parts();
            Ok(Arc::new(ListArray::try_new(field, offsets, as_java(&values, child, offset)?, nulls)?))
        }
        OrcType::Map { key, value, .. } => {
            let maps = array.as_map_opt().ok_or_else(other_array)?;
            let (field, offsets, entries, nulls, ordered) = maps.clone().into_parts();
            let columns = vec![as_java(entries.column(0), key, offset)?, as_java(entries.column(1), value, offset)?];
            let entries = StructArray::try_new(entries.fields().clone(), columns, entries.nulls().cloned())?;
            Ok(Arc::new(MapArray::try_new(field, offsets, entries, nulls, ordered)?))
        }
        _ => Ok(Arc::clone(array)),
    }
}

/// Whether a column has values that Java's reader changes.
fn differs(stored: &OrcType, shifts: bool) -> bool {
    match stored {
        OrcType::Char { .. } => true,
        OrcType::TimestampWithLocalTimezone { .. } => shifts,
        OrcType::Struct { children, .. } => children.iter().any(|child| differs(child.data_type(), shifts)),
        OrcType::List { child, .. } => differs(child, shifts),
        OrcType::Map { key, value, .. } => differs(key, shifts) || differs(value, shifts),
        _ => false,
    }
}

fn other_array() -> Error {
    Error::new(ErrorKind::Internal, "an ORC column was decoded as another type than asked for")
}
