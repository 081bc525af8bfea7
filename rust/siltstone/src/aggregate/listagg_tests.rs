//! `listagg`: texts that are joined, and the rules one text at a time.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StringArray, cast::AsArray};
use proptest::prelude::*;

use super::{AggStep, AggregateFunction, testing};
use crate::ErrorKind;

fn listagg(pairs: &[(&str, &str)]) -> Arc<dyn AggregateFunction> {
    testing::function("listagg", "STRING", pairs)
}

fn add(function: &Arc<dyn AggregateFunction>, texts: &[Option<&str>]) -> Option<String> {
    let array: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
    let result = testing::one_group(function.as_ref(), &array, None).unwrap();
    let result = result.as_string::<i32>();
    result.is_valid(0).then(|| result.value(0).to_owned())
}

#[test]
fn texts_are_joined_by_a_comma_or_the_delimiter_of_the_column() {
    assert_eq!(add(&listagg(&[]), &[Some("a"), Some("b"), Some("a")]).as_deref(), Some("a,b,a"));
    let dashes = listagg(&[("list-agg-delimiter", "--")]);
    assert_eq!(add(&dashes, &[Some("a"), Some("b,c")]).as_deref(), Some("a--b,c"));
}

#[test]
fn null_and_empty_texts_do_not_count() {
    let f = listagg(&[]);
    assert_eq!(add(&f, &[None, Some("a"), Some(""), None, Some("b")]).as_deref(), Some("a,b"));
    assert_eq!(add(&f, &[Some(""), Some("a")]).as_deref(), Some("a"));
    assert_eq!(
        add(&f, &[Some("a"), Some(" "), Some("\t"), Some("b")]).as_deref(),
        Some("a, ,\t,b"),
        "spaces are a text"
    );
    assert_eq!(add(&f, &[None, None]), None);
    assert_eq!(add(&f, &[None, Some(""), None]).as_deref(), Some(""), "an empty text is more than null");
}

#[test]
fn distinct_adds_only_parts_that_are_new_and_leaves_the_first_text_alone() {
    let f = listagg(&[("distinct", "true")]);
    assert_eq!(add(&f, &[Some("a,b"), Some("b,c,c,, ,d"), Some("a")]).as_deref(), Some("a,b,c, ,d"));
    assert_eq!(add(&f, &[Some("a,a"), Some("a")]).as_deref(), Some("a,a"));
    let words = listagg(&[("distinct", "true"), ("list-agg-delimiter", "")]);
    assert_eq!(add(&words, &[Some("a b"), Some("b c")]).as_deref(), Some("a bc"));
}

#[test]
fn out_of_order_texts_come_first() {
    let f = listagg(&[]);
    let array: ArrayRef = Arc::new(StringArray::from(vec!["b", "a", ""]));
    let steps = [AggStep::Add, AggStep::AddReversed, AggStep::AddReversed];
    let result = testing::one_group(f.as_ref(), &array, Some(&steps)).unwrap();
    assert_eq!(result.as_string::<i32>().value(0), "a,b");
}

#[test]
fn only_strings_without_a_length_are_accepted() {
    for (t, taken) in [("STRING", true), ("VARCHAR(10)", false), ("CHAR(3)", false), ("INT", false)] {
        assert_eq!(testing::try_function("listagg", t, &[]).is_ok(), taken, "{t}");
    }
}

#[test]
fn a_retract_is_an_error_that_names_the_function() {
    let array: ArrayRef = Arc::new(StringArray::from(vec!["b"]));
    let error = testing::one_group(listagg(&[]).as_ref(), &array, Some(&[AggStep::Retract])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeleteNotAllowed);
    assert!(error.to_string().contains("'listagg' cannot take values back"), "{error}");
}

/// The rules as the chapter words them.
fn slow(texts: &[Option<String>], distinct: bool) -> Option<String> {
    let mut acc: Option<String> = None;
    for input in texts {
        let Some(input) = input else { continue };
        if acc.is_some() && input.is_empty() {
            continue;
        }
        acc = Some(match acc {
            Some(acc) if !acc.is_empty() => {
                let mut parts: Vec<&str> = acc.split(',').collect();
                for part in input.split(',') {
                    if !distinct || (!part.is_empty() && !parts.contains(&part)) {
                        parts.push(part);
                    }
                }
                parts.join(",")
            }
            _ => input.clone(),
        });
    }
    acc
}

proptest! {
    #[test]
    fn any_texts_give_what_the_rules_say(
        texts in prop::collection::vec(prop::option::of("[abc ,]{0,4}"), 0..8),
        distinct: bool,
    ) {
        let f = listagg(&[("distinct", if distinct { "true" } else { "false" })]);
        let given: Vec<_> = texts.iter().map(Option::as_deref).collect();
        prop_assert_eq!(add(&f, &given), slow(&texts, distinct));
    }
}

/// Parts that stay known between records give what looking at the whole text each time gives, whatever the delimiter.
#[test]
fn parts_of_many_records_are_told_apart_as_in_the_whole_text() {
    for (delimiter, expected) in
        [(",", "a,b,c,d"), ("--", "a--b--c--d"), ("", "abacbdc"), ("b", "abcbd"), ("€", "a€b€c€d")]
    {
        let f = listagg(&[("distinct", "true"), ("list-agg-delimiter", delimiter)]);
        let texts = ["a", "b", "a", "", "c", "b", "d", "c"].map(Some);
        assert_eq!(add(&f, &texts).as_deref(), Some(expected), "{delimiter:?}");
    }
    let dashes = listagg(&[("distinct", "true"), ("list-agg-delimiter", "--")]);
    // what is added changes what the parts before it are
    assert_eq!(add(&dashes, &[Some("x"), Some("a-"), Some("b"), Some("-b")]).as_deref(), Some("x--a---b"));
}

#[test]
fn joining_stops_when_it_is_told_to() {
    let token = crate::cancel::Cancellation::default();
    token.cancel();
    let array: ArrayRef = Arc::new(StringArray::from(vec!["x,y".repeat(9_000); 8]));
    for distinct in ["true", "false"] {
        let f = listagg(&[("distinct", distinct)]);
        let stopped = token.run(|| testing::one_group(f.as_ref(), &array, None)).unwrap_err();
        assert_eq!(stopped.kind(), ErrorKind::Cancelled, "distinct {distinct}");
    }
}
