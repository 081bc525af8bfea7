//! `collect`: puts the elements of arrays together, with `fields.<f>.distinct` each only once (semantics b.7;
//! `FieldCollectAgg`).
//!
//! Distinct elements come in the order of Java's `HashSet`; those that it compares one by one (rows, arrays, maps) and
//! bytes in the order in which they came first.

use std::{collections::HashMap, sync::Arc};

use arrow_array::ArrayRef;

use super::{
    AggregateFunction, FieldOptions,
    element_keys::Keys,
    elements::{ElementFunction, Elements, NESTED, OverElements},
    hash_order::HashOrder,
};
use crate::{
    Result, limits,
    types::{DataField, DataType, TypeKind},
};

/// ARRAY.
pub(super) fn accepts(data_type: &DataType) -> bool {
    matches!(data_type.kind, TypeKind::Array(_))
}

pub(super) fn new(_: &DataField, options: &FieldOptions) -> Result<Arc<dyn AggregateFunction>> {
    Ok(Arc::new(OverElements(Collect { distinct: options.distinct, swaps: options.ignore_retract })))
}

#[derive(Debug)]
struct Collect {
    distinct: bool,
    /// Java's wrapper for `ignore-retract` hides that this function takes reversed inputs as they come.
    swaps: bool,
}

/// All elements of the column.
#[derive(Debug)]
struct Collected {
    keys: Keys,
    order: Option<HashOrder>,
}

impl ElementFunction for Collect {
    type Values = Collected;

    const NAME: &'static str = "collect";
    const RETRACTS: bool = true;

    fn takes_many(&self) -> bool {
        true
    }

    fn values(&self, elements: &ArrayRef) -> Result<Collected> {
        let order = if self.distinct { HashOrder::of_values(elements) } else { None };
        Ok(Collected { keys: Keys::of(std::slice::from_ref(elements))?, order })
    }

    fn agg(&self, values: &mut Collected, acc: Elements, input: Elements) -> Result<Elements> {
        if acc.is_none() && input.is_none() {
            return Ok(None);
        }
        let (mut all, input) = (acc.unwrap_or_default(), input.unwrap_or_default());
        limits::grow(&mut all, input.len(), NESTED)?;
        all.extend(input);
        if self.distinct {
            all = values.keys.distinct(all)?;
            if let Some(order) = &values.order {
                let most = all.len();
                order.arrange(&mut all, most);
            }
        }
        Ok(Some(all))
    }

    fn agg_reversed(&self, values: &mut Collected, acc: Elements, input: Elements) -> Result<Elements> {
        if self.swaps { self.agg(values, input, acc) } else { self.agg(values, acc, input) }
    }

