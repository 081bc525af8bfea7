use super::parse_predicate;
use crate::{
    ErrorKind,
    predicate::{CompareOp, Predicate},
    row::Datum,
    types::{DataField, DataType, MAX_LENGTH, TypeKind},
};

fn fields() -> Vec<DataField> {
    let kinds = [
        ("a", TypeKind::Int),
        ("t", TypeKind::TinyInt),
        ("s", TypeKind::VarChar(MAX_LENGTH)),
        ("d", TypeKind::Date),
        ("ts", TypeKind::Timestamp(3)),
        ("ltz", TypeKind::LocalZonedTimestamp(6)),
        ("dec", TypeKind::Decimal { precision: 10, scale: 2 }),
        ("b", TypeKind::Boolean),
        ("bin", TypeKind::VarBinary(MAX_LENGTH)),
        ("odd name", TypeKind::BigInt),
        ("f", TypeKind::Float),
        ("tm", TypeKind::Time(3)),
        ("arr", TypeKind::Array(Box::new(DataType::new(TypeKind::Int)))),
    ];
    kinds.into_iter().zip(0..).map(|((n, k), i)| DataField::new(i, n, DataType::new(k))).collect()
}

fn parse(text: &str) -> Predicate {
    parse_predicate(text, &fields()).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn compare(column: &str, op: CompareOp, value: Datum) -> Predicate {
    Predicate::Compare { column: column.to_owned(), op, value }
}

#[test]
fn comparisons_take_the_type_of_the_column() {
    use CompareOp::{Eq, Gt, GtEq, Lt};
    assert_eq!(parse("a = 1"), compare("a", Eq, Datum::Int(1)));
    assert_eq!(parse("1 < a"), compare("a", Gt, Datum::Int(1)));
    assert_eq!(parse("A > -5"), compare("a", Gt, Datum::Int(-5)));
    assert_eq!(parse("a = '7'"), compare("a", Eq, Datum::Int(7)));
    assert_eq!(parse("s = 'it''s'"), compare("s", Eq, Datum::String("it's".to_owned())));
    assert_eq!(parse("d = '1970-01-03'"), compare("d", Eq, Datum::Date(2)));
    assert_eq!(parse("d >= DATE '1970-01-03'"), compare("d", GtEq, Datum::Date(2)));
    assert_eq!(parse("dec < 1.5"), compare("dec", Lt, Datum::Decimal(150)));
    assert_eq!(parse("bin = X'0aFF'"), compare("bin", Eq, Datum::Bytes(vec![10, 255])));
    assert_eq!(parse("`odd name` = 3"), compare("odd name", Eq, Datum::BigInt(3)));
    assert_eq!(parse("\"odd name\" = 3"), compare("odd name", Eq, Datum::BigInt(3)));
    assert_eq!(parse("f = 0.5"), compare("f", Eq, Datum::Float(0.5)));
    assert_eq!(parse("tm = '00:00:01.5'"), compare("tm", Eq, Datum::Time(1500)));
    let at = |millis| Datum::Timestamp { millis, nanos_of_milli: 0 };
    assert_eq!(parse("ts = TIMESTAMP '1970-01-01 00:00:01.25'"), compare("ts", Eq, at(1250)));
    assert_eq!(parse("ts = '1970-01-01T00:00:01'"), compare("ts", Eq, at(1000)));
    assert_eq!(parse("ltz = '1970-01-01 08:00:00+08:00'"), compare("ltz", Eq, at(0)));
}

#[test]
fn a_literal_outside_the_type_is_folded_exactly() {
    let not_null = Predicate::IsNotNull("t".to_owned());
    assert_eq!(parse("t > 1000"), Predicate::Constant(false));
    assert_eq!(parse("NOT t > 1000"), not_null);
    assert_eq!(parse("t <= 1000"), not_null);
    assert_eq!(parse("t = 1000"), Predicate::Constant(false));
    assert_eq!(parse("t <> 1000"), not_null);
    assert_eq!(parse("t > -1000"), not_null);
    assert_eq!(parse("t IN (1, 1000)"), compare("t", CompareOp::Eq, Datum::TinyInt(1)));
    assert_eq!(parse("t NOT IN (1000)"), not_null);
    assert_eq!(parse("a < 1.5"), compare("a", CompareOp::LtEq, Datum::Int(1)));
    assert_eq!(parse("a >= -1.5"), compare("a", CompareOp::Gt, Datum::Int(-2)));
    assert_eq!(parse("a = 1.5"), Predicate::Constant(false));
    assert_eq!(parse("dec >= 1.005"), compare("dec", CompareOp::Gt, Datum::Decimal(100)));
    assert_eq!(parse("d > '1970-01-01 12:00:00'"), compare("d", CompareOp::Gt, Datum::Date(0)));
    assert_eq!(parse("f > 1e300"), compare("f", CompareOp::Gt, Datum::Float(f32::MAX)));
}

/// `f = 16777217` once found 16777216.0, and a delete removed it.
#[test]
fn a_whole_number_beside_a_float_is_exact_and_a_fraction_the_nearest_value() {
    use CompareOp::{Eq, Gt, LtEq};
    let float = |op, value| compare("f", op, Datum::Float(value));
    assert_eq!(parse("f = 16777216"), float(Eq, 16_777_216.0));
    assert_eq!(parse("f = 16777217"), Predicate::Constant(false));
    assert_eq!(parse("f IN (16777217)"), Predicate::Constant(false));
    assert_eq!(parse("f <> 16777217"), Predicate::IsNotNull("f".to_owned()));
    assert_eq!(parse("f < 16777217"), float(LtEq, 16_777_216.0));
    assert_eq!(parse("f >= 16777219"), float(Gt, 16_777_218.0));
    assert_eq!(parse("f > -16777217"), float(Gt, -16_777_218.0));
    assert_eq!(parse("f < 1e-60"), float(LtEq, 0.0));
    assert_eq!(parse("f >= -1e-60"), float(Gt, 0_f32.next_down()));
    assert_eq!(parse("f >= 1e39"), float(Gt, f32::MAX));
    assert_eq!(parse("f <= -1e39"), float(LtEq, f32::NEG_INFINITY));
    assert_eq!(parse("f = 0.1"), float(Eq, 0.1));
    assert_eq!(parse("f = 16777217.0"), float(Eq, 16_777_216.0));
    assert_eq!(parse("9007199254740993 = 9007199254740992"), Predicate::Constant(false));
}

#[test]
fn nulls_among_literals_never_match() {
    assert_eq!(parse("a = NULL"), Predicate::Constant(false));
    assert_eq!(parse("NOT (a = NULL)"), Predicate::Constant(false));
    assert_eq!(parse("a NOT IN (1, NULL)"), Predicate::Constant(false));
    assert_eq!(parse("a IN (1, NULL)"), compare("a", CompareOp::Eq, Datum::Int(1)));
}

#[test]
fn not_is_pushed_to_the_leaves() {
    let expected = Predicate::any([compare("a", CompareOp::LtEq, Datum::Int(1)), Predicate::IsNotNull("s".to_owned())]);
    assert_eq!(parse("NOT (a > 1 AND s IS NULL)"), expected);
    assert_eq!(parse("NOT b"), compare("b", CompareOp::Eq, Datum::Boolean(false)));
    assert_eq!(parse("b"), compare("b", CompareOp::Eq, Datum::Boolean(true)));
    assert_eq!(parse("1 = 1 AND a = 1"), compare("a", CompareOp::Eq, Datum::Int(1)));
    assert_eq!(
        parse("a NOT BETWEEN 1 AND 3"),
        Predicate::any([compare("a", CompareOp::Lt, Datum::Int(1)), compare("a", CompareOp::Gt, Datum::Int(3))])
    );
}

#[test]
fn a_long_chain_of_conditions_is_one_flat_or() {
    let text: Vec<String> = (0..1000).map(|i| format!("a = {i}")).collect();
    match parse(&text[..900].join(" OR ")) {
        Predicate::Or(parts) => assert_eq!(parts.len(), 900),
        other => panic!("{other:?}"),
    }
    let endless = vec!["a = 1"; 100_000].join(" OR ");
    let error = parse_predicate(&endless, &fields()).expect_err("too long");
    assert!(error.hint_text().is_some_and(|h| h.contains("IN (")), "{error}");
}

#[test]
fn what_cannot_be_read_says_why() {
    let refused = |text: &str| {
        let error = parse_predicate(text, &fields()).expect_err(text);
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{text}");
        format!("{error} {}", error.hint_text().unwrap_or_default())
    };
    assert!(refused("odd_nam = 1").contains("did you mean 'odd name'"));
    assert!(refused("a = t").contains("compared with each other"));
    assert!(refused("a = s").contains("single quotes"));
    assert!(refused("s = 5").contains("single quotes"));
    assert!(refused("a = 'x'").contains("write a number"));
    assert!(refused("lower(s) = 'x'").contains("function"));
    assert!(refused("a + 1 = 2").contains("arithmetic"));
    assert!(refused("s ILIKE 'x'").contains("ILIKE"));
    assert!(refused("arr = 1").contains("nested type"));
    assert!(refused("ts = '1970-01-01T00:00:00Z'").contains("without a time zone"));
    assert!(refused("d = '2024-02-31'").contains("'2024-05-01'"));
    assert!(refused("bin = X'abc'").contains("hexadecimal"));
    for text in ["", "a =", "a = 1)", "(a = 1", "a = 1; drop", "a.b = 1", "a", "5", "a IN (SELECT 1)", "((((((("] {
        refused(text);
    }
    refused(&"(".repeat(10_000));
    refused(&"NOT ".repeat(10_000));
    refused(&format!("a = 1{}", " - 1".repeat(100_000)));
    assert!(matches!(parse(&format!("a IN (1{})", ", -1".repeat(5_000))), Predicate::In { .. }));
}

#[test]
fn expressions_from_python_mean_the_same_as_text() {
    let json = |text: &str| Predicate::from_json(text, &fields());
    let same = [
        (r#"{"op":"gt","column":"a","value":1}"#, "a > 1"),
        (r#"{"op":"not","args":[{"op":"gt","column":"a","value":1}]}"#, "a <= 1"),
        (r#"{"op":"in","column":"s","values":["x","y"]}"#, "s IN ('x', 'y')"),
        (r#"{"op":"eq","column":"d","value":{"type":"date","value":"1970-01-03"}}"#, "d = '1970-01-03'"),
        (r#"{"op":"eq","column":"dec","value":{"type":"decimal","value":"1.50"}}"#, "dec = 1.5"),
        (r#"{"op":"like","column":"s","value":"x%"}"#, "s LIKE 'x%'"),
        (r#"{"op":"gt","column":"f","value":{"type":"double","value":"1e+22"}}"#, "f > 1e22"),
        (r#"{"op":"eq","column":"f","value":{"type":"double","value":"nan"}}"#, "f = 'NaN'"),
        (r#"{"op":"between","column":"a","low":1,"high":3}"#, "a BETWEEN 1 AND 3"),
        (
            r#"{"op":"or","args":[{"op":"is_null","column":"a"},{"op":"ne","column":"a","value":2}]}"#,
            "a IS NULL OR a <> 2",
        ),
    ];
    for (expression, text) in same {
        assert_eq!(format!("{:?}", json(expression).expect(expression)), format!("{:?}", parse(text)));
    }
    for wrong in
        ["{}", "[]", r#"{"op":"eq","column":"a"}"#, r#"{"op":"what"}"#, r#"{"op":"in","column":"a","values":1}"#]
    {
        assert_eq!(json(wrong).expect_err(wrong).kind(), ErrorKind::InvalidArgument);
    }
}

/// What stands behind AND was once taken for a part of the operand, and refused as arithmetic.
#[test]
fn distinct_from_ends_where_the_next_condition_begins() {
    let two = compare("t", CompareOp::Eq, Datum::TinyInt(2));
    let one = compare("a", CompareOp::Eq, Datum::Int(1));
    let other = Predicate::any([compare("a", CompareOp::NotEq, Datum::Int(1)), Predicate::IsNull("a".to_owned())]);
    assert_eq!(parse("a IS DISTINCT FROM 1 AND t = 2"), Predicate::all([other.clone(), two.clone()]));
    assert_eq!(parse("a IS NOT DISTINCT FROM 1 OR t = 2"), Predicate::any([one.clone(), two.clone()]));
    assert_eq!(parse("NOT a IS DISTINCT FROM 1 AND t = 2"), Predicate::all([one, two.clone()]));
    assert_eq!(parse("(a) IS DISTINCT FROM (1) AND t = 2"), Predicate::all([other.clone(), two]));
    assert_eq!(parse("1 IS DISTINCT FROM a"), other);
    let chain = format!("a{}", " IS DISTINCT FROM a".repeat(1_900));
    for (text, what) in [
        (chain.as_str(), "nests more than"),
        ("(a = 1) IS TRUE", "as an operand of another"),
        ("a = 1 = 1", "as an operand of another"),
        ("a + 1 = 2", "arithmetic"),
    ] {
        let error = parse_predicate(text, &fields()).expect_err(what);
        assert!(error.message().contains(what), "{what}: {error}");
    }
}
