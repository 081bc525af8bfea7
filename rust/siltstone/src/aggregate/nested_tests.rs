//! `nested_update` and `nested_partial_update`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    AggStep::{self, Add, AddReversed, Retract, Set},
    testing::{Unordered, fold, function, try_function},
};
use crate::{ErrorKind, Result};

const ORDERS: &str = "ARRAY<ROW<sub_order_id BIGINT, product_name STRING, price BIGINT>>";
const KEY: (&str, &str) = ("nested-key", "sub_order_id");

fn try_update(options: &[(&str, &str)], values: Value, steps: &[AggStep]) -> Result<Value> {
    fold(function("nested_update", ORDERS, options).as_ref(), ORDERS, &values, steps)
}

fn update(options: &[(&str, &str)], values: Value, steps: &[AggStep]) -> Unordered {
    Unordered(try_update(options, values, steps).unwrap())
}

fn partial(options: &[(&str, &str)], values: Value, steps: &[AggStep]) -> Unordered {
    Unordered(fold(function("nested_partial_update", ORDERS, options).as_ref(), ORDERS, &values, steps).unwrap())
}

/// Key 1 of the fixture `aggregation_nested_update_retract` at its third snapshot, written by Java.
#[test]
fn rows_are_in_the_order_of_javas_hash_tables() {
    let java = json!([[3, null, 71], [2, "nook", 50], [1, "islet", 98], [4, "shoal", 50]]);
    let merged = |name, given| fold(function(name, ORDERS, &[KEY]).as_ref(), ORDERS, &given, &[]).unwrap();
    for name in ["nested_update", "nested_partial_update"] {
        let given = json!([[[4, "shoal", 50], [1, "islet", 98]], [[2, "nook", 50], [3, null, 71]]]);
        assert_eq!(merged(name, given), java, "{name}");
        let one = json!([null, [[4, null, 4], [1, null, 1]], null]);
        assert_eq!(merged(name, one), json!([[4, null, 4], [1, null, 1]]), "{name}: the first array stays as it is");
    }
}

/// MERGE-37, the case NESTED-1.
#[test]
fn rows_with_the_same_key_are_replaced() {
    let given = json!([null, [[10, "apple", 6]], [[11, "pear", 5]], [[10, "apple", 7]]]);
    assert_eq!(update(&[KEY], given, &[]), json!([[10, "apple", 7], [11, "pear", 5]]));
    let given = json!([[], [[1, "a", 1], null, [1, "b", 2]]]);
    assert_eq!(update(&[KEY], given, &[]), json!([[1, "b", 2]]), "also within one array; null rows are left out");
    let given = json!([[[1, "a", 1], null, [1, "b", 2]], null]);
    assert_eq!(update(&[KEY], given.clone(), &[]), given[0], "but the first array stays as it is");
    assert_eq!(update(&[KEY], json!([null, null]), &[]), json!(null));
}

/// MERGE-36.
#[test]
fn rows_are_appended_without_a_key() {
    let given = json!([[[1, "a", 1]], null, [[1, "a", 1], null], [[2, null, null]]]);
    assert_eq!(update(&[], given, &[]), json!([[1, "a", 1], [1, "a", 1], [2, null, null]]));
}

#[test]
fn a_key_may_have_several_fields() {
    let key = [("nested-key", "sub_order_id, product_name")];
    let given = json!([[[1, "a", 1], [1, "b", 2]], [[1, "a", 3], [1, null, 4], [1, null, 5]]]);
    assert_eq!(update(&key, given, &[]), json!([[1, "a", 3], [1, "b", 2], [1, null, 5]]));
}

#[test]
fn the_count_limit_stops_appending() {
    let limit = [("count-limit", "2")];
    let first = json!([[1, null, 1], [2, null, 2], [3, null, 3]]);
    assert_eq!(update(&limit, json!([first]), &[]), first, "the first array stays as it is");
    assert_eq!(
        update(&limit, json!([[[1, null, 1]], [[2, null, 2], [3, null, 3]]]), &[]),
        json!([[1, null, 1], [2, null, 2]])
    );
    let full = json!([[[1, null, 1], [2, null, 2], [3, null, 3]], [[4, null, 4]]]);
    assert_eq!(update(&limit, full, &[Set, Add]), json!([[1, null, 1], [2, null, 2], [3, null, 3]]), "stays as it was");
}

#[test]
fn the_count_limit_stops_new_keys_but_not_updates() {
    let limit = [KEY, ("count-limit", "2"), ("nested-key-null-strategy", "merge")];
    let given = json!([[[1, null, 1], [2, null, 2], [3, null, 3]], [[2, null, 20], [4, null, 4]]]);
    assert_eq!(update(&limit, given, &[]), json!([[1, null, 1], [2, null, 20]]));
    let given = json!([[[1, null, 1], [2, null, 2], [3, null, 3]], [[4, null, 4]]]);
    assert_eq!(update(&limit, given, &[Set, Add]), json!([[1, null, 1], [2, null, 2], [3, null, 3]]));
}

