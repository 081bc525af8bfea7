//! The options of one aggregated column: `fields.<column>.*`.

use std::collections::BTreeMap;

use crate::{
    Error, ErrorKind, Result,
    options::{parse_bool, parse_list},
};

/// The option that names the function of all columns that have none of their own.
pub const DEFAULT_FUNCTION: &str = "fields.default-aggregate-function";

/// `count-limit` where none is given.
pub(super) const NO_COUNT_LIMIT: usize = i32::MAX as usize;

/// What becomes of nested rows whose nested key holds a null (`fields.<f>.nested-key-null-strategy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullKeyStrategy {
    /// Null is a key value like any other.
    Merge,
    /// The row is left out.
    Ignore,
    /// The merge fails.
    Error,
}

/// Options of the functions of one column, with Paimon's defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldOptions {
    /// The column.
    pub column: String,
    /// The name in `fields.<f>.aggregate-function` or `fields.default-aggregate-function`.
    pub function: Option<String>,
    /// The key of the option that names, or would name, the function.
    pub function_option: String,
    /// `fields.<f>.ignore-retract`
    pub ignore_retract: bool,
    /// `fields.<f>.distinct`
    pub distinct: bool,
    /// `fields.<f>.list-agg-delimiter`
    pub list_agg_delimiter: String,
    /// `fields.<f>.nested-key`, empty when not set
    pub nested_key: Vec<String>,
    /// `fields.<f>.nested-sequence-field`, empty when not set
    pub nested_sequence_field: Vec<String>,
    /// `fields.<f>.nested-key-null-strategy`; not set means [`NullKeyStrategy::Merge`]
    pub nested_key_null_strategy: Option<NullKeyStrategy>,
    /// `fields.<f>.count-limit`
    pub count_limit: usize,
    /// `fields.<f>.ts-field`
    pub ts_field: Option<String>,
}

impl FieldOptions {
    /// The options of `column` out of all table options; a value of a wrong form is an `InvalidOption` that names
    /// column and option.
    pub fn of(options: &BTreeMap<String, String>, column: &str) -> Result<Self> {
        let get = Lookup { options, column };
        let own = get.key("aggregate-function");
        let (function, function_option) = match (options.get(&own), options.get(DEFAULT_FUNCTION)) {
            (None, Some(default)) => (Some(default), DEFAULT_FUNCTION.to_owned()),
            (function, _) => (function, own),
        };
        Ok(Self {
            column: column.to_owned(),
            function: function.map(|name| name.trim().to_owned()),
            function_option,
            ignore_retract: get.parsed("ignore-retract", false, parse_bool)?,
            distinct: get.parsed("distinct", false, parse_bool)?,
            list_agg_delimiter: get.text("list-agg-delimiter").unwrap_or(",").to_owned(),
            nested_key: get.parsed("nested-key", Vec::new(), nested_keys)?,
            nested_sequence_field: get.text("nested-sequence-field").map(parse_list).unwrap_or_default(),
            nested_key_null_strategy: get.parsed("nested-key-null-strategy", None, null_key_strategy)?,
            count_limit: get.parsed("count-limit", NO_COUNT_LIMIT, count)?,
            ts_field: get.text("ts-field").map(|name| name.trim().to_owned()),
        })
    }
}

struct Lookup<'a> {
    options: &'a BTreeMap<String, String>,
    column: &'a str,
}

impl<'a> Lookup<'a> {
    fn key(&self, suffix: &str) -> String {
        format!("fields.{}.{suffix}", self.column)
    }

    fn text(&self, suffix: &str) -> Option<&'a str> {
        self.options.get(&self.key(suffix)).map(String::as_str)
    }

    fn parsed<T>(&self, suffix: &str, default: T, parse: impl Fn(&str) -> Result<T>) -> Result<T> {
        let named = |e: Error| e.with("column", self.column).with("option", self.key(suffix));
        self.text(suffix).map_or(Ok(default), |text| parse(text).map_err(named))
    }
}

fn nested_keys(text: &str) -> Result<Vec<String>> {
    let keys = parse_list(text);
    let twice = keys.iter().enumerate().any(|(at, key)| keys.iter().take(at).any(|earlier| earlier == key));
    if keys.is_empty() || twice {
        let message = format!("'{text}' does not name the key fields of nested rows, each once");
        return Err(Error::new(ErrorKind::InvalidOption, message));
    }
    Ok(keys)
}

fn null_key_strategy(text: &str) -> Result<Option<NullKeyStrategy>> {
    match text.trim().to_ascii_lowercase().as_str() {
        "merge" => Ok(Some(NullKeyStrategy::Merge)),
        "ignore" => Ok(Some(NullKeyStrategy::Ignore)),
        "error" => Ok(Some(NullKeyStrategy::Error)),
        _ => Err(Error::new(ErrorKind::InvalidOption, format!("'{text}' is not a strategy for null keys"))
            .hint("use one of: merge, ignore, error")),
    }
}

fn count(text: &str) -> Result<usize> {
    let limit = text.trim().parse::<u32>().ok().filter(|limit| i32::try_from(*limit).is_ok());
    limit.and_then(|limit| usize::try_from(limit).ok()).ok_or_else(|| {
        Error::new(ErrorKind::InvalidOption, format!("'{text}' is not a whole number from 0 to 2147483647"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Result<FieldOptions> {
        FieldOptions::of(&pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(), "f")
    }

    #[test]
    fn defaults_are_those_of_paimon() {
        let o = of(&[("fields.g.distinct", "true")]).unwrap();
        assert_eq!((o.function, o.function_option.as_str()), (None, "fields.f.aggregate-function"));
        assert_eq!((o.distinct, o.list_agg_delimiter.as_str(), o.count_limit), (false, ",", 2_147_483_647));
    }

    #[test]
    fn the_columns_own_function_goes_before_the_default_one() {
        let both = [("fields.f.aggregate-function", "max"), (DEFAULT_FUNCTION, "min")];
        let o = of(&both).unwrap();
        assert_eq!((o.function.as_deref(), o.function_option.as_str()), (Some("max"), "fields.f.aggregate-function"));
        let o = of(&both[1..]).unwrap();
        assert_eq!((o.function.as_deref(), o.function_option.as_str()), (Some("min"), DEFAULT_FUNCTION));
    }

    #[test]
    fn a_bad_value_names_column_and_option() {
        for (suffix, value) in [("distinct", "maybe"), ("count-limit", "-1"), ("nested-key-null-strategy", "drop")] {
            let key = format!("fields.f.{suffix}");
            let error = of(&[(&key, value)]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidOption);
            assert_eq!((error.context_value("column"), error.context_value("option")), (Some("f"), Some(key.as_str())));
        }
    }
}
