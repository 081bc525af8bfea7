//! ARRAY, ROW, MAP and MULTISET as sequence fields: bytes that order like their values.
//!
//! As in Java elements are compared one by one, null first, and of two values the shorter one comes first; maps by their
//! sizes, then by their keys, then by their values, in the order in which these come. A descending order turns all of
//! that around at once, so that only the bytes know what is inside. Source: `GenerateUtils.generateCompare`.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, Int32Array, ListArray, MapArray, StructArray, cast::AsArray, make_array,
};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType as Arrow, Field, Fields};

use crate::{Result, merge_tree::records::one_nan};

/// The Arrow type of [`comparable`] values.
pub(crate) fn comparable_type(column: Arrow) -> Arrow {
    match column {
        Arrow::List(_) | Arrow::Struct(_) | Arrow::Map(..) => Arrow::Binary,
        flat => flat,
    }
}

/// A column whose values order as in Java when Arrow compares them: nested values as bytes, NaN as one value.
pub(crate) fn comparable(column: &ArrayRef) -> Result<ArrayRef> {
    if !matches!(column.data_type(), Arrow::List(_) | Arrow::Struct(_) | Arrow::Map(..)) {
        return Ok(one_nan(column));
    }
    let sortable = sortable(column)?;
    let converter = RowConverter::new(vec![SortField::new(sortable.data_type().clone())])?;
    let rows = converter.convert_columns(&[sortable])?;
    let bytes = (0..column.len()).map(|row| column.is_valid(row).then(|| rows.row(row)));
    Ok(Arc::new(bytes.collect::<BinaryArray>()))
}

/// The same values in types that Arrow orders as Java does.
fn sortable(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        Arrow::List(_) => sortable_list(array.as_list())?,
        Arrow::Struct(_) => sortable_row(array.as_struct())?,
        Arrow::Map(..) => sortable_map(array.as_map())?,
        _ => one_nan(array),
    })
}

fn sortable_list(list: &ListArray) -> Result<ArrayRef> {
    let values = sortable(list.values())?;
    let element = Arc::new(Field::new("element", values.data_type().clone(), true));
    Ok(Arc::new(ListArray::try_new(element, list.offsets().clone(), values, list.nulls().cloned())?))
}

fn sortable_row(row: &StructArray) -> Result<ArrayRef> {
    if row.num_columns() == 0 {
        return Ok(make_array(row.to_data()));
    }
    let columns = row.columns().iter().map(sortable).collect::<Result<Vec<_>>>()?;
    let field = |(at, column): (usize, &ArrayRef)| Field::new(at.to_string(), column.data_type().clone(), true);
    let fields: Fields = columns.iter().enumerate().map(field).collect();
    Ok(Arc::new(StructArray::try_new(fields, columns, row.nulls().cloned())?))
}

/// Size, keys, values.
fn sortable_map(map: &MapArray) -> Result<ArrayRef> {
    let list = |values: &ArrayRef| {
        let element = Arc::new(Field::new("element", values.data_type().clone(), true));
        let list = ListArray::try_new(element, map.offsets().clone(), Arc::clone(values), map.nulls().cloned())?;
        sortable_list(&list)
    };
    let sizes: Int32Array = (0..map.len()).map(|row| map.is_valid(row).then(|| map.value_length(row))).collect();
    let columns: Vec<ArrayRef> = vec![Arc::new(sizes), list(map.keys())?, list(map.values())?];
    let field = |(name, column): (&str, &ArrayRef)| Field::new(name, column.data_type().clone(), true);
    let fields: Fields = ["size", "keys", "values"].into_iter().zip(&columns).map(field).collect();
    Ok(Arc::new(StructArray::try_new(fields, columns, map.nulls().cloned())?))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::{aggregate::testing::datum, row::array_from_datums, types::parse_type};

    /// The values of a JSON list, which are in ascending order; rows are lists of their fields, maps of pairs.
    fn ascending(data_type: &str, values: &str) {
        let t = parse_type(data_type).unwrap();
        let values: Vec<Value> = serde_json::from_str(values).unwrap();
        let datums: Vec<_> = values.iter().map(|value| datum(value, &t)).collect();
        let bytes = comparable(&array_from_datums(&datums, &t).unwrap()).unwrap();
        assert_eq!(bytes.data_type(), &comparable_type(crate::types::arrow_type(&t).unwrap()));
        let bytes: Vec<Option<&[u8]>> = bytes.as_binary::<i32>().iter().collect();
        assert!(bytes.is_sorted_by(|a, b| a < b), "{data_type}: {bytes:?}");
    }

    #[test]
    fn elements_are_compared_one_by_one_null_first_and_the_shorter_value_first() {
        ascending("ARRAY<INT>", "[null, [], [null], [null, 9], [-1, 5], [0], [0, null], [0, -7], [0, -7, 1], [2]]");
        ascending("ARRAY<ARRAY<INT>>", "[[], [null], [[]], [[1]], [[1], [2]], [[1, 2]], [[2]]]");
        ascending("ROW<a INT, b STRING>", r#"[null, [null, "z"], [1, null], [1, ""], [1, "a"], [1, "ab"], [2, null]]"#);
    }

    #[test]
    fn maps_are_compared_by_size_then_keys_then_values() {
        ascending(
            "MAP<INT, INT>",
            "[null, [], [[1, null]], [[1, 5]], [[1, 6]], [[9, 0]], [[1, 9], [2, 0]], [[1, 0], [3, 0]], [[2, 0], [1, 0]]]",
        );
    }
}
