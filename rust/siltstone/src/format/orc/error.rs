//! Errors of the `orc-rust` crate as ours.

use std::panic::{AssertUnwindSafe, catch_unwind};

use orc_rust::error::OrcError;

use super::input::Input;
use crate::error::{Error, ErrorKind, Result};

/// Runs the crate over foreign bytes: its errors become ours, and so do its panics.
pub(super) fn guarded<T>(input: &Input, work: impl FnOnce() -> std::result::Result<T, OrcError>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(e)) => Err(input.take_failure().unwrap_or_else(|| broken(input.path()).caused_by(e))),
        Err(_) => Err(input.take_failure().unwrap_or_else(|| broken(input.path()))),
    }
}

/// The file's bytes are not ORC as written by any known writer.
pub(super) fn broken(file: &str) -> Error {
    Error::new(ErrorKind::CorruptFile, "the ORC file is damaged or incomplete").with("file", file)
}
