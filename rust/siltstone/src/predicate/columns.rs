//! Column names in predicates.

use std::collections::HashMap;

use crate::{
    error::{Error, ErrorKind, Result},
    types::DataField,
};

/// The field of this name; when `fold` and no name is equal, the only one that differs in case alone.
pub fn resolve<'a>(fields: &'a [DataField], name: &str, fold: bool) -> Result<&'a DataField> {
    if let Some(field) = fields.iter().find(|f| f.name == name) {
        return Ok(field);
    }
    if fold {
        let mut alike = fields.iter().filter(|f| f.name.to_lowercase() == name.to_lowercase());
        if let (Some(field), None) = (alike.next(), alike.next()) {
            return Ok(field);
        }
    }
    Err(unknown(fields, name))
}

/// [`resolve`] without folding, for many names of the same fields.
pub fn resolved_by_name<'a>(fields: &'a [DataField]) -> impl Fn(&str) -> Result<&'a DataField> {
    let named: HashMap<&str, &DataField> = fields.iter().rev().map(|f| (f.name.as_str(), f)).collect();
    move |name| named.get(name).copied().ok_or_else(|| unknown(fields, name))
}

/// The error for a column that is not there, with the names that are close.
fn unknown(fields: &[DataField], name: &str) -> Error {
    let error = Error::new(ErrorKind::InvalidArgument, format!("there is no column '{name}'")).with("column", name);
    let mut near: Vec<(f64, &str)> = fields
        .iter()
        .map(|f| (strsim::jaro_winkler(&f.name.to_lowercase(), &name.to_lowercase()), f.name.as_str()))
        .filter(|(score, _)| *score > 0.75)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let names: Vec<String> = near.iter().take(3).map(|(_, n)| format!("'{n}'")).collect();
    if !names.is_empty() {
        return error.hint(format!("did you mean {}?", names.join(" or ")));
    }
    let all: Vec<&str> = fields.iter().take(30).map(|f| f.name.as_str()).collect();
    error.hint(format!("the columns are {}", all.join(", ")))
}
