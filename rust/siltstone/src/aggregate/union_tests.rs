//! `rbm32`, `rbm64`, `hll_sketch` and `theta_sketch` against unions that Java made.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    AggStep::{Add, AddReversed, Retract},
    AggregateFunction,
    testing::{fold, function, try_function},
};
use crate::{
    ErrorKind,
    codec::{from_hex, to_hex},
};

const TYPE: &str = "VARBINARY(4096)";
const FUNCTIONS: [&str; 4] = ["rbm32", "rbm64", "hll_sketch", "theta_sketch"];

/// Made by Paimon 1.4.2: random values written in groups into a table with the function, read back as the merged value
/// of each group; the inputs are the same values, written alone.
const UNIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/vectors/unions.jsonl");

/// Inputs and their union.
fn unions(name: &str) -> Vec<(Vec<Value>, Value)> {
    let text = std::fs::read_to_string(UNIONS).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of = lines.filter(|line| line["function"] == name);
    of.map(|line| (line["inputs"].as_array().unwrap().clone(), line["union"].clone())).collect()
}

fn merge(f: &Arc<dyn AggregateFunction>, values: &[Value]) -> crate::Result<Value> {
    fold(f.as_ref(), TYPE, &json!(values), &[])
}

#[test]
fn unions_have_the_bytes_of_java() {
    for name in FUNCTIONS {
        let f = function(name, TYPE, &[]);
        let mut seen = 0;
        for (i, (inputs, union)) in unions(name).into_iter().enumerate() {
            let ours = merge(&f, &inputs).unwrap();
            assert!(ours == union, "{name} {i}: {inputs:?}\n ours {ours}\n java {union}");
            for value in inputs.iter().chain([&union]).filter_map(Value::as_str) {
                (f.check().unwrap().check)(&from_hex(value).unwrap()).unwrap();
            }
            seen += 1;
        }
        assert!(seen >= 20, "{name}");
    }
}

#[test]
fn null_is_passed_over_and_a_lone_value_stays_as_it_is() {
    for name in FUNCTIONS {
        let f = function(name, TYPE, &[]);
        assert!((f.check().unwrap().check)(&[0xc0; 24]).is_err());
        let value = json!("c0ffee");
        assert_eq!(merge(&f, &[json!(null), value.clone(), json!(null)]).unwrap(), value, "{name}");
        assert_eq!(merge(&f, &[json!(null), json!(null)]).unwrap(), json!(null));
    }
}

#[test]
fn out_of_order_values_are_united_the_other_way_round() {
    for name in FUNCTIONS {
        let f = function(name, TYPE, &[]);
        for (inputs, _) in unions(name).into_iter().take(9) {
            let reversed = fold(f.as_ref(), TYPE, &json!(inputs[..2]), &[Add, AddReversed]).unwrap();
            assert_eq!(reversed, merge(&f, &[inputs[1].clone(), inputs[0].clone()]).unwrap(), "{name}");
        }
    }
}

#[test]
fn retracts_and_other_types_are_refused() {
    for name in FUNCTIONS {
        let error = fold(function(name, TYPE, &[]).as_ref(), TYPE, &json!(["00"]), &[Retract]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeleteNotAllowed);
        assert!(try_function(name, "BYTES", &[]).is_ok());
        for t in ["BINARY(10)", "STRING", "BIGINT", "ARRAY<INT>"] {
            assert!(try_function(name, t, &[]).is_err(), "{name} {t}");
        }
    }
}

#[test]
fn bytes_that_are_no_sketch_are_an_error_that_names_the_function() {
    for name in FUNCTIONS {
        let error = merge(&function(name, TYPE, &[]), &[json!("c0ffee".repeat(8)), json!("c0ffee")]).unwrap_err();
        assert_eq!((error.kind(), error.context_value("function")), (ErrorKind::CorruptFile, Some(name)), "{error}");
    }
}

/// Inputs of up to 2500 bytes.
static SMALL: LazyLock<HashMap<&str, Vec<Vec<Value>>>> = LazyLock::new(|| {
    let is_small = |inputs: &Vec<Value>| inputs.iter().all(|input| input.as_str().unwrap().len() < 5000);
    let of = |name| unions(name).into_iter().map(|(inputs, _)| inputs).filter(is_small).collect();
    FUNCTIONS.iter().map(|name| (*name, of(name))).collect()
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// Whatever bytes come in, there is a result or an error: what the check before writing passes can be merged, and
    /// only that.
    #[test]
    fn damaged_bytes_never_panic(
        name in prop::sample::select(&FUNCTIONS[..]),
        pick: prop::sample::Index,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        head in prop::option::of((0..24_usize, any::<u8>())),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let inputs = pick.get(&SMALL[&name]);
        let mut bytes = from_hex(inputs[0].as_str().unwrap()).unwrap();
        for (at, value) in flips {
            *at.get_mut(&mut bytes) = value;
        }
        if let Some((at, value)) = head {
            bytes.get_mut(at).into_iter().for_each(|byte| *byte = value);
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let f = function(name, TYPE, &[]);
        let damaged = json!(to_hex(&bytes));
        let passes = (f.check().unwrap().check)(&bytes).is_ok();
        let other = inputs[1].clone();
        for pair in [[damaged.clone(), other.clone()], [other, damaged.clone()], [damaged.clone(), damaged.clone()]] {
            let merged = merge(&f, &pair);
            prop_assert_eq!(merged.is_ok(), passes, "{}: {:?}", damaged, merged);
        }
    }
}
