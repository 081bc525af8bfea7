//! ARRAY, MAP, MULTISET and ROW: the same conversion inside, with the table's names and nullability.
//!
//! What lies below a null is not looked at and does not go on: elements of null lists are left out, fields of null rows
//! become null before they are converted.

use std::{collections::HashSet, sync::Arc};

use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray, UInt32Array, cast::AsArray};
use arrow_buffer::{ArrowNativeType, NullBuffer, OffsetBuffer};
use arrow_cast::cast;
use arrow_schema::{DataType as Arrow, Field, Fields};
use arrow_select::take::take;

use super::{
    convert::{ask_for, convert, decoded, mismatch},
    place::ColumnPath,
};
use crate::{
    cast::{hide, nulls},
    error::{Error, ErrorKind, Result},
    types::{DataField, DataType, arrow_type},
};

/// ARRAY from any kind of Arrow list.
pub(super) fn list(
    array: &ArrayRef,
    element: &DataType,
    target: &DataType,
    place: &ColumnPath<'_>,
) -> Result<ArrayRef> {
    let list = plain_list(array, target, place)?;
    let (offsets, values) = trimmed(&list);
    let inner = place.elements("element", &offsets);
    let values = convert(&values, element, &inner)?;
    no_nulls(&values, element, None, &inner)?;
    let Arrow::List(field) = arrow_type(target)? else {
        return Err(mismatch(place, target, array.data_type()));
    };
    Ok(Arc::new(ListArray::try_new(field, offsets, values, list.nulls().cloned())?))
}

/// MAP and MULTISET from an Arrow map, or from a list of two-column structs (as polars has it): key and value in this order, unless
/// their names say otherwise.
pub(super) fn map(
    array: &ArrayRef,
    key: &DataType,
    value: &DataType,
    target: &DataType,
    place: &ColumnPath<'_>,
) -> Result<ArrayRef> {
    let list = match array.data_type() {
        Arrow::Map(entries, _) => {
            let map = array.as_map();
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            let entries = Arc::new(Field::new("item", entries.data_type().clone(), true));
            compact(&ListArray::try_new(entries, offsets, Arc::new(map.entries().clone()), nulls)?)?
        }
        _ => plain_list(array, target, place)?,
    };
    let (offsets, entries) = trimmed(&list);
    let entries = entries.as_struct_opt().filter(|e| e.num_columns() == 2);
    let entries = entries.ok_or_else(|| mismatch(place, target, array.data_type()))?;
    let [first, second] = entries.columns() else {
        return Err(mismatch(place, target, array.data_type()));
    };
    // those of an Arrow map go by their order
    let is_swapped = !matches!(array.data_type(), Arrow::Map(..)) && entries.column_names() == ["value", "key"];
    let (keys, values) = if is_swapped { (second, first) } else { (first, second) };
    let (key_place, value_place) = (place.elements("key", &offsets), place.elements("value", &offsets));
    let key = key.clone().with_nullable(false);
    // an entry that is null has no key
    let keys = convert(&hide(&decoded(keys)?, entries.nulls())?, &key, &key_place)?;
    no_nulls(&keys, &key, None, &key_place)?;
    let values = convert(values, value, &value_place)?;
    no_nulls(&values, value, None, &value_place)?;
    let Arrow::Map(field, _) = arrow_type(target)? else {
        return Err(mismatch(place, target, array.data_type()));
    };
    let Arrow::Struct(fields) = field.data_type() else {
        return Err(mismatch(place, target, array.data_type()));
    };
    let entries = StructArray::try_new(fields.clone(), vec![keys, values], None)?;
    Ok(Arc::new(MapArray::try_new(field, offsets, entries, list.nulls().cloned(), false)?))
}

