//! Errors that say what a schema, a change of it or an option may not be.

use super::TableSchema;
use crate::error::{Error, ErrorKind};

/// An `IllegalSchema` error.
pub(super) fn illegal(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::IllegalSchema, message)
}

/// "`user` names the column 'x', which does not exist", with the nearest column as a hint.
pub(super) fn no_such_column(schema: &TableSchema, name: &str, user: &str) -> Error {
    let columns: Vec<&str> = schema.fields.iter().map(|f| f.name.as_str()).collect();
    let near = columns.iter().map(|c| (strsim::jaro_winkler(c, name), *c)).max_by(|a, b| a.0.total_cmp(&b.0));
    let hint = match near {
        Some((likeness, column)) if likeness > 0.8 => format!("did you mean '{column}'?"),
        _ => format!("columns: {}", columns.join(", ")),
    };
    illegal(format!("{user} names the column '{name}', which does not exist")).with("column", name).hint(hint)
}

/// An `IllegalSchemaChange` error.
pub(super) fn forbidden_change(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::IllegalSchemaChange, message)
}

/// An `InvalidOption` error.
pub(super) fn forbidden_option(option: &str, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOption, message).with("option", option)
}
