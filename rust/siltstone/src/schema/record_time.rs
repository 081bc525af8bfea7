//! The column by which rows of a table expire (`record-level.expire-time`, `record-level.time-field`).

use std::time::Duration;

use super::TableSchema;
use crate::{
    error::{Error, ErrorKind, Result},
    options::CoreOptions,
    types::{DataField, TypeKind},
};

const AGE: &str = "record-level.expire-time";
const COLUMN: &str = "record-level.time-field";

/// The column with the time of each row, and how old a row may be. `None`: rows do not expire, as on tables without a primary
/// key, whatever their options say.
///
/// # Errors
/// `InvalidOption`: there is an age, and no column, or one whose type is no time.
pub fn record_time_field<'a>(
    schema: &'a TableSchema,
    options: &CoreOptions,
) -> Result<Option<(&'a DataField, Duration)>> {
    let Some(age) = options.record_level_expire_time.filter(|_| schema.has_primary_key()) else { return Ok(None) };
    let invalid = |text: String| Error::new(ErrorKind::InvalidOption, text);
    let Some(name) = &options.record_level_time_field else {
        let text = format!("'{AGE}' needs '{COLUMN}', the column with the time of each row");
        return Err(invalid(text).with("option", COLUMN));
    };
    let field = schema.field(name);
    let field = field.ok_or_else(|| invalid(format!("'{COLUMN}' is no column: '{name}'")).with("option", COLUMN))?;
    match field.data_type.kind {
        TypeKind::Int | TypeKind::BigInt | TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => {
            Ok(Some((field, age)))
        }
        _ => Err(invalid(format!("'{COLUMN}' is a column of type {}, which is no time", field.data_type))
            .with("option", COLUMN)
            .with("column", name)
            .hint("name one of type INT or BIGINT (seconds), BIGINT (milliseconds) or TIMESTAMP")),
    }
}