/// ROW from a struct; its columns are found by name.
pub(super) fn row(
    array: &ArrayRef,
    fields: &[DataField],
    target: &DataType,
    place: &ColumnPath<'_>,
) -> Result<ArrayRef> {
    let source = array.as_struct_opt().ok_or_else(|| mismatch(place, target, array.data_type()))?;
    let Arrow::Struct(arrow_fields) = arrow_type(target)? else {
        return Err(mismatch(place, target, array.data_type()));
    };
    let names = source.column_names();
    let mut seen = HashSet::new();
    if let Some(twice) = names.iter().find(|name| !seen.insert(**name)) {
        let text = format!("field '{twice}' of column '{}' is in the input twice", place.name());
        let column = format!("{}.{twice}", place.name());
        return Err(Error::new(ErrorKind::SchemaMismatch, text).with("column", column));
    }
    if let Some(extra) = names.into_iter().find(|n| fields.iter().all(|f| f.name != **n)) {
        return Err(Error::new(ErrorKind::SchemaMismatch, format!("column '{}' has no field '{extra}'", place.name()))
            .with("column", format!("{}.{extra}", place.name())));
    }
    let columns = fields.iter().map(|f| member(source, f, place)).collect::<Result<Vec<_>>>()?;
    build_struct(arrow_fields, columns, source)
}

fn member(source: &StructArray, field: &DataField, place: &ColumnPath<'_>) -> Result<ArrayRef> {
    let inner = place.field(&field.name);
    let column = match source.column_by_name(&field.name) {
        Some(column) => convert(&hide(&decoded(column)?, source.nulls())?, &field.data_type, &inner)?,
        None => nulls(&field.data_type, source.len())?,
    };
    no_nulls(&column, &field.data_type, source.nulls(), &inner)?;
    Ok(column)
}

fn build_struct(fields: Fields, columns: Vec<ArrayRef>, source: &StructArray) -> Result<ArrayRef> {
    let nulls = source.nulls().cloned();
    if columns.is_empty() {
        return Ok(Arc::new(StructArray::new_empty_fields(source.len(), nulls)));
    }
    Ok(Arc::new(StructArray::try_new(fields, columns, nulls)?))
}

/// An error when a NOT NULL value is null where its parent is not.
pub(super) fn no_nulls(
    array: &ArrayRef,
    target: &DataType,
    parents: Option<&NullBuffer>,
    place: &ColumnPath<'_>,
) -> Result<()> {
    forbidden_null(array, target, parents).map_or(Ok(()), |row| Err(null_error(place, target, row)))
}

/// The first NOT NULL value that is null where its parent is not.
pub(super) fn forbidden_null(array: &ArrayRef, target: &DataType, parents: Option<&NullBuffer>) -> Option<usize> {
    if target.nullable || array.null_count() == 0 {
        return None;
    }
    let parent_valid = |row: usize| parents.is_none_or(|p| p.is_valid(row));
    (0..array.len()).find(|&row| array.is_null(row) && parent_valid(row))
}

/// A null where the table's type has none.
pub(super) fn null_error(place: &ColumnPath<'_>, target: &DataType, row: usize) -> Error {
    let column = place.name();
    Error::new(ErrorKind::NullInKey, format!("row {} has null in column '{column}', which is {target}", place.row(row)))
        .with("column", column)
        .with("expected", target)
        .with("got", "null")
}

/// Any Arrow list as a `ListArray` whose null rows are empty.
fn plain_list(array: &ArrayRef, target: &DataType, place: &ColumnPath<'_>) -> Result<ListArray> {
    let plain = match array.data_type() {
        Arrow::List(_) => Arc::clone(array),
        Arrow::LargeList(f) | Arrow::ListView(f) | Arrow::LargeListView(f) | Arrow::FixedSizeList(f, _) => {
            ask_for(viewed_elements(array), f.data_type())?;
            cast(array, &Arrow::List(Arc::clone(f)))?
        }
        other => return Err(mismatch(place, target, other)),
    };
    compact(plain.as_list::<i32>())
}

/// Elements of lists that may have the same ones.
fn viewed_elements(array: &ArrayRef) -> usize {
    match array.data_type() {
        Arrow::ListView(_) => total(array.as_list_view::<i32>().value_sizes()),
        Arrow::LargeListView(_) => total(array.as_list_view::<i64>().value_sizes()),
        _ => 0,
    }
}