/// Cases run with Java 1.4.2; the options of 2.0 change them.
#[test]
fn the_count_limit_cuts_what_comes_in_before_keys_are_looked_at() {
    let limit = [KEY, ("count-limit", "2")];
    let given = json!([[[1, null, 1]], [[2, null, 2], [1, null, 9], [3, null, 3]]]);
    assert_eq!(update(&limit, given, &[]), json!([[1, null, 1], [2, null, 2]]));
    let full = json!([[[1, null, 1], [2, null, 2]], [[1, null, 9]]]);
    assert_eq!(update(&limit, full, &[]), json!([[1, null, 1], [2, null, 2]]));
}

#[test]
fn a_sequence_field_keeps_the_newer_row() {
    let sequence = [KEY, ("nested-sequence-field", "price")];
    let given = json!([[[1, "a", 5], [2, "a", null]], [[1, "b", 4], [2, "b", 1]], [[1, "c", 5], [2, "c", null]]]);
    assert_eq!(update(&sequence, given, &[]), json!([[1, "c", 5], [2, "b", 1]]));
}

#[test]
fn out_of_order_rows_lose() {
    let given = json!([[[1, "new", 1]], [[1, "old", 0], [2, "old", 0]]]);
    assert_eq!(update(&[KEY], given, &[Add, AddReversed]), json!([[1, "new", 1], [2, "old", 0]]));
}

#[test]
fn a_retract_removes_all_equal_rows_or_those_of_its_keys() {
    let given = json!([[[1, "a", 1], [2, null, 2], [1, "a", 1]], [[1, "a", 1], null, [2, "x", 2]]]);
    assert_eq!(update(&[], given.clone(), &[Add, Retract]), json!([[2, null, 2]]));
    assert_eq!(update(&[KEY], given, &[Add, Retract]), json!([]));
    assert_eq!(update(&[KEY], json!([[[1, "a", 1]], null]), &[Add, Retract]), json!([[1, "a", 1]]));
    assert_eq!(update(&[KEY], json!([[[1, "a", 1]]]), &[Retract]), json!(null));
}

#[test]
fn keys_with_nulls_follow_the_strategy() {
    let given = json!([[[null, "a", 1]], [[null, "b", 2], [1, "c", 3]]]);
    assert_eq!(update(&[KEY], given.clone(), &[]), json!([[null, "b", 2], [1, "c", 3]]), "merge is the default");
    let strategy = |s| [KEY, ("nested-key-null-strategy", s)];
    assert_eq!(update(&strategy("ignore"), given.clone(), &[]), json!([[1, "c", 3]]));
    assert_eq!(partial(&strategy("ignore"), given.clone(), &[]), json!([[1, "c", 3]]));
    let error = try_update(&strategy("error"), given, &[]).unwrap_err();
    assert_eq!((error.kind(), error.message()), (crate::ErrorKind::NullInKey, "the key of a nested row holds a null"));
    let retract = json!([[[1, "c", 3]], [[null, "a", 1]]]);
    assert!(try_update(&strategy("error"), retract.clone(), &[Add, Retract]).is_err());
    assert_eq!(update(&strategy("ignore"), retract, &[Add, Retract]), json!([[1, "c", 3]]));
}

#[test]
fn wrong_options_are_refused_when_the_table_is_made() {
    for (name, options, option) in [
        ("nested_update", vec![("nested-key", "nope")], "fields.f.nested-key"),
        ("nested_update", vec![KEY, ("nested-sequence-field", "nope")], "fields.f.nested-sequence-field"),
        ("nested_update", vec![("nested-sequence-field", "price")], "fields.f.nested-sequence-field"),
        ("nested_update", vec![("nested-key-null-strategy", "merge")], "fields.f.nested-key-null-strategy"),
        ("nested_partial_update", vec![], "fields.f.nested-key"),
        ("nested_partial_update", vec![("nested-key", "nope")], "fields.f.nested-key"),
    ] {
        let error = try_function(name, ORDERS, &options).unwrap_err();
        assert_eq!((error.kind(), error.context_value("option")), (ErrorKind::InvalidOption, Some(option)), "{error}");
    }
    for name in ["nested_update", "nested_partial_update"] {
        for t in ["ARRAY<INT>", "ROW<sub_order_id INT>", "MAP<INT, ROW<sub_order_id INT>>"] {
            assert!(try_function(name, t, &[KEY]).is_err(), "{name} {t}");
        }
    }
}

#[test]
fn fields_that_are_not_null_are_written_over_the_row_of_their_key() {
    let given = json!([[[1, "a", null]], [[1, null, 5], [2, null, null]], null, [[1, "b", null], null]]);
    assert_eq!(partial(&[KEY], given, &[]), json!([[1, "b", 5], [2, null, null]]));
    assert_eq!(partial(&[KEY], json!([[], [[1, "a", null], [1, null, 5]]]), &[]), json!([[1, "a", 5]]));
    assert_eq!(partial(&[KEY], json!([null, null]), &[]), json!(null));
    assert_eq!(
        partial(&[KEY], json!([[[1, null, 1], null, [1, null, 2]]]), &[Set]),
        json!([[1, null, 1], null, [1, null, 2]])
    );
}

