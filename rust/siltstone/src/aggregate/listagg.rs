//! `listagg`: puts texts together with a delimiter between them; empty texts do not count (semantics b.7;
//! `FieldListaggAgg`).
//!
//! `fields.<f>.list-agg-delimiter` is `,` unless set; with `fields.<f>.distinct` only those parts of a text are added
//! that are not there yet. Of a null and another text the other one stays, blank or not, as up to Paimon 1.4 (2.0
//! gives null for a blank text alone).

use std::{borrow::Cow, collections::HashSet, sync::Arc};

use arrow_array::{Array, ArrayRef, StringArray, builder::StringBuilder, cast::AsArray};

use super::{AggStep, AggregateFunction, Aggregated, ColumnGroups, FieldOptions, error::no_retract};
use crate::{
    Error, ErrorKind, Result,
    types::{DataField, DataType, MAX_LENGTH, TypeKind},
};

const NAME: &str = "listagg";

/// STRING; a VARCHAR with a length could not hold what comes out.
pub(super) fn accepts(data_type: &DataType) -> bool {
    data_type.kind == TypeKind::VarChar(MAX_LENGTH)
}

pub(super) fn new(_: &DataField, options: &FieldOptions) -> Result<Arc<dyn AggregateFunction>> {
    Ok(Arc::new(Listagg { delimiter: options.list_agg_delimiter.clone(), distinct: options.distinct }))
}

#[derive(Debug)]
struct Listagg {
    delimiter: String,
    distinct: bool,
}

/// An accumulated text: null, a record's as it is, or built.
type Text<'a> = Option<Cow<'a, str>>;

impl AggregateFunction for Listagg {
    fn name(&self) -> &'static str {
        NAME
    }

    fn aggregate(&self, groups: &ColumnGroups<'_>) -> Aggregated {
        let texts = groups.arrays.iter().map(text_array).collect::<Result<Vec<_>>>()?;
        let mut results = StringBuilder::with_capacity(groups.len(), 0);
        let mut bytes = 0;
        groups.walk(
            || None,
            |acc: &mut Text<'_>, step, at| {
                let input = text(&texts, at)?.map(Cow::Borrowed);
                *acc = match step {
                    AggStep::Skip => return Ok(()),
                    AggStep::Set | AggStep::Resume => input,
                    AggStep::Clear => None,
                    AggStep::Add => self.agg(acc.take(), input),
                    AggStep::AddReversed => self.agg(input, acc.take()),
                    AggStep::Retract => return Err(no_retract(NAME)),
                };
                Ok(())
            },
            |acc| {
                bytes += acc.as_ref().map_or(0, |text| text.len());
                if i32::try_from(bytes).is_err() {
                    let message = "the texts that listagg built for one batch are longer than 2^31 bytes";
                    return Err(Error::new(ErrorKind::MemoryLimitExceeded, message));
                }
                results.append_option(acc);
                Ok(())
            },
        )?;
        Ok(Arc::new(results.finish()))
    }
}

impl Listagg {
    fn agg<'a>(&self, acc: Text<'a>, input: Text<'a>) -> Text<'a> {
        let (acc, input) = match (acc, input) {
            (None, other) | (other, None) => return other,
            (Some(acc), Some(input)) if input.is_empty() => return Some(acc),
            (Some(acc), Some(input)) if acc.is_empty() => return Some(input),
            (Some(acc), Some(input)) => (acc, input),
        };
        let mut text = acc.into_owned();
        if self.distinct {
            for part in self.not_in(&text, &input) {
                text.extend([self.delimiter.as_str(), part]);
            }
        } else {
            text.extend([self.delimiter.as_str(), &input]);
        }
        Some(Cow::Owned(text))
    }

    /// The parts of `input` that are not parts of `text`, each once.
    fn not_in<'a>(&self, text: &str, input: &'a str) -> Vec<&'a str> {
        // as in Java, where no delimiter separates words
        let separator = if self.delimiter.is_empty() { " " } else { &self.delimiter };
        let there: HashSet<&str> = text.split(separator).collect();
        let mut added = HashSet::new();
        input.split(separator).filter(|part| !part.is_empty() && !there.contains(part) && added.insert(*part)).collect()
    }
}

fn text_array(array: &ArrayRef) -> Result<&StringArray> {
    array
        .as_string_opt()
        .ok_or_else(|| Error::new(ErrorKind::Internal, format!("a STRING column of Arrow type {}", array.data_type())))
}

fn text<'a>(texts: &[&'a StringArray], (source, row): (usize, usize)) -> Result<Option<&'a str>> {
    let array = texts.get(source).filter(|array| row < array.len()).ok_or_else(|| {
        Error::new(ErrorKind::Internal, format!("row {row} of source {source} of a group does not exist"))
    })?;
    Ok(array.is_valid(row).then(|| array.value(row)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::testing, *};

    fn listagg(pairs: &[(&str, &str)]) -> Arc<dyn AggregateFunction> {
        testing::function(NAME, "STRING", pairs)
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
            assert_eq!(testing::try_function(NAME, t, &[]).is_ok(), taken, "{t}");
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
}
