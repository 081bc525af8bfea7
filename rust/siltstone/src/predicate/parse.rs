//! SQL text to a predicate.

use super::Predicate;
use crate::{
    error::{Error, ErrorKind, Result},
    types::DataField,
};

/// Parses a SQL condition over these columns.
pub fn parse_predicate(_text: &str, _fields: &[DataField]) -> Result<Predicate> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}
