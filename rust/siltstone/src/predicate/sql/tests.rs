use super::{Grammar, MAX_DEPTH, MAX_LENGTH, MAX_OPERATORS, parse_expression};
use crate::ErrorKind;

const PLAIN: Grammar = Grammar {
    what: "condition",
    example: "an example",
    refusal: "cannot be used in a condition",
    instead: "use AND",
    shorter: "use IN",
    functions: &["upper"],
    casts: true,
    cases: false,
    keys: false,
};

fn read(text: &str) -> String {
    parse_expression(text, &PLAIN).unwrap_or_else(|e| panic!("{text}: {e}")).to_string()
}

fn refused(text: &str) -> String {
    let shown: String = text.chars().take(60).collect();
    let error = parse_expression(text, &PLAIN).expect_err(&shown);
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{shown}");
    assert!(error.message().len() < 400, "{shown}: a message of {} bytes", error.message().len());
    error.message().to_owned()
}

/// Constructs for which the parser recurses without a limit, or tries each level twice or more.
#[test]
fn no_nested_construct_overflows_the_stack_or_takes_exponential_time() {
    let around = |before: &str, inside: &str, after: &str, n: usize| {
        format!("{}{inside}{} = 1", before.repeat(n), after.repeat(n))
    };
    let constructs = [
        ("interval ", "1", ""),
        ("id ", "at time zone 's'", ""),
        ("interval -", ")", ""),
        ("case when ", "1=1", " then 1 end"),
        ("CAST(", "id", " AS INT)"),
        ("TRY_CAST(", "id", " AS INT)"),
        ("SUBSTRING(", "s", " FROM 1)"),
        ("OVERLAY(", "s", " PLACING 'a' FROM 1)"),
        ("POSITION(", "s", " IN s)"),
        ("EXTRACT(DAY FROM ", "d", ")"),
        ("TRIM(", "s", ")"),
        ("CEIL(", "s", ")"),
        ("CONVERT(", "s", " USING utf8)"),
        ("ARRAY[", "1", "]"),
        ("STRUCT(", "1", ")"),
        ("STRUCT<a ", "INT", ">"),
        ("MAP{1:", "1", "}"),
        ("{fn ", "1", "}"),
        ("x -> ", "1", ""),
        ("(SELECT -", "1", ")"),
        ("EXISTS (", "1", ")"),
        ("NOT EXISTS (", "1", ")"),
        ("NOT (", "a = )", ")"),
        ("(", "a = )", ")"),
        ("upper(", "a = )", ")"),
        ("\"f\"(", "a = )", ")"),
        ("prior ", "1", ""),
        ("NOT ", "a b", ""),
        ("a IN (", "a = )", ")"),
        ("((a IN (", "a = )", ")))"),
        ("AND (", "a = )", ")"),
        ("NULL (", "a = )", ")"),
        ("decimal(", "1 1", ")"),
        ("date ", "'x", ""),
        ("-", ")", ""),
        ("a BETWEEN ", ")", ""),
        ("a.", "b c", ""),
    ];
    for (before, inside, after) in constructs {
        for n in [45, 3_000] {
            refused(&around(before, inside, after, n));
        }
    }
    refused(&format!("id{} = 1", " at time zone s".repeat(3_000)));
    refused(&format!("s{} = 1", " collate x".repeat(3_000)));
    refused(&format!("id{} = 1", "::int".repeat(3_000)));
}

#[test]
fn limits_are_named() {
    assert!(refused(&"(".repeat(60)).contains(&format!("{MAX_DEPTH} levels")));
    assert!(refused(&format!("1{}", " + 1".repeat(3_000))).contains(&MAX_OPERATORS.to_string()));
    assert!(refused(&format!("'{}'", "x".repeat(MAX_LENGTH))).contains(&MAX_LENGTH.to_string()));
    assert!(parse_expression(&format!("1{}", " + 1".repeat(2_000)), &PLAIN).is_ok());
}

#[test]
fn words_of_other_dialects_are_names_of_columns() {
    for name in
        ["interval", "position", "case", "cast", "substring", "extract", "trim", "exists", "array", "date", "at"]
    {
        assert_eq!(read(&format!("{name} = 1 AND x > -{name}")), format!("{name} = 1 AND x > -{name}"));
    }
    assert_eq!(read("interval - interval"), "interval - interval");
}

#[test]
fn what_is_a_function_or_a_literal_is_kept() {
    for text in [
        "upper(a) = 'X'",
        "NOT (a = 1 OR b IS NOT NULL)",
        "a IN (1, 2)",
        "a NOT BETWEEN 1 AND (2)",
        "CAST('1' AS INT) = a",
        "d = DATE '2024-01-01'",
        "x = DECIMAL(10,2) '1.5'",
        "t = TIMESTAMP WITHOUT TIME ZONE '2024-01-01 00:00:00'",
        "t = TIMESTAMP(3) '2024-01-01 00:00:00'",
        "s LIKE 'a%' ESCAPE '!'",
        "a IS DISTINCT FROM (1)",
        "b IS NOT TRUE",
    ] {
        assert_eq!(read(text), text);
    }
    assert_eq!(refused("lower(s) = 'x'"), "the function lower cannot be used in a condition");
    assert_eq!(refused("CAST(a AS INT) = 1"), "the function CAST cannot be used in a condition");
    assert_eq!(refused("date(a) = 1"), "the function date cannot be used in a condition");
    assert_eq!(refused("a -> 'x' = 1"), "'->' cannot be used in a condition");
}
