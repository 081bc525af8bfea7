//! Columns of an older schema as columns of the wanted one: nested fields are matched by id, values are cast.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray, cast::AsArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType as Arrow, Field};

use super::{ask_for_nulls, cast_array, hide, nested_text, nulls, text::no_value, unsupported};
use crate::{
    error::{Error, ErrorKind, Result},
    row::{datum_from_array, datum_to_text},
    types::{DataField, DataType, TypeKind, arrow_type},
};

/// Whether values of both types are the same, names of nested fields included; only nullability may differ.
pub fn same_values(from: &DataType, to: &DataType) -> bool {
    match (&from.kind, &to.kind) {
        (TypeKind::Array(a), TypeKind::Array(b)) | (TypeKind::Multiset(a), TypeKind::Multiset(b)) => same_values(a, b),
        (TypeKind::Map(ak, av), TypeKind::Map(bk, bv)) => same_values(ak, bk) && same_values(av, bv),
        (TypeKind::Row(a), TypeKind::Row(b)) => {
            let same = |(x, y): (&DataField, &DataField)| {
                x.id == y.id && x.name == y.name && same_values(&x.data_type, &y.data_type)
            };
            a.len() == b.len() && a.iter().zip(b).all(same)
        }
        (a, b) => a == b,
    }
}

/// What must be read of a column of type `from` to make `to` of it: the nested fields that `to` has, by id.
pub fn evolved_source(from: &DataType, to: &DataType) -> DataType {
    let below = |a: &DataType, b: &DataType| Box::new(evolved_source(a, b));
    let kind = match (&from.kind, &to.kind) {
        (TypeKind::Array(a), TypeKind::Array(b)) => TypeKind::Array(below(a, b)),
        (TypeKind::Map(key, a), TypeKind::Map(_, b)) => TypeKind::Map(key.clone(), below(a, b)),
        (TypeKind::Row(a), TypeKind::Row(b)) => {
            let wanted = a.iter().filter_map(|x| Some((x, b.iter().find(|y| y.id == x.id)?)));
            let fields = wanted
                .map(|(x, y)| DataField { data_type: evolved_source(&x.data_type, &y.data_type), ..x.clone() })
                .collect();
            TypeKind::Row(fields)
        }
        (kind, _) => kind.clone(),
    };
    DataType { kind, nullable: from.nullable }
}

/// An array of type `from` as an array of type `to`.
pub fn evolve(array: &ArrayRef, from: &DataType, to: &DataType) -> Result<ArrayRef> {
    match (&from.kind, &to.kind) {
        (TypeKind::Row(a), TypeKind::Row(b)) => row(array, a, b, to),
        (TypeKind::Array(a), TypeKind::Array(b)) => {
            let list = array.as_list_opt::<i32>().ok_or_else(|| wrong_array(array, from))?;
            let values = evolve(list.values(), a, b)?;
            check_not_null(&values, b.nullable, None).map_err(|e| e.with("field", "element"))?;
            let field = Arc::new(Field::new("element", arrow_type(b)?, b.nullable));
            Ok(Arc::new(ListArray::try_new(field, list.offsets().clone(), values, list.nulls().cloned())?))
        }
        (TypeKind::Map(a_key, a), TypeKind::Map(b_key, b)) => {
            if !same_values(a_key, b_key) {
                return Err(unsupported(&from.kind, &to.kind));
            }
            map(array, from, a, b, to)
        }
        (TypeKind::Multiset(a), TypeKind::Multiset(b)) if same_values(a, b) => Ok(Arc::clone(array)),
        (a, b) if a == b => Ok(Arc::clone(array)),
        (_, TypeKind::Char(_) | TypeKind::VarChar(_)) if from.is_nested() && nested_text::has_text(&from.kind) => {
            nested_text::texts(array, from)
        }
        _ if from.is_nested() || to.is_nested() => Err(unsupported(&from.kind, &to.kind)),
        _ => with_all_values(cast_array(array, from, to)?, array, from, to),
    }
}

/// A cast makes null of a value that has too many digits; a column that is NOT NULL has no place for that.
fn with_all_values(cast: ArrayRef, array: &ArrayRef, from: &DataType, to: &DataType) -> Result<ArrayRef> {
    if to.nullable || cast.null_count() <= array.null_count() {
        return Ok(cast);
    }
    let lost = (0..array.len()).find(|row| cast.is_null(*row) && array.is_valid(*row)).unwrap_or_default();
    let value = datum_to_text(&datum_from_array(array.as_ref(), lost, from)?, from);
    Err(no_value(format!("{value} is not a value of {to}, which its column became")))
}

/// Values of a column, or of a field in it, that may not be null; those in rows that are null are not there.
pub fn check_not_null(values: &ArrayRef, nullable: bool, rows: Option<&NullBuffer>) -> Result<()> {
    let there = |nulls: &NullBuffer| nulls.null_count() > 0 && !rows.is_some_and(|rows| rows.contains(nulls));
    if nullable || !values.nulls().is_some_and(there) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::CorruptFile, "a column that is NOT NULL has null values in a data file")
        .hint("if the column was made NOT NULL after these rows were written, make it nullable again"))
}

fn row(array: &ArrayRef, from: &[DataField], to: &[DataField], to_type: &DataType) -> Result<ArrayRef> {
    let row = array.as_struct_opt().ok_or_else(|| wrong_array(array, to_type))?;
    let missing = to.iter().filter(|field| from.iter().all(|f| f.id != field.id));
    ask_for_nulls(missing.map(|field| &field.data_type), row.len())?;
    let columns = to.iter().map(|field| {
        let source = from.iter().position(|f| f.id == field.id);
        match source.and_then(|i| Some((from.get(i)?, row.columns().get(i)?))) {
            Some((old, column)) => {
                let there = hide(column, row.nulls())?;
                evolve(&there, &old.data_type, &field.data_type).map_err(|e| e.with("field", &field.name))
            }
            None => nulls(&field.data_type, row.len()).map_err(|e| e.with("field", &field.name)),
        }
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    for (field, column) in to.iter().zip(&columns) {
        check_not_null(column, field.data_type.nullable, row.nulls()).map_err(|e| e.with("field", &field.name))?;
    }
    let Arrow::Struct(fields) = arrow_type(to_type)? else {
        return Err(wrong_array(array, to_type));
    };
    Ok(Arc::new(StructArray::try_new_with_length(fields, columns, row.nulls().cloned(), row.len())?))
}

fn map(array: &ArrayRef, from: &DataType, a: &DataType, b: &DataType, to: &DataType) -> Result<ArrayRef> {
    let map = array.as_map_opt().ok_or_else(|| wrong_array(array, from))?;
    let Arrow::Map(entry, sorted) = arrow_type(to)? else {
        return Err(wrong_array(array, to));
    };
    let Arrow::Struct(fields) = entry.data_type() else {
        return Err(wrong_array(array, to));
    };
    let values = evolve(map.values(), a, b)?;
    check_not_null(&values, b.nullable, None).map_err(|e| e.with("field", "value"))?;
    let columns = vec![Arc::clone(map.keys()), values];
    let entries = StructArray::try_new_with_length(fields.clone(), columns, None, map.entries().len())?;
    Ok(Arc::new(MapArray::try_new(entry, map.offsets().clone(), entries, map.nulls().cloned(), sorted)?))
}

fn wrong_array(array: &ArrayRef, t: &DataType) -> Error {
    Error::new(ErrorKind::Internal, format!("an array of {} for the type {t}", array.data_type()))
}
