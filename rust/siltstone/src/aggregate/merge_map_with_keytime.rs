//! `merge_map_with_keytime`: of the values of a map key the one with the later time stays (semantics b.7;
//! `FieldMergeMapWithKeyTimeAgg`).
//!
//! Values are rows; their field `fields.<f>.ts-field`, by default the last one, is a text that holds the time. A null
//! value removes its key, a value without time is passed over.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StringArray, cast::AsArray};

use super::{
    AggregateFunction, FieldOptions,
    element_keys::{ByKey, Keys},
    elements::{ElementFunction, Elements, OverElements, columns_of},
    merge_map::map_keys,
};
use crate::{
    Error, ErrorKind, Result,
    codec::compare_utf16,
    types::{DataField, DataType, TypeKind},
};

/// MAP whose values are ROWs of at least two fields.
pub(super) fn accepts(data_type: &DataType) -> bool {
    value_fields(data_type).is_some_and(|fields| fields.len() >= 2)
}

fn value_fields(data_type: &DataType) -> Option<&[DataField]> {
    let TypeKind::Map(_, value) = &data_type.kind else { return None };
    let TypeKind::Row(fields) = &value.kind else { return None };
    Some(fields)
}

/// A time field that does not exist or is no text is an `InvalidOption`: Java accepts the latter and fails when it
/// merges.
pub(super) fn new(field: &DataField, options: &FieldOptions) -> Result<Arc<dyn AggregateFunction>> {
    let option = format!("fields.{}.ts-field", field.name);
    let invalid = |message: String| Error::new(ErrorKind::InvalidOption, message).with("option", &option);
    let fields = value_fields(&field.data_type).unwrap_or_default();
    let names = || fields.iter().map(|f| f.name.as_str()).collect::<Vec<_>>().join(", ");
    let time = match &options.ts_field {
        None => fields.len().saturating_sub(1),
        Some(name) => fields.iter().position(|f| &f.name == name).ok_or_else(|| {
            invalid(format!("the rows of the map have no field '{name}'")).hint(format!("their fields are {}", names()))
        })?,
    };
    match fields.get(time) {
        Some(f) if !matches!(f.data_type.kind, TypeKind::Char(_) | TypeKind::VarChar(_)) => {
            let message = format!("the time field '{}' is {}, but times are compared as texts", f.name, f.data_type);
            Err(invalid(message).hint("give the field the type STRING, or name another field by 'ts-field'"))
        }
        _ => Ok(Arc::new(OverElements(MergeMapWithKeytime { time }))),
    }
}

#[derive(Debug)]
struct MergeMapWithKeytime {
    /// Number of the value's field that holds the time.
    time: usize,
}

/// Of all entries.
#[derive(Debug)]
struct Entries {
    keys: Keys,
    values: ArrayRef,
    times: StringArray,
}

impl Entries {
    fn time(&self, entry: usize) -> Option<&str> {
        (self.values.is_valid(entry) && self.times.is_valid(entry)).then(|| self.times.value(entry))
    }
}

impl ElementFunction for MergeMapWithKeytime {
    type Values = Entries;

    const NAME: &'static str = "merge_map_with_keytime";

    /// A null value removes its key from what is there.
    fn adds_ahead(&self) -> bool {
        false
    }

    fn takes_many(&self) -> bool {
        true
    }

    fn values(&self, entries: &ArrayRef) -> Result<Entries> {
        let missing = || Error::new(ErrorKind::Internal, "the values of the map have no text field for the time");
        let values = columns_of(entries, &[1])?.pop().ok_or_else(missing)?;
        let times = columns_of(&values, &[self.time])?.pop().ok_or_else(missing)?;
        let times = times.as_string_opt::<i32>().ok_or_else(missing)?.clone();
        Ok(Entries { keys: map_keys(entries)?, values, times })
    }

