use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int8Array, Int32Array,
    RecordBatch, StringArray, Time32MillisecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
};

use super::evaluate;
use crate::{
    predicate::{Predicate, matches_datums, parse_predicate},
    row::Datum,
    types::{DataField, DataType, MAX_LENGTH, TypeKind, arrow_schema},
};

fn fields() -> Vec<DataField> {
    let kinds = [
        ("a", TypeKind::Int),
        ("s", TypeKind::VarChar(MAX_LENGTH)),
        ("f", TypeKind::Double),
        ("d", TypeKind::Date),
        ("ts", TypeKind::Timestamp(3)),
        ("dec", TypeKind::Decimal { precision: 10, scale: 2 }),
        ("b", TypeKind::Boolean),
        ("bin", TypeKind::VarBinary(MAX_LENGTH)),
        ("tm", TypeKind::Time(3)),
        ("t", TypeKind::TinyInt),
        ("nano", TypeKind::LocalZonedTimestamp(9)),
    ];
    kinds.into_iter().zip(0..).map(|((n, k), i)| DataField::new(i, n, DataType::new(k))).collect()
}

fn batch() -> RecordBatch {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from(vec![Some(1), Some(2), None, Some(-3)])),
        Arc::new(StringArray::from(vec![Some("apple"), None, Some("pear"), Some("")])),
        Arc::new(Float64Array::from(vec![Some(-0.0), Some(f64::NAN), None, Some(1.5)])),
        Arc::new(Date32Array::from(vec![Some(0), Some(1), None, Some(-1)])),
        Arc::new(TimestampMillisecondArray::from(vec![Some(0), Some(1500), None, Some(-1)])),
        Arc::new(
            Decimal128Array::from(vec![Some(100), Some(150), None, Some(-5)])
                .with_precision_and_scale(10, 2)
                .expect("fits"),
        ),
        Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, Some(true)])),
        Arc::new(BinaryArray::from_opt_vec(vec![Some(&b"\x01"[..]), Some(&b"\xff"[..]), None, Some(&b""[..])])),
        Arc::new(Time32MillisecondArray::from(vec![Some(0), Some(1500), None, Some(5)])),
        Arc::new(Int8Array::from(vec![Some(1), Some(127), None, Some(-128)])),
        Arc::new(TimestampNanosecondArray::from(vec![Some(0), Some(1), None, Some(-1)]).with_timezone("UTC")),
    ];
    RecordBatch::try_new(arrow_schema(&fields()).expect("types"), columns).expect("a batch")
}

fn matching(text: &str) -> Vec<usize> {
    let predicate = parse_predicate(text, &fields()).unwrap_or_else(|e| panic!("{text}: {e}"));
    let found = evaluate(&predicate, &batch()).unwrap_or_else(|e| panic!("{text}: {e}"));
    found.iter().enumerate().filter(|(_, v)| *v == Some(true)).map(|(i, _)| i).collect()
}

#[test]
fn every_type_is_compared() {
    for (text, expected) in [
        ("a > 0", vec![0, 1]),
        ("a <> 1", vec![1, 3]),
        ("NOT a > 0", vec![3]),
        ("a IS NULL", vec![2]),
        ("a IN (1, -3, 9)", vec![0, 3]),
        ("a NOT IN (1)", vec![1, 3]),
        ("a IN (1,2,3,4,5,6,7,8,9,10)", vec![0, 1]),
        ("a NOT IN (1,3,4,5,6,7,8,9,10)", vec![1, 3]),
        ("s IN ('apple','b','c','d','e','f','g','h','')", vec![0, 3]),
        ("s >= 'b'", vec![2]),
        ("s LIKE '%p%'", vec![0, 2]),
        ("s NOT LIKE '%p%'", vec![3]),
        ("f = 0.0", vec![0]),
        ("f >= -0.0", vec![0, 1, 3]),
        ("f > 100", vec![1]),
        ("f = 'NaN'", vec![1]),
        ("f < 0", vec![]),
        ("d >= '1970-01-01'", vec![0, 1]),
        (
            "d IN ('1970-01-01','1969-12-31','2000-01-01','2000-01-02','2000-01-03','2000-01-04','2000-01-05','2000-01-06')",
            vec![0, 3],
        ),
        ("ts > '1970-01-01 00:00:01.4999'", vec![1]),
        ("ts < '1970-01-01'", vec![3]),
        ("dec = 1.5", vec![1]),
        ("dec < 1.499", vec![0, 3]),
        ("b", vec![0, 3]),
        ("b IS NOT TRUE", vec![1, 2]),
        ("bin = X'ff'", vec![1]),
        ("tm = '00:00:01.5'", vec![1]),
        ("t < 128", vec![0, 1, 3]),
        ("t BETWEEN -200 AND 1", vec![0, 3]),
        ("nano < '1970-01-01T00:00:00.000000001Z'", vec![0, 3]),
        ("nano < '9999-01-01'", vec![0, 1, 3]),
        ("a = 1 OR s = 'pear'", vec![0, 2]),
        ("a <=> NULL", vec![2]),
        ("a IS DISTINCT FROM 1", vec![1, 2, 3]),
        ("TRUE", vec![0, 1, 2, 3]),
        ("NULL", vec![]),
    ] {
        assert_eq!(matching(text), expected, "{text}");
    }
}

#[test]
fn unknown_stays_unknown_under_not() {
    let inner =
        Predicate::In { column: "a".to_owned(), values: vec![Datum::Int(1), Datum::Null].into(), negated: false };
    let found = evaluate(&Predicate::Not(Box::new(inner.clone())), &batch()).expect("evaluates");
    assert_eq!(found.iter().collect::<Vec<_>>(), vec![Some(false), None, None, None]);
    let row = |_: &str| Some(Datum::Int(2));
    assert_eq!(matches_datums(&inner, &row), None);
}

#[test]
fn a_column_that_was_not_read_is_an_error() {
    let missing = Predicate::IsNull("zzz".to_owned());
    assert!(evaluate(&missing, &batch()).is_err());
}
