//! Records that are all added go ways of their own: they must end where one record after the other ends.

use std::{iter::repeat_n, sync::Arc};

use arrow_array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int8Array, Int64Array, StringArray,
    TimestampMicrosecondArray,
};
use proptest::prelude::*;

use super::{Added, AggStep, AggregateFunction, ColumnGroups, last_non_null::last_present, testing::function};

const TYPES: [&str; 7] = ["TINYINT", "BIGINT", "DOUBLE", "DECIMAL(20, 2)", "TIMESTAMP(6)", "BOOLEAN", "STRING"];
const FLOATS: [f64; 8] = [f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1.5, f64::INFINITY, f64::NAN, -f64::NAN];

fn column(data_type: &str, values: &[Option<i8>]) -> ArrayRef {
    let float = |v: i8| FLOATS[usize::from(v.unsigned_abs()) % FLOATS.len()];
    let values = values.iter().copied();
    match data_type {
        "TINYINT" => Arc::new(values.collect::<Int8Array>()),
        "BIGINT" => Arc::new(values.map(|v| v.map(i64::from)).collect::<Int64Array>()),
        "DOUBLE" => Arc::new(values.map(|v| v.map(float)).collect::<Float64Array>()),
        "DECIMAL(20, 2)" => Arc::new(
            values.map(|v| v.map(i128::from)).collect::<Decimal128Array>().with_precision_and_scale(20, 2).unwrap(),
        ),
        "TIMESTAMP(6)" => Arc::new(values.map(|v| v.map(i64::from)).collect::<TimestampMicrosecondArray>()),
        "BOOLEAN" => Arc::new(values.map(|v| v.map(|v| v > 0)).collect::<BooleanArray>()),
        _ => Arc::new(values.map(|v| v.map(|v| format!("text {v}"))).collect::<StringArray>()),
    }
}

fn functions(data_type: &str) -> Vec<Arc<dyn AggregateFunction>> {
    let names: &[&str] = match data_type {
        "BOOLEAN" => &["bool_and", "bool_or", "max", "min"],
        "TIMESTAMP(6)" | "STRING" => &["max", "min"],
        _ => &["sum", "max", "min"],
    };
    let every = ["last_value", "last_non_null_value", "primary-key"];
    names.iter().chain(&every).map(|name| function(name, data_type, &[])).collect()
}

type Records = Vec<(usize, usize)>;

/// Records of two sources in groups of one to four.
fn groups() -> impl Strategy<Value = (Vec<Vec<Option<i8>>>, Records, Vec<usize>)> {
    let source = prop::collection::vec(prop::option::weighted(0.6, any::<i8>()), 70);
    let sizes = prop::collection::vec(1..5_usize, 1..40);
    (prop::collection::vec(source, 2), sizes).prop_map(|(sources, sizes)| {
        let ends: Vec<usize> = sizes
            .iter()
            .scan(0, |end, size| {
                *end += size;
                Some(*end)
            })
            .collect();
        let rows = (0..ends.last().copied().unwrap_or(0)).map(|i| (i * 7 % 3 % 2, i * 11 % 68)).collect();
        (sources, rows, ends)
    })
}

fn text(array: &dyn Array, row: usize) -> String {
    arrow_cast::display::array_value_to_string(array, row).unwrap()
}

proptest! {
    #[test]
    fn records_that_are_all_added_give_what_one_after_the_other_gives((sources, rows, ends) in groups()) {
        for data_type in TYPES {
            let arrays: Vec<ArrayRef> = sources.iter().map(|values| column(data_type, values).slice(1, 68)).collect();
            for f in functions(data_type) {
                let added = vec![AggStep::Add; rows.len()];
                let groups =
                    |steps| ColumnGroups { arrays: &arrays, rows: &rows, ends: &ends, steps, pass_single: false };
                let (fast, slow) = (f.aggregate(&groups(None)), f.aggregate(&groups(Some(&added))));
                match (fast, slow) {
                    (Ok(fast), Ok(slow)) => {
                        prop_assert_eq!(fast.data_type(), slow.data_type());
                        for row in 0..ends.len() {
                            prop_assert_eq!(text(&fast, row), text(&slow, row), "{} of {}", f.name(), data_type);
                        }
                        if f.added() == Added::LastPresent {
                            // more columns than share a mask
                            let all = last_present(&repeat_n(arrays.clone(), 17).collect::<Vec<_>>(), &rows, &ends).unwrap().unwrap();
                            prop_assert_eq!(all.len(), 17);
                            prop_assert!(all.iter().all(|array| array.to_data() == slow.to_data()));
                        }
                    }
                    (Err(fast), Err(slow)) => {
                        prop_assert_eq!((fast.group, fast.error.to_string()), (slow.group, slow.error.to_string()));
                    }
                    (fast, slow) => prop_assert!(false, "{:?} instead of {:?}", fast, slow),
                }
            }
        }
    }
}

/// A sum of TINYINTs over the end of the type is refused also when it began in a group before.
#[test]
fn overflow_is_an_error_of_its_group_only() {
    let array: ArrayRef = Arc::new(Int8Array::from(vec![Some(100), Some(100), None, Some(27)]));
    let rows: Records = (0..4).map(|row| (0, row)).collect();
    let sum = |ends: &[usize]| {
        let groups = ColumnGroups { arrays: &[Arc::clone(&array)], rows: &rows, ends, steps: None, pass_single: true };
        function("sum", "TINYINT", &[]).aggregate(&groups)
    };
    assert_eq!(sum(&[1, 4]).unwrap().to_data(), Int8Array::from(vec![100, 127]).to_data());
    assert_eq!(sum(&[2, 4]).unwrap_err().group, Some(0));
}

/// A group without a record has no value; the ways for all records at once do not take it.
#[test]
fn a_group_without_records_is_null() {
    let arrays = [column("BIGINT", &[Some(1), Some(2)])];
    let rows: Records = vec![(0, 0), (0, 1)];
    assert!(last_present(&[arrays.to_vec()], &rows, &[1, 1, 2]).is_none());
    for f in functions("BIGINT") {
        let groups = ColumnGroups { arrays: &arrays, rows: &rows, ends: &[1, 1, 2], steps: None, pass_single: false };
        let result = f.aggregate(&groups).unwrap();
        assert_eq!((result.len(), result.is_null(1)), (3, true), "{}", f.name());
    }
}
