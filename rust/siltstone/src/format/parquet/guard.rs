//! The parquet crate, called over bytes that others wrote.

use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::errors::ParquetError;

use super::{
    chunks::Chunks,
    error::{panicked, reading},
};
use crate::error::Result;

pub(super) type Decoded<T> = std::result::Result<T, ParquetError>;

/// Runs the parquet crate over foreign bytes: its errors become ours, and so do its panics.
pub(super) fn guarded<T>(chunks: &Chunks, work: impl FnOnce() -> Decoded<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(e)) => Err(chunks.take_failure().unwrap_or_else(|| reading(chunks.path(), e))),
        Err(panic) => Err(panicked(chunks.path(), panic.as_ref())),
    }
}
