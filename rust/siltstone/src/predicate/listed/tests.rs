use std::{sync::Arc, thread};

use arrow_array::{
    BinaryArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int16Array, Int64Array, StringArray,
    TimestampMicrosecondArray, TimestampMillisecondArray,
};

use super::super::{ColumnBounds, CompareOp, Predicate, matches_datums, may_match};
use super::*;
use crate::{cancel::Cancellation, error::ErrorKind};

fn rows(array: ArrayRef, values: Vec<Datum>) -> Vec<Option<bool>> {
    ValueList::from(values).among(&array).unwrap().unwrap().iter().collect()
}

#[test]
fn values_of_every_type_with_hashes_are_found() {
    let found = [Some(false), Some(true), None];
    let ids = |of: fn(i64) -> Datum| (10..20).map(of).collect::<Vec<_>>();
    assert_eq!(rows(Arc::new(Int64Array::from(vec![Some(1), Some(12), None])), ids(Datum::BigInt)), found);
    let small = |v: i64| Datum::SmallInt(i16::try_from(v).unwrap());
    assert_eq!(rows(Arc::new(Int16Array::from(vec![Some(20), Some(19), None])), ids(small)), found);
    let day = |v: i64| Datum::Date(i32::try_from(v).unwrap());
    assert_eq!(rows(Arc::new(Date32Array::from(vec![Some(9), Some(10), None])), ids(day)), found);
    let number = |v: i64| Datum::Decimal(v.into());
    let numbers = Decimal128Array::from(vec![Some(1), Some(15), None]).with_precision_and_scale(9, 2).unwrap();
    assert_eq!(rows(Arc::new(numbers), ids(number)), found);
    let moment = |v: i64| Datum::Timestamp { millis: v, nanos_of_milli: 0 };
    let moments = TimestampMillisecondArray::from(vec![Some(1), Some(15), None]);
    assert_eq!(rows(Arc::new(moments), ids(moment)), found);
    let text = |v: i64| Datum::String(v.to_string());
    assert_eq!(rows(Arc::new(StringArray::from(vec![Some("1"), Some("13"), None])), ids(text)), found);
    let bytes = |v: i64| Datum::Bytes(v.to_string().into_bytes());
    let blobs = BinaryArray::from(vec![Some(b"1".as_slice()), Some(b"13"), None]);
    assert_eq!(rows(Arc::new(blobs), ids(bytes)), found);
}

/// Each value of a list of fractions was compared with each row: a list of a million had no end.
#[test]
fn fractions_are_found_by_hash_with_one_zero_and_one_nan() {
    let doubles = Float64Array::from(vec![Some(-0.0), Some(-f64::NAN), Some(3.5), Some(3.25), None]);
    let mut values: Vec<Datum> = (0..10).map(|v| Datum::Double(f64::from(v) + 0.5)).collect();
    values.extend([Datum::Double(0.0), Datum::Double(f64::NAN)]);
    assert_eq!(rows(Arc::new(doubles), values), [Some(true), Some(true), Some(true), Some(false), None]);
    let floats = Float32Array::from(vec![Some(0.0), Some(-f32::NAN), Some(0.1), Some(0.2), None]);
    let mut values: Vec<Datum> = (1..10).map(|_| Datum::Float(0.1)).collect();
    values.extend([Datum::Float(-0.0), Datum::Float(f32::NAN)]);
    assert_eq!(rows(Arc::new(floats), values), [Some(true), Some(true), Some(true), Some(false), None]);
}

/// Every batch of every thread had the hashes made anew: a million values took longer than all else.
#[test]
fn hashes_and_order_are_made_once_for_all_copies() {
    let list = ValueList::from((0..20_000).rev().map(Datum::BigInt).collect::<Vec<_>>());
    let array: ArrayRef = Arc::new(Int64Array::from(vec![5, 20_000]));
    let copies = || {
        let copy = list.clone();
        let among = copy.among(&array).unwrap().unwrap();
        assert_eq!((among.value(0), among.value(1), copy.has(&Datum::BigInt(7))), (true, false, true));
    };
    thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(copies))));
    let made = |list: &ValueList| {
        let (_, hashes) = list.0.hashes.made.get().unwrap();
        (std::ptr::from_ref(hashes), list.order().unwrap().as_ptr())
    };
    let of_first = made(&list);
    let renamed =
        Predicate::In { column: "a".to_owned(), values: list.clone(), negated: false }.renamed(&str::to_owned);
    let Predicate::In { values, .. } = renamed.without_not() else { panic!("a list") };
    assert_eq!(made(&values), of_first);
    assert_eq!(values, list);
}

#[test]
fn a_column_of_another_unit_has_hashes_of_its_own() {
    let moment = |v: i64| Datum::Timestamp { millis: v, nanos_of_milli: 0 };
    let list = ValueList::from((10..20).map(moment).collect::<Vec<_>>());
    let millis: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![1, 15]));
    let micros: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![15, 15_000]));
    for array in [&millis, &micros, &millis] {
        let found: Vec<_> = list.among(array).unwrap().unwrap().iter().collect();
        assert_eq!(found, [Some(false), Some(true)]);
    }
}

