//! What went wrong in which group: the engine knows the group's key.

use arrow_array::ArrayRef;

use crate::{Error, ErrorKind};

/// An error of an aggregate function.
#[derive(Debug)]
pub struct AggregateError {
    /// The group that it happened in, when it is one group's.
    pub group: Option<usize>,
    /// What happened.
    pub error: Error,
}

/// A column of results.
pub type Aggregated = Result<ArrayRef, AggregateError>;

impl From<Error> for AggregateError {
    fn from(error: Error) -> Self {
        Self { group: None, error }
    }
}

impl From<arrow_schema::ArrowError> for AggregateError {
    fn from(error: arrow_schema::ArrowError) -> Self {
        Error::from(error).into()
    }
}

/// A retract for a function that cannot take values back (semantics b.7).
pub(crate) fn no_retract(function: &str) -> Error {
    let message = format!("the aggregate function '{function}' cannot take values back: it met a -U or -D record");
    Error::new(ErrorKind::DeleteNotAllowed, message)
}
