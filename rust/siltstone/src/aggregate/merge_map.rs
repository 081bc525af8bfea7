//! `merge_map`: puts the entries of maps together, the later value of a key wins (semantics b.7; `FieldMergeMapAgg`).

use std::{collections::HashSet, sync::Arc};

use arrow_array::{ArrayRef, cast::AsArray};

use super::{
    AggregateFunction, FieldOptions,
    element_keys::{ByKey, Keys},
    elements::{ElementFunction, Elements, OverElements, columns_of},
};
use crate::{
    Result,
    types::{DataField, DataType, TypeKind},
};

/// MAP.
pub(super) fn accepts(data_type: &DataType) -> bool {
    matches!(data_type.kind, TypeKind::Map(..))
}

pub(super) fn new(_: &DataField, _: &FieldOptions) -> Result<Arc<dyn AggregateFunction>> {
    Ok(Arc::new(OverElements(MergeMap)))
}

#[derive(Debug)]
struct MergeMap;

impl ElementFunction for MergeMap {
    type Values = Keys;

    const NAME: &'static str = "merge_map";
    const RETRACTS: bool = true;

    fn takes_many(&self) -> bool {
        true
    }

    fn values(&self, entries: &ArrayRef) -> Result<Keys> {
        map_keys(entries)
    }

    fn agg(&self, keys: &mut Keys, acc: Elements, input: Elements) -> Result<Elements> {
        let (Some(acc), Some(input)) = (&acc, &input) else { return Ok(acc.or(input)) };
        let mut merged = ByKey::default();
        for entry in acc.iter().chain(input) {
            merged.put(keys.get(*entry), *entry)?;
        }
        Ok(Some(merged.into_elements()))
    }

    fn retract(&self, keys: &mut Keys, acc: Elements, input: Elements) -> Result<Elements> {
        let Some(input) = input else { return Ok(acc) };
        let Some(mut acc) = acc else { return Ok(None) };
        let taken: HashSet<&[u8]> = input.iter().map(|entry| keys.get(*entry)).collect();
        acc.retain(|entry| !taken.contains(keys.get(*entry)));
        Ok(Some(acc))
    }
}

/// The keys of map entries; bytes are compared by content.
pub(super) fn map_keys(entries: &ArrayRef) -> Result<Keys> {
    debug_assert!(entries.as_struct_opt().is_some_and(|entries| entries.num_columns() == 2), "key and value");
    Keys::of(&columns_of(entries, &[0])?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::super::{
        AggStep::{self, Add, AddReversed, Retract},
        testing::{fold, function, try_function},
    };

    fn merge(data_type: &str, values: Value, steps: &[AggStep]) -> Value {
        fold(function("merge_map", data_type, &[]).as_ref(), data_type, &values, steps).unwrap()
    }

    #[test]
    fn the_later_value_of_a_key_wins_null_too() {
        let given = json!([[[1, "a"], [2, "b"]], null, [[2, null], [3, "c"]]]);
        assert_eq!(merge("MAP<INT, STRING>", given, &[]), json!([[1, "a"], [2, null], [3, "c"]]));
        assert_eq!(merge("MAP<INT, STRING>", json!([null, null]), &[]), json!(null));
        assert_eq!(merge("MAP<INT, STRING>", json!([null, []]), &[]), json!([]));
    }

    #[test]
    fn bytes_as_keys_are_compared_by_content() {
        let given = json!([[["00ff", 1]], [["00ff", 2], ["00", 3]]]);
        assert_eq!(merge("MAP<VARBINARY(9), INT>", given, &[]), json!([["00ff", 2], ["00", 3]]));
    }

    #[test]
    fn out_of_order_maps_lose() {
        let given = json!([[[1, 1]], [[1, 0], [2, 0]]]);
        assert_eq!(merge("MAP<INT, INT>", given, &[Add, AddReversed]), json!([[1, 1], [2, 0]]));
    }

    #[test]
    fn a_retract_removes_its_keys_whatever_their_values() {
        let given = json!([[[1, 1], [2, 2]], [[2, 9], [3, 3]], null, []]);
        assert_eq!(merge("MAP<INT, INT>", given, &[Add, Retract, Retract, Retract]), json!([[1, 1]]));
        assert_eq!(merge("MAP<INT, INT>", json!([[[1, 1]]]), &[Retract]), json!(null));
    }

    /// MERGE-44: a retract cannot bring back what its key held before.
    #[test]
    fn retracting_the_later_value_leaves_nothing() {
        let given = json!([[[1, "A"]], [[1, "B"]], [[1, "B"]]]);
        assert_eq!(merge("MAP<INT, STRING>", given, &[Add, Add, Retract]), json!([]));
    }

    #[test]
    fn only_maps_are_accepted() {
        for t in ["STRING", "ARRAY<INT>", "MULTISET<INT>", "ROW<a INT>"] {
            assert!(try_function("merge_map", t, &[]).is_err(), "{t}");
        }
    }

    type Maps = Vec<(u8, Option<std::collections::BTreeMap<i32, Option<i32>>>)>;

    fn maps() -> impl Strategy<Value = Maps> {
        let map = prop::collection::btree_map(0..4_i32, prop::option::of(0..9_i32), 0..4);
        prop::collection::vec((0..3_u8, prop::option::of(map)), 0..8)
    }

    /// `FieldMergeMapAgg`, one value at a time; sorted by key.
    fn slow(maps: &Maps) -> Value {
        let mut acc: Option<std::collections::BTreeMap<i32, Option<i32>>> = None;
        for (kind, input) in maps {
            match (kind, &mut acc, input) {
                (0, Some(acc), Some(input)) => acc.retain(|key, _| !input.contains_key(key)),
                (1.., acc, Some(input)) => acc.get_or_insert_default().extend(input),
                _ => {}
            }
        }
        json!(acc.map(|acc| acc.into_iter().map(|(k, v)| json!([k, v])).collect::<Vec<_>>()))
    }

    proptest! {
        #[test]
        fn any_maps_give_what_the_rules_say(maps in maps()) {
            let steps: Vec<AggStep> = maps.iter().map(|(kind, _)| if *kind == 0 { Retract } else { Add }).collect();
            let pairs = |map: &std::collections::BTreeMap<i32, Option<i32>>| map.iter().map(|(k, v)| json!([k, v])).collect::<Vec<_>>();
            let given: Vec<Value> = maps.iter().map(|(_, map)| json!(map.as_ref().map(pairs))).collect();
            let mut merged = merge("MAP<INT, INT>", json!(given), &steps);
            if let Some(entries) = merged.as_array_mut() {
                entries.sort_by_key(|entry| entry[0].as_i64());
            }
            prop_assert_eq!(merged, slow(&maps));
        }
    }
}
