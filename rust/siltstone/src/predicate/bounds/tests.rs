use super::{ColumnBounds, matches_datums, may_match};
use crate::{
    predicate::{CompareOp, Predicate, parse_predicate},
    row::Datum,
    types::{DataField, DataType, MAX_LENGTH, TypeKind},
};

fn fields() -> Vec<DataField> {
    vec![
        DataField::new(0, "a", DataType::new(TypeKind::Int)),
        DataField::new(1, "s", DataType::new(TypeKind::VarChar(MAX_LENGTH))),
        DataField::new(2, "f", DataType::new(TypeKind::Double)),
        DataField::new(3, "x", DataType::new(TypeKind::Int)),
    ]
}

fn parse(text: &str) -> Predicate {
    parse_predicate(text, &fields()).expect(text)
}

fn bounds(min: Datum, max: Datum, null_count: Option<i64>) -> ColumnBounds {
    ColumnBounds { min, max, null_count }
}

fn may(text: &str) -> bool {
    let known = |column: &str| {
        Some(match column {
            "a" => bounds(Datum::Int(10), Datum::Int(20), Some(0)),
            "s" => bounds(Datum::String("bb".to_owned()), Datum::String("dd".to_owned()), Some(2)),
            "f" => bounds(Datum::Double(-1.0), Datum::Null, None),
            _ => return None,
        })
    };
    may_match(&parse(text), &known, 10)
}

#[test]
fn bounds_exclude_what_lies_outside() {
    for text in ["a = 9", "a > 20", "a < 10", "a IN (1, 2)", "a IS NULL", "s LIKE 'a%'", "s LIKE 'e%'", "s = 'ddd'"] {
        assert!(!may(text), "{text}");
    }
    for text in [
        "a = 10",
        "a >= 20",
        "a <= 10",
        "a <> 10",
        "a IN (1, 15)",
        "a NOT IN (10, 20)",
        "a IS NOT NULL",
        "s IS NULL",
        "s LIKE 'b%'",
        "s LIKE 'bbx%'",
        "s LIKE 'd%'",
        "s LIKE '%q'",
        "s NOT LIKE 'z%'",
        "x = 5",
        "x IS NULL",
        "a = 9 OR x = 1",
        "s = 'bbb'",
    ] {
        assert!(may(text), "{text}");
    }
    assert!(!may("a = 9 AND x = 1"));
    assert!(!may("NOT (a >= 10)"));
}

#[test]
fn a_nan_may_hide_above_the_maximum_of_floats() {
    for text in ["f > 5", "f >= 5", "f <> 0", "f = 'NaN'", "f = -0.0", "f = 0.0"] {
        assert!(may(text), "{text}");
    }
    assert!(!may("f < -1.5"));
    let without_nan = |_: &str| Some(bounds(Datum::Double(-1.0), Datum::Double(0.0), None));
    assert!(!may_match(&parse("f > 5"), &without_nan, 10));
    assert!(may_match(&parse("f = -0.0"), &without_nan, 10));
    assert!(!may_match(&parse("f = 'NaN'"), &without_nan, 10));
    let nan = |_: &str| Some(bounds(Datum::Double(-1.0), Datum::Double(f64::NAN), None));
    assert!(may_match(&parse("f > 5"), &nan, 10));
}

#[test]
fn a_column_of_nulls_matches_only_is_null() {
    let nulls = |_: &str| Some(bounds(Datum::Null, Datum::Null, Some(10)));
    assert!(!may_match(&parse("a = 1"), &nulls, 10));
    assert!(!may_match(&parse("a <> 1"), &nulls, 10));
    assert!(!may_match(&parse("a IS NOT NULL"), &nulls, 10));
    assert!(!may_match(&parse("s NOT LIKE 'x'"), &nulls, 10));
    assert!(may_match(&parse("a IS NULL"), &nulls, 10));
    let unknown = |_: &str| Some(bounds(Datum::Null, Datum::Null, Some(3)));
    assert!(may_match(&parse("a = 1"), &unknown, 10));
}

#[test]
fn bounds_that_contradict_themselves_exclude_nothing() {
    let wrong = |_: &str| Some(bounds(Datum::Int(5), Datum::Int(1), Some(0)));
    assert!(may_match(&parse("a = 100"), &wrong, 10));
    let surrogate = |_: &str| Some(bounds(Datum::String("a".to_owned()), Datum::String("a?".to_owned()), Some(0)));
    assert!(may_match(&parse("s = 'a\u{D7FF}z'"), &surrogate, 10));
    assert!(!may_match(&parse("s = 'b'"), &surrogate, 10));
}

#[test]
fn one_row_is_judged_with_three_values() {
    let row = |column: &str| {
        Some(match column {
            "a" => Datum::Int(1),
            "s" => Datum::Null,
            _ => return None,
        })
    };
    for (text, expected) in [
        ("a = 1", Some(true)),
        ("a <> 1", Some(false)),
        ("s = 'x'", None),
        ("s IS NULL", Some(true)),
        ("s = 'x' OR a = 1", Some(true)),
        ("s = 'x' AND a = 2", Some(false)),
        ("s = 'x' AND a = 1", None),
        ("a IN (3, 1)", Some(true)),
        ("a NOT IN (3, 1)", Some(false)),
        ("x = 1", None),
    ] {
        assert_eq!(matches_datums(&parse(text), &row), expected, "{text}");
    }
    let not = Predicate::Not(Box::new(Predicate::Compare {
        column: "s".to_owned(),
        op: CompareOp::Eq,
        value: Datum::String("x".to_owned()),
    }));
    assert_eq!(matches_datums(&not, &row), None);
}

#[test]
fn a_condition_is_split_and_relaxed_by_columns() {
    let is_a = |c: &str| c == "a";
    let (inside, outside) = parse("a = 1 AND s = 'x'").split(&is_a);
    assert_eq!((inside, outside), (parse("a = 1"), parse("s = 'x'")));
    let relaxed = parse("(a = 1 AND s = 'x') OR (a = 2 AND s = 'y')").relaxed(&is_a);
    assert_eq!(relaxed, parse("a = 1 OR a = 2"));
    assert!(parse("a = 1 OR s = 'x'").relaxed(&is_a).is_always_true());
}
