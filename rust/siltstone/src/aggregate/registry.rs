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
}

/// Names that the option `aggregate-function` takes.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|entry| entry.name).filter(|name| *name != "primary-key")
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