/// Nobody was asked while the hashes of millions of values were made: a Ctrl-C came seconds late.
#[test]
fn hashes_of_many_values_stop_when_the_call_is_to_stop() {
    let numbers = ValueList::from((0..200_000).rev().map(Datum::BigInt).collect::<Vec<_>>());
    let texts = ValueList::from((0..200_000).map(|v| Datum::String(v.to_string())).collect::<Vec<_>>());
    let columns: [ArrayRef; 2] = [Arc::new(Int64Array::from(vec![5])), Arc::new(StringArray::from(vec!["5"]))];
    let stopped = Cancellation::default();
    stopped.cancel();
    for (list, column) in [&numbers, &texts].into_iter().zip(&columns) {
        let error = stopped.run(|| list.among(column)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert!(stopped.run(|| list.order()).is_none());
        // and the next call makes them
        assert_eq!(list.among(column).unwrap().unwrap().true_count(), 1);
        assert!(list.order().is_some());
    }
}

/// What each of the values says, one after another.
fn one_by_one(values: &[Datum], low: &Datum, high: &Datum) -> bool {
    let may_be = |value: &Datum| {
        compare_values(low, value).is_none_or(Ordering::is_le)
            && compare_values(high, value).is_none_or(Ordering::is_ge)
    };
    values.iter().any(may_be)
}

#[test]
fn an_order_rules_out_what_the_values_one_by_one_rule_out() {
    let integers: Vec<Datum> = (0..200).rev().map(|v| Datum::Int(7 * v)).collect();
    let mut fractions: Vec<Datum> = (0..100).map(|v| Datum::Double(f64::from(v) * 7.0)).collect();
    fractions.extend([Datum::Double(f64::NAN), Datum::Double(-0.0)]);
    let double = |v: i32| Datum::Double(v.into());
    for (values, of) in [(integers, Datum::Int as fn(i32) -> Datum), (fractions, double)] {
        let list = ValueList::from(values.clone());
        assert!(list.order().is_some());
        for low in -3..1420 {
            assert_eq!(list.has(&of(low)), values.contains(&of(low)), "{low}");
            for high in [of(low), of(low + 2), of(low + 40), Datum::Null] {
                for low in [of(low), Datum::Null] {
                    assert_eq!(
                        list.may_be_within(&low, &high),
                        one_by_one(&values, &low, &high),
                        "{low:?} to {high:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_list_says_the_same_of_bounds_and_values_with_and_without_an_order() {
    let of = |from: i32, negated: bool, count: i32| {
        let values: Vec<Datum> = (from..from + count).map(Datum::Int).chain([Datum::Null]).collect();
        Predicate::In { column: "id".to_owned(), values: values.into(), negated }
    };
    let bounds = |low: i32, high: i32| {
        move |_: &str| Some(ColumnBounds { min: Datum::Int(low), max: Datum::Int(high), null_count: Some(0) })
    };
    let value = |v: i32| move |_: &str| Some(Datum::Int(v));
    for count in [5, 50] {
        let (list, not) = (of(10, false, count), of(10, true, count));
        let behind = 10 + count;
        assert!(may_match(&list, &bounds(0, 10), 3) && !may_match(&list, &bounds(0, 9), 3), "{count}");
        assert!(!may_match(&list, &bounds(behind, behind), 3), "{count}");
        assert!(!may_match(&not, &bounds(12, 12), 3) && may_match(&not, &bounds(12, 13), 3), "{count}");
        assert!(may_match(&not, &bounds(behind, behind), 3), "{count}");
        assert_eq!(matches_datums(&list, &value(11)), Some(true));
        assert_eq!((matches_datums(&list, &value(3)), matches_datums(&not, &value(3))), (None, None));
        assert_eq!(matches_datums(&not, &value(11)), Some(false));
    }
}

#[test]
fn values_of_several_kinds_have_no_order_and_no_hashes() {
    let mixed: Vec<Datum> = (0..50).map(Datum::Int).chain([Datum::String("x".to_owned())]).collect();
    let list = ValueList::from(mixed.clone());
    assert!(list.order().is_none());
    assert!(list.has(&Datum::String("x".to_owned())) && list.has(&Datum::Int(49)) && !list.has(&Datum::Int(50)));
    assert!(list.among(&(Arc::new(Int64Array::from(vec![5])) as ArrayRef)).unwrap().is_none());
    let (low, high) = (Datum::Int(60), Datum::Int(70));
    assert_eq!(list.may_be_within(&low, &high), one_by_one(&mixed, &low, &high));
}

#[test]
fn equality_is_that_of_the_values() {
    let list = |op: i32| Predicate::In { column: "a".to_owned(), values: vec![Datum::Int(op)].into(), negated: false };
    assert_eq!(list(1), list(1));
    assert_ne!(list(1), list(2));
    assert_ne!(list(1), Predicate::Compare { column: "a".to_owned(), op: CompareOp::Eq, value: Datum::Int(1) });
}