    fn agg(&self, entries: &mut Entries, acc: Elements, input: Elements) -> Result<Elements> {
        let (Some(acc), Some(input)) = (&acc, &input) else { return Ok(acc.or(input)) };
        let mut merged = ByKey::default();
        for entry in acc {
            merged.put(entries.keys.get(*entry), *entry)?;
        }
        for entry in input {
            let key = entries.keys.get(*entry);
            if entries.values.is_null(*entry) {
                merged.remove(key);
                continue;
            }
            let Some(time) = entries.time(*entry) else { continue };
            let before = merged.get(key).and_then(|before| entries.time(before));
            if before.is_none_or(|before| compare_utf16(time, before).is_gt()) {
                merged.put(key, *entry)?;
            }
        }
        Ok(Some(merged.into_elements()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::{
        AggStep::{self, Add, AddReversed, Retract},
        testing::{fold, function, try_function},
    };
    use super::*;

    const TYPE: &str = "MAP<INT, ROW<v INT, ts STRING>>";

    fn merge(values: Value, steps: &[AggStep]) -> Value {
        fold(function("merge_map_with_keytime", TYPE, &[]).as_ref(), TYPE, &values, steps).unwrap()
    }

    #[test]
    fn the_value_with_the_later_time_stays() {
        let given = json!([[[1, [10, "05"]], [2, [20, "05"]]], [[1, [11, "06"]], [2, [21, "04"]], [3, [30, ""]]]]);
        assert_eq!(merge(given, &[]), json!([[1, [11, "06"]], [2, [20, "05"]], [3, [30, ""]]]));
        assert_eq!(merge(json!([[[1, [10, "05"]]], [[1, [11, "05"]]]]), &[]), json!([[1, [10, "05"]]]), "a tie keeps");
    }

    #[test]
    fn times_are_compared_as_texts() {
        assert_eq!(merge(json!([[[1, [0, "10"]]], [[1, [1, "9"]]]]), &[]), json!([[1, [1, "9"]]]));
        // U+10000 is two units that sort before U+E000 in Java
        let given = json!([[[1, [0, "\u{10000}"]]], [[1, [1, "\u{e000}"]]]]);
        assert_eq!(merge(given, &[]), json!([[1, [1, "\u{e000}"]]]));
    }

    #[test]
    fn a_null_value_removes_its_key_and_one_without_time_is_passed_over() {
        let given = json!([[[1, [10, "05"]], [2, [20, "05"]]], [[1, null], [2, [21, null]], [3, [30, null]]]]);
        assert_eq!(merge(given, &[]), json!([[2, [20, "05"]]]));
    }

    #[test]
    fn what_has_no_time_yet_is_replaced() {
        let given = json!([[[1, null], [2, [20, null]]], [[1, [11, "01"]], [2, [21, "01"]]]]);
        assert_eq!(merge(given, &[]), json!([[1, [11, "01"]], [2, [21, "01"]]]));
    }

    #[test]
    fn null_maps_are_passed_over_and_the_first_map_is_taken_as_it_is() {
        assert_eq!(merge(json!([null, [[1, null]], null]), &[]), json!([[1, null]]));
        assert_eq!(merge(json!([null, null]), &[]), json!(null));
    }

    #[test]
    fn out_of_order_maps_are_the_ones_that_are_merged_into() {
        let given = json!([[[1, [10, "05"]]], [[1, [11, "05"]]]]);
        assert_eq!(merge(given, &[Add, AddReversed]), json!([[1, [11, "05"]]]));
    }

    #[test]
    fn retracts_are_errors() {
        let f = function("merge_map_with_keytime", TYPE, &[]);
        let error = fold(f.as_ref(), TYPE, &json!([[[1, [1, "1"]]]]), &[Retract]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeleteNotAllowed);
    }

    #[test]
    fn the_time_field_is_the_last_one_or_the_named_one() {
        let t = "MAP<INT, ROW<ts STRING, v INT>>";
        let f = function("merge_map_with_keytime", t, &[("ts-field", "ts")]);
        let given = json!([[[1, ["05", 10]]], [[1, ["06", 11]]]]);
        assert_eq!(fold(f.as_ref(), t, &given, &[]).unwrap(), json!([[1, ["06", 11]]]));
        for (options, part) in [(&[] as &[_], "compared as texts"), (&[("ts-field", "tz")], "no field 'tz'")] {
            let error = try_function("merge_map_with_keytime", t, options).unwrap_err();
            assert_eq!(
                (error.kind(), error.context_value("option")),
                (ErrorKind::InvalidOption, Some("fields.f.ts-field"))
            );
            assert!(error.to_string().contains(part), "{error}");
        }
    }

    #[test]
    fn only_maps_of_rows_of_two_fields_are_accepted() {
        for t in ["MAP<INT, STRING>", "MAP<INT, ROW<ts STRING>>", "ARRAY<ROW<a INT, ts STRING>>"] {
            assert!(try_function("merge_map_with_keytime", t, &[]).is_err(), "{t}");
        }
    }
}
