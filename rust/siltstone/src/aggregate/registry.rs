//! The list of all aggregate functions.

use std::sync::Arc;

use super::{AggregateFunction, FieldOptions};
use crate::{
    Error, ErrorKind, Result,
    types::{DataField, DataType},
};

/// One function: its name, the types it takes, and how it is made.
struct Entry {
    name: &'static str,
    accepts: fn(&DataType) -> bool,
    new: fn(&DataField, &FieldOptions) -> Result<Arc<dyn AggregateFunction>>,
}

/// One line for each function: name, module.
macro_rules! functions {
    ($($name:literal => $module:ident;)+) => {
        const FUNCTIONS: &[Entry] = &[
            $(Entry { name: $name, accepts: super::$module::accepts, new: super::$module::new },)+
        ];
    };
}

functions! {
    "primary-key" => primary_key;
    "last_value" => last_value;
    "last_non_null_value" => last_non_null_value;
    "first_value" => first_value;
    "first_non_null_value" => first_non_null_value;
    "first_not_null_value" => first_non_null_value;
    "sum" => sum;
    "product" => product;
    "count" => count;
    "max" => max;
    "min" => min;
    "bool_and" => bool_and;
    "bool_or" => bool_or;
    "listagg" => listagg;
    "collect" => collect;
    "merge_map" => merge_map;
    "merge_map_with_keytime" => merge_map_with_keytime;
    "nested_update" => nested_update;
    "nested_partial_update" => nested_partial_update;
    "rbm32" => rbm32;
    "rbm64" => rbm64;
    "hll_sketch" => hll_sketch;
    "theta_sketch" => theta_sketch;
}

/// Names that the option `aggregate-function` takes.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|entry| entry.name).filter(|name| *name != "primary-key")
}

/// Whether a function has exactly this name.
pub fn is_function(name: &str) -> bool {
    FUNCTIONS.iter().any(|entry| entry.name == name)
}

/// The function called `name` for a column.
///
/// An unknown name, a type that the function does not take, and a wrong option of the function are `InvalidOption`
/// errors that name column, type and option (semantics b.7).
pub fn aggregate_function(name: &str, field: &DataField, options: &FieldOptions) -> Result<Arc<dyn AggregateFunction>> {
    let named = |e: Error| e.with("column", &field.name).with("option", &options.function_option);
    let entry = FUNCTIONS.iter().find(|entry| entry.name == name).ok_or_else(|| named(unknown(name)))?;
    if !(entry.accepts)(&field.data_type) {
        let message = format!("the aggregate function '{name}' does not take values of type {}", field.data_type);
        return Err(named(Error::new(ErrorKind::InvalidOption, message).with("type", &field.data_type)));
    }
    let function = (entry.new)(field, options).map_err(|e| e.with("column", &field.name))?;
    Ok(if options.ignore_retract { Arc::new(super::ignore_retract::IgnoreRetract(function)) } else { function })
}

fn unknown(name: &str) -> Error {
    let error = Error::new(ErrorKind::InvalidOption, format!("'{name}' is not an aggregate function"));
    let likeness = |known: &str| strsim::normalized_damerau_levenshtein(known, &name.to_ascii_lowercase());
    let near = function_names().map(|known| (known, likeness(known))).max_by(|a, b| a.1.total_cmp(&b.1));
    match near {
        Some((known, likeness)) if likeness > 0.6 => error.hint(format!("did you mean '{known}'?")),
        _ => error.hint(format!("use one of: {}", function_names().collect::<Vec<_>>().join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::parse_type;

    fn made(name: &str, data_type: &str) -> Result<Arc<dyn AggregateFunction>> {
        let field = DataField::new(0, "f", parse_type(data_type).unwrap());
        aggregate_function(name, &field, &FieldOptions::of(&[].into(), "f").unwrap())
    }

    #[test]
    fn an_unknown_function_gets_a_did_you_mean() {
        for (wrong, hint) in [("summ", "did you mean 'sum'?"), ("last-value", "did you mean 'last_value'?")] {
            let error = made(wrong, "INT").unwrap_err();
            assert_eq!((error.kind(), error.hint_text()), (ErrorKind::InvalidOption, Some(hint)));
        }
        assert!(made("xyz", "INT").unwrap_err().hint_text().unwrap().contains("bool_and"));
    }

    #[test]
    fn a_function_refuses_types_that_it_cannot_work_with() {
        for (name, data_type) in [
            ("sum", "STRING"),
            ("product", "DATE"),
            ("count", "DOUBLE"),
            ("max", "ARRAY<INT>"),
            ("min", "MAP<INT, INT>"),
            ("bool_and", "INT"),
            ("bool_or", "STRING"),
        ] {
            let error = made(name, data_type).unwrap_err();
            let option = error.context_value("option");
            assert_eq!((error.kind(), option), (ErrorKind::InvalidOption, Some("fields.f.aggregate-function")));
            assert_eq!((error.context_value("column"), error.context_value("type")), (Some("f"), Some(data_type)));
        }
    }

    #[test]
    fn the_functions_of_the_requirements_are_there_for_their_types() {
        let numbers = ["DECIMAL(10, 2)", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE"];
        for t in numbers {
            for name in ["sum", "product", "max", "min"] {
                assert_eq!(made(name, t).unwrap().name(), name);
            }
        }
        for t in ["CHAR(3)", "VARCHAR(3)", "DATE", "TIME(3)", "TIMESTAMP(6)", "TIMESTAMP_LTZ(3)"] {
            made("max", t).unwrap();
            made("min", t).unwrap();
        }
        for name in ["last_value", "last_non_null_value", "first_value", "first_non_null_value", "first_not_null_value"]
        {
            made(name, "ROW<a INT>").unwrap();
        }
        for (name, retracts) in [
            ("sum", true),
            ("product", true),
            ("count", true),
            ("last_value", true),
            ("last_non_null_value", true),
            ("primary-key", true),
            ("max", false),
            ("min", false),
            ("first_value", false),
            ("first_non_null_value", false),
        ] {
            assert_eq!(made(name, "INT").unwrap().retracts(), retracts, "{name}");
        }
    }
}
