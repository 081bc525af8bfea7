//! Predicates that were built in Python, as JSON.

use super::Predicate;
use crate::{
    error::{Error, ErrorKind, Result},
    types::DataField,
};

impl Predicate {
    /// From the JSON that `st.col(...)` expressions make.
    pub fn from_json(_json: &serde_json::Value, _fields: &[DataField]) -> Result<Self> {
        Err(Error::new(ErrorKind::Internal, "not yet"))
    }
}
