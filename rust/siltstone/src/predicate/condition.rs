//! A condition as a caller gives it.

use serde::{Deserialize, Serialize};

use super::{Predicate, parse_predicate};
use crate::{error::Result, limits, types::DataField};

/// A condition, before it is known which columns there are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Condition {
    /// SQL text.
    Sql(String),
    /// JSON text, in the form of [`Predicate::from_json`].
    Json(String),
    /// Over columns that are known; it does not travel.
    #[serde(skip)]
    Checked(Predicate),
}

/// Bytes that a byte of a condition takes at most while it is parsed, with what is made of it.
const PER_JSON_BYTE: usize = 32;
const PER_SQL_BYTE: usize = 64;

impl Condition {
    /// The condition over these columns, without `Not`.
    pub fn over(&self, fields: &[DataField]) -> Result<Predicate> {
        match self {
            Self::Sql(text) => {
                ask(text, PER_SQL_BYTE)?;
                parse_predicate(text, fields)
            }
            Self::Json(text) => {
                ask(text, PER_JSON_BYTE)?;
                Predicate::from_json(text, fields)
            }
            Self::Checked(predicate) => Ok(predicate.clone().without_not()),
        }
    }

    /// Of an argument that may be left out.
    pub fn of(given: Option<&Self>, fields: &[DataField]) -> Result<Option<Predicate>> {
        given.map(|condition| condition.over(fields)).transpose()
    }
}

/// Room for what a text becomes when it is parsed: a list may have millions of values.
fn ask(text: &str, per_byte: usize) -> Result<()> {
    limits::ask(text.len().saturating_mul(per_byte), "a condition")
}

impl From<Predicate> for Condition {
    fn from(predicate: Predicate) -> Self {
        Self::Checked(predicate)
    }
}