#[test]
fn out_of_order_fields_only_fill_gaps() {
    let given = json!([[[1, "new", null]], [[1, "old", 5]]]);
    assert_eq!(partial(&[KEY], given, &[Add, AddReversed]), json!([[1, "new", 5]]));
}

#[test]
fn nested_partial_update_takes_no_retracts() {
    let f = function("nested_partial_update", ORDERS, &[KEY]);
    let error = fold(f.as_ref(), ORDERS, &json!([[[1, null, 1]]]), &[Retract]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeleteNotAllowed);
}

type Row = (Option<i64>, Option<i64>);
type Tables = Vec<(u8, Option<Vec<Option<Row>>>)>;

fn tables() -> impl Strategy<Value = Tables> {
    let row = (prop::option::of(0..3_i64), prop::option::of(0..4_i64));
    let table = prop::option::of(prop::collection::vec(prop::option::weighted(0.9, row), 0..4));
    prop::collection::vec((0..4_u8, table), 0..8)
}

/// `FieldNestedUpdateAgg` with a key, one row at a time.
fn slow_update(tables: &Tables, limit: usize, sequence: bool) -> Value {
    if !sequence {
        return slow_update_before_2_0(tables, limit);
    }
    let mut acc: Option<Vec<Row>> = None;
    for (kind, input) in tables {
        let Some(input) = input else { continue };
        let input = input.iter().flatten();
        if *kind == 0 {
            let Some(acc) = &mut acc else { continue };
            input.for_each(|row| acc.retain(|r| r.0 != row.0));
            continue;
        }
        let acc = acc.get_or_insert_default();
        for row in input {
            let room = acc.len() < limit;
            match acc.iter_mut().find(|r| r.0 == row.0) {
                Some(r) if !sequence || row.1 >= r.1 => *r = *row,
                None if room => acc.push(*row),
                _ => {}
            }
        }
    }
    json!(acc)
}

fn put(table: &mut Vec<Row>, row: Row) {
    match table.iter_mut().find(|r| r.0 == row.0) {
        Some(r) => *r = row,
        None => table.push(row),
    }
}

/// The same in Paimon 1.4.
fn slow_update_before_2_0(tables: &Tables, limit: usize) -> Value {
    let mut acc: Option<Vec<Option<Row>>> = None;
    for (kind, input) in tables {
        let Some(input) = input else { continue };
        let Some(before) = &acc else {
            if *kind != 0 {
                acc = Some(input.clone());
            }
            continue;
        };
        if *kind != 0 && before.len() >= limit {
            continue;
        }
        let room = limit.saturating_sub(before.len());
        let mut table = Vec::new();
        before.iter().flatten().for_each(|row| put(&mut table, *row));
        match kind {
            0 => input.iter().flatten().for_each(|row| table.retain(|r| r.0 != row.0)),
            _ => input.iter().flatten().take(room).for_each(|row| put(&mut table, *row)),
        }
        acc = Some(table.into_iter().map(Some).collect());
    }
    json!(acc)
}

/// `FieldNestedPartialUpdateAgg`, one row at a time.
fn slow_partial(tables: &Tables) -> Value {
    let first = tables.iter().position(|(_, input)| input.is_some());
    let given = |at: usize| tables.get(at).and_then(|(_, input)| input.clone());
    if let Some(at) = first.filter(|at| tables.iter().skip(at + 1).all(|(_, input)| input.is_none())) {
        return json!(given(at));
    }
    let mut acc: Option<Vec<Row>> = None;
    for (_, input) in tables {
        let Some(input) = input else { continue };
        let acc = acc.get_or_insert_default();
        for row in input.iter().flatten() {
            match acc.iter_mut().find(|r| r.0 == row.0) {
                Some(r) => r.1 = row.1.or(r.1),
                None => acc.push(*row),
            }
        }
    }
    json!(acc)
}

proptest! {
    #[test]
    fn any_tables_give_what_the_rules_say(tables in tables(), limit in 0..5_usize, sequence: bool) {
        let t = "ARRAY<ROW<k BIGINT, v BIGINT>>";
        let steps: Vec<AggStep> = tables.iter().map(|(kind, _)| if *kind == 0 { Retract } else { Add }).collect();
        let given: Vec<Value> = tables.iter().map(|(_, table)| json!(table)).collect();
        let limit_text = limit.to_string();
        let mut options = vec![("nested-key", "k"), ("count-limit", limit_text.as_str())];
        options.extend(sequence.then_some(("nested-sequence-field", "v")));
        let f = function("nested_update", t, &options);
        let found = Unordered(fold(f.as_ref(), t, &json!(given), &steps).unwrap());
        prop_assert_eq!(found, slow_update(&tables, limit, sequence));
        let f = function("nested_partial_update", t, &options[..1]);
        prop_assert_eq!(Unordered(fold(f.as_ref(), t, &json!(given), &[]).unwrap()), slow_partial(&tables));
    }
}
