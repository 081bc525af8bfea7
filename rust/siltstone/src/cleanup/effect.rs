//! What an operation on names says when it fails half-way.

use crate::error::{Error, ErrorKind, Result};

/// The result of calls that change a tag or a branch. When one of them fails, `look` finds what has been changed all the same,
/// as a sentence; `None`: nothing has, and the error stays as it is. An answer may have been lost, so it is asked whatever call
/// it was.
///
/// # Errors
/// The error of `result`, with its kind, which says what was changed, or that it is not known.
pub fn with_effect<T>(result: Result<T>, look: impl FnOnce() -> Result<Option<String>>) -> Result<T> {
    result.map_err(|error| match look() {
        Ok(None) => error,
        Ok(Some(done)) => after(&done, error),
        Err(blind) => {
            let text = "an operation failed, and what it has changed cannot be seen";
            let hint = format!("look at the table's tags and branches before you try again ({blind})");
            Error::new(error.kind(), text).caused_by(error).hint(hint)
        }
    })
}

/// An error that came when `done` was true already.
fn after(done: &str, error: Error) -> Error {
    let then =
        if error.kind() == ErrorKind::Cancelled { "then the operation was stopped" } else { "then a call failed" };
    let hint = error.hint_text().map(str::to_owned);
    let told = Error::new(error.kind(), format!("{done}; {then}")).caused_by(error);
    match hint {
        Some(hint) => told.hint(hint),
        None => told,
    }
}