fn total<O: ArrowNativeType>(sizes: &[O]) -> usize {
    sizes.iter().map(|size| size.as_usize()).fold(0, usize::saturating_add)
}

/// Null rows that still own elements lose them, so that elements can be checked one by one.
fn compact(list: &ListArray) -> Result<ListArray> {
    let owns_elements = |row: usize| list.is_null(row) && list.value_length(row) > 0;
    if list.null_count() == 0 || !(0..list.len()).any(owns_elements) {
        return Ok(list.clone());
    }
    let rows = (0..list.len()).map(u32::try_from).collect::<std::result::Result<Vec<_>, _>>();
    let rows = rows.map_err(|e| Error::new(ErrorKind::InvalidArgument, "a batch has too many rows").caused_by(e))?;
    Ok(take(list, &UInt32Array::from(rows), None)?.as_list::<i32>().clone())
}

/// Offsets that start at 0 and exactly the values that they cover.
fn trimmed(list: &ListArray) -> (OffsetBuffer<i32>, ArrayRef) {
    let offsets = list.offsets();
    let (first, last) = (offsets.first().copied().unwrap_or(0), offsets.last().copied().unwrap_or(0));
    let length = usize::try_from(last - first).unwrap_or(0);
    if first == 0 && length == list.values().len() {
        return (offsets.clone(), Arc::clone(list.values()));
    }
    let values = list.values().slice(usize::try_from(first).unwrap_or(0), length);
    (OffsetBuffer::new(offsets.iter().map(|o| o - first).collect()), values)
}

#[cfg(test)]
mod tests {
    use arrow_array::{Decimal128Array, FixedSizeListArray, Int32Array, Int64Array, RunArray, StringArray};

    use super::*;
    use crate::types::parse_type;

    /// Rows of which the first is null and the second has `values`' second.
    fn rows(values: ArrayRef) -> ArrayRef {
        let field = Field::new("v", values.data_type().clone(), true);
        let nulls = Some(NullBuffer::from(vec![false, true]));
        Arc::new(StructArray::new(Fields::from(vec![field]), vec![values], nulls))
    }

    fn item(values: &ArrayRef) -> Arc<Field> {
        Arc::new(Field::new("item", values.data_type().clone(), true))
    }

    fn written(array: &ArrayRef, target: &str) -> Result<ArrayRef> {
        convert(array, &parse_type(target).unwrap(), &ColumnPath::column("c", 0))
    }

    /// How many values of the first field are null.
    fn nulls_below(array: &ArrayRef) -> usize {
        array.as_struct().column(0).null_count()
    }

    fn too_long() -> ArrayRef {
        Arc::new(StringArray::from(vec!["too long", "ok"]))
    }

    #[test]
    fn values_below_a_null_row_are_not_looked_at_and_not_kept() {
        let decimals = Decimal128Array::from(vec![12_345, 1]).with_precision_and_scale(5, 2).unwrap();
        let ends = Int32Array::from(vec![1, 2]);
        let given: [(ArrayRef, &str); 5] = [
            (too_long(), "VARCHAR(2) NOT NULL"),
            (Arc::new(Int64Array::from(vec![1000, 1])), "TINYINT"),
            (Arc::new(decimals), "DECIMAL(4, 2)"),
            (cast(&too_long(), &Arrow::Dictionary(Box::new(Arrow::Int8), Box::new(Arrow::Utf8))).unwrap(), "CHAR(2)"),
            (Arc::new(RunArray::try_new(&ends, &StringArray::from(vec!["too long", "ok"])).unwrap()), "CHAR(2)"),
        ];
        for (values, t) in given {
            let row = written(&rows(Arc::clone(&values)), &format!("ROW<v {t}>")).unwrap();
            assert_eq!((row.is_null(0), nulls_below(&row)), (true, 1), "{t}");
            let outer = written(&rows(rows(values)), &format!("ROW<v ROW<v {t}>>")).unwrap();
            assert_eq!(nulls_below(outer.as_struct().column(0)), 1, "{t}");
        }
        let valid = StructArray::new(Fields::from(vec![Field::new("v", Arrow::Utf8, true)]), vec![too_long()], None);
        assert_eq!(
            written(&(Arc::new(valid) as ArrayRef), "ROW<v CHAR(2)>").unwrap_err().kind(),
            ErrorKind::LengthExceeded
        );
    }

