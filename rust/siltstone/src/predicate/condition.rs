//! A condition as a caller gives it.

use serde::{Deserialize, Serialize};

use super::{Predicate, parse_predicate};
use crate::{
    error::{Error, ErrorKind, Result},
    types::DataField,
};

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

impl Condition {
    /// The condition over these columns, without `Not`.
    pub fn over(&self, fields: &[DataField]) -> Result<Predicate> {
        match self {
            Self::Sql(text) => parse_predicate(text, fields),
            Self::Json(text) => {
                let invalid = |e| Error::new(ErrorKind::InvalidArgument, "a predicate is not JSON").caused_by(e);
                Predicate::from_json(&serde_json::from_str(text).map_err(invalid)?, fields)
            }
            Self::Checked(predicate) => Ok(predicate.clone().without_not()),
        }
    }

    /// Of an argument that may be left out.
    pub fn of(given: Option<&Self>, fields: &[DataField]) -> Result<Option<Predicate>> {
        given.map(|condition| condition.over(fields)).transpose()
    }
}

impl From<Predicate> for Condition {
    fn from(predicate: Predicate) -> Self {
        Self::Checked(predicate)
    }
}