    fn retract(&self, values: &mut Collected, acc: Elements, input: Elements) -> Result<Elements> {
        let Some(input) = input else { return Ok(acc) };
        let Some(mut acc) = acc else { return Ok(None) };
        let mut taken: HashMap<&[u8], usize> = HashMap::with_capacity(input.len());
        for element in input {
            *taken.entry(values.keys.get(element)).or_default() += 1;
        }
        acc.retain(|element| match taken.get_mut(values.keys.get(*element)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        });
        Ok(Some(acc))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::super::{
        AggStep::{self, Add, AddReversed, Retract},
        testing::{Unordered, fold, function, try_function},
    };

    const DISTINCT: &[(&str, &str)] = &[("distinct", "true")];

    fn collect(data_type: &str, options: &[(&str, &str)], values: Value, steps: &[AggStep]) -> Value {
        fold(function("collect", data_type, options).as_ref(), data_type, &values, steps).unwrap()
    }

    #[test]
    fn elements_are_put_together_nulls_among_them() {
        let given = json!([[1, null], null, [], [1, 2]]);
        assert_eq!(collect("ARRAY<INT>", &[], given, &[]), json!([1, null, 1, 2]));
        assert_eq!(collect("ARRAY<INT>", &[], json!([null, null]), &[]), json!(null));
        assert_eq!(collect("ARRAY<INT>", DISTINCT, json!([null, null]), &[]), json!(null));
    }

    #[test]
    fn distinct_elements_are_kept_once_also_within_one_array() {
        let given = json!([[1, 1, null], null, [null, 2, 1]]);
        assert_eq!(collect("ARRAY<INT>", DISTINCT, given, &[]), json!([null, 1, 2]), "in the order of a HashSet");
        assert_eq!(collect("ARRAY<INT>", DISTINCT, json!([[2, 2], null]), &[]), json!([2]));
    }

    /// Key 6 of the fixture `aggregation_collect`, written by Java.
    #[test]
    fn distinct_elements_are_in_the_order_of_javas_hash_sets() {
        let java = json!(["oxbow", "tarn", "ember", "knoll", "nook", "birch", "grove"]);
        let given = json!([["oxbow", "ember", "knoll"], ["nook", "birch", "grove", "oxbow", "tarn"]]);
        let f = function("collect", "ARRAY<STRING>", DISTINCT);
        assert_eq!(fold(f.as_ref(), "ARRAY<STRING>", &given, &[]).unwrap(), java);
    }

    #[test]
    fn rows_arrays_maps_and_bytes_are_equal_by_value() {
        for (t, a, b) in [
            ("ARRAY<ROW<a INT, b STRING>>", json!([1, "x"]), json!([1, null])),
            ("ARRAY<ARRAY<INT>>", json!([1, null]), json!([null, 1])),
            ("ARRAY<VARBINARY(9)>", json!("00ff"), json!("00")),
            ("ARRAY<DOUBLE>", json!("NaN"), json!(-0.0)),
        ] {
            let given = json!([[a, b], [b, a, a]]);
            let distinct = collect(t, DISTINCT, given, &[]);
            assert_eq!(distinct.as_array().map(Vec::len), Some(2), "{t}: {distinct}");
            assert_eq!(
                collect(t, &[], json!([[a, b, a], [a]]), &[Add, Retract]),
                collect(t, &[], json!([[b, a]]), &[])
            );
        }
        let maps = json!([[[[1, 10], [2, null]]], [[[2, null], [1, 10]], [[1, 11]]]]);
        let distinct = collect("ARRAY<MAP<INT, INT>>", DISTINCT, maps, &[]);
        assert_eq!(distinct, json!([[[1, 10], [2, null]], [[1, 11]]]), "the order of entries does not matter");
    }

    #[test]
    fn a_retract_takes_one_equal_element_each() {
        let given = json!([[1, 2, 1, null, 1], [1, 3, null, 1]]);
        assert_eq!(collect("ARRAY<INT>", &[], given, &[Add, Retract]), json!([2, 1]));
        assert_eq!(collect("ARRAY<INT>", &[], json!([[1], [1]]), &[Add, Retract]), json!([]));
        assert_eq!(collect("ARRAY<INT>", &[], json!([[1], null, []]), &[Add, Retract, Retract]), json!([1]));
    }

    /// MERGE-43: what was retracted before it came stays.
    #[test]
    fn an_early_retract_does_nothing() {
        let given = json!([["A"], ["A", "B"]]);
        assert_eq!(collect("ARRAY<STRING>", &[], given, &[Retract, Add]), json!(["A", "B"]));
        assert_eq!(collect("ARRAY<STRING>", &[], json!([["A"]]), &[Retract]), json!(null));
    }

    #[test]
    fn out_of_order_elements_come_last_unless_retracts_are_ignored() {
        let (given, steps) = (json!([[1], [2]]), [Add, AddReversed]);
        assert_eq!(collect("ARRAY<INT>", &[], given.clone(), &steps), json!([1, 2]));
        assert_eq!(collect("ARRAY<INT>", &[("ignore-retract", "true")], given, &steps), json!([2, 1]));
    }

    #[test]
    fn only_arrays_are_accepted() {
        for t in ["STRING", "MAP<INT, INT>", "MULTISET<INT>", "ROW<a INT>"] {
            assert!(try_function("collect", t, &[]).is_err(), "{t}");
        }
    }

    #[test]
    fn several_groups_and_sources_are_told_apart() {
        use arrow_array::{ArrayRef, ListArray, cast::AsArray, types::Int32Type};

        use super::super::ColumnGroups;
        let list = |rows: Vec<Option<Vec<Option<i32>>>>| -> ArrayRef {
            std::sync::Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(rows).slice(1, 2))
        };
        let arrays = [
            list(vec![None, Some(vec![Some(1)]), Some(vec![Some(2), None])]),
            list(vec![None, Some(vec![Some(3)]), None]),
        ];
        let groups = ColumnGroups {
            arrays: &arrays,
            rows: &[(1, 0), (0, 1), (1, 1), (0, 0)],
            ends: &[2, 3, 4],
            steps: None,
            pass_single: true,
        };
        // the type of the list's field is the column's
        let result = function("collect", "ARRAY<INT>", &[]).aggregate(&groups).unwrap();
        let result = result.as_list::<i32>();
        assert_eq!(result.value_offsets(), &[0, 3, 3, 4]);
        assert_eq!(
            result.values().as_primitive::<Int32Type>().iter().collect::<Vec<_>>(),
            [Some(3), Some(2), None, Some(1)]
        );
    }

    type Arrays = Vec<(u8, Option<Vec<Option<i32>>>)>;

    fn arrays() -> impl Strategy<Value = Arrays> {
        let array = prop::option::of(prop::collection::vec(prop::option::of(0..4_i32), 0..4));
        prop::collection::vec((0..3_u8, array), 0..8)
    }

    /// `FieldCollectAgg`, one value at a time.
    fn slow(arrays: &Arrays, distinct: bool) -> Value {
        let mut acc: Option<Vec<Option<i32>>> = None;
        for (kind, input) in arrays {
            if *kind == 0 {
                let (Some(acc), Some(input)) = (&mut acc, input) else { continue };
                let mut rest = input.clone();
                acc.retain(|e| match rest.iter().position(|r| r == e) {
                    Some(at) => {
                        rest.remove(at);
                        false
                    }
                    None => true,
                });
            } else if let Some(input) = input {
                let acc = acc.get_or_insert_default();
                for element in input {
                    if !(distinct && acc.contains(element)) {
                        acc.push(*element);
                    }
                }
            }
        }
        json!(acc)
    }

    proptest! {
        #[test]
        fn any_arrays_give_what_the_rules_say(arrays in arrays(), distinct: bool) {
            let steps: Vec<AggStep> = arrays.iter().map(|(kind, _)| if *kind == 0 { Retract } else { Add }).collect();
            let given: Vec<Value> = arrays.iter().map(|(_, array)| json!(array)).collect();
            let options = if distinct { DISTINCT } else { &[] };
            let found = collect("ARRAY<INT>", options, json!(given), &steps);
            let slow = slow(&arrays, distinct);
            if distinct {
                prop_assert_eq!(Unordered(found), slow);
            } else {
                prop_assert_eq!(found, slow);
            }
        }
    }
}