    #[test]
    fn lists_below_a_null_row_lose_their_elements() {
        let values = too_long();
        let fixed: ArrayRef = Arc::new(FixedSizeListArray::new(item(&values), 1, values, None));
        let list = cast(&fixed, &Arrow::List(item(&too_long()))).unwrap();
        for lists in [fixed, list] {
            let row = written(&rows(lists), "ROW<v ARRAY<CHAR(2) NOT NULL>>").unwrap();
            let lists = row.as_struct().column(0).as_list::<i32>();
            assert_eq!((lists.is_null(0), lists.values().len()), (true, 1));
        }
    }

    #[test]
    fn null_rows_in_lists_and_maps_are_not_looked_at() {
        let elements = rows(too_long());
        let offsets = OffsetBuffer::new(vec![0, 2].into());
        let list: ArrayRef = Arc::new(ListArray::new(item(&elements), offsets.clone(), Arc::clone(&elements), None));
        let list = written(&list, "ARRAY<ROW<v CHAR(2) NOT NULL>>").unwrap();
        assert_eq!(nulls_below(list.as_list::<i32>().values()), 1);

        let keys: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        let fields = [Field::new("key", Arrow::Int32, false), Field::new("value", elements.data_type().clone(), true)];
        let entries = StructArray::new(Fields::from(fields.to_vec()), vec![keys, elements], None);
        let field = Arc::new(Field::new("entries", entries.data_type().clone(), false));
        let map: ArrayRef = Arc::new(MapArray::new(field, offsets, entries, None, false));
        let map = written(&map, "MAP<INT, ROW<v CHAR(2) NOT NULL>>").unwrap();
        assert_eq!(nulls_below(map.as_map().values()), 1);
    }

    #[test]
    fn pairs_whose_fields_are_called_key_and_value_are_taken_by_name() {
        let (keys, values): (ArrayRef, ArrayRef) =
            (Arc::new(Int32Array::from(vec![1])), Arc::new(Int32Array::from(vec![10])));
        for (names, columns) in [
            (["value", "key"], vec![Arc::clone(&values), Arc::clone(&keys)]),
            (["key", "value"], vec![Arc::clone(&keys), Arc::clone(&values)]),
            (["a", "b"], vec![Arc::clone(&keys), Arc::clone(&values)]),
        ] {
            let fields: Vec<Field> = names.iter().map(|name| Field::new(*name, Arrow::Int32, true)).collect();
            let pairs: ArrayRef = Arc::new(StructArray::new(fields.into(), columns, None));
            let list: ArrayRef =
                Arc::new(ListArray::new(item(&pairs), OffsetBuffer::new(vec![0, 1].into()), pairs, None));
            let map = written(&list, "MAP<INT, INT>").unwrap();
            assert_eq!((map.as_map().keys(), map.as_map().values()), (&keys, &values), "{names:?}");
        }
    }

    #[test]
    fn a_pair_that_is_null_has_no_key() {
        let keys: ArrayRef = Arc::new(Int32Array::from(vec![7, 8]));
        let fields = Fields::from(vec![Field::new("k", Arrow::Int32, true), Field::new("v", Arrow::Int32, true)]);
        let nulls = Some(NullBuffer::from(vec![true, false]));
        let pairs: ArrayRef = Arc::new(StructArray::new(fields, vec![Arc::clone(&keys), keys], nulls));
        let list: ArrayRef = Arc::new(ListArray::new(item(&pairs), OffsetBuffer::new(vec![0, 2].into()), pairs, None));
        let error = written(&list, "MAP<INT, INT>").unwrap_err();
        assert_eq!((error.kind(), error.context_value("column")), (ErrorKind::NullInKey, Some("c.key")));
    }
}
